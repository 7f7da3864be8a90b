"""What a streaming query gives, micro-batch by micro-batch, by the letter of rules 1 to 7.

Where the rules are silent:

* A source is known once a record or a tick has moved its time; rows that move none make none known.
* With `stream_time="source"` a source is known to all inputs of a cogroup, with `slowest` to those that have seen it:
  so far reaches a tick without a source.
* The smallest over the inputs of a cogroup is that of their close times, each of which never goes back.
* Without an order, records of a cogroup with equal times go by the position of their input: of sliding windows no more
  than the number of refusals depends on it. With an order, records of one input with equal orders count for each other.
* A restart with a smaller grace closes at the end of the next micro-batch, whose records see what is closed by then.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Sequence

from .batch_windows import BatchWindows, Tick, windows_of
from .scenario import Row
from .session_groups import Arrival
from .stream import Change
from .streaming_scenario import StreamingScenario

COUNTED = ("records", "late", "windows_refused", "late_emitted", "null_keys", "null_times", "bad_gaps", "bad_ends")
COUNTED += ("clamped_gaps", "behind", "ticks", "bad_ticks", "updates", "windows_closed")
ALL = 0
"""The one source where there is none, and the number of the windows that all sources share."""


class MicroBatches:
    """A streaming query.

    Attributes:
        windows: the windows of each source; those of `ALL` where sources share them.
    """

    def __init__(self, scenario: StreamingScenario) -> None:
        if scenario.ordered and scenario.slowest:
            raise ValueError("an order is refused with the slowest source")
        if scenario.every_record and not scenario.ordered:
            raise ValueError("every record on a stream needs an order")
        self.scenario = scenario
        self.windows: dict[int, BatchWindows] = {}
        self._ticks: Counter[str] = Counter()
        self._numbers = itertools.count()

    def push(self, batch: Sequence[Row]) -> list[Change]:
        """The rows that a micro-batch gives, those of one source in their order."""
        return [change for changes in self.push_by_source(batch).values() for change in changes]

    def push_by_source(self, batch: Sequence[Row]) -> dict[int, list[Change]]:
        """The rows that a micro-batch gives, for each set of windows."""
        records: dict[int, list[Arrival]] = {}
        for row in batch:
            if row.tick:
                continue
            source = self._source_of(row)
            if (found := self._windows_of(source).admit(row, source, next(self._numbers))) is not None:
                records.setdefault(self._place(source), []).append(found)
        ticks = self._expanded([row for row in batch if row.tick], records)
        return {
            place: windows.push(records.get(place, ()), [tick for tick in ticks if self._place(tick.source) == place])
            for place, windows in sorted(self.windows.items())
        }

    def restart(self, grace: int | None = None, late: str | None = None, every: int | None = None) -> None:
        """The query continues from its state, with another grace, another way with late records, or another pace."""
        grace = self.scenario.grace if grace is None else grace
        late = self.scenario.late if late is None else late
        every = self.scenario.every if every is None else every
        self.scenario = dataclasses.replace(self.scenario, grace=grace, late=late, every=every)
        for windows in self.windows.values():
            windows.restart(grace, late, every)

    def continue_with(self, length: int) -> None:
        """Another query continues the open windows, perhaps with a longer gap of sessions (rules 1.11)."""
        if length != self.scenario.length:
            self.scenario = dataclasses.replace(self.scenario, length=length)
            for windows in self.windows.values():
                windows.continue_with(length)

    def play(self) -> list[list[Change]]:
        """The rows of all micro-batches of the scenario, with its restarts."""
        out = []
        for number, batch in enumerate(self.scenario.batches):
            if (restart := self.scenario.restart_before(number)) is not None:
                self.restart(restart.grace, restart.late, restart.every)
            out.append(self.push(batch))
        return out

    @property
    def counters(self) -> dict[str, int]:
        """Since the query began, over all sources."""
        counted = sum((windows.counters for windows in self.windows.values()), Counter(self._ticks))
        return {name: counted[name] for name in COUNTED}

    @property
    def seen(self) -> Counter[str]:
        """How often something happened that tests want to have had."""
        return sum((windows.seen for windows in self.windows.values()), Counter[str]())

    # Sources (rules 1.4)

    def _source_of(self, row: Row) -> int:
        if self.scenario.ordered and row.order is None:
            raise ValueError("a record without an order")
        if self.scenario.sourced and row.source is None:
            raise ValueError("a record without a source")
        return row.source if self.scenario.sourced and row.source is not None else ALL

    def _place(self, source: int) -> int:
        return ALL if self.scenario.slowest else source

    def _windows_of(self, source: int) -> BatchWindows:
        return self.windows.setdefault(self._place(source), windows_of(self.scenario))

    # Ticks (rules 1.5)

    def _expanded(self, rows: Sequence[Row], records: dict[int, list[Arrival]]) -> list[Tick]:
        """The ticks of each input and source."""
        timed = [row for row in rows if row.time is not None]
        self._ticks["ticks"] += len(timed)
        self._ticks["bad_ticks"] += len(rows) - len(timed)
        known = {(record.input, record.source) for own in records.values() for record in own}
        known |= {(input, row.source) for row in timed if row.source is not None for input in self._inputs(row)}
        for windows in self.windows.values():
            for input, progress in enumerate(windows.progress):
                known |= {(input, source) for source in progress.sources}
        return [
            Tick(input, source, row.time, row.order)
            for row in timed
            if row.time is not None
            for input in self._inputs(row)
            for source in self._sources(row, input, known)
        ]

    def _inputs(self, row: Row) -> Sequence[int]:
        return range(self.scenario.inputs) if row.input is None else [row.input]

    def _sources(self, row: Row, input: int, known: set[tuple[int, int]]) -> Sequence[int]:
        if not self.scenario.sourced:
            found = [ALL]
        elif row.source is not None:
            found = [row.source]
        else:
            found = sorted({source for of, source in known if of == input or not self.scenario.slowest})
        for source in found:
            self._windows_of(source)
        return found
