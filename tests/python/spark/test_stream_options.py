"""Streaming queries: what their options do, what is refused at the call, restarts, triggers, counters, a sink."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

import windrow as wr

from ..harness import recipes
from ..harness.spark_scenes import SetConf
from ..harness.stream_scenes import DDL, short, table, tick, windowed
from ..harness.streams import Folder, Run, play, source, start

pytestmark = pytest.mark.needs("streams")


def broadcast(stream: DataFrame) -> Any:
    rates = stream.sparkSession.sparkContext.broadcast({1: 10, 2: 20})
    return windowed(stream).agg(n=wr.count(), paid=wr.reduce("amount", lambda one, other: one + rates.value[other]))


RULED = wr.SessionWindows.with_gap("5 minutes", grace="1 minute", max_records=3)
REFUSED: dict[str, tuple[Callable[[DataFrame], Any], type[Exception], str]] = {
    "no grace": (
        lambda stream: windowed(stream, wr.SessionWindows.with_gap("5 minutes")).count(),
        ValueError,
        "grace: got None; allowed: a grace on a stream: how long windows wait .*'1 hour'",
    ),
    "each record without an order": (
        lambda stream: windowed(stream).emit("update", every_record=True).count(),
        ValueError,
        r"every_record: got True; allowed: False, or group_by\(order=...\)",
    ),
    "an observation of Spark": (
        lambda stream: windowed(stream).observe(Observation("x")),
        TypeError,
        "observation: got .*; allowed: the name of the counters",
    ),
    "a broadcast in a function": (
        broadcast,
        TypeError,
        'aggregate "paid": got functions that use a broadcast, on a stream; allowed: the value itself',
    ),
    "updates of sessions with rules": (
        lambda stream: windowed(stream, RULED).emit("update").agg(n=wr.count()),
        ValueError,
        "emit: got 'update'",
    ),
    "records of sessions with rules": (
        lambda stream: windowed(stream, RULED).with_columns(n=wr.count()),
        ValueError,
        "with_columns on a stream takes sessions without rules",
    ),
    "an end without rules": (lambda stream: windowed(stream).agg(why=wr.ended_by()), ValueError, "ended_by"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_stream_cannot_do_is_refused_at_the_call(spark: SparkSession, tmp_path: Path, case: str) -> None:
    call, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        call(source(spark, Folder(tmp_path), DDL))


def test_another_state_store_is_refused(spark: SparkSession, tmp_path: Path, set_conf: SetConf) -> None:
    name = "spark.sql.streaming.stateStore.providerClass"
    set_conf(name, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    with pytest.raises(ValueError, match=r"providerClass: got .*HDFS.*windrow.configure\(spark\) sets it"):
        windowed(source(spark, Folder(tmp_path), DDL)).count()


def test_finals_go_into_duckdb_once_for_each_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    """```text
    gap 5, grace 1      ann 0, 3      ann 30 closes [0, 3]; the same stream from a second checkpoint gives it again
    ```
    """
    file = str(tmp_path / "sessions.duckdb")
    sinks = recipes.program("sinks.md")
    with duckdb.connect(file) as db:
        db.execute(sinks["TABLES"])
    folder = Folder(tmp_path / "in")
    for each in (table(("ann", 0, 2), ("ann", 3, 5)), table(("ann", 30))):
        folder.add(each)

    for checkpoint in ("first", "second"):
        append = sinks["append_to"](file, checkpoint)

        def sink(frame: DataFrame, number: int, append: Callable[..., None] = append) -> None:
            frame.persist()
            append(frame, number)
            append(frame, number)  # as after a failure

        result = windowed(source(spark, folder, DDL)).agg(clicks=wr.count(), spend=wr.sum("amount"))
        writer = result.writeStream.option("checkpointLocation", str(tmp_path / checkpoint)).trigger(availableNow=True)
        writer.foreachBatch(sink).start().awaitTermination()
        with duckdb.connect(file) as db:
            rows = db.execute('select "user", window_end - window_start, clicks, spend from sessions').fetchall()
        assert rows == [("ann", timedelta(minutes=3), 2, 7.0)] * (1 if checkpoint == "first" else 2)


def test_a_watermark_may_follow(spark: SparkSession, tmp_path: Path) -> None:
    def query(data: DataFrame) -> DataFrame:
        closed = windowed(data, tick="tick").agg(n=wr.count()).select("user", "n", F.col("window.end").alias("closed"))
        hours = closed.withWatermark("closed", "10 minutes").groupBy(F.window("closed", "1 hour"))
        return hours.agg(F.sum("n").alias("n")).select(F.hour("window.start").alias("hour"), "n")

    tables = [table(("ann", 0), ("bob", 20)), table(("ann", 70)), tick(200), table(("ann", 290)), tick(400), tick(500)]
    run = play(spark, tmp_path, tables, query, DDL)
    assert sorted((row["hour"], row["n"]) for row in run.rows)[:2] == [(0, 2), (1, 1)]


@pytest.mark.slow
def test_changes_of_the_query_are_refused_at_the_first_batch(spark: SparkSession, tmp_path: Path) -> None:
    def query(gap: str = "5 minutes", grace: str = "1 minute") -> Any:
        windows = wr.SessionWindows.with_gap(gap, grace=grace)
        return lambda data: windowed(data, windows, tick="tick").agg(n=wr.count())

    play(spark, tmp_path, [table(("ann", 0))], query(), DDL)
    with pytest.raises(StreamingQueryException, match=r"gap was 5 minutes, is 6 minutes\nstart from a new"):
        play(spark, tmp_path, [table(("ann", 1))], query(gap="6 minutes"), DDL)  # others: native/test_stream_changes.py
    run = play(spark, tmp_path, [tick(8)], query(grace="2 minutes"), DDL)  # a longer grace: ann waits until 2 + 5 + 2
    assert short(run.rows) == []
    play(spark, tmp_path, [tick(8.5)], query(grace="0 seconds"), DDL, run=run)
    assert [row[0] for row in short(run.rows)] == ["ann"]


@pytest.mark.slow
def test_an_idle_query_does_not_spin(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(tmp_path / "in")
    folder.add(table(("ann", 0)))
    result = windowed(source(spark, folder, DDL)).agg(n=wr.count())
    query = start(result, Run(), tmp_path / "c", processingTime="0 seconds")
    try:
        query.processAllAvailable()
        batches = query.lastProgress["batchId"]
        time.sleep(2)
        assert query.lastProgress["batchId"] == batches
    finally:
        query.stop()
        query.awaitTermination()


def test_counters_of_a_name_of_ones_own(spark: SparkSession, tmp_path: Path) -> None:
    tables = [table(("ann", 0), (None, 1), ("bob", 20)), table(("ann", 1))]
    run = play(spark, tmp_path, tables, lambda data: windowed(data).observe("visits").agg(n=wr.count()), DDL)
    first, second = run.counters("visits")
    assert [first[name] for name in ("records", "null_keys", "windows_closed", "late")] == [2, 1, 1, 0]
    assert first["stream_time"] == "2026-01-01 00:20:00"
    assert (second["late"], second["windows_open"]) == (1, 1)
    assert second["state_pages"] > 0 < second["state_bytes"]
