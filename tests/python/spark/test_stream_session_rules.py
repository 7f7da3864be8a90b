"""Sessions with rules in Spark: a stream with restarts gives the sessions of a batch, and so does a batch of Spark."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import windrow as wr

from ..harness.streams import play
from ..scenes import utc

pytestmark = pytest.mark.needs("streams")

SCHEMA = pa.schema(
    [
        ("user", pa.string()),
        ("ts", pa.timestamp("us", "UTC")),
        ("offset", pa.int64()),
        ("login", pa.bool_()),
        ("out", pa.bool_()),
        ("camp", pa.string()),
    ]
)
DDL = "user string, ts timestamp, offset bigint, login boolean, out boolean, camp string"
RULES: dict[str, Any] = {
    "max_duration": "12 minutes",
    "end_when": "out",
    "start_when": "login",
    "cut_on": "camp",
    "cut_at": "12:30",
    "zone": "Asia/Kolkata",
    "max_records": 9,
}


def events(seed: int, count: int = 400) -> pa.Table:
    """Events of a user who is never quiet and of two others, some minutes out of order, many at one time."""
    draw = random.Random(seed)
    rows = []
    for number in range(count):
        user = draw.choice(["ann", "ann", "ann", "bob", "cem", None])
        minutes = round(number / 4 - draw.uniform(0, 4))
        tie = None if draw.random() < 0.02 else number
        rows.append(
            (user, utc(minutes), tie, draw.random() < 0.05, draw.random() < 0.05, "a" if number % 60 < 45 else None)
        )
    columns = zip(*rows, strict=True)
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


def added(one: int | None, other: int) -> int:
    return (one or 0) + other


AGGREGATES = {
    "n": wr.count(),
    "offsets": wr.collect_list("offset"),
    "why": wr.ended_by(),
    "id": wr.window_id(),
    "total": wr.reduce("offset", added),
}


def sessions(data: Any, **others: Any) -> Any:
    windows = wr.SessionWindows.with_gap("3 minutes", **RULES, **others)
    return wr.group_by(data, "user", time="ts", tie="offset").windowed_by(windows).shards(3)


def rows_of(rows: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    found = {row["id"]: {name: row[name] for name in row if name != "window"} for row in rows if row["user"] != "end"}
    assert len(found) == sum(row["user"] != "end" for row in rows)
    return found


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore:total=reduce")
def test_a_stream_with_restarts_gives_the_sessions_of_a_batch(spark: SparkSession, tmp_path: Path) -> None:
    table = events(1)
    last = pa.Table.from_pylist([{"user": "end", "ts": utc(10_000), "offset": 0}], SCHEMA)
    pieces = [table.slice(first, 90) for first in range(0, table.num_rows, 90)]

    def query(data: DataFrame) -> DataFrame:
        return sessions(data, grace="5 minutes").agg(**AGGREGATES)

    run = play(spark, tmp_path, pieces[:3], query, DDL)
    assert run.rows, "a user who is never quiet closes sessions"
    run = play(spark, tmp_path, pieces[3:], query, DDL, run=run)
    run = play(spark, tmp_path, [last], query, DDL, run=run)
    batch = sessions(table).agg(**AGGREGATES)
    expected = rows_of(batch.to_pylist())
    for session in expected.values():
        session["why"] = "gap" if session["why"] == "open" else session["why"]
    assert rows_of(run.rows) == expected
    reasons = {session["why"] for session in expected.values()}
    assert reasons >= {"end_when", "max_records", "start_when", "cut_on", "gap"}
    assert run.total("late") == 0 < run.total("null_ties") == wr.counters(batch)["null_ties"]
    assert max(known["windows_open"] for known in run.counters()) < 60

    there = sessions(spark.createDataFrame(table.to_pandas(), DDL))
    shown = [row.asDict(recursive=True) for row in there.agg(**AGGREGATES).collect()]
    assert rows_of(shown) == rows_of(batch.to_pylist())


def test_what_a_stream_refuses(spark: SparkSession, tmp_path: Path) -> None:
    stream = spark.readStream.schema(DDL).parquet(str(tmp_path))
    with pytest.raises(ValueError, match="emit: got 'update'"):
        sessions(stream, grace="5 minutes").emit("update").agg(n=wr.count())
    with pytest.raises(ValueError, match="retention"):
        sessions(stream, grace="5 minutes", retention=timedelta(days=1))
    with pytest.raises(ValueError, match="with_columns on a stream takes sessions without rules"):
        sessions(stream, grace="5 minutes").with_columns(n=wr.count())
    plain = wr.group_by(stream, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 minute", grace="1 minute"))
    with pytest.raises(ValueError, match="ended_by"):
        plain.agg(why=wr.ended_by())
