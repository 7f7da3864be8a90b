"""Sends a producer's control messages after it has checked the ends of partitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any
from uuid import UUID, uuid4

from windrow.kafka._callbacks import Callbacks, Delivered
from windrow.kafka._cluster import Cluster, Ends, TopicPartition
from windrow.kafka._control import ControlMessage, is_control
from windrow.kafka._library import confluent_kafka
from windrow.kafka._options import ProgressOptions
from windrow.kafka._timer import Timer
from windrow.kafka._written import Claim, Deliveries

_OF_RECORDS = ("transactional.id", "transaction.timeout.ms", "on_delivery")


class ProgressError(RuntimeError):
    """A control message that was not sent or did not arrive. The producer tries again after the backoff.

    Attributes:
        partition: the target partition.
        cause: an exception, or a `confluent_kafka.KafkaError`.
    """

    def __init__(self, partition: TopicPartition, what: str, cause: object) -> None:
        """`what` describes the failed step in words."""
        hint = ""
        if "INVALID_RECORD" in str(cause):
            hint = "; a compacted topic takes no record without a key: set progress.control.key"
        super().__init__(f"{partition}: {what}: {cause}{hint}")
        self.partition = partition
        self.cause = cause


def produce(
    producer: Any, partition: TopicPartition, message: ControlMessage, options: ProgressOptions, delivered: Delivered
) -> None:
    """Produces a control message; `delivered` is called when it is acknowledged or has failed."""
    producer.produce(
        partition.topic,
        value=None,
        key=options.key,
        partition=partition.partition,
        timestamp=message.event_time,
        headers=message.headers(),
        on_delivery=delivered,
    )


@dataclass(eq=False, kw_only=True, repr=False)
class ControlSender:
    """Sends the messages that are due, through the producer of the records until `separate` is called.

    `lock` guards the deliveries.

    ```text
     due ──▶ claim ──▶ where does the partition end? ──┬─ behind this producer's last record ──▶ void? ──▶ send
              (lock)         (no lock)                 └─ with data of somebody else: not ours     (lock)
    ```
    """

    options: ProgressOptions
    deliveries: Deliveries
    lock: Lock
    cluster: Cluster
    timer: Timer
    producer: Any
    settings: Mapping[str, Any]
    on_error: Callable[[ProgressError], None] | None
    callbacks: Callbacks
    _is_separate: bool = field(default=False, init=False)
    _is_own: bool = field(default=False, init=False)
    _producer_id: UUID = field(default_factory=uuid4, init=False)

    def separate(self, producer: Any = None) -> None:
        """Sends through another producer from now on. Without one, creates it from the settings."""
        if self._is_separate:
            return
        if producer is None:
            settings = {name: value for name, value in self.settings.items() if name not in _OF_RECORDS}
            producer = confluent_kafka().Producer(settings)
            self._is_own = True
        self.producer, self._is_separate = producer, True

    def poll(self) -> None:
        """Serves the callbacks of control messages."""
        if self._is_separate:
            self.producer.poll(0)

    def flush(self, timeout: float) -> int:
        """Waits until control messages of a separate producer are acknowledged."""
        return int(self.producer.flush(timeout)) if self._is_separate else 0

    def close(self) -> None:
        """Closes a producer created here, if the library supports it and its queue is empty."""
        if self._is_own and not len(self.producer) and hasattr(self.producer, "close"):
            self.producer.close()

    def __len__(self) -> int:
        """The number of control messages in the queue of a separate producer."""
        return len(self.producer) if self._is_separate else 0

    def send(self) -> None:
        """Sends due control messages to partitions where this producer was the last to write."""
        now = self.timer.now()
        with self.lock:
            claims = self.deliveries.claims(now)
        if not claims:
            return
        try:
            ends = self.cluster.ends([claim.partition for claim in claims])
        except Exception as error:
            ends = dict.fromkeys((claim.partition for claim in claims), error)
        for claim in claims:
            try:
                end = ends[claim.partition]
                if isinstance(end, Exception):
                    raise end
                is_last = self._is_last(claim, end)
            except Exception as error:
                self._unanswered(claim, error)
            else:
                self._decide(claim, end, is_last)

    def _is_last(self, claim: Claim, end: Ends) -> bool:
        """Whether no foreign data follows this producer's last record. Markers and control messages may follow."""
        start = claim.end if claim.end <= end.high else claim.newest
        if end.high < start:
            return False
        behind = self.cluster.records(claim.partition, start, end.high)
        return all(is_control(record.key, record.value, record.headers) for record in behind)

    def _decide(self, claim: Claim, end: Ends, is_last: bool) -> None:
        now = self.timer.now()
        failed: Exception | None = None
        with self.lock:
            counters, written = self.deliveries.counters, self.deliveries[claim.partition]
            if self.deliveries.is_void(claim):
                counters["void"] += 1
                written.put_off(now)
                return
            if not is_last:
                counters["moved"] += 1
                written.stop()
                return
            written.end = end.high
            if self.deliveries.is_out_of_range(claim, now):
                counters["out_of_range"] += 1
                written.sent(now)
                return
            time = self.deliveries.time_to_send(claim, now) if end.stable == end.high else None
            if time is None:
                counters["put_off"] += 1
                written.put_off(now)
                return
            # The lock ensures that any record produced from now on comes after the message.
            try:
                message = ControlMessage(time, written.sequence, self._producer_id)
                produce(self.producer, claim.partition, message, self.options, partial(self._on_delivery, claim, time))
            except Exception as error:
                failed = error
                counters["failed"] += 1
                written.put_off(now)
            else:
                counters["sent"] += 1
                written.sequence += 1
                written.is_ticking = True
                written.sent(now)
        if failed is not None:
            self._report(ProgressError(claim.partition, "the control message was not sent", failed))

    def _on_delivery(self, claim: Claim, time: int, error: Any, message: Any) -> None:
        """Handles a control message that was acknowledged or has failed."""
        now = self.timer.now()
        with self.lock:
            written = self.deliveries[claim.partition]
            written.is_ticking = False
            if error is None:
                self.deliveries.counters["acknowledged"] += 1
                written.sent_time = max(written.sent_time, time)
                if message.offset() == written.end:  # else another record is in between; the next check sees it
                    written.end += 1
            else:
                self.deliveries.counters["failed"] += 1
                if written.version == claim.version:
                    written.retry(now)
        if error is not None:
            self._report(ProgressError(claim.partition, "the control message did not arrive", error))

    def _unanswered(self, claim: Claim, error: Exception) -> None:
        now = self.timer.now()
        with self.lock:
            self.deliveries.counters["unanswered"] += 1
            self.deliveries[claim.partition].put_off(now)
        self._report(ProgressError(claim.partition, "the end of the partition is unknown", error))

    def _report(self, error: ProgressError) -> None:
        if self.on_error is not None:
            self.callbacks.call(self.on_error, error)
