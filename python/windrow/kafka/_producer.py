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
from windrow.kafka._written import Deliveries

POLL = 100
"""How often to poll for acknowledgements while records are in flight, in milliseconds."""

COUNTERS = (
    *("sent", "acknowledged", "failed", "moved", "put_off", "void", "unanswered", "out_of_range"),
    *("untimed", "raised"),
)
"""The counters of `ProgressProducer.counters`, in order."""

_UNTIMED = 0  # confluent_kafka.TIMESTAMP_NOT_AVAILABLE


class ProgressProducer:
    """A `confluent_kafka.Producer` that sends control messages to its quiet partitions.

    Use it like the producer: `produce`, `poll`, `flush`, transactions, `len`, and all its other methods. When
    `progress.control.start.ms` have passed since the last acknowledged record of a partition, a thread sends a control
    message to the partition (docs/explanation/stream-time.md). Its time is the largest record time, plus the time since
    that acknowledgement, minus `progress.control.allowance.ms`. The time of a record is its Kafka timestamp: pass event
    time as `timestamp=`. More messages follow until `progress.control.end.ms`. A new record starts over. The producer
    sends no control messages while records for the partition are in flight or in an open transaction, or if another
    producer has written to the partition since: the other one is then responsible for it. It sends none to a partition
    that it has not written to.

    The thread also polls, so callbacks of records may run in it. The next `poll` or `flush` raises their exceptions.
    The thread sleeps until something is due.

    Args:
        producer: a `confluent_kafka.Producer`.
        config: the settings of a client of the same cluster (`bootstrap.servers` and connection settings), used to
            query the ends of partitions, and the options `progress.control.*`. To keep an `on_delivery` of the
            producer, repeat it here.
        control_producer: the producer of control messages. The default is the producer itself, or, if that is
            transactional (`transactional.id`, or `init_transactions` is called), a new one without transactions, made
            from `config`.
        on_error: called with a `ProgressError` for each control message that was not sent or did not arrive.
        cluster: the cluster to query for ends of partitions; by default the one of `config`.
        timer: the clock and the thread; by default the system's.

    Raises:
        TypeError: not a producer, an unknown option, or a value of another type.
        ValueError: an option has a value that is not allowed, or `bootstrap.servers` is missing.
        ImportError: `confluent_kafka` is not installed.

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
        self._transactional = bool(settings.get("transactional.id"))  # the library also treats empty text as none
        self._callbacks = Callbacks(settings.get("on_delivery"))
        self._cluster: Cluster = (
            KafkaCluster(config, timeout=self._options.timeout, committed=False) if cluster is None else cluster
        )
        self._timer: Timer = ThreadTimer("windrow progress") if timer is None else timer
        self._lock = threading.Lock()
        self._deliveries = Deliveries(self._options)
        self._sender = ControlSender(
            options=self._options,
            deliveries=self._deliveries,
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
        """Produces a record, as `confluent_kafka.Producer.produce`, with the same errors.

        Args:
            topic: its topic.
            value: its value.
            key: its key.
            partition: its partition; -1 leaves it to the partitioner.
            callback: called when the record is acknowledged or has failed.
            on_delivery: the same under another name.
            timestamp: its event time in milliseconds; 0 for the time now.
            headers: its headers.

        Raises:
            RuntimeError: the producer is closed.
        """
        self._check_open()
        delivered = self._callbacks.of(callback, on_delivery)
        arguments: dict[str, Any] = {"value": value, "key": key, "partition": partition}
        if timestamp:
            arguments["timestamp"] = timestamp
        if headers is not None:
            arguments["headers"] = headers
        if not self._options.includes(topic):
            if delivered is not None:
                arguments["on_delivery"] = partial(self._callbacks.call, delivered)
            self._producer.produce(topic, **arguments)
            return
        number = self._depart(topic, partition, timestamp)
        arguments["on_delivery"] = partial(self._on_delivery, number, delivered)
        try:
            self._producer.produce(topic, **arguments)
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
        """Produces records, as `confluent_kafka.Producer.produce_batch`. Returns how many it accepted.

        Raises:
            RuntimeError: the producer is closed.
        """
        self._check_open()
        delivered = self._callbacks.of(callback, on_delivery)
        are_messages = isinstance(messages, list) and all(isinstance(message, dict) for message in messages)
        if not are_messages or not self._options.includes(topic):  # the library reports bad messages itself
            arguments = {"on_delivery": partial(self._callbacks.call, delivered)} if delivered is not None else {}
            return int(self._producer.produce_batch(topic, messages, partition=partition, **arguments))
        numbers, copies = list[int](), list[dict[str, Any]]()
        for message in messages:
            number = self._depart(topic, message.get("partition", partition), message.get("timestamp", 0))
            numbers.append(number)
            of_message = message.get("callback")
            copies.append(
                message
                | {"callback": partial(self._on_delivery, number, delivered if of_message is None else of_message)}
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
        """Serves callbacks, as `confluent_kafka.Producer.poll`.

        Raises:
            BaseException: an exception of a callback, here or in the thread.
        """
        self._raise()
        return int(self._producer.poll(timeout))

    def flush(self, timeout: float = -1) -> int:
        """Waits until all records and control messages are acknowledged. Returns how many are left at the timeout.

        Raises:
            BaseException: an exception of a callback, here or in the thread.
        """
        left = self._flush(Deadline(timeout))
        self._raise()
        return left

    def init_transactions(self, *args: Any) -> None:
        """As `confluent_kafka.Producer.init_transactions`. From now on control messages use a separate producer."""
        self._producer.init_transactions(*args)
        self._begin_transactions()

    def begin_transaction(self, *args: Any) -> None:
        """As `confluent_kafka.Producer.begin_transaction`."""
        self._producer.begin_transaction(*args)
        self._begin_transactions()

    def commit_transaction(self, *args: Any) -> None:
        """As `confluent_kafka.Producer.commit_transaction`. Control messages may now send the records' times.

        Raises:
            BaseException: an exception of a callback; the transaction is committed anyway.
        """
        with self._callbacks.held():
            self._producer.commit_transaction(*args)
        with self._lock:
            self._deliveries.commit(self._timer.now())
        self._timer.wake()
        self._raise()

    def abort_transaction(self, *args: Any) -> None:
        """As `confluent_kafka.Producer.abort_transaction`. Control messages never send the records' times.

        Raises:
            BaseException: an exception of a callback; the transaction is aborted anyway.
        """
        with self._callbacks.held():
            self._producer.abort_transaction(*args)
        with self._lock:
            self._deliveries.abort(self._timer.now())
        self._timer.wake()
        self._raise()

    def counters(self) -> dict[str, int]:
        """The counters of control messages so far.

        Returns:
            Messages: `sent`, `acknowledged` and `failed`. Checks that sent no message: `moved` (another producer has
            written), `put_off` (a transaction was open, records were in flight, or there was no new time), `void` (a
            record was acknowledged during the check), `unanswered` (no broker answered) and `out_of_range` (the time
            is before 1970 or after the year 9999). Also `untimed`, acknowledged records without offset (`acks=0`) or
            time, which are ignored; and `raised`, callbacks that raised in the thread.
        """
        with self._lock:
            counted = self._deliveries.counters | Counter(raised=self._callbacks.raised)
            return {name: counted[name] for name in COUNTERS}

    def close(self, timeout: float = -1) -> int:
        """Ends the thread and waits for all records. Returns how many are left at the timeout.

        Sends no more control messages. The given producer stays open.

        Raises:
            BaseException: the first exception of a callback; `close` has still waited for all records.
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
        """Returns this producer."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Closes the producer."""
        self.close()

    def __len__(self) -> int:
        """The number of records and control messages in queues."""
        return len(self._producer) + len(self._sender)

    def __bool__(self) -> bool:
        """True, even if the queue is empty."""
        return True

    def __getattr__(self, name: str) -> Any:
        """Other attributes come from the producer."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._producer, name)

    def _begin_transactions(self) -> None:
        self._transactional = True
        self._sender.separate()

    def _flush(self, deadline: Deadline) -> int:
        """Waits for the records, and for control messages of a separate producer."""
        left = int(self._producer.flush(deadline.left()))
        return left + self._sender.flush(deadline.left())

    def _raise(self) -> None:
        """Raises the oldest exception of a callback in the thread, if any."""
        raised = self._callbacks.take()
        if raised is not None:
            raise raised

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("produce: got a record for a ProgressProducer that is closed; allowed: before close()")

    def _depart(self, topic: str, partition: object, timestamp: object) -> int:
        """Notes a record that goes out and returns its number. The thread polls for its acknowledgement.

        Ignores a partition or time that is not a number: the library then refuses the record.
        """
        place = partition if isinstance(partition, int) and partition >= 0 else None
        time = timestamp if isinstance(timestamp, int) and timestamp else self._timer.wall_clock()
        with self._lock:
            is_first = not self._deliveries.has_flights
            number = self._deliveries.depart(topic, place, time)
        if is_first:
            self._timer.wake()
        return number

    def _arrive(self, numbers: list[int]) -> None:
        """Removes records that the library did not accept."""
        with self._lock:
            for number in numbers:
                self._deliveries.arrive(number)

    def _on_delivery(self, number: int, delivered: Delivered | None, error: Any, message: Any) -> None:
        """Handles a record that was acknowledged or has failed."""
        with self._lock:
            self._deliveries.arrive(number)
            if error is None:
                self._note_record(message)
        if delivered is not None:
            self._callbacks.call(delivered, error, message)

    def _note_record(self, message: Any) -> None:
        """Handles a record that is now in a partition. The thread is already awake and sees it in its next step."""
        now, offset, (kind, at) = self._timer.now(), message.offset(), message.timestamp()
        if offset is None or offset < 0 or kind == _UNTIMED:
            self._deliveries.counters["untimed"] += 1
        elif self._transactional:
            self._deliveries.hold((message.topic(), message.partition()), offset, at, now)
        else:
            self._deliveries.acknowledge((message.topic(), message.partition()), offset, at, now)

    def _step(self) -> int | None:
        """Serves callbacks and sends due messages. Returns how long to wait, or None to wait for a wake-up."""
        try:
            with self._lock:
                serves = self._deliveries.in_flight > 0
            if serves:
                self._producer.poll(0)
                self._sender.poll()
            self._sender.send()
        except BaseException as error:  # from a callback or the library: the thread continues
            self._callbacks.keep(error)
        now = self._timer.now()
        with self._lock:
            due = self._deliveries.next_due()
            waits = [POLL] if self._deliveries.in_flight else []
            waits += [max(due - now, 1)] if due is not None else []
        return min(waits, default=None)


def _check_producer(name: str, producer: object) -> None:
    """Raises `TypeError` unless an argument is a producer, not the class itself."""
    if isinstance(producer, type) or not all(hasattr(producer, call) for call in ("produce", "poll", "flush")):
        raise bad_type(name, producer, "a confluent_kafka.Producer")
