"""What a producer knows of the partitions that it writes to; times are milliseconds.

```text
 produce ──▶ in flight ──acknowledged──▶ written: largest event time, quiet since, own end ──due──▶ control message
                              │                ▲
                              └▶ uncommitted ──┘  (of a transaction that is open)
```
Nothing here knows of threads, clocks or brokers.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from windrow.kafka._cluster import TopicPartition
from windrow.kafka._control import LATEST
from windrow.kafka._options import ProgressOptions
from windrow.kafka._schedule import Cycle


class Flight(NamedTuple):
    """A record that is not acknowledged yet.

    Attributes:
        topic: where it goes.
        partition: its partition, where the caller chose it; else None, as the partitioner of the client decides.
        event_time: its time.
    """

    topic: str
    partition: int | None
    event_time: int


@dataclass
class Written:
    """A partition that this producer has written to.

    Attributes:
        cycle: when control messages are due.
        event_time: the largest event time of its records.
        since: when the last one was acknowledged.
        end: the offset after its last record there, control messages too.
        newest: the offset after the record that was acknowledged last; less than `end` where the topic was made anew.
        told: the largest event time that was sent or written.
        version: counts what changes the above: a decision that was made for another one is void.
        sequence: how many control messages were sent.
        telling: whether a control message is in flight.
        uncommitted: (offset, event time) of the records of an open transaction.
    """

    cycle: Cycle
    event_time: int | None = None
    since: int = 0
    end: int = 0
    newest: int = 0
    told: int = -1
    version: int = 0
    sequence: int = 0
    telling: bool = False
    uncommitted: list[tuple[int, int]] = field(default_factory=list)


class Claim(NamedTuple):
    """A control message that is due, unless somebody else has written to the partition.

    Attributes:
        partition: where it goes.
        version: that of what is known, when it was claimed.
        end: the offset after this producer's last record.
        newest: the same, where the partition is shorter than that: of a topic that was made anew.
    """

    partition: TopicPartition
    version: int
    end: int
    newest: int


class Ledger:
    """The records of one producer, from `produce` to what they say of event time.

    Attributes:
        counters: what became of control messages.
    """

    def __init__(self, options: ProgressOptions) -> None:
        """Nothing was written yet."""
        self._options = options
        self._flights: dict[int, Flight] = {}
        self._numbers = 0
        self._partitions: dict[TopicPartition, Written] = {}
        self.counters = Counter[str]()

    def __getitem__(self, partition: TopicPartition) -> Written:
        """What is known of a partition."""
        return self._partitions[partition]

    @property
    def has_flights(self) -> bool:
        """Whether there are records that are not acknowledged yet."""
        return bool(self._flights)

    @property
    def in_flight(self) -> int:
        """How many records and control messages are not acknowledged yet."""
        return len(self._flights) + sum(written.telling for written in self._partitions.values())

    def depart(self, topic: str, partition: int | None, event_time: int) -> int:
        """A record goes out; its number."""
        self._numbers += 1
        self._flights[self._numbers] = Flight(topic, partition, event_time)
        return self._numbers

    def arrive(self, number: int) -> None:
        """A record was acknowledged, or never will be."""
        self._flights.pop(number, None)

    def acknowledge(self, place: tuple[str, int], offset: int, event_time: int, now: int) -> None:
        """A record is in a partition, at this offset: a new cycle begins."""
        written = self._written(place, now)
        if written.event_time is None or event_time > written.event_time:
            written.event_time = event_time
        written.told = max(written.told, event_time)
        written.since = now
        self._begin(written, offset, now)

    def hold(self, place: tuple[str, int], offset: int, event_time: int, now: int) -> None:
        """A record of an open transaction is in a partition: its time may not be sent before the commit."""
        written = self._written(place, now)
        written.uncommitted.append((offset, event_time))
        written.version += 1

    def commit(self, now: int) -> None:
        """The transaction is committed."""
        for partition, written in self._partitions.items():
            records, written.uncommitted = written.uncommitted, []
            for offset, event_time in records:
                self.acknowledge(partition, offset, event_time, now)

    def abort(self, now: int) -> None:
        """The transaction is aborted: its records do not count, but keep their places."""
        for written in self._partitions.values():
            records, written.uncommitted = written.uncommitted, []
            if records:
                self._begin(written, max(offset for offset, _ in records), now)
                if written.event_time is None:
                    written.cycle.stop()

    def next_due(self) -> int | None:
        """When the next control message is due."""
        return min((one.cycle.next for one in self._partitions.values() if one.cycle.next is not None), default=None)

    def claims(self, now: int) -> list[Claim]:
        """The control messages that are due; those of partitions with records under way are put off."""
        due = [(partition, one) for partition, one in self._partitions.items() if one.cycle.is_due(now)]
        under_way = {(one.topic, one.partition) for one in self._flights.values()} if due else set()
        claims = []
        for partition, written in due:
            if written.telling or written.uncommitted or tuple(partition) in under_way:
                self.counters["put_off"] += 1
                written.cycle.put_off(now)
            else:
                claims.append(Claim(partition, written.version, written.end, written.newest))
        return claims

    def tells(self, claim: Claim, now: int) -> int | None:
        """The event time of a claimed message; None if there is nothing new to send, and it is put off.

        A record in flight may be on its way to this partition, where the caller did not choose one: what is told is
        never later than it.
        """
        written = self._partitions[claim.partition]
        time = self._reached(written, now)
        if time is None:
            return None
        topic = claim.partition.topic
        under_way = (one.event_time for one in self._flights.values() if one.topic == topic and one.partition is None)
        time = min(time, min(under_way, default=time), LATEST)
        return time if time > written.told else None

    def is_out_of_range(self, claim: Claim, now: int) -> bool:
        """Whether no message can have the time of a partition: it is before 1970, or the last one was sent."""
        written = self._partitions[claim.partition]
        time = self._reached(written, now)
        return time is not None and (time < 0 or written.told >= LATEST)

    def is_void(self, claim: Claim) -> bool:
        """Whether something has happened since a claim was made."""
        written = self._partitions[claim.partition]
        under_way = any((one.topic, one.partition) == tuple(claim.partition) for one in self._flights.values())
        return written.version != claim.version or written.telling or under_way

    def _reached(self, written: Written, now: int) -> int | None:
        """The time that a partition has come to while it was quiet."""
        if written.event_time is None:
            return None
        return written.event_time + (now - written.since) - self._options.allowance

    def _written(self, place: tuple[str, int], now: int) -> Written:
        # A TopicPartition equals its tuple, which is cheaper to make.
        written: Written | None = self._partitions.get(place)  # type: ignore[call-overload]
        if written is None:
            cycle = Cycle(self._options.schedule, now)
            cycle.stop()
            written = self._partitions[TopicPartition(*place)] = Written(cycle)
        return written

    def _begin(self, written: Written, offset: int, now: int) -> None:
        if offset >= written.end:
            written.end = offset + 1
        written.newest = offset + 1
        written.version += 1
        written.cycle.begin(now)
