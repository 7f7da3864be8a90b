"""Checks values against the types of their columns: a value is converted exactly, or refused."""

from __future__ import annotations

from math import isnan
from typing import Any

import pyarrow as pa

from windrow._aggregates.conversion import FAMILIES
from windrow._arguments.errors import bad_column_type, bad_type, bad_value
from windrow._arguments.nested import nullable, nulls
from windrow._arguments.type_names import is_number
from windrow._executor.empty_arrays import column_of, decoded
from windrow._folds.check import check_of
from windrow._folds.check_scalar import UnfitError


def cell_of(name: str, value: Any, kind: Any) -> pa.Array[Any]:
    """A value of Python or a scalar of Arrow, which has all times, as an array of one row. None is null.

    Raises:
        TypeError: a value of a class that the type does not allow; the message starts with `name`.
        ValueError: a value that the type cannot hold as it is.
    """
    if isinstance(value, pa.Scalar):
        return _cell_of_scalar(name, value, kind)
    try:
        # pa.array knows no null of a union, and makes a wrong one of a struct of dictionaries.
        cell: pa.Array[Any] = nulls(1, kind) if value is None else pa.array([check_of(kind)(value)], kind)
    except UnfitError as unfit:
        raise unfit.error(name) from None
    except (pa.ArrowException, ValueError, OverflowError) as error:
        raise bad_value(name, value, f"a value of {kind} ({error})") from None
    return cell


def _cell_of_scalar(name: str, value: Any, kind: Any) -> pa.Array[Any]:
    cell: Any = pa.repeat(value, 1)
    try:
        return cast_of(name, cell.dictionary_decode() if pa.types.is_dictionary(cell.type) else cell, kind)
    except (pa.ArrowException, TypeError, ValueError):
        raise bad_type(name, value, f"a value that {kind} holds exactly") from None


def cast_of(name: str, column: pa.Array[Any], kind: pa.DataType) -> pa.Array[Any]:
    """A column of the data in the type that is declared for it; none of its values changes.

    A number converts only if both types hold it exactly: 0.5 in a float64 converts to float32 and to decimals, 0.1 to
    neither. Integers beyond 2**53 do not convert to floats, nor integers to decimals that are narrower than their type.

    Raises:
        TypeError: a type whose values are others.
        ValueError: a value that the declared type cannot hold.
    """
    if nullable(kind) in (nullable(column.type), nullable(decoded(column.type))):
        same: pa.Array[Any] = column_of(name, column, kind)
        return same
    column_of(name, column, column.type)
    actual, declared = (each.value_type if pa.types.is_dictionary(each) else each for each in (column.type, kind))
    if actual != declared and not pa.types.is_null(actual) and not any(of(actual) and of(declared) for of in FAMILIES):
        raise bad_column_type("data", name, column.type, f"{kind}, the declared type")
    try:
        casted = column.cast(kind)
    except (pa.ArrowException, ValueError) as error:
        raise ValueError(f"data: column {name!r} has values that {kind} does not hold: {error}") from None
    if is_number(actual) and is_number(declared):
        # Arrow rounds on its way to floats, and from floats to decimals; Python compares numbers as they are.
        for value, cell in zip(_numbers(column), _numbers(casted), strict=True):
            if value != cell and not (isnan(value) and isnan(cell)):
                raise bad_value(f"data: column {name!r}", value, f"numbers that {kind} holds exactly")
    return casted


def _numbers(column: pa.Array[Any]) -> list[Any]:
    """Numbers for Python to compare; half a float would round what it is compared with."""
    wide: list[Any] = (column.cast(pa.float64()) if pa.types.is_float16(column.type) else column).to_pylist()
    return wide
