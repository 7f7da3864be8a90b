"""Writes windows as CSV or Parquet. A file appears complete, or not at all."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq

from windrow._arguments.errors import bad_value
from windrow._command.file import File

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


def in_order(table: pa.Table, keys: list[str]) -> pa.Table:
    """The rows, sorted by key and then by window start."""
    start = pc.struct_field(table[WINDOW], "start")
    columns = [*(table[key] for key in keys), start]
    names = [str(number) for number in range(len(columns))]
    order = pc.sort_indices(pa.table(columns, names=names), sort_keys=[(name, "ascending") for name in names])
    return table.take(order)


def check(out: File, sources: list[File]) -> None:
    """Raises `ValueError` if the file cannot be written. Runs before any work is done."""
    folder = out.path.parent
    if not folder.is_dir():
        raise bad_value("--out", str(out.path), "a file in a folder that is there")
    if any(out.path.exists() and out.path.samefile(source.path) for source in sources if source.path.exists()):
        raise bad_value("--out", str(out.path), "another file than those that are read")


def check_columns(schema: pa.Schema, keys: list[str]) -> None:
    """Checks that CSV can hold all columns, before any work is done.

    Raises `TypeError` for a column type, and `ValueError` for a column name.
    """
    for field in flat(schema.empty_table()).schema:
        try:
            pc_csv.write_csv(pa.schema([field]).empty_table(), pa.BufferOutputStream())
        except pa.ArrowInvalid:
            argument = "--key" if field.name in keys else f"--agg {field.name}"
            raise TypeError(
                f"{argument}: got {field.type}, which CSV does not have; allowed: a Parquet file, as with "
                "--out windows.parquet"
            ) from None


def write(table: pa.Table, out: File | None, delimiter: str | None) -> None:
    """Writes the rows to a file, or as CSV to standard output."""
    if out is None:
        stdout: Any = sys.stdout.buffer
        _csv(table, pa.PythonFile(stdout, mode="w"), delimiter or ",")
        sys.stdout.flush()
        return
    handle, name = tempfile.mkstemp(prefix=f".{out.path.name}.", dir=out.path.parent)
    os.close(handle)
    part = Path(name)
    try:
        part.chmod(0o666 & ~_umask())
        if out.format == "parquet":
            pq.write_table(table, part, compression="zstd")
        else:
            compression: Any = out.compression
            with pa.output_stream(part, compression=compression) as stream:
                _csv(table, stream, delimiter or out.delimiter)
        part.replace(out.path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _csv(table: pa.Table, stream: pa.NativeFile, delimiter: str) -> None:
    options = pc_csv.WriteOptions(delimiter=delimiter, quoting_style="needed")
    try:
        pc_csv.write_csv(flat(table), stream, options)
    except pa.ArrowInvalid as error:
        raise bad_value("--out", "CSV", f"a Parquet file for columns that CSV does not have ({error})") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
