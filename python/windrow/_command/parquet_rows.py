"""Rows of Parquet files. A field of a struct has a name such as `window.start`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from windrow._arguments.nested import inner_fields
from windrow._command.file import File
from windrow._command.progress import Bar


@dataclass(frozen=True)
class ParquetRows:
    """The rows of a Parquet file."""

    file: File

    def schema(self) -> pa.Schema:
        """The columns, and the fields of structs."""
        schema = pq.read_schema(self.file.path)
        fields = [*schema]
        for each in schema:
            fields += [inner for inner in _inner(each) if inner.name not in schema.names]
        return pa.schema(fields)

    def batches(self, columns: Sequence[str], bar: Bar) -> Iterator[pa.RecordBatch]:
        """Batches of these columns. Reports the bytes of the file to `bar`."""
        with pq.ParquetFile(self.file.path) as parquet:
            size, rows = self.file.path.stat().st_size, max(parquet.metadata.num_rows, 1)
            names = parquet.schema_arrow.names
            for batch in parquet.iter_batches(columns=list(columns)):
                arrays = [batch.column(name) if name in names else _field(batch, name) for name in columns]
                yield pa.RecordBatch.from_arrays(arrays, names=list(columns))
                bar.add(size * batch.num_rows / rows)


def _inner(field: pa.Field[Any]) -> Iterator[pa.Field[Any]]:
    if not pa.types.is_struct(field.type):
        return
    for inner in inner_fields(field.type):
        leaf = inner.with_name(f"{field.name}.{inner.name}").with_nullable(True)
        yield leaf
        yield from _inner(leaf)


def _field(batch: pa.RecordBatch, name: str) -> pa.Array[Any]:
    """A field of a struct, null where the struct is null. Names of columns and fields may have dots."""
    column = next(each for each in batch.schema.names if name.startswith(f"{each}."))
    array, rest = batch.column(column), name.removeprefix(f"{column}.")
    while rest:
        inner = next(
            each.name for each in inner_fields(array.type) if rest == each.name or rest.startswith(f"{each.name}.")
        )
        array = pc.struct_field(array, inner)
        rest = rest.removeprefix(inner).removeprefix(".")
    return array
