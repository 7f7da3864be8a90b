"""Kafka Streams and windrow on the same topic of the same broker: the same final windows, each of them once."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import windrow as wr

from . import topics
from .broker import Broker
from .stream import PATIENCE, records_of
from .streams import reference
from .windowed_key import session_records, sliding_records

PARTITIONS, RECORDS = 4, int(os.environ.get("WINDROW_RECORDS", "6000"))
USERS = 60
"""Of each partition."""
GAP, DIFFERENCE, GRACE = 500, 800, 1_000
SEGMENT, EDGE = 60_000, 50
"""Kafka's stores are deleted by the minute, before the record that closes the last windows of one asks for them: no
event is that near to the end of one, and stream time moves by less."""
START = 1_700_000_000_000
Final = tuple[str, bytes | None, bytes | None]
"""The kind of a window, its key and its value."""


def events(seed: int) -> Iterator[tuple[int, bytes | None, bytes, int]]:
    """Records of all partitions in turn, some out of order, some too late; one in a thousand has no key.

    Each partition has a clock of its own, and they are minutes apart.
    """
    draw = random.Random(seed)
    clocks = [START + 77_000 * partition for partition in range(PARTITIONS)]
    for _ in range(RECORDS):
        for partition in range(PARTITIONS):
            clocks[partition] += draw.randint(0, 20)
            behind = draw.choices([draw.randint(0, 200), draw.randint(0, 1_500), draw.randint(0, 4_000)], [80, 15, 5])
            user = b"%d-%d" % (partition, draw.randrange(USERS)) if draw.random() > 0.001 else None
            at = clocks[partition] - behind[0]
            yield partition, user, b"", at if at % SEGMENT < SEGMENT - EDGE else at - EDGE


def finals(address: str, topic: str, kind: str) -> Counter[Final]:
    """Keys and values of a topic, and how often each is there."""
    return Counter((kind, record.key, record.value) for record in topics.read(address, topic))


@pytest.fixture(scope="module")
def topic(broker: Broker) -> str:
    name = topics.create(broker.address, "events", PARTITIONS)
    assert topics.write(broker.address, name, events(13)) == PARTITIONS * RECORDS
    return name


@pytest.mark.slow
def test_kafka_streams_gives_the_same_finals_on_the_same_topic(
    broker: Broker, spark: SparkSession, topic: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("kafka-sessions", "kafka-sliding", "windrow-sessions", "windrow-sliding")
    out = {name: topics.create(broker.address, name, PARTITIONS) for name in names}
    kafka = reference.run(
        broker.address,
        topic,
        PARTITIONS * RECORDS,
        sessions=out["kafka-sessions"],
        sliding=out["kafka-sliding"],
        gap=GAP,
        difference=DIFFERENCE,
        grace=GRACE,
        session_retention=GAP + GRACE + 1,
        sliding_retention=3 * DIFFERENCE + GRACE + 1,
    )

    records = records_of(spark, broker.address, topic, rows=PARTITIONS * RECORDS // 5)
    grouped = wr.group_by(records, "user", time="time", tick="tick", source=["topic", "partition"], order="offset")
    sessions = wr.SessionWindows.with_gap(f"{GAP} milliseconds", grace=f"{GRACE} milliseconds")
    sliding = wr.SlidingWindows.with_time_difference(
        f"{DIFFERENCE} milliseconds", grace=f"{GRACE} milliseconds", resolution="1 millisecond"
    )
    dropped = 0
    for name, windows, as_records in (
        ("sessions", sessions, session_records),
        ("sliding", sliding, sliding_records),
    ):
        rows = as_records(grouped.windowed_by(windows).shards(2).agg(n=wr.count()), "user", "n")
        dropped += run_once(rows, broker.address, out[f"windrow-{name}"], tmp_path / name)

    theirs, ours = Counter[Final](), Counter[Final]()
    for kind in ("sessions", "sliding"):
        theirs += finals(broker.address, out[f"kafka-{kind}"], kind)
        ours += finals(broker.address, out[f"windrow-{kind}"], kind)
    wrong = (theirs - ours) + (ours - theirs)
    with capsys.disabled():
        print(f"\nKafka Streams beside windrow: {(theirs | ours).total():,} windows compared, {wrong.total()} differ")
    assert not wrong, wrong.most_common(3)
    assert theirs.total() > PARTITIONS * RECORDS, "Kafka Streams gave too few finals to compare with"
    assert kafka.dropped == dropped > RECORDS // 30


def run_once(rows: DataFrame, address: str, topic: str, checkpoint: Path) -> int:
    """Writes what comes out to a topic, and ends with the input. How many records and windows were dropped."""
    writer = rows.writeStream.format("kafka").option("kafka.bootstrap.servers", address).option("topic", topic)
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    assert query.awaitTermination(PATIENCE), f"not within {PATIENCE} s"
    counted = [wr.counters(progress) for progress in query.recentProgress]
    return sum(row["late"] + row["windows_refused"] + row["null_keys"] for row in counted if row)
