"""Aggregates of booleans and of the bits of integers: `bool_and`, `bool_or`, `bit_and`, `bit_or`, `bit_xor`.

Nulls are left out; a window without a value gives null.

The examples of this module share these lines:

>>> from datetime import datetime
>>> import pyarrow as pa
>>> import windrow as wr
>>> checks = pa.table(
...     {
...         "pump": ["north", "north", "north"],
...         "ts": [datetime(2026, 1, 1, hour) for hour in (8, 9, 10)],
...         "sealed": [True, False, None],
...         "flags": [0b011, 0b110, None],
...     }
... )
>>> day = wr.group_by(checks, "pump", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow._aggregates.aggregate import Aggregate, of_columns

if TYPE_CHECKING:
    from windrow._arguments.expression import ColumnName


def bool_and(column: ColumnName) -> Aggregate:
    """Whether every value of a boolean column is true.

    Raises:
        TypeError: from `agg`, for a column of anything but booleans.

    >>> day.agg(sealed=wr.bool_and("sealed"))["sealed"].to_pylist()
    [False]
    """
    return of_columns("bool_and", column=column)


def bool_or(column: ColumnName) -> Aggregate:
    """Whether any value of a boolean column is true.

    Raises:
        TypeError: from `agg`, for a column of anything but booleans.

    >>> day.agg(sealed=wr.bool_or("sealed"))["sealed"].to_pylist()
    [True]
    """
    return of_columns("bool_or", column=column)


def bit_and(column: ColumnName) -> Aggregate:
    """The bits that every value has; the result has the column's type.

    Raises:
        TypeError: from `agg`, for a column of anything but integers.

    >>> day.agg(flags=wr.bit_and("flags"))["flags"].to_pylist()
    [2]
    """
    return of_columns("bit_and", column=column)


def bit_or(column: ColumnName) -> Aggregate:
    """The bits that any value has; the result has the column's type.

    Raises:
        TypeError: from `agg`, for a column of anything but integers.

    >>> day.agg(flags=wr.bit_or("flags"))["flags"].to_pylist()
    [7]
    """
    return of_columns("bit_or", column=column)


def bit_xor(column: ColumnName) -> Aggregate:
    """The bits that an odd number of values has; the result has the column's type.

    Raises:
        TypeError: from `agg`, for a column of anything but integers.

    >>> day.agg(flags=wr.bit_xor("flags"))["flags"].to_pylist()
    [5]
    """
    return of_columns("bit_xor", column=column)
