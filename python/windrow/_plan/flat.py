"""The columns of a result: its keys by their names, and with `flat()` the bounds of windows in place of one struct."""

from __future__ import annotations

from typing import Any, TypeVar

import pyarrow as pa

from windrow._plan.plan import Plan

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


def shown_schema(plan: Plan, schema: pa.Schema) -> pa.Schema:
    """The schema of `shown` rows, with the same metadata."""
    flattened = flat_schema(schema) if plan.options.flat else schema
    if plan.key_names == plan.keys:
        return flattened
    keys = [field.with_name(name) for field, name in zip(flattened, plan.key_names, strict=False)]
    return pa.schema([*keys, *list(flattened)[len(plan.keys) :]]).with_metadata(flattened.metadata)


def shown(plan: Plan, rows: _Rows) -> _Rows:
    """Windows of the core as rows of the result: a query without keys has none in its result."""
    flattened = flat(rows) if plan.options.flat else rows
    if plan.key_names == plan.keys:
        return flattened
    columns: list[Any] = flattened.columns
    columns = columns if plan.key_names else columns[len(plan.keys) :]
    return type(rows).from_arrays(columns, schema=shown_schema(plan, rows.schema))
