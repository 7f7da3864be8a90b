"""One run of the command."""

from __future__ import annotations

import os
import sys
import warnings
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from windrow._arguments.errors import bad_value
from windrow._command.aggregate import ARGUMENT, LEAST, calls, with_least
from windrow._command.arguments import arguments
from windrow._command.column_type import type_of
from windrow._command.columns import Columns
from windrow._command.comments import without_comments
from windrow._command.csv_rows import TextFormat
from windrow._command.file import File
from windrow._command.files import Files
from windrow._command.gap_column import GapColumn
from windrow._command.inputs import input_files
from windrow._command.picture import check_out, picture
from windrow._command.progress import Bar, progress_bar
from windrow._command.sink import Sink, in_order
from windrow._command.time_column import TimeColumn
from windrow._command.time_format import TimeFormat
from windrow._inspection.text import counted
from windrow._local.counters import LEFT_OUT_COUNTERS, LeftOut, counters
from windrow._native import Query
from windrow._query.grouped import group_by
from windrow._query.windowed import WindowedData
from windrow._windows.session import InvalidValue, SessionWindows
from windrow._windows.session_rules import RuleArguments
from windrow._windows.sliding import SlidingWindows

SERIES, ALL = "series", "all records"
"""The key of records without a key, and its column, which is not written."""

_OPTIONS = {"keys": "--key", "time": "--time", "gap": "--gap", "column": "--dynamic-gap", "count": "--threads"}
_OPTIONS |= {"aggregates": ARGUMENT, "min_samples(n=)": LEAST}
_OPTIONS |= {
    name: f"--{name.replace('_', '-')}"
    for name in ("end", "tie", "difference", "resolution", "max_gap", *RuleArguments.__annotations__)
}
_WORDS = {
    'overflow("null")': "--overflow null",
    ", or a datetime.timedelta": "",
    " or datetime.time(4)": "",
    "; alias(...) renames an expression": "",
    ", or flat()": "",
    "None without cut_at": "none without --cut-at",
    "allowed: None, as": "allowed: none, as",
}
"""Words for Python in messages, and what a shell has in their place."""
_ERRORS = (ValueError, TypeError, OverflowError, RuntimeError, OSError, MemoryError, ImportError)
"""Errors that end the command with one line of text."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command. Returns 0, 2 for bad input or a bad argument, or 130 after Ctrl-C."""
    options = arguments(sys.argv[1:] if argv is None else argv)
    streams: Any = sys  # a service may close standard streams
    streams.stderr = streams.stderr or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
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
    with TemporaryDirectory(prefix="windrow-", ignore_cleanup_errors=True) as spool:  # Arrow may read it still
        _run(options, input_files(options.files, options.format, Path(spool), options.comment), Path(spool))


def _run(options: Namespace, files: list[File], spool: Path) -> None:
    out = Sink.of(options.out, options.out_format, options.delimiter, options.decimal)
    out.check(files)
    aggregates = calls(options.agg)
    if not options.keys and any(call.name == SERIES for call in aggregates):
        raise bad_value("--agg", SERIES, "another name without --key")
    _check_text(options, files)
    comments = 0
    if options.comment is not None:
        files, comments = without_comments(files, options.comment, options.delimiter, spool)
    read = Files(files, _text_format(options, files))
    how = (None if options.time_format is None else TimeFormat(options.time_format), options.time_unit)
    end = getattr(options, "end", None)
    ends = None if end is None else TimeColumn("--end", (end,), *how)
    gap = getattr(options, "dynamic_gap", None)
    columns = read.columns(
        TimeColumn("--time", tuple(options.times), *how), ends, gap and GapColumn(gap, options.gap_unit)
    )
    for key in options.keys:
        columns.of("--key", key, "value")
    time = columns.of("--time", " ".join(options.times), "time").name
    tie = None if options.tie is None else columns.of("--tie", options.tie, "integer").name
    order = {"time": time, "tie": tie}
    if end is not None:
        order |= {"end": columns.of("--end", end, "end").name, "invalid_end": options.invalid_end or "drop"}
    elif getattr(options, "invalid_end", None) is not None:
        raise bad_value("--invalid-end", options.invalid_end, "none without --end, the column of ends")
    windows = windows_of(options, columns)
    drawn = None
    if options.timeline:
        check_out(options.timeline_out)
        reader, keys = _reader(read, columns, options, Bar()), options.keys or [SERIES]
        drawn = picture(reader, windows, options.timeline if options.keys else [_all(options)], keys=keys, order=order)
    chosen = {call.name: call.over(columns, as_text=out.format in ("csv", "tsv")) for call in aggregates}
    chosen = with_least(chosen, options.leasts)
    plan = _windowed(_reader(read, columns, options, Bar()), options, windows, order)._plan(chosen)
    out.check_columns(Query(plan.spec.text, plan.schema).output_schema, options.keys)
    with Bar() if options.quiet else progress_bar(files, always=options.progress) as bar:
        windowed = _windowed(_reader(read, columns, options, bar), options, windows, order)
        with warnings.catch_warnings():  # the summary below reports records that were left out
            warnings.simplefilter("ignore", LeftOut)
            table = windowed.agg(**chosen)
    counted_rows = counters(table)
    if not options.keys:
        table = table.drop_columns(SERIES)
    out.write(in_order(table, options.keys) if options.sort else table)
    if drawn is not None:
        drawn.save(options.timeline_out)
    if not options.quiet:
        lines = _summary(counted_rows, str(out))
        lines += [f"windrow: {counted(comments, 'comment line')} skipped"] if comments else []
        lines += [f"windrow: picture: {options.timeline_out}"] if drawn is not None else []
        print("\n".join(lines), file=sys.stderr)


def _all(options: Namespace) -> str:
    """The key of a picture without --key."""
    wrong = next((key for key in options.timeline if key is not None), None)
    if wrong is not None:
        raise bad_value("--timeline", wrong, "no KEY without --key; write the option after the files")
    return ALL


def _check_text(options: Namespace, files: list[File]) -> None:
    """Raises `ValueError` for options that files of these formats do not have."""
    if options.nulls and all(file.format == "parquet" for file in files):
        raise bad_value("--null", options.nulls[0], "none with Parquet, which has its own nulls")
    if options.comment is not None and all(file.format == "parquet" for file in files):
        raise bad_value("--comment", options.comment, "none with Parquet, which has no lines")
    if options.columns is not None and any(file.format in ("parquet", "jsonl") for file in files):
        raise bad_value("--columns", options.columns, "none with Parquet and JSON Lines, which name their columns")


def _text_format(options: Namespace, files: list[File]) -> TextFormat:
    names = None if options.columns is None else options.columns.split(",")
    types = {column: type_of(column, name) for column, name in options.types}
    points = all(file.format in ("parquet", "jsonl") for file in files)
    return TextFormat(options.delimiter, options.nulls, names, types, options.decimal, points)


def _reader(files: Files, columns: Columns, options: Namespace, bar: Bar) -> pa.RecordBatchReader:
    """The rows. Without a key, all have the same one."""
    reader = files.reader(columns, bar)
    if options.keys:
        return reader
    schema = reader.schema.append(pa.field(SERIES, pa.string()))
    key = pa.scalar(ALL, pa.string())
    rows = ([*batch.columns, pa.repeat(key, batch.num_rows)] for batch in reader)
    return pa.RecordBatchReader.from_batches(schema, (pa.RecordBatch.from_arrays(row, schema=schema) for row in rows))


def windows_of(options: Namespace, columns: Columns) -> SessionWindows | SlidingWindows:
    """The windows that the arguments ask for. Adds their columns."""
    if options.command == "sliding":
        return SlidingWindows.with_time_difference(options.difference, resolution=options.resolution)
    if options.gap is not None:
        for option in ("--max-gap", "--invalid-gap", "--gap-unit"):
            value = getattr(options, option.strip("-").replace("-", "_"))
            if value is not None:
                raise bad_value(option, value, "none with --gap; it limits the gaps of --dynamic-gap")
    rules: RuleArguments = {
        "max_duration": options.max_duration,
        "end_when": options.end_when and columns.of("--end-when", options.end_when, "boolean").name,
        "start_when": options.start_when and columns.of("--start-when", options.start_when, "boolean").name,
        "cut_on": options.cut_on and [columns.of("--cut-on", column, "value").name for column in options.cut_on],
        "cut_at": options.cut_at,
        "zone": options.zone,
        "max_records": options.max_records,
    }
    if options.gap is not None:
        return SessionWindows.with_gap(options.gap, **rules)
    invalid: InvalidValue = options.invalid_gap or "drop"
    gaps = columns.of("--dynamic-gap", options.dynamic_gap, "gap").name
    return SessionWindows.with_dynamic_gap(gaps, max_gap=options.max_gap, invalid_gap=invalid, **rules)


def _windowed(
    reader: pa.RecordBatchReader, options: Namespace, windows: SessionWindows | SlidingWindows, order: Mapping[str, Any]
) -> WindowedData[Any]:
    """A windowed query over the rows of the files. `order` has the columns of the time, the end and the tie."""
    windowed = group_by(reader, options.keys or [SERIES], **order).windowed_by(windows)
    windowed = windowed.overflow(options.overflow)
    return windowed if options.threads is None else windowed.threads(options.threads)


def _summary(counts: dict[str, int], out: str) -> list[str]:
    """A line about records and windows, then lines about records left out, gaps cut and null results, if any."""
    lines = [f"windrow: {counted(counts['records'], 'record')}, {counted(counts['windows'], 'window')}: {out}"]
    reasons = {name: why.replace("end=", "--end") for name, why in LEFT_OUT_COUNTERS.items()}
    left = [f"{counts[name]:,} {why} ({name})" for name, why in reasons.items() if counts.get(name)]
    lines += [f"windrow: left out: {', '.join(left)}"] if left else []
    cut = counts.get("clamped_gaps", 0)
    was = "was" if cut == 1 else "were"
    lines += [f"windrow: {counted(cut, 'gap')} {was} cut to --max-gap (clamped_gaps)"] if cut else []
    null = counts.get("overflows", 0)
    fit = "does not fit its type and is" if null == 1 else "do not fit their types and are"
    lines += [f"windrow: {counted(null, 'result')} {fit} null (overflows)"] if null else []
    return lines


def _one_line(error: BaseException) -> str:
    """The message in one line. Option names replace argument names."""
    text = " ".join(str(error).split()) or type(error).__name__
    for python, shell in _WORDS.items():
        text = text.replace(python, shell)
    argument, colon, rest = text.partition(": ")
    return f"{_OPTIONS[argument]}: {rest}" if colon and argument in _OPTIONS else text
