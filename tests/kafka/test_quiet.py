"""A topic that goes quiet: its last windows come with ticks, within the time that is set, and never without.

partition 0   ──●──●────●
partition 1   ───●────●────●
partition 2                        has no data at all
"""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

from confluent_kafka import Producer
from pyspark.sql import DataFrame, Row, SparkSession

import windrow as wr
from windrow.kafka import ProgressProducer

from . import topics
from .broker import Broker
from .control_message import time_of
from .deadline import until
from .stream import Query, records_of

START = 1_700_000_000_000
SECONDS_OF_BATCHES = 30
"""How long micro-batches may take in all to give what has closed."""
CONFIG = {
    "progress.control.start.ms": 400,
    "progress.control.backoff.ms": 300,
    "progress.control.end.ms": 20_000,
    "progress.control.allowance.ms": 200,
}
CLOSED_AFTER = 2.0 + 0.5 + 0.2 + 0.3
"""Seconds: gap, grace, allowance, and what the next tick may be away."""
EVENTS = [(0, "ann", 0), (1, "bob", 300), (0, "ann", 900), (0, "cem", 1_200), (1, "bob", 2_000), (1, "dag", 2_100)]
FINALS = Counter(
    {
        (0, "ann", 0, 900, 2): 1,
        (0, "cem", 1_200, 1_200, 1): 1,
        (1, "bob", 300, 2_000, 2): 1,
        (1, "dag", 2_100, 2_100, 1): 1,
    }
)


def sessions(records: DataFrame) -> DataFrame:
    grouped = wr.group_by(
        records, "user", "topic", "partition", time="time", tick="tick", source=["topic", "partition"], order="offset"
    )
    windows = wr.SessionWindows.with_gap("2 seconds", grace="500 milliseconds")
    return grouped.windowed_by(windows).shards(2).agg(n=wr.count())


def finals(rows: list[Row], topic: str) -> Counter[tuple[int, str, int, int, int]]:
    """Partition, user, start, end and count of each final of a topic; times since the start."""
    return Counter(
        (row.partition, row.user, *(round(1000 * bound.timestamp()) - START for bound in row.window), row.n)
        for row in list(rows)
        if row.topic == topic
    )


def test_ticks_close_the_last_windows_of_a_quiet_topic_and_nothing_else_does(
    broker: Broker, spark: SparkSession, tmp_path: Path
) -> None:
    ticked, silent = (topics.create(broker.address, name, 3) for name in ("ticked", "silent"))
    query = Query(sessions(records_of(spark, broker.address, ticked, silent)), tmp_path / "first")
    try:
        query.catch_up()
        events = [(partition, user.encode(), b"", START + at) for partition, user, at in EVENTS]
        topics.write(broker.address, silent, events)
        client = {"bootstrap.servers": broker.address}
        with ProgressProducer(Producer(client), client | CONFIG) as producer:
            for partition, user, value, at in events:
                producer.produce(ticked, partition=partition, key=user, value=value, timestamp=at)
            producer.flush(30)
            begin = time.monotonic()

            def all_closed() -> bool:
                assert query.failure() is None
                return finals(query.rows, ticked).total() >= FINALS.total()

            until(all_closed, CLOSED_AFTER + SECONDS_OF_BATCHES, "the last windows of the ticked topic close")
            assert time.monotonic() - begin >= 2.0 + 0.5, "a window has closed before its time"
        assert finals(query.rows, ticked) == FINALS

        # Without ticks: the other partition moves on by hours, in its own micro-batches, and the quiet one stays.
        for hour in range(1, 4):
            topics.write(broker.address, silent, [(0, b"eva", b"", START + hour * 3_600_000)])
            query.catch_up()
        until(lambda: query.counters["records"] >= 2 * len(EVENTS) + 3, 10, "the progress of the last micro-batch")
        came = finals(query.rows, silent)
        assert {final[:2] for final in came} == {(0, "ann"), (0, "cem"), (0, "eva")}, came
        counters = query.counters
        assert counters["windows_open"] >= 3  # bob, dag and the last eva
        assert counters["records"] == 2 * len(EVENTS) + 3, "a tick is no record"
        assert counters["ticks"] == sum(time_of(record) is not None for record in topics.read(broker.address, ticked))
        for nothing in ("bad_ticks", "late", "null_keys", "null_times"):
            assert counters[nothing] == 0, nothing
    finally:
        query.stop()

    replayed = Query(sessions(records_of(spark, broker.address, ticked, rows=3)), tmp_path / "replay", once=True)
    assert finals(replayed.wait().rows, ticked) == FINALS
