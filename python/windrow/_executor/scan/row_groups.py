"""The steps that plan a scan: the row groups of files, with their bytes."""

from __future__ import annotations

import functools
import operator
import pickle
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._executor.batches import Batches, ipc_stream, read_schema
from windrow._executor.scan.filter import read_filter, row_groups_in
from windrow._executor.scan.iceberg_part import IcebergPart
from windrow._executor.scan.location import Location, path_in_store, unreadable
from windrow._executor.scan.parquet_part import FORMAT

_FIELDS: list[pa.Field[Any]] = [
    pa.field("uri", pa.string()),
    pa.field("size", pa.int64()),
    pa.field("modified", pa.int64()),
    pa.field("partition", pa.binary()),
    pa.field("row_group", pa.int32()),
    pa.field("bytes", pa.int64()),
    pa.field("error", pa.string()),
]
PLANNED = pa.schema(_FIELDS)
"""A row of the plan for each row group that may match the filter, and one for each file with an error."""


def row_groups(batches: Batches, schema: bytes, filter: bytes | None, filesystem: bytes | None) -> Batches:
    """The row groups of Parquet files: rows of (URI, partition values...) in, rows of `PLANNED` out.

    Does not check the types of columns: a query may not read a column that has another type in some file.
    """
    columns, condition = read_schema(schema), read_filter(filter)
    store = None if filesystem is None else pickle.loads(filesystem)
    for batch in batches:
        for number in range(batch.num_rows):
            row = batch.slice(number, 1)
            values = _partition(row, columns)
            uri = row.column(0)[0].as_py()
            try:
                location = Location.of(uri, None if store is None else (store, path_in_store(uri)))
                groups = _row_groups(location, condition, _expression(values))
            except RuntimeError as error:
                yield _rows({"uri": uri, "error": str(error)}, [{}])
                continue
            stream = ipc_stream(values).to_pybytes() if values else None
            yield _rows(
                {"uri": uri, "size": location.size, "modified": location.modified, "partition": stream},
                ({"row_group": group, "bytes": size} for group, size in groups),
            )


def iceberg_row_groups(batches: Batches, table: bytes) -> Batches:
    """The row groups of data files of an Iceberg table: rows of PyIceberg's pickled tasks in, `PLANNED` out."""
    shared = pickle.loads(table)
    for batch in batches:
        for task in batch.column(0):
            part = IcebergPart(shared, pickle.loads(task.as_py()))
            try:
                groups = part.planned()
            except RuntimeError as error:
                yield _rows({"uri": part.file, "error": str(error)}, [{}])
                continue
            yield _rows({"uri": part.file}, ({"row_group": group, "bytes": size} for group, size in groups))


def _rows(of_file: dict[str, Any], of_groups: Iterable[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([of_file | group for group in of_groups], PLANNED)


def _row_groups(location: Location, filter: Any, partition: Any) -> list[tuple[int, int]]:
    """The number and bytes of each row group that may match the filter.

    `partition` is an expression that holds for all rows. Raises `RuntimeError` for a file that is no Parquet.
    """
    filesystem, path = location.opened()
    try:
        options = {} if partition is None else {"partition_expression": partition}
        fragment: Any = FORMAT.make_fragment(path, filesystem, **options)
        groups = [group for part in row_groups_in(fragment, filter) for group in part.row_groups]
        return [(group.id, group.total_byte_size) for group in groups]
    except (OSError, pa.ArrowException) as error:
        raise unreadable(location.uri, error) from error


def _partition(row: pa.RecordBatch, columns: pa.Schema) -> pa.RecordBatch | None:
    names = row.schema.names[1:]
    if not names:
        return None
    arrays = [row.column(place).cast(columns.field(name).type) for place, name in enumerate(names, 1)]
    return pa.RecordBatch.from_arrays(arrays, names=names)


def _expression(values: pa.RecordBatch | None) -> Any:
    """The partition columns as a condition that all rows of a file meet."""
    if values is None:
        return None
    parts: list[Any] = []
    for name, column in zip(values.schema.names, values.columns, strict=True):
        field: Any = pc.field(name)
        parts.append(field == column[0] if column[0].is_valid else field.is_null())
    return functools.reduce(operator.and_, parts)
