"""Control messages on topics of other kinds: compacted ones, which ask for a key, and those with the broker's time."""

from __future__ import annotations

from typing import Any

from confluent_kafka import Producer

from windrow.kafka import ProgressError, ProgressProducer

from . import topics
from .broker import Broker
from .control_message import time_of
from .deadline import until

START = 1_700_000_000_000
CONFIG: dict[str, Any] = {"progress.control.start.ms": 100}


def test_a_compacted_topic_takes_control_messages_with_a_key_alone(broker: Broker) -> None:
    topic = topics.create(broker.address, "compacted", 1, cleanup_policy="compact")
    settings: dict[str, Any] = {"bootstrap.servers": broker.address, "log_level": 0}
    errors: list[ProgressError] = []
    with ProgressProducer(Producer(settings), settings | CONFIG, on_error=errors.append) as producer:
        producer.produce(topic, b"1", b"ann", 0, timestamp=START)
        producer.flush(30)
        until(lambda: bool(errors), 30, "the refusal")
        assert producer.counters()["acknowledged"] == 0
    assert "a compacted topic takes no record without a key: set progress.control.key" in str(errors[0])
    keyed = settings | CONFIG | {"progress.control.key": "progress"}
    with ProgressProducer(Producer(settings), keyed, on_error=errors.append) as producer:
        refused = len(errors)
        producer.produce(topic, b"2", b"ann", 0, timestamp=START + 5)
        producer.flush(30)
        until(lambda: producer.counters()["acknowledged"] == 1, 30, "the control message")
    assert len(errors) == refused
    last = topics.read(broker.address, topic)[-1]
    assert (last.key, last.value) == (b"progress", None)
    assert (time_of(last) or 0) >= START + 105


def test_a_time_set_by_the_broker_is_the_one_in_the_tick(broker: Broker) -> None:
    topic = topics.create(broker.address, "appended", 1, message_timestamp_type="LogAppendTime")
    settings: dict[str, Any] = {"bootstrap.servers": broker.address, "log_level": 0}
    with ProgressProducer(Producer(settings), settings | CONFIG) as producer:
        producer.produce(topic, b"1", b"ann", 0, timestamp=START)  # years before the time of the broker
        producer.flush(30)
        until(lambda: producer.counters()["acknowledged"] == 1, 30, "the control message")
    first, last = topics.read(broker.address, topic)
    tick_time = time_of(last)
    assert tick_time is not None
    assert first.time + 100 <= tick_time <= last.time + 100
