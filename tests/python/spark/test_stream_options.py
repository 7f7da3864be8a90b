"""Streaming queries: what their options do, what is refused at the call, restarts, triggers, counters, sinks."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import windrow as wr

from ..harness import recipes
from ..harness.spark_scenes import SetConf
from ..harness.spark_tables import table_of
from ..harness.streams import Folder, Run, play, source, start
from ..scenes import MIDNIGHT, utc

pytestmark = pytest.mark.needs("streams")

SCHEMA = pa.schema(
    [
        ("user", pa.string()),
        ("ts", pa.timestamp("us", "UTC")),
        ("amount", pa.int64()),
        ("part", pa.int32()),
        ("offset", pa.int64()),
        ("tick", pa.bool_()),
    ]
)
DDL = "user string, ts timestamp, amount bigint, part int, offset bigint, tick boolean"
GAP = wr.SessionWindows.with_gap("5 minutes", grace="1 minute")


def table(*rows: tuple[Any, ...], part: int | None = None) -> pa.Table:
    """Rows of (user, minutes, amount); the amount may be missing."""
    records = []
    for user, minutes, *rest in rows:
        records.append({"user": user, "ts": utc(minutes), "amount": rest[0] if rest else 1, "part": part})
    return pa.Table.from_pylist(records, SCHEMA)


def tick(minutes: float, part: int | None = None) -> pa.Table:
    """A tick of a source, or of all."""
    return pa.Table.from_pylist([{"ts": utc(minutes), "tick": True, "part": part}], SCHEMA)


def grouped(data: DataFrame, **options: Any) -> Any:
    return wr.group_by(data, "user", time="ts", **options).windowed_by(GAP).shards(4)


def short(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Rows as (user, first minute, last minute, count, op)."""
    found = []
    for row in rows:
        bounds = [(bound.replace(tzinfo=UTC) - MIDNIGHT) / timedelta(minutes=1) for bound in row["window"].values()]
        found.append((row["user"], *bounds, row["n"], *([row["op"]] if "op" in row else [])))
    return sorted(found, key=repr)


@pytest.fixture
def empty_stream(spark: SparkSession, tmp_path: Path) -> DataFrame:
    return source(spark, Folder(tmp_path / "none"), DDL)


def test_a_stream_asks_for_a_grace(empty_stream: DataFrame) -> None:
    windowed = wr.group_by(empty_stream, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("5 minutes"))
    with pytest.raises(ValueError, match=r"grace: got None; allowed: a grace on a stream: how far behind .*'1 hour'"):
        windowed.count()


def test_each_record_needs_an_order(empty_stream: DataFrame) -> None:
    with pytest.raises(ValueError, match=r"every_record: got True; allowed: False, or group_by\(order=...\)"):
        grouped(empty_stream).emit("update", every_record=True).count()


def test_a_stream_is_observed_by_name(empty_stream: DataFrame) -> None:
    from pyspark.sql import Observation

    with pytest.raises(TypeError, match="observation: got .*; allowed: the name of the counters"):
        grouped(empty_stream).observe(Observation("x"))


def test_another_state_store_is_refused(empty_stream: DataFrame, set_conf: SetConf) -> None:
    name = "spark.sql.streaming.stateStore.providerClass"
    set_conf(name, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    with pytest.raises(ValueError, match=r"providerClass: got .*HDFS.*windrow.configure\(spark\) sets it"):
        grouped(empty_stream).count()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("windows", "op"),
    [
        (GAP, False),
        pytest.param(
            wr.SlidingWindows.with_time_difference("5 minutes", grace="1 minute"), True, marks=pytest.mark.soak
        ),
    ],
)
def test_a_flat_stream_has_the_bounds_as_columns(spark: SparkSession, tmp_path: Path, windows: Any, op: bool) -> None:
    def query(data: DataFrame) -> Any:
        windowed = wr.group_by(data, "user", time="ts").windowed_by(windows)
        return windowed.emit("update") if op else windowed

    tables = [table(("ann", 0), ("ann", 4)), table(("ann", 5), ("bob", 30))]
    nested = play(spark, tmp_path / "nested", tables, lambda data: query(data).count(), DDL)
    flat = play(spark, tmp_path / "flat", tables, lambda data: query(data).flat().count(), DDL)
    assert len(nested.rows) >= 1
    assert list(flat.rows[0]) == ["user", "window_start", "window_end", "count", *(["op"] if op else [])]
    for row in nested.rows:
        window = row.pop("window")
        row |= {"window_start": window["start"], "window_end": window["end"]}
    assert sorted(map(shown, flat.rows)) == sorted(map(shown, nested.rows))


def shown(row: dict[str, Any]) -> str:
    return repr(sorted(row.items()))


def test_a_broadcast_that_a_function_uses_is_refused_at_the_call(empty_stream: DataFrame) -> None:
    rates = empty_stream.sparkSession.sparkContext.broadcast({1: 10, 2: 20})
    paid = wr.reduce("amount", lambda one, other: one + rates.value[other])
    message = r'aggregate "paid": got functions that use a broadcast, on a stream; allowed: the value itself'
    with pytest.raises(TypeError, match=message):
        grouped(empty_stream).agg(n=wr.count(), paid=paid)


def test_updates_go_into_duckdb(spark: SparkSession, tmp_path: Path) -> None:
    """A sink with upserts and deletes in one transaction, idempotent by the number of the micro-batch."""
    file = str(tmp_path / "sessions.duckdb")
    with duckdb.connect(file) as db:
        db.execute("create table sessions (user text, start timestamptz, stop timestamptz, n bigint)")
        db.execute("create table done (batch bigint)")

    def sink(frame: DataFrame, number: int) -> None:
        changes = frame.select(
            "user", F.col("window.start").alias("start"), F.col("window.end").alias("stop"), "n", "op"
        )
        rows = table_of(changes)  # noqa: F841 (DuckDB finds it); once: each action would compute the frame again
        with duckdb.connect(file) as db:
            if db.execute("select count(*) from done where batch = ?", [number]).fetchone() != (0,):
                return
            db.execute("begin")
            db.execute(
                "delete from sessions using rows where sessions.user is not distinct from rows.user "
                "and sessions.start = rows.start and sessions.stop = rows.stop"
            )
            db.execute("insert into sessions select user, start, stop, n from rows where op = 'upsert'")
            db.execute("insert into done values (?)", [number])
            db.execute("commit")

    folder = Folder(tmp_path / "in")
    tables = [table(("ann", 0), ("ann", 8), ("bob", 1)), table(("ann", 4)), table(("bob", 3), ("cem", 5))]
    for each in tables:
        folder.add(each)
    windows = wr.SessionWindows.with_gap("5 minutes", grace="1 hour")
    windowed = wr.group_by(source(spark, folder, DDL), "user", time="ts").windowed_by(windows).shards(2)
    result = windowed.emit("update").agg(n=wr.count())
    writer = result.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    writer.foreachBatch(sink).start().awaitTermination()
    with duckdb.connect(file) as db:
        got = db.execute(
            "select user, epoch(start)::bigint, epoch(stop)::bigint, n from sessions order by all"
        ).fetchall()
    batch = wr.group_by(pa.concat_tables(tables), "user", time="ts").windowed_by(GAP).agg(n=wr.count())
    expected = [
        (row["user"], *(int(bound.timestamp()) for bound in row["window"].values()), row["n"])
        for row in batch.to_pylist()
    ]
    assert got == sorted(expected)


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

        result = grouped(source(spark, folder, DDL)).agg(clicks=wr.count(), spend=wr.sum("amount"))
        writer = result.writeStream.option("checkpointLocation", str(tmp_path / checkpoint)).trigger(availableNow=True)
        writer.foreachBatch(sink).start().awaitTermination()
        with duckdb.connect(file) as db:
            rows = db.execute('select "user", window_end - window_start, clicks, spend from sessions').fetchall()
        assert rows == [("ann", timedelta(minutes=3), 2, 7.0)] * (1 if checkpoint == "first" else 2)


def test_a_watermark_may_follow(spark: SparkSession, tmp_path: Path) -> None:
    def query(data: DataFrame) -> DataFrame:
        closed = grouped(data, tick="tick").agg(n=wr.count()).select("user", "n", F.col("window.end").alias("closed"))
        hours = (
            closed.withWatermark("closed", "10 minutes")
            .groupBy(F.window("closed", "1 hour"))
            .agg(F.sum("n").alias("n"))
        )
        return hours.select(F.hour("window.start").alias("hour"), "n")

    tables = [table(("ann", 0), ("bob", 20)), table(("ann", 70)), tick(200), table(("ann", 290)), tick(400), tick(500)]
    run = play(spark, tmp_path, tables, query, DDL)
    assert sorted((row["hour"], row["n"]) for row in run.rows)[:2] == [(0, 2), (1, 1)]


@pytest.mark.slow
def test_changes_of_the_query_are_refused_at_the_first_batch(spark: SparkSession, tmp_path: Path) -> None:
    def query(gap: str = "5 minutes", grace: str = "1 minute") -> Any:
        windows = wr.SessionWindows.with_gap(gap, grace=grace)
        return lambda data: (
            wr.group_by(data, "user", time="ts", tick="tick").windowed_by(windows).shards(5).agg(n=wr.count())
        )

    play(spark, tmp_path, [table(("ann", 0))], query(), DDL)
    with pytest.raises(StreamingQueryException, match=r"gap was 5 minutes, is 6 minutes\nstart from a new"):
        play(spark, tmp_path, [table(("ann", 1))], query(gap="6 minutes"), DDL)  # others: native/test_stream_changes.py
    run = play(spark, tmp_path, [tick(8)], query(grace="2 minutes"), DDL)  # a longer grace: ann waits until 2 + 5 + 2
    assert short(run.rows) == []
    play(spark, tmp_path, [tick(8.5)], query(grace="0 seconds"), DDL, run=run)
    assert [row[0] for row in short(run.rows)] == ["ann"]


@pytest.mark.slow
def test_an_idle_query_does_not_spin(spark: SparkSession, tmp_path: Path) -> None:
    folder, run = Folder(tmp_path / "in"), Run()
    folder.add(table(("ann", 0)))
    query = start(
        grouped(source(spark, folder, DDL)).agg(n=wr.count()), run, tmp_path / "c", processingTime="0 seconds"
    )
    try:
        query.processAllAvailable()
        batches = query.lastProgress["batchId"]
        time.sleep(2)
        assert query.lastProgress["batchId"] == batches
    finally:
        query.stop()
        query.awaitTermination()


def test_counters_of_a_name_of_ones_own(spark: SparkSession, tmp_path: Path) -> None:
    def query(data: DataFrame) -> DataFrame:
        return grouped(data).observe("visits").agg(n=wr.count())

    run = play(spark, tmp_path, [table(("ann", 0), (None, 1), ("bob", 20)), table(("ann", 1))], query, DDL)
    first, second = run.counters("visits")
    assert {name: first[name] for name in ("records", "null_keys", "windows_closed", "late")} == {
        "records": 2,
        "null_keys": 1,
        "windows_closed": 1,
        "late": 0,
    }
    assert first["stream_time"] == "2026-01-01 00:20:00"
    assert second["late"] == 1
    assert second["windows_open"] == 1
    assert second["state_pages"] > 0 < second["state_bytes"]
