"""Reads CSV and Parquet files as one stream of Arrow batches. Reads only the columns that a query names."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq

from windrow._arguments.column import column_position
from windrow._arguments.errors import bad_value, unknown_word
from windrow._command.file import File
from windrow._command.gap_column import GapColumn
from windrow._command.progress import Bar
from windrow._command.time_column import Cast, TimeColumn

Batches = Iterator[pa.RecordBatch]

_NO_TEXT = "text that is not UTF-8"

TYPES: dict[str, pa.DataType] = {
    "string": pa.string(),
    "int64": pa.int64(),
    "double": pa.float64(),
    "bool": pa.bool_(),
    "date": pa.date32(),
}
"""The types that `--type` accepts for a CSV column."""


@dataclass(frozen=True)
class CsvFormat:
    """How to read CSV files.

    Attributes:
        delimiter: the field delimiter; None takes it from the file name.
        nulls: texts that mean null, in addition to the empty field.
        types: column types by name; other types are inferred.
    """

    delimiter: str | None = None
    nulls: Sequence[str] = ()
    types: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raises `ValueError` for an unknown type, or a delimiter that is not one character."""
        for column, kind in self.types.items():
            if kind not in TYPES:
                raise unknown_word(f"--type {column}", kind, list(TYPES))
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise bad_value("--delimiter", self.delimiter, "one character")


@dataclass(frozen=True)
class Source:
    """The rows of several files, one file after the other.

    Attributes:
        files: CSV files, Parquet files or both; all have the columns of the first.
        csv: how to read CSV.
        time: the time column.
        gap: the gap column, if there is one.
    """

    files: Sequence[File]
    csv: CsvFormat
    time: TimeColumn
    gap: GapColumn | None = None

    def columns(self) -> list[str]:
        """The column names of the first file, in order."""
        return self._schema(self.files[0]).names

    def reader(self, named: Mapping[str, Sequence[str]], bar: Bar) -> pa.RecordBatchReader:
        """Reads the named columns and reports progress to `bar`. `named` maps an option to its columns.

        Raises:
            ValueError: a column is missing or there twice, types differ between files, or a file does not have the
                format that its name implies.
            TypeError: the time column holds no times, or the gap column holds no durations.
            OSError: a file cannot be read.
        """
        schema = self._schema(self.files[0])
        for option, columns in named.items():
            for column in columns:
                column_position(option, column, schema.names)
        wanted = list(dict.fromkeys(column for columns in named.values() for column in columns))
        kinds, casts = self._kinds(wanted, named.get("--key", ())), _no_casts(wanted)
        place = wanted.index(self.time.name)
        kinds[place], casts[place] = self._time(wanted)
        if self.gap is not None:
            place = wanted.index(self.gap.name)
            kinds[place], casts[place] = self.gap.cast(kinds[place])
        schema = pa.schema(list(zip(wanted, kinds, strict=True)))
        return pa.RecordBatchReader.from_batches(schema, self._batches(wanted, schema, casts, bar))

    def _kinds(self, wanted: Sequence[str], keys: Collection[str]) -> list[pa.DataType]:
        """The column types. A column without values at the start of a CSV file takes its type from the next file.

        If no file shows a type, keys are text and values are integers: all numeric aggregates accept integers.
        """
        kinds: dict[str, pa.DataType] = {}
        for file in self.files:
            schema = self._schema(file)
            for column in wanted:
                if column in schema.names and pa.types.is_null(kinds.get(column, pa.null())):
                    kinds[column] = schema.field(schema.names.index(column)).type
            if file.format == "parquet" or not any(pa.types.is_null(kind) for kind in kinds.values()):
                break
        none = {column: pa.string() if column in keys else pa.int64() for column in wanted}
        is_parquet = self.files[0].format == "parquet"
        return [kind if is_parquet or not pa.types.is_null(kind) else none[column] for column, kind in kinds.items()]

    def _batches(self, wanted: list[str], schema: pa.Schema, casts: list[Cast], bar: Bar) -> Batches:
        for file in self.files:
            for batch in self._read(file, wanted, bar):
                arrays = [cast(batch.column(name)) for name, cast in zip(wanted, casts, strict=True)]
                for place, (expected, array) in enumerate(zip(schema, arrays, strict=True)):
                    if pa.types.is_null(array.type):
                        arrays[place] = array.cast(expected.type)
                    elif array.type != expected.type:
                        allowed = f"the type that it has in the first file, {expected.type}"
                        raise bad_value(f"{file.path}: column {expected.name!r}", str(array.type), allowed)
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)
        bar.finish()

    def _time(self, wanted: list[str]) -> tuple[pa.DataType, Cast]:
        """The timestamp type, taken from the first batch with rows."""
        for file in self.files:
            batch = next((batch for batch in self._read(file, wanted, Bar()) if batch.num_rows), None)
            if batch is not None:
                sample = batch.column(self.time.name)
                return self.time.cast(sample.type, sample)
        kind = self._schema(self.files[0]).field(self.time.name).type
        return self.time.cast(kind, pa.nulls(0, kind))

    def _schema(self, file: File) -> pa.Schema:
        with _named(file):
            if file.format == "parquet":
                return pq.read_schema(file.path)
            schema = self._open_csv(file, pa.OSFile(str(file.path), "r"), {}).schema
            _ = schema.names  # Arrow decodes them lazily
            return schema

    def _read(self, file: File, wanted: list[str], bar: Bar) -> Batches:
        """The batches of one file. They have at least the wanted columns."""
        names = self._schema(file).names
        for column in wanted:
            column_position(str(file.path), column, names)
        with _named(file):
            if file.format == "parquet":
                yield from _parquet(file, wanted, bar)
                return
            raw, done = pa.OSFile(str(file.path), "r"), 0
            for batch in self._open_csv(file, raw, self._csv_types(file), wanted):
                for field in batch.schema:
                    if pa.types.is_binary(field.type):  # Arrow's type for text that is not UTF-8
                        raise pa.ArrowInvalid(f"column {field.name!r}: {_NO_TEXT}")
                yield batch
                position = raw.tell()
                bar.add(position - done)
                done = position

    def _csv_types(self, file: File) -> dict[str, pa.DataType]:
        """The column types that are not inferred. The time column is text unless it holds integers."""
        kind = self._schema(file).field(self.time.name).type
        counted = pa.types.is_integer(kind) and self.time.format is None
        return {self.time.name: pa.int64() if counted else pa.string()}

    def _open_csv(
        self, file: File, raw: Any, types: Mapping[str, pa.DataType], wanted: Sequence[str] | None = None
    ) -> pc_csv.CSVStreamingReader:
        """A CSV reader over `raw`, an Arrow file.

        An Arrow thread reads ahead, even while the interpreter shuts down. If it called Python then, the process would
        abort or hang. It may also keep reading after the reader is gone, so only Arrow closes the file.
        """
        given = {column: TYPES[kind] for column, kind in self.csv.types.items()}
        opened: Any = raw if file.compression is None else pa.input_stream(raw, compression=file.compression)
        return pc_csv.open_csv(
            opened,
            parse_options=pc_csv.ParseOptions(delimiter=self.csv.delimiter or file.delimiter),
            convert_options=pc_csv.ConvertOptions(
                column_types={**given, **types},
                include_columns=None if wanted is None else list(wanted),
                null_values=["", *self.csv.nulls],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )


@contextmanager
def _named(file: File) -> Iterator[None]:
    """Adds the file name to errors raised while reading it."""
    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise OSError(error.errno, os.strerror(error.errno), str(file.path)) from None
        raise ValueError(f"{file.path}: {error}{_hint(file, str(error))}") from None


def _hint(file: File, said: str) -> str:
    if file.format == "parquet":
        return ""
    if any(word in said for word in (_NO_TEXT, "UTF8", "utf-8")):
        return " (CSV is read as UTF-8: iconv -f latin1 -t utf-8 makes it of Latin-1)"
    if "conversion error to bool" in said:
        return " (true and false, or 1 and 0)"
    return (
        " (types are inferred from the start of a file; --type COLUMN=string sets one)" if "conversion" in said else ""
    )


def _no_casts(columns: Sequence[str]) -> list[Cast]:
    return [lambda values: values for _ in columns]


def _parquet(file: File, wanted: Sequence[str], bar: Bar) -> Batches:
    with pq.ParquetFile(file.path) as parquet:
        size, rows = file.path.stat().st_size, max(parquet.metadata.num_rows, 1)
        for batch in parquet.iter_batches(columns=list(wanted)):
            yield batch
            bar.add(size * batch.num_rows / rows)
