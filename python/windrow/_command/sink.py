"""Writes windows as CSV, JSON Lines or Parquet. A file appears complete, or not at all."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, TextIO, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq

from windrow._arguments.duration import TIME_UNITS
from windrow._arguments.errors import bad_value
from windrow._arguments.nested import no_rows
from windrow._command.file import File, Format
from windrow._command.json_lines import EXACT, check_years, json_lines, values_of
from windrow._local.results import schema_without_views
from windrow._native import sort_keys

WINDOW = "window"


def flat(table: pa.Table) -> pa.Table:
    """The table with `window_start` and `window_end` instead of `window`. CSV has no structs.

    Raises `ValueError` if another column has one of these names.
    """
    place = table.column_names.index(WINDOW)
    for bound in ("end", "start"):
        name = f"{WINDOW}_{bound}"
        if name in table.column_names:
            raise bad_value("--out", name, f"other names of keys and aggregates than {name!r}, which CSV has")
        table = table.add_column(place + 1, name, pc.struct_field(table[WINDOW], bound))
    return table.remove_column(place)


def in_order(table: pa.Table, keys: Sequence[str]) -> pa.Table:
    """The rows, sorted by key and then by window start."""
    columns: list[Any] = [table[key] for key in keys]
    start = pc.struct_field(table[WINDOW], "start")
    try:
        order = _order([*columns, start])
    except pa.ArrowException:  # it sorts no lists, dictionaries and extension types
        order = _order([*map(_bytes, columns), start])
    return table.take(order)


def _order(columns: list[Any]) -> Any:
    names = [str(number) for number in range(len(columns))]
    return pc.sort_indices(pa.table(columns, names=names), sort_keys=[(name, "ascending") for name in names])


def _bytes(column: pa.ChunkedArray[Any]) -> Any:
    """The bytes by which the core sorts keys; null for null."""
    parts = (pa.RecordBatch.from_arrays([chunk], ["key"]) for chunk in column.chunks)
    return pa.array([each for part in parts for each in sort_keys(part)], pa.large_binary())


@dataclass(frozen=True)
class Sink:
    """Where windows go.

    Attributes:
        file: the file; None for the standard output.
        format: the format.
        delimiter: the field delimiter of CSV.
        decimal: the decimal point of CSV.
    """

    file: File | None
    format: Format
    delimiter: str
    decimal: str

    @classmethod
    def of(cls, path: str | None, kind: Format | None, delimiter: str | None, decimal: str) -> Sink:
        """The sink at a path, or the standard output. Raises `ValueError` if nothing can be written there."""
        file = None if path is None else File.of("--out", path, kind)
        form: Format = kind or "csv" if file is None else file.format
        if form == "text":
            raise bad_value("--out", path, "CSV, TSV, JSON Lines or Parquet; text between white space is only read")
        if file is None and form == "parquet":
            raise bad_value("--out-format", form, "a file for Parquet, as with --out windows.parquet")
        return cls(file, form, delimiter or ("\t" if form == "tsv" else ","), decimal)

    def __str__(self) -> str:
        """Its name in messages."""
        return "standard output" if self.file is None else str(self.file)

    def check(self, sources: Sequence[File]) -> None:
        """Raises `ValueError` if the file cannot be written. Runs before any work is done."""
        if self.file is None:
            if cast("TextIO | None", sys.stdout) is None:
                raise bad_value("--out", None, "a file, because the standard output is closed")
            return
        path = self.file.path
        if path.is_dir() or not path.parent.is_dir():
            raise bad_value("--out", str(path), "a file in a folder that exists")
        if path.exists() and any(path.samefile(source.path) for source in sources):
            raise bad_value("--out", str(path), "a file that is not among the input files")

    def check_columns(self, schema: pa.Schema, keys: Sequence[str]) -> None:
        """Checks that the format can hold all columns, before any work is done.

        Raises `TypeError` for a column type, and `ValueError` for a column name.
        """
        if self.format not in ("csv", "tsv"):
            return
        table = flat(pa.Table.from_batches([no_rows(schema_without_views(schema))]))
        for name in table.column_names:
            try:
                pc_csv.write_csv(_printed(table.select([name]), "."), pa.BufferOutputStream())
            except pa.ArrowException:
                argument = "--key" if name in keys else f"--agg {name}"
                allowed = "Parquet or JSON Lines, as with --out windows.parquet or --out-format jsonl"
                raise TypeError(
                    f"{argument}: got {table[name].type}, which CSV does not have; allowed: {allowed}"
                ) from None

    def write(self, table: pa.Table) -> None:
        """Writes the rows. A file appears complete, or not at all."""
        if self.file is None:
            stdout: Any = sys.stdout.buffer
            self._text(table, pa.PythonFile(stdout, mode="w"))
            sys.stdout.flush()
            return
        is_file = self.file.path.is_file() or not self.file.path.exists()
        path = self.file.path.resolve() if is_file else self.file.path
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent if is_file else None)
        os.close(handle)
        part = Path(name)
        try:
            part.chmod(0o666 & ~_umask())
            if self.format == "parquet":
                pq.write_table(table, part, compression="zstd")
            else:
                compression: Any = self.file.compression
                with pa.output_stream(part, compression=compression) as stream:
                    self._text(table, stream)
            if is_file:
                part.replace(path)
                return
            with part.open("rb") as made, path.open("wb") as written:  # no file may replace a pipe or a device
                shutil.copyfileobj(made, written)
        finally:
            part.unlink(missing_ok=True)

    def _text(self, table: pa.Table, stream: pa.NativeFile) -> None:
        if self.format == "jsonl":
            for lines in json_lines(table):
                stream.write(lines)
            return
        rows = _printed(flat(table), self.decimal)
        style: Any = "needed" if self.delimiter in ",;\t|" else "all_valid"  # Arrow quotes no time with the delimiter
        options = pc_csv.WriteOptions(delimiter=self.delimiter, quoting_style=style)
        try:
            pc_csv.write_csv(rows, stream, options)
        except pa.ArrowInvalid as error:
            raise bad_value("--out", "CSV", f"a Parquet file for columns that CSV does not have ({error})") from None


def _printed(table: pa.Table, mark: str) -> pa.Table:
    """The columns in types of CSV, with this decimal mark. Raises `ValueError` for times that `check_years` refuses."""
    for place, field in enumerate(table.schema):
        column = values_of(table.column(place))
        if pa.types.is_duration(column.type):
            column = _seconds(column)
        if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
            check_years(field.name, column)
        if pa.types.is_decimal(column.type) or (pa.types.is_floating(column.type) and mark != "."):
            column = _number(column, mark)
        table = table.set_column(place, field.name, column)
    return table


def _seconds(column: Any) -> Any:
    """Durations in seconds, as decimals if floats do not have all their digits."""
    ticks = column.cast(pa.int64())
    parts = TIME_UNITS[column.type.unit].per_second
    least, most = pc.min(ticks).as_py() or 0, pc.max(ticks).as_py() or 0
    if max(-least, most) <= EXACT:
        return pc.divide(ticks.cast(pa.float64()), float(parts))
    return pc.multiply(ticks.cast(pa.decimal128(19)), pa.scalar(1 / Decimal(parts), pa.decimal128(10, 9)))


def _number(column: Any, mark: str) -> Any:
    """Numbers with this decimal mark; decimals without an exponent."""
    texts: Any = column.cast(pa.string())
    if pa.types.is_decimal(column.type) and pc.any(pc.match_substring(texts, "E")).as_py():
        texts = pa.array([None if value is None else f"{value:f}" for value in column.to_pylist()], pa.string())
    elif mark == ".":
        return column
    return pc.replace_substring(texts, ".", mark)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
