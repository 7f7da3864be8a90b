"""Topics of a broker: made, and read from the first record to the last, as any consumer does."""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from .deadline import until

PATIENCE = 60
"""How many seconds a topic may take to be read."""
_number = itertools.count(1)


class Record(NamedTuple):
    """A record of a topic; its time in milliseconds."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    time: int
    headers: tuple[tuple[str, bytes | None], ...]


def create(address: str, name: str, partitions: int, **settings: str) -> str:
    """A new topic, whose name has a number behind; dots of settings are underlines."""
    topic = f"{name}-{next(_number)}"
    config = {"retention.ms": "-1"} | {setting.replace("_", "."): value for setting, value in settings.items()}
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    admin.create_topics([NewTopic(topic, partitions, 1, config=config)])[topic].result(30)
    until(lambda: len(admin.list_topics(topic, timeout=10).topics[topic].partitions) == partitions, 30, f"{topic}")
    return topic


def write(address: str, topic: str, records: Iterable[tuple[Any, ...]]) -> int:
    """Writes (partition, key, value, milliseconds), and headers if there are any, with a plain producer.

    Waits until all are there; how many they are.
    """
    producer = Producer({"bootstrap.servers": address, "enable.idempotence": True, "linger.ms": 50, "log_level": 3})
    failed: list[KafkaError] = []

    def acknowledged(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failed.append(error)

    count = 0
    for partition, key, value, timestamp, *headers in records:
        while True:
            try:
                producer.produce(
                    topic,
                    partition=partition,
                    key=key,
                    value=value,
                    timestamp=timestamp,
                    headers=headers[0] if headers else None,
                    on_delivery=acknowledged,
                )
                break
            except BufferError:
                producer.poll(0.5)
        count += 1
        if count % 1000 == 0:
            producer.poll(0)
    left = producer.flush(60)
    assert not left, f"{left} of {count} records are not written"
    assert not failed, failed[0]
    return count


def read(address: str, topic: str) -> list[Record]:
    """All records that are there now and committed, by partition and offset."""
    return sorted(_read(address, topic), key=lambda record: record[:2])


def _read(address: str, topic: str) -> Iterator[Record]:
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": f"windrow-{uuid.uuid4()}",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    try:
        known = consumer.list_topics(topic, timeout=30).topics[topic].partitions
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in known])
        left, limit = set(known), time.monotonic() + PATIENCE
        while left:
            if time.monotonic() > limit:
                raise TimeoutError(f"{topic}: not all is read within {PATIENCE} s, of partitions {sorted(left)}")
            for message in consumer.consume(10_000, timeout=0.1):  # waits for this many, or this long
                error = message.error()
                if error is None:
                    yield _record(message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    left.discard(message.partition())
                elif not error.retriable():
                    raise RuntimeError(f"{topic}: {error}")
    finally:
        consumer.close()


def _record(message: Message) -> Record:
    return Record(
        message.partition(),
        message.offset(),
        message.key(),
        message.value(),
        message.timestamp()[1],
        tuple(message.headers() or ()),
    )
