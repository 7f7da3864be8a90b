"""Parses the user's keys and finds the rows that have them.

Keys stay values of Arrow, because Python's times of day end at microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.errors import bad_value
from windrow._arguments.instant import is_missing
from windrow._folds.python_shape import plain
from windrow._local.results import without_views
from windrow._native import sort_keys
from windrow._plan.plan import SERIES
from windrow.testing._values import cell_of

Key = pa.RecordBatch
"""One row with the values of the key columns."""


def key_of(argument: str, value: object, fields: Sequence[pa.Field[Any]], zone: str | None = None) -> Key:
    """The key for a user's value: the value of the key column, a tuple of values for several, None without keys.

    Args:
        argument: for error messages.
        value: values of Python, NumPy or pandas, or scalars of Arrow, which also have nanoseconds of a day.
        fields: the key columns.
        zone: the time zone of a session of Spark, whose rows have bare times in the zone of this process.

    Raises:
        ValueError: a wrong number of values, all values are null, or one that its column does not hold exactly.
        TypeError: a value of another type than its column.
    """
    names = [field.name for field in fields]
    if names == [SERIES]:
        if value is not None:
            raise bad_value(argument, value, "None, as the query has no keys")
        return pa.RecordBatch.from_arrays([pa.array([0], fields[0].type)], names=names)
    values = value if isinstance(value, tuple) and len(fields) > 1 else (value,)
    if len(values) != len(fields):
        raise bad_value(argument, value, f"a tuple of {len(fields)} values, of {', '.join(map(repr, names))}")
    cells = [_cell(argument, each, field, zone) for each, field in zip(values, fields, strict=True)]
    if all(cell.null_count for cell in cells):
        raise bad_value(
            argument, value, "a key with a value that is not null: records without one are left out (null_keys)"
        )
    return pa.RecordBatch.from_arrays(cells, names=names)


def _cell(argument: str, value: Any, field: pa.Field[Any], zone: str | None) -> pa.Array[Any]:
    kind: pa.DataType = without_views(plain(field.type))
    name = f"{argument}: column {field.name!r}"
    if is_missing(value):
        value = None
    if hasattr(value, "asDict"):
        value = value.asDict(recursive=True)
    if type(value).__name__ in ("datetime64", "timedelta64"):  # of NumPy
        value = pa.scalar(value)
    return cell_of(name, value if zone is None else _of_row(value, kind), kind)


def _of_row(value: Any, kind: Any) -> Any:
    """A value of a row of PySpark: binary is a bytearray, and a bare time is in the zone of this process."""
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, datetime) and value.tzinfo is None and getattr(kind, "tz", None):
        return value.astimezone()
    if isinstance(value, dict) and pa.types.is_struct(kind):
        kinds = {field.name: field.type for field in kind}
        return {name: _of_row(part, kinds.get(name)) for name, part in value.items()}
    if isinstance(value, list) and hasattr(kind, "value_type"):
        return [_of_row(part, kind.value_type) for part in value]
    return value


def distinct(keys: Iterable[Key]) -> list[Key]:
    """The keys without those that equal an earlier one."""
    return list({sort_keys(key)[0]: key for key in reversed(list(keys))}.values())[::-1]


def numbers(keys: Sequence[Key], columns: Sequence[pa.ChunkedArray[Any]]) -> Any:
    """For each row the place of its key among the keys; null for a row of another key."""
    found: Any = pa.nulls(len(columns[0]), pa.int32())
    for number, key in enumerate(keys):
        is_key = reduce(pc.and_, map(_equal, columns, key.columns))
        found = pc.if_else(is_key, pa.scalar(number, pa.int32()), found)
    return found


def _equal(column: Any, value: Any) -> Any:
    """Whether each value of a column equals the only one of `value`. Null equals null, and NaN equals NaN."""
    if value.null_count:
        return pc.is_null(column)
    if not pa.types.is_nested(value.type):
        try:
            is_nan = pa.types.is_floating(value.type) and pc.is_nan(value)[0].as_py()
            equal: Any = pc.is_nan(column) if is_nan else pc.equal(column.cast(value.type), value[0])
            return pc.fill_null(equal, False)
        except pa.ArrowNotImplementedError:
            pass
    (wanted,) = sort_keys(pa.RecordBatch.from_arrays([value], ["key"]))
    batches = (pa.RecordBatch.from_arrays([chunk], ["key"]) for chunk in column.chunks)
    return pa.array([each == wanted for batch in batches for each in sort_keys(batch)], pa.bool_())
