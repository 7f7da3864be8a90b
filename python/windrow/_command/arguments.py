"""The command line of `windrow`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, Never

from windrow._command.aggregate import FUNCTIONS, LEAST
from windrow._command.column_type import DECIMAL, TYPES
from windrow._command.epoch import UNITS
from windrow._command.file import ENDINGS, FORMATS
from windrow._native import __version__

_EPILOG = """\
examples:
  windrow sessions clicks.parquet --key user --time ts --gap "30 minutes" --agg clicks=count --out sessions.parquet
  windrow sliding clicks.csv --key user --time ts --difference "10 minutes" --agg spend=sum:amount --sort
"""


class _Parser(argparse.ArgumentParser):
    """A parser that reports a wrong argument in one line and exits with code 2."""

    def error(self, message: str) -> Never:
        """Prints what is wrong and how to list all options."""
        self.exit(2, f"windrow: {message} (all options: {self.prog} --help)\n")


def arguments(argv: Sequence[str]) -> argparse.Namespace:
    """The parsed command line. Exits with code 2 if it is wrong."""
    parser, commands = parsers()
    options, unknown = parser.parse_known_args(argv)
    if unknown:
        _refuse(unknown, options.command, commands)
    return options


def parsers() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """The parser, and those of its two commands by name."""
    described = "Session windows and sliding windows of files, with the rules of Kafka Streams."
    raw: Any = argparse.RawDescriptionHelpFormatter
    parser = _Parser(prog="windrow", description=described, epilog=_EPILOG, formatter_class=raw, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"windrow {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="{sessions,sliding}", parser_class=_Parser)
    sessions = commands.add_parser(
        "sessions", help="sessions: events of a key at most a gap apart", formatter_class=raw, allow_abbrev=False
    )
    _add_input(sessions)
    gap = sessions.add_mutually_exclusive_group(required=True)
    gap.add_argument(
        "--gap", metavar="DURATION", help='the longest distance between neighbouring records, such as "30 minutes"'
    )
    gap.add_argument(
        "--dynamic-gap",
        metavar="COLUMN",
        help="the column with the gap of each record: durations, or numbers with --gap-unit",
    )
    sessions.add_argument("--gap-unit", choices=UNITS, help="the unit of numbers in --dynamic-gap")
    sessions.add_argument("--max-duration", metavar="DURATION", help="the longest session: a longer one is cut")
    sessions.add_argument("--end-when", metavar="COLUMN", help="a boolean column, true in the last record of a session")
    sessions.add_argument(
        "--start-when", metavar="COLUMN", help="a boolean column, true in the first record of a session"
    )
    sessions.add_argument("--cut-on", metavar="COLUMN", action="append", help="a session ends where its value changes")
    sessions.add_argument("--cut-at", metavar="HH:MM", help="a time of day that ends sessions")
    sessions.add_argument("--zone", metavar="ZONE", help="the time zone of --cut-at, for times with a zone")
    sessions.add_argument("--max-records", metavar="COUNT", type=int, help="the largest number of records of a session")
    sessions.add_argument("--max-gap", metavar="DURATION", help="longer gaps of --dynamic-gap are cut to this")
    sessions.add_argument("--invalid-gap", choices=("drop", "error"), help="what happens to a bad --dynamic-gap (drop)")
    sessions.add_argument(
        "--end", metavar="COLUMN", help="the column with the end of each record, for records that last; read as --time"
    )
    sessions.add_argument(
        "--invalid-end", choices=("drop", "error"), help="what happens to an --end that is null or before --time (drop)"
    )
    _add_output(sessions)
    sliding = commands.add_parser(
        "sliding",
        help="sliding windows: windows of one length that end at an event or start just after one",
        formatter_class=raw,
        allow_abbrev=False,
    )
    _add_input(sliding)
    sliding.add_argument(
        "--difference", required=True, metavar="DURATION", help='from the start to the end of a window: "10 minutes"'
    )
    sliding.add_argument("--resolution", metavar="DURATION", help="times are floored to this (one unit of the column)")
    _add_output(sliding)
    return parser, {"sessions": sessions, "sliding": sliding}


def _refuse(unknown: Sequence[str], command: str, parsers: Mapping[str, argparse.ArgumentParser]) -> Never:
    """Exits with a message about arguments that the command does not have."""
    option = unknown[0].partition("=")[0]
    for other, parser in parsers.items():
        if option in parser.format_usage().replace("[", " ").replace("]", " ").split():
            parsers[command].error(f"{option} is an option of windrow {other}; windrow {command} has no such option")
    parsers[command].error(f"unrecognized arguments: {' '.join(unknown)}")


def _add_input(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help=f"files ({', '.join(ENDINGS)}), folders, quoted patterns, or - (standard input), read one after the other",
    )
    parser.add_argument(
        "--key", action="append", default=[], dest="keys", metavar="COLUMN", help="a key column; repeat it for several"
    )
    parser.add_argument(
        "--time",
        action="append",
        required=True,
        dest="times",
        metavar="COLUMN",
        help="the time column: timestamps, dates, text or numbers; repeat it for a date and a time in two columns",
    )
    parser.add_argument(
        "--time-format",
        metavar="FORMAT",
        help="the format of times in text that is not ISO 8601: %%d/%%b/%%Y:%%H:%%M:%%S %%z",
    )
    parser.add_argument(
        "--tie", metavar="COLUMN", help="a column of integers that orders records of one time, such as an offset"
    )
    parser.add_argument("--time-unit", choices=UNITS, help="the unit of times in numbers, since 1970")
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="the format of the input; text has white space between fields (from the name of the file)",
    )
    parser.add_argument("--columns", metavar="NAME,NAME", help="the columns of CSV and text without a header line")
    parser.add_argument(
        "--delimiter",
        metavar="CHARACTER",
        help="the separator of fields in CSV, in and out (from the name of the file)",
    )
    parser.add_argument(
        "--decimal", default=".", metavar="CHARACTER", help="the decimal point of CSV, in and out: . or , (.)"
    )
    parser.add_argument(
        "--null",
        action="append",
        default=[],
        dest="nulls",
        metavar="TEXT",
        help="text in the input that means null; repeat it for several",
    )
    parser.add_argument(
        "--comment", metavar="TEXT", help="skip the lines of text files that begin with this, such as '#' (none)"
    )
    parser.add_argument(
        "--type",
        action="append",
        default=[],
        dest="types",
        type=_column_type,
        metavar="COLUMN=TYPE",
        help=f"the type of a column: {', '.join([*TYPES, DECIMAL])}; without it, keys and copied values are text",
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--agg",
        action="append",
        default=[],
        metavar="NAME=FUNCTION[:COLUMN]",
        help=f"a column of the result (count=count): {', '.join(sorted(FUNCTIONS))}",
    )
    parser.add_argument(
        LEAST,
        action="append",
        default=[],
        dest="leasts",
        metavar="NAME=NUMBER",
        help="the least number of records that an aggregate takes: its result is null with fewer",
    )
    parser.add_argument(
        "--overflow",
        choices=("error", "null"),
        default="error",
        help="what happens to a result that does not fit its type (error)",
    )
    parser.add_argument("--out", metavar="FILE", help="the output (CSV on standard output)")
    formats = [each for each in FORMATS if each != "text"]
    parser.add_argument(
        "--out-format",
        choices=formats,
        help="the format of the output (from the name of the file; csv on standard output)",
    )
    parser.add_argument(
        "--sort", action="store_true", help="sort the rows by key and start; without it they have no order"
    )
    parser.add_argument(
        "--timeline",
        action="append",
        nargs="?",
        default=[],
        metavar="KEY",
        help="also draw records and windows of a key (needs matplotlib); repeat it for several; no KEY without --key",
    )
    parser.add_argument(
        "--timeline-out", default="timeline.svg", metavar="FILE", help="the picture: .svg, .png, .pdf (timeline.svg)"
    )
    parser.add_argument("--threads", type=int, metavar="N", help="threads (one for each core)")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--progress", action="store_true", help="show progress even without a terminal")
    shown.add_argument("--quiet", action="store_true", help="no progress bar and no counters on standard error")


def _column_type(text: str) -> tuple[str, str]:
    column, equals, kind = text.rpartition("=")
    if not column or not equals:
        raise argparse.ArgumentTypeError(f"got {text!r}; allowed: COLUMN=TYPE, such as user=string")
    return column, kind
