"""Ticks in Spark: control messages in frames of a Kafka source, held against plain Python, and ticks by wall clock."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import windrow as wr
from windrow.kafka import with_ticks

from ..harness.control_messages import CASES, END_OF_9999, NINE, OWN_TIME, body, control, poc
from ..harness.spark_tables import frame_of, table_of
from ..harness.streams import Folder, Run, play, source
from ..scenes import EPOCH

DEADLINE = 90  # seconds
DDL = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int, "
    "headers array<struct<key: string, value: binary>>"
)
KAFKA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestampType", pa.int32()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ]
)


def kafka(rows: list[dict[str, Any]]) -> pa.Table:
    """Rows of a Kafka source; what a row does not say is null, but place and time."""
    own = EPOCH + timedelta(milliseconds=OWN_TIME)
    defaults = {"topic": "events", "partition": 0, "timestamp": own, "timestampType": 0}
    full = [{"offset": number} | defaults | row for number, row in enumerate(rows)]
    for row in full:
        if row.get("headers") is not None:
            row["headers"] = [{"key": name, "value": value} for name, value in row["headers"]]
    return pa.Table.from_pylist(full, KAFKA)


def tick_times(spark: SparkSession, rows: list[dict[str, Any]]) -> list[tuple[bool, float | None]]:
    """Whether each row is a tick, and its time in milliseconds."""
    ticks = with_ticks(frame_of(spark, kafka(rows))).orderBy("offset")
    found = table_of(ticks.selectExpr("tick", "unix_millis(event_time) AS at"))
    return [(row["tick"], row["at"]) for row in found.to_pylist()]


def test_rows_are_ticks_or_data_and_have_their_time(spark: SparkSession) -> None:
    found = tick_times(spark, [row for row, _, _ in CASES.values()])
    assert dict(zip(CASES, found, strict=True)) == {name: (tick, at) for name, (_, tick, at) in CASES.items()}


def oracle(row: dict[str, Any]) -> tuple[bool, int | None]:
    """What a row is, in plain Python."""
    if row.get("value") is not None:
        return False, OWN_TIME
    headers = row["headers"] or []
    ours = [value for name, value in headers if name == "windrow.progress"]
    theirs = [value for name, value in headers if name == "control"]
    if ours:
        good = len(ours) == 1 and ours[0] is not None and len(ours[0]) == 33 and ours[0][0] == 1
        at = int.from_bytes(ours[0][1:9], "big") if good else None
    elif theirs and row.get("key") is None:
        good = len(theirs) == 1 and theirs[0] is not None and re.fullmatch(rb"[0-9]{1,15}", theirs[0]) is not None
        at = int(theirs[0]) if good else None
    else:
        return False, OWN_TIME
    return True, at if at is not None and at <= END_OF_9999 else None


def test_random_rows_are_what_plain_python_says(spark: SparkSession) -> None:
    random = np.random.default_rng(20261122)

    def value(name: str) -> bytes | None:
        if random.random() < 0.05:
            return None
        if name == "control" and random.random() < 0.7:
            return b"%d" % random.integers(0, 10 ** random.integers(1, 17))
        packed = body(int(random.integers(0, 2 ** random.integers(1, 63))), version=int(random.random() < 0.9))
        cut = random.integers(0, 40) if random.random() < 0.2 else 33
        return (packed + b"\0" * 7)[:cut]

    rows = []
    for _ in range(3_000):
        names = random.choice(["windrow.progress", "control", "other"], random.integers(0, 3))
        headers = None if random.random() < 0.05 else [(str(name), value(str(name))) for name in names]
        key, data = (b"k" if random.random() < 0.2 else None), (b"v" if random.random() < 0.2 else None)
        rows.append({"key": key, "value": data, "headers": headers})
    wanted = [oracle(row) for row in rows]
    assert tick_times(spark, rows) == wanted
    good = [at for tick, at in wanted if tick and at is not None]
    assert len(good) > 500
    assert sum(tick and at is None for tick, at in wanted) > 300


def test_data_is_left_as_it_is(spark: SparkSession) -> None:
    given = frame_of(spark, kafka([row for row, _, _ in CASES.values()]))
    found = with_ticks(given)
    assert found.columns == [*given.columns, "tick", "event_time"]
    assert table_of(found.drop("tick", "event_time")) == table_of(given)
    assert found.schema["tick"].dataType.simpleString() == "boolean"
    assert found.schema["event_time"].dataType.simpleString() == "timestamp"


def test_the_time_of_data_may_stand_in_another_column(spark: SparkSession) -> None:
    rows = [{"value": b"5"}, control(), {"value": b"6"}]
    given = frame_of(spark, kafka(rows)).withColumn(
        "at `ts`", F.timestamp_millis(F.col("value").cast("string").cast("bigint")).cast("timestamp_ntz")
    )
    found = with_ticks(given, time="at `ts`").orderBy("offset")
    assert found.schema["event_time"].dataType.simpleString() == "timestamp_ntz"
    naive = EPOCH.replace(tzinfo=None)
    wanted = [naive + timedelta(milliseconds=at) for at in (5, NINE, 6)]
    assert [row.event_time for row in found.collect()] == wanted


WRONG: dict[str, tuple[Callable[[DataFrame], Any], type[Exception], str]] = {
    "no headers": (
        lambda frame: with_ticks(frame.drop("headers")),
        ValueError,
        r"frame: got a DataFrame without the column 'headers', which has 'key', .*'includeHeaders', 'true'",
    ),
    "no value": (lambda frame: with_ticks(frame.drop("value")), ValueError, "frame: got 'value'; allowed: a column of"),
    "no key": (lambda frame: with_ticks(frame.drop("key")), ValueError, "frame: got 'key'; allowed: a column of the"),
    "no time": (lambda frame: with_ticks(frame, time="timestam"), ValueError, "'timestam'; .*did you mean 'timestamp'"),
    "no name": (
        lambda frame: with_ticks(frame, time=5),  # type: ignore[arg-type]
        TypeError,
        "time: got 5, an int; allowed: the name of a column",
    ),
    "no timestamp": (
        lambda frame: with_ticks(frame, time="offset"),
        TypeError,
        "column 'offset' has type bigint; allowed",
    ),
    "a tick": (
        lambda frame: with_ticks(frame.withColumn("Tick", F.lit(1))),
        ValueError,
        "frame: got a DataFrame with a column 'Tick'; allowed: one without it: rename that",
    ),
    "a time": (
        lambda frame: with_ticks(with_ticks(frame).drop("tick")),
        ValueError,
        "with a column 'event_time'; allowed",
    ),
    "headers of text": (
        lambda frame: with_ticks(frame.withColumn("headers", F.lit("x"))),
        TypeError,
        r"frame: column 'headers' has type string; allowed: array<struct<key:string,value:binary>>",
    ),
    "two keys": (
        lambda frame: with_ticks(frame.select("*", F.lit(1).alias("KEY"))),
        ValueError,
        "got 'key'; allowed: a name",
    ),
    **{
        f"{type(wrong).__name__} as a frame": (
            lambda frame, wrong=wrong: with_ticks(wrong),
            TypeError,
            "frame: got .*; allowed: a DataFrame of Spark's Kafka source",
        )
        for wrong in (None, "events", pa.table({"headers": [1]}))
    },
}


@pytest.mark.parametrize("case", WRONG)
def test_a_frame_that_is_none_of_a_kafka_source_is_named(spark: SparkSession, case: str) -> None:
    call, error, message = WRONG[case]
    with pytest.raises(error, match=message):
        call(frame_of(spark, kafka([{}])))


def record(partition: int, user: str, minutes: float) -> dict[str, Any]:
    at = EPOCH + timedelta(milliseconds=NINE) + timedelta(minutes=minutes)
    return {"partition": partition, "key": user.encode(), "value": b"v", "timestamp": at}


def tick(partition: int, minutes: float) -> dict[str, Any]:
    return {"partition": partition} | control(NINE + int(minutes * 60_000))


def sessions(frame: DataFrame, **options: Any) -> DataFrame:
    named = with_ticks(frame).withColumn("user", F.col("key").cast("string"))
    windows = wr.SessionWindows.with_gap("5 minutes", grace="1 minute")
    grouped = wr.group_by(named, "user", time="event_time", tick="tick", source=["topic", "partition"], **options)
    return grouped.windowed_by(windows).max_ahead("36500 days").shards(2).agg(n=wr.count())


@pytest.mark.needs("streams")
def test_control_messages_close_the_windows_of_their_partition_and_are_no_data(
    spark: SparkSession, tmp_path: Path
) -> None:
    """
    partition 0   ann ●──●            ◇ 4 + 5 + 1 min        ◇ one millisecond later: closed
    partition 1   bob ●                                              ... open: nobody told its time
    """
    data = [record(0, "ann", 0), record(0, "ann", 4), record(1, "bob", 0)]
    damaged = [{"headers": [("windrow.progress", b"?")]}, control(version=9), control(2**60), poc(b"soon")]
    ahead = control(END_OF_9999)  # far beyond max_ahead
    tables = [data, [tick(0, 10), *damaged, ahead], [tick(0, 10 + 1 / 60_000)], [record(1, "bob", 1)]]
    run = play(spark, tmp_path, [kafka(rows) for rows in tables], sessions, DDL)
    closed = [(row["user"], row["n"]) for row in run.rows]
    assert closed == [("ann", 2)]
    assert [number for number, rows in sorted(run.batches.items()) if rows] == [2]
    assert (run.total("records"), run.total("ticks"), run.total("bad_ticks")) == (4, 2, 5)
    assert run.total("late") + run.total("ahead") + run.total("null_keys") + run.total("null_times") == 0


@pytest.mark.needs("streams")
@pytest.mark.parametrize(("order", "counted", "late"), [("offset", 1, 1), (None, 2, 0)])
def test_with_an_order_a_control_message_counts_at_its_position(
    spark: SparkSession, tmp_path: Path, order: str | None, counted: int, late: int
) -> None:
    """
    offset   0 ann 09:00      1 control message: 09:10      2 ann 09:01, late behind it
    """
    rows = [record(0, "ann", 0), tick(0, 10), record(0, "ann", 1)]
    run = play(spark, tmp_path, [kafka(rows)], lambda frame: sessions(frame, order=order), DDL)
    assert [(row["user"], row["n"]) for row in run.rows] == [("ann", counted)]
    assert (run.total("late"), run.total("ticks"), run.total("records")) == (late, 1, 2)


def test_the_arguments_of_ticks_are_checked(spark: SparkSession) -> None:
    defaults: dict[str, Any] = {"spark": spark, "every": "1 second", "delay": "0 seconds"}
    for given, error, message in (
        ({"every": "1500 milliseconds"}, ValueError, "every: got '1500 milliseconds'; allowed: whole seconds"),
        ({"every": "0 seconds"}, ValueError, "every: got '0 seconds'; allowed: a duration longer than zero"),
        ({"every": 5}, TypeError, r"every: got 5, an int; .*a bare number has no unit"),
        ({"delay": "-1 seconds"}, ValueError, "delay: got '-1 seconds'; allowed: a duration of zero or more"),
        ({"time": 5}, TypeError, "time: got 5, an int; allowed: the name of a column"),
        ({"tick": "TIME"}, ValueError, "tick: got 'TIME'; allowed: a name other than that of the time"),
        ({"spark": 5}, TypeError, "spark: got 5, an int; allowed"),
        ({"spark": type(spark)}, TypeError, "spark: got .*, a class; allowed"),
    ):
        with pytest.raises(error, match=message):
            wr.ticks(**(defaults | given))


class SinkError(Exception):
    """What a sink fails with."""


def await_batches(query: Any, holds: Callable[[], bool]) -> None:
    """Waits until something holds of what a query gave."""
    end, never = time.monotonic() + DEADLINE, threading.Event()
    while not holds():
        if query.exception() is not None:
            raise query.exception()
        assert time.monotonic() < end, "waited in vain"
        never.wait(0.05)


@pytest.mark.slow
def test_a_micro_batch_that_is_tried_again_has_the_ticks_that_it_had(spark: SparkSession, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    tries: list[tuple[int, list[datetime]]] = []
    failing = True

    def sink(frame: DataFrame, number: int) -> None:
        assert all(row.tick for row in frame.collect())
        tries.append((number, sorted(row["ts"] for row in table_of(frame).to_pylist())))
        if failing and len(tries) >= 3 and tries[-1][1]:
            raise SinkError

    def start() -> Any:
        frame = wr.ticks(spark, every="2 seconds", delay="90 seconds", time="ts")
        writer = frame.writeStream.option("checkpointLocation", str(checkpoint)).foreachBatch(sink)
        return writer.trigger(processingTime="500 milliseconds").start()

    for _ in range(2):  # it fails, and once more when it is tried again
        with pytest.raises(StreamingQueryException):
            start().awaitTermination(DEADLINE)
    failed = tries[-1]
    assert failed[1]
    assert [one for one in tries if one[0] == failed[0]] == [failed, failed]
    failing = False
    seen = len(tries)
    query = start()
    await_batches(query, lambda: sum(bool(times) for _, times in tries[seen:]) >= 3)
    query.stop()
    assert tries[seen] == failed
    # Without the tries that failed: each tick once, every two seconds, none missed, none twice, by the clock that the
    # source has written down when the query began.
    whole = dict(tries)
    found = [moment for number in sorted(whole) for moment in whole[number]]
    (began,) = re.findall(r"\d{13}", (checkpoint / "sources" / "0" / "0").read_text())
    first = EPOCH + timedelta(milliseconds=int(began)) - timedelta(seconds=90)
    assert found == [first + timedelta(seconds=2 * number) for number in range(len(found))]
    assert len(found) >= 4


@pytest.mark.needs("streams")
def test_ticks_by_the_wall_clock_close_what_a_quiet_stream_leaves_open(spark: SparkSession, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    schema = pa.schema([("user", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("part", pa.int32())])
    rows = [{"user": "ann", "ts": now - timedelta(seconds=s), "part": 1} for s in (3, 2)]
    folder = Folder(tmp_path / "in")
    folder.add(pa.Table.from_pylist(rows, schema))
    clicks = source(spark, folder, "user string, ts timestamp, part int")
    both = clicks.unionByName(wr.ticks(spark, every="1 second", delay="0 seconds", time="ts"), allowMissingColumns=True)
    windows = wr.SessionWindows.with_gap("2 seconds", grace="0 seconds")
    grouped = wr.group_by(both, "user", time="ts", tick="tick", source="part")
    result = grouped.windowed_by(windows).shards(2).agg(n=wr.count())
    run = Run()
    writer = result.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint")).foreachBatch(run.sink)
    query = writer.trigger(processingTime="1 second").start()
    try:
        # What was counted in a micro-batch is reported after its rows.
        await_batches(query, lambda: any(run.batches.get(progress["batchId"]) for progress in query.recentProgress))
    finally:
        query.stop()
    (row,) = run.rows
    end = (now - timedelta(seconds=2)).replace(tzinfo=None)
    assert (row["user"], row["n"], row["window"]["end"]) == ("ann", 2, end)
    run.progress += query.recentProgress
    assert run.total("ticks") >= 1
    assert run.total("late") == 0
