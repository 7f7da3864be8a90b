"""The wrapper around a real client: what callbacks raise, what is refused; the broker is that of librdkafka."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Producer

from windrow.kafka import ProgressProducer
from windrow.kafka._callbacks import KEPT, Callbacks

from . import scene
from .scene import DEADLINE, NINE

OPTIONS = {"progress.control.start.ms": 20, "progress.control.backoff.ms": 20, "progress.control.end.ms": 60_000}


@pytest.fixture
def settings(bootstrap: str) -> dict[str, Any]:
    return {"bootstrap.servers": bootstrap, "log_level": 0}


def wait_for(producer: ProgressProducer, counter: str, count: int = 1) -> None:
    """Waits until a counter has come so far."""
    scene.wait_for(lambda: producer.counters()[counter] >= count)


def ends_the_program(error: Any, message: Any) -> None:
    raise SystemExit(3)


def divides_by_zero(error: Any, message: Any) -> None:
    message.offset() // 0


@pytest.mark.parametrize(
    ("callback", "raised"),
    [(ends_the_program, SystemExit), (divides_by_zero, ZeroDivisionError), (5, TypeError)],
    ids=["exit", "division", "no function"],
)
def test_what_a_callback_raises_in_the_thread_is_raised_by_poll_and_the_thread_continues(
    settings: dict[str, Any], callback: Any, raised: type[BaseException]
) -> None:
    with ProgressProducer(Producer(settings), settings | OPTIONS) as producer:
        producer.produce("raised", b"v", b"k", 0, timestamp=NINE, callback=callback)
        wait_for(producer, "raised")
        wait_for(producer, "acknowledged", 3)
        with pytest.raises(raised):
            producer.poll(0)
        producer.poll(0)
        assert producer.counters()["raised"] == 1


def test_close_waits_for_all_records_also_where_callbacks_raise(settings: dict[str, Any]) -> None:
    inner = Producer(settings | {"linger.ms": 200})
    producer = ProgressProducer(inner, settings | OPTIONS)
    seen: list[int] = []

    def fails(error: Any, message: Any) -> None:
        seen.append(message.offset())
        raise LookupError(str(message.offset()))

    producer.produce("first", b"v", b"k", 0, timestamp=NINE, callback=fails)
    wait_for(producer, "raised")
    for _ in range(5):
        producer.produce("rest", b"v", b"k", 0, timestamp=NINE, callback=fails)
    with pytest.raises(LookupError, match="0"):
        producer.close()
    assert (seen, len(inner)) == ([0, 0, 1, 2, 3, 4], 0)


def test_a_transaction_whose_callbacks_raise_is_committed_all_the_same(settings: dict[str, Any]) -> None:
    given = settings | {"transactional.id": "raises"}
    with ProgressProducer(Producer(given), given | OPTIONS) as producer:
        producer.init_transactions(DEADLINE)
        producer.begin_transaction()
        producer.produce("committed", b"v", b"k", 0, timestamp=NINE, callback=divides_by_zero)
        with pytest.raises(ZeroDivisionError):
            producer.commit_transaction(DEADLINE)
        wait_for(producer, "acknowledged", 2)


def test_exceptions_that_nobody_takes_are_counted_and_not_kept_for_ever() -> None:
    callbacks = Callbacks(None)
    for number in range(KEPT + 5):
        callbacks.keep(KeyError(number))
    taken = [callbacks.take() for _ in range(KEPT + 1)]
    assert [error.args[0] for error in taken if error is not None] == list(range(KEPT))
    assert (taken[-1], callbacks.raised) == (None, KEPT + 5)


@pytest.mark.parametrize("place", ["callback", "on_delivery", "settings", "message"])
def test_a_callback_that_is_false_is_called(settings: dict[str, Any], place: str) -> None:
    class Calls(list[Any]):
        """An empty list is false."""

        def __call__(self, error: Any, message: Any) -> None:
            self.append(error)

    calls = Calls()
    given = settings | OPTIONS | ({"on_delivery": calls} if place == "settings" else {})
    with ProgressProducer(Producer(settings), given) as producer:
        if place == "message":
            producer.produce_batch("false", [{"value": b"v", "partition": 0, "callback": calls}])
        else:
            producer.produce("false", b"v", b"k", 0, **({} if place == "settings" else {place: calls}))
        producer.flush(DEADLINE)
    assert calls == [None]


def test_an_empty_transactional_id_is_none(settings: dict[str, Any]) -> None:
    given = settings | {"transactional.id": ""}
    with ProgressProducer(Producer(given), given | OPTIONS) as producer:
        producer.produce("plain", b"v", b"k", 0, timestamp=NINE)
        wait_for(producer, "acknowledged")


def test_transactions_that_are_refused_change_nothing(settings: dict[str, Any]) -> None:
    with ProgressProducer(Producer(settings), settings | OPTIONS) as producer:
        for call in (producer.init_transactions, producer.begin_transaction):
            with pytest.raises(Exception, match="transactional"):
                call()
        producer.produce("refused", b"v", b"k", 0, timestamp=NINE)
        wait_for(producer, "acknowledged")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"partition": None}, "'NoneType' object cannot be interpreted as an integer"),
        ({"partition": "0"}, "'str' object cannot be interpreted as an integer"),
        ({"timestamp": "5"}, "'str' object cannot be interpreted as an integer"),
    ],
)
def test_what_is_no_number_is_refused_by_the_library(
    settings: dict[str, Any], given: dict[str, Any], message: str
) -> None:
    with ProgressProducer(Producer(settings), settings | OPTIONS) as producer:
        with pytest.raises(TypeError, match=message):
            producer.produce("numbers", b"v", b"k", **given)
        producer.produce("numbers", b"v", b"k", 0, timestamp=NINE)
        wait_for(producer, "acknowledged")  # nothing waits for the record that was refused


@pytest.mark.parametrize(
    ("messages", "message"),
    [(None, "messages must be a list"), ([5], "must be a dict"), ([{"partition": "x"}], "int|integer")],
)
def test_batches_that_are_none_are_refused_by_the_library(
    settings: dict[str, Any], messages: Any, message: str
) -> None:
    with ProgressProducer(Producer(settings), settings | OPTIONS) as producer:
        with pytest.raises(TypeError, match=message):
            producer.produce_batch("batches", messages)
        assert len(producer) == 0
