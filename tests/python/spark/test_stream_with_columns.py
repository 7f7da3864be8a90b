"""Records of a stream with their windows, in Spark: sessions as the batch query has them, sliding windows at once."""

from __future__ import annotations

import random
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession

import windrow as wr
import windrow.state

from ..harness.streams import Run, play
from ..oracle.frames import Frame
from ..oracle.stream_rows import RowStream, StreamRecord
from ..scenes import EPOCH, MIDNIGHT, utc

pytestmark = pytest.mark.needs("streams")

TICK = timedelta(microseconds=1)
TYPES: list[Any] = [
    ("user", pa.string()),
    ("ts", pa.timestamp("us", "UTC")),
    ("id", pa.int64()),
    ("pause", pa.duration("us")),
    ("is tick", pa.bool_()),
    ("tags", pa.map_(pa.string(), pa.list_(pa.int32()))),
    ("pair", pa.struct([("price", pa.decimal128(12, 2)), ("day", pa.date32())])),
    ("a.b", pa.binary()),
]
SCHEMA = pa.schema(TYPES)
DDL = (
    "user string, ts timestamp, id bigint, pause interval day to second, `is tick` boolean, "
    "tags map<string, array<int>>, pair struct<price: decimal(12, 2), day: date>, `a.b` binary"
)
USERS = ["ann", "bob", "cem", None]
AGGREGATES = {
    "n": wr.count(),
    "share": wr.sum("id") / wr.count(),
    "most": wr.max("id").then(lambda ids: pc.add(ids, 1)),
    "window_id": wr.window_id(),
}
SESSIONS = wr.SessionWindows.with_dynamic_gap("pause", grace="5 minutes", max_gap="5 minutes")
SLIDING = wr.SlidingWindows.with_time_difference("3 minutes", grace="1 minute")


def events(seed: int, count: int = 120) -> list[dict[str, Any]]:
    """Records of a few users, up to four minutes out of order, some without a key, a time or a good pause."""
    draw = random.Random(seed)
    return [
        {
            "user": draw.choice(USERS),
            "ts": None if number % 17 == 5 else utc(number / 2 - draw.uniform(0, 4)),
            "id": number,
            "pause": draw.choice([None, timedelta(minutes=1), timedelta(minutes=7)]),
            "is tick": False,
            "tags": [("at", [number])] if number % 3 else None,
            "pair": {"price": None, "day": MIDNIGHT.date()},
            "a.b": bytes([number]),
        }
        for number in range(count)
    ]


def table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, SCHEMA)


def grouped(data: Any, **options: Any) -> Any:
    return wr.group_by(data, "user", time="ts", tick="is tick", **options)


def by_id(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: row["id"])


def test_records_come_back_when_their_session_closes_as_in_the_batch_query(spark: SparkSession, tmp_path: Path) -> None:
    rows = events(3)

    def query(data: DataFrame) -> Any:
        windowed = grouped(data).windowed_by(SESSIONS).shards(3)
        return windowed.with_columns(**AGGREGATES, position=wr.position())

    run = Run()
    play(spark, tmp_path, [table(rows[:50]), table(rows[50:70])], query, DDL, run=run)
    waiting = windrow.state.read(spark, str(tmp_path / "checkpoint")).collect()
    held = {record.id for row in waiting for record in row.records}
    assert held == {row["id"] for row in rows[:70]} - {row["id"] for row in run.rows} != set()
    assert all(row.n == len(row.records) for row in waiting)
    play(
        spark, tmp_path, [table([]), table(rows[70:]), table([{"ts": utc(600), "is tick": True}])], query, DDL, run=run
    )  # from its checkpoint
    # Spark 4.1 turns a null map of Arrow into an empty one in createDataFrame, so the batch reads the files.
    expected = query(spark.read.schema(DDL).parquet(str(tmp_path / "in")).where("NOT `is tick`")).collect()
    assert by_id(run.rows) == by_id([row.asDict(recursive=True) for row in expected])
    left_out = [row["id"] for row in run.rows if row["window"] is None]
    counted = sum(run.total(counter) for counter in ("null_keys", "null_times", "bad_gaps"))
    assert len(left_out) == counted > 10
    assert run.total("late") == 0


def record_of(row: dict[str, Any]) -> StreamRecord:
    """The record that the oracle takes for a row of `events`."""
    key = None if row["user"] is None else USERS.index(row["user"])
    return StreamRecord(key, None if row["ts"] is None else (row["ts"] - EPOCH) // TICK, row["id"], row["id"])


def test_records_of_sliding_windows_come_back_at_once(spark: SparkSession, tmp_path: Path) -> None:
    rows = events(4)
    batches = [rows[:30], rows[30:31], rows[31:80], rows[80:]]

    def query(data: DataFrame) -> Any:
        windowed = grouped(data, order="id").windowed_by(SLIDING).shards(3).flat().observe("rows")
        return windowed.with_columns(**AGGREGATES, near=wr.collect_list("id").over("1 minute", closed="left"))

    play(spark, tmp_path, map(table, batches[:2]), query, DDL, run=(run := Run()))
    with pytest.raises(ValueError, match="with_columns over sliding windows"):
        windrow.state.read(spark, str(tmp_path / "checkpoint"))
    play(spark, tmp_path, map(table, batches[2:]), query, DDL, run=run)
    oracle = RowStream(180_000_000, 60_000_000, 1, True)
    oracle.frames = [Frame(60_000_000, "left")]
    for number, batch in enumerate(batches):
        windows = oracle.push(list(map(record_of, batch)))
        assert [row["id"] for row in by_id(run.batches[number])] == [row["id"] for row in batch]
        for row in run.batches[number]:
            found = tuple(None if row[name] is None else row[name].replace(tzinfo=UTC) for name in BOUNDS)
            values = (*found, row["n"], row["share"], row["most"], row["near"] and sorted(row["near"]))
            if row["id"] not in windows:
                assert values == (None,) * 6
                continue
            start, end, ids = windows[row["id"]]
            of_ids = (len(ids), sum(ids) / len(ids), max(ids) + 1, *oracle.framed[row["id"]])
            assert values == (EPOCH + start * TICK, EPOCH + end * TICK, *of_ids)
    assert sum(known["late"] for known in run.counters("rows")) == oracle.late > 0


BOUNDS = ("window_start", "window_end")


def test_what_a_stream_cannot_give_is_refused_at_the_call(spark: SparkSession, tmp_path: Path) -> None:
    data = spark.readStream.schema(DDL).parquet(str(tmp_path))

    def refused(windowed: Any, *words: str, **options: Any) -> None:
        with pytest.raises(ValueError, match=words[0]) as raised:
            windowed.with_columns(**options)
        for word in words:
            assert word in str(raised.value)

    sessions = grouped(data).windowed_by(SESSIONS)
    refused(sessions.emit("update"), "emit", "comes back once")
    refused(sessions.late("emit"), "late", "comes back once")
    refused(sessions, "reduce", "built-in", joined=wr.reduce("id", max))
    refused(sessions, "session_number", "for ever", number=wr.session_number())
    refused(grouped(data).windowed_by(wr.SessionWindows.with_gap("1 minute")), "grace: got None")
    kept = wr.SlidingWindows.with_time_difference("3 minutes", grace="1 minute", retention="1 day")
    refused(grouped(data).windowed_by(kept), "windows: got", "each record comes back once")
