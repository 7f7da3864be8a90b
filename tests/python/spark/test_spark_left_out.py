"""`left_out("emit")` on Spark: in a batch as in this process, on a stream with every reason."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DayTimeIntervalType

import windrow as wr

from ..harness.spark_tables import table_of
from ..harness.streams import play
from ..scenes import utc

SCHEMA = pa.schema(
    [
        ("user", pa.string()),
        ("ts", pa.timestamp("us", "UTC")),
        ("amount", pa.int64()),
        ("gap", pa.duration("us")),
        ("tick", pa.bool_()),
    ]
)
DDL = "user string, ts timestamp, amount bigint, gap interval day to second, tick boolean"
NAMES = ("reason", "late_by", "stream_time", "record")


def table(*rows: tuple[Any, ...]) -> pa.Table:
    """Rows of (user, minutes, amount, whether the gap is good)."""
    records = []
    for user, minutes, amount, *good in rows:
        at = None if minutes is None else utc(minutes)
        gap = timedelta(minutes=5) if not good or good[0] else timedelta(0)
        records.append({"user": user, "ts": at, "amount": amount, "gap": gap})
    return pa.Table.from_pylist(records, SCHEMA)


EVENTS = table(
    ("ann", 0, 1), (None, 1, 2), ("ann", None, 3), (None, None, 4), ("bob", 2, 5, False), ("ann", 3, 6), ("bob", 30, 7)
)
WINDOWS = {
    "gap": wr.SessionWindows.with_gap("5 minutes"),
    "own": wr.SessionWindows.with_dynamic_gap("gap"),
    "pairs": wr.SlidingWindows.with_time_difference("5 minutes"),
}
VALUES: dict[str, dict[str, Any]] = {
    "built_in": {"n": wr.count(), "total": wr.sum("amount")},
    "computed": {"mean": wr.sum("amount") / wr.count(), "n": wr.count()},
    "python": {"total": wr.reduce("amount", lambda one, other: one + other), "n": wr.count()},
}


def kept(data: Any, windows: Any, values: dict[str, Any], columns: list[str], seen: Any = None) -> Any:
    query = wr.group_by(data, "user", time="ts").windowed_by(windows).left_out("emit", columns=columns)
    return (query if seen is None else query.observe(seen)).agg(**values)


@pytest.mark.parametrize(("windows", "values"), [("gap", "built_in"), ("own", "computed"), ("pairs", "python")])
def test_a_batch_gives_the_rows_of_this_process(spark: SparkSession, windows: str, values: str) -> None:
    case, columns, seen = (WINDOWS[windows], VALUES[values]), ["amount", "gap"], Observation()
    data = spark.createDataFrame(EVENTS.to_pandas()[["user", "ts", "amount"]].astype({"amount": "int64"}))
    data = data.withColumn("gap", F.expr("make_dt_interval(0, 0, if(amount = 5, 0, 5))")).repartition(3)
    answer = kept(data, *case, columns, seen)
    assert isinstance(answer.schema["late_by"].dataType, DayTimeIntervalType)
    expected = kept(EVENTS, *case, columns)
    assert answer.columns == expected.column_names
    shown = table_of(answer).cast(pa.schema([field.with_nullable(True) for field in expected.schema]))
    assert sorted(map(repr, shown.to_pylist())) == sorted(map(repr, expected.to_pylist()))
    count = wr.counters(expected)
    assert {name: seen.get[name] for name in ("records", "null_keys", "null_times", "bad_gaps", "windows")} == {
        name: count[name] for name in ("records", "null_keys", "null_times", "bad_gaps", "windows")
    }


def test_the_columns_of_a_batch_of_a_cogroup_without_keys_and_flat(spark: SparkSession) -> None:
    clicks = spark.sql("SELECT timestamp '2026-01-01 08:00:00' ts, 1 amount UNION ALL SELECT null, 2")
    orders = spark.sql("SELECT cast(null AS timestamp) at, 'x' code")
    both = wr.cogroup(clicks=wr.group_by(clicks, time="ts"), orders=wr.group_by(orders, time="at"))
    query = both.windowed_by(WINDOWS["gap"]).left_out("emit", columns=["clicks.amount", "orders.code"])
    answer = query.flat().agg(n=wr.count())
    assert answer.columns == [
        "window_start", "window_end", "n", "time", "reason", "late_by", "stream_time", "input", "record", "op"
    ]  # fmt: skip
    rows = [(row.input, row.reason, tuple(row.record)) for row in answer.collect() if row.op == "left_out"]
    assert sorted(rows) == [("clicks", "null_time", (2, None)), ("orders", "null_time", (None, "x"))]


def rows_left_out(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Rows as (amount, reason, minutes that the record is late by)."""
    found = []
    for row in rows:
        if row["op"] == "left_out":
            assert row["n"] is None
            late_by = None if row["late_by"] is None else row["late_by"] / timedelta(minutes=1)
            found.append((row["record"]["amount"], row["reason"], late_by))
        else:
            assert all(row[name] is None for name in NAMES)
    return sorted(found)


@pytest.mark.slow
@pytest.mark.needs("streams")
@pytest.mark.parametrize("emit", ["close", pytest.param("update", marks=pytest.mark.soak)])
def test_a_stream_returns_every_record_that_is_in_no_window(spark: SparkSession, tmp_path: Path, emit: Any) -> None:
    windows = wr.SessionWindows.with_dynamic_gap("gap", grace="1 minute")

    def query(data: DataFrame) -> DataFrame:
        grouped = wr.group_by(data, "user", time="ts", tick="tick")
        return (
            grouped.windowed_by(windows)
            .emit(emit)
            .max_ahead("1 day")
            .left_out("emit", columns=["amount", "tick"])
            .shards(3)
            .agg(mean=wr.sum("amount") / wr.count(), n=wr.count())
        )

    ahead = pa.Table.from_pylist([{"user": "ann", "ts": utc(2e7), "amount": 8}], SCHEMA)
    ticks = pa.Table.from_pylist([{"ts": None, "amount": 9, "tick": True}], SCHEMA)
    late = table(("ann", 10, 10), ("ann", 23.99, 11), ("bob", 24, 12))
    run = play(spark, tmp_path, [pa.concat_tables([EVENTS, ahead, ticks]), late], query, DDL)
    # stream time 30, close time 29: 10 + 5 is late by 14, 23.99 + 5 by 0.01, 24 + 5 is in time
    assert rows_left_out(run.rows) == [
        (2, "null_key", None),
        (3, "null_time", None),
        (4, "null_key", None),
        (5, "bad_gap", None),
        (8, "ahead", None),
        (9, "bad_tick", None),
        (10, "late", 14),
        (11, "late", pytest.approx(0.01)),
    ]
    by_amount = {row["record"]["amount"]: row for row in run.rows if row["op"] == "left_out"}
    assert by_amount[10]["stream_time"] == by_amount[11]["stream_time"] is not None
    assert by_amount[10]["window"]["start"] == by_amount[10]["window"]["end"] == by_amount[10]["time"]
    assert by_amount[3]["window"] is None
    for counter, count in {
        "null_keys": 2,
        "null_times": 1,
        "bad_gaps": 1,
        "ahead": 1,
        "bad_ticks": 1,
        "late": 2,
    }.items():
        assert run.total(counter) == count


@pytest.mark.soak
@pytest.mark.needs("streams")
def test_a_stream_of_sliding_windows_continues_with_the_ledger_after_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    def query(data: DataFrame, late: Any = "drop", ledger: bool = True) -> DataFrame:
        windows = wr.SlidingWindows.with_time_difference("10 minutes", grace="2 minutes")
        windowed = wr.group_by(data, "user", time="ts").windowed_by(windows).late(late)
        return (windowed.left_out("emit", columns=["amount"]) if ledger else windowed).shards(2).agg(n=wr.count())

    run = play(spark, tmp_path, [table(("ann", 52, 1))], lambda data: query(data, ledger=False), DDL)
    first = len(run.rows)
    # close time 50: 44 is in no window, 40 - epsilon late as a whole, and 45 of bob too is alone
    play(spark, tmp_path, [table(("cid", 44, 2), ("cid", 39, 3), ("ann", 50, 4))], query, DDL, run=run)
    assert rows_left_out(run.rows[first:]) == [(2, "refused", 6), (3, "late", 1)]
    first = len(run.rows)
    play(spark, tmp_path, [table((None, 44, 5), ("cid", 44, 6))], lambda data: query(data, "emit"), DDL, run=run)
    assert rows_left_out([row for row in run.rows[first:] if row["op"] == "left_out"]) == [(5, "null_key", None)]
    assert [row["n"] for row in run.rows[first:] if row["op"] == "late"] == [1]
