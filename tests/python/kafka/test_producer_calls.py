"""`ProgressProducer` as a producer: its calls, their callbacks, and what it does with errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from windrow.kafka import ProgressError, ProgressProducer

from ..harness.virtual_kafka import VirtualBroker, VirtualCluster, VirtualProducer, VirtualTimer
from .scene import BACKOFF, CONFIG, END, NINE, START, Scene


def test_a_queue_that_is_full_raises_and_forgets_the_record(scene: Scene) -> None:
    scene.inner.full = True
    with pytest.raises(BufferError, match="Queue full"):
        scene.producer.produce("events", b"v", b"k", 0)
    scene.timer.advance(START)
    (error,) = scene.errors
    assert str(error) == "events-0: the control message was not sent: Local: Queue full"
    assert (error.partition, type(error.cause)) == (("events", 0), BufferError)
    scene.inner.full = False
    scene.timer.advance(BACKOFF)
    assert scene.times() == [11_000]
    assert scene.producer.counters()["failed"] == 1


@pytest.mark.parametrize(
    ("number", "wanted"),
    [(0, [11_000, 12_000, END]), (3, [START, 11_000, 12_000, END + BACKOFF])],
    ids=["the first", "the last"],
)
def test_a_message_that_does_not_arrive_is_reported_and_sent_again(
    scene: Scene, number: int, wanted: list[int]
) -> None:
    scene.timer.advance([START, 11_000, 12_000, END][number] - 1)
    scene.inner.fails.append("INVALID_RECORD")
    scene.timer.advance(60_000)
    (error,) = scene.errors
    assert "events-0: the control message did not arrive: INVALID_RECORD; a compacted topic" in str(error)
    assert scene.times() == pytest.approx(wanted, abs=100)
    counters = scene.producer.counters()
    assert counters["failed"] == 1
    assert counters["sent"] == counters["acknowledged"] + 1


def test_a_broker_that_does_not_answer_is_asked_again_after_the_backoff(scene: Scene) -> None:
    scene.cluster.error = TimeoutError("no answer")
    scene.timer.advance(START + 3 * BACKOFF)
    assert scene.cluster.requests == 4
    assert scene.times() == []
    scene.cluster.error = None
    scene.timer.advance(60_000)
    assert scene.times() == [START + 4 * BACKOFF]
    assert scene.producer.counters()["unanswered"] == len(scene.errors) == 4
    assert "the end of the partition is unknown: no answer" in str(scene.errors[0])


def test_topics_that_are_not_included_go_by() -> None:
    scene = Scene(CONFIG | {"progress.control.topics.include": "others, more"})
    called: list[Any] = []
    scene.write(NINE, callback=lambda error, message: called.append(message.offset()))
    scene.timer.advance(60_000)
    assert scene.producer.produce_batch("events", [{"value": b"a", "partition": 0}]) == 1
    scene.timer.advance(60_000)
    assert (called, len(scene.entries()), scene.timer.steps) == ([0], 2, 1)


def test_a_key_is_what_the_option_says() -> None:
    scene = Scene(CONFIG | {"progress.control.key": "progress"})
    scene.write(NINE)
    scene.timer.advance(START)
    assert scene.entries()[1].key == b"progress"


def test_a_batch_of_records_is_seen_as_single_ones_are() -> None:
    scene = Scene()
    called: list[Any] = []
    messages = [
        {"value": b"a", "key": b"k", "partition": 0, "timestamp": NINE},
        {"value": b"refused", "partition": 0, "timestamp": NINE + 99_000},
        {"value": b"b", "partition": 1, "timestamp": NINE + 5, "callback": lambda error, message: called.append("own")},
    ]
    assert scene.producer.produce_batch("events", messages, on_delivery=lambda e, m: called.append(m.offset())) == 2
    assert [message.get("_error") for message in messages] == [None, "refused", None]
    assert "callback" not in messages[0]
    scene.timer.advance(START)
    assert (scene.times(0), scene.times(1)) == ([START], [START + 5])
    assert called == [0, "own"]


def test_a_batch_that_raises_is_forgotten(scene: Scene) -> None:
    scene.inner.full = True
    with pytest.raises(BufferError):
        scene.producer.produce_batch("events", [{"value": b"a", "partition": 0}])
    scene.inner.full = False
    scene.timer.advance(START)
    assert scene.times() == [START]


def test_the_callback_of_the_settings_is_called_for_records_without_one() -> None:
    called: list[int] = []
    scene = Scene(CONFIG | {"on_delivery": lambda error, message: called.append(message.offset())})
    scene.write(NINE)
    scene.timer.advance(START)
    assert called == [0]  # and not for the control message


def test_the_wrapper_polls_by_itself() -> None:
    # nobody calls poll or flush: the acknowledgement is seen all the same
    scene = Scene()
    called: list[int] = []
    scene.producer.produce("events", b"v", b"k", 0, timestamp=NINE, callback=lambda e, m: called.append(m.offset()))
    scene.timer.advance(0)
    assert called == [0]
    scene.timer.advance(START)
    assert scene.times() == [START]


def test_what_a_callback_raises_in_poll_is_raised_there() -> None:
    scene = Scene()
    scene.inner.latency = 5
    scene.producer.produce("events", b"v", b"k", 0, callback=lambda e, m: 1 // 0)
    scene.timer.time += 5
    with pytest.raises(ZeroDivisionError):
        scene.producer.poll(0)


def test_what_on_error_raises_is_raised_by_the_next_flush() -> None:
    def fails(error: ProgressError) -> None:
        raise error

    scene = Scene(on_error=fails)
    scene.write(NINE)
    scene.cluster.error = TimeoutError("no answer")
    scene.timer.advance(START)
    with pytest.raises(ProgressError, match="the end of the partition is unknown"):
        scene.producer.flush()


@pytest.mark.parametrize("kind", ["offset", "time"])
def test_records_without_offset_or_time_say_nothing_and_are_counted(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from ..harness import virtual_kafka

    if kind == "offset":
        monkeypatch.setattr(virtual_kafka.Message, "offset", lambda self: -1001)
    else:
        monkeypatch.setattr(virtual_kafka.Message, "timestamp", lambda self: (0, 0))
    scene = Scene()
    scene.write(NINE)
    scene.timer.advance(60_000)
    assert (scene.times(), scene.producer.counters()["untimed"]) == ([], 1)


def test_the_time_of_a_flush_is_that_of_both_producers(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    control = VirtualProducer(scene.broker, "control")
    producer = ProgressProducer(
        scene.inner, CONFIG, control_producer=control, cluster=scene.cluster, timer=VirtualTimer()
    )
    seconds = iter([100.0, 100.0, 103.0, 200.0, 200.0, 209.0])
    monkeypatch.setattr("windrow.kafka._timer.time.monotonic", lambda: next(seconds))
    for given, waits in ((5, [5, 2]), (5, [5, 0]), (-1, [-1, -1])):
        scene.inner.calls.clear()
        control.calls.clear()
        producer.flush(given)
        flushes = [call for call in scene.inner.calls + control.calls if call[0] == "flush"]
        assert [timeout for _, timeout in flushes] == waits


def test_all_else_is_what_the_producer_has() -> None:
    scene = Scene(latency=5)
    assert scene.producer.list_topics("events") == "topics like events"
    assert bool(scene.producer)
    assert len(scene.producer) == 0
    scene.producer.produce("events", b"v", b"k", 0)
    assert len(scene.producer) == 1
    with pytest.raises(AttributeError, match="nonsense"):
        scene.producer.nonsense  # noqa: B018


def test_close_ends_the_thread_and_waits_for_records() -> None:
    scene = Scene(latency=50)
    with scene.producer as producer:
        producer.produce("events", b"v", b"k", 0, timestamp=NINE)
    assert (len(scene.entries()), scene.cluster.is_closed) == (1, True)
    scene.timer.advance(60_000)
    assert scene.times() == []
    assert scene.producer.close() == 0
    with pytest.raises(RuntimeError, match="produce: got a record for a ProgressProducer that is closed"):
        scene.producer.produce("events", b"v")


def test_close_gives_everything_back_also_where_a_callback_fails() -> None:
    scene = Scene(latency=50)
    scene.producer.produce("events", b"v", b"k", 0, callback=lambda e, m: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        scene.producer.close()
    assert scene.cluster.is_closed


def test_idle_it_asks_nobody_anything(scene: Scene) -> None:
    scene.timer.advance(60_000)
    steps, requests = scene.timer.steps, scene.cluster.requests
    scene.timer.advance(10**9)
    assert (scene.timer.steps, scene.cluster.requests, requests) == (steps, requests, 4)
    assert steps < 20


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"producer": object()}, TypeError, r"producer: got .*; allowed: a confluent_kafka.Producer"),
        ({"on_error": 5}, TypeError, "on_error: got 5, an int; allowed: a function of one argument"),
        ({"producer": VirtualProducer}, TypeError, r"producer: got .*; allowed: a confluent_kafka.Producer"),
        ({"control_producer": 5}, TypeError, "control_producer: got 5, an int; allowed: a confluent_kafka.Producer"),
        ({"config": {"on_delivery": 5}}, TypeError, "config: on_delivery: got 5, an int; allowed: a function of an"),
        ({"config": {"bootstrap.servers": 5}, "cluster": None}, TypeError, "bootstrap.servers: got 5, an int; allowed"),
        ({"config": {"progress.control.start.ms": 0}}, ValueError, "start.ms: got 0"),
        ({"config": {}, "cluster": None}, ValueError, "bootstrap.servers: got None; allowed: the brokers"),
    ],
)
def test_wrong_arguments_are_named(given: dict[str, Any], error: type[Exception], message: str) -> None:
    timer = VirtualTimer()
    broker = VirtualBroker(timer)
    defaults: dict[str, Any] = {"producer": VirtualProducer(broker), "config": CONFIG, "timer": timer}
    call: Callable[..., Any] = ProgressProducer
    with pytest.raises(error, match=message):
        call(**({"cluster": VirtualCluster(broker)} | defaults | given))
