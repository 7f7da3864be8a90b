"""`ProgressProducer` over a transactional producer: only committed times are sent, by its own producer."""

from __future__ import annotations

from typing import Any

import pytest

from windrow.kafka import ProgressProducer

from ..harness.virtual_kafka import VirtualBroker, VirtualCluster, VirtualProducer, VirtualTimer
from .scene import NINE, Scene

CONFIG = {"progress.control.start.ms": 1_000, "progress.control.backoff.ms": 500, "progress.control.end.ms": 3_000}


@pytest.fixture
def scene() -> Scene:
    """A transactional producer and a plain one next to it."""
    made = Scene(CONFIG | {"transactional.id": "own"})
    made.producer.init_transactions()
    return made


def commit(scene: Scene, time: int) -> None:
    """A transaction with one record."""
    scene.producer.begin_transaction()
    scene.write(time)
    scene.producer.commit_transaction()


def test_the_time_of_a_transaction_is_sent_once_it_is_committed(scene: Scene) -> None:
    scene.producer.begin_transaction()
    scene.write(NINE)
    scene.timer.advance(10_000)
    assert scene.times() == []
    scene.producer.commit_transaction()
    scene.timer.advance(10_000)
    assert scene.times() == [1_000, 1_500, 2_000, 2_500, 3_000]
    log = scene.broker.log("events", 0)
    assert [(one.writer, one.is_marker, one.transaction is None) for one in log][:3] == [
        ("own", False, False),
        ("own", True, True),
        ("plain", False, True),  # no part of any transaction
    ]


def test_the_marker_of_the_own_transaction_is_nobody_elses_data(scene: Scene) -> None:
    for number in range(3):
        commit(scene, NINE + number)
    scene.timer.advance(1_000)
    assert scene.times() == [2 + 1_000]
    assert scene.producer.counters()["moved"] == 0
    assert scene.cluster.read == 1  # the marker's offset alone was looked at


def test_a_marker_that_is_not_written_yet_stops_nothing(scene: Scene) -> None:
    scene.producer.begin_transaction()
    scene.write(NINE)
    markers, scene.inner.write_markers = scene.inner.write_markers, lambda: None  # type: ignore[method-assign]
    scene.producer.commit_transaction()
    scene.timer.advance(1_000)
    assert scene.times() == [1_000]
    markers()
    scene.timer.advance(500)
    assert scene.times() == [1_000, 1_500]


def test_a_neighbour_behind_the_marker_is_data(scene: Scene) -> None:
    commit(scene, NINE)
    scene.broker.append(("events", 0), "neighbour")
    scene.timer.advance(10_000)
    assert (scene.times(), scene.producer.counters()["moved"]) == ([], 1)


def test_times_of_an_aborted_transaction_are_never_sent(scene: Scene) -> None:
    commit(scene, NINE)
    scene.timer.advance(600)
    scene.producer.begin_transaction()
    scene.write(NINE + 3_600_000)
    scene.write(NINE + 3_600_000, 1)
    scene.producer.abort_transaction()
    scene.timer.advance(999)
    assert scene.times() == []  # the cycle began again
    scene.timer.advance(1)
    assert scene.times() == [600 + 1_000]  # the time of what was committed, quiet since then
    scene.timer.advance(10_000)
    assert scene.times(1) == []


def test_a_quiet_partition_gets_ticks_while_a_transaction_is_open_on_another(scene: Scene) -> None:
    commit(scene, NINE)
    scene.producer.begin_transaction()
    scene.write(NINE, 1)
    scene.timer.advance(1_000)
    assert (scene.times(0), scene.times(1)) == ([1_000], [])


def test_nobody_is_asked_while_a_transaction_of_the_own_is_open_on_the_partition(scene: Scene) -> None:
    commit(scene, NINE)
    scene.producer.begin_transaction()
    scene.write(NINE + 5)
    scene.timer.advance(20_000)
    assert (scene.times(), scene.cluster.requests) == ([], 0)
    assert scene.producer.counters()["put_off"] > 0
    scene.producer.commit_transaction()
    scene.timer.advance(1_000)
    assert scene.times() == [5 + 1_000]


def test_messages_of_a_separate_producer_are_waited_for_and_counted(scene: Scene) -> None:
    commit(scene, NINE)
    scene.plain.latency = 200
    scene.timer.advance(1_000)
    assert (len(scene.producer), scene.times()) == (1, [])
    assert scene.producer.flush() == 0
    assert (len(scene.producer), scene.times()) == (0, [1_000])
    assert scene.producer.counters()["acknowledged"] == 1


def test_a_plain_producer_is_made_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[dict[str, Any]] = []

    class Library:
        @staticmethod
        def Producer(settings: dict[str, Any]) -> object:  # noqa: N802
            made.append(settings)
            return VirtualProducer(VirtualBroker(VirtualTimer()))

    monkeypatch.setattr("windrow.kafka._sender.confluent_kafka", lambda: Library)
    timer = VirtualTimer()
    settings = {"bootstrap.servers": "localhost:1", "acks": "all", "transactional.id": "own", "on_delivery": print}
    given = {"cluster": VirtualCluster(VirtualBroker(timer)), "timer": timer}
    inner = VirtualProducer(VirtualBroker(timer))
    ProgressProducer(inner, CONFIG | settings, **given)
    assert made == [{"bootstrap.servers": "localhost:1", "acks": "all"}]
    plain = ProgressProducer(inner, CONFIG | {"bootstrap.servers": "localhost:1"}, **given)
    assert len(made) == 1
    plain.init_transactions()
    plain.begin_transaction()
    assert made[1:] == [{"bootstrap.servers": "localhost:1"}]
