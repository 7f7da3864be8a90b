"""`ProgressProducer` in virtual time: what it sends to a quiet partition, when, and when it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from windrow.kafka import ControlMessage, ProgressError, ProgressProducer

from ..harness.virtual_kafka import Entry, VirtualBroker, VirtualCluster, VirtualProducer, VirtualTimer

START, BACKOFF, END = 10_000, 1_000, 13_000
NINE = 1_767_258_000_000  # 2026-01-01 09:00
CONFIG = {
    "progress.control.start.ms": START,
    "progress.control.backoff.ms": BACKOFF,
    "progress.control.end.ms": END,
}


class Scene:
    """A producer, its wrapper, a broker and a clock."""

    def __init__(self, config: dict[str, Any] | None = None, *, latency: int = 0, **given: Any) -> None:
        self.timer = VirtualTimer()
        self.broker = VirtualBroker(self.timer)
        self.cluster = VirtualCluster(self.broker)
        self.inner = VirtualProducer(self.broker, latency=latency)
        self.errors: list[ProgressError] = []
        settings = CONFIG if config is None else config
        given = {"cluster": self.cluster, "timer": self.timer, "on_error": self.errors.append} | given
        self.producer = ProgressProducer(self.inner, settings, **given)

    def write(self, time: int, partition: int = 0, **given: Any) -> None:
        """A record of this producer, acknowledged at once."""
        self.producer.produce("events", b"v", b"k", partition, timestamp=time, **given)
        self.producer.flush()

    def neighbour(self, partition: int = 0, **given: Any) -> None:
        """A record of somebody else."""
        self.broker.append(("events", partition), "neighbour", **given)

    def messages(self, partition: int = 0) -> list[ControlMessage]:
        """The control messages of a partition."""
        sent = [one for one in self.entries(partition) if one.writer != "neighbour" and one.value is None]
        read = [ControlMessage.read(one.value, one.headers) for one in sent if not one.is_marker]
        return [message for message in read if message is not None]

    def entries(self, partition: int = 0) -> list[Entry]:
        return self.broker.log("events", partition)

    def times(self, partition: int = 0) -> list[int]:
        """Their event times, as milliseconds after nine."""
        return [message.event_time - NINE for message in self.messages(partition)]


def test_a_quiet_partition_gets_messages_from_start_to_end() -> None:
    """
    |──── 10 s ────|1 s|1 s|1 s|
    ●              ◇   ◇   ◇   ◇          ● record  ◇ control message
    """
    scene = Scene()
    scene.write(NINE)
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
        "sent": 4, "acknowledged": 4, "failed": 0, "moved": 0, "put_off": 0, "void": 0, "unanswered": 0, "untimed": 0,
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


def test_partitions_have_times_of_their_own() -> None:
    scene = Scene()
    scene.write(NINE, 0)
    scene.timer.advance(3_000)
    scene.write(NINE + 3_600_000, 1)
    scene.timer.advance(START)
    assert scene.times(0) == [START, 11_000, 12_000, END]
    assert scene.times(1) == [3_600_000 + START]


def test_new_data_begins_anew() -> None:
    scene = Scene()
    scene.write(NINE)
    scene.timer.advance(START + BACKOFF)
    scene.write(NINE + 20_000)
    scene.timer.advance(START - 1)
    assert scene.times() == [START, START + BACKOFF]
    scene.timer.advance(1 + END)
    assert scene.times()[2:] == [20_000 + START, 31_000, 32_000, 20_000 + END]


def test_replayed_history_is_not_quiet_and_not_pushed_to_now() -> None:
    # weakness 1 of the proof of concept: there the quiet time is the wall clock less event time, years at once
    scene = Scene()
    for number in range(30):
        scene.write(1 + number * 1_000)
        scene.timer.advance(START - 1)
    assert scene.messages() == []
    scene.timer.advance(1)
    assert [message.event_time for message in scene.messages()] == [29_001 + START]


def test_a_message_is_sent_only_behind_ones_own_last_record() -> None:
    # weakness 2: of two producers on a partition the one that is ahead is quiet
    scene = Scene()
    scene.write(NINE)
    scene.neighbour(timestamp=NINE - 3_600_000)
    scene.timer.advance(60_000)
    assert scene.messages() == []
    assert scene.producer.counters()["moved"] == 1
    scene.write(NINE + 1)
    scene.timer.advance(START)
    assert scene.times() == [1 + START]


def test_a_neighbour_that_writes_between_two_messages_ends_the_cycle() -> None:
    scene = Scene()
    scene.write(NINE)
    scene.timer.advance(START)
    scene.neighbour()
    scene.timer.advance(60_000)
    assert (scene.times(), scene.producer.counters()["moved"]) == ([START], 1)


def test_of_two_producers_the_last_one_to_write_tells_its_own_time() -> None:
    # one is quiet, the other lags by an hour and goes on: nothing makes it later than the first one's records do
    scene = Scene()
    lagging = ProgressProducer(
        VirtualProducer(scene.broker, "lagging"), CONFIG, cluster=scene.cluster, timer=(clock := VirtualTimer())
    )
    scene.write(NINE)
    for number in range(10):
        lagging.produce("events", b"v", None, 0, timestamp=NINE - 3_600_000 + number)
        lagging.flush()
        scene.timer.advance(3_000)
        clock.advance(3_000)
    assert scene.messages() == []
    clock.advance(20_000)
    assert max(scene.times()) == -3_600_000 + 9 + END
    assert max(scene.times()) < 0


@pytest.mark.parametrize("behind", ["marker", "control message", "proof of concept", "damaged"])
def test_what_is_no_data_behind_the_last_record_stops_nothing(behind: str) -> None:
    scene = Scene()
    scene.write(NINE)
    if behind == "marker":
        scene.neighbour(is_marker=True)
    elif behind == "control message":
        scene.neighbour(value=None, headers=ControlMessage(NINE, 0, UUID(int=5)).headers())
    elif behind == "damaged":
        scene.neighbour(value=None, headers=[("windrow.progress", b"cut")])
    else:
        scene.neighbour(value=None, headers=[("control", b"5")])
    scene.timer.advance(END)
    assert scene.times()[-4:] == [START, 11_000, 12_000, END]
    assert scene.cluster.read == 1  # looked at once, and then known


def test_a_tombstone_with_a_key_is_data() -> None:
    scene = Scene()
    scene.write(NINE)
    scene.neighbour(key=b"k", value=None, headers=[("control", b"5")])
    scene.timer.advance(END)
    assert scene.times() == []


def test_a_partition_that_became_shorter_is_not_ours() -> None:
    scene = Scene()
    scene.write(NINE)
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


def test_a_record_that_is_acknowledged_while_the_end_is_asked_for_is_not_lost() -> None:
    # weakness 5: the decision was made for another state, and nothing of the new one is overwritten
    scene = Scene()
    scene.write(NINE)

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


def test_a_record_that_is_produced_while_the_end_is_asked_for_comes_first() -> None:
    scene = Scene()
    scene.write(NINE)

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
    scene.timer.advance(START)
    assert scene.times() == []  # the message itself is in flight
    scene.timer.advance(5_000)
    assert scene.times()[0] == 2 + START


def test_what_is_told_is_never_later_than_a_record_that_may_be_on_its_way() -> None:
    # the partitioner decides where the second record goes: it may be the quiet partition
    scene = Scene()
    scene.write(NINE)
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


def test_a_record_that_fails_is_no_record() -> None:
    scene = Scene()
    scene.write(NINE)
    scene.timer.advance(START - 1)
    scene.inner.fails.append("timed out")
    called: list[Any] = []
    scene.write(NINE + 99_000, on_delivery=lambda error, message: called.append(error))
    assert called == ["timed out"]
    scene.timer.advance(1)
    assert scene.times() == [START]


def test_a_queue_that_is_full_raises_and_forgets_the_record() -> None:
    scene = Scene()
    scene.write(NINE)
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


@pytest.mark.parametrize("number", [0, 3], ids=["the first", "the last"])
def test_a_message_that_does_not_arrive_is_told_and_sent_again(number: int) -> None:
    scene = Scene()
    scene.write(NINE)
    due = [START, 11_000, 12_000, END]
    scene.timer.advance(due[number] - 1)
    scene.inner.fails.append("INVALID_RECORD")
    scene.timer.advance(60_000)
    (error,) = scene.errors
    assert "events-0: the control message did not arrive: INVALID_RECORD; a compacted topic" in str(error)
    wanted = [11_000, 12_000, END] if number == 0 else [START, 11_000, 12_000, END]
    if number == 3:
        assert scene.times()[:3] == wanted[:3]
        assert END + BACKOFF <= scene.times()[3] <= END + BACKOFF + 100
    else:
        assert scene.times() == wanted
    counters = scene.producer.counters()
    assert counters["failed"] == 1
    assert counters["sent"] == counters["acknowledged"] + 1


def test_a_broker_that_does_not_answer_is_asked_again_after_the_backoff() -> None:
    scene = Scene()
    scene.write(NINE)
    scene.cluster.error = TimeoutError("no answer")
    scene.timer.advance(START + 3 * BACKOFF)
    assert scene.cluster.asked == 4
    assert scene.times() == []
    scene.cluster.error = None
    scene.timer.advance(60_000)
    assert scene.times() == [START + 4 * BACKOFF]
    assert scene.producer.counters()["unanswered"] == len(scene.errors) == 4
    assert "nobody told where the partition ends: no answer" in str(scene.errors[0])


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


def test_a_batch_that_raises_is_forgotten() -> None:
    scene = Scene()
    scene.write(NINE)
    scene.inner.full = True
    with pytest.raises(BufferError):
        scene.producer.produce_batch("events", [{"value": b"a", "partition": 0}])
    scene.inner.full = False
    scene.timer.advance(START)
    assert scene.times() == [START]


@pytest.mark.parametrize("name", ["callback", "on_delivery"])
def test_callbacks_of_records_are_called_with_their_records(name: str) -> None:
    scene = Scene()
    called: list[Any] = []
    scene.write(NINE, **{name: lambda error, message: called.append((error, message.offset()))})
    assert called == [(None, 0)]


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


def test_what_a_callback_raises_in_the_thread_is_raised_by_the_next_poll() -> None:
    scene = Scene()

    def fails(error: Any, message: Any) -> None:
        raise KeyError("of the caller")

    scene.producer.produce("events", b"v", b"k", 0, timestamp=NINE, callback=fails)
    scene.timer.advance(START)
    assert scene.times() == [START]  # the thread went on
    with pytest.raises(KeyError, match="of the caller"):
        scene.producer.poll(0)
    scene.producer.poll(0)


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
    with pytest.raises(ProgressError, match="nobody told"):
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


def test_idle_it_asks_nobody_anything() -> None:
    scene = Scene()
    scene.write(NINE)
    scene.timer.advance(60_000)
    steps, asked = scene.timer.steps, scene.cluster.asked
    scene.timer.advance(10**9)
    assert (scene.timer.steps, scene.cluster.asked, asked) == (steps, asked, 4)
    assert steps < 20


def test_a_control_message_never_goes_beyond_the_year_9999() -> None:
    scene = Scene()
    scene.write(253_402_300_799_990)
    scene.timer.advance(60_000)
    assert [message.event_time for message in scene.messages()] == [253_402_300_799_999]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"producer": object()}, TypeError, r"producer: got .*; allowed: a confluent_kafka.Producer"),
        ({"on_error": 5}, TypeError, "on_error: got 5, an int; allowed: a function of one argument"),
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
