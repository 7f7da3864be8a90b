"""Every option that `--help` lists, over a CSV and over a Parquet file: the list is that of the parser."""

from __future__ import annotations

import argparse
import gzip
import io
import sys
from codecs import BOM_UTF8
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow._command.arguments import parsers

from ..harness.command import Command, command, json_rows

__all__ = ["command"]

NINE = datetime(2026, 5, 4, 9)
KEYS = "--key user --time ts --sort"
SESSIONS = f"{KEYS} --gap '5 minutes'"
BASE = {"sessions": f"sessions {SESSIONS}", "sliding": f"sliding {KEYS} --difference '5 minutes'"}


@pytest.fixture
def rows(command: Command) -> Command:
    """The command in a folder with the same rows in `rows.csv` and `rows.parquet`.

    ```text
    ann  shop 1     9:00   9:01   9:02                        9:30
    until           9:01   9:28   9:03                        9:30
    amount          1.5    2.5    3.5                         4.5
    wait, seconds   60     30     -1                          60
    out             false  true   false                       false
    ```
    """
    table = [
        {
            "user": "ann",
            "shop": "1",
            "ts": NINE + timedelta(minutes=minute),
            "day": f"04/05/26 9:{minute}",
            "epoch": 1_777_885_200 + 60 * minute,
            "amount": amount,
            "wait": wait,
            "out": minute == 1,
            "until": NINE + timedelta(minutes=until),
        }
        for minute, until, amount, wait in [(0, 1, 1.5, 60), (1, 28, 2.5, 30), (2, 3, 3.5, -1), (30, 30, 4.5, 60)]
    ]
    write(table, "rows")
    return command


def write(rows: list[dict[str, Any]], name: str) -> None:
    """The same rows in a file of CSV and in one of Parquet."""
    pq.write_table(pa.Table.from_pylist(rows), f"{name}.parquet")
    texts = [["" if value is None else str(value) for value in row.values()] for row in rows]
    Path(f"{name}.csv").write_text("\n".join(",".join(row) for row in [list(rows[0]), *texts]) + "\n")


@dataclass(frozen=True)
class Run:
    """What one run wrote."""

    out: str
    err: str

    @property
    def rows(self) -> list[tuple[int, int, str]]:
        """Windows of CSV: first and last minute after nine, and the last column."""
        fields = [line.replace('"', "").split(",") for line in self.out.splitlines()[1:]]
        start = 1 if fields and not fields[0][0].startswith("2026") else 0
        return [(minute(row[start]), minute(row[start + 1]), row[-1]) for row in fields]


def minute(text: str) -> int:
    return int((datetime.fromisoformat(text.removesuffix("Z")) - NINE) / timedelta(minutes=1))


def ran(command: Command, line: str, *more: str) -> Run:
    return Run(*command(line, *more))


TWO = [(0, 2, "3"), (30, 30, "1")]
CUT_AT_2 = [(0, 1, "2"), (2, 2, "1"), (30, 30, "1")]
CASES: dict[str, dict[str, Any]] = {
    "sessions": {
        "--key shop": lambda run: run.out.startswith('"user","shop",') and '"ann","1",' in run.out,
        "--time ts": TWO,
        "--time day --time-format '%d/%m/%y %H:%M'": TWO,
        "--time epoch --time-unit s": TWO,
        "--key shop --type shop=int64": lambda run: '"ann",1,2026' in run.out,
        "--gap '1 hour'": [(0, 30, "4")],
        "--end ts": TWO,
        "--end until": [(0, 30, "4")],
        "--max-duration '1 minute'": CUT_AT_2,
        "--end-when out": CUT_AT_2,
        "--start-when out": [(0, 0, "1"), (1, 2, "2"), (30, 30, "1")],
        "--cut-on out": [(0, 0, "1"), (1, 1, "1"), (2, 2, "1"), (30, 30, "1")],
        "--cut-on shop --cut-on user": TWO,
        "--cut-at 09:02": CUT_AT_2,
        "--max-records 1": lambda run: [row[-1] for row in run.rows] == ["1"] * 4,
        "--agg spend=sum:amount": [(0, 2, "7.5"), (30, 30, "4.5")],
        "--min-samples count=2": lambda run: run.rows[-1][-1] == "",
        "--out o.csv": lambda run: run.out == "" and Path("o.csv").read_text().count("\n") == 3,
        "--out o.parquet": lambda _: pq.read_table("o.parquet")["count"].to_pylist() == [3, 1],
        "--out o.jsonl": lambda _: [row["count"] for row in json_rows(Path("o.jsonl").read_text())] == [3, 1],
        "--out-format jsonl": lambda run: [row["count"] for row in json_rows(run.out)] == [3, 1],
        "--out-format tsv": lambda run: run.out.startswith('"user"\t"window_start"\t'),
        "--sort": TWO,
        "--overflow null": TWO,
        "--overflow error": TWO,
        "--timeline ann": lambda _: "user 'ann'" in Path("timeline.svg").read_text(),
        "--timeline ann --timeline-out ann.svg": (
            lambda run: Path("ann.svg").exists() and run.err.endswith("windrow: picture: ann.svg\n")
        ),
        "--threads 1": TWO,
        "--progress": lambda run: "windrow: 100 % read\n" in run.err,
        "--quiet": lambda run: run.err == "" and run.rows == TWO,
    },
    "sliding": {
        "--key shop": lambda run: run.out.startswith('"user","shop",') and '"ann","1",' in run.out,
        "--time ts": lambda run: len(run.rows) == 6,
        "--time day --time-format '%d/%m/%y %H:%M'": lambda run: len(run.rows) == 6,
        "--time epoch --time-unit s": lambda run: run.rows[0] == (-5, 0, "1"),
        "--key shop --type shop=int64": lambda run: '"ann",1,2026' in run.out,
        "--difference '1 minute'": lambda run: run.rows[0] == (-1, 0, "1"),
        "--resolution '1 minute'": lambda run: (1, 6, "2") in run.rows,
        "--agg spend=sum:amount": lambda run: run.rows[0] == (-5, 0, "1.5"),
        "--min-samples count=2": lambda run: run.rows[0][-1] == "",
        "--out o.csv": lambda _: Path("o.csv").read_text().count("\n") == 7,
        "--out-format jsonl": lambda run: len(json_rows(run.out)) == 6,
        "--sort": lambda run: run.rows == sorted(run.rows),
        "--overflow null": lambda run: len(run.rows) == 6,
        "--timeline ann --timeline-out ann.svg": lambda _: "user 'ann'" in Path("ann.svg").read_text(),
        "--threads 1": lambda run: len(run.rows) == 6,
        "--progress": lambda run: "windrow: 100 % read\n" in run.err,
        "--quiet": lambda run: run.err == "" and len(run.rows) == 6,
    },
}
OF_TEXT = {"--columns", "--null", "--comment", "--format", "--delimiter", "--decimal"}
BELOW = {
    "sessions": OF_TEXT
    | {"--tie", "--dynamic-gap", "--gap-unit", "--max-gap", "--invalid-gap", "--invalid-end", "--zone"},
    "sliding": OF_TEXT | {"--tie"},
}
"""Options that further tests run."""


def options(parser: argparse.ArgumentParser) -> set[str]:
    return {option for action in parser._actions for option in action.option_strings} - {"-h", "--help"}


@pytest.mark.parametrize("kind", CASES)
def test_every_option_is_run_here(kind: str) -> None:
    given = {word for arguments in CASES[kind] for word in arguments.split() if word.startswith("--")}
    assert given | BELOW[kind] == options(parsers()[1][kind])


@pytest.mark.parametrize("source", ["rows.csv", "rows.parquet"])
@pytest.mark.parametrize(("kind", "arguments"), [(kind, each) for kind, cases in CASES.items() for each in cases])
def test_an_option(kind: str, arguments: str, source: str, rows: Command) -> None:
    base, expected = BASE[kind], CASES[kind][arguments]
    for option in ("--time ts", "--gap '5 minutes'", "--difference '5 minutes'"):
        if arguments.startswith(option.split()[0] + " "):  # an option that is given once
            base = base.replace(option, "")
    run = ran(rows, f"{base} {source} {arguments}")
    assert expected(run) if callable(expected) else run.rows == expected


@pytest.mark.parametrize("source", ["rows.csv", "rows.parquet"])
def test_gaps_of_the_records(source: str, rows: Command) -> None:
    """9:00 joins 9:01, and 9:02 has a bad gap."""
    base = f"sessions {source} {KEYS} --dynamic-gap wait --gap-unit s"
    run = ran(rows, base)
    assert run.rows == [(0, 1, "2"), (30, 30, "1")]
    assert "1 with a gap that is null, negative, or zero without --end (bad_gaps)" in run.err
    assert ran(rows, f"{base} --invalid-gap drop").out == run.out
    run = ran(rows, f"{base} --max-gap '59 seconds'")
    assert run.rows == [(0, 0, "1"), (1, 1, "1"), (30, 30, "1")]
    assert "windrow: 2 gaps were cut to --max-gap (clamped_gaps)\n" in run.err
    assert "the gap of key ann at 2026-05-04T09:02:00" in rows.refused(f"{base} --invalid-gap error")


@pytest.mark.parametrize("kind", CASES)
def test_options_of_text(kind: str, rows: Command) -> None:
    base = f"{BASE[kind]} --agg top=max:amount"
    table = ran(rows, f"{base} rows.parquet")
    header, _, body = Path("rows.csv").read_text().replace(",", ";").replace(".", ",").partition("\n")
    Path("rows.txt").write_text(body)
    written = "--delimiter ';' --decimal ,"
    text = ran(rows, f"{base} rows.txt --format csv {written} --columns", header.replace(";", ","))
    assert text.out.replace('"', "").replace(",", ".").replace(";", ",") == table.out.replace('"', "")
    assert ';"4,5"' in text.out
    assert ran(rows, f"{base} rows.parquet {written}").out.replace('"', "") == text.out.replace('"', "")
    run = ran(rows, f"{BASE[kind]} rows.csv --null 2.5 --agg n=count:amount")
    assert run.rows[0 if kind == "sessions" else 1][2] == ("2" if kind == "sessions" else "1")
    for option, value in (("--null", "2.5"), ("--columns", "a,b")):
        message = rows.refused(f"{BASE[kind]} rows.parquet {option} {value}")
        assert f"{option}: got '{value}'; allowed: none with Parquet" in message


ZEEK = """#separator \\x09
#fields\tuser\tts\tnote
ann\t2026-05-04 09:00:00\t#1
ann\t2026-05-04 09:01:00\ta"b
#close\t2026-05-04-10-00-00
ann\t2026-05-04 09:30:00\t-
"""
IIS = """#Software: Internet Information Services
#Fields: day at user
2026-05-04 09:00:00 ann
#Fields: day at user
2026-05-04 09:01:00 ann

2026-05-04 09:30:00 "#ann"
"""
JSON = """# exported
{"user": "ann", "ts": "2026-05-04 09:00:00"}
  # not at the beginning of a line"""
COMMENTED = {
    "zeek.tsv": (ZEEK, "--columns user,ts,note --time ts", "3 comment lines", [(0, 1, "2"), (30, 30, "1")]),
    "iis.log": (IIS, "--columns day,at,user --time day --time at", "3 comment lines", [(30, 30, "1"), (0, 1, "2")]),
    "rows.jsonl": (JSON.rpartition("\n")[0], "--time ts", "1 comment line", [(0, 0, "1")]),
    "header.csv": ("# a\nuser,ts\n#\nann,2026-05-04 09:00:00", "--time ts", "2 comment lines", [(0, 0, "1")]),
    "none.csv": ("user,ts\nann,2026-05-04 09:00:00\n", "--time ts", None, [(0, 0, "1")]),
}


@pytest.mark.parametrize("name", COMMENTED)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_lines_that_begin_with_the_comment_are_skipped_and_counted(name: str, packed: bool, command: Command) -> None:
    text, arguments, skipped, answer = COMMENTED[name]
    source = Path(f"{name}.gz" if packed else name)
    source.write_bytes(gzip.compress(text.encode()) if packed else BOM_UTF8 + text.encode())
    run = ran(command, f"sessions {source} --key user --gap '5 minutes' --sort --comment '#' {arguments}")
    assert run.rows == answer
    assert run.err.partition("\n")[2] == ("" if skipped is None else f"windrow: {skipped} skipped\n")


@pytest.mark.parametrize(
    ("fields", "note", "skipped"),
    [
        ('"x\n# kept",1', "x\n# kept", 2),
        ('"""\n# kept\n""",1', '"\n# kept\n"', 2),
        ('"a,""b""\n# kept ""\n",1', 'a,"b"\n# kept "\n', 2),
        ('"a"",\n# kept",1', 'a",\n# kept', 2),
        ('5",6"\n# skipped', '5"', 3),
        ('"x",1\n# skipped', "x", 3),
    ],
)
def test_a_line_within_a_quoted_field_is_no_comment(fields: str, note: str, skipped: int, command: Command) -> None:
    Path("notes.csv").write_text(f"# skipped\nuser,ts,note,more\nann,2026-05-04 09:00:00,{fields}\n# skipped\n")
    run = ran(command, f"{BASE['sessions']} notes.csv --comment '#' --agg note=first:note --out-format jsonl")
    assert [row["note"] for row in json_rows(run.out)] == [note]
    assert f"windrow: {skipped} comment lines skipped" in run.err


def test_comments_of_the_standard_input_do_not_hide_its_format(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "# a\n" * 100 + '{"user": "ann", "ts": "2026-05-04 09:00:00"}\n'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert ran(command, f"{BASE['sessions']} - --comment '#'").rows == [(0, 0, "1")]


def test_what_is_no_comment_is_named(rows: Command) -> None:
    Path("odd.jsonl").write_text(JSON)
    Path("odd.csv").write_text("# a\nuser,ts\nann,2026-05-04 09:00:00\n# b\nann\n")
    for source, comment, says in (
        ("odd.jsonl", "#", "odd.jsonl: line 3: Expecting value at character 3"),
        ("odd.csv", "#", "odd.csv: CSV parse error: Expected 2 columns, got 1: ann"),
        ("rows.csv", "", "--comment: got ''; allowed: the text with which lines to skip begin"),
        ("rows.csv", "#\n", "--comment: got '#\\n'; allowed: the text"),
        ("rows.parquet", "#", "--comment: got '#'; allowed: none with Parquet, which has no lines"),
    ):
        assert says in rows.refused(f"{BASE['sessions']} {source} --comment", comment)
    assert "rows.csv" in rows.refused(f"{BASE['sessions']} rows.csv --comment '#' --out rows.csv")
    assert Path("rows.csv").read_text().count("\n") == 5


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_tie_orders_records_of_one_time(ending: str, command: Command) -> None:
    records = [(3, "c"), (1, "a"), (None, "z"), (2, "b"), (10, "d")]
    write([{"user": "ann", "ts": NINE, "seq": seq, "page": page, "out": seq == 2} for seq, page in records], "ties")
    sessions, sliding = (f"{BASE[kind]} ties.{ending}" for kind in ("sessions", "sliding"))
    tied = "--agg n=count --agg last=last:page --tie seq"
    run = ran(command, f"{sessions} {tied}")
    assert run.rows == [(0, 0, "d")]
    assert "windrow: left out: 1 without a tie (null_ties)\n" in run.err
    assert sorted(ran(command, f"{sessions} {tied} --end-when out").rows) == [(0, 0, "b"), (0, 0, "d")]
    assert ran(command, f"{sliding} {tied} --timeline ann").rows == [(-5, 0, "d")]
    assert "event left out: null tie" in Path("timeline.svg").read_text()
    message = command.refused(f"{sessions} --tie page")
    assert message.startswith("--tie: column 'page'")
    assert ("integers" if ending == "csv" else "has type string; allowed: integers of at most 64 bits") in message
    assert command.refused(f"{sessions} --tie order").startswith("--tie: got 'order'; allowed: a column")


WORDS = {
    "--key window": "--key: got 'window'; allowed: any name but 'window', which the result adds: rename it",
    "--key user": "--key: got 'user'; allowed: each key column once",
    "--cut-at noon": "--cut-at: got 'noon'; allowed: a time of day, such as \"00:00\"",
    "--max-duration 5": '--max-duration: got \'5\'; allowed: words such as "5 minutes", "1h30m" or "PT5M"',
    "--zone UTC": "--zone: got 'UTC'; allowed: none without --cut-at: it is the zone of that time of day",
    "--cut-at 00:00 --zone UTC": "--zone: got 'UTC'; allowed: none, as the time column 'ts' has no zone",
}


@pytest.mark.parametrize("arguments", WORDS)
def test_errors_have_no_words_of_python(arguments: str, rows: Command) -> None:
    Path("rows.csv").write_text(Path("rows.csv").read_text().replace("shop", "window"))
    assert rows.refused(f"{BASE['sessions']} rows.csv {arguments}") == WORDS[arguments]


LASTING = """user,ts,until
ann,2026-05-04T09:00:00,2026-05-04T09:20:00.123456789
ann,2026-05-04T09:24:00,2026-05-04T09:25:00
ann,2026-05-04T09:40:00,
ann,2026-05-04T09:50:00,2026-05-04T09:49:00
"""
ENDS = f"{BASE['sessions']} --end until"


def test_ends_of_the_records(command: Command) -> None:
    Path("calls.csv").write_text(LASTING)
    run = ran(command, f"{ENDS} calls.csv --timeline ann")
    assert run.rows == [(0, 25, "2")]
    assert "windrow: left out: 2 with an end that is null or before the time (bad_ends)" in run.err
    assert "how long an event lasts" in Path("timeline.svg").read_text()
    first = ran(command, f"{ENDS} calls.csv --gap '1 second'")
    assert "09:20:00.123456789" in first.out, "the finer of the two units"
    assert "the end of key ann at 2026-05-04T09:40:00" in command.refused(f"{ENDS} calls.csv --invalid-end error")
    epochs = "".join(f"ann,{1_777_885_200 + start},{1_777_885_200 + end}\n" for start, end in ((0, 1200), (1440, 1500)))
    Path("epochs.csv").write_text(f"user,ts,until\n{epochs}")
    assert ran(command, f"{ENDS} epochs.csv --time-unit s").rows == [(0, 25, "2")]


def test_ends_and_times_have_a_zone_or_none(command: Command) -> None:
    Path("calls.csv").write_text(LASTING.replace("00,2026-05-04T09:20:00.123456789", "00,2026-05-04T09:20:00Z"))
    message = command.refused(f"{ENDS} calls.csv")
    assert "--end: column 'until' has type timestamp[us, tz=UTC]; allowed: timestamp[us], as --time" in message
