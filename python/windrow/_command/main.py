"""One run of the command."""

from __future__ import annotations

import os
import sys
import warnings
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from windrow._aggregates.aggregate import Aggregate, call_of
from windrow._arguments.errors import bad_value
from windrow._command import sink
from windrow._command.aggregate import aggregates
from windrow._command.arguments import arguments
from windrow._command.file import File
from windrow._command.gap_column import GapColumn
from windrow._command.picture import check_out, picture
from windrow._command.progress import Bar, progress_bar
from windrow._command.source import CsvFormat, Source
from windrow._command.time_column import TimeColumn
from windrow._local.counters import LeftOut, counters
from windrow._native import Query
from windrow._query.grouped import group_by
from windrow._query.windowed import WindowedData
from windrow._windows.session import InvalidGap, SessionWindows
from windrow._windows.sliding import SlidingWindows

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
    options = arguments(sys.argv[1:] if given is None else given)
    try:
        run(options)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of the output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (*_ERRORS, pa.ArrowException) as error:
        print(f"windrow: {_one_line(error)}", file=sys.stderr)
        return 2
    return 0


def run(options: Namespace) -> None:
    """Reads, windows and writes what the arguments ask for. Raises an error if an argument is wrong."""
    files = [File.of("FILE", path) for path in options.files]
    for file in files:
        if not file.path.is_file():
            raise bad_value("FILE", str(file.path), "a file that is there")
    out = None if options.out is None else File.of("--out", options.out)
    if out is not None:
        sink.check(out, files)
    windows, chosen = windows_of(options), aggregates(options.agg)
    csv = CsvFormat(options.delimiter, options.nulls, _types(options))
    source = Source(files, csv, TimeColumn(options.time, options.time_format, options.time_unit), gap_of(options))
    if out is None or out.format == "csv":
        plan = windowed_by(source, options, windows, chosen, Bar())._plan(chosen)
        sink.check_columns(Query(plan.spec, plan.schema).output_schema, options.keys)
    drawn = None
    if options.timeline:
        check_out(options.timeline_out)
        reader = source.reader(columns_of(options), Bar())
        drawn = picture(reader, windows, options.timeline, keys=options.keys, time=options.time)
    bar = Bar() if options.quiet else progress_bar(files)
    with bar:
        windowed = windowed_by(source, options, windows, chosen, bar)
        with warnings.catch_warnings():  # the summary below reports records that were left out
            warnings.simplefilter("ignore", LeftOut)
            table = windowed.agg(**chosen)
    counted = counters(table)
    sink.write(sink.in_order(table, options.keys) if options.sort else table, out, options.delimiter)
    if drawn is not None:
        drawn.save(options.timeline_out)
    if not options.quiet:
        print(_summary(counted, "standard output" if out is None else str(out.path)), file=sys.stderr)


def windows_of(options: Namespace) -> SessionWindows | SlidingWindows:
    """The windows that the arguments ask for."""
    if options.command == "sliding":
        return SlidingWindows.with_time_difference(options.difference, resolution=options.resolution)
    if options.gap is not None:
        for option in ("--max-gap", "--invalid-gap", "--gap-unit"):
            value = getattr(options, option.strip("-").replace("-", "_"))
            if value is not None:
                raise bad_value(option, value, "none beside --gap: it is of gaps of each record, --dynamic-gap")
        return SessionWindows.with_gap(options.gap, max_duration=options.max_duration, end_when=options.end_when)
    invalid: InvalidGap = options.invalid_gap or "drop"
    return SessionWindows.with_dynamic_gap(
        options.dynamic_gap,
        max_gap=options.max_gap,
        invalid_gap=invalid,
        max_duration=options.max_duration,
        end_when=options.end_when,
    )


def _types(options: Namespace) -> dict[str, str]:
    """The types of CSV columns that are not inferred. The --end-when column is boolean, even if it has no values."""
    end_when = getattr(options, "end_when", None)
    return ({} if end_when is None else {end_when: "bool"}) | dict(options.types)


def gap_of(options: Namespace) -> GapColumn | None:
    """The gap column, or None if there is none."""
    column = getattr(options, "dynamic_gap", None)
    return None if column is None else GapColumn(column, options.gap_unit)


def columns_of(options: Namespace) -> dict[str, list[str]]:
    """The columns that windowing reads, by option."""
    columns = {"--dynamic-gap": getattr(options, "dynamic_gap", None), "--end-when": getattr(options, "end_when", None)}
    named = {option: [column] for option, column in columns.items() if column is not None}
    return {"--key": options.keys, "--time": [options.time]} | named


def windowed_by(
    source: Source,
    options: Namespace,
    windows: SessionWindows | SlidingWindows,
    chosen: dict[str, Aggregate],
    bar: Bar,
) -> WindowedData[Any]:
    """A windowed query over the rows of the files."""
    named = columns_of(options) | {
        f"--agg {name}": list(call_of(aggregate).columns) for name, aggregate in chosen.items()
    }
    windowed = group_by(source.reader(named, bar), options.keys, time=options.time).windowed_by(windows)
    return windowed if options.threads is None else windowed.threads(options.threads)


def _summary(counted: dict[str, int], out: str) -> str:
    """A line about records and windows, then lines about records left out and gaps cut, if any."""
    lines = [f"windrow: {counted['records']:,} records, {counted['windows']:,} windows: {out}"]
    left = [f"{counted[name]:,} {why} ({name})" for name, why in _LEFT_OUT.items() if counted.get(name)]
    lines += [f"windrow: left out: {', '.join(left)}"] if left else []
    cut = counted.get("clamped_gaps", 0)
    lines += [f"windrow: {cut:,} gaps were cut to --max-gap (clamped_gaps)"] if cut else []
    return "\n".join(lines)


def _one_line(error: BaseException) -> str:
    """The message in one line. Option names replace argument names."""
    text = " ".join(str(error).split()) or type(error).__name__
    argument, colon, rest = text.partition(": ")
    return f"{_OPTIONS[argument]}: {rest}" if colon and argument in _OPTIONS else text
