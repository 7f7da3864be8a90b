"""`left_out("emit")` on Spark: in a batch as in this process, on a stream with every reason."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql.types import DayTimeIntervalType

import windrow as wr

from ..harness.spark_tables import frame_of, table_of
from ..harness.stream_scenes import DDL, GAP, batch, windowed
from ..harness.streams import play
from ..scenes import utc

NAMES = ("reason", "late_by", "stream_time", "record")


def table(*rows: tuple[Any, ...]) -> pa.Table:
    """Rows of (user, minutes, amount), and of a word more if their gap is bad."""
    return batch(
        [
            {
                "user": user,
                "ts": None if minutes is None else utc(minutes),
                "amount": amount,
                "pause": timedelta(minutes=0 if bad else 5),
                "tick": False,
            }
            for user, minutes, amount, *bad in rows
        ]
    )


EVENTS = table(
    ("ann", 0, 1), (None, 1, 2), ("ann", None, 3), (None, None, 4), ("bob", 2, 5, "bad"), ("ann", 3, 6), ("bob", 30, 7)
)
OWN = wr.SessionWindows.with_dynamic_gap("pause")
PAIRS = wr.SlidingWindows.with_time_difference("5 minutes")
COMPUTED = {"mean": wr.sum("amount") / wr.count(), "n": wr.count()}
FUNCTIONS = {"total": wr.reduce("amount", lambda one, other: one + other), "n": wr.count()}


@pytest.mark.parametrize(("windows", "values"), [(OWN, COMPUTED), (PAIRS, FUNCTIONS)], ids=["computed", "functions"])
def test_a_batch_gives_the_rows_of_this_process(spark: SparkSession, windows: Any, values: dict[str, Any]) -> None:
    def query(data: Any) -> Any:
        return windowed(data, windows).left_out("emit", columns=["amount", "pause"])

    seen, expected = Observation(), query(EVENTS).agg(**values)
    answer = query(frame_of(spark, EVENTS).repartition(3)).observe(seen).agg(**values)
    assert isinstance(answer.schema["late_by"].dataType, DayTimeIntervalType)
    assert answer.columns == expected.column_names
    shown = table_of(answer).cast(pa.schema([field.with_nullable(True) for field in expected.schema]))
    assert sorted(map(repr, shown.to_pylist())) == sorted(map(repr, expected.to_pylist()))
    count, names = wr.counters(expected), ("records", "null_keys", "null_times", "bad_gaps", "windows")
    assert {name: seen.get[name] for name in names} == {name: count[name] for name in names}


def test_the_columns_of_a_batch_of_a_cogroup_without_keys_and_flat(spark: SparkSession) -> None:
    clicks = spark.sql("SELECT timestamp '2026-01-01 08:00:00' ts, 1 amount UNION ALL SELECT null, 2")
    orders = spark.sql("SELECT cast(null AS timestamp) at, 'x' code")
    both = wr.cogroup(clicks=wr.group_by(clicks, time="ts"), orders=wr.group_by(orders, time="at"))
    query = both.windowed_by(GAP).left_out("emit", columns=["clicks.amount", "orders.code"])
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
def test_a_stream_returns_every_record_that_is_in_no_window(spark: SparkSession, tmp_path: Path) -> None:
    windows = wr.SessionWindows.with_dynamic_gap("pause", grace="1 minute")

    def query(data: DataFrame) -> Any:
        sessions = windowed(data, windows, tick="tick").max_ahead("1 day")
        ledger = sessions.left_out("emit", columns=["amount", "tick"])
        return ledger.agg(mean=wr.sum("amount") / wr.count(), n=wr.count())

    ahead = table(("ann", 2e7, 8))
    bad_tick = batch([{"ts": None, "amount": 9, "tick": True}])
    late = table(("ann", 10, 10), ("ann", 23.99, 11), ("bob", 24, 12))
    run = play(spark, tmp_path, [pa.concat_tables([EVENTS, ahead, bad_tick]), late], query, DDL)
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
    names = ("null_keys", "null_times", "bad_gaps", "ahead", "bad_ticks", "late")
    assert [run.total(name) for name in names] == [2, 1, 1, 1, 1, 2]
