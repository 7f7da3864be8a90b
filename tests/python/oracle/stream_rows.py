"""The sliding window of each record of a stream, at the time when it comes: `[t - difference, t]`.

Every record that was not late is kept, and each window is looked for among all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .frames import Frame

Member = tuple[int, int, list[int]]
"""The bounds of a window, both inclusive, and the numbers of the records in it, ascending."""


class StreamRecord(NamedTuple):
    """A record: its key, time and number, the place among the records of its source, and that source."""

    key: int | None
    time: int | None
    number: int
    order: int
    source: int = 0


@dataclass
class RowStream:
    """A stream of micro-batches; lengths in ticks, `ordered` where each record counts at its place.

    `framed` has for each record that is in time the numbers of the records in each of `frames`, ascending.
    """

    difference: int
    grace: int
    resolution: int
    ordered: bool
    kept: list[StreamRecord] = field(default_factory=list)
    latest: dict[int, int] = field(default_factory=dict)
    late: int = 0
    frames: Sequence[Frame] = ()
    framed: dict[int, list[list[int]]] = field(default_factory=dict)

    def push(self, records: Sequence[StreamRecord], ticks: Sequence[int] = ()) -> dict[int, Member]:
        """The window of each record of a micro-batch by its number; none of a record that is late or left out.

        `ticks` are times after the records, for all sources that were seen.
        """
        good = [record for record in records if record.key is not None and record.time is not None]
        windows = {}
        if self.ordered:
            for record in sorted(good, key=lambda record: record.order):
                self._move(record)
                if self._add(record):
                    windows[record.number] = self._window(record)
        else:
            taken = [record for record in good if self._add(record)]
            windows = {record.number: self._window(record) for record in taken}
            for record in good:
                self._move(record)
        for time in ticks:
            self.latest = {source: max(latest, time) for source, latest in self.latest.items()}
        return windows

    def _move(self, record: StreamRecord) -> None:
        assert record.time is not None
        self.latest[record.source] = max(record.time, self.latest.get(record.source, record.time))

    def _floored(self, time: int) -> int:
        return time // self.resolution * self.resolution

    def _add(self, record: StreamRecord) -> bool:
        assert record.time is not None
        latest = self.latest.get(record.source)
        if latest is not None and self._floored(record.time) < self._floored(latest) - self.grace:
            self.late += 1
            return False
        self.kept.append(record)
        return True

    def _window(self, record: StreamRecord) -> Member:
        assert record.time is not None
        end = self._floored(record.time)
        own = [
            (other.number, other.time)
            for other in self.kept
            if (other.key, other.source) == (record.key, record.source) and other.time is not None
        ]
        members, *self.framed[record.number] = (
            sorted(number for number, time in own if frame.has(record.time, time, self.resolution))
            for frame in (Frame(self.difference), *self.frames)
        )
        return end - self.difference, end, members
