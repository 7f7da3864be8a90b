"""The columns of any in-process data, by its library."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from windrow._arguments.errors import bad_type, bad_value
from windrow._arguments.nested import nulls
from windrow._executor.batches import stream_reader
from windrow._executor.empty_arrays import column_of
from windrow._local.capsule_frame import FrameColumns, ReaderColumns, batch_of, is_read_once, opened
from windrow._local.columns import Columns, TableColumns, without_metadata
from windrow._local.duckdb_relation import RelationColumns
from windrow._local.files import FileColumns
from windrow._local.foreign_tables import wrong_table
from windrow._local.pandas_frame import PandasColumns
from windrow._local.polars_frame import PolarsColumns
from windrow._local.results import Kinds, Parts
from windrow._plan.input import ALLOWED, libraries_of
from windrow._plan.plan import INPUT, Origins


def columns_of(data: Any, argument: str = "data", allowed: str = ALLOWED) -> Columns:
    """The columns of `data`. Raises `TypeError` with the `allowed` values if it has no Arrow data."""
    if isinstance(data, str | os.PathLike):
        return FileColumns(os.fsdecode(data), argument)
    if isinstance(data, pa.Table):
        return TableColumns(data)
    if isinstance(data, pa.RecordBatch):
        return TableColumns(pa.Table.from_batches([data]))
    if isinstance(data, pa.RecordBatchReader):
        return ReaderColumns(data, argument)
    if isinstance(data, list | tuple) and data and all(isinstance(each, pa.RecordBatch | pa.Table) for each in data):
        return TableColumns(_joined(data, argument))
    kind, libraries = type(data).__name__, libraries_of(data)
    if "polars" in libraries and kind in ("DataFrame", "LazyFrame"):
        return PolarsColumns(data, lazy=kind == "LazyFrame")
    if {"duckdb", "_duckdb"} & libraries and kind == "DuckDBPyRelation":
        return RelationColumns(data)
    if "pandas" in libraries and hasattr(data, "iloc") and hasattr(data, "columns"):
        return PandasColumns(data)
    if hasattr(type(data), "__arrow_c_stream__"):
        if is_read_once(data):
            return ReaderColumns(opened(data, argument), argument)
        return FrameColumns(data, argument)
    if hasattr(type(data), "__arrow_c_array__"):
        return TableColumns(pa.Table.from_batches([batch_of(data, argument)]))
    if isinstance(data, type) or type(data).__module__ == "builtins" or isinstance(data, Iterator):
        raise bad_type(argument, data, _instead(data) or allowed)
    raise wrong_table(argument, data, allowed)


def _joined(data: Sequence[pa.RecordBatch | pa.Table], argument: str) -> pa.Table:
    """Batches and tables of one schema as one table, without a copy."""
    tables = [each if isinstance(each, pa.Table) else pa.Table.from_batches([each]) for each in data]
    for number, table in enumerate(tables):
        if not table.schema.equals(tables[0].schema):
            raise bad_value(
                f"{argument}[{number}]",
                table.schema.to_string(),
                "the schema of the first one: all must have the same schema",
            )
    return pa.concat_tables(tables)


def _instead(data: object) -> str | None:
    """How to convert Python values to Arrow data. None for other values."""
    if isinstance(data, io.IOBase):
        return "pyarrow.parquet.read_table(data), for an open Parquet file"
    if isinstance(data, Iterator):
        return "pyarrow.RecordBatchReader.from_batches(schema, batches), as the schema comes before the first batch"
    if isinstance(data, dict):
        return "pyarrow.table(columns), for a dict of columns"
    if isinstance(data, list | tuple) and data and all(isinstance(row, dict) for row in data):
        return "pyarrow.Table.from_pylist(rows), for a list of dicts"
    return None


class Union(Columns):
    """The rows of a cogroup, one input after the other. Columns are cast to the types of the schema."""

    def __init__(self, inputs: Sequence[Columns], schema: pa.Schema, origins: Origins) -> None:
        """Uses the schema of a plan."""
        self._inputs = inputs
        self._schema = schema
        self._origins = origins
        self.has_infinity = any(table.has_infinity for table in inputs)

    @property
    def names(self) -> Sequence[str]:
        """The names of the schema."""
        return self._schema.names

    @property
    def rows(self) -> int | None:
        """The rows of all inputs."""
        counts = [rows for table in self._inputs if (rows := table.rows) is not None]
        return sum(counts) if len(counts) == len(self._inputs) else None

    def dtype(self, position: int) -> Any:
        """The own type of a column if all inputs that have it are of one library and of this type, else None."""
        first, name = self._inputs[0], self.names[position]
        inputs = zip(self._inputs, self._origins.columns, strict=True)
        found = [(table, table.names.index(own[name])) for table, own in inputs if name in own]
        if not found or any(type(table) is not type(first) for table, _ in found):
            return None
        kinds = [table.dtype(place) for table, place in found]
        return kinds[0] if all(repr(kind) == repr(kinds[0]) for kind in kinds) else None

    def nested(self, parts: Parts) -> Any:
        """As the first input."""
        return self._inputs[0].nested(parts)

    def result(self, rows: pa.Table, kinds: Kinds, counted: Mapping[str, int]) -> Any:
        """Rows in the kind of the first input."""
        return self._inputs[0].result(rows, kinds, counted)

    def returned(self, rows: pa.Table) -> pa.Table:
        """The columns of the data, and the name of each row's input."""
        names = pa.array(self._origins.names)
        of_input = pa.chunked_array([names.take(numbers) for numbers in rows[self._origins.column].chunks], names.type)
        return rows.select(list(self._origins.returned)).append_column(INPUT, of_input)

    @property
    def raised(self) -> BaseException | None:
        """The exception of Python code in one of the inputs."""
        of_inputs = (table.raised for table in self._inputs)
        return next((raised for raised in (*of_inputs, self._raised) if raised is not None), None)

    def schema(self, positions: Sequence[int]) -> pa.Schema:
        """Some columns of the schema."""
        return without_metadata(self._schema, positions)

    def stream(self, positions: Sequence[int]) -> Any:
        """Some columns of all rows. Opens all inputs at once, so that an unreadable input fails here."""
        schema, opened = self.schema(positions), []
        for table, own in zip(self._inputs, self._origins.columns, strict=True):
            places = {name: table.names.index(own[name]) for name in schema.names if name in own}
            distinct = sorted(set(places.values()))
            reader = stream_reader(table.stream(distinct))
            if isinstance(table, RelationColumns):  # a connection has one open result
                reader = reader.read_all().to_reader()
            opened.append((reader, {name: distinct.index(place) for name, place in places.items()}))
        return pa.RecordBatchReader.from_batches(schema, self._remembered(self._batches(schema, opened)))

    def _batches(
        self, schema: pa.Schema, opened: Sequence[tuple[pa.RecordBatchReader, dict[str, int]]]
    ) -> Iterator[pa.RecordBatch]:
        for number, (reader, places) in enumerate(opened):
            # Arrow mishandles empty slices of string views.
            for batch in (batch for batch in reader if batch.num_rows):
                columns: list[pa.Array[Any]] = []
                for field in schema:
                    if field.name == self._origins.column:
                        columns.append(pa.repeat(pa.scalar(number, field.type), batch.num_rows))
                    elif field.name in places:
                        column = batch.column(places[field.name])
                        columns.append(column_of(reader.schema.names[places[field.name]], column, field.type))
                    else:
                        columns.append(nulls(batch.num_rows, field.type))
                yield pa.RecordBatch.from_arrays(columns, schema=schema)
