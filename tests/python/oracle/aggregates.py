"""Aggregates of one window in plain Python, recomputed from its rows, exact where numbers are.

Rows come by (time, arrival). An answer is a plain value, `Near` (a float within 1e-9 of the exact value), `OneOf`
(the rules leave the choice open) or `Unordered` (a list whose order is open).
"""

from __future__ import annotations

import decimal
import math
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from .records import Record, canonical

LARGEST = Fraction(sys.float_info.max)
SMALLEST = Fraction(math.ulp(0.0))
EXACT = decimal.Context(prec=120, Emin=-999_999, Emax=999_999)


@dataclass(frozen=True)
class Near:
    """A float: within 1e-9 of `exact`, or next to it (rules 6.6); infinite where no float is as large."""

    exact: Fraction

    def accepts(self, got: Any) -> bool:
        if not isinstance(got, float) or not math.isfinite(got):
            return abs(self.exact) > LARGEST and got == (math.inf if self.exact > 0 else -math.inf)
        return abs(Fraction(got) - self.exact) <= max(abs(self.exact) / 10**9, SMALLEST)


@dataclass(frozen=True)
class Root:
    """A float: within 1e-9 of the square root of `square`; infinite only where no float is as large."""

    square: Fraction

    def accepts(self, got: Any) -> bool:
        if not isinstance(got, float) or not math.isfinite(got) or got < 0:
            return self.square > LARGEST**2 and got == math.inf
        coarsest = (2 * Fraction(got) + SMALLEST) * SMALLEST
        return abs(Fraction(got) ** 2 - self.square) <= max(self.square * 2 / 10**9, coarsest)


@dataclass(frozen=True)
class OneOf:
    """Any of these values."""

    allowed: tuple[Any, ...]

    def accepts(self, got: Any) -> bool:
        return canonical(got) in [canonical(value) for value in self.allowed]


@dataclass(frozen=True)
class Unordered:
    """A list of these values in any order."""

    values: tuple[Any, ...]

    def accepts(self, got: Any) -> bool:
        return isinstance(got, list) and Counter(map(canonical, got)) == Counter(map(canonical, self.values))


def accepts(expected: Any, got: Any) -> bool:
    """Whether a result is the expected answer."""
    if isinstance(expected, Near | Root | OneOf | Unordered):
        return expected.accepts(got)
    return type(expected) is type(got) and canonical(expected) == canonical(got)


def rank(value: Any) -> Any:
    """What min and max compare: NaN is the greatest float, strings are their UTF-8 bytes."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value)
    return value.encode() if isinstance(value, str) else value


def values(rows: Sequence[Record], column: str) -> list[Any]:
    """The column's values that are not null."""
    return [row.values[column] for row in rows if row.values[column] is not None]


def special(numbers: list[Any]) -> float | None:
    """The sum of floats where it is not finite: NaN beats all, infinities of both signs make NaN."""
    odd = [number for number in numbers if isinstance(number, float) and not math.isfinite(number)]
    if not odd:
        return None
    return odd[0] if all(number == odd[0] for number in odd) else math.nan


def total(numbers: list[Any]) -> Any:
    """The exact sum."""
    if isinstance(numbers[0], Decimal):
        result = Decimal(0)
        for number in numbers:
            result = EXACT.add(result, number)
        return result
    if isinstance(numbers[0], timedelta):
        return sum(numbers, timedelta())
    if isinstance(numbers[0], float):
        return sum(map(Fraction, numbers), Fraction())
    return sum(numbers)


def sum_(rows: Sequence[Record], column: str) -> Any:
    """Null over no values; integers, decimals and durations exact."""
    numbers = values(rows, column)
    if not numbers:
        return None
    if (odd := special(numbers)) is not None:
        return odd
    exact = total(numbers)
    return Near(exact) if isinstance(exact, Fraction) else exact


def mean(rows: Sequence[Record], column: str, digits: int = 0) -> Any:
    """Decimals are rounded half up at `digits`, durations half up at the microsecond, all else is a float."""
    numbers = values(rows, column)
    if not numbers:
        return None
    if (odd := special(numbers)) is not None:
        return odd
    exact = total(numbers)
    if isinstance(exact, Decimal):
        quotient = EXACT.divide(exact, Decimal(len(numbers)))
        return quotient.quantize(Decimal(1).scaleb(-digits), decimal.ROUND_HALF_UP, EXACT)
    if isinstance(exact, timedelta):
        ticks = Fraction(exact // timedelta(microseconds=1), len(numbers))
        rounded = math.floor(abs(ticks) + Fraction(1, 2))
        return timedelta(microseconds=rounded if ticks >= 0 else -rounded)
    return Near(Fraction(exact) / len(numbers))


def spread(rows: Sequence[Record], column: str, less: int) -> Fraction | float | None:
    """Squared deviations from the mean over (count - `less`): 1 for a sample, 0 for a population."""
    numbers = values(rows, column)
    if len(numbers) <= less:
        return None
    if special(numbers) is not None:
        return math.nan
    exact = [Fraction(number) for number in numbers]
    middle = sum(exact, Fraction()) / len(exact)
    return sum(((number - middle) ** 2 for number in exact), Fraction()) / (len(exact) - less)


def variance(rows: Sequence[Record], column: str, less: int = 1) -> Any:
    """Null over no values, and of a sample also over one."""
    exact = spread(rows, column, less)
    return Near(exact) if isinstance(exact, Fraction) else exact


def stddev(rows: Sequence[Record], column: str, less: int = 1) -> Any:
    """The square root of the variance."""
    exact = spread(rows, column, less)
    return Root(exact) if isinstance(exact, Fraction) else exact


def extreme(rows: Sequence[Record], column: str, choose: Callable[..., Any]) -> Any:
    """The least or greatest value; null over no values."""
    found = values(rows, column)
    return choose(found, key=rank) if found else None


def at_extreme(rows: Sequence[Record], column: str, by: str, choose: Callable[..., Any]) -> Any:
    """The value of a row with the least or greatest `by`, which is not null; null where there is none."""
    ranks = [rank(row.values[by]) for row in rows if row.values[by] is not None]
    if not ranks:
        return None
    best = choose(ranks)
    return OneOf(
        tuple(row.values[column] for row in rows if row.values[by] is not None and rank(row.values[by]) == best)
    )


def edge(rows: Sequence[Record], column: str, index: int, ignore_nulls: bool = False) -> Any:
    """The first or last row's value, null included unless ignored."""
    found = values(rows, column) if ignore_nulls else [row.values[column] for row in rows]
    return found[index] if found else None


def collect_set(rows: Sequence[Record], column: str) -> Unordered:
    """The distinct values that are not null."""
    return Unordered(tuple({canonical(value): value for value in values(rows, column)}.values()))


def answer(function: str, rows: Sequence[Record], *columns: str, ignore_nulls: bool = False, digits: int = 0) -> Any:
    """What an aggregate, by its name in windrow, gives over the rows of one window."""
    match function:
        case "count":
            return len(values(rows, *columns)) if columns else len(rows)
        case "sum":
            return sum_(rows, *columns)
        case "mean":
            return mean(rows, *columns, digits)
        case "min" | "max":
            return extreme(rows, *columns, {"min": min, "max": max}[function])
        case "first" | "last":
            return edge(rows, *columns, {"first": 0, "last": -1}[function], ignore_nulls)
        case "any_value":
            found = values(rows, *columns)
            every = [row.values[columns[0]] for row in rows]
            return OneOf(tuple(found or [None]) if ignore_nulls else tuple(every))
        case "variance" | "var_pop":
            return variance(rows, *columns, {"variance": 1, "var_pop": 0}[function])
        case "stddev" | "stddev_pop":
            return stddev(rows, *columns, {"stddev": 1, "stddev_pop": 0}[function])
        case "collect_list":
            return values(rows, *columns)
        case "collect_set":
            return collect_set(rows, *columns)
        case "min_by" | "max_by":
            return at_extreme(rows, *columns, {"min_by": min, "max_by": max}[function])
    raise KeyError(function)
