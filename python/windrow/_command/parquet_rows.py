"""Rows of Parquet files. A field of a struct has a name such as `window.start`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
        named = (
            field.with_name(".".join(path)).with_nullable(True) for path, field in _fields(schema) if len(path) > 1
        )
        return pa.schema([*schema, *(field for field in named if field.name not in schema.names)])

    def batches(self, columns: Sequence[str], bar: Bar) -> Iterator[pa.RecordBatch]:
        """Batches of these columns. Reports the bytes of the file to `bar`."""
        with pq.ParquetFile(self.file.path) as parquet:
            size, rows = self.file.path.stat().st_size, max(parquet.metadata.num_rows, 1)
            paths = {".".join(path): path for path, _ in _fields(parquet.schema_arrow)}
            paths |= {name: [name] for name in parquet.schema_arrow.names}
            for batch in parquet.iter_batches(columns=list(columns)):
                arrays = [
                    pc.struct_field(batch.column(column), inner) if inner else batch.column(column)
                    for column, *inner in (paths[name] for name in columns)
                ]
                yield pa.RecordBatch.from_arrays(arrays, names=list(columns))
                bar.add(size * batch.num_rows / rows)


def _fields(fields: Iterable[pa.Field[Any]], *path: str) -> Iterator[tuple[list[str], pa.Field[Any]]]:
    """The fields and those inside structs, each with the names that lead to it, which may have dots."""
    for field in fields:
        yield [*path, field.name], field
        if pa.types.is_struct(field.type):
            yield from _fields(inner_fields(field.type), *path, field.name)
