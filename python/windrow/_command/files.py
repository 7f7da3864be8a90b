"""Reads files as one stream of Arrow batches. Reads only the columns that a query names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa

from windrow._arguments.column import column_position
from windrow._arguments.errors import bad_value
from windrow._command.chunks import check_text
from windrow._command.columns import Columns
from windrow._command.csv_rows import CsvRows, TextFormat
from windrow._command.file import File
from windrow._command.gap_column import GapColumn
from windrow._command.json_rows import JsonRows
from windrow._command.parquet_rows import ParquetRows
from windrow._command.progress import Bar
from windrow._command.time_column import TimeColumn

Batches = Iterator[pa.RecordBatch]
Rows: TypeAlias = CsvRows | JsonRows | ParquetRows

_VALUE = re.compile(r"[\d\s:./T+-]*\d[\d\s:./TZ+-]*")
"""A number or a time, which no header has."""
_FIELDS = "; allowed: as many fields in each line as {} (--delimiter sets the separator)"
_QUOTES = '; a quote inside a field is doubled: "" in place of \\"'
_LONG = "got a row longer than 1 MiB; allowed: shorter rows, in which every quote that begins a field also ends it"
_ENCODING = " (text is read as UTF-8: convert Latin-1 with iconv -f latin1 -t utf-8)"


@dataclass(frozen=True)
class Files:
    """The rows of several files, one file after the other.

    Attributes:
        files: files of any format; all have the columns of the first.
        format: how to read text.
    """

    files: Sequence[File]
    format: TextFormat
    _schemas: dict[File, pa.Schema] = field(default_factory=dict, compare=False)
    _samples: dict[str, tuple[pa.Array[Any], bool]] = field(default_factory=dict, compare=False)

    def columns(self, time: TimeColumn, end: TimeColumn | None = None, gap: GapColumn | None = None) -> Columns:
        """The columns of a query over the files, none yet.

        Raises `ValueError` for a type of a column that no file has.
        """
        for column in self.format.types:
            column_position("--type", column, self._names(column))
        return Columns(self._sample, self.format, time, end, gap)

    def reader(self, columns: Columns, bar: Bar) -> pa.RecordBatchReader:
        """Reads columns and reports progress to `bar`. The reader raises errors of files as `ValueError`.

        Raises:
            ValueError: types differ between files, or a file does not have the format that its name implies.
            OSError: a file cannot be read.
        """
        schema = pa.schema([(column.name, column.type) for column in columns])
        return pa.RecordBatchReader.from_batches(schema, self._batches(columns, schema, bar))

    def _batches(self, columns: Columns, schema: pa.Schema, bar: Bar) -> Batches:
        wanted = list(dict.fromkeys(source for column in columns for source in column.sources))
        for file in self.files:
            for batch in self._read(file, wanted, bar):
                with _named(file, self.format):
                    arrays = [column.values(batch) for column in columns]
                for place, (column, array) in enumerate(zip(columns, arrays, strict=True)):
                    if pa.types.is_null(array.type):
                        arrays[place] = array.cast(column.type)
                    elif array.type != column.type:
                        allowed = f"the type that it has in the first file, {column.type}"
                        raise bad_value(f"{file}: column {column.name!r}", str(array.type), allowed)
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)
        bar.finish()

    def _names(self, wanted: str) -> list[str]:
        """The columns of the first file; those of all files of JSON Lines, where a line without a value lacks it.

        Only if no file has the wanted one in its first lines, all lines count.
        """
        if self.files[0].format != "jsonl":
            return [*self._schema(self.files[0]).names]
        names = self._names_of_all(whole=False)
        return names if wanted in names else self._names_of_all(whole=True)

    def _names_of_all(self, *, whole: bool) -> list[str]:
        return list(dict.fromkeys(name for file in self.files for name in self._schema(file, whole=whole).names))

    def _sample(self, option: str, column: str) -> tuple[pa.Array[Any], bool]:
        """The first values of a column, from the first file that has some, and whether they are text without types."""
        if column not in self._samples:
            names = self._names(column)
            if not names and self.files[0].format == "jsonl":  # no line, so no column either
                return pa.nulls(0, pa.string()), True
            try:
                column_position(option, column, names)
            except ValueError as error:
                raise ValueError(f"{error}{self._hint(names)}") from None
            self._samples[column] = self._first(column)
        return self._samples[column]

    def _hint(self, names: Sequence[str]) -> str:
        """The option for a file of CSV whose header does not look like one."""
        if self.format.names is not None or self.files[0].format in ("parquet", "jsonl"):
            return ""
        between = next((each for each in (";", "\t", "|") if len(names) == 1 and each in names[0]), None)
        if between is not None and self.format.delimiter is None:
            return f"; --delimiter {'$' if between.isspace() else ''}{between!r} divides it"
        is_value = any(_VALUE.fullmatch(name) for name in names)
        return "; --columns names the columns of a file without a header line" if is_value else ""

    def _first(self, column: str) -> tuple[pa.Array[Any], bool]:
        """The values of the first batch that has some, and whether they are text without a type."""
        empty: tuple[pa.Array[Any], bool] | None = None
        for file in self.files:
            schema = self._schema(file)
            if column not in schema.names:
                continue
            is_text = file.format != "parquet" or column in dict(file.partitions)
            for batch in self._read(file, [column], Bar()):
                values = batch.column(column)
                if values.null_count < len(values):
                    return values, is_text
            empty = empty or (pa.nulls(0, schema.field(column).type), is_text)
        return empty or (pa.nulls(0, pa.string()), True)

    def _schema(self, file: File, *, whole: bool = False) -> pa.Schema:
        """The columns of a file, with those of its folders. `whole` looks for columns in all lines of JSON."""
        if file not in self._schemas or (whole and file.format == "jsonl"):
            with _named(file, self.format):
                if file.format != "parquet":
                    check_text(file)
                rows = _rows(file, self.format)
                schema = rows.schema(whole=whole) if isinstance(rows, JsonRows) else rows.schema()
                _ = schema.names  # Arrow decodes them lazily
            for name, _value in file.partitions:
                if name in schema.names:
                    schema = schema.remove(schema.names.index(name))
                schema = schema.append(pa.field(name, pa.string()))
            self._schemas[file] = schema
        return self._schemas[file]

    def _read(self, file: File, wanted: Sequence[str], bar: Bar) -> Batches:
        """The batches of the wanted columns of one file."""
        schema, partitions = self._schema(file), dict(file.partitions)
        stored = [column for column in wanted if column not in partitions]
        for column in stored:
            if file.format != "jsonl":
                column_position(str(file), column, schema.names)
        if not stored:
            stored = [name for name in schema.names if name not in partitions][:1]
        with _named(file, self.format):
            for batch in _rows(file, self.format).batches(stored, bar):
                arrays = [
                    pa.repeat(pa.scalar(partitions[column], pa.string()), batch.num_rows)
                    if column in partitions
                    else batch.column(column)
                    for column in wanted
                ]
                yield pa.RecordBatch.from_arrays(arrays, names=list(wanted))


def _rows(file: File, form: TextFormat) -> Rows:
    if file.format == "parquet":
        return ParquetRows(file)
    return JsonRows(file, form) if file.format == "jsonl" else CsvRows(file, form)


@contextmanager
def _named(file: File, form: TextFormat) -> Iterator[None]:
    """Adds the file name to errors raised while reading it."""
    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise OSError(error.errno, os.strerror(error.errno), str(file)) from None
        message = str(error)
        if file.format != "parquet" and " columns, got " in message:
            message += _FIELDS.format("in the first one" if form.names is None else "--columns names")
            message += _QUOTES if '\\"' in message else ""
        message = _LONG if message.startswith("straddling object") else message
        is_text = file.format != "parquet" and any(word in str(error) for word in ("UTF8", "utf-8", "UTF-8"))
        raise ValueError(f"{file}: {message}{_ENCODING if is_text else ''}") from None
