"""Folds the windows of sorted rows with Python functions.

Windows that begin at the same row are next to each other, shorter ones first. The fold of a longer one continues the
fold of a shorter one, so a row is added once for all of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from copy import deepcopy
from operator import length_hint
from types import NoneType
from typing import Any

Runs = Callable[[list[Any], Sequence[int], Sequence[int], list[Any], list["Step"]], None]
"""Folds windows, each from a first row to before another one. Appends the values to a list.

If a function raises, its step is appended to the last list, and the exception is raised again.
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


# Both loops are written out, because they exist to save a call for each row.
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
    """An equal accumulator that does not change with the other: `copy.deepcopy`, but faster for flat values."""
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
