"""One set of windows, fed with micro-batches (rules 1.2, 1.3, 1.6, 6.2): the stream of one source, or of all."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from .contents import Contents
from .pace import Pace
from .progress import Progress
from .scenario import Row
from .session_groups import Arrival, accepted
from .stream import Change, Stream, Window
from .stream_sessions import Sessions
from .stream_sliding import Slides
from .streaming_scenario import StreamingScenario


@dataclass(frozen=True)
class Tick:
    """A tick of one input and one source; without an order it is after all records of its batch."""

    input: int
    source: int
    time: int
    order: int | None


class BatchWindows(Stream):
    """What is common to sessions and sliding windows. Steps of single records are those of the stream, its time is of
    `Progress`."""

    scenario: StreamingScenario

    def __init__(self, scenario: StreamingScenario) -> None:
        super().__init__(scenario)
        self.progress = [Progress() for _ in range(scenario.inputs)]
        self.pace = Pace(sliding=scenario.sliding)

    # Stream time: visibility and closing by the smallest over all inputs

    @property
    def time(self) -> int | None:
        times = [progress.time for progress in self.progress]
        known = [time for time in times if time is not None]
        return min(known) if len(known) == len(times) else None

    @property
    def close_time(self) -> float | int:
        return min(progress.close for progress in self.progress)

    def observe(self, input: int, times: Sequence[tuple[int, int]]) -> None:
        unit = self.scenario.resolution
        self.progress[input].observe([(source, time // unit * unit) for source, time in times], self.scenario.grace)

    def restart(self, grace: int, late: str, every: int | None) -> None:
        """Goes on with another grace: what was closed stays closed, and a smaller one closes more."""
        self.scenario = dataclasses.replace(self.scenario, grace=grace, late=late, every=every)
        for progress in self.progress:
            progress.close_by(grace)

    def continue_with(self, length: int) -> None:
        """Goes on with a longer gap: open sessions that then touch are one, and what was late or closed stays so."""
        for progress in self.progress:  # close times are compared with reaches, and a reach is later now
            progress.close += length - self.scenario.length
        self.scenario = dataclasses.replace(self.scenario, length=length)
        found: list[Window] = []
        for each in sorted(self.stored, key=lambda window: (window.key, window.start)):
            last = found[-1] if found else None
            if each.closed:
                continue
            if last is None or last.key != each.key or each.start > last.reach:
                found.append(dataclasses.replace(each, reach=each.end + length))
                continue
            members = Contents(last.held.members + each.held.members, None)
            end = max(last.end, each.end)
            found[-1] = dataclasses.replace(last, end=end, reach=end + length, held=members)
        self.stored = found

    # A micro-batch

    def admit(self, row: Row, source: int, number: int) -> Arrival | None:
        """A record that counts and moves time; others are counted (rules 1.1)."""
        if row.key is None:
            self.counters["null_keys"] += 1
        elif row.time is None:
            self.counters["null_times"] += 1
        elif (gap := self.gap(row)) is not None:
            self.counters["records"] += 1
            return Arrival(row, gap, source, number, self.scenario.last(row))
        return None

    def push(self, records: Sequence[Arrival], ticks: Sequence[Tick]) -> list[Change]:
        """Takes the records and ticks of a micro-batch; returns its rows: all late records and updates, then finals."""
        self.out = []
        before = list(self.stored)
        if self.scenario.ordered:
            self.in_order(records, ticks)
        else:
            self.together(records, {number: progress.close for number, progress in enumerate(self.progress)})
            for input in range(self.scenario.inputs):
                own = [(record.source, record.time) for record in records if record.input == input]
                self.observe(input, own + [(tick.source, tick.time) for tick in ticks if tick.input == input])
        if not self.scenario.every_record and self.scenario.every is None:
            self.compare(before)
        self.close(self.close_time)
        if self.scenario.every is not None:
            for op, window in self.pace.rows(before, self.stored, self.time, self.scenario.every):
                super().changed(op, window, window.end if op == "delete" else None)
        return [self.settled(change) for change, _ in self.out]

    def in_order(self, records: Sequence[Arrival], ticks: Sequence[Tick]) -> None:
        """Each record by the time of all records and ticks up to its order, the own one included (rules 1.3, 5.2).
        Of records with equal orders in one input each counts for the other; they go in the order of arrival."""
        timed = [tick for tick in ticks if tick.order is not None]
        steps = {(record.row.order, record.input) for record in records} | {(tick.order, tick.input) for tick in timed}
        for order, input in sorted(step for step in steps if step[0] is not None):
            due = [tick for tick in timed if (tick.order, tick.input) == (order, input)]
            own = [record for record in records if (record.row.order, record.input) == (order, input)]
            self.observe(input, [(tick.source, tick.time) for tick in due])
            if due and self.scenario.every_record:
                self.close(self.close_time)
            self.observe(input, [(record.source, record.time) for record in own])
            for record in own:
                self.step(record, self.progress[input].close)
                if self.scenario.every_record:
                    self.close(self.close_time)
        for tick in ticks:
            if tick.order is None:
                self.observe(tick.input, [(tick.source, tick.time)])

    def step(self, record: Arrival, close: float | int) -> None:
        """One record by itself, as the stream takes it."""
        self.arrivals = record.number
        self.take(record.row, record.gap, close)

    @abstractmethod
    def together(self, records: Sequence[Arrival], closes: dict[int, float | int]) -> None:
        """All records of a micro-batch, judged by the time before it; `closes` has the close time of each input."""

    # What comes out

    def changed(self, op: str, window: Window, time: int | None = None) -> None:
        if self.scenario.every_record:
            super().changed(op, window, time)

    def compare(self, before: Sequence[Window]) -> None:
        """Updates of the whole batch: the state before and after, before anything closes (rules 6.2)."""
        if self.scenario.emit != "update":
            return
        old, new = {id(window) for window in before}, {id(window) for window in self.stored}
        made = [window for window in self.stored if id(window) not in old]
        names = {window.name for window in made}
        gone = [window for window in before if id(window) not in new and window.name not in names]
        for op, windows in (("delete", gone), ("upsert", made)):
            for window in windows:
                super().changed(op, window)

    def settled(self, change: Change) -> Change:
        """Without what the rules leave open, the order of equal times: count, sum and all values, sorted; or these as a
        text."""
        if change.values is None:
            return change
        count, total, numbers, _ = change.values
        ordered = tuple(sorted(numbers))
        shown = (" ".join(map(str, ordered)),) if self.scenario.values == "python" else (count, total, ordered)
        return change._replace(values=shown)


class BatchSessions(BatchWindows, Sessions):
    """Sessions: without an order, the groups of each key."""

    def together(self, records: Sequence[Arrival], closes: dict[int, float | int]) -> None:
        for key in sorted({record.row.key or "" for record in records}):
            own = [record for record in records if record.row.key == key]
            sessions = [window for window in self.shown() if window.key == key]
            kept = accepted(own, sessions, closes.__getitem__)
            for group in kept:
                held: tuple[tuple[int, int, Row], ...] = ()
                for session in group.sessions:
                    self.stored.remove(session)
                    held += session.held.members
                held += tuple((record.time, record.number, record.row) for record in group.records)
                self.stored.append(Window(key, group.start, group.end, group.reach, Contents(held, None)))
                self.seen["groups_of_several"] += len(group.records) > 1
                self.seen["bridges"] += len(group.sessions) > 1
                self.seen["revivals"] += any(session.closed for session in group.sessions)
                late_alone = [record for record in group.records if record.reach < closes[record.input]]
                behind = [record for record in group.records if record.time < closes[record.input]]
                self.counters["behind"] += len(behind) if self.scenario.ends else 0
                self.seen["kept_by_the_group"] += bool(late_alone)
            numbers = {record.number for group in kept for record in group.records}
            late = [record for record in own if record.number not in numbers]
            for record in late:
                self.counters["late"] += 1
                self.arrivals = record.number
                self.alone(record.row, record.time, record.last)
            self.seen["late_by_own_input"] += bool(kept) and bool(late) and self.scenario.inputs > 1


class BatchSlides(BatchWindows, Slides):
    """Sliding windows: without an order, a key's records in descending time. Python functions take those of a key
    without a record before the close time in the order of arrival."""

    def together(self, records: Sequence[Arrival], closes: dict[int, float | int]) -> None:
        behind = {record.row.key for record in records if record.time < closes[record.input]}

        def place(record: Arrival) -> tuple[int, int, int]:
            if self.scenario.values == "python" and record.row.key not in behind:
                return 0, 0, record.number
            return -record.time, record.input, record.number

        for record in sorted(records, key=place):
            self.step(record, closes[record.input])


def windows_of(scenario: StreamingScenario) -> BatchWindows:
    """The windows of a scenario, still empty."""
    return BatchSlides(scenario) if scenario.sliding else BatchSessions(scenario)
