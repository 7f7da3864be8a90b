"""Shrinks a failing scenario: fewer and simpler rows and a simpler way to play it, while it still fails."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from ..oracle.scenario import Row, Scenario
from .players import Way

Fails = Callable[[Scenario, Way], bool]


def shrunk(scenario: Scenario, way: Way, fails: Fails) -> tuple[Scenario, Way]:
    """The smallest failing scenario that these steps find."""
    while True:
        smaller = next((found for found in plainer(scenario, way) if fails(*found)), None)
        if smaller is None:
            return scenario, way
        scenario, way = smaller


def plainer(scenario: Scenario, way: Way) -> Iterator[tuple[Scenario, Way]]:
    """Slightly simpler candidates, largest steps first."""
    count = len(scenario.rows)
    if way.restarts:
        yield scenario, dataclasses.replace(way, restarts=frozenset())
    if way.batches is not None and len(way.batches) != 1:
        yield scenario, dataclasses.replace(way, batches=(count,))
    size = count
    while size:
        for first in range(0, count, size):
            yield dataclasses.replace(scenario, rows=scenario.rows[:first] + scenario.rows[first + size :]), way
        size //= 2
    for name in ("until", "inputs", "kafka", "late", "values", "resolution"):
        default = {field.name: field.default for field in dataclasses.fields(scenario)}[name]
        if getattr(scenario, name) != default and not (
            name == "inputs" and any(row.input != 0 for row in scenario.rows)
        ):
            yield dataclasses.replace(scenario, **{name: default}), way
    times = [row.time for row in scenario.rows if row.time is not None]
    for base in {min(times, default=0), min(times, default=0) - 10 * scenario.length} - {0}:
        if abs(base) > 20 * scenario.length:
            moved = (_with(row, time=None if row.time is None else row.time - base) for row in scenario.rows)
            yield dataclasses.replace(scenario, rows=tuple(moved)), way
    for place, row in enumerate(scenario.rows):
        for name, value in (("x", None), ("word", "1"), ("input", 0), ("key", "a"), ("gap", 1)):
            if getattr(row, name) not in (value, None):
                rows = (*scenario.rows[:place], _with(row, **{name: value}), *scenario.rows[place + 1 :])
                yield dataclasses.replace(scenario, rows=rows), way


def _with(row: Row, **fields: object) -> Row:
    return dataclasses.replace(row, **fields)  # type: ignore[arg-type]
