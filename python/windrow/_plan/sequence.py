"""The column that orders the rows of one window, for sinks that apply changes in any order."""

from __future__ import annotations

from typing import Any, TypeVar

import pyarrow as pa

SEQUENCE = "sequence"
"""The column that `emit("update", sequence=True)` adds."""

FIELD: pa.Field[pa.DataType] = pa.field(SEQUENCE, pa.int64())

_Rows = TypeVar("_Rows", pa.Table, pa.RecordBatch)


def sequenced(rows: _Rows, first: int = 0, step: int = 0) -> _Rows:
    """Rows with their sequence: `first`, and so much more in each row. In a batch query all have 0.

    >>> sequenced(pa.table({"user": ["ann", "bob"]}), 7, 1)["sequence"].to_pylist()
    [7, 8]
    """
    numbers = pa.array([first + step * row for row in range(rows.num_rows)], pa.int64())
    arrays: list[Any] = [*rows.columns, numbers]
    return type(rows).from_arrays(arrays, schema=rows.schema.append(FIELD))
