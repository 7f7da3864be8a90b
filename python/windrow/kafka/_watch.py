"""Watches partitions of other producers: which are quiet, and the event time that they have reached.

```text
 end offset moves ────────────▶ moving: sends nothing
 end is still for start.ms ───▶ reads the last records
     new data among them ─────▶ quiet since the end is still; event time is the largest time so far; ticks follow
     only control messages ───▶ quiet as before: another process sends ticks, too
 no record at all ────────────▶ empty: no window is open, so no tick is needed
```
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from windrow.kafka._cluster import Cluster, Ends, TopicPartition
from windrow.kafka._control import LATEST, event_time, is_control
from windrow.kafka._options import ProgressOptions
from windrow.kafka._schedule import QuietPartition

TAIL = 1_000
"""How many of the last offsets to read when a partition becomes quiet."""

COUNTERS = ("sent", "failed", "empty", "open_transactions", "told_before", "out_of_range", "unanswered")
"""The counters of a watch, in order."""


class Send(Protocol):
    """Sends a control message and waits for it."""

    def __call__(self, partition: TopicPartition, time: int, sequence: int) -> int:
        """Returns its offset. Raises the error if sending fails."""


class Watched(QuietPartition):
    """A watched partition. A period begins when its end has moved, except by control messages of this watch.

    Attributes:
        end: the last known offset of the next record.
        read_to: the offset up to which records were read.
        data_time: the largest time of the data read so far.
        is_moving: whether the log already has a line that it moves.
    """

    read_to: int | None = None
    data_time: int | None = None
    is_moving = False

    def __init__(self, options: ProgressOptions, now: int, end: int) -> None:
        """A partition of which nothing was read."""
        super().__init__(options.schedule, now, options.allowance)
        self.end = end


@dataclass(eq=False)
class Watch:
    """Checks partitions repeatedly and ticks those that stay quiet; without `send` it only logs what it would send."""

    options: ProgressOptions
    cluster: Cluster
    send: Send | None
    log: Callable[[str], None]
    tail: int = TAIL
    counters: Counter[str] = field(default_factory=Counter, init=False)
    _watched: dict[TopicPartition, Watched] = field(default_factory=dict, init=False)
    _silent: set[TopicPartition] = field(default_factory=set, init=False)

    def look(self, partitions: Iterable[TopicPartition], now: int, ends: Callable[[], bool] = lambda: False) -> None:
        """Checks these partitions once, until `ends` returns True. `now` is the time of a monotonic clock."""
        wanted = list(partitions)
        try:
            positions = self.cluster.ends(wanted)
        except Exception as error:
            positions = dict.fromkeys(wanted, error)
        for partition in wanted:
            if ends():
                return
            try:
                end = positions[partition]
                if isinstance(end, Exception):
                    raise end
                self._see(partition, end, now)
            except Exception as error:
                self.counters["unanswered"] += 1
                if partition not in self._silent:
                    self._say(partition, f"no answer: {error}")
                self._silent.add(partition)
                if partition in self._watched:
                    self._watched[partition].put_off(now)
            else:
                self._silent.discard(partition)

    def _see(self, partition: TopicPartition, end: Ends, now: int) -> None:
        watched = self._watched.get(partition)
        if watched is not None and end.high < watched.end:
            self._say(partition, f"was recreated: it ended at offset {watched.end}, and now at {end.high}")
            watched = None
        if watched is None:
            watched = self._watched[partition] = Watched(self.options, now, end.high)
        elif end.high != watched.end:
            if not watched.is_moving:
                self._say(partition, f"moves, at offset {end.high}")
            watched.end, watched.is_moving = end.high, True
            watched.begin(now)
        elif watched.is_due(now):
            self._decide(partition, watched, end, now)

    def _decide(self, partition: TopicPartition, watched: Watched, end: Ends, now: int) -> None:
        """Handles a due partition whose end has not moved."""
        if end.stable < end.high:
            self.counters["open_transactions"] += 1
            self._say(partition, "a transaction is open")
            watched.put_off(now)
            return
        if watched.read_to != end.high:
            self._read(partition, watched)
        watched.is_moving = False
        time = watched.reached(now)
        if time is None or watched.event_time is None:
            self.counters["empty"] += 1
            self._say(partition, "empty: there is nothing to close")
            watched.stop()
            return
        if not watched.is_due(now):
            self._say(partition, "quiet, and somebody else has ticked it to the end")
            return
        if time < 0 or watched.event_time > LATEST:
            self.counters["out_of_range"] += 1
            self._say(partition, f"quiet, but no tick can hold its time, {watched.event_time} ms since 1970")
            watched.sent(now)
            return
        if time <= watched.sent_time:
            self.counters["told_before"] += 1
            self._say(partition, f"quiet, and {_moment(watched.sent_time)} was sent before")
            watched.sent(now)
            return
        quiet = (now - watched.since) / 1000
        why = f"{_moment(time)} (its event time {_moment(watched.event_time)}, quiet for {quiet:.1f} s)"
        self._tick(partition, watched, time, now, why)

    def _tick(self, partition: TopicPartition, watched: Watched, time: int, now: int, why: str) -> None:
        if self.send is None:
            self._say(partition, f"would tick {why}")
        else:
            try:
                offset = self.send(partition, time, watched.sequence)
            except Exception as error:
                self.counters["failed"] += 1
                self._say(partition, f"no tick: {error}")
                watched.put_off(now)
                return
            if offset == watched.end:  # else someone has written in between; the next check sees it
                watched.end = watched.read_to = offset + 1
            self._say(partition, f"tick {why}, offset {offset}")
        self.counters["sent"] += 1
        watched.sequence += 1
        watched.sent_time = time
        watched.sent(now)
        if watched.next is None:
            self._say(partition, "that was the last tick until something arrives")

    def _read(self, partition: TopicPartition, watched: Watched) -> None:
        """Reads the new records at the end of a partition."""
        first = watched.read_to is None
        start = max(watched.read_to or 0, watched.end - self.tail)
        is_cut = not first and start > (watched.read_to or 0)
        data, ticks, behind = list[int](), list[int](), list[int]()
        for record in self.cluster.records(partition, start, watched.end):
            if is_control(record.key, record.value, record.headers):
                time = event_time(record.key, record.value, record.headers)
                if time is not None:
                    ticks.append(time)
                    behind.append(time)
            else:
                behind.clear()
                data += [record.timestamp] if record.timestamp is not None else []
        watched.read_to = watched.end
        watched.sent_time = max([*ticks, watched.sent_time])
        is_new = bool(data)
        data += [] if watched.data_time is None else [watched.data_time]
        watched.data_time = max(data, default=None)
        if is_new or is_cut or (first and behind):
            watched.since = watched.begun
            # A new watch starts from the latest foreign tick, because it does not know when that was sent.
            watched.event_time = max([*data, *(behind if first else [])], default=None)
        elif watched.event_time is not None:
            # Only control messages are new: the quiet period continues, with its ticks unless all were sent.
            watched.begin(watched.since)
            latest = watched.event_time + self.options.schedule.last - self.options.allowance
            if watched.sent_time >= max(latest, 0):
                watched.stop()

    def _say(self, partition: TopicPartition, what: str) -> None:
        self.log(f"{partition} {what}")


def _moment(time: int) -> str:
    moment = datetime.fromtimestamp(time / 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{time % 1000:03d}Z"
