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
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from windrow.kafka._cluster import Cluster, Ends, TopicPartition
from windrow.kafka._control import LATEST, event_time, is_control
from windrow.kafka._options import ProgressOptions
from windrow.kafka._schedule import Cycle

TAIL = 1_000
"""How many of the last offsets to read when a partition becomes quiet."""

COUNTERS = ("sent", "failed", "empty", "open_transactions", "told_before", "out_of_range", "unanswered")
"""The counters of a watch, in order."""


class Send(Protocol):
    """Sends a control message and waits for it."""

    def __call__(self, partition: TopicPartition, time: int, sequence: int) -> int:
        """Returns its offset. Raises the error if sending fails."""


@dataclass
class Watched:
    """A watched partition. Times are milliseconds.

    Attributes:
        end: the last known offset of the next record.
        unmoved_since: since when the end has not moved, except by control messages of this watch.
        read_to: the offset up to which records were read.
        quiet_since: since when there is no new data; None if unknown.
        event_time: the largest time of the data read so far.
        base: the event time when it became quiet.
        sent_time: the largest time of a control message.
        cycle: when to check and tick it again.
        is_moving: whether the log already has a line that it moves.
        sequence: how many control messages were sent.
    """

    end: int
    unmoved_since: int
    cycle: Cycle
    read_to: int | None = None
    quiet_since: int | None = None
    event_time: int | None = None
    base: int | None = None
    sent_time: int | None = None
    is_moving: bool = False
    sequence: int = 0


class Watch:
    """Checks partitions repeatedly and ticks those that stay quiet."""

    def __init__(
        self,
        options: ProgressOptions,
        cluster: Cluster,
        send: Send | None,
        log: Callable[[str], None],
        tail: int = TAIL,
    ) -> None:
        """Creates a watch that has seen no partition. Without `send` it only logs what it would send."""
        self._options = options
        self._cluster = cluster
        self._send = send
        self._log = log
        self._tail = tail
        self._watched: dict[TopicPartition, Watched] = {}
        self._silent = set[TopicPartition]()
        self.counters = Counter[str]()

    def look(self, partitions: Iterable[TopicPartition], now: int, ends: Callable[[], bool] = lambda: False) -> None:
        """Checks these partitions once, until `ends` returns True. `now` is the time of a monotonic clock."""
        wanted = list(partitions)
        try:
            positions = self._cluster.ends(wanted)
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
                    self._watched[partition].cycle.put_off(now)
            else:
                self._silent.discard(partition)

    def _see(self, partition: TopicPartition, end: Ends, now: int) -> None:
        watched = self._watched.get(partition)
        if watched is not None and end.high < watched.end:
            self._say(partition, f"was recreated: it ended at offset {watched.end}, and now at {end.high}")
            watched = None
        if watched is None:
            watched = self._watched[partition] = Watched(end.high, now, Cycle(self._options.schedule, now))
        elif end.high != watched.end:
            if not watched.is_moving:
                self._say(partition, f"moves, at offset {end.high}")
            watched.end, watched.unmoved_since, watched.is_moving = end.high, now, True
            watched.cycle = Cycle(self._options.schedule, now)
        elif watched.cycle.is_due(now):
            self._decide(partition, watched, end, now)

    def _decide(self, partition: TopicPartition, watched: Watched, end: Ends, now: int) -> None:
        """Handles a due partition whose end has not moved."""
        if end.stable < end.high:
            self.counters["open_transactions"] += 1
            self._say(partition, "a transaction is open")
            watched.cycle.put_off(now)
            return
        if watched.read_to != end.high:
            self._read(partition, watched)
        watched.is_moving = False
        if watched.quiet_since is None or watched.base is None:
            self.counters["empty"] += 1
            self._say(partition, "empty: there is nothing to close")
            watched.cycle.stop()
            return
        if not watched.cycle.is_due(now):
            self._say(partition, "quiet, and somebody else has ticked it to the end")
            return
        quiet = now - watched.quiet_since
        time = min(watched.base + quiet - self._options.allowance, LATEST)
        if time < 0 or watched.base > LATEST:
            self.counters["out_of_range"] += 1
            self._say(partition, f"quiet, but no tick can hold its time, {watched.base} ms since 1970")
            watched.cycle.sent(now)
            return
        if watched.sent_time is not None and time <= watched.sent_time:
            self.counters["told_before"] += 1
            self._say(partition, f"quiet, and {_moment(watched.sent_time)} was sent before")
            watched.cycle.sent(now)
            return
        why = f"{_moment(time)} (its event time {_moment(watched.base)}, quiet for {quiet / 1000:.1f} s)"
        self._tick(partition, watched, time, now, why)

    def _tick(self, partition: TopicPartition, watched: Watched, time: int, now: int, why: str) -> None:
        if self._send is None:
            self._say(partition, f"would tick {why}")
        else:
            try:
                offset = self._send(partition, time, watched.sequence)
            except Exception as error:
                self.counters["failed"] += 1
                self._say(partition, f"no tick: {error}")
                watched.cycle.put_off(now)
                return
            if offset == watched.end:  # else someone has written in between; the next check sees it
                watched.end = watched.read_to = offset + 1
            self._say(partition, f"tick {why}, offset {offset}")
        self.counters["sent"] += 1
        watched.sequence += 1
        watched.sent_time = time
        watched.cycle.sent(now)
        if watched.cycle.next is None:
            self._say(partition, "that was the last tick until something arrives")

    def _read(self, partition: TopicPartition, watched: Watched) -> None:
        """Reads the new records at the end of a partition."""
        first = watched.read_to is None
        start = max(watched.read_to or 0, watched.end - self._tail)
        is_cut = not first and start > (watched.read_to or 0)
        data, ticks, behind = list[int](), list[int](), list[int]()
        for record in self._cluster.records(partition, start, watched.end):
            if is_control(record.key, record.value, record.headers):
                time = event_time(record.key, record.value, record.headers)
                if time is not None:
                    ticks.append(time)
                    behind.append(time)
            else:
                behind.clear()
                data += [record.timestamp] if record.timestamp is not None else []
        watched.read_to = watched.end
        watched.sent_time = max([*ticks, *([] if watched.sent_time is None else [watched.sent_time])], default=None)
        event_times = [] if watched.event_time is None else [watched.event_time]
        watched.event_time = max([*data, *event_times], default=None)
        if data or is_cut or (first and behind):
            watched.quiet_since = watched.unmoved_since
            # A new watch starts from the latest foreign tick, because it does not know when that was sent.
            times = [*data, *event_times, *(behind if first else [])]
            watched.base = max(times, default=None)
        elif watched.quiet_since is not None:
            # Only control messages are new: the quiet period continues, with its ticks unless all were sent.
            watched.cycle = Cycle(self._options.schedule, watched.quiet_since)
            latest = (watched.base or 0) + self._options.schedule.last - self._options.allowance
            if watched.sent_time is not None and watched.sent_time >= latest:
                watched.cycle.stop()

    def _say(self, partition: TopicPartition, what: str) -> None:
        self._log(f"{partition} {what}")


def _moment(time: int) -> str:
    moment = datetime.fromtimestamp(time / 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{time % 1000:03d}Z"
