"""A stream of sessions through a sink of docs/how-to/sinks.md, and what its table has to hold."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import windrow as wr

from ..harness import recipes
from ..oracle.records import Record
from ..oracle.sessions import sessions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = datetime(2026, 5, 4, 9, tzinfo=UTC)
GAP = 5
FILES = 6
Row = tuple[str, int, int]


def program() -> dict[str, Any]:
    """What the page defines; it takes the Spark that is there."""
    return recipes.program("sinks.md")


def events(seed: int) -> list[list[Row]]:
    """Records as (user, minute, cents), a list for each micro-batch; later ones join sessions of earlier ones."""
    chance = random.Random(seed)
    return [
        [(chance.choice("abc"), chance.randrange(120), chance.randrange(1000)) for _ in range(12)] for _ in range(FILES)
    ]


def expected(files: list[list[Row]]) -> set[tuple[Any, ...]]:
    """Sessions by brute force: user, first, last, how many, their cents."""
    found = set[tuple[Any, ...]]()
    rows = [row for file in files for row in file]
    for user in "abc":
        records = [
            Record((user,), minute, number, {"cents": cents})
            for number, (key, minute, cents) in enumerate(rows)
            if key == user
        ]
        for start, end, members in sessions(records, GAP):
            bounds = (START + timedelta(minutes=minute) for minute in (start, end))
            found.add((user, *bounds, len(members), sum(member.values["cents"] for member in members)))
    return found


def run(spark: SparkSession, place: Path, files: list[list[Row]], sink: Callable[..., None], emit: str) -> None:
    """A streaming query over the files, one a micro-batch, into a sink that is called twice with all it gets."""
    (place / "in").mkdir()
    for number, rows in enumerate(files):
        lines = (
            f"{user},{START + timedelta(minutes=minute):%Y-%m-%d %H:%M:%S},{cents}\n" for user, minute, cents in rows
        )
        path = place / "in" / f"{number}.csv"
        path.write_text("".join(lines))
        os.utime(path, (1_600_000_000 + number,) * 2)
    reader = spark.readStream.schema("user string, ts timestamp, cents double").option("maxFilesPerTrigger", 1)
    changes = (
        wr.group_by(reader.csv(str(place / "in")), "user", time="ts")
        .windowed_by(wr.SessionWindows.with_gap(f"{GAP} minutes", grace="1 day"))
        .emit(emit)
        .agg(clicks=wr.count(), spend=wr.sum("cents"))
    )

    def twice(frame: Any, number: int) -> None:  # as after a failure
        sink(frame, number)
        sink(frame, number)

    writer = changes.writeStream.foreachBatch(twice).trigger(availableNow=True)
    writer.option("checkpointLocation", str(place / "checkpoint")).start().awaitTermination()
