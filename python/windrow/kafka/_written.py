"""What a producer knows about the partitions that it writes to. Times are milliseconds.

```text
 produce ──▶ in flight ──acknowledged──▶ written: largest event time, quiet since, own end ──due──▶ control message
                              │                ▲
                              └▶ uncommitted ──┘  (of a transaction that is open)
```
This module knows no threads, clocks or brokers.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from windrow.kafka._cluster import TopicPartition
from windrow.kafka._control import LATEST
from windrow.kafka._options import ProgressOptions
from windrow.kafka._schedule import QuietPartition


class Flight(NamedTuple):
    """A record that is not acknowledged yet.

    Attributes:
        topic: its topic.
        partition: its partition if the caller chose it; None leaves it to the partitioner.
        event_time: its time.
    """

    topic: str
    partition: int | None
    event_time: int


class WrittenPartition(QuietPartition):
    """A partition that this producer has written to.

    Attributes:
        end: the offset after this producer's last record or control message.
        newest: the offset after the last acknowledged record; less than `end` if the topic was recreated.
        version: increases with every change of these and of its records; a decision for an older version is void.
        is_ticking: whether a control message is in flight.
        uncommitted: (offset, event time) of the records of an open transaction.
    """

    def __init__(self, options: ProgressOptions, now: int) -> None:
        """A partition without records, which needs no control message."""
        super().__init__(options.schedule, now, options.allowance)
        self.stop()
        self.end = self.newest = self.version = 0
        self.is_ticking = False
        self.uncommitted: list[tuple[int, int]] = []


class Claim(NamedTuple):
    """A control message that is due unless another producer has written to the partition.

    Attributes:
        partition: its partition.
        version: the partition's version at the time of the claim.
        end: the offset after this producer's last record.
        newest: the same for a recreated topic, whose partition is shorter than `end`.
    """

    partition: TopicPartition
    version: int
    end: int
    newest: int


class Deliveries:
    """Tracks the records of one producer, from `produce` to the event time of their partitions.

    Attributes:
        counters: the counters of control messages.
    """

    def __init__(self, options: ProgressOptions) -> None:
        """Starts without records."""
        self._options = options
        self._flights: dict[int, Flight] = {}
        self._numbers = 0
        self._partitions: dict[TopicPartition, WrittenPartition] = {}
        self.counters = Counter[str]()

    def __getitem__(self, partition: TopicPartition) -> WrittenPartition:
        """The state of a partition."""
        return self._partitions[partition]

    @property
    def has_flights(self) -> bool:
        """Whether any records are not acknowledged yet."""
        return bool(self._flights)

    @property
    def in_flight(self) -> int:
        """The number of records and control messages that are not acknowledged yet."""
        return len(self._flights) + sum(written.is_ticking for written in self._partitions.values())

    def depart(self, topic: str, partition: int | None, event_time: int) -> int:
        """Notes a record that goes out. Returns its number."""
        self._numbers += 1
        self._flights[self._numbers] = Flight(topic, partition, event_time)
        return self._numbers

    def arrive(self, number: int) -> None:
        """Removes a record that was acknowledged or has failed."""
        self._flights.pop(number, None)

    def acknowledge(self, place: tuple[str, int], offset: int, event_time: int, now: int) -> None:
        """Notes a record at this offset of a partition. Starts a new cycle."""
        written = self._written(place, now)
        if written.event_time is None or event_time > written.event_time:
            written.event_time = event_time
        written.sent_time = max(written.sent_time, event_time)
        written.since = now
        self._begin(written, offset, now)

    def hold(self, place: tuple[str, int], offset: int, event_time: int, now: int) -> None:
        """Notes a record of an open transaction. Its time must not be sent before the commit."""
        written = self._written(place, now)
        written.uncommitted.append((offset, event_time))
        written.version += 1

    def commit(self, now: int) -> None:
        """Commits the transaction."""
        for partition, written in self._partitions.items():
            records, written.uncommitted = written.uncommitted, []
            for offset, event_time in records:
                self.acknowledge(partition, offset, event_time, now)

    def abort(self, now: int) -> None:
        """Aborts the transaction. Its records do not count, but their offsets stay in use."""
        for written in self._partitions.values():
            records, written.uncommitted = written.uncommitted, []
            if records:
                self._begin(written, max(offset for offset, _ in records), now)
                if written.event_time is None:
                    written.stop()

    def next_due(self) -> int | None:
        """When the next control message is due, or None."""
        return min((one.next for one in self._partitions.values() if one.next is not None), default=None)

    def claims(self, now: int) -> list[Claim]:
        """The due control messages. Postpones those of partitions with records in flight."""
        due = [(partition, one) for partition, one in self._partitions.items() if one.is_due(now)]
        under_way = {(one.topic, one.partition) for one in self._flights.values()} if due else set()
        claims = []
        for partition, written in due:
            if written.is_ticking or written.uncommitted or tuple(partition) in under_way:
                self.counters["put_off"] += 1
                written.put_off(now)
            else:
                claims.append(Claim(partition, written.version, written.end, written.newest))
        return claims

    def time_to_send(self, claim: Claim, now: int) -> int | None:
        """The event time for a claimed message, or None if there is no new time to send.

        A record in flight without a chosen partition may go to this one. So the time is never later than such a record.
        """
        written = self._partitions[claim.partition]
        time = written.reached(now)
        if time is None:
            return None
        topic = claim.partition.topic
        under_way = (one.event_time for one in self._flights.values() if one.topic == topic and one.partition is None)
        time = min(time, min(under_way, default=time))
        return time if time > written.sent_time else None

    def is_out_of_range(self, claim: Claim, now: int) -> bool:
        """Whether no message can hold the partition's time: it is before 1970, or the largest time was already sent."""
        written = self._partitions[claim.partition]
        time = written.reached(now)
        return time is not None and (time < 0 or written.sent_time >= LATEST)

    def is_void(self, claim: Claim) -> bool:
        """Whether the partition has changed since the claim."""
        written = self._partitions[claim.partition]
        under_way = any((one.topic, one.partition) == tuple(claim.partition) for one in self._flights.values())
        return written.version != claim.version or written.is_ticking or under_way

    def _written(self, place: tuple[str, int], now: int) -> WrittenPartition:
        # A TopicPartition equals its tuple, which is cheaper to make.
        written: WrittenPartition | None = self._partitions.get(place)  # type: ignore[call-overload]
        if written is None:
            written = self._partitions[TopicPartition(*place)] = WrittenPartition(self._options, now)
        return written

    def _begin(self, written: WrittenPartition, offset: int, now: int) -> None:
        if offset >= written.end:
            written.end = offset + 1
        written.newest = offset + 1
        written.version += 1
        written.begin(now)
