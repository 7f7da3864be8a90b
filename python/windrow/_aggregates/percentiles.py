"""Values by their place in sorted order: `median`, `percentile`, `approx_percentile`.

Nulls are left out; a window without a value gives null; NaN is the largest number. The state holds each distinct value
and its count; for `approx_percentile`, each distinct rounded value.

The examples of this module share these lines:

>>> from datetime import datetime
>>> import pyarrow as pa
>>> import windrow as wr
>>> hours = [datetime(2026, 1, 1, hour) for hour in (8, 9, 10, 11)]
>>> feet = [5_281, 10_559, 15_841, 52_803]
>>> trips = pa.table({"user": ["ann"] * 4, "ts": hours, "miles": [1, 2, 3, 10], "feet": feet})
>>> day = wr.group_by(trips, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from windrow._aggregates.aggregate import Aggregate, of_columns
from windrow._arguments.errors import bad_type, bad_value
from windrow._arguments.integer import integer

if TYPE_CHECKING:
    from windrow._arguments.expression import ColumnName

_SHARES = "a number from 0 to 1, or a list of such numbers"
_MOST_ACCURACY = 1_000_000


def median(column: ColumnName) -> Aggregate:
    """The value in the middle, as a float64, or the mean of the two in the middle. The same as `percentile(column,
    0.5)`.

    Raises:
        TypeError: from `agg`, for a column of anything but numbers.

    >>> day.agg(usual=wr.median("miles"))["usual"].to_pylist()
    [2.5]
    """
    return of_columns("median", column=column)


def percentile(column: ColumnName, percentage: float | Sequence[float]) -> Aggregate:
    """The exact value below which the share `percentage` of all values lies: a float64, or a list of them for several
    shares.

    It is at place `percentage * (count - 1)` of the sorted values, counted from 0. Between two places it is
    interpolated, as in Spark's `percentile`. Between a number and an infinity the result is the infinity, and between
    the two infinities it is NaN.

    Args:
        column: numbers.
        percentage: from 0 (the smallest value) to 1 (the largest), or a list of such numbers.

    Raises:
        TypeError: `percentage` is neither; from `agg`, for a column of anything but numbers.
        ValueError: a number below 0 or above 1, or an empty list.

    >>> day.agg(ends=wr.percentile("miles", [0, 1]))["ends"].to_pylist()
    [[1.0, 10.0]]
    """
    shares = _shares("percentile(percentage=)", percentage)
    return of_columns("percentile", {"percentage": shares}, column=column)


def approx_percentile(column: ColumnName, percentage: float | Sequence[float], accuracy: int = 10_000) -> Aggregate:
    """The approximate value that the share `percentage` of all values does not exceed: of the column's type, or a list.

    Values are first rounded toward zero to some significant bits. So the state holds at most about twice `accuracy`
    values for each power of two that the values span, however many records there are. The answer is closer to zero than
    the exact value, by less than one part in `accuracy`; integers below `accuracy` are exact. The order of records does
    not matter. (Spark bounds the rank instead: in sorted order, its answer is less than `count / accuracy` places off.)

    Args:
        column: numbers.
        percentage: from 0 (the smallest value) to 1 (the largest), or a list of such numbers.
        accuracy: 1 to 1,000,000.

    Raises:
        TypeError: `percentage` or `accuracy` is none of these; from `agg`, for a column of anything but numbers.
        ValueError: a number out of its bounds, or an empty list.

    >>> day.agg(usual=wr.approx_percentile("feet", 0.5, accuracy=100))["usual"].to_pylist()
    [10496]
    """
    shares = _shares("approx_percentile(percentage=)", percentage)
    allowed = f"an int from 1 to {_MOST_ACCURACY:,}"
    exact = integer("approx_percentile(accuracy=)", accuracy, allowed, least=1, most=_MOST_ACCURACY)
    return of_columns("approx_percentile", {"percentage": shares, "accuracy": exact}, column=column)


def _shares(argument: str, percentage: Any) -> float | tuple[float, ...]:
    if isinstance(percentage, int | float):
        return _share(argument, percentage)
    if isinstance(percentage, str) or not isinstance(percentage, Sequence):
        raise bad_type(argument, percentage, _SHARES)
    if not percentage:
        raise bad_value(argument, percentage, "at least one number")
    return tuple(_share(argument, share) for share in percentage)


def _share(argument: str, share: Any) -> float:
    if isinstance(share, bool) or not isinstance(share, int | float):
        raise bad_type(argument, share, _SHARES)
    if not 0 <= share <= 1:
        raise bad_value(argument, share, _SHARES)
    return float(share)
