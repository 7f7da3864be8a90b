"""From producers to a topic of results, through kills: nothing is lost, and nothing is twice for who reads by key.

    ProgressProducer ──▶ topic ──▶ Spark and windrow ──▶ updates with tombstones, and finals ──▶ a plain consumer
                           ▲                ▲
                       kill -9           kill -9

Spark's sink writes a micro-batch again that was not committed: at least once. A result has the key that Kafka gives it,
the user with both bounds of the window, so that what comes again is the same record under the same key: the sink is
idempotent by key, and a reader, or the compaction of the topic, keeps one.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

import windrow as wr
from windrow.kafka import ProgressProducer
from windrow.testing import StreamDriver

from ..python.faults.checkpoint import Checkpoint
from . import job, topics
from .broker import Broker
from .child import Child
from .control_message import time_of
from .deadline import until
from .stream import Query, records_of
from .topics import Record
from .windowed_key import Window, count_of, session_of

pytestmark = pytest.mark.soak

START = 1_700_000_000_000
PARTITIONS, USERS, EVENTS = 3, 8, 600
"""Events of each partition in each part of the input."""
PATIENCE = 120
CONFIG = {
    "progress.control.start.ms": 500,
    "progress.control.backoff.ms": 500,
    "progress.control.end.ms": 60_000,
}
SCHEMA = pa.schema(
    {
        "user": pa.string(),
        "time": pa.timestamp("us", "UTC"),
        "tick": pa.bool_(),
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
    }
)


def events(part: int) -> Iterator[tuple[int, bytes, int]]:
    """Partition, user and time of a part of the input: an hour after the one before, out of order, some too late."""
    draw = random.Random(part)
    clock = START + part * 3_600_000
    for _ in range(EVENTS):
        for partition in range(PARTITIONS):
            clock += draw.randint(0, 180)
            behind = draw.randint(0, 1_500) if draw.random() < 0.9 else draw.randint(0, 9_000)
            yield partition, b"%d-%d" % (partition, draw.randrange(USERS)), clock - behind


def test_what_a_consumer_reads_is_what_a_driver_gives_through_kills_of_query_and_broker(
    broker: Broker, spark: SparkSession, tmp_path: Path
) -> None:
    topic = topics.create(broker.address, "input", PARTITIONS)
    updates = topics.create(broker.address, "updates", PARTITIONS, cleanup_policy="compact")
    finals = topics.create(broker.address, "finals", PARTITIONS)
    arguments = (broker.address, topic, updates, finals, tmp_path)
    client = {"bootstrap.servers": broker.address, "enable.idempotence": True, "linger.ms": 5, "log_level": 2}
    with ProgressProducer(Producer(client), client | CONFIG) as producer:
        produce(producer, topic, part=0)
        assert producer.flush(PATIENCE) == 0
        with Child(*arguments) as child:
            until(lambda: under_way(tmp_path / "updates"), PATIENCE, "a micro-batch that is not committed")
            child.kill()
        produce(producer, topic, part=1)
        with Child(*arguments) as child:
            before = len(topics.read(broker.address, updates))
            until(
                lambda: len(topics.read(broker.address, updates)) > before, PATIENCE, "updates after the kill", step=1
            )
            broker.kill()
            produce(producer, topic, part=2)  # waits in the producer
            broker.start()
            assert producer.flush(PATIENCE) == 0
            until(lambda: is_past_all(topics.read(broker.address, topic)), PATIENCE, "ticks past all windows", step=1)
            producer.close()
            done = child.finish()
        while not done:  # a query that the absence of the broker has ended continues in another process
            with Child(*arguments) as child:
                done = child.finish()

    sent = topics.read(broker.address, topic)
    records = [record for record in sent if time_of(record) is None]
    assert Counter((record.partition, record.key, record.time) for record in records) == Counter(
        event for part in range(3) for event in events(part)
    ), "the topic has not what was produced"
    expected, left_open, late = driver_of(sent)
    assert left_open == 0
    assert sum(expected.values()) == len(records) - late
    assert late > 50

    read = topics.read(broker.address, finals)
    assert {session_of(record.key or b""): count_of(record.value) for record in read} == expected
    same = Counter((record.key, record.value) for record in read)
    assert len(same) == len(expected), "a window has two values"

    table: dict[Window, int] = {}
    tombstones = 0
    for record in topics.read(broker.address, updates):
        window, count = session_of(record.key or b""), count_of(record.value)
        if count is None:
            tombstones += 1
            table.pop(window, None)
        else:
            table[window] = count
    assert tombstones > 20
    assert table == expected

    # The same topic from its beginning, cut otherwise: ticks are part of it.
    data = job.windowed(records_of(spark, broker.address, topic, rows=1_000)).shards(3).agg(n=wr.count())
    replayed = Query(data, tmp_path / "replay", once=True).wait()
    milliseconds = [[round(1000 * bound.timestamp()) for bound in row.window] for row in replayed.rows]
    again = Counter((Window(row.user, *bounds), row.n) for row, bounds in zip(replayed.rows, milliseconds, strict=True))
    assert again == Counter(expected.items())


def produce(producer: ProgressProducer, topic: str, part: int) -> None:
    for partition, user, at in events(part):
        producer.produce(topic, partition=partition, key=user, value=b"", timestamp=at)


def is_past_all(sent: list[Record]) -> bool:
    """Whether the time of each partition, ticks included, has closed all of its windows."""
    past = []
    for partition in range(PARTITIONS):
        own = [record for record in sent if record.partition == partition]
        last = max((record.time for record in own if time_of(record) is None), default=0)
        latest = max((time_of(record) or 0 for record in own), default=0)
        past.append(latest > last + job.GAP + job.GRACE)
    return all(past)


def under_way(place: Path) -> bool:
    """Whether a query is in a micro-batch after its first ones."""
    checkpoint = Checkpoint(place)
    return checkpoint.started > max(checkpoint.committed, 0)


def driver_of(sent: list[Record]) -> tuple[dict[Window, int], int, int]:
    """What a driver of each partition gives: its finals, how many windows are open at the end, and late records."""
    finals: dict[Window, int] = {}
    windows_open = late = 0
    for partition in range(PARTITIONS):
        rows = [row_of(record) for record in sent if record.partition == partition]
        driver = StreamDriver(lambda data: job.windowed(data).agg(n=wr.count()), SCHEMA)
        for change in driver.pipe_batch(pa.Table.from_pylist(rows, SCHEMA), rows=1):
            bounds = (round(1000 * bound.timestamp()) for bound in change.window)
            window = Window(change.key["user"], *bounds)
            assert window not in finals, f"{window} is final twice"
            finals[window] = change.values["n"]
        windows_open += driver.counters["windows_open"]
        late += driver.counters["late"]
    return finals, windows_open, late


def row_of(record: Record) -> dict[str, Any]:
    tick_time = time_of(record)
    return {
        "user": None if record.key is None else record.key.decode(),
        "time": 1000 * (record.time if tick_time is None else tick_time),
        "tick": tick_time is not None,
        "topic": "input",
        "partition": record.partition,
        "offset": record.offset,
    }
