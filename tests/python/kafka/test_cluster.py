"""What a real client asks and learns from the broker that librdkafka has for tests."""

from __future__ import annotations

import builtins
import socket
import subprocess
import sys
from typing import Any
from uuid import UUID

import pytest
from confluent_kafka import Producer

from windrow.kafka import ControlMessage, ProgressError, ProgressProducer
from windrow.kafka._cluster import Ends, KafkaCluster, TopicPartition

from .scene import DEADLINE, NINE, wait_for

QUIET = {"log_level": 0}


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic of this test's own; it has four partitions once something was written to it."""
    return "".join(letter if letter.isalnum() else "-" for letter in request.node.name)


def write(settings: dict[str, Any], topic: str, partition: int, count: int = 1, **given: Any) -> None:
    producer = Producer(settings | QUIET)
    for _ in range(count):
        producer.produce(topic, partition=partition, **({"value": b"v", "timestamp": NINE} | given))
    assert producer.flush(DEADLINE) == 0


def cluster_of(bootstrap: str, *, committed: bool = False) -> KafkaCluster:
    return KafkaCluster({"bootstrap.servers": bootstrap} | QUIET, timeout=10_000, committed=committed)


def test_ends_and_records_are_those_of_the_partition(bootstrap: str, topic: str) -> None:
    headers = ControlMessage(NINE, 0, UUID(int=1)).headers()
    write({"bootstrap.servers": bootstrap}, topic, 1, 2, key=b"k")
    write({"bootstrap.servers": bootstrap}, topic, 1, value=None, headers=headers)
    cluster = cluster_of(bootstrap)
    zero, one = TopicPartition(topic, 0), TopicPartition(topic, 1)
    assert cluster.partitions([topic])[:2] == [zero, one]
    assert cluster.ends([zero, one]) == {zero: Ends(0, 0), one: Ends(3, 3)}
    found = list(cluster.records(one, 1, 3))
    assert [(record.offset, record.timestamp, record.key, record.value) for record in found] == [
        (1, NINE, b"k", b"v"),
        (2, NINE, None, None),
    ]
    assert list(found[1].headers) == headers
    assert [record.offset for record in cluster.records(one, 0, 1)] == [0]
    assert list(cluster.records(one, 3, 3)) == []
    assert [record.offset for record in cluster.records(one, 0, 99)] == [0, 1, 2]  # to the end that there is
    cluster.close()


def test_a_marker_is_no_record(bootstrap: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic} | QUIET)
    producer.init_transactions(DEADLINE)
    producer.begin_transaction()
    producer.produce(topic, b"v", partition=0, timestamp=NINE)
    producer.commit_transaction(DEADLINE)
    cluster, zero = cluster_of(bootstrap), TopicPartition(topic, 0)
    (end,) = cluster.ends([zero]).values()
    assert isinstance(end, Ends)
    assert end.high > 1
    assert [record.offset for record in cluster.records(zero, 0, end.high)] == [0]
    assert list(cluster.records(zero, 1, end.high)) == []
    cluster.close()


def test_a_partition_that_is_absent_has_an_error_and_the_others_their_ends(bootstrap: str, topic: str) -> None:
    write({"bootstrap.servers": bootstrap}, topic, 0)
    cluster = cluster_of(bootstrap)
    known, absent = TopicPartition(topic, 0), TopicPartition(topic, 77)
    found = cluster.ends([known, absent])
    assert found[known] == Ends(1, 1)
    assert isinstance(found[absent], Exception)
    cluster.close()


def test_a_broker_that_is_absent_is_an_error_in_time() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"127.0.0.1:{free.getsockname()[1]}"
    cluster = KafkaCluster({"bootstrap.servers": nobody} | QUIET, timeout=200, committed=False)
    place = TopicPartition("events", 0)
    assert isinstance(cluster.ends([place])[place], Exception)
    with pytest.raises(Exception, match=r"."):
        cluster.partitions(["events"])
    with pytest.raises(TimeoutError, match=r"events-0: no answer within 0\.2 s"):
        list(cluster.records(place, 0, 1))
    cluster.close()


@pytest.mark.parametrize("kind", ["plain", "idempotent", "transactional"])
def test_the_library_sends_control_messages_by_itself(bootstrap: str, topic: str, kind: str) -> None:
    settings: dict[str, Any] = {"bootstrap.servers": bootstrap} | QUIET
    own = {"plain": {}, "idempotent": {"enable.idempotence": True}, "transactional": {"transactional.id": topic}}
    settings |= own[kind]
    options = {"progress.control.start.ms": 50}
    errors: list[ProgressError] = []
    with ProgressProducer(Producer(settings), settings | options, on_error=errors.append) as producer:
        if kind == "transactional":
            producer.init_transactions(DEADLINE)
        for number in range(2):
            if kind == "transactional":
                producer.begin_transaction()
            producer.produce(topic, b"v", b"k", 2, timestamp=NINE)
            if kind == "transactional":
                producer.commit_transaction(DEADLINE)
            wait_for(lambda wanted=number + 1: producer.counters()["acknowledged"] == wanted)
        assert (producer.counters()["sent"], errors) == (2, [])
    cluster = cluster_of(bootstrap, committed=True)
    place = TopicPartition(topic, 2)
    (end,) = cluster.ends([place]).values()
    assert isinstance(end, Ends)
    found = [ControlMessage.read(record.value, record.headers) for record in cluster.records(place, 0, end.high)]
    assert [message and message.sequence for message in found] == [None, 0, None, 1]
    cluster.close()


def test_settings_of_producers_alone_are_left_out() -> None:
    settings: dict[str, object] = {
        "bootstrap.servers": "x:1", "sasl.mechanism": "PLAIN", "ssl.ca.location": "f", "client.id": "me", "acks": "all",
        "transactional.id": "t", "linger.ms": 5, "on_delivery": print, "progress.control.start.ms": 1,
    }  # fmt: skip
    cluster = KafkaCluster(settings, timeout=1, committed=False)
    assert set(cluster._settings) == {"bootstrap.servers", "sasl.mechanism", "ssl.ca.location", "client.id"}


def test_without_the_library_the_error_says_how_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "confluent_kafka"]:
        monkeypatch.delitem(sys.modules, name)
    real = builtins.__import__

    def absent(name: str, *given: Any, **options: Any) -> Any:
        if name.partition(".")[0] == "confluent_kafka":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *given, **options)

    monkeypatch.setattr(builtins, "__import__", absent)
    monkeypatch.setattr("importlib.import_module", lambda name: absent(name))
    message = r"windrow\.kafka: got a Python without confluent-kafka \(No module .*pip install confluent-kafka\)"
    with pytest.raises(ImportError, match=message):
        KafkaCluster({"bootstrap.servers": "x:1"}, timeout=1, committed=False)


def test_importing_takes_neither_the_library_nor_spark() -> None:
    code = (
        "import sys, windrow, windrow.kafka, windrow.kafka.ticker; "
        "print(sorted({'confluent_kafka', 'pyspark'} & {name.partition('.')[0] for name in sys.modules}))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
