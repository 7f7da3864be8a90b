"""The bounds of windows as two columns in place of one struct, for files and libraries that have no structs."""

from __future__ import annotations

from typing import Any, TypeVar

import pyarrow as pa

WINDOW = "window"
"""The column of windows, a struct of `start` and `end`."""

BOUNDS = ("window_start", "window_end")
"""The columns of their bounds."""

_Rows = TypeVar("_Rows", pa.Table, pa.RecordBatch)


def flat_schema(schema: pa.Schema) -> pa.Schema:
    """The schema of `flat` rows, with the same metadata."""
    fields: list[pa.Field[pa.DataType]] = []
    for field in schema:
        if field.name == WINDOW:
            of_struct = zip(BOUNDS, (field.type.field(0), field.type.field(1)), strict=True)
            fields += [bound.with_name(name).with_nullable(field.nullable) for name, bound in of_struct]
        else:
            fields.append(field)
    return pa.schema(fields).with_metadata(schema.metadata)


def flat(rows: _Rows) -> _Rows:
    """Rows with the bounds of their windows as columns; a window that is null has null bounds.

    >>> windows = pa.array([{"start": 1, "end": 2}])
    >>> flat(pa.table({"user": ["ann"], "window": windows, "n": [3]})).to_pylist()
    [{'user': 'ann', 'window_start': 1, 'window_end': 2, 'n': 3}]
    """
    columns: list[Any] = []
    arrays: list[Any] = rows.columns
    for name, column in zip(rows.schema.names, arrays, strict=True):
        columns += column.flatten() if name == WINDOW else [column]
    return type(rows).from_arrays(columns, schema=flat_schema(rows.schema))
