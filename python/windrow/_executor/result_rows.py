"""Rows of windows and of records in no window, in the columns of one result."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from windrow._arguments.nested import nulls
from windrow._executor.empty_arrays import rebuilt
from windrow._plan.flat import WINDOW

_REASON = "reason"


def of_windows(windows: pa.RecordBatch, output: pa.Schema, after: int = 1) -> pa.RecordBatch:
    """Rows of windows with the columns of records, all null, before the last `after` columns."""
    place = windows.num_columns - after
    blank = [nulls(windows.num_rows, field.type) for field in list(output)[place : len(output) - after]]
    columns = [*windows.columns[:place], *blank, *windows.columns[place:]]
    bounds = output.get_field_index(WINDOW)
    columns[bounds] = _window(columns[bounds], output.field(bounds).type)
    return pa.RecordBatch.from_arrays(columns, schema=output)


def of_records(rows: pa.RecordBatch, output: pa.Schema) -> pa.RecordBatch:
    """Rows of records with the columns that only windows have, all null."""
    columns: list[Any] = []
    for field in output:
        if field.name == WINDOW:
            columns.append(_window(rows.column(WINDOW), field.type))
        elif field.name == "op":
            columns.append(pa.repeat(pa.scalar("left_out", field.type), rows.num_rows))
        elif field.name in rows.schema.names:
            columns.append(rebuilt(rows.column(field.name), field.type))
        else:
            columns.append(nulls(rows.num_rows, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=output)


def of_either(rows: pa.RecordBatch, output: pa.Schema) -> pa.RecordBatch:
    """Rows of windows or of records. A result without records has the columns of its windows."""
    if rows.num_columns == len(output):
        return pa.RecordBatch.from_arrays(rows.columns, schema=output)
    return of_records(rows, output) if _REASON in rows.schema.names else of_windows(rows, output)


def _window(windows: Any, kind: Any) -> Any:
    """Windows in the type of a result, where a record without a time has none."""
    mask = windows.is_null() if windows.null_count else None
    return pa.StructArray.from_arrays(windows.flatten(), fields=list(kind), mask=mask)
