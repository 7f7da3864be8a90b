"""Statistics: `skewness`, `kurtosis`, `covar_pop`, `covar_samp`, `corr`.

Nulls are left out; a window without a value gives null. If a value is NaN or infinite, the result is NaN.

The examples of this module share these lines:

>>> from datetime import datetime
>>> import pyarrow as pa
>>> import windrow as wr
>>> trips = pa.table(
...     {
...         "user": ["ann"] * 4,
...         "ts": [datetime(2026, 1, 1, hour) for hour in (8, 9, 10, 11)],
...         "miles": [1, 2, 3, 10],
...         "fare": [3.0, 5.0, 7.0, 21.0],
...     }
... )
>>> day = wr.group_by(trips, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow._aggregates.aggregate import Aggregate, of_columns

if TYPE_CHECKING:
    from windrow._arguments.expression import ColumnName


def skewness(column: ColumnName) -> Aggregate:
    """How much longer the tail of larger values is, as a float64; null where all values are equal.

    The third central moment over the third power of the standard deviation, both of the population.

    Raises:
        TypeError: from `agg`, for a column of anything but numbers.

    >>> [round(skew, 3) for skew in day.agg(skew=wr.skewness("miles"))["skew"].to_pylist()]
    [1.018]
    """
    return of_columns("skewness", column=column)


def kurtosis(column: ColumnName) -> Aggregate:
    """How heavy the tails are, less the 3 of a normal distribution, as a float64; null where all values are equal.

    The fourth central moment over the square of the variance, both of the population, less 3.

    Raises:
        TypeError: from `agg`, for a column of anything but numbers.

    >>> [round(tails, 3) for tails in day.agg(tails=wr.kurtosis("miles"))["tails"].to_pylist()]
    [-0.77]
    """
    return of_columns("kurtosis", column=column)


def covar_pop(column: ColumnName, other: ColumnName) -> Aggregate:
    """The covariance of the population, as a float64, over the records that have a value in both columns.

    Raises:
        TypeError: from `agg`, for columns of anything but numbers.

    >>> day.agg(both=wr.covar_pop("miles", "fare"))["both"].to_pylist()
    [25.0]
    """
    return of_columns("covar_pop", column=column, other=other)


def covar_samp(column: ColumnName, other: ColumnName) -> Aggregate:
    """The covariance of the sample, as a float64, over the records that have a value in both columns; null for one.

    Raises:
        TypeError: from `agg`, for columns of anything but numbers.

    >>> [round(both, 3) for both in day.agg(both=wr.covar_samp("miles", "fare"))["both"].to_pylist()]
    [33.333]
    """
    return of_columns("covar_samp", column=column, other=other)


def corr(column: ColumnName, other: ColumnName) -> Aggregate:
    """The correlation of Pearson, as a float64 from -1 to 1, over the records that have a value in both columns.

    It is null for a single such record, and if all values of a column are equal.

    Raises:
        TypeError: from `agg`, for columns of anything but numbers.

    >>> [round(both, 3) for both in day.agg(both=wr.corr("miles", "fare"))["both"].to_pylist()]
    [1.0]
    """
    return of_columns("corr", column=column, other=other)
