"""Folds the windows of sorted rows with Python functions.

Windows that begin at one row are next to each other, shorter ones first: the fold of a longer one continues that of
a shorter one, so that a row is added once for all of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from copy import deepcopy
from operator import length_hint
from types import NoneType
from typing import Any

Runs = Callable[[list[Any], Sequence[int], Sequence[int], list[Any], list["Step"]], None]
"""Folds windows: of the rows, from a first one to before another; appends the values to a list, as far as it comes.

Where a function raises, its step is appended to the last list, and the exception is raised again.
"""

Step = tuple[int, str, bool, bool]
"""Where a fold failed: the row, `init`, `copy` or `add`; whether the accumulator is that of `init`, whether None."""


def runs_of(init: Callable[[], Any], add: Callable[[Any, Any], Any]) -> Runs:
    """Folds by a function that adds a row to an accumulator."""

    def fold(rows: list[Any], starts: Sequence[int], ends: Sequence[int], made: list[Any], failed: list[Step]) -> None:
        begin, at, doing, accumulator = -1, 0, "init", None
        rest, append = iter(rows[:0]), made.append
        try:
            for start, end in zip(starts, ends, strict=True):
                if start == begin:
                    doing = "copy"
                    accumulator = copied(accumulator)
                else:
                    begin = at = start
                    doing = "init"
                    accumulator = init()
                doing = "add"
                rest = iter(rows[at:end])
                for row in rest:
                    accumulator = add(accumulator, row)
                at = end
                append(accumulator)
        except BaseException:
            place = end - length_hint(rest) - 1 if doing == "add" else start
            failed.append((place, doing, place == begin, accumulator is None))
            raise

    return fold


# The loops of both are written out: a call for each row is what they are there to save.
def runs_of_reduce(fn: Callable[[Any, Any], Any]) -> Runs:
    """Folds by a function of two values, which is not called for None."""

    def fold(rows: list[Any], starts: Sequence[int], ends: Sequence[int], made: list[Any], failed: list[Step]) -> None:
        begin, at, doing, accumulator = -1, 0, "copy", None
        rest, append = iter(rows[:0]), made.append
        try:
            for start, end in zip(starts, ends, strict=True):
                if start == begin:
                    doing = "copy"
                    accumulator = copied(accumulator)
                else:
                    begin = at = start
                    accumulator = None
                doing = "add"
                rest = iter(rows[at:end])
                for row in rest:
                    if accumulator is None:
                        accumulator = row
                    elif row is not None:
                        accumulator = fn(accumulator, row)
                at = end
                append(accumulator)
        except BaseException:
            place = end - length_hint(rest) - 1 if doing == "add" else start
            failed.append((place, doing, place == begin, accumulator is None))
            raise

    return fold


def copied(accumulator: Any) -> Any:
    """An equal accumulator that does not change with the other: `copy.deepcopy`, quicker for what is flat."""
    kind = type(accumulator)
    if kind in _IMMUTABLE:
        return accumulator
    if kind in (dict, defaultdict):
        is_flat = _IMMUTABLE.issuperset(map(type, accumulator.values())) and _IMMUTABLE.issuperset(
            map(type, accumulator)
        )
    else:
        is_flat = kind in (list, set) and _IMMUTABLE.issuperset(map(type, accumulator))
    return accumulator.copy() if is_flat else deepcopy(accumulator)


_IMMUTABLE = frozenset({int, float, str, bytes, bool, NoneType})
