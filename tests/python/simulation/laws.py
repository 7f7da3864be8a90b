"""The laws that hold between two runs of the same micro-batch, and for a state alone.

| the runs have | what must be equal |
|---|---|
| (a) the same splits and Arrow batches | every byte of pages, counters and rows, in any order of a shard's blocks |
| (b) other Arrow batches | the rows in any order, floats within rules 6.6; the open windows |
| (c) other splits, or another order of rows | as (b), without what arrival decides; `tie=` decides the order of lists |
| (d) Python functions that the order of rows changes | (a) |
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from ..oracle.streaming_scenario import StreamingScenario

"""The rows and the states of a run."""


class BrokenLawError(AssertionError):
    """What must be equal is not."""


def check_attempts(one: object, other: object, what: str) -> None:
    """Law (a)."""
    if one != other:
        raise BrokenLawError(f"law (a): {what} differ: {one!r:.300} and {other!r:.300}")


def check_state(states: Mapping[int, Mapping[str, str]]) -> None:
    """A state holds the pages of its index and nothing else, so it is bounded by its windows."""
    for shard, pages in states.items():
        named = {"index", *json.loads(pages["index"])["pages"]}
        if named != set(pages):
            raise BrokenLawError(f"the state of shard {shard} has other pages than its index: {named ^ set(pages)}")


def stream_time(states: Mapping[int, Mapping[str, str]]) -> int | None:
    """Stream time after a micro-batch, as the states keep it."""
    times = [time for pages in states.values() for time, _ in json.loads(pages["index"])["gauges"].values()]
    return None if None in times else min(times, default=None)


def check_rows(
    one: Iterable[dict[str, Any]], other: Iterable[dict[str, Any]], law: str, without: Sequence[str] = ()
) -> None:
    """Law (b) or (c): the rows are equal, without some columns."""
    found, again = (sorted((shown(row, without) for row in rows), key=repr) for rows in (one, other))
    if len(found) != len(again) or not all(map(is_near, found, again)):
        lost = [row for row in found if row not in again]
        new = [row for row in again if row not in found]
        raise BrokenLawError(f"law {law}: {lost!r:.300} became {new!r:.300}")


def tie_of(scenario: StreamingScenario) -> str | None:
    """The column of values, if it can be the tie of a scenario: no record lacks its value, and no two have the same."""
    values = [row.x for rows in scenario.batches for row in rows if not row.tick]
    return None if scenario.values == "python" or None in values or len({*values}) < len(values) else "v"


def check_ties(rows: Iterable[Mapping[str, Any]], scenario: StreamingScenario) -> None:
    """Law (c), where the values are ties: lists of values go by time and value, however the records came."""
    times = {row.x: row.time for rows in scenario.batches for row in rows if not row.tick}
    for row in rows:
        for name, values in row.items():
            if name.startswith("all") and values:
                ordered = sorted(values, key=lambda value: (times[value], value))
                if values != ordered:
                    raise BrokenLawError(f"law (c): {name} is {values} in {row}, and ties make it {ordered}")


def rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    """The rows of batches."""
    for batch in batches:
        yield from batch.to_pylist()


def shown(row: Mapping[str, Any], without: Sequence[str] = ()) -> tuple[Any, ...]:
    """A row as its names and values, lists in the order of values."""
    return tuple(
        (name, sorted(value, key=repr) if isinstance(value, list) else value)
        for name, value in row.items()
        if name not in without
    )


def is_near(one: Any, other: Any) -> bool:
    """Whether two values are equal, floats within rules 6.6."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9) or (math.isnan(one) and math.isnan(other))
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(is_near, one, other))
    return bool(one == other)
