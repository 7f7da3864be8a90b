"""CSV and Parquet files as one stream of Arrow batches: only the columns that a query names."""

from __future__ import annotations

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
"""What `--type` may say of a column of CSV."""


@dataclass(frozen=True)
class CsvFormat:
    """What CSV files do not say of themselves.

    Attributes:
        delimiter: what stands between fields; None for what the name of a file says.
        nulls: texts that stand for null, beside the empty field.
        types: types of columns, by name; of all others they are inferred.
    """

    delimiter: str | None = None
    nulls: Sequence[str] = ()
    types: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raises `ValueError` for another type, or more than a character between fields."""
        for column, kind in self.types.items():
            if kind not in TYPES:
                raise unknown_word(f"--type {column}", kind, list(TYPES))
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise bad_value("--delimiter", self.delimiter, "one character")


@dataclass(frozen=True)
class Source:
    """The rows of some files, one file after the other.

    Attributes:
        files: of one format or of both; all have the columns of the first.
        csv: how CSV is written.
        time: the time column.
        gap: the column of the records' own gaps, where they have such.
    """

    files: Sequence[File]
    csv: CsvFormat
    time: TimeColumn
    gap: GapColumn | None = None

    def columns(self) -> list[str]:
        """The names of the columns of the first file, in order."""
        return self._schema(self.files[0]).names

    def reader(self, named: Mapping[str, Sequence[str]], bar: Bar) -> pa.RecordBatchReader:
        """The columns that are named, by the option that names them; `bar` is told how far it is.

        Raises:
            ValueError: a column that a file does not have, or has twice, types that differ between files, or a file
                that is not what its name says.
            TypeError: a time column that holds no times, or a column of gaps that holds no durations.
            OSError: a file that cannot be read.
        """
        known = self._schema(self.files[0])
        for option, columns in named.items():
            for column in columns:
                column_position(option, column, known.names)
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
        """The types of columns: of one without a value in the begin of a file of CSV, that in the next file.

        Where no file tells, keys are text, and values integers, of which all aggregates of numbers have a result.
        """
        found: dict[str, pa.DataType] = {}
        for file in self.files:
            schema = self._schema(file)
            for column in wanted:
                if column in schema.names and pa.types.is_null(found.get(column, pa.null())):
                    found[column] = schema.field(schema.names.index(column)).type
            if file.format == "parquet" or not any(pa.types.is_null(kind) for kind in found.values()):
                break
        none = {column: pa.string() if column in keys else pa.int64() for column in wanted}
        told = self.files[0].format == "parquet"
        return [kind if told or not pa.types.is_null(kind) else none[column] for column, kind in found.items()]

    def _batches(self, wanted: list[str], schema: pa.Schema, casts: list[Cast], bar: Bar) -> Batches:
        for file in self.files:
            for batch in self._read(file, wanted, bar):
                arrays = [cast(batch.column(name)) for name, cast in zip(wanted, casts, strict=True)]
                for place, (known, array) in enumerate(zip(schema, arrays, strict=True)):
                    if pa.types.is_null(array.type):
                        arrays[place] = array.cast(known.type)
                    elif array.type != known.type:
                        allowed = f"the type that it has in the first file, {known.type}"
                        raise bad_value(f"{file.path}: column {known.name!r}", str(array.type), allowed)
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)
        bar.finish()

    def _time(self, wanted: list[str]) -> tuple[pa.DataType, Cast]:
        """The type of the timestamps, told by the first batch that has rows."""
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
            with open(file.path, "rb") as raw:
                schema = self._open_csv(file, raw, {}).schema
                _ = schema.names  # Arrow decodes them when they are asked for
                return schema

    def _read(self, file: File, wanted: list[str], bar: Bar) -> Batches:
        """The batches of one file, with the wanted columns at least."""
        names = self._schema(file).names
        for column in wanted:
            column_position(str(file.path), column, names)
        with _named(file):
            if file.format == "parquet":
                yield from _parquet(file, wanted, bar)
                return
            with open(file.path, "rb") as raw:
                for batch in self._open_csv(file, bar.reading(raw), self._csv_types(file), wanted):
                    for field in batch.schema:
                        if pa.types.is_binary(field.type):  # that is no type of CSV, but what Arrow makes of such text
                            raise pa.ArrowInvalid(f"column {field.name!r}: {_NO_TEXT}")
                    yield batch

    def _csv_types(self, file: File) -> dict[str, pa.DataType]:
        """The types of columns that are not inferred; of the time column text, where it is not counted."""
        kind = self._schema(file).field(self.time.name).type
        counted = pa.types.is_integer(kind) and self.time.format is None
        return {self.time.name: pa.int64() if counted else pa.string()}

    def _open_csv(
        self, file: File, raw: Any, types: Mapping[str, pa.DataType], wanted: Sequence[str] | None = None
    ) -> pc_csv.CSVStreamingReader:
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
    """Names the file in what goes wrong while it is read."""
    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        raise ValueError(f"{file.path}: {error}{_hint(file, str(error))}") from None


def _hint(file: File, said: str) -> str:
    if file.format == "parquet":
        return ""
    if any(word in said for word in (_NO_TEXT, "UTF8", "utf-8")):
        return " (CSV is read as UTF-8: iconv -f latin1 -t utf-8 makes it of Latin-1)"
    if "conversion error to bool" in said:
        return " (true and false, or 1 and 0)"
    return " (types are told by a file's begin: --type COLUMN=string says another)" if "conversion" in said else ""


def _no_casts(columns: Sequence[str]) -> list[Cast]:
    return [lambda values: values for _ in columns]


def _parquet(file: File, wanted: Sequence[str], bar: Bar) -> Batches:
    with pq.ParquetFile(file.path) as parquet:
        size, rows = file.path.stat().st_size, max(parquet.metadata.num_rows, 1)
        for batch in parquet.iter_batches(columns=list(wanted)):
            yield batch
            bar.add(size * batch.num_rows / rows)
