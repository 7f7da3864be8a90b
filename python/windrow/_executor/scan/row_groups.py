"""The step that plans a scan of Parquet files: their row groups, with bytes and partition values."""

from __future__ import annotations

import functools
import operator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._executor.batches import Batches, ipc_stream, read_schema
from windrow._executor.scan.filter import read_filter
from windrow._executor.scan.location import Location
from windrow._executor.scan.parquet_part import check_columns, row_groups_of

_FIELDS: list[pa.Field[Any]] = [
    pa.field("uri", pa.string()),
    pa.field("size", pa.int64()),
    pa.field("modified", pa.int64()),
    pa.field("partition", pa.binary()),
    pa.field("row_group", pa.int32()),
    pa.field("bytes", pa.int64()),
]
PLANNED = pa.schema(_FIELDS)
"""A row of the plan for each row group that may match the filter."""


def row_groups(batches: Batches, schema: bytes, filter: bytes | None, ignore_case: bool) -> Batches:
    """The row groups of files: rows of (URI, partition values...) in, rows of `PLANNED` out.

    Checks that each file has the columns in types that Spark's can hold.
    """
    columns, condition = read_schema(schema), read_filter(filter)
    for batch in batches:
        for number in range(batch.num_rows):
            row = batch.slice(number, 1)
            values = _partition(row, columns)
            uri = row.column(0)[0].as_py()
            location = Location.of(uri)
            groups, own = row_groups_of(uri, condition, _expression(values))
            check_columns(uri, own, columns, values.schema.names if values else (), ignore_case=ignore_case)
            stream = ipc_stream(values).to_pybytes() if values else None
            rows = [
                {"uri": uri, "size": location.size, "modified": location.modified, "partition": stream}
                | {"row_group": group, "bytes": size}
                for group, size in groups
            ]
            if rows:
                yield pa.RecordBatch.from_pylist(rows, PLANNED)


def _partition(row: pa.RecordBatch, columns: pa.Schema) -> pa.RecordBatch | None:
    names = row.schema.names[1:]
    if not names:
        return None
    arrays = [row.column(place).cast(columns.field(name).type) for place, name in enumerate(names, 1)]
    return pa.RecordBatch.from_arrays(arrays, names=names)


def _expression(values: pa.RecordBatch | None) -> Any:
    """What the partition columns say of all rows of a file."""
    if values is None:
        return None
    parts: list[Any] = []
    for name, column in zip(values.schema.names, values.columns, strict=True):
        field: Any = pc.field(name)
        parts.append(field == column[0] if column[0].is_valid else field.is_null())
    return functools.reduce(operator.and_, parts)
