"""The table of open windows of a streaming query: that of runs over the same records, for other queries to continue."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import windrow as wr
import windrow.state

from ..harness.spark_tables import frame_of, table_of
from ..harness.stream_scenes import DDL, KINDS, batch, closing, records, windowed
from ..harness.streams import Folder, Run, play, source, start
from ..harness.tables import assert_same, rows_of

pytestmark = [pytest.mark.needs("streams"), pytest.mark.slow]

SUMS: dict[str, Any] = {"n": wr.count(), "spend": wr.sum("amount")}
MANY: dict[str, Any] = {**SUMS, "last": wr.last("amount"), "double": wr.max("amount") * 2}
FUNCTIONS: dict[str, Any] = {**SUMS, "most": wr.reduce("amount", max)}
DAY = timedelta(days=1)


def ends(batches: list[list[dict[str, Any]]], slowest: bool) -> list[datetime]:
    """Stream time after each micro-batch: the largest time of all records, or of the slowest source."""
    found, latest = [], dict[Any, datetime]()
    for rows in batches:
        for row in rows:
            source = row["part"] if slowest else None
            latest[source] = max(row["ts"], latest.get(source, row["ts"]))
        found.append(min(latest.values()))
    return found


def tables(rows: Any) -> tuple[Any, int]:
    """The open windows by key and bounds without their states, and how many rows have no window."""
    shown = rows.filter(rows["window"].is_valid()).drop_columns(["stream_time", "state"])
    return rows_of(shown, ["user"]), rows.num_rows - shown.num_rows


def sessions(data: Any) -> Any:
    return windowed(data, KINDS["sessions"])


@pytest.mark.parametrize(
    ("kind", "mode", "aggregates", "sources"),
    [
        ("sessions", "update", MANY, {"source": "part", "stream_time": "slowest"}),
        ("dynamic gaps", "close", FUNCTIONS, {}),
    ],
    ids=["sources and computed results", "dynamic gaps and functions"],
)
def test_the_table_is_that_of_runs_over_the_micro_batches(
    spark: SparkSession, tmp_path: Path, kind: str, mode: Any, aggregates: dict[str, Any], sources: dict[str, Any]
) -> None:
    rows, checkpoint = records(31, 90), tmp_path / "checkpoint"
    batches = [rows[:40], rows[40:55], rows[55:60]]

    def query(data: Any, **options: Any) -> Any:
        return windowed(data, KINDS[kind], **options)

    play(
        spark,
        tmp_path,
        map(batch, batches),
        lambda data: query(data, **sources).emit(mode).agg(**aggregates),
        DDL,
    )
    frame = windrow.state.open_windows(spark, checkpoint)
    opened = table_of(frame)
    times = ends(batches, bool(sources))
    expected: Any = None
    for each, end in zip(batches, times, strict=True):
        expected = query(batch(each)).advance(expected, to=end, **aggregates).still_open
    assert windrow.state.clock(frame) == windrow.state.clock(opened) == windrow.state.Clock(times[-1], 2)
    (found, others), (brute, expected_others) = tables(opened), tables(expected)
    for values in found.values():
        for part in [name for name in values if name.startswith("double: ")]:
            values["double"] = 2 * values.pop(part)
    assert_same(found, brute)
    assert others == expected_others
    assert len(brute) > 3

    rest, end = batch(rows[60:]), closing(rows)["ts"]
    closed = query(rest).advance(expected, to=end, **aggregates).closed
    same = query(frame_of(spark, rest)).advance(frame, to=end, **aggregates).closed
    assert_same(rows_of(table_of(same), ["user"]), rows_of(closed, ["user"]))
    later = query(rest).advance(opened, to=end, new=wr.max("amount"), **aggregates).closed
    assert_same(rows_of(later.drop_columns("new"), ["user"]), rows_of(closed, ["user"]))
    # A window without a record of the new query does not know its aggregate.
    assert later["new"].null_count < later.num_rows
    assert bool(later["new"].null_count) == (not sources)


def test_a_query_with_flat_bounds_continues_its_own_open_windows(spark: SparkSession, tmp_path: Path) -> None:
    rows = records(37)
    first, rest, last = batch(rows[:40]), batch(rows[40:]), closing(rows)

    def query(data: Any) -> Any:
        return sessions(data).flat()

    play(spark, tmp_path / "first", [first], lambda data: query(data).agg(**SUMS), DDL)
    opened = windrow.state.open_windows(spark, tmp_path / "first" / "checkpoint")
    closed = query(rest).advance(table_of(opened), to=last["ts"], **SUMS).closed.to_pylist()
    assert len(closed) > 5
    in_spark = query(frame_of(spark, rest)).advance(opened, to=last["ts"], **SUMS).closed
    assert sorted(map(str, table_of(in_spark).to_pylist())) == sorted(map(str, closed))
    tables = [rest, batch([last])]
    run = play(spark, tmp_path / "second", tables, lambda data: query(data).start_from(opened).agg(**SUMS), DDL)
    found, wanted = (sorted((row["user"], row["n"], row["spend"]) for row in rows) for rows in (run.rows, closed))
    assert found == wanted


def test_cogroups_and_series(spark: SparkSession, tmp_path: Path) -> None:
    rows = records(32)
    parts = [batch([row for row in rows if row["part"] == part]) for part in (0, 1)]
    aggregates = {"n": wr.count(), "paid": wr.sum("paid.amount")}

    def both(one: Any, other: Any) -> Any:
        grouped = wr.cogroup(paid=wr.group_by(one, "user", time="ts"), seen=wr.group_by(other, "user", time="ts"))
        return grouped.windowed_by(KINDS["sessions"]).shards(2)

    def query(data: DataFrame) -> Any:
        return both(data.where("part = 0"), data.where("part = 1")).agg(**aggregates)

    play(spark, tmp_path / "both", [batch(rows)], query, DDL)
    opened = table_of(windrow.state.open_windows(spark, tmp_path / "both" / "checkpoint"))
    end = min(max(part["ts"].to_pylist()) for part in parts)
    expected = both(*parts).advance(None, to=end, **aggregates).still_open
    assert tables(opened) == tables(expected)
    none = [part[:0] for part in parts]
    closed = [both(*none).advance(each, to=end + DAY, **aggregates).closed for each in (opened, expected)]
    assert_same(*(rows_of(each, ["user"]) for each in closed))

    def series(data: Any) -> Any:
        return wr.group_by(data, time="ts").windowed_by(KINDS["sessions"]).shards(2)

    play(spark, tmp_path / "series", [batch(rows)], lambda data: series(data).agg(**SUMS), DDL)
    frame = windrow.state.open_windows(spark, tmp_path / "series" / "checkpoint")
    assert frame.columns == ["window", "n", "spend", "stream_time", "state"]
    assert series(batch([])).advance(table_of(frame), to=end + DAY, **SUMS).closed["n"].to_pylist() == [60]


def test_the_table_of_a_query_that_runs_without_keys_and_at_another_time(spark: SparkSession, tmp_path: Path) -> None:
    folder, rows, checkpoint = Folder(tmp_path / "in"), records(33), tmp_path / "c"
    folder.add(batch(rows[:30]))
    result = sessions(source(spark, folder, DDL)).agg(**SUMS)
    running = start(result, Run(), checkpoint, processingTime="0 seconds")
    try:
        running.processAllAvailable()
        place = str(tmp_path / "opened")
        windrow.state.open_windows(spark, str(checkpoint)).write.parquet(place)
        folder.add(batch(rows[30:]))
        running.processAllAvailable()
        kept = spark.read.parquet(place).withColumn("day", F.lit("monday"))
        clocks = [windrow.state.clock(each) for each in (kept, windrow.state.open_windows(spark, checkpoint))]
    finally:
        running.stop()
        running.awaitTermination()
    times = ends([rows[:30], rows[30:]], slowest=False)
    assert clocks == [windrow.state.Clock(time, number) for number, time in enumerate(times)]
    now = times[-1]

    def users(opened: Any) -> set[str]:
        run = sessions(frame_of(spark, batch([]))).advance(opened, to=now + DAY, **SUMS)
        return {row["user"] for row in run.closed.collect()}

    assert users(kept) == {"ann", "bob", "cem", ""}
    without = windrow.state.without_keys(kept, user=["bob", "", "nobody", None])
    assert without.columns == kept.columns
    assert users(without) == {"ann", "cem"}
    assert users(windrow.state.without_keys(kept, user="nobody")) == {"ann", "bob", "cem", ""}
    back = windrow.state.with_clock(kept, now - timedelta(hours=1))
    assert windrow.state.clock(back).time == now - timedelta(hours=1)
    assert users(back) == {"ann", "bob", "cem", ""}
    with pytest.raises(ValueError, match="keys: got 'n'; allowed: key columns of the table: 'user'"):
        windrow.state.without_keys(kept, n=1)
    with pytest.raises(TypeError, match="keys: user: got 5"):
        windrow.state.without_keys(kept, user=5)
    with pytest.raises(ValueError, match="got no clock row; allowed: the whole table of open windows of one run"):
        windrow.state.with_clock(kept.where("user IS NOT NULL"), now)
    with pytest.raises(ValueError, match="one that has 'state'"):
        windrow.state.clock(kept.drop("state"))


REFUSED: dict[str, tuple[Any, list[dict[str, Any]], str]] = {
    "sources": (
        lambda data: windowed(data, KINDS["sessions"], source="part").agg(**SUMS),
        records(34, 9),
        r"sources \(part\) each have their own windows; allowed: .*slowest",
    ),
    "a column": (
        lambda data: sessions(data).agg(state=wr.count()),
        records(34, 9),
        "a query with the column 'state'; allowed: any name but state",
    ),
    "no records": (lambda data: sessions(data).agg(**SUMS), [], "no stream time yet|no shards yet"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_states_that_no_table_holds_are_refused(spark: SparkSession, tmp_path: Path, case: str) -> None:
    query, rows, said = REFUSED[case]
    play(spark, tmp_path, [batch(rows)], query, DDL)
    with pytest.raises(ValueError, match=said):
        windrow.state.open_windows(spark, tmp_path / "checkpoint")
