"""A stream that continues the open windows of another query: the windows of runs over the same table and records."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import windrow as wr
import windrow.state

from ..harness.spark_tables import table_of
from ..harness.streams import applied, play
from .test_stream_open_windows import SUMS, ends
from .test_stream_state import DDL, events, table

pytestmark = pytest.mark.needs("streams")

OLD: dict[str, Any] = {"n": wr.count(), "spend": wr.sum("amount"), "least": wr.reduce("amount", min)}
NEW: dict[str, Any] = {"spend": wr.sum("amount"), "most": wr.max("amount"), "n": wr.count()}
FUNCTIONS: dict[str, Any] = {**NEW, "list": wr.collect_list("amount"), "greatest": wr.reduce("amount", max)}
SESSIONS = wr.SessionWindows.with_gap("3 minutes", grace="5 minutes")
SLIDING = wr.SlidingWindows.with_time_difference("3 minutes", grace="5 minutes", resolution="1 millisecond")
LONGER = wr.SessionWindows.with_gap("4 minutes", grace="4 minutes")
SLIDING_LATER = wr.SlidingWindows.with_time_difference("3 minutes", grace="7 minutes", resolution="1 millisecond")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "mode", "aggregates"),
    [
        pytest.param(SESSIONS, LONGER, "close", NEW, marks=pytest.mark.soak),
        (SESSIONS, LONGER, "update", FUNCTIONS),
        (SLIDING, SLIDING_LATER, "close", FUNCTIONS),
    ],
    ids=["sessions, close", "sessions, update", "sliding"],
)
def test_a_stream_continues_another_query(
    spark: SparkSession, tmp_path: Path, before: Any, after: Any, mode: Any, aggregates: dict[str, Any]
) -> None:
    rows = events(41, 90)
    tables = [table(rows[:40]), table(rows[40:60]), table(rows[60:])]
    last = table([{**rows[0], "user": "end", "ts": max(row["ts"] for row in rows) + timedelta(hours=2)}])

    def windowed(data: Any, windows: Any) -> Any:
        return wr.group_by(data, "user", time="ts").windowed_by(windows)

    play(spark, tmp_path / "old", tables[:1], lambda data: windowed(data, before).shards(3).agg(**OLD), DDL)
    checkpoint, place = tmp_path / "old" / "checkpoint", str(tmp_path / "opened")
    windrow.state.open_windows(spark, checkpoint).write.parquet(place)
    opened = spark.read.parquet(place)

    def query(data: Any) -> Any:
        return windowed(data, after).emit(mode).shards(2).start_from(opened).agg(**aggregates)

    given = play(spark, tmp_path / "new", [*tables[1:], last], query, DDL).rows
    run: Any = None
    closed = []
    for records, end in zip(
        [*tables[1:], last], ends([t.to_pylist() for t in [*tables[1:], last]], False), strict=True
    ):
        left = table_of(opened) if run is None else run.still_open
        end = max(end, windrow.state.clock(left).time)
        run = windowed(records, after).advance(left, to=end, **aggregates)
        closed += run.closed.to_pylist()
    expected = [row for row in closed if row["user"] != "end"]
    if mode == "update":
        found = [row for row in applied(given, ["user"]).values() if row["user"] != "end"]
        # Windows without a record of the new query give no row.
        expected = [row for row in expected if shown(row) in {shown(each) for each in found} or row["n"] is None]
        assert len(found) == len(expected)
    else:
        found = given
    assert sorted(map(shown, found)) == sorted(map(shown, expected))
    assert {row["most"] is None for row in found} == {True, False}


@pytest.mark.slow
def test_a_sink_of_two_queries_at_a_pace_has_the_windows_of_a_batch(spark: SparkSession, tmp_path: Path) -> None:
    """Rows wait when the windows move, and so do the deletes of sessions that were merged."""
    rows = sorted(events(45, 120), key=lambda row: row["ts"])
    tables = [table(rows[start : start + 10]) for start in range(0, 120, 10)]
    last = table([{**rows[0], "user": "end", "ts": rows[-1]["ts"] + timedelta(hours=2)}])

    def windowed(data: Any) -> Any:
        return wr.group_by(data, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("5 minutes", grace="0 s"))

    def first(data: Any) -> Any:
        return windowed(data).emit("update", every="2 minutes").shards(3).agg(**SUMS)

    given = play(spark, tmp_path / "old", tables[:7], first, DDL).rows
    opened = windrow.state.open_windows(spark, tmp_path / "old" / "checkpoint")
    has_moved = applied(given, ["user"])

    def second(data: Any) -> Any:
        updates = windowed(data).emit("update", every="10 minutes").shards(2)
        return updates.start_from(opened).agg(**SUMS)

    later = play(spark, tmp_path / "new", [*tables[7:], last], second, DDL).rows
    assert any(row["op"] == "delete" and name(row) in has_moved for row in later)
    found = applied([*given, *later], ["user"]).values()
    expected = windowed(table([*rows, *last.to_pylist()])).agg(**SUMS).to_pylist()
    assert sorted(map(shown, found)) == sorted(map(shown, expected))
    unpaced = windowed(spark.readStream.schema(DDL).parquet(str(tmp_path / "old" / "in"))).emit("update")
    with pytest.raises(ValueError, match="every was there, is none, so rows that wait would never leave"):
        unpaced.start_from(opened).agg(**SUMS)


def name(row: dict[str, Any]) -> tuple[Any, ...]:
    return (row["user"], *row["window"].values())


def shown(row: dict[str, Any]) -> str:
    """A row without the zone of its times."""
    window = [bound.replace(tzinfo=None) for bound in row["window"].values()]
    return repr(
        (
            row["user"],
            window,
            sorted((name, sorted_list(value)) for name, value in row.items() if name not in ("user", "window", "op")),
        )
    )


def sorted_list(value: Any) -> Any:
    return sorted(value) if isinstance(value, list) else value


def test_what_a_stream_cannot_continue_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    def windowed(data: Any, windows: Any) -> Any:
        return wr.group_by(data, "user", time="ts").windowed_by(windows).shards(2)

    play(spark, tmp_path / "old", [table(events(42, 20))], lambda data: windowed(data, LONGER).agg(**NEW), DDL)
    opened = windrow.state.open_windows(spark, tmp_path / "old" / "checkpoint")
    data = spark.readStream.schema(DDL).parquet(str(tmp_path / "old" / "in"))
    for windows, aggregates, says in (
        (SESSIONS, NEW, "gap was 4 minutes, is 3 minutes"),
        (SLIDING, NEW, "windows were sessions, are sliding windows"),
        (LONGER, {"n": wr.sum("amount")}, 'the aggregate "n" was count'),
    ):
        with pytest.raises(ValueError, match=f"open: the open windows are of another query: {says}"):
            windowed(data, windows).start_from(opened).agg(**aggregates)
