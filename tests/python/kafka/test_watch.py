"""The ticker's decisions in virtual time: partitions that move are never touched, quiet ones are ticked."""

from __future__ import annotations

from uuid import UUID

import pytest

from windrow.kafka._cluster import TopicPartition
from windrow.kafka._control import ControlMessage

from .scene import BACKOFF, CONFIG, END, NINE, START
from .watch_scene import INTERVAL, Scene


@pytest.fixture
def scene() -> Scene:
    """A watch that has seen one record in partition 0, of the time nine."""
    made = Scene()
    made.data(NINE)
    made.look()
    return made


def test_a_partition_that_does_not_move_is_ticked_from_start_to_end() -> None:
    scene = Scene()
    scene.data(NINE + 5_000)
    scene.data(NINE)
    began = scene.timer.time
    scene.look()
    scene.advance(60_000)
    assert scene.times() == [5_000 + due for due in (START, 11_000, 12_000, END)]
    assert [moment - began for moment in scene.written()] == [START, 11_000, 12_000, END]
    sequences = [ControlMessage.read(one.value, one.headers) for one in scene.broker.log("events", 0)[2:]]
    assert [message and message.sequence for message in sequences] == [0, 1, 2, 3]
    ours = [line for line in scene.lines if line.startswith("events-0")]
    assert ours[0] == (
        "events-0 tick 2026-01-01T09:00:15.000Z (its event time 2026-01-01T09:00:05.000Z, quiet for 10.0 s), offset 2"
    )
    assert len(ours) == 5
    assert ours[-1] == "events-0 that was the last tick until something arrives"
    assert scene.cluster.read == 1  # its own ticks are not read again


def test_a_partition_without_data_is_reported_once_and_left_alone() -> None:
    scene = Scene()
    scene.look()
    scene.advance(60_000)
    assert scene.broker.log("events", 1) == []
    assert scene.lines.count("events-1 empty: there is nothing to close") == 1
    assert scene.watch.counters["empty"] == 3
    scene.data(NINE, 1)
    scene.advance(INTERVAL + START)
    assert scene.times(1) == [START]


def test_a_partition_that_moves_is_never_touched(scene: Scene) -> None:
    for number in range(20):
        scene.advance(START - INTERVAL)
        scene.data(NINE + number)
    assert scene.times() == []
    assert [line for line in scene.lines if line.startswith("events-0")] == ["events-0 moves, at offset 2"]
    scene.advance(INTERVAL + START)
    assert scene.times() == [19 + START]


def test_a_tick_is_behind_by_the_allowance() -> None:
    scene = Scene(CONFIG | {"progress.control.allowance.ms": 300})
    scene.data(NINE)
    scene.look()
    scene.advance(START)
    assert scene.times() == [START - 300]


def test_records_of_an_aborted_transaction_have_no_time_and_an_open_one_puts_off() -> None:
    scene = Scene()
    scene.data(NINE)
    scene.data(NINE + 99_000, transaction=5)
    scene.broker.open_transactions.add(5)
    scene.look()
    scene.advance(START + 2 * BACKOFF)
    assert scene.times() == []
    assert scene.lines.count("events-0 a transaction is open") == 3
    scene.broker.open_transactions.clear()
    scene.broker.aborted.add(5)
    scene.data(0, is_marker=True)
    scene.advance(INTERVAL + START)
    assert scene.times() == [START]


def test_control_messages_of_others_are_no_data(scene: Scene) -> None:
    scene.advance(START)
    tick = ControlMessage(NINE + 10_500, 0, UUID(int=1)).headers()
    scene.data(NINE + 10_500, value=None, headers=tick)
    scene.advance(INTERVAL)
    assert scene.lines[-1] == "events-0 moves, at offset 3"
    scene.advance(60_000)
    # ten seconds after it; past the end of the cycle, whose last time nobody had told
    assert scene.times() == [START, 500 + START + START]


def test_a_new_ticker_continues_from_the_last_tick(scene: Scene) -> None:
    scene.advance(60_000)
    again = scene.another()
    scene.look(again)
    scene.advance(START, again)
    assert scene.times()[4:] == [END + START]


def test_a_tick_before_the_last_data_is_not_its_time() -> None:
    scene = Scene()
    scene.data(NINE)
    scene.data(0, value=None, headers=ControlMessage(NINE + 60_000, 0, UUID(int=1)).headers())
    scene.data(NINE + 55_000)
    scene.look()
    scene.advance(60_000)
    assert scene.times() == [55_000 + START, 66_000, 67_000, 55_000 + END]


def test_damaged_messages_in_the_tail_have_no_time() -> None:
    scene = Scene()
    scene.data(NINE)
    scene.data(NINE + 10**9, value=None, headers=[("windrow.progress", b"cut")])
    scene.look()
    scene.advance(START)
    assert scene.times() == [START]


def test_only_the_tail_is_read() -> None:
    scene = Scene(tail=3)
    for number in range(10):
        scene.data(NINE - 1_000 * number)
    scene.look()
    scene.advance(START)
    assert scene.times() == [-7_000 + START]
    for number in range(5):
        scene.data(NINE + number)
    scene.advance(INTERVAL + START)
    assert scene.times()[1:] == [4 + START]


def test_more_than_the_tail_may_hold_data() -> None:
    scene = Scene(tail=3)
    scene.data(NINE)
    scene.look()
    scene.advance(START)
    scene.data(NINE)  # not among the last three
    for number in range(3):
        tick = ControlMessage(NINE + 10_001 + number, 0, UUID(int=1)).headers()
        scene.data(NINE, value=None, headers=tick)
    scene.advance(INTERVAL + 60_000)
    assert scene.times() == [START, 11_000, 12_000, END]  # quiet for ten seconds once more


def test_a_dry_run_writes_nothing_and_prints_the_same() -> None:
    dry, wet = Scene(dry_run=True), Scene()
    for scene in (dry, wet):
        scene.data(NINE)
        scene.look()
        scene.advance(60_000)
    assert len(dry.broker.log("events", 0)) == 1
    assert dry.lines == [
        line.replace(" tick ", " would tick ").partition(", offset")[0] if " tick 2026" in line else line
        for line in wet.lines
    ]


def test_a_send_that_fails_is_reported_and_tried_again(scene: Scene) -> None:
    scene.fails.append(TimeoutError("no answer"))
    scene.advance(START)
    assert "events-0 no tick: no answer" in scene.lines
    scene.advance(BACKOFF)
    assert scene.times() == [11_000]
    assert (scene.watch.counters["failed"], scene.watch.counters["sent"]) == (1, 1)


def test_somebody_who_writes_at_the_same_moment_is_seen(scene: Scene) -> None:
    scene.advance(START - INTERVAL)
    scene.cluster.before_answer = lambda: scene.data(NINE + 50_000)
    scene.advance(INTERVAL)
    scene.cluster.before_answer = lambda: None
    assert len(scene.times()) == 1
    scene.advance(INTERVAL)
    assert scene.lines[-1] == "events-0 moves, at offset 3"
    scene.advance(START)
    assert scene.times()[1:] == [50_000 + START]


@pytest.mark.parametrize("what", ["all", "one"])
def test_a_missing_answer_is_reported_once_and_requested_again(scene: Scene, what: str) -> None:
    error = TimeoutError("no answer")
    real = scene.cluster.ends
    if what == "all":
        scene.cluster.error = error
    else:
        scene.cluster.ends = lambda partitions: real(partitions) | {TopicPartition("events", 0): error}  # type: ignore[method-assign]
    scene.advance(START + 5_000)
    assert scene.lines.count("events-0 no answer: no answer") == 1
    assert scene.times() == []
    scene.cluster.error = None
    scene.cluster.ends = real  # type: ignore[method-assign]
    scene.advance(INTERVAL + BACKOFF)
    assert scene.times() == [16_000]


def test_without_an_end_there_is_one_tick() -> None:
    scene = Scene({})
    scene.data(NINE)
    scene.look()
    scene.advance(60_000)
    assert scene.times() == [START]


def test_a_recreated_topic_has_the_time_of_its_new_records() -> None:
    scene = Scene()
    for number in range(50):
        scene.data(NINE + 3_600_000 + number)
    scene.look()
    scene.advance(START)
    assert len(scene.times()) == 1
    scene.broker.logs.clear()
    scene.data(NINE)  # an hour before what stood there
    scene.advance(60_000)
    assert scene.times() == [START, 11_000, 12_000, END]
    assert "events-0 was recreated: it ended at offset 51, and now at 1" in scene.lines


def test_a_recreated_topic_that_stays_empty_is_reported_as_empty(scene: Scene) -> None:
    scene.advance(60_000)
    scene.broker.logs.clear()
    scene.lines.clear()
    scene.advance(60_000)
    assert scene.times() == []
    assert [line for line in scene.lines if line.startswith("events-0")] == [
        "events-0 was recreated: it ended at offset 5, and now at 0",
        "events-0 empty: there is nothing to close",
    ]


def test_a_time_that_no_tick_can_hold_is_reported_and_counted_until_the_end() -> None:
    scene = Scene()
    scene.data(-20_000, 0)  # before 1970 for longer than the quiet time lasts
    scene.data(1_700_000_000_000_000, 1)  # microseconds, taken for milliseconds
    scene.data(-11_500, 2)  # until the third tick
    scene.look()
    scene.advance(3_600_000)
    assert [len(scene.times(partition)) for partition in range(3)] == [0, 0, 2]
    assert [time + NINE for time in scene.times(2)] == [500, 1_500]
    assert (scene.watch.counters["out_of_range"], scene.watch.counters["sent"]) == (4 + 4 + 2, 2)
    assert scene.watch.counters["failed"] == scene.watch.counters["unanswered"] == 0
    line = "events-1 quiet, but no tick can hold its time, 1700000000000000 ms since 1970"
    assert scene.lines.count(line) == 4


def test_a_look_ends_on_request() -> None:
    scene = Scene()
    for partition in range(3):
        scene.data(NINE, partition)
    scene.look()
    scene.timer.time += START
    answers = iter([False, True])
    everywhere = [TopicPartition("events", number) for number in range(3)]
    scene.watch.look(everywhere, scene.timer.now(), lambda: next(answers))
    assert [len(scene.times(partition)) for partition in range(3)] == [1, 0, 0]
    scene.advance(INTERVAL)
    assert [len(scene.times(partition)) for partition in range(3)] == [1, 1, 1]
