"""A Kafka in memory, in virtual time: logs, producers with latency and transactions, and a cluster to query.

Imports nothing from windrow. `VirtualBroker.logs` has everything that was written, with the writer.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

Place = tuple[str, int]


@dataclass
class Entry:
    """The entry at one offset of a partition."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    writer: str
    written: int
    is_marker: bool = False
    transaction: int | None = None


class VirtualTimer:
    """A manual clock that calls its owner's step when it is due."""

    def __init__(self, start: int = 1_000, wall: int = 1_700_000_000_000) -> None:
        self.time = start
        self._wall = wall - start
        self._step: Callable[[], int | None] | None = None
        self._due: int | None = None
        self._woken = False
        self.steps = 0

    def now(self) -> int:
        return self.time

    def wall_clock(self) -> int:
        return self._wall + self.time

    def start(self, step: Callable[[], int | None]) -> None:
        self._step = step
        self._woken = True
        self.run()

    def wake(self) -> None:
        self._woken = True

    def stop(self) -> None:
        self._step = None

    def run(self) -> None:
        """Calls the step while it is due now. Fails on a step that is always due: a busy loop."""
        calls = 0
        while self._step is not None and (self._woken or (self._due is not None and self._due <= self.time)):
            self._woken = False
            wait = self._step()
            self.steps += 1
            calls += 1
            assert wait is None or wait > 0
            assert calls < 50, "the step asks to be called again and again"
            self._due = None if wait is None else self.time + wait

    def advance(self, milliseconds: int) -> None:
        """Advances the time, and calls the step whenever it is due on the way."""
        end = self.time + milliseconds
        self.run()
        while self._step is not None and self._due is not None and self._due <= end:
            self.time = self._due
            self.run()
        self.time = end


class Message:
    """A record as passed to a callback."""

    def __init__(self, place: Place, entry: Entry) -> None:
        self._place, self._entry = place, entry
        self.kind = 1  # create time

    def topic(self) -> str:
        return self._place[0]

    def partition(self) -> int:
        return self._place[1]

    def offset(self) -> int:
        return self._entry.offset

    def timestamp(self) -> tuple[int, int]:
        return self.kind, self._entry.timestamp


class Ends(NamedTuple):
    high: int
    stable: int


@dataclass
class VirtualBroker:
    """The logs of all partitions."""

    timer: VirtualTimer
    partitions: dict[str, int] = field(default_factory=lambda: {"events": 3})
    logs: dict[Place, list[Entry]] = field(default_factory=dict)
    open_transactions: set[int] = field(default_factory=set)
    aborted: set[int] = field(default_factory=set)
    producers: list[VirtualProducer] = field(default_factory=list)

    def log(self, topic: str, partition: int) -> list[Entry]:
        return self.logs.setdefault((topic, partition), [])

    def append(self, place: Place, writer: str, **given: Any) -> Entry:
        log = self.log(*place)
        defaults = {"timestamp": self.timer.wall_clock(), "key": None, "value": b"", "headers": []}
        entry = Entry(offset=len(log), writer=writer, **(defaults | {"written": self.timer.time} | given))
        log.append(entry)
        return entry

    def flow(self) -> None:
        """Delivers the records that producers have sent."""
        for producer in self.producers:
            producer.flow()

    def stable(self, place: Place) -> int:
        log = self.log(*place)
        return next((entry.offset for entry in log if entry.transaction in self.open_transactions), len(log))


class VirtualCluster:
    """A cluster that answers from the logs."""

    def __init__(self, broker: VirtualBroker, *, committed: bool = False) -> None:
        self.broker = broker
        self.committed = committed
        self.error: Exception | None = None
        self.before_answer: Callable[[], None] = lambda: None
        self.requests = 0
        self.read = 0
        self.is_closed = False

    def partitions(self, topics: Iterable[str]) -> list[Place]:
        return [(topic, number) for topic in topics for number in range(self.broker.partitions[topic])]

    def ends(self, partitions: Iterable[Place]) -> dict[Place, Any]:
        self.requests += 1
        if self.error is not None:
            raise self.error
        self.broker.flow()
        found = {place: Ends(len(self.broker.log(*place)), self.broker.stable(tuple(place))) for place in partitions}
        self.before_answer()
        return found

    def records(self, partition: Place, start: int, end: int) -> Iterator[Entry]:
        if start < end:
            self.read += 1
        for entry in self.broker.log(*partition)[start:end]:
            if self.committed and entry.transaction in self.broker.aborted | self.broker.open_transactions:
                continue
            if not entry.is_marker:
                yield entry

    def close(self) -> None:
        self.is_closed = True


class VirtualProducer:
    """A producer. Its records take `latency` milliseconds to the broker, and `poll` serves its callbacks."""

    def __init__(self, broker: VirtualBroker, name: str = "own", latency: int = 0) -> None:
        self.broker, self.name, self.latency = broker, name, latency
        self.fails: list[Any] = []  # errors of the next records
        self.full = False
        self._queue: list[tuple[int, Place, dict[str, Any], Any]] = []
        self._done: list[Callable[[], None]] = []
        self._transaction: int | None = None
        self._in_transaction: set[Place] = set()
        self.calls: list[tuple[str, Any]] = []
        broker.producers.append(self)

    def produce(
        self, topic: str, *, value: Any = None, key: Any = None, partition: int = -1, on_delivery: Any = None,
        timestamp: int = 0, headers: Any = None,
    ) -> None:  # fmt: skip
        if self.full:
            raise BufferError("Local: Queue full")
        if partition < 0:
            partition = zlib.crc32(key or b"") % self.broker.partitions[topic]
        given = {
            "key": key,
            "value": value,
            "timestamp": timestamp or self.broker.timer.wall_clock(),
            "headers": list(headers or []),
            "transaction": self._transaction,
        }
        self._queue.append((self.broker.timer.time + self.latency, (topic, partition), given, on_delivery))
        self.flow()

    def produce_batch(
        self, topic: str, messages: list[dict[str, Any]], partition: int = -1, on_delivery: Any = None
    ) -> int:
        taken = 0
        for message in messages:
            given = {name: message.get(name) for name in ("value", "key")}
            called = message.get("callback", on_delivery)
            if message["value"] == b"refused":
                message["_error"] = "refused"
                continue
            place, time = message.get("partition", partition), message.get("timestamp", 0)
            self.produce(topic, partition=place, timestamp=time, on_delivery=called, **given)
            taken += 1
        return taken

    def key_of(self, topic: str, partition: int) -> bytes:
        """A key that the partitioner maps to this partition."""
        keys = (b"key %d" % number for number in range(1000))
        return next(key for key in keys if zlib.crc32(key) % self.broker.partitions[topic] == partition)

    def flow(self, *, all_of_it: bool = False) -> None:
        """Appends records whose latency has passed to the log, or fails them."""
        queue, self._queue, held = self._queue, [], set[Place]()
        for arrival, place, given, called in queue:
            if (arrival > self.broker.timer.time and not all_of_it) or place in held:
                held.add(place)  # later records to the same partition wait for it
                self._queue.append((arrival, place, given, called))
                continue
            error = self.fails.pop(0) if self.fails else None
            entry = Entry(-1, given["timestamp"], None, None, [], self.name, 0)
            if error is None:
                entry = self.broker.append(place, self.name, written=min(arrival, self.broker.timer.time), **given)
                if self._transaction is not None:
                    self._in_transaction.add(place)
            if called is not None:
                self._done.append(partial(called, error, Message(place, entry)))

    def poll(self, timeout: float = 0) -> int:
        self.calls.append(("poll", timeout))
        self.flow()
        done, self._done = self._done, []
        for position, call in enumerate(done):
            try:
                call()
            except BaseException:
                self._done = done[position + 1 :]
                raise
        return len(done)

    def flush(self, timeout: float = -1) -> int:
        self.calls.append(("flush", timeout))
        while self._queue or self._done:
            self.flow(all_of_it=True)
            self.poll()
        return 0

    def __len__(self) -> int:
        return len(self._queue) + len(self._done)

    def list_topics(self, topic: str) -> str:
        return f"topics like {topic}"

    def init_transactions(self) -> None:
        self.calls.append(("init_transactions", None))

    def begin_transaction(self) -> None:
        self._transaction = len(self.broker.open_transactions | self.broker.aborted) + 1000 + len(self.calls)
        self.broker.open_transactions.add(self._transaction)
        self._in_transaction = set()

    def _end(self, *, delay_markers: bool = False) -> None:
        assert self._transaction is not None
        self.broker.open_transactions.discard(self._transaction)
        self._transaction = None
        if not delay_markers:
            self.write_markers()

    def write_markers(self) -> None:
        for place in sorted(self._in_transaction):
            self.broker.append(place, self.name, is_marker=True)
        self._in_transaction = set()

    def commit_transaction(self) -> None:
        self.flush()
        self._end()

    def abort_transaction(self) -> None:
        self.flush()
        if self._transaction is not None:
            self.broker.aborted.add(self._transaction)
        self._end()
