"""Values by their frequency: `mode`, `top_k`, `histogram_numeric`.

The state holds each distinct value and its count. Answers are exact and depend on the values alone: not on their order,
nor on the batches in which records arrive.

The examples of this module share these lines:

>>> from datetime import datetime
>>> import pyarrow as pa
>>> import windrow as wr
>>> trips = pa.table(
...     {
...         "user": ["ann"] * 5,
...         "ts": [datetime(2026, 1, 1, hour) for hour in (8, 9, 10, 11, 12)],
...         "city": ["Ulm", "Bonn", "Ulm", "Köln", None],
...         "miles": [1, 2, 6, 30, 5],
...     }
... )
>>> day = wr.group_by(trips, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow._aggregates.aggregate import Aggregate, of_columns
from windrow._arguments.integer import integer

if TYPE_CHECKING:
    from windrow._arguments.expression import ColumnName

_MOST = 1_000_000


def mode(column: ColumnName) -> Aggregate:
    """The most frequent value, the smallest of several (Spark's `mode(column, deterministic=True)`).

    Nulls are left out; a window without a value gives null. The result has the column's type.

    Raises:
        TypeError: from `agg`, for a column without an order, such as maps, or of ordered dictionaries: cast these to
            their values or codes.

    >>> day.agg(city=wr.mode("city"))["city"].to_pylist()
    ['Ulm']
    """
    return of_columns("mode", column=column)


def top_k(column: ColumnName, k: int = 5) -> Aggregate:
    """The most frequent values with their counts: an array of structs of `item` and `count`.

    Spark's `approx_top_k`, but exact. The most frequent value comes first; equally frequent ones are in ascending
    order. As in Spark null is an item, after the values of the same count; `.where(...)` leaves it out. Empty over no
    records.

    Args:
        column: anything that has an order; `item` has its type.
        k: the greatest length of the array, 1 to 1,000,000.

    Raises:
        TypeError: `k` is not an int; from `agg`, for a column without an order, such as maps, or of ordered
            dictionaries: cast these to their values or codes.
        ValueError: `k` is out of its bounds.

    >>> day.agg(cities=wr.top_k("city", 2))["cities"].to_pylist()
    [[{'item': 'Ulm', 'count': 2}, {'item': 'Bonn', 'count': 1}]]
    """
    return of_columns("top_k", {"most": _most("top_k(k=)", k, least=1)}, column=column)


def histogram_numeric(column: ColumnName, n_bins: int) -> Aggregate:
    """A histogram with bins of unequal width: an array of structs of `x`, the mean of a bin, and `y`, its count.

    Spark's `histogram_numeric`. Bins are ascending. At first each distinct value is a bin. While there are more than
    `n_bins`, the two bins with the nearest means become one; of several pairs that are equally near, the lowest one. So
    `y` is the exact count of a range of values, and `x` their mean in double precision. With at most `n_bins` distinct
    values each has a bin. Spark merges bins as values arrive, so its `x` and `y` depend on their order.

    Nulls are left out; a window without a value gives null. NaN is the largest value. An infinity shares a bin with
    other values only if all numbers are in one bin already. Sliding windows compute the bins of each window from
    scratch, in time proportional to its distinct values.

    Args:
        column: numbers, dates, times of day, timestamps or day-time intervals. `x` has its type: for integers, dates
            and times the mean without its fraction, for decimals the rounded mean. `y` is a float64.
        n_bins: the greatest number of bins, 2 to 1,000,000; 20 to 40 show most distributions.

    Raises:
        TypeError: `n_bins` is not an int; from `agg`, for a column of anything else.
        ValueError: `n_bins` is out of its bounds.

    >>> day.agg(miles=wr.histogram_numeric("miles", 3))["miles"].to_pylist()
    [[{'x': 1, 'y': 2.0}, {'x': 5, 'y': 2.0}, {'x': 30, 'y': 1.0}]]
    """
    most = _most("histogram_numeric(n_bins=)", n_bins, least=2)
    return of_columns("histogram_numeric", {"most": most}, column=column)


def _most(argument: str, most: int, *, least: int) -> int:
    return integer(argument, most, f"an int from {least} to {_MOST:,}", least=least, most=_MOST)
