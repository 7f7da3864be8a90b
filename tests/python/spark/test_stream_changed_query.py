"""A stream that continues the open windows of another query: the windows of runs over the same table and records."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import windrow as wr
import windrow.state

from ..harness.spark_tables import table_of
from ..harness.stream_scenes import DDL, KINDS, batch, closing, records, windowed
from ..harness.streams import Folder, play, source

pytestmark = pytest.mark.needs("streams")

OLD: dict[str, Any] = {"n": wr.count(), "spend": wr.sum("amount"), "least": wr.reduce("amount", min)}
NEW: dict[str, Any] = {"spend": wr.sum("amount"), "most": wr.max("amount"), "n": wr.count()}
FUNCTIONS: dict[str, Any] = {**NEW, "list": wr.collect_list("amount"), "greatest": wr.reduce("amount", max)}
SLIDING_LATER = wr.SlidingWindows.with_time_difference("3 minutes", grace="7 minutes", resolution="1 millisecond")


@pytest.mark.slow
def test_a_stream_continues_another_query(spark: SparkSession, tmp_path: Path) -> None:
    """Updates, deletes and changed gaps: the simulation, native/test_paces_of_changed_queries.py."""
    rows = records(41, 90)
    last = closing(rows)
    place = str(tmp_path / "opened")
    play(spark, tmp_path / "old", [batch(rows[:40])], lambda data: windowed(data, KINDS["sliding"]).agg(**OLD), DDL)
    windrow.state.open_windows(spark, tmp_path / "old" / "checkpoint").write.parquet(place)
    opened = spark.read.parquet(place)

    def query(data: Any) -> Any:
        return windowed(data, SLIDING_LATER).shards(2).start_from(opened).agg(**FUNCTIONS)

    given = play(spark, tmp_path / "new", [batch(rows[40:60]), batch(rows[60:]), batch([last])], query, DDL).rows
    left, closed = table_of(opened), list[dict[str, Any]]()
    for number, records_of_batch in enumerate((rows[40:60], rows[60:], [last])):
        end = max(row["ts"] for row in [*rows[: 60 + 30 * number], *records_of_batch])
        run = windowed(batch(records_of_batch), SLIDING_LATER).advance(left, to=end, **FUNCTIONS)
        left = run.still_open
        closed += run.closed.to_pylist()
    assert sorted(map(shown, given)) == sorted(map(shown, closed))
    assert {row["most"] is None for row in given} == {True, False}


def shown(row: dict[str, Any]) -> str:
    """A row with times in UTC and lists in order."""
    window = [bound.replace(tzinfo=UTC) for bound in row["window"].values()]
    values = {name: sorted(value) if isinstance(value, list) else value for name, value in row.items()}
    return repr({**values, "window": window})


def test_what_a_stream_cannot_continue_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    longer = wr.SessionWindows.with_gap("4 minutes", grace="4 minutes")
    play(spark, tmp_path, [batch(records(42, 20))], lambda data: windowed(data, longer).agg(**NEW), DDL)
    opened = windrow.state.open_windows(spark, tmp_path / "checkpoint")
    data = source(spark, Folder(tmp_path / "in"), DDL)
    for windows, aggregates, says in (
        (KINDS["sessions"], NEW, "gap was 4 minutes, is 3 minutes"),
        (KINDS["sliding"], NEW, "windows were sessions, are sliding windows"),
        (longer, {"n": wr.sum("amount")}, 'the aggregate "n" was count'),
    ):
        with pytest.raises(ValueError, match=f"open: the open windows are of another query: {says}"):
            windowed(data, windows).start_from(opened).agg(**aggregates)
