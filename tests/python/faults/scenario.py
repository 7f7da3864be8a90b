"""A query that faults meet again and again until all is read, and what it must give in the end."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from ..harness.stream_scenes import SCHEMA
from ..harness.streams import Folder, Run
from . import job
from .checkpoint import Checkpoint, Rows
from .driver import Driver, Fault

IN_ORDER = {"every_record", "python"}
"""The queries of which no answer depends on the cut into micro-batches (rules 1.3)."""

EVERY_RECORD = {"every_record", "cogrouped_records"}
"""The queries whose updates of a key have an order within a micro-batch."""


def play(
    place: Path, query: str, faults: Sequence[Fault], masters: Sequence[str], files: Sequence[int], seed: int
) -> Counter[str]:
    """Runs a query over the files at `place` until they are read; returns which faults met it.

    Each start draws a master and how many files a micro-batch has.
    """
    draw, left, met = random.Random(seed), list(faults), Counter[str]()
    driver: Driver | None = None
    try:
        while True:
            if driver is None:
                driver = Driver(place, draw.choice(masters), query)
                met["drivers"] += 1
            driver.start(draw.choice(files))
            kind = _meet(driver, left, met)
            if kind in ("driver", "commit"):
                driver = None
            elif not driver.wait():
                met["failed queries"] += 1
                if draw.random() < 0.3:
                    driver.end()
                    driver = None
            elif kind != "stop":
                met["faults left"] += len(left)
                return met
    finally:
        if driver is not None:
            driver.end()


def _meet(driver: Driver, left: list[Fault], met: Counter[str]) -> str | None:
    """Injects faults until one ends the query; its kind."""
    while left:
        fault = left[0]
        if not driver.inject(fault):
            return None
        left.pop(0)
        met[fault.kind] += 1
        if fault.kind in ("driver", "commit", "stop"):
            return fault.kind
    return None


def uninterrupted(spark: SparkSession, place: Path, query: str, batches: Iterable[Iterable[Path]]) -> dict[int, Rows]:
    """What a query gives in micro-batches of these files, each one file of each input; some records are late."""
    folders = {name: Folder(place / name) for name in job.inputs(query)}
    for files in batches:
        for name, folder in folders.items():
            own = [pq.read_table(file) for file in files if file.parent.name == name]
            folder.add(pa.concat_tables([SCHEMA.empty_table(), *own]))
    started = job.start(spark, place, query, 1)
    started.awaitTermination()
    run = Run(progress=started.recentProgress)
    assert run.total("late") > 0 < run.total("ticks")
    return Checkpoint(place).batches()


def check(spark: SparkSession, place: Path, query: str) -> int:
    """Fails unless the sink at `place` has what an uninterrupted run gives; how many micro-batches it got again."""
    found = Checkpoint(place)
    got, cut = found.batches(), found.cut()
    files = list[Path]()
    for name in job.inputs(query):
        own = sorted((place / name).glob("*.parquet"))
        assert [path for batch in cut for path in batch if path.parent.name == name] == own
        files += own
    assert sorted(got) == list(range(len(cut)))
    if query in IN_ORDER:  # in micro-batches of four files, which no run had
        together = [files[first : first + 4] for first in range(0, len(files), 4)]
        expected = uninterrupted(spark, place / "uninterrupted", query, together)
        assert sequences(joined(got)) == sequences(joined(expected))
    else:
        expected = uninterrupted(spark, place / "uninterrupted", query, cut)
        for number, rows in expected.items():
            assert as_set(got[number]) == as_set(rows), f"micro-batch {number}"
            if query in EVERY_RECORD:
                assert sequences(got[number]) == sequences(rows), f"micro-batch {number}"
    assert sum(map(len, expected.values())) > len(files)
    again = list(found.again())
    for number, rows in again:
        assert as_set(rows) == as_set(got[number]), f"micro-batch {number}, tried again"
    return len(again)


def joined(batches: dict[int, Rows]) -> Rows:
    """All rows, in the order of micro-batches."""
    return [row for number in sorted(batches) for row in batches[number]]


def as_set(rows: Rows) -> Counter[str]:
    """Rows in any order."""
    return Counter(map(repr, rows))


def sequences(rows: Rows) -> dict[Any, list[dict[str, Any]]]:
    """The rows of each key and source: updates in their order, finals by their windows."""
    found: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault((row["user"], row.get("part")), []).append(row)
    for own in found.values():
        if "op" not in own[0]:
            own.sort(key=lambda row: (row["window"]["start"], row["window"]["end"]))
    return found
