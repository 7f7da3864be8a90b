"""What a watch does when a topic is recreated, when no tick can hold its time, and when it is asked to end."""

from __future__ import annotations

from windrow.kafka._cluster import TopicPartition

from .watch_scene import END, INTERVAL, NINE, START, Scene


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


def test_a_recreated_topic_that_stays_empty_is_reported_as_empty() -> None:
    scene = Scene()
    scene.data(NINE)
    scene.look()
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
