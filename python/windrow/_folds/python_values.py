"""Converts Arrow values to Python values. Arrow has times and durations that Python cannot represent."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

_ALLOWED = "times of the years 1 to 9999 and durations of less than a billion days, as Python has no others"


def values_of(column: str, values: pa.Array[Any]) -> list[Any]:
    """The values of a column of that name.

    Raises:
        OverflowError: a time or a duration that Python does not have; the message names the column and the first one.

    >>> values_of("ts", pa.array([253402300799, 253402300800]).cast(pa.timestamp("s")))
    Traceback (most recent call last):
    OverflowError: column 'ts': got 10000-01-01 00:00:00; allowed: times of the years 1 to 9999 and ...
    """
    try:
        return _listed(values)
    except OverflowError:
        raise OverflowError(_message(column, values)) from None


def _message(column: str, values: pa.Array[Any]) -> str:
    if isinstance(values, pa.StructArray):
        for field, part in zip(values.type, values.flatten(), strict=True):
            if not _is_python(part):
                return _message(f"{column}.{field.name}", part)
    bad = next(one for row in range(len(values)) if not _is_python(one := values.slice(row, 1)))
    shown = " ".join(bad.to_string().split()).removeprefix("[ ").removesuffix(" ]")
    return f"column {column!r}: got {shown}; allowed: {_ALLOWED}"


def _is_python(values: pa.Array[Any]) -> bool:
    try:
        _listed(values)
    except OverflowError:
        return False
    return True


def _listed(values: pa.Array[Any]) -> list[Any]:
    listed: list[Any] = values.to_pylist()
    return listed
