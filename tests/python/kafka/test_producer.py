"""`ProgressProducer` in virtual time: what it sends to a quiet partition, when, and when it does not."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from windrow.kafka import ControlMessage

from .scene import CONFIG, END, NINE, START, Scene


def test_a_quiet_partition_gets_messages_from_start_to_end(scene: Scene) -> None:
    """
    |──── 10 s ────|1 s|1 s|1 s|
    ●              ◇   ◇   ◇   ◇          ● record  ◇ control message
    """
    began = scene.timer.time
    scene.timer.advance(START - 1)
    assert scene.times() == []
    scene.timer.advance(1)
    assert scene.times() == [START]
    scene.timer.advance(100_000)
    assert scene.times() == [START, 11_000, 12_000, END]
    assert [entry.written - began for entry in scene.entries()[1:]] == [START, 11_000, 12_000, END]
    assert [message.sequence for message in scene.messages()] == [0, 1, 2, 3]
    assert len({message.producer_id for message in scene.messages()}) == 1
    assert scene.producer.counters() == {
        "sent": 4, "acknowledged": 4, "failed": 0, "moved": 0, "put_off": 0, "void": 0, "unanswered": 0,
        "out_of_range": 0, "untimed": 0, "raised": 0,
    }  # fmt: skip
    assert scene.cluster.read == 0  # the end offset alone has told that nobody else wrote


def test_a_message_has_no_value_a_null_key_the_time_and_the_partition() -> None:
    scene = Scene()
    scene.write(NINE, partition=2)
    scene.timer.advance(START)
    (message,) = scene.entries(2)[1:]
    assert (message.key, message.value, message.timestamp) == (None, None, NINE + START)
    assert [name for name, _ in message.headers] == ["windrow.progress"]
    assert scene.entries(0) == scene.entries(1) == []


def test_the_time_is_the_largest_of_the_partition_and_the_quiet_time_begins_at_the_last_record() -> None:
    scene = Scene(CONFIG | {"progress.control.allowance.ms": 250})
    scene.write(NINE + 60_000)
    scene.timer.advance(4_000)
    scene.write(NINE)
    scene.timer.advance(START)
    assert scene.times() == [60_000 + START - 250]


def test_a_message_is_sent_only_behind_ones_own_last_record(scene: Scene) -> None:
    # weakness 2: of two producers on a partition the one that is ahead is quiet
    scene.neighbour(timestamp=NINE - 3_600_000)
    scene.timer.advance(60_000)
    assert scene.messages() == []
    assert scene.producer.counters()["moved"] == 1
    scene.write(NINE + 1)
    scene.timer.advance(START)
    assert scene.times() == [1 + START]


def test_a_neighbour_that_writes_while_a_message_is_in_flight_is_seen(scene: Scene) -> None:
    # it stands before the message: the end that the message brings is not that of one's own records
    scene.inner.latency = 100
    scene.timer.advance(START)
    scene.neighbour()
    scene.timer.advance(60_000)
    assert [entry.writer for entry in scene.entries()] == ["own", "neighbour", "own"]
    assert scene.producer.counters()["moved"] == 1


BEHIND: dict[str, dict[str, Any]] = {
    "marker": {"is_marker": True},
    "control message": {"value": None, "headers": ControlMessage(NINE, 0, UUID(int=5)).headers()},
    "proof of concept": {"value": None, "headers": [("control", b"5")]},
    "damaged": {"value": None, "headers": [("windrow.progress", b"cut")]},
}


@pytest.mark.parametrize("behind", BEHIND)
def test_what_is_no_data_behind_the_last_record_stops_nothing(scene: Scene, behind: str) -> None:
    scene.neighbour(**BEHIND[behind])
    scene.timer.advance(END)
    assert scene.times()[-4:] == [START, 11_000, 12_000, END]
    assert scene.cluster.read == 1  # looked at once, and then known


def test_a_tombstone_with_a_key_is_data(scene: Scene) -> None:
    scene.neighbour(key=b"k", value=None, headers=[("control", b"5")])
    scene.timer.advance(END)
    assert scene.times() == []


def test_a_partition_that_became_shorter_is_not_ours(scene: Scene) -> None:
    scene.entries().clear()
    scene.timer.advance(END)
    assert (scene.entries(), scene.producer.counters()["moved"]) == ([], 1)


def test_an_open_transaction_of_somebody_puts_off() -> None:
    scene = Scene()
    scene.broker.open_transactions.add(5)
    scene.neighbour(transaction=5)
    scene.write(NINE)
    scene.timer.advance(START + 2_500)
    assert (scene.times(), scene.producer.counters()["put_off"]) == ([], 3)
    scene.broker.open_transactions.clear()
    scene.timer.advance(500)
    assert scene.times() == [END]


def test_a_record_that_is_acknowledged_while_the_end_is_asked_for_is_not_lost(scene: Scene) -> None:
    # weakness 5: the decision was made for another state, and nothing of the new one is overwritten

    def meanwhile() -> None:
        scene.cluster.before_answer = lambda: None
        scene.write(NINE + 50_000)

    scene.cluster.before_answer = meanwhile
    scene.timer.advance(START)
    assert scene.times() == []
    assert scene.producer.counters()["void"] == 1
    scene.timer.advance(START - 1)
    assert scene.times() == []
    scene.timer.advance(1 + END)
    assert scene.times() == [60_000, 61_000, 62_000, 63_000]


def test_a_record_that_is_produced_while_the_end_is_asked_for_comes_first(scene: Scene) -> None:

    def meanwhile() -> None:
        scene.cluster.before_answer = lambda: None
        scene.producer.produce("events", b"v", b"k", 0, timestamp=NINE + 1)

    scene.cluster.before_answer = meanwhile
    scene.timer.advance(START + 500)
    assert [entry.value for entry in scene.entries()] == [b"v", b"v"]


def test_nothing_is_sent_while_a_record_for_the_partition_is_in_flight() -> None:
    scene = Scene(latency=5_000)
    scene.write(NINE)
    scene.timer.advance(START - 1_000)
    scene.producer.produce("events", b"v", b"k", 0, timestamp=NINE + 2)
    scene.timer.advance(5_999)
    assert len(scene.entries()) == 2
    assert scene.cluster.requests == 0  # nobody has to be asked for that
    scene.timer.advance(START)
    scene.timer.advance(4_000)
    assert scene.times() == []  # the message itself is in flight
    assert scene.cluster.requests == 1
    scene.timer.advance(1_000)
    assert scene.times()[0] == 2 + START


def test_a_tick_is_never_later_than_a_record_that_may_be_on_its_way(scene: Scene) -> None:
    # the partitioner decides where the second record goes: it may be the quiet partition
    scene.timer.advance(START - 1)
    scene.inner.latency = 60_000
    scene.producer.produce("events", b"v", scene.inner.key_of("events", 1), timestamp=NINE + 7_000)
    scene.inner.latency = 0
    scene.timer.advance(1)
    assert scene.times() == [7_000]
    scene.timer.advance(10_000)
    assert scene.times() == [7_000]
    assert scene.producer.counters()["put_off"] > 0


def test_a_steady_stream_to_other_partitions_stops_nothing() -> None:
    scene = Scene(latency=500)
    scene.write(NINE)
    scene.timer.advance(500)
    for number in range(200):
        scene.timer.advance(100)
        key = scene.inner.key_of("events", 1 + number % 2)
        scene.producer.produce("events", b"v", key, timestamp=NINE + 500 + number * 100)
    assert scene.times() == [START - 500, 10_500, 11_500, END - 500]  # as old as what is in flight


def test_a_time_that_no_message_can_tell_is_counted_and_asks_nobody_for_ever() -> None:
    scene = Scene()
    scene.write(-20_000, 0)  # before 1970 for longer than the quiet time lasts
    scene.write(253_402_300_800_000, 1)  # after the year 9999
    scene.write(-11_500, 2)  # until the third message
    scene.timer.advance(3_600_000)
    assert (scene.messages(0), scene.messages(1)) == ([], [])
    assert [message.event_time for message in scene.messages(2)] == [500, 1_500]
    counters = scene.producer.counters()
    assert (counters["out_of_range"], counters["put_off"]) == (4 + 4 + 2, 0)
    assert scene.cluster.requests == 4


@pytest.mark.parametrize("time", [253_402_300_799_000, 253_402_300_799_990])
def test_the_end_of_the_year_9999_is_sent_once(time: int) -> None:
    scene = Scene()
    scene.write(time)
    scene.timer.advance(3_600_000)
    assert [message.event_time for message in scene.messages()] == [253_402_300_799_999]
    assert scene.producer.counters()["out_of_range"] == 3


def test_a_recreated_topic_gets_ticks_from_its_new_records() -> None:
    scene = Scene()
    for number in range(5):
        scene.write(NINE + number)
    scene.timer.advance(START)
    scene.broker.logs.clear()
    scene.write(NINE + 100)
    scene.timer.advance(60_000)
    assert scene.times() == [100 + time for time in (START, 11_000, 12_000, END)]
    assert scene.producer.counters()["moved"] == 0


def test_in_a_recreated_topic_a_foreign_record_stays_foreign() -> None:
    scene = Scene()
    for number in range(5):
        scene.write(NINE + number)
    scene.broker.logs.clear()
    scene.write(NINE + 100)
    scene.neighbour()
    scene.timer.advance(60_000)
    assert (scene.times(), scene.producer.counters()["moved"]) == ([], 1)
