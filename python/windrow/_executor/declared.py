"""Compares the columns that `group_by(schema=)` declares with the columns that Spark sends."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from windrow._arguments.nested import with_inner
from windrow._executor.batches import Batches, read_schema


def checked(batches: Batches, declared: bytes) -> Batches:
    """The batches of Spark. `declared` are their columns, in its order and by the user's names.

    Raises as `check_declared`.
    """
    schema = read_schema(declared)
    for batch in batches:
        for column, field in zip(batch.columns, schema, strict=True):
            check_declared(column.type, field)
        yield batch


def check_declared(actual: pa.DataType, declared: pa.Field[Any]) -> None:
    """Raises `ValueError` if a column of the data does not have the declared type.

    The zone of timestamps, large strings, and nulls within nested types do not matter.
    """
    if actual != declared.type and _plain(actual) != _plain(declared.type):
        raise ValueError(
            f"schema: column {declared.name!r} has type {actual} in the data; group_by(schema=) says {declared.type}"
        )


def _plain(kind: Any) -> Any:
    """The type in one of the layouts in which Spark may send it."""
    if isinstance(kind, pa.TimestampType):
        return pa.timestamp(kind.unit, None if kind.tz is None else "UTC")
    if pa.types.is_duration(kind):
        return pa.int64()  # Spark before 4.0 sends intervals as microseconds
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        return pa.string() if pa.types.is_large_string(kind) else pa.binary()
    if isinstance(kind, pa.StructType):
        return with_inner(kind, lambda field: pa.field(field.name, _plain(field.type)))
    if isinstance(kind, pa.ListType):
        return pa.list_(_plain(kind.value_type))
    if isinstance(kind, pa.MapType):
        return pa.map_(_plain(kind.key_type), _plain(kind.item_type))
    return kind
