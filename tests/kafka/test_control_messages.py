"""Control messages in Spark's Kafka source: both forms move time, damaged and forged ones are counted, data is data."""

from __future__ import annotations

import time
from pathlib import Path

from pyspark.sql import SparkSession

import windrow as wr

from ..python.harness.control_messages import CASES
from . import topics
from .broker import Broker
from .control_message import ours, poc
from .stream import Query, records_of

START = 1_700_000_000_000
YEAR = 365 * 24 * 3_600_000
# ann    ●──10 s──│tick               closed: 12 s > gap 1 s
# bob                     ●───│PoC's    closed
# cem                              ●    open
DAMAGED = [record["headers"] for record, is_tick, at in CASES.values() if is_tick and at is None]


def test_both_forms_move_time_and_all_else_is_counted_or_data(
    broker: Broker, spark: SparkSession, tmp_path: Path
) -> None:
    topic = topics.create(broker.address, "control", 2)
    far = round(1000 * time.time()) + YEAR
    topics.write(
        broker.address,
        topic,
        [
            (0, b"ann", b"", START),
            (0, None, None, START, ours(START + 12_000)),
            (0, b"key", None, START, ours(START + 11_000)),  # with the key that a compacted topic asks for
            (0, b"bob", b"", START + 12_500),
            (0, None, None, START, poc(START + 20_000)),
            *((0, None, None, START, headers) for headers in DAMAGED),
            (0, None, None, START, ours(far)),  # forged, or a clock that is wrong
            (0, None, None, START, poc(far)),
            (0, b"cem", b"", START + 20_500),
            (0, b"cem", b"copied", START + 20_600, ours(START + YEAR)),  # a program that copies headers
            (0, b"cem", None, START + 20_700, poc(START + YEAR)),  # a deletion of some other program
            (1, b"dag", b"", START),  # another partition, where nothing moves time
        ],
    )
    grouped = wr.group_by(
        records_of(spark, broker.address, topic),
        "user",
        "partition",
        time="time",
        tick="tick",
        source=["topic", "partition"],
        order="offset",
    )
    windows = wr.SessionWindows.with_gap("1 second", grace="0 seconds")
    finals = grouped.windowed_by(windows).max_ahead("1 day").shards(2).agg(n=wr.count())
    query = Query(finals, tmp_path, once=True).wait()
    found = {(row.user, round(1000 * row.window.end.timestamp()) - START, row.n) for row in query.rows}
    assert found == {("ann", 0, 1), ("bob", 12_500, 1)}
    counters = query.counters
    assert counters["ticks"] == 3
    assert counters["bad_ticks"] == len(DAMAGED) + 2
    assert counters["records"] == 6
    assert counters["windows_open"] == 2  # cem and dag
    for nothing in ("late", "null_keys", "null_times", "ahead"):
        assert counters[nothing] == 0, nothing
