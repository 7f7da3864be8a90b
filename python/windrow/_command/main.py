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
from windrow._command.progress import Bar, bar_over
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
    files = [File.of("FILE", path) for path in asked.files]
    for file in files:
        if not file.path.is_file():
            raise bad_value("FILE", str(file.path), "a file that is there")
    out = None if asked.out is None else File.of("--out", asked.out)
    if out is not None:
        sink.check(out, files)
    windows, chosen = windows_of(asked), aggregates(asked.agg)
    csv = CsvFormat(asked.delimiter, asked.nulls, _types(asked))
    source = Source(files, csv, TimeColumn(asked.time, asked.time_format, asked.time_unit), gap_of(asked))
    if out is None or out.format == "csv":
        plan = windowed_by(source, asked, windows, chosen, Bar())._plan(chosen)
        sink.check_columns(Query(plan.spec, plan.schema).output_schema, asked.keys)
    drawn = None
    if asked.timeline:
        check_out(asked.timeline_out)
        reader = source.reader(columns_of(asked), Bar())
        drawn = picture(reader, windows, asked.timeline, keys=asked.keys, time=asked.time)
    bar = Bar() if asked.quiet else bar_over(files)
    with bar:
        windowed = windowed_by(source, asked, windows, chosen, bar)
        with warnings.catch_warnings():  # the summary below reports records that were left out
            warnings.simplefilter("ignore", LeftOut)
            table = windowed.agg(**chosen)
    told = counters(table)
    sink.write(sink.in_order(table, asked.keys) if asked.sort else table, out, asked.delimiter)
    if drawn is not None:
        drawn.save(asked.timeline_out)
    if not asked.quiet:
        print(_told(told, "standard output" if out is None else str(out.path)), file=sys.stderr)


def windows_of(asked: Namespace) -> SessionWindows | SlidingWindows:
    """The windows that the arguments ask for."""
    if asked.command == "sliding":
        return SlidingWindows.with_time_difference(asked.difference, resolution=asked.resolution)
    if asked.gap is not None:
        for option in ("--max-gap", "--invalid-gap", "--gap-unit"):
            value = getattr(asked, option.strip("-").replace("-", "_"))
            if value is not None:
                raise bad_value(option, value, "none beside --gap: it is of gaps of each record, --dynamic-gap")
        return SessionWindows.with_gap(asked.gap, max_duration=asked.max_duration, end_when=asked.end_when)
    invalid: InvalidGap = asked.invalid_gap or "drop"
    return SessionWindows.with_dynamic_gap(
        asked.dynamic_gap,
        max_gap=asked.max_gap,
        invalid_gap=invalid,
        max_duration=asked.max_duration,
        end_when=asked.end_when,
    )


def _types(asked: Namespace) -> dict[str, str]:
    """The types of CSV columns that are not inferred. The --end-when column is boolean, even if it has no values."""
    end_when = getattr(asked, "end_when", None)
    return ({} if end_when is None else {end_when: "bool"}) | dict(asked.types)


def gap_of(asked: Namespace) -> GapColumn | None:
    """The gap column, or None if there is none."""
    own = getattr(asked, "dynamic_gap", None)
    return None if own is None else GapColumn(own, asked.gap_unit)


def columns_of(asked: Namespace) -> dict[str, list[str]]:
    """The columns that windowing reads, by option."""
    own = {"--dynamic-gap": getattr(asked, "dynamic_gap", None), "--end-when": getattr(asked, "end_when", None)}
    named = {option: [column] for option, column in own.items() if column is not None}
    return {"--key": asked.keys, "--time": [asked.time]} | named


def windowed_by(
    source: Source,
    asked: Namespace,
    windows: SessionWindows | SlidingWindows,
    chosen: dict[str, Aggregate],
    bar: Bar,
) -> WindowedData[Any]:
    """A windowed query over the rows of the files."""
    named = columns_of(asked) | {
        f"--agg {name}": list(call_of(aggregate).columns) for name, aggregate in chosen.items()
    }
    windowed = group_by(source.reader(named, bar), asked.keys, time=asked.time).windowed_by(windows)
    windowed = windowed.overflow(asked.overflow)
    return windowed if asked.threads is None else windowed.threads(asked.threads)


def _told(counted: dict[str, int], out: str) -> str:
    """A line about records and windows, then lines about records left out, gaps cut and null results."""
    lines = [f"windrow: {counted['records']:,} records, {counted['windows']:,} windows: {out}"]
    left = [f"{counted[name]:,} {why} ({name})" for name, why in _LEFT_OUT.items() if counted.get(name)]
    lines += [f"windrow: left out: {', '.join(left)}"] if left else []
    cut = counted.get("clamped_gaps", 0)
    lines += [f"windrow: {cut:,} gaps were cut to --max-gap (clamped_gaps)"] if cut else []
    null = counted.get("overflows", 0)
    fit = "result does not fit its type and is" if null == 1 else "results do not fit their types and are"
    lines += [f"windrow: {null:,} {fit} null (overflows)"] if null else []
    return "\n".join(lines)


def _one_line(error: BaseException) -> str:
    """The message in one line. Option names replace argument names."""
    text = " ".join(str(error).split()) or type(error).__name__
    text = text.replace('overflow("null")', "--overflow null")
    argument, colon, rest = text.partition(": ")
    return f"{_OPTIONS[argument]}: {rest}" if colon and argument in _OPTIONS else text
