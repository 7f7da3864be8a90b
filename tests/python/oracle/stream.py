"""A stream by the letter of rules 1, 5, 6 and 7: every record in its order, every window kept, everything by scanning.

Nothing is ever expired and nothing is indexed: hidden windows are those that the rules call hidden.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

from .contents import Contents, added, answers, empty
from .scenario import Row, Scenario

COUNTED = ("records", "late", "windows_refused", "late_emitted", "null_keys", "null_times", "null_values")
COUNTED += ("bad_gaps", "bad_ends", "clamped_gaps", "behind", "ticks", "bad_ticks")
COUNTED += ("updates", "windows_closed", "windows_open")


class Change(NamedTuple):
    """One row that comes out. `op` is `upsert` (a final too), `delete` or `late`; a delete has no values."""

    op: str
    key: str
    start: int
    end: int
    values: tuple[Any, ...] | None
    time: int


@dataclass
class Window:
    """A stored window; `reach` is up to where a record still joins or touches it."""

    key: str
    start: int
    end: int
    reach: int
    held: Contents
    number: int = 0
    closed: bool = False

    @property
    def name(self) -> tuple[str, int, int]:
        return self.key, self.start, self.end


class Stream(ABC):
    """What is common to sessions and sliding windows."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.times: list[int | None] = [None] * scenario.inputs
        self.counters: Counter[str] = Counter()
        self.seen: Counter[str] = Counter()
        self.stored: list[Window] = []
        self.out: list[tuple[Change, int]] = []
        self.arrivals = 0
        self.numbers = 0

    # Stream time (rules 1.1, 5.1)

    @property
    def time(self) -> int | None:
        known = [time for time in self.times if time is not None]
        return min(known) if len(known) == len(self.times) else None

    def closes(self, time: int | None) -> float | int:
        return float("-inf") if time is None else time - self.scenario.grace

    @property
    def close_time(self) -> float | int:
        """What is before it is closed."""
        return self.closes(self.time)

    def move(self, input: int | None, time: int) -> None:
        floored = time // self.scenario.resolution * self.scenario.resolution
        for place in range(len(self.times)) if input is None else [input]:
            before = self.times[place]
            self.times[place] = floored if before is None else max(before, floored)

    # One row

    def feed(self, row: Row) -> list[tuple[Change, int]]:
        """Takes a row; returns the changes, each with the number of its window."""
        self.out = []
        if row.tick:
            if row.time is None:
                self.counters["bad_ticks"] += 1
            else:
                self.counters["ticks"] += 1
                self.move(row.input, row.time)
        elif row.key is None:
            self.counters["null_keys"] += 1
        elif self.scenario.kafka and self.scenario.sliding and row.word is None:
            self.counters["null_values"] += 1
        elif row.time is None:
            self.counters["null_times"] += 1
        elif (gap := self.gap(row)) is not None:
            self.counters["records"] += 1
            self.move(row.input, row.time)
            assert row.input is not None
            self.take(row, gap, self.closes(self.times[row.input]))
        self.arrivals += 1
        self.close(self.close_time)
        return self.out

    def gap(self, row: Row) -> int | None:
        return self.scenario.length

    @abstractmethod
    def take(self, row: Row, gap: int, close: float | int) -> None:
        """A record, judged by the close time."""

    # Windows

    @abstractmethod
    def visible(self, window: Window) -> bool:
        """Whether a record or a query sees a stored window."""

    def shown(self) -> list[Window]:
        """The visible windows, by (key bytes, end, start)."""
        found = [window for window in self.stored if self.visible(window)]
        return sorted(found, key=lambda window: (window.key.encode(), window.end, window.start))

    def close(self, bound: float | int) -> None:
        """Closes what ends, with its gap, before the bound: by (end, start, key)."""
        due = [window for window in self.stored if not window.closed and window.reach < bound]
        for window in sorted(due, key=lambda window: (window.end, window.start, window.key.encode())):
            window.closed = True
            self.counters["windows_closed"] += 1
            if self.scenario.emit == "close":
                self.emit("upsert", window)

    def finish(self) -> list[tuple[Change, int]]:
        self.out = []
        self.close(float("inf"))
        return self.out

    @abstractmethod
    def time_of(self, window: Window) -> int:
        """The time of a change of a window."""

    def emit(self, op: str, window: Window, time: int | None = None) -> None:
        values = None if op == "delete" else answers(self.scenario, window.held)
        stamp = self.time_of(window) if time is None else time
        self.out.append((Change(op, *window.name, values, stamp), window.number))

    def changed(self, op: str, window: Window, time: int | None = None) -> None:
        if self.scenario.emit == "update":
            self.counters["updates"] += 1
            self.seen[op] += 1
            self.emit(op, window, time)

    def alone(self, row: Row, start: int, end: int) -> None:
        """A late record as a row of its own, where that was asked for."""
        if self.scenario.late == "emit":
            assert row.key is not None
            self.counters["late_emitted"] += 1
            held = added(self.scenario, empty(self.scenario), row, self.arrivals)
            self.emit("late", Window(row.key, start, end, end, held), self.scenario.last(row))

    def next_number(self) -> int:
        self.numbers += 1
        return self.numbers

    def counted(self) -> dict[str, int]:
        self.counters["windows_open"] = sum(not window.closed for window in self.stored)
        return {name: self.counters[name] for name in COUNTED}
