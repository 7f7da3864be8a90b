"""CSV and Parquet files as one stream of Arrow batches: only the columns that a query names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq

from windrow.command.file import File
from windrow.command.progress import Bar
from windrow.command.time_column import Cast, TimeColumn
from windrow.errors import bad_value, unknown_column, unknown_word

Batches = Iterator[pa.RecordBatch]

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
    """

    files: Sequence[File]
    csv: CsvFormat
    time: TimeColumn

    def columns(self) -> list[str]:
        """The names of the columns of the first file, in order."""
        return self._schema(self.files[0]).names

    def reader(self, named: Mapping[str, Sequence[str]], bar: Bar) -> pa.RecordBatchReader:
        """The columns that are named, by the option that names them; `bar` is told how far it is.

        Raises:
            ValueError: a column that a file does not have, or types that differ between files.
            TypeError: a time column that holds no times.
            OSError: a file that cannot be read.
        """
        known = self._schema(self.files[0])
        for option, columns in named.items():
            for column in columns:
                if column not in known.names:
                    raise unknown_column(option, column, known.names)
        wanted = list(dict.fromkeys(column for columns in named.values() for column in columns))
        kinds, casts = [known.field(column).type for column in wanted], _no_casts(wanted)
        place = wanted.index(self.time.name)
        kinds[place], casts[place] = self._time(wanted)
        schema = pa.schema(list(zip(wanted, kinds, strict=True)))
        return pa.RecordBatchReader.from_batches(schema, self._batches(wanted, schema, casts, bar))

    def _batches(self, wanted: list[str], schema: pa.Schema, casts: list[Cast], bar: Bar) -> Batches:
        for file in self.files:
            for batch in self._read(file, wanted, bar):
                arrays = [cast(batch.column(name)) for name, cast in zip(wanted, casts, strict=True)]
                for known, array in zip(schema, arrays, strict=True):
                    if array.type != known.type:
                        allowed = f"the type that it has in the first file, {known.type}"
                        raise bad_value(f"{file.path}: column {known.name!r}", str(array.type), allowed)
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)
        bar.finish()

    def _time(self, wanted: list[str]) -> tuple[pa.DataType, Cast]:
        """The type of the timestamps, told by the first batch."""
        kind = self._schema(self.files[0]).field(self.time.name).type
        first = next(iter(self._read(self.files[0], wanted, Bar())), None)
        sample: pa.Array[Any] = pa.nulls(0, kind) if first is None else first.column(self.time.name)
        return self.time.cast(sample.type, sample)

    def _schema(self, file: File) -> pa.Schema:
        if file.format == "parquet":
            return pq.read_schema(file.path)
        with open(file.path, "rb") as raw:
            return self._open_csv(file, raw, {}).schema

    def _read(self, file: File, wanted: list[str], bar: Bar) -> Batches:
        """The batches of one file, with the wanted columns at least."""
        missing = [column for column in wanted if column not in self._schema(file).names]
        if missing:
            raise unknown_column(str(file.path), missing[0], self._schema(file).names)
        if file.format == "parquet":
            yield from _parquet(file, wanted, bar)
            return
        with open(file.path, "rb") as raw:
            try:
                yield from self._open_csv(file, bar.reading(raw), self._csv_types(file), wanted)
            except pa.ArrowInvalid as error:
                hint = "types are told by a file's begin: --type COLUMN=string says another"
                raise ValueError(f"{file.path}: {error} ({hint})") from None

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


def _no_casts(columns: Sequence[str]) -> list[Cast]:
    return [lambda values: values for _ in columns]


def _parquet(file: File, wanted: Sequence[str], bar: Bar) -> Batches:
    with pq.ParquetFile(file.path) as parquet:
        size, rows = file.path.stat().st_size, max(parquet.metadata.num_rows, 1)
        for batch in parquet.iter_batches(columns=list(wanted)):
            yield batch
            bar.add(size * batch.num_rows / rows)
