"""A producer that sends event time while it has no records to send."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Self

from windrow._arguments.errors import bad_type
from windrow.kafka._callbacks import Callbacks, Delivered
from windrow.kafka._cluster import Cluster, KafkaCluster
from windrow.kafka._options import ProgressOptions, client_settings
from windrow.kafka._sender import ControlSender, ProgressError
from windrow.kafka._timer import Deadline, ThreadTimer, Timer
from windrow.kafka._written import Ledger

POLL = 100
"""How often acknowledgements are asked for while there are records in flight, in milliseconds."""

COUNTERS = (
    *("sent", "acknowledged", "failed", "moved", "put_off", "void", "unanswered", "out_of_range"),
    *("untimed", "raised"),
)
"""What `ProgressProducer.counters` counts, in its order."""

_UNTIMED = 0  # confluent_kafka.TIMESTAMP_NOT_AVAILABLE


class ProgressProducer:
    """A `confluent_kafka.Producer` that sends control messages to partitions that it has left quiet.

    Use it like the producer: `produce`, `poll`, `flush`, transactions, `len`, and all its other methods. When the last
    record of a partition was acknowledged `progress.control.start.ms` ago, a thread sends a control message to the
    partition (docs/stream-time.md). Its time is the largest time of the records, plus the time since that
    acknowledgement, less `progress.control.allowance.ms`. The time of a record is that of Kafka: pass event time as
    `timestamp=`. More messages follow until `progress.control.end.ms`; a record starts over. Nothing is sent while
    records for the partition are in flight or in an open transaction. Nothing is sent either if another producer has
    written to the partition since, because that one is then responsible for it. A partition that this producer has not
    written to gets nothing.

    The thread also polls, so callbacks of records may run in it. The next `poll` or `flush` raises their exceptions.
    The thread sleeps until something is due.

    Args:
        producer: a `confluent_kafka.Producer`.
        config: the settings of a client of the same cluster (`bootstrap.servers` and what a connection needs), which
            asks for the ends of partitions, and the options of control messages, `progress.control.*`. An `on_delivery`
            of the producer is called for its records if it is here, too.
        control_producer: the producer of control messages; by default the producer itself, or, if that is transactional
            (`transactional.id`, or `init_transactions` is called), one without transactions, made of `config`.
        on_error: called with a `ProgressError` for each control message that was not sent or did not arrive.
        cluster: the cluster that is asked for ends of partitions, by default that of `config`.
        timer: the clock and the thread, by default the system's.

    Raises:
        TypeError: no producer, or an option that is unknown or has a value of another type.
        ValueError: a value of an option that is not allowed, or settings without `bootstrap.servers`.
        ImportError: there is no `confluent_kafka`.

    Source: Kafka's `Producer`; the progress control of `poc-apache-kafka`, whose options have the same names.

    >>> from confluent_kafka import Producer
    >>> settings = {"bootstrap.servers": "localhost:9092"}
    >>> options = {"progress.control.start.ms": 5_000, "progress.control.end.ms": 600_000}
    >>> with ProgressProducer(Producer(settings), settings | options) as producer:
    ...     producer.counters()["sent"]
    0
    """

    def __init__(
        self,
        producer: Any,
        config: Mapping[str, object],
        *,
        control_producer: Any = None,
        on_error: Callable[[ProgressError], None] | None = None,
        cluster: Cluster | None = None,
        timer: Timer | None = None,
    ) -> None:
        """Starts the thread."""
        _check_producer("producer", producer)
        if control_producer is not None:
            _check_producer("control_producer", control_producer)
        if on_error is not None and not callable(on_error):
            raise bad_type("on_error", on_error, "a function of one argument, a ProgressError")
        self._options = ProgressOptions.of(config)
        settings = client_settings(config)
        self._producer = producer
        self._transactional = bool(settings.get("transactional.id"))  # empty text is none, to the library too
        self._callbacks = Callbacks(settings.get("on_delivery"))
        self._cluster: Cluster = (
            KafkaCluster(config, timeout=self._options.timeout, committed=False) if cluster is None else cluster
        )
        self._timer: Timer = ThreadTimer("windrow progress") if timer is None else timer
        self._lock = threading.Lock()
        self._ledger = Ledger(self._options)
        self._sender = ControlSender(
            options=self._options,
            ledger=self._ledger,
            lock=self._lock,
            cluster=self._cluster,
            timer=self._timer,
            producer=producer,
            settings=settings,
            on_error=on_error,
            callbacks=self._callbacks,
        )
        if self._transactional or control_producer is not None:
            self._sender.separate(control_producer)
        self._closed = False
        self._timer.start(self._step)

    def produce(  # noqa: PLR0917 - the library's own order
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int = -1,
        callback: Delivered | None = None,
        on_delivery: Delivered | None = None,
        timestamp: int = 0,
        headers: Any = None,
    ) -> None:
        """Produces a record, as `confluent_kafka.Producer.produce` does, and with its errors.

        Args:
            topic: where it goes.
            value: its value.
            key: its key.
            partition: its partition; -1 leaves it to the partitioner.
            callback: called when it was acknowledged, or never will be.
            on_delivery: the same under another name.
            timestamp: its event time in milliseconds; 0 for the time now.
            headers: its headers.

        Raises:
            RuntimeError: the producer is closed.
        """
        self._check_open()
        delivered = self._callbacks.of(callback, on_delivery)
        given: dict[str, Any] = {"value": value, "key": key, "partition": partition}
        if timestamp:
            given["timestamp"] = timestamp
        if headers is not None:
            given["headers"] = headers
        if not self._options.includes(topic):
            if delivered is not None:
                given["on_delivery"] = partial(self._callbacks.call, delivered)
            self._producer.produce(topic, **given)
            return
        number = self._depart(topic, partition, timestamp)
        given["on_delivery"] = partial(self._settled, number, delivered)
        try:
            self._producer.produce(topic, **given)
        except BaseException:
            self._arrive([number])
            raise

    def produce_batch(
        self,
        topic: str,
        messages: list[dict[str, Any]],
        partition: int = -1,
        callback: Delivered | None = None,
        on_delivery: Delivered | None = None,
    ) -> int:
        """Produces records, as `confluent_kafka.Producer.produce_batch` does; how many it took.

        Raises:
            RuntimeError: the producer is closed.
        """
        self._check_open()
        delivered = self._callbacks.of(callback, on_delivery)
        are_messages = isinstance(messages, list) and all(isinstance(message, dict) for message in messages)
        if not are_messages or not self._options.includes(topic):  # what is none the library refuses in its words
            given = {"on_delivery": partial(self._callbacks.call, delivered)} if delivered is not None else {}
            return int(self._producer.produce_batch(topic, messages, partition=partition, **given))
        numbers, copies = list[int](), list[dict[str, Any]]()
        for message in messages:
            number = self._depart(topic, message.get("partition", partition), message.get("timestamp", 0))
            numbers.append(number)
            of_message = message.get("callback")
            copies.append(
                message | {"callback": partial(self._settled, number, delivered if of_message is None else of_message)}
            )
        try:
            count = int(self._producer.produce_batch(topic, copies, partition=partition))
        except BaseException:
            self._arrive(numbers)
            raise
        refused = [position for position, copy in enumerate(copies) if "_error" in copy]
        for position in refused:
            messages[position]["_error"] = copies[position]["_error"]
        self._arrive([numbers[position] for position in refused])
        return count

    def poll(self, timeout: float = -1) -> int:
        """Serves callbacks, as `confluent_kafka.Producer.poll` does.

        Raises:
            BaseException: what a callback raised, here or in the thread.
        """
        self._raise()
        return int(self._producer.poll(timeout))

    def flush(self, timeout: float = -1) -> int:
        """Waits until all records are acknowledged, control messages too; how many are not, when time is up.

        Raises:
            BaseException: what a callback raised, here or in the thread.
        """
        left = self._flush(Deadline(timeout))
        self._raise()
        return left

    def init_transactions(self, *args: Any) -> None:
        """As `confluent_kafka.Producer.init_transactions`; control messages then have a producer of their own."""
        self._producer.init_transactions(*args)
        self._begin_transactions()

    def begin_transaction(self, *args: Any) -> None:
        """As `confluent_kafka.Producer.begin_transaction`."""
        self._producer.begin_transaction(*args)
        self._begin_transactions()

    def commit_transaction(self, *args: Any) -> None:
        """As `confluent_kafka.Producer.commit_transaction`; from here on the records' times are sent.

        Raises:
            BaseException: what a callback raised meanwhile; the transaction is committed all the same.
        """
        with self._callbacks.held():
            self._producer.commit_transaction(*args)
        with self._lock:
            self._ledger.commit(self._timer.now())
        self._timer.wake()
        self._raise()

    def abort_transaction(self, *args: Any) -> None:
        """As `confluent_kafka.Producer.abort_transaction`; the records' times are never sent.

        Raises:
            BaseException: what a callback raised meanwhile; the transaction is aborted all the same.
        """
        with self._callbacks.held():
            self._producer.abort_transaction(*args)
        with self._lock:
            self._ledger.abort(self._timer.now())
        self._timer.wake()
        self._raise()

    def counters(self) -> dict[str, int]:
        """What became of control messages so far.

        Returns:
            `sent`, `acknowledged` and `failed` messages; checks that sent none: `moved`, as somebody else has written,
            `put_off`, as a transaction was open, records were in flight, or there was nothing new to tell, `void`, as
            a record was acknowledged meanwhile, `unanswered`, as no broker answered, `out_of_range`, as the time is
            before 1970 or after the year 9999; `untimed`, acknowledged records without offset (`acks=0`) or time,
            which say nothing; and `raised`, calls in the thread of a callback that raised.
        """
        with self._lock:
            counted = self._ledger.counters | Counter(raised=self._callbacks.raised)
            return {name: counted[name] for name in COUNTERS}

    def close(self, timeout: float = -1) -> int:
        """Ends the thread and waits for all records; how many are left, when time is up.

        Nothing is sent any more. The producer that was given stays open.

        Raises:
            BaseException: what a callback raised, the first where there were several; all records were waited for.
        """
        if self._closed:
            return 0
        self._closed = True
        self._timer.stop()
        try:
            with self._callbacks.held():
                left = self._flush(Deadline(timeout))
        finally:
            self._sender.close()
            self._cluster.close()
        self._raise()
        return left

    def __enter__(self) -> Self:
        """The producer."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Closes."""
        self.close()

    def __len__(self) -> int:
        """How many records and control messages wait in queues."""
        return len(self._producer) + len(self._sender)

    def __bool__(self) -> bool:
        """A producer without records in its queue is one, too."""
        return True

    def __getattr__(self, name: str) -> Any:
        """What the producer has."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._producer, name)

    def _begin_transactions(self) -> None:
        self._transactional = True
        self._sender.separate()

    def _flush(self, deadline: Deadline) -> int:
        """Waits for the records, and for control messages that have a producer of their own."""
        left = int(self._producer.flush(deadline.left()))
        return left + self._sender.flush(deadline.left())

    def _raise(self) -> None:
        """Raises what callbacks raised in the thread."""
        raised = self._callbacks.take()
        if raised is not None:
            raise raised

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("produce: got a record for a ProgressProducer that is closed; allowed: before close()")

    def _depart(self, topic: str, partition: object, timestamp: object) -> int:
        """A record goes out; its number. The thread asks for what becomes of it.

        Numbers that are none are left to the library, which refuses the record next.
        """
        place = partition if isinstance(partition, int) and partition >= 0 else None
        time = timestamp if isinstance(timestamp, int) and timestamp else self._timer.wall_clock()
        with self._lock:
            is_first = not self._ledger.has_flights
            number = self._ledger.depart(topic, place, time)
        if is_first:
            self._timer.wake()
        return number

    def _arrive(self, numbers: list[int]) -> None:
        """These records were not taken."""
        with self._lock:
            for number in numbers:
                self._ledger.arrive(number)

    def _settled(self, number: int, delivered: Delivered | None, error: Any, message: Any) -> None:
        """A record was acknowledged, or never will be."""
        with self._lock:
            self._ledger.arrive(number)
            if error is None:
                self._stands(message)
        if delivered is not None:
            self._callbacks.call(delivered, error, message)

    def _stands(self, message: Any) -> None:
        """A record is in a partition; the thread, which was woken when it went out, sees that at its next look."""
        now, offset, (kind, at) = self._timer.now(), message.offset(), message.timestamp()
        if offset is None or offset < 0 or kind == _UNTIMED:
            self._ledger.counters["untimed"] += 1
        elif self._transactional:
            self._ledger.hold((message.topic(), message.partition()), offset, at, now)
        else:
            self._ledger.acknowledge((message.topic(), message.partition()), offset, at, now)

    def _step(self) -> int | None:
        """Serves callbacks and sends what is due; how long to wait, None for until something happens."""
        try:
            with self._lock:
                serves = self._ledger.in_flight > 0
            if serves:
                self._producer.poll(0)
                self._sender.poll()
            self._sender.send()
        except BaseException as error:  # a callback's, or one of the library: the thread goes on
            self._callbacks.keep(error)
        now = self._timer.now()
        with self._lock:
            due = self._ledger.next_due()
            waits = [POLL] if self._ledger.in_flight else []
            waits += [max(due - now, 1)] if due is not None else []
        return min(waits, default=None)


def _check_producer(name: str, producer: object) -> None:
    """Whether an argument is a producer, and not its class."""
    if isinstance(producer, type) or not all(hasattr(producer, call) for call in ("produce", "poll", "flush")):
        raise bad_type(name, producer, "a confluent_kafka.Producer")
