"""One run of the command."""

from __future__ import annotations

import os
import sys
import warnings
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from windrow._arguments.errors import bad_value
from windrow._command.aggregate import calls
from windrow._command.arguments import arguments
from windrow._command.column_type import type_of
from windrow._command.columns import Columns
from windrow._command.csv_rows import TextFormat
from windrow._command.file import File
from windrow._command.gap_column import GapColumn
from windrow._command.inputs import input_files
from windrow._command.picture import check_out, picture
from windrow._command.progress import Bar, bar_over
from windrow._command.sink import Sink, in_order
from windrow._command.source import Source
from windrow._command.time_column import TimeColumn
from windrow._command.time_format import TimeFormat
from windrow._inspection.text import counted
from windrow._local.counters import LeftOut, counters
from windrow._native import Query
from windrow._query.grouped import group_by
from windrow._query.windowed import WindowedData
from windrow._windows.session import InvalidGap, SessionWindows
from windrow._windows.sliding import SlidingWindows

SERIES, ALL = "series", "all records"
"""The key of records without a key, and its column, which is not written."""

_LEFT_OUT = {
    "null_keys": "without a key",
    "null_times": "without a time",
    "bad_gaps": "with a gap that is null, zero or negative",
}
_OPTIONS = {"keys": "--key", "time": "--time", "gap": "--gap", "column": "--dynamic-gap", "count": "--threads"}
_OPTIONS |= {
    name: f"--{name.replace('_', '-')}" for name in ("difference", "resolution", "max_gap", "max_duration", "end_when")
}
_ERRORS = (ValueError, TypeError, OverflowError, RuntimeError, OSError, MemoryError, ImportError)
"""Errors that end the command with one line of text."""


def main(given: Sequence[str] | None = None) -> int:
    """Runs the command. Returns 0, 2 for bad input or a bad argument, or 130 after Ctrl-C."""
    asked = arguments(sys.argv[1:] if given is None else given)
    try:
        run(asked)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of the output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (*_ERRORS, pa.ArrowException) as error:
        print(f"windrow: {_one_line(error)}", file=sys.stderr)
        return 2
    return 0


def run(asked: Namespace) -> None:
    """Reads, windows and writes what the arguments ask for. Raises an error if an argument is wrong."""
    with TemporaryDirectory(prefix="windrow-", ignore_cleanup_errors=True) as spool:  # Arrow may read it still
        _run(asked, input_files(asked.files, asked.format, Path(spool)))


def _run(asked: Namespace, files: list[File]) -> None:
    out = Sink.of(asked.out, asked.out_format, asked.delimiter, asked.decimal)
    out.check(files)
    aggregates = calls(asked.agg)
    if not asked.keys and any(call.name == SERIES for call in aggregates):
        raise bad_value("--agg", SERIES, "another name, where there is no --key")
    _check_text(asked, files)
    source = Source(files, _text_format(asked))
    form = None if asked.time_format is None else TimeFormat(asked.time_format)
    columns = source.columns(TimeColumn(tuple(asked.times), form, asked.time_unit), gap_of(asked))
    for key in asked.keys:
        columns.of("--key", key, "value")
    time = columns.of("--time", " ".join(asked.times), "time").name
    windows = windows_of(asked, columns)
    drawn = None
    if asked.timeline:
        check_out(asked.timeline_out)
        reader, keys = _reader(source, columns, asked, Bar()), asked.keys or [SERIES]
        drawn = picture(reader, windows, asked.timeline if asked.keys else [_all(asked)], keys=keys, time=time)
    chosen = {call.name: call.over(columns, as_text=out.format in ("csv", "tsv")) for call in aggregates}
    plan = _windowed(_reader(source, columns, asked, Bar()), asked, windows, time)._plan(chosen)
    out.check_columns(Query(plan.spec, plan.schema).output_schema, asked.keys)
    with Bar() if asked.quiet else bar_over(files, always=asked.progress) as bar:
        windowed = _windowed(_reader(source, columns, asked, bar), asked, windows, time)
        with warnings.catch_warnings():  # the summary below reports records that were left out
            warnings.simplefilter("ignore", LeftOut)
            table = windowed.agg(**chosen)
    counted_rows = counters(table)
    if not asked.keys:
        table = table.drop_columns(SERIES)
    out.write(in_order(table, asked.keys) if asked.sort else table)
    if drawn is not None:
        drawn.save(asked.timeline_out)
    if not asked.quiet:
        lines = _summary(counted_rows, str(out))
        lines += [f"windrow: picture: {asked.timeline_out}"] if drawn is not None else []
        print("\n".join(lines), file=sys.stderr)


def _all(asked: Namespace) -> str:
    """The key of a picture without --key."""
    wrong = next((key for key in asked.timeline if key is not None), None)
    if wrong is not None:
        raise bad_value("--timeline", wrong, "no KEY where there is no --key; write the option after the files")
    return ALL


def _check_text(asked: Namespace, files: list[File]) -> None:
    """Raises `ValueError` for options that files of these formats do not have."""
    if asked.nulls and all(file.format == "parquet" for file in files):
        raise bad_value("--null", asked.nulls[0], "none with Parquet, which has nulls of its own")
    if asked.columns is not None and any(file.format in ("parquet", "jsonl") for file in files):
        raise bad_value("--columns", asked.columns, "none with Parquet and JSON Lines, which name their columns")


def _text_format(asked: Namespace) -> TextFormat:
    names = None if asked.columns is None else asked.columns.split(",")
    types = {column: type_of(column, name) for column, name in asked.types}
    return TextFormat(asked.delimiter, asked.nulls, names, types, asked.decimal)


def _reader(source: Source, columns: Columns, asked: Namespace, bar: Bar) -> pa.RecordBatchReader:
    """The rows. Without a key, all have the same one."""
    reader = source.reader(columns, bar)
    if asked.keys:
        return reader
    schema = reader.schema.append(pa.field(SERIES, pa.string()))
    key = pa.scalar(ALL, pa.string())
    rows = ([*batch.columns, pa.repeat(key, batch.num_rows)] for batch in reader)
    return pa.RecordBatchReader.from_batches(schema, (pa.RecordBatch.from_arrays(row, schema=schema) for row in rows))


def windows_of(asked: Namespace, columns: Columns) -> SessionWindows | SlidingWindows:
    """The windows that the arguments ask for. Adds their columns."""
    if asked.command == "sliding":
        return SlidingWindows.with_time_difference(asked.difference, resolution=asked.resolution)
    if asked.gap is not None:
        for option in ("--max-gap", "--invalid-gap", "--gap-unit"):
            value = getattr(asked, option.strip("-").replace("-", "_"))
            if value is not None:
                raise bad_value(option, value, "none with --gap: it is for --dynamic-gap, the gaps of records")
    end_when = asked.end_when and columns.of("--end-when", asked.end_when, "boolean").name
    if asked.gap is not None:
        return SessionWindows.with_gap(asked.gap, max_duration=asked.max_duration, end_when=end_when)
    invalid: InvalidGap = asked.invalid_gap or "drop"
    return SessionWindows.with_dynamic_gap(
        columns.of("--dynamic-gap", asked.dynamic_gap, "gap").name,
        max_gap=asked.max_gap,
        invalid_gap=invalid,
        max_duration=asked.max_duration,
        end_when=end_when,
    )


def gap_of(asked: Namespace) -> GapColumn | None:
    """The gap column, or None if there is none."""
    own = getattr(asked, "dynamic_gap", None)
    return None if own is None else GapColumn(own, asked.gap_unit)


def _windowed(
    reader: pa.RecordBatchReader, asked: Namespace, windows: SessionWindows | SlidingWindows, time: str
) -> WindowedData[Any]:
    """A windowed query over the rows of the files."""
    windowed = group_by(reader, asked.keys or [SERIES], time=time).windowed_by(windows)
    return windowed if asked.threads is None else windowed.threads(asked.threads)


def _summary(counts: dict[str, int], out: str) -> list[str]:
    """A line about records and windows, then lines about records left out and gaps cut, if any."""
    lines = [f"windrow: {counted(counts['records'], 'record')}, {counted(counts['windows'], 'window')}: {out}"]
    left = [f"{counts[name]:,} {why} ({name})" for name, why in _LEFT_OUT.items() if counts.get(name)]
    lines += [f"windrow: left out: {', '.join(left)}"] if left else []
    cut = counts.get("clamped_gaps", 0)
    was = "was" if cut == 1 else "were"
    lines += [f"windrow: {counted(cut, 'gap')} {was} cut to --max-gap (clamped_gaps)"] if cut else []
    return lines


def _one_line(error: BaseException) -> str:
    """The message in one line. Option names replace argument names."""
    text = " ".join(str(error).split()) or type(error).__name__
    argument, colon, rest = text.partition(": ")
    return f"{_OPTIONS[argument]}: {rest}" if colon and argument in _OPTIONS else text
