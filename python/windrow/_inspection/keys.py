"""Parses the user's keys and finds the rows that have them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.column import Names
from windrow._arguments.errors import bad_type, bad_value
from windrow._inspection.trace import Key
from windrow._plan.plan import SERIES


def key_of(argument: str, value: object, fields: Sequence[pa.Field[Any]]) -> Key:
    """The key for a user's value: the value of the key column, a tuple of values for several, None without keys.

    Raises:
        ValueError: a wrong number of values, or all values are null.
        TypeError: a value that its column cannot hold.
    """
    if [field.name for field in fields] == [SERIES]:
        if value is not None:
            raise bad_value(argument, value, "None, as the query has no keys")
        return (0,)
    names = ", ".join(repr(field.name) for field in fields)
    values = value if isinstance(value, tuple) and len(fields) > 1 else (value,)
    if len(values) != len(fields):
        raise bad_value(argument, value, f"a tuple of {len(fields)} values, of {names}")
    if all(each is None for each in values):
        raise bad_value(
            argument, value, "a key with a value that is not null: records without one are left out (null_keys)"
        )
    return tuple(_held(argument, each, field) for each, field in zip(values, fields, strict=True))


def _held(argument: str, value: object, field: pa.Field[Any]) -> Any:
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    try:
        return pa.scalar(value, kind).as_py()
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise bad_type(argument, value, f"a value of key column {field.name!r}, which holds {kind}") from error


def places(keys: Iterable[Key], columns: Sequence[pa.ChunkedArray[Any]]) -> list[int]:
    """The positions of rows that have one of the keys, in order."""
    is_wanted = pa.repeat(pa.scalar(False), len(columns[0]))
    for key in keys:
        is_key: Any = None
        for value, column in zip(key, columns, strict=True):
            equal = _equal(column, value)
            is_key = equal if is_key is None else pc.and_(is_key, equal)
        is_wanted = pc.or_(is_wanted, is_key)
    rows: list[Any] = pc.indices_nonzero(is_wanted).to_pylist()
    return rows


def _equal(column: Any, value: Any) -> Any:
    """Whether each value of a column equals `value`. Null equals null, and NaN equals NaN."""
    if value is None:
        return pc.is_null(column)
    if isinstance(value, float) and value != value:  # noqa: PLR0124
        return pc.fill_null(pc.is_nan(column), False)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_nested(kind):
        return pa.array([each == value for each in column.to_pylist()], pa.bool_())
    return pc.fill_null(pc.equal(column.cast(kind), pa.scalar(value, kind)), False)


def named(table: pa.Table, keys: Sequence[str]) -> tuple[pa.Table, list[str]]:
    """The rows and the names of their keys. It renames the constant key of a series, whose name `group_by` refuses."""
    name = Names(table.column_names).unused("series")
    columns = [name if column == SERIES else column for column in table.column_names]
    return table.rename_columns(columns), [name if key == SERIES else key for key in keys]
