"""ProgressProducer on a broker: idempotent, in transactions, and next to another producer on the same partition."""

from __future__ import annotations

import uuid
from typing import Any

from confluent_kafka import Producer

from windrow.kafka import ProgressProducer

from . import topics
from .broker import Broker
from .control_message import sequences, time_of
from .deadline import until
from .topics import Record

START = 1_700_000_000_000
CONFIG: dict[str, Any] = {
    "progress.control.start.ms": 200,
    "progress.control.backoff.ms": 200,
    "progress.control.end.ms": 1_000,
}


def client(broker: Broker, **settings: Any) -> dict[str, Any]:
    return {"bootstrap.servers": broker.address} | {name.replace("_", "."): value for name, value in settings.items()}


def control_messages(broker: Broker, topic: str) -> list[tuple[int, int, int]]:
    """Partition, offset and time of each control message."""
    return [
        (record.partition, record.offset, time)
        for record in topics.read(broker.address, topic)
        if (time := time_of(record)) is not None
    ]


def await_tick(broker: Broker, topic: str, time: int, what: str) -> None:
    """Waits for a control message of this time or later."""

    def is_there() -> bool:
        sent = control_messages(broker, topic)
        return bool(sent) and sent[-1][2] >= time

    until(is_there, 15, what)


def data(broker: Broker, topic: str) -> list[Record]:
    return [record for record in topics.read(broker.address, topic) if time_of(record) is None]


def test_an_idempotent_producer_sends_numbered_ticks_to_its_quiet_partition_until_the_end(broker: Broker) -> None:
    topic = topics.create(broker.address, "idempotent", 2)
    settings = client(broker, enable_idempotence=True)
    with ProgressProducer(Producer(settings), settings | CONFIG) as producer:
        producer.produce(topic, partition=1, key=b"ann", value=b"1", timestamp=START)
        assert producer.flush(30) == 0
        await_tick(broker, topic, START + 1_000, "the last tick")
        producer.produce(topic, partition=1, key=b"ann", value=b"2", timestamp=START + 60_000)  # begins again
        assert producer.flush(30) == 0
        await_tick(broker, topic, START + 61_000, "the last tick of the second silence")
    read = topics.read(broker.address, topic)
    ticks = [record for record in read if time_of(record) is not None]
    assert {(record.partition, record.key, record.value) for record in ticks} == {(1, None, None)}
    (numbers,) = sequences(read).values()
    assert numbers == list(range(len(ticks)))
    times = [time_of(record) for record in ticks]
    assert times == sorted(times, key=int)
    assert (times[0] or 0) >= START + 200
    assert 2 <= len(ticks) <= 12  # at least the last one of each silence
    counters = producer.counters()
    assert counters["sent"] == counters["acknowledged"] == len(ticks)
    assert counters["failed"] == counters["unanswered"] == 0


def test_ticks_of_a_transactional_producer_wait_for_the_end_of_the_transaction(broker: Broker) -> None:
    topic = topics.create(broker.address, "transactions", 1)
    beside = topics.create(broker.address, "plain", 1)
    settings = client(broker, transactional_id=f"windrow-{uuid.uuid4()}")
    plain = ProgressProducer(Producer(client(broker)), client(broker) | CONFIG)
    with plain, ProgressProducer(Producer(settings), settings | CONFIG) as producer:
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce(topic, partition=0, key=b"ann", value=b"1", timestamp=START)
        assert producer.flush(30) == 0
        plain.produce(beside, partition=0, key=b"ann", timestamp=START)
        # under load there are fewer ticks, but always one at the end
        await_tick(broker, beside, START + 1_000, "the last tick of a producer that went quiet later")
        assert control_messages(broker, topic) == []
        assert producer.counters()["sent"] == 0
        producer.commit_transaction(30)
        await_tick(broker, topic, START + 1_000, "the last tick after the commit")

        before = control_messages(broker, topic)
        producer.begin_transaction()
        producer.produce(topic, partition=0, key=b"ann", value=b"2", timestamp=START + 3_600_000)
        assert producer.flush(30) == 0
        producer.abort_transaction(30)
        producer.begin_transaction()
        producer.produce(topic, partition=0, key=b"ann", value=b"3", timestamp=START + 60_000)
        producer.commit_transaction(30)
        await_tick(broker, topic, START + 61_000, "ticks of the last transaction")
    assert [record.value for record in data(broker, topic)] == [b"1", b"3"]
    after = control_messages(broker, topic)[len(before) :]
    assert after
    assert all(time < START + 3_600_000 for _, _, time in after), "a tick tells the time of a record that was aborted"
    assert producer.counters()["failed"] == 0


def test_a_quiet_producer_never_makes_a_lagging_one_on_its_partition_late(broker: Broker) -> None:
    topic = topics.create(broker.address, "two", 1)
    settings = client(broker)
    quiet = ProgressProducer(Producer(settings), settings | CONFIG)
    lagging = ProgressProducer(Producer(settings), settings | CONFIG)
    with quiet, lagging:
        lagging.produce(topic, partition=0, key=b"bob", value=b"0", timestamp=START - 60_000)
        assert lagging.flush(30) == 0
        quiet.produce(topic, partition=0, key=b"ann", value=b"0", timestamp=START)
        assert quiet.flush(30) == 0
        numbers = 0

        def has_held_back() -> bool:
            nonlocal numbers
            numbers += 1
            lagging.produce(topic, partition=0, key=b"bob", value=b"%d" % numbers, timestamp=START - 60_000 + numbers)
            assert lagging.flush(30) == 0
            return quiet.counters()["moved"] >= 1 and numbers >= 20

        until(has_held_back, 20, "the quiet producer sees that another one writes")
        last = data(broker, topic)[-1].offset
        until(lambda: any(at > last for _, at, _ in control_messages(broker, topic)), 15, "a tick of the lagging one")
    assert quiet.counters()["sent"] == 0
    ticks = control_messages(broker, topic)
    assert min(offset for _, offset, _ in ticks) > last, "a tick stands before a record of the busy neighbour"
    # The lagging one wrote last: the time that it tells is its own, and a reader keeps the largest that it has seen.
    assert all(START - 60_000 < time < START for _, _, time in ticks)
