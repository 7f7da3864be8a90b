"""Converts Arrow values to Python values. Arrow has times and durations that Python cannot represent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.duration import TIME_UNITS
from windrow._folds.python_shape import has_type

_ALLOWED = (
    "times of the years 1 to 9999, times of day before 24:00 in whole microseconds, and durations of less than a "
    "billion days, as Python has no others"
)
_WITHOUT_PANDAS = "times and durations in whole microseconds, as Python has no others; pandas has nanoseconds"


def values_of(column: str, values: pa.Array[Any]) -> list[Any]:
    """The values of a column of that name.

    Raises:
        OverflowError: a time or a duration that Python does not have; the message names the column and the first one.

    >>> values_of("ts", pa.array([253402300799, 253402300800]).cast(pa.timestamp("s")))
    Traceback (most recent call last):
    OverflowError: column 'ts': got 10000-01-01 00:00:00; allowed: times of the years 1 to 9999, times ...
    """
    try:
        return _listed(values)
    except UnicodeError:
        raise
    except (OverflowError, ValueError):  # of nanoseconds without pandas
        raise OverflowError(_message(column, values)) from None


def _message(column: str, values: pa.Array[Any]) -> str:
    if isinstance(values, pa.StructArray):
        for field, part in zip(values.type, values.flatten(), strict=True):
            if not _is_python(part):
                return _message(f"{column}.{field.name}", part)
    bad = next(one for row in range(len(values)) if not _is_python(one := values.slice(row, 1)))
    kind: Any = bad.type
    allowed = _WITHOUT_PANDAS if getattr(kind, "unit", "") == "ns" and not pa.types.is_time(kind) else _ALLOWED
    whole = f"; or an int{kind.bit_width}, to which the column can be cast" if pa.types.is_temporal(kind) else ""
    return f"column {column!r}: got {text_of(bad)}; allowed: {allowed}{whole}"


def text_of(value: pa.Array[Any]) -> str:
    """An array of one value as Arrow writes it."""
    return " ".join(value.to_string().split()).removeprefix("[ ").removesuffix(" ]")


def value_text(value: pa.Array[Any], write: Callable[[Any], str] = str) -> str:
    """An array of one value as Python writes it, or as Arrow does where Python has no such value.

    >>> value_text(pa.array([1]).cast(pa.time64("us"))), value_text(pa.array([1]).cast(pa.time64("ns")))
    ('00:00:00.000001', '00:00:00.000000001')
    """
    try:
        return write(values_of("value", value)[0])
    except OverflowError:
        if not isinstance(value, pa.StructArray):
            return text_of(value)
    parts = zip(value.type, value.flatten(), strict=True)
    return f"{{{', '.join(f'{field.name!r}: {value_text(part, repr)}' for field, part in parts)}}}"


def _is_python(values: pa.Array[Any]) -> bool:
    try:
        _listed(values)
    except (OverflowError, ValueError):
        return False
    return True


def _listed(values: pa.Array[Any]) -> list[Any]:
    if _is_cut(values):
        raise OverflowError
    listed: list[Any] = values.to_pylist()
    return listed


def _is_cut(values: Any) -> bool:
    """Whether pyarrow would cut a time of day to whole microseconds, or make 00:00 of 24:00, without an error."""
    kind = values.type
    if pa.types.is_time(kind):
        ticks = values.cast(pa.int64() if kind.bit_width == 64 else pa.int32()).cast(pa.int64())
        first, last = (pa.scalar(bound, pa.int64()) for bound in (0, 86_400 * TIME_UNITS[kind.unit].per_second))
        is_cut: Any = pc.or_(pc.less(ticks, first), pc.greater_equal(ticks, last))
        if kind.unit == "ns":
            whole = pc.multiply(pc.divide(ticks, pa.scalar(1_000)), pa.scalar(1_000))
            is_cut = pc.or_(is_cut, pc.not_equal(ticks, whole))
        return bool(pc.any(is_cut).as_py())
    if pa.types.is_dictionary(kind):
        return _is_cut(values.dictionary)
    if pa.types.is_map(kind):
        return _is_cut(values.keys) or _is_cut(values.items)
    if pa.types.is_struct(kind):
        return any(map(_is_cut, values.flatten()))
    if not has_type(kind, pa.types.is_time):
        return False
    if pa.types.is_run_end_encoded(kind):
        return _is_cut(values.values.slice(values.find_physical_offset(), values.find_physical_length()))
    # One by one: pyarrow flattens lists of some types only.
    lists = [values.slice(row, 1) for row in range(len(values))] if hasattr(values, "flatten") else []
    return any(_is_cut(one.flatten()) for one in lists if not one.null_count)
