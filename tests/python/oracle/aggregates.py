"""Aggregates of one window in plain Python, recomputed from its rows, exact where numbers are.

Rows come by (time, arrival). An answer is a plain value, or one of `answers`.
"""

from __future__ import annotations

import decimal
import functools
import math
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from .answers import Beside, Bins, Cut, Each, Near, OneOf, Quotient, Root, Unordered
from .records import Record, canonical

EXACT = decimal.Context(prec=120, Emin=-999_999, Emax=999_999)


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
    """Null without values; integers, decimals and durations exact."""
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
    return sum((each**2 for each in deviations(numbers)), Fraction()) / (len(numbers) - less)


def variance(rows: Sequence[Record], column: str, less: int = 1) -> Any:
    """Null without values, and for a sample also with one."""
    exact = spread(rows, column, less)
    return Near(exact) if isinstance(exact, Fraction) else exact


def stddev(rows: Sequence[Record], column: str, less: int = 1) -> Any:
    """The square root of the variance."""
    exact = spread(rows, column, less)
    return Root(exact) if isinstance(exact, Fraction) else exact


def extreme(rows: Sequence[Record], column: str, choose: Callable[..., Any]) -> Any:
    """The least or greatest value; null without values."""
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


def path(rows: Sequence[Record], column: str) -> list[Any]:
    """The values without those that repeat the one before."""
    found = values(rows, column)
    return [value for place, value in enumerate(found) if not place or canonical(found[place - 1]) != canonical(value)]


def collect_set(rows: Sequence[Record], column: str) -> Unordered:
    """The distinct values that are not null."""
    return Unordered(tuple({canonical(value): value for value in values(rows, column)}.values()))


def distinct(rows: Sequence[Record], *columns: str) -> list[tuple[Any, ...]]:
    """The distinct rows of some columns in which none is null; 0.0 for both zeros."""
    found = [tuple(row.values[column] for column in columns) for row in rows]
    return list({canonical(each): each for each in found if None not in each}.values())


def sum_distinct(rows: Sequence[Record], column: str) -> Any:
    """The sum of the distinct values."""
    return sum_([Record((), 0, 0, {column: value}) for (value,) in distinct(rows, column)], column)


def bits(rows: Sequence[Record], column: str, combine: Callable[[int, int], int]) -> int | None:
    """The values combined bit by bit."""
    found = values(rows, column)
    return functools.reduce(combine, found) if found else None


def product(rows: Sequence[Record], column: str) -> Any:
    """The exact product as a float."""
    numbers = values(rows, column)
    if not numbers:
        return None
    odd = [number for number in numbers if isinstance(number, float) and not math.isfinite(number)]
    if odd:
        return math.prod([*odd, *(math.copysign(bool(number), number) for number in numbers if number not in odd)])
    return Near(math.prod(map(Fraction, numbers)))


def mode(rows: Sequence[Record], column: str) -> Any:
    """The value that occurs most often, of several the smallest; -0.0 is 0.0."""
    found = values(rows, column)
    times = Counter(canonical(value) for value in found)
    most = [value for value in found if times[canonical(value)] == max(times.values())]
    chosen = min(most, key=rank, default=None)
    return chosen + 0.0 if isinstance(chosen, float) else chosen


def top_k(rows: Sequence[Record], column: str, most: int) -> list[dict[str, Any]]:
    """The most frequent values with their counts; equally frequent ones ascending, null last."""
    found = [row.values[column] for row in rows]
    times = Counter(canonical(value) for value in found)
    first = {canonical(value): value + 0.0 if isinstance(value, float) else value for value in found}
    order = sorted(first, key=lambda each: (-times[each], each is None, None if each is None else rank(first[each])))
    return [{"item": first[each], "count": times[each]} for each in order[:most]]


def percentile(rows: Sequence[Record], column: str, share: float) -> Any:
    """At place `share * (count - 1)` of the sorted values, in proportion between two."""
    found = sorted(values(rows, column), key=rank)
    if not found:
        return None
    place = share * (len(found) - 1)
    low, high = found[math.floor(place)], found[math.ceil(place)]
    part = Fraction(place) - math.floor(place)
    if canonical(low) == canonical(high) or not part:
        return Near(Fraction(low)) if math.isfinite(low) else low
    if math.isfinite(low) and math.isfinite(high):
        parts = Fraction(low) * (1 - part), Fraction(high) * part
        return Beside(sum(parts), max(parts[0] ** 2, parts[1] ** 2))  # of two signs, they may cancel
    return float(low) + float(high)  # infinities and NaN win, whatever their parts


def at_least(rows: Sequence[Record], column: str, share: float) -> Any:
    """The least value that so large a share of the values is not above."""
    found = sorted(values(rows, column), key=rank)
    reached = (place for place in range(len(found)) if place + 1 >= share * len(found))
    return next((found[place] for place in reached), None)


def deviations(numbers: Sequence[Any]) -> list[Fraction]:
    """How far each number is from the mean of all."""
    exact = [Fraction(number) for number in numbers]
    middle = sum(exact, Fraction()) / len(exact)
    return [number - middle for number in exact]


def shape(rows: Sequence[Record], column: str, power: int) -> Any:
    """The skewness (power 3) or kurtosis (power 4); null where nothing deviates."""
    numbers = values(rows, column)
    if special(numbers) is not None:
        return math.nan
    apart = deviations(numbers) if numbers else []
    squares = sum((each**2 for each in apart), Fraction())
    if not squares:
        return None
    powers, count = sum((each**power for each in apart), Fraction()), len(apart)
    # skewness: sqrt(n) m3 / m2^1.5; kurtosis: n m4 / m2² - 3, as a quotient of roots
    return Quotient(powers, squares**3 / count) if power == 3 else Quotient(count * powers, squares**4, 3)


def relation(rows: Sequence[Record], x: str, y: str, function: str) -> Any:
    """The covariance or correlation of the rows that have both values."""
    pairs = [(row.values[x], row.values[y]) for row in rows if None not in (row.values[x], row.values[y])]
    if len(pairs) <= (function != "covar_pop"):
        return None
    xs, ys = zip(*pairs, strict=True)
    if special(list(xs)) is not None or special(list(ys)) is not None:
        return math.nan
    left, right = deviations(xs), deviations(ys)
    products = sum((one * other for one, other in zip(left, right, strict=True)), Fraction())
    squares = sum((one**2 for one in left), Fraction()) * sum((other**2 for other in right), Fraction())
    if function != "corr":
        divisor = len(pairs) - (function == "covar_samp")
        return Beside(products / divisor, squares / divisor**2)
    return Quotient(products, squares) if squares else None


def taken(function: str, rows: Sequence[Record], *columns: str, ignore_nulls: bool = False) -> int:
    """How many of the rows an aggregate takes."""
    if function in ("first", "last", "any_value", "top_k") and not ignore_nulls:
        return len(rows)
    needed = columns[1:] if function in ("min_by", "max_by") else columns
    return sum(all(row.values[column] is not None for column in needed) for row in rows)


def answer(
    function: str,
    rows: Sequence[Record],
    *columns: str,
    ignore_nulls: bool = False,
    digits: int = 0,
    percentage: float | tuple[float, ...] | None = None,
    most: int | None = None,
) -> Any:
    """What an aggregate, by its name in windrow, gives over the rows of one window."""
    match function:
        case "count_distinct":
            return len(distinct(rows, *columns))
        case "sum_distinct":
            return sum_distinct(rows, *columns)
        case "bool_and" | "bool_or":
            found = values(rows, *columns)
            return {"bool_and": all, "bool_or": any}[function](found) if found else None
        case "bit_and" | "bit_or" | "bit_xor":
            operation = {"bit_and": operator.and_, "bit_or": operator.or_, "bit_xor": operator.xor}[function]
            return bits(rows, *columns, operation)
        case "product":
            return product(rows, *columns)
        case "mode":
            return mode(rows, *columns)
        case "top_k" if most is not None:
            return top_k(rows, *columns, most)
        case "histogram_numeric" if most is not None:
            found = sorted(values(rows, *columns), key=rank)
            return Bins(tuple(found), most) if found else None
        case "median":
            return percentile(rows, *columns, 0.5)
        case "percentile" if isinstance(percentage, tuple):
            found = [percentile(rows, *columns, share) for share in percentage]
            return None if None in found else Each(tuple(found))
        case "percentile" if percentage is not None:
            return percentile(rows, *columns, percentage)
        case "approx_count_distinct":
            return len(distinct(rows, *columns))  # few values are distinguished exactly
        case "approx_percentile":
            shares = percentage if isinstance(percentage, tuple) else (percentage or 0.0,)
            cut = tuple(at_least(rows, *columns, share) for share in shares)
            each = None if None in cut else Each(tuple(map(Cut, cut)))
            return each if each is None or isinstance(percentage, tuple) else each.values[0]
        case "skewness" | "kurtosis":
            return shape(rows, *columns, {"skewness": 3, "kurtosis": 4}[function])
        case "covar_pop" | "covar_samp" | "corr":
            return relation(rows, *columns, function)
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
            return OneOf(tuple((found if ignore_nulls else every) or [None]))
        case "variance" | "var_pop":
            return variance(rows, *columns, {"variance": 1, "var_pop": 0}[function])
        case "stddev" | "stddev_pop":
            return stddev(rows, *columns, {"stddev": 1, "stddev_pop": 0}[function])
        case "collect_list":
            return values(rows, *columns)
        case "path":
            return path(rows, *columns)
        case "collect_set":
            return collect_set(rows, *columns)
        case "min_by" | "max_by":
            return at_extreme(rows, *columns, {"min_by": min, "max_by": max}[function])
    raise KeyError(function)
