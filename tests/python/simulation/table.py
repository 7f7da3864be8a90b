"""A table to which the updates of a stream are applied, in their order, and the oracle's windows that it must have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..harness.scenario_queries import ShownChange, shown
from ..oracle.contents import answers
from ..oracle.micro_batches import MicroBatches
from ..oracle.stream import Change
from ..oracle.streaming_scenario import StreamingScenario
from .laws import BrokenLawError

Name = tuple[str, int, int]
Values = tuple[Any, ...] | None


class Table:
    """The rows that a sink has. Rows of micro-batches are applied one by one."""

    def __init__(self, scenario: StreamingScenario) -> None:
        """A table of updates, or of final windows. Windows of two sources may have one name, so they have none."""
        self.scenario = scenario
        self.is_kept = scenario.slowest or not scenario.sourced
        self.rows: dict[Name, Values] = {}
        self.twice = set[Name]()
        """Names of windows with the bounds of a frozen one (rules 3.4): one row would be both."""

    def take(self, rows: Sequence[ShownChange], oracle: MicroBatches) -> None:
        """Applies the rows of a micro-batch, which the oracle has too. Raises an exception if a law is broken."""
        if not self.is_kept:
            return
        stored = Counter(window.name for windows in oracle.windows.values() for window in windows.stored)
        self.twice |= {name for name, count in stored.items() if count > 1}
        for op, *name, values in rows:
            key, start, end = name
            if op == "delete":
                self._delete((key, start, end))
            elif op == "upsert":
                self._upsert((key, start, end), values)
        if self.scenario.emit == "update":
            self._compare(oracle)

    def _delete(self, name: Name) -> None:
        if self.rows.pop(name, None) is None and name not in self.twice:
            raise BrokenLawError(f"table: a delete of {name}, which it does not have")

    def _upsert(self, name: Name, values: Values) -> None:
        scenario = self.scenario
        if scenario.emit == "close" and scenario.until is None and scenario.kind != "dynamic" and name in self.rows:
            raise BrokenLawError(f"table: the final window {name} comes twice")
        if scenario.emit == "update" and not scenario.sliding and scenario.inputs == 1:
            own = set(numbers(values))
            for other, held in self.rows.items():
                if other != name and other[0] == name[0] and own & set(numbers(held)):
                    raise BrokenLawError(f"table: the update of {name} comes before the delete of its part {other}")
        self.rows[name] = values

    def _compare(self, oracle: MicroBatches) -> None:
        """The table has the oracle's windows. At a pace it has those that have left, as they were then."""
        waiting, expected = set[Name](), dict[Name, Values]()
        for windows in oracle.windows.values():
            for window in windows.stored:
                change = Change("upsert", *window.name, answers(self.scenario, window.held), window.end)
                expected[window.name] = shown(windows.settled(change), self.scenario.inputs)[-1]
            if self.scenario.every is not None:
                expected = {name: values for name, values in expected.items() if name in self.rows}
                for _, emission in windows.pace.emissions:
                    waiting |= emission.shown if emission.waits else set()
                    expected |= {name: None for name in emission.shown if name not in expected}
        kept = {name: values for name, values in self.rows.items() if name not in self.twice}
        expected = {name: values for name, values in expected.items() if name not in self.twice}
        for name in sorted({*kept, *expected}):
            if (name in kept) != (name in expected) or (name not in waiting and kept[name] != expected[name]):
                raise BrokenLawError(f"table: {name} is {kept.get(name)}, expected {expected.get(name)}")


def numbers(values: Values) -> list[str]:
    """The records of a window: their numbers in its last aggregate, a list or a text."""
    if not values:
        return []
    return values[-1].split() if isinstance(values[-1], str) else list(map(str, values[-1]))
