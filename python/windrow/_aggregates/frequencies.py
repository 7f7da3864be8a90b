"""Values with how often they occur: `mode`, `top_k`, `histogram_numeric`.

A state holds each distinct value with how often it occurs, so that answers are exact, and depend on the values alone:
not on their order, nor on how records were cut into batches.

The examples of this module go on from here:

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
    from windrow._arguments.column import ColumnName

_MOST = 1_000_000


def mode(column: ColumnName) -> Aggregate:
    """The value that occurs most often, of several the smallest (Spark's `mode(column, deterministic=True)`).

    Nulls are left out; a window without a value gives null. The result has the column's type.

    Raises:
        TypeError: from `agg`, for a column without an order, such as maps, or of ordered
            dictionaries: cast these to their values or codes.

    >>> day.agg(city=wr.mode("city"))["city"].to_pylist()
    ['Ulm']
    """
    return of_columns("mode", column=column)


def top_k(column: ColumnName, k: int = 5) -> Aggregate:
    """The values that occur most often, each with how often it does: an array of structs of `item` and `count`.

    Spark's `approx_top_k`, but exact: most often first, of those that occur equally often the smaller ones first. Null
    is an item as in Spark, behind values that occur as often; `.where(...)` leaves it out. Empty over no records.

    Args:
        column: anything that has an order; `item` has its type.
        k: how many at most, 1 to 1,000,000.

    Raises:
        TypeError: `k` is no int; from `agg`, for a column without an order, such as maps, or of ordered
            dictionaries: cast these to their values or codes.
        ValueError: `k` out of its bounds.

    >>> day.agg(cities=wr.top_k("city", 2))["cities"].to_pylist()
    [[{'item': 'Ulm', 'count': 2}, {'item': 'Bonn', 'count': 1}]]
    """
    return of_columns("top_k", {"most": _most("top_k(k=)", k, least=1)}, column=column)


def histogram_numeric(column: ColumnName, n_bins: int) -> Aggregate:
    """The values in bins of unequal width: an array of structs of `x`, the mean of a bin, and `y`, how many are in it.

    Spark's `histogram_numeric`. Bins are ascending. Each distinct value begins as a bin of its own; while there are
    more than `n_bins`, the two with the nearest means, of several such pairs the lowest, become one. So `y` counts
    exactly the values of a stretch, and `x` is their mean, as a double has it, where they are several; with no more
    than `n_bins` distinct values each has a bin. Spark merges bins as values come: there both depend on their order.

    Nulls are left out; a window without a value gives null. NaN is the largest value. An infinity shares a bin with
    others only where all numbers are in one bin already. Over sliding windows each window's bins are made anew, which
    takes time for each distinct value in each window.

    Args:
        column: numbers, dates, times of day, timestamps or day-time intervals. `x` has its type: of integers, dates and
            times the mean without what is behind the point, of decimals the rounded one. `y` is a float64.
        n_bins: how many bins at most, 2 to 1,000,000; 20 to 40 show most distributions.

    Raises:
        TypeError: `n_bins` is no int; from `agg`, for a column of anything else.
        ValueError: `n_bins` out of its bounds.

    >>> day.agg(miles=wr.histogram_numeric("miles", 3))["miles"].to_pylist()
    [[{'x': 1, 'y': 2.0}, {'x': 5, 'y': 2.0}, {'x': 30, 'y': 1.0}]]
    """
    most = _most("histogram_numeric(n_bins=)", n_bins, least=2)
    return of_columns("histogram_numeric", {"most": most}, column=column)


def _most(argument: str, most: int, *, least: int) -> int:
    return integer(argument, most, f"an int from {least} to {_MOST:,}", least=least, most=_MOST)
