"""Random scenarios of records that last: scenarios of sessions, in which each record gets an end."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Callable, Sequence
from typing import TypeVar

from . import generator
from .micro_batch_generator import streaming_scenario
from .scenario import Row, Scenario
from .streaming_scenario import StreamingScenario

Any = TypeVar("Any", Scenario, StreamingScenario)


def lasting_scenario(seed: int) -> Scenario:
    """The scenario of a seed, as `generator.scenario`, with ends."""
    found = _of_sessions(generator.scenario, seed)
    draw = random.Random(f"ends {seed}")
    found = _with_gap(draw, found)
    return dataclasses.replace(found, rows=_with_ends(draw, found, found.rows, _lasting_inputs(draw, found)))


def lasting_stream(seed: int) -> StreamingScenario:
    """The scenario of micro-batches of a seed, as `streaming_scenario`, with ends."""
    found = _of_sessions(streaming_scenario, seed)
    draw = random.Random(f"ends of micro-batches {seed}")
    found = _with_gap(draw, found)
    lasting = _lasting_inputs(draw, found)
    batches = tuple(_with_ends(draw, found, rows, lasting) for rows in found.batches)
    return dataclasses.replace(found, batches=batches)


def _of_sessions(make: Callable[[int], Any], seed: int) -> Any:
    """The first scenario from a seed on that is not of sliding windows; scenarios of two seeds may be one."""
    return next(found for found in map(make, itertools.count(seed * 7)) if not found.sliding)


def _with_gap(draw: random.Random, scenario: Any) -> Any:
    """Perhaps with a gap of zero."""
    is_zero = scenario.kind == "session" and draw.random() < 0.2
    return dataclasses.replace(scenario, ends=True, **({"length": 0} if is_zero else {}))


def _lasting_inputs(draw: random.Random, scenario: Scenario) -> set[int]:
    """The inputs whose records have ends; all, or one of two."""
    return set(range(scenario.inputs)) if draw.random() < 0.7 else {draw.randrange(scenario.inputs)}


def _with_ends(draw: random.Random, scenario: Scenario, rows: Sequence[Row], lasting: set[int]) -> tuple[Row, ...]:
    often_bad = draw.choice([0, 0, 0.1])
    longest = max(scenario.length, 1) * draw.choice([1, 1, 3, 10]) + draw.choice([0, 0, scenario.grace])
    return tuple(dataclasses.replace(row, end=_end(draw, row, lasting, longest, often_bad)) for row in rows)


def _end(draw: random.Random, row: Row, lasting: set[int], longest: int, often_bad: float) -> int | None:
    if row.time is None or (row.input is not None and row.input not in lasting):
        return row.time
    if draw.random() < often_bad:
        return draw.choice([None, max(row.time - 1, -(2**63)), max(row.time - longest, -(2**63)), -(2**62)])
    end = row.time + draw.choice([0, 0, 1, longest, draw.randint(0, longest), draw.randint(0, longest)])
    return min(end, max(row.time, generator.FURTHEST - 4 * longest))
