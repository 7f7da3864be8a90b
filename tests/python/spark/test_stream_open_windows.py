"""The table of open windows of a streaming query: that of runs over the same records, for other queries to continue."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import windrow as wr
import windrow.state

from ..harness.spark_tables import frame_of, table_of
from ..harness.streams import Folder, Run, play, source, start
from ..harness.tables import assert_same, rows_of
from .test_stream_state import DDL, KINDS, SCHEMA, events, table

pytestmark = [pytest.mark.needs("streams"), pytest.mark.slow]

SUMS: dict[str, Any] = {"n": wr.count(), "spend": wr.sum("amount")}
MANY: dict[str, Any] = {**SUMS, "last": wr.last("amount"), "double": wr.max("amount") * 2}
FUNCTIONS: dict[str, Any] = {**SUMS, "most": wr.reduce("amount", max)}


def ends(batches: list[list[dict[str, Any]]], slowest: bool) -> list[datetime]:
    """Stream time after each micro-batch: the largest time of all records, or of the slowest source."""
    found, latest = [], dict[Any, datetime]()
    for batch in batches:
        for row in batch:
            source = row["part"] if slowest else None
            latest[source] = max(row["ts"], latest.get(source, row["ts"]))
        found.append(min(latest.values()))
    return found


def tables(rows: pa.Table) -> tuple[Any, int]:
    """The open windows by key and bounds without their states, and how many rows have no window."""
    shown = rows.filter(rows["window"].is_valid()).drop_columns(["stream_time", "state"])
    return rows_of(shown, ["user"]), rows.num_rows - shown.num_rows


@pytest.mark.parametrize(
    ("kind", "mode", "aggregates", "sources"),
    [
        pytest.param("sessions", "close", SUMS, {}, marks=pytest.mark.soak),
        ("sessions", "update", MANY, {"source": "part", "stream_time": "slowest"}),
        ("dynamic gaps", "close", FUNCTIONS, {}),
        pytest.param("sliding", "close", SUMS, {}, marks=pytest.mark.soak),
        ("sliding", "update", MANY, {}),
    ],
    ids=["sessions", "sources and computed results", "dynamic gaps and functions", "sliding", "sliding, update mode"],
)
def test_the_table_is_that_of_runs_over_the_micro_batches(
    spark: SparkSession, tmp_path: Path, kind: str, mode: Any, aggregates: dict[str, Any], sources: dict[str, Any]
) -> None:
    rows = events(31, 90)
    batches = [rows[:40], rows[40:55], rows[55:60]]

    def query(data: Any, **options: Any) -> Any:
        return wr.group_by(data, "user", time="ts", **options).windowed_by(KINDS[kind])

    play(
        spark,
        tmp_path,
        [table(batch) for batch in batches],
        lambda data: query(data, **sources).emit(mode).shards(3).agg(**aggregates),
        DDL,
    )
    checkpoint = tmp_path / "checkpoint"
    frame = windrow.state.open_windows(spark, checkpoint)
    opened = table_of(frame)
    times = ends(batches, bool(sources))
    run: Any = None
    for batch, end in zip(batches, times, strict=True):
        run = query(table(batch)).advance(None if run is None else run.still_open, to=end, **aggregates)
    expected = run.still_open
    assert windrow.state.clock(frame) == windrow.state.Clock(times[-1], 2)
    assert windrow.state.clock(opened) == windrow.state.Clock(times[-1], 2)
    computed = [name for name in ("double",) if name in aggregates]
    (found, others), (brute, expected_others) = tables(opened), tables(expected)
    parts = [name for name in opened.column_names if name.startswith("double: ")]
    for values in found.values():
        for name, part in zip(computed, parts, strict=True):
            values[name] = 2 * values.pop(part)
    assert_same(found, brute)
    assert others == expected_others
    assert len(brute) > 3
    if aggregates is SUMS:  # the others keep the arrival of records, which differs
        clock = opened["stream_time"].is_valid()
        states = [set(each["state"].filter(each["stream_time"].is_null()).to_pylist()) for each in (opened, expected)]
        assert states[0] == states[1]
        assert clock.to_pylist().count(True) == 1

    rest, end = table(rows[60:]), max(row["ts"] for row in rows) + timedelta(days=1)
    closed = query(rest).advance(expected, to=end, **aggregates).closed
    same = query(frame_of(spark, rest)).shards(2).advance(frame, to=end, **aggregates).closed
    assert_same(rows_of(table_of(same), ["user"]), rows_of(closed, ["user"]))
    later = query(rest).advance(opened, to=end, new=wr.max("amount"), **aggregates)
    added = rows_of(later.closed, ["user"])
    assert_same(rows_of(later.closed.drop_columns("new"), ["user"]), rows_of(closed, ["user"]))
    is_old = {window for window in added if window[1] <= rows_time(batches)}
    assert {window for window, values in added.items() if values["new"] is None} >= is_old
    assert any(values["new"] is not None for values in added.values())


def rows_time(batches: list[list[dict[str, Any]]]) -> int:
    """The earliest time of the last records of the first query, in ticks."""
    earliest: Any = pa.scalar(min(row["ts"] for row in batches[-1]), pa.timestamp("us", "UTC"))
    value: int = earliest.value
    return value - 10 * 60_000_000


def test_a_query_with_flat_bounds_continues_its_own_open_windows(spark: SparkSession, tmp_path: Path) -> None:
    rows = events(37, 60)
    first, rest, end = table(rows[:40]), table(rows[40:]), max(row["ts"] for row in rows) + timedelta(days=1)

    def query(data: Any) -> Any:
        return wr.group_by(data, "user", time="ts").windowed_by(KINDS["sessions"]).shards(2).flat()

    play(spark, tmp_path / "first", [first], lambda data: query(data).agg(**SUMS), DDL)
    opened = windrow.state.open_windows(spark, tmp_path / "first" / "checkpoint")
    closed = query(rest).advance(table_of(opened), to=end, **SUMS).closed.to_pylist()
    assert len(closed) > 5
    in_spark = query(frame_of(spark, rest)).advance(opened, to=end, **SUMS).closed
    assert sorted(map(str, table_of(in_spark).to_pylist())) == sorted(map(str, closed))
    tick = table([{"user": "nobody", "ts": end, "amount": 1, "part": 0, "pause": timedelta(minutes=1)}])
    run = play(spark, tmp_path / "second", [rest, tick], lambda data: query(data).start_from(opened).agg(**SUMS), DDL)
    names = list(closed[0])
    assert sorted(str([row[name] for name in names[3:]]) for row in run.rows) == sorted(
        str([row[name] for name in names[3:]]) for row in closed
    )


def test_each_source_keeps_its_time_in_another_stream(spark: SparkSession, tmp_path: Path) -> None:
    """A stream that moves gives the same rows as one that does not."""
    rows = events(35, 90)
    batches = [table(rows[:40]), table(rows[40:60]), table(rows[60:])]

    def query(data: DataFrame, opened: Any = None, **sources: Any) -> DataFrame:
        grouped = wr.group_by(data, "user", time="ts", **(sources or {"source": "part", "stream_time": "slowest"}))
        windowed = grouped.windowed_by(KINDS["sessions"]).shards(2)
        return (windowed if opened is None else windowed.start_from(opened)).agg(**SUMS)

    whole = play(spark, tmp_path / "whole", batches, query, DDL)
    play(spark, tmp_path / "first", batches[:2], query, DDL)
    opened = table_of(windrow.state.open_windows(spark, tmp_path / "first" / "checkpoint"))
    assert windrow.state.clock(opened).time == ends([rows[:40], rows[40:60]], slowest=True)[-1]
    moved = play(spark, tmp_path / "second", batches[2:], lambda data: query(data, opened), DDL)
    closed = [
        sorted((row["user"], row["window"]["start"], row["n"]) for row in run) for run in (whole.batches[2], moved.rows)
    ]
    assert closed[0] == closed[1]
    assert closed[0]
    assert moved.counters()[0]["stream_time"] == whole.counters()[2]["stream_time"]
    assert moved.counters()[0]["late"] == whole.counters()[2]["late"]
    data = source(spark, Folder(tmp_path / "other"), DDL)
    with pytest.raises(
        ValueError, match=r"^source: got \('part', 'user'\); allowed: None with start_from: the clock row"
    ):
        query(data, opened, source=["part", "user"], stream_time="slowest")


def test_cogroups_and_series(spark: SparkSession, tmp_path: Path) -> None:
    rows = events(32)

    def both(one: Any, other: Any) -> Any:
        grouped = wr.cogroup(paid=wr.group_by(one, "user", time="ts"), seen=wr.group_by(other, "user", time="ts"))
        return grouped.windowed_by(KINDS["sessions"])

    aggregates = {"n": wr.count(), "paid": wr.sum("paid.amount")}
    place, parts = tmp_path / "both", [table([row for row in rows if row["part"] == part]) for part in (0, 1)]

    def query(data: DataFrame) -> DataFrame:
        return both(data.where("part = 0"), data.where("part = 1")).shards(2).agg(**aggregates)

    play(spark, place, [table(rows)], query, DDL)
    opened = table_of(windrow.state.open_windows(spark, place / "checkpoint"))
    end = min(max(part["ts"].to_pylist()) for part in parts)
    expected = both(*parts).advance(None, to=end, **aggregates).still_open
    assert tables(opened) == tables(expected)
    far = end + timedelta(days=1)
    closed = [
        both(parts[0][:0], parts[1][:0]).advance(each, to=far, **aggregates).closed for each in (opened, expected)
    ]
    assert_same(*(rows_of(each, ["user"]) for each in closed))

    def series(data: Any) -> Any:
        return wr.group_by(data, time="ts").windowed_by(KINDS["sessions"])

    place = tmp_path / "series"
    play(spark, place, [table(rows)], lambda data: series(data).shards(2).agg(**SUMS), DDL)
    frame = windrow.state.open_windows(spark, place / "checkpoint")
    assert frame.columns == ["window", "n", "spend", "stream_time", "state"]
    late = series(table([])).advance(table_of(frame), to=far, **SUMS).closed
    assert late["n"].to_pylist() == [60]


def test_the_table_of_a_query_that_runs_without_keys_and_at_another_time(spark: SparkSession, tmp_path: Path) -> None:
    folder, rows, checkpoint = Folder(tmp_path / "in"), events(33), tmp_path / "c"
    result = wr.group_by(source(spark, folder, DDL), "user", time="ts").windowed_by(KINDS["sessions"]).shards(2)
    folder.add(table(rows[:30]))
    running = start(result.agg(**SUMS), Run(), checkpoint, processingTime="0 seconds")
    try:
        running.processAllAvailable()
        place = str(tmp_path / "opened")
        windrow.state.open_windows(spark, str(checkpoint)).write.parquet(place)
        folder.add(table(rows[30:]))
        running.processAllAvailable()
        kept = spark.read.parquet(place).withColumn("day", F.lit("monday"))
        assert windrow.state.clock(kept) == windrow.state.Clock(max(row["ts"] for row in rows[:30]), 0)
        now = windrow.state.clock(windrow.state.open_windows(spark, checkpoint))
        assert now == windrow.state.Clock(max(row["ts"] for row in rows), 1)
    finally:
        running.stop()
        running.awaitTermination()
    far = now.time + timedelta(days=1)

    def users(opened: Any) -> set[str]:
        empty = frame_of(spark, table([]))
        run = wr.group_by(empty, "user", time="ts").windowed_by(KINDS["sessions"]).advance(opened, to=far, **SUMS)
        return {row["user"] for row in run.closed.collect()}

    assert users(kept) == {"ann", "bob", "cem", ""}
    without = windrow.state.without_keys(kept, user=["bob", "", "nobody", None])
    assert without.columns == kept.columns
    assert users(without) == {"ann", "cem"}
    assert users(windrow.state.without_keys(kept, user="nobody")) == {"ann", "bob", "cem", ""}
    back = windrow.state.with_clock(kept, now.time - timedelta(hours=1))
    assert windrow.state.clock(back).time == now.time - timedelta(hours=1)
    assert users(back) == {"ann", "bob", "cem", ""}
    with pytest.raises(ValueError, match="keys: got 'n'; allowed: key columns of the table: 'user'"):
        windrow.state.without_keys(kept, n=1)
    with pytest.raises(TypeError, match="keys: user: got 5"):
        windrow.state.without_keys(kept, user=5)
    with pytest.raises(ValueError, match="got no clock row; allowed: the whole table of open windows of one run"):
        windrow.state.with_clock(kept.where("user IS NOT NULL"), far)
    with pytest.raises(ValueError, match="one that has 'state'"):
        windrow.state.clock(kept.drop("state"))


def test_states_that_no_table_holds_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    def query(data: DataFrame, **options: Any) -> Any:
        return wr.group_by(data, "user", time="ts", **options).windowed_by(KINDS["sessions"]).shards(2)

    rows = [table(events(34, 9))]
    play(spark, tmp_path / "a", rows, lambda data: query(data, source="part").agg(**SUMS), DDL)
    with pytest.raises(ValueError, match=r"sources \(part\) each have their own windows; allowed: .*slowest"):
        windrow.state.open_windows(spark, tmp_path / "a" / "checkpoint")
    play(spark, tmp_path / "b", rows, lambda data: query(data).agg(state=wr.count()), DDL)
    with pytest.raises(ValueError, match="a query with the column 'state'; allowed: any name but state"):
        windrow.state.open_windows(spark, tmp_path / "b" / "checkpoint")
    play(spark, tmp_path / "c", [pa.Table.from_pylist([], SCHEMA)], lambda data: query(data).agg(**SUMS), DDL)
    with pytest.raises(ValueError, match="no stream time yet|no shards yet"):
        windrow.state.open_windows(spark, tmp_path / "c" / "checkpoint")
