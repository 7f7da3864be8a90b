"""Every option that `--help` lists, over a CSV and over a Parquet file: the list is that of the parser."""

from __future__ import annotations

import argparse
import gzip
import io
import json
import sys
from codecs import BOM_UTF8
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.__main__ import main
from windrow._command.arguments import parsers

NINE = datetime(2026, 5, 4, 9)
MINUTES = (0, 1, 2, 30)
BASE = {
    "sessions": ["--key", "user", "--time", "ts", "--gap", "5 minutes", "--sort"],
    "sliding": ["--key", "user", "--time", "ts", "--difference", "5 minutes", "--sort"],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with the same rows in `rows.csv` and `rows.parquet`.

    ```text
    ann  shop 1     9:00   9:01   9:02                        9:30
    until           9:01   9:28   9:03                        9:30
    amount          1.5    2.5    3.5                         4.5
    wait, seconds   60     30     -1                          60
    out             false  true   false                       false
    ```
    """
    monkeypatch.chdir(tmp_path)
    rows = [
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
        for minute, amount, wait, until in zip(
            MINUTES, (1.5, 2.5, 3.5, 4.5), (60, 30, -1, 60), (1, 28, 3, 30), strict=True
        )
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    texts = [[str(value) for value in row.values()] for row in rows]
    (tmp_path / "rows.csv").write_text("\n".join(",".join(row) for row in [list(rows[0]), *texts]) + "\n")
    return tmp_path


@dataclass(frozen=True)
class Run:
    """What one run wrote."""

    folder: Path
    source: str
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


Check = Callable[[Run], object]
TWO = [(0, 2, "3"), (30, 30, "1")]


def two(run: Run) -> bool:
    return run.rows == TWO


def lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


CASES: dict[str, dict[str, list[tuple[list[str], Check]]]] = {
    "sessions": {
        "--key": [(["--key", "shop"], lambda run: run.out.startswith('"user","shop",') and '"ann","1",' in run.out)],
        "--time": [(["--time", "ts"], two)],
        "--time-format": [(["--time", "day", "--time-format", "%d/%m/%y %H:%M"], two)],
        "--time-unit": [(["--time", "epoch", "--time-unit", "s"], two)],
        "--tie": [],
        "--columns": [],
        "--null": [],
        "--comment": [],
        "--format": [],
        "--delimiter": [],
        "--decimal": [],
        "--type": [(["--key", "shop", "--type", "shop=int64"], lambda run: '"ann",1,2026' in run.out)],
        "--gap": [(["--gap", "1 hour"], lambda run: run.rows == [(0, 30, "4")])],
        "--dynamic-gap": [],
        "--gap-unit": [],
        "--max-gap": [],
        "--invalid-gap": [],
        "--end": [(["--end", "ts"], two), (["--end", "until"], lambda run: run.rows == [(0, 30, "4")])],
        "--invalid-end": [],
        "--max-duration": [
            (["--max-duration", "1 minute"], lambda run: run.rows == [(0, 1, "2"), (2, 2, "1"), (30, 30, "1")])
        ],
        "--end-when": [(["--end-when", "out"], lambda run: run.rows == [(0, 1, "2"), (2, 2, "1"), (30, 30, "1")])],
        "--start-when": [(["--start-when", "out"], lambda run: run.rows == [(0, 0, "1"), (1, 2, "2"), (30, 30, "1")])],
        "--cut-on": [
            (["--cut-on", "out"], lambda run: run.rows == [(0, 0, "1"), (1, 1, "1"), (2, 2, "1"), (30, 30, "1")]),
            (["--cut-on", "shop", "--cut-on", "user"], two),
        ],
        "--cut-at": [(["--cut-at", "09:02"], lambda run: run.rows == [(0, 1, "2"), (2, 2, "1"), (30, 30, "1")])],
        "--zone": [],
        "--max-records": [(["--max-records", "1"], lambda run: [row[-1] for row in run.rows] == ["1"] * 4)],
        "--agg": [(["--agg", "spend=sum:amount"], lambda run: run.rows == [(0, 2, "7.5"), (30, 30, "4.5")])],
        "--min-samples": [(["--min-samples", "count=2"], lambda run: [row[-1] for row in run.rows][-1] == "")],
        "--out": [
            (["--out", "o.csv"], lambda run: run.out == "" and (run.folder / "o.csv").read_text().count("\n") == 3),
            (
                ["--out", "o.parquet"],
                lambda run: pq.read_table(run.folder / "o.parquet")["count"].to_pylist() == [3, 1],
            ),
            (
                ["--out", "o.jsonl"],
                lambda run: [row["count"] for row in lines((run.folder / "o.jsonl").read_text())] == [3, 1],
            ),
        ],
        "--out-format": [
            (["--out-format", "jsonl"], lambda run: [row["count"] for row in lines(run.out)] == [3, 1]),
            (["--out-format", "tsv"], lambda run: run.out.startswith('"user"\t"window_start"\t')),
        ],
        "--sort": [(["--sort"], two)],
        "--overflow": [(["--overflow", "null"], two), (["--overflow", "error"], two)],
        "--timeline": [(["--timeline", "ann"], lambda run: "user 'ann'" in (run.folder / "timeline.svg").read_text())],
        "--timeline-out": [
            (
                ["--timeline", "ann", "--timeline-out", "ann.svg"],
                lambda run: (run.folder / "ann.svg").exists() and run.err.endswith("windrow: picture: ann.svg\n"),
            )
        ],
        "--threads": [(["--threads", "1"], two)],
        "--progress": [(["--progress"], lambda run: "windrow: 100 % read\n" in run.err)],
        "--quiet": [(["--quiet"], lambda run: run.err == "" and two(run))],
    },
}
CASES["sliding"] = {
    **CASES["sessions"],
    "--time": [(["--time", "ts"], lambda run: len(run.rows) == 6)],
    "--time-format": [(["--time", "day", "--time-format", "%d/%m/%y %H:%M"], lambda run: len(run.rows) == 6)],
    "--time-unit": [(["--time", "epoch", "--time-unit", "s"], lambda run: run.rows[0] == (-5, 0, "1"))],
    "--difference": [(["--difference", "1 minute"], lambda run: run.rows[0] == (-1, 0, "1"))],
    "--resolution": [(["--resolution", "1 minute"], lambda run: (1, 6, "2") in run.rows)],
    "--agg": [(["--agg", "spend=sum:amount"], lambda run: run.rows[0] == (-5, 0, "1.5"))],
    "--min-samples": [(["--min-samples", "count=2"], lambda run: run.rows[0][-1] == "")],
    "--sort": [(["--sort"], lambda run: run.rows == sorted(run.rows))],
    "--overflow": [(["--overflow", "null"], lambda run: len(run.rows) == 6)],
    "--threads": [(["--threads", "1"], lambda run: len(run.rows) == 6)],
    "--quiet": [(["--quiet"], lambda run: run.err == "" and len(run.rows) == 6)],
    "--out": [(["--out", "o.csv"], lambda run: (run.folder / "o.csv").read_text().count("\n") == 7)],
    "--out-format": [(["--out-format", "jsonl"], lambda run: len(lines(run.out)) == 6)],
}
RULES = ("--max-duration", "--end-when", "--start-when", "--cut-on", "--cut-at", "--zone", "--max-records")
for option in ("--gap", "--dynamic-gap", "--gap-unit", "--max-gap", "--invalid-gap", "--end", "--invalid-end", *RULES):
    del CASES["sliding"][option]

OWN = ["--dynamic-gap", "wait", "--gap-unit", "s"]
"""With gaps of the records: 9:00 joins 9:01, and 9:02 has a bad gap."""


def options(parser: argparse.ArgumentParser) -> set[str]:
    return {option for action in parser._actions for option in action.option_strings} - {"-h", "--help"}


@pytest.mark.parametrize("command", CASES)
def test_every_option_is_run_here(command: str) -> None:
    assert set(CASES[command]) == options(parsers()[1][command])


def ran(folder: Path, capsys: pytest.CaptureFixture[str], source: str, *arguments: str) -> Run:
    assert main([arguments[0], source, *arguments[1:]]) == 0, capsys.readouterr().err
    printed = capsys.readouterr()
    return Run(folder, source, printed.out, printed.err)


@pytest.mark.parametrize("source", ["rows.csv", "rows.parquet"])
@pytest.mark.parametrize(
    ("command", "option"),
    [(command, option) for command, cases in CASES.items() for option, runs in cases.items() if runs],
)
def test_an_option(command: str, option: str, source: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, check in CASES[command][option]:
        base = BASE[command]
        if option in ("--time", "--time-format", "--time-unit"):  # an option that is given once
            base = [*base[:2], *base[4:]]
        if option in ("--gap", "--difference"):
            base = [*base[:4], *base[6:]]
        assert check(ran(folder, capsys, source, command, *base, *arguments)), f"{command} {arguments}"


@pytest.mark.parametrize("source", ["rows.csv", "rows.parquet"])
def test_gaps_of_the_records(source: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = ["sessions", "--key", "user", "--time", "ts", "--sort", *OWN]
    run = ran(folder, capsys, source, *base)
    assert run.rows == [(0, 1, "2"), (30, 30, "1")]
    assert "1 with a gap that is null, negative, or zero without --end (bad_gaps)" in run.err
    assert ran(folder, capsys, source, *base, "--invalid-gap", "drop").out == run.out
    run = ran(folder, capsys, source, *base, "--max-gap", "59 seconds")
    assert run.rows == [(0, 0, "1"), (1, 1, "1"), (30, 30, "1")]
    assert "windrow: 2 gaps were cut to --max-gap (clamped_gaps)\n" in run.err
    assert main([base[0], source, *base[1:], "--invalid-gap", "error"]) == 2
    assert "the gap of key ann at 2026-05-04T09:02:00" in capsys.readouterr().err


@pytest.mark.parametrize("command", CASES)
def test_options_of_text(command: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = ran(folder, capsys, "rows.parquet", command, *BASE[command], "--agg", "top=max:amount")
    semicolons = "\n".join(
        line.replace(",", ";").replace(".", ",") for line in (folder / "rows.csv").read_text().split("\n")
    )
    (folder / "rows.txt").write_text(semicolons.partition("\n")[2])
    names = semicolons.partition("\n")[0].replace(";", ",")
    arguments = ["--format", "csv", "--columns", names, "--delimiter", ";", "--decimal", ","]
    text = ran(folder, capsys, "rows.txt", command, *BASE[command], "--agg", "top=max:amount", *arguments)
    assert text.out.replace('"', "").replace(",", ".").replace(";", ",") == table.out.replace('"', "")
    assert ';"4,5"' in text.out
    written = ran(folder, capsys, "rows.parquet", command, *BASE[command], *arguments[4:], "--agg", "top=max:amount")
    assert written.out.replace('"', "") == text.out.replace('"', "")
    run = ran(folder, capsys, "rows.csv", command, *BASE[command], "--null", "2.5", "--agg", "n=count:amount")
    assert run.rows[0 if command == "sessions" else 3][2] == "2" or command == "sliding"
    for option, value in (("--null", "2.5"), ("--columns", "a,b")):
        assert main([command, "rows.parquet", *BASE[command], option, value]) == 2
        assert f"{option}: got '{value}'; allowed: none with Parquet" in capsys.readouterr().err


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
    "zeek.tsv": (ZEEK, ["--columns", "user,ts,note", "--time", "ts"], 3, [(0, 1, "2"), (30, 30, "1")]),
    "iis.log": (IIS, ["--columns", "day,at,user", "--time", "day", "--time", "at"], 3, [(30, 30, "1"), (0, 1, "2")]),
    "rows.jsonl": (JSON.rpartition("\n")[0], ["--time", "ts"], 1, [(0, 0, "1")]),
    "header.csv": ("# a\nuser,ts\n#\nann,2026-05-04 09:00:00", ["--time", "ts"], 2, [(0, 0, "1")]),
    "none.csv": ("user,ts\nann,2026-05-04 09:00:00\n", ["--time", "ts"], 0, [(0, 0, "1")]),
}


@pytest.mark.parametrize("name", COMMENTED)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_lines_that_begin_with_the_comment_are_skipped_and_counted(
    name: str, packed: bool, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, arguments, skipped, answer = COMMENTED[name]
    source = folder / (f"{name}.gz" if packed else name)
    source.write_bytes(gzip.compress(text.encode()) if packed else BOM_UTF8 + text.encode())
    base = ["sessions", "--key", "user", "--gap", "5 minutes", "--sort", "--comment", "#"]
    run = ran(folder, capsys, str(source), *base, *arguments)
    assert run.rows == answer
    said = {0: "", 1: "windrow: 1 comment line skipped\n"}.get(skipped, f"windrow: {skipped} comment lines skipped\n")
    assert run.err.partition("\n")[2] == said


@pytest.mark.parametrize(
    ("fields", "note", "skipped"),
    [
        ('"x\n# kept",1', "x\n# kept", 2),
        ('"""\n# kept\n""",1', '"\n# kept\n"', 2),
        ('"a,""b""\n# kept ""\n",1', 'a,"b"\n# kept "\n', 2),
        ('5",6"\n# skipped', '5"', 3),
        ('"x",1\n# skipped', "x", 3),
    ],
)
def test_a_line_within_a_quoted_field_is_no_comment(
    fields: str, note: str, skipped: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"# skipped\nuser,ts,note,more\nann,2026-05-04 09:00:00,{fields}\n# skipped\n"
    (folder / "notes.csv").write_text(text)
    arguments = ["--comment", "#", "--agg", "note=first:note", "--out", "o.jsonl"]
    run = ran(folder, capsys, "notes.csv", "sessions", *BASE["sessions"], *arguments)
    assert [row["note"] for row in lines((folder / "o.jsonl").read_text())] == [note]
    assert f"windrow: {skipped} comment lines skipped" in run.err


def test_comments_of_the_standard_input_do_not_hide_its_format(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "# a\n" * 100 + '{"user": "ann", "ts": "2026-05-04 09:00:00"}\n'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert ran(folder, capsys, "-", "sessions", *BASE["sessions"], "--comment", "#").rows == [(0, 0, "1")]


def test_what_is_no_comment_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "odd.jsonl").write_text(JSON)
    (folder / "odd.csv").write_text("# a\nuser,ts\nann,2026-05-04 09:00:00\n# b\nann\n")
    for source, comment, says in (
        ("odd.jsonl", "#", "odd.jsonl: line 3: Expecting value at character 3"),
        ("odd.csv", "#", "odd.csv: CSV parse error: Expected 2 columns, got 1: ann"),
        ("rows.csv", "", "--comment: got ''; allowed: the text with which lines to skip begin"),
        ("rows.csv", "#\n", "--comment: got '#\\n'; allowed: the text"),
        ("rows.parquet", "#", "--comment: got '#'; allowed: none with Parquet, which has no lines"),
    ):
        assert main(["sessions", source, *BASE["sessions"], "--comment", comment]) == 2
        assert says in capsys.readouterr().err
    assert main(["sessions", "rows.csv", *BASE["sessions"], "--comment", "#", "--out", "rows.csv"]) == 2
    assert "rows.csv" in capsys.readouterr().err
    assert (folder / "rows.csv").read_text().count("\n") == 5


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_tie_orders_records_of_one_time(ending: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [(seq, page, seq == 2) for seq, page in ((3, "c"), (1, "a"), (None, "z"), (2, "b"), (10, "d"))]
    rows = [{"user": "ann", "ts": NINE, "seq": seq, "page": page, "out": out} for seq, page, out in texts]
    pq.write_table(pa.Table.from_pylist(rows), folder / "ties.parquet")
    lines_of = [",".join("" if value is None else str(value) for value in row.values()) for row in rows]
    (folder / "ties.csv").write_text("\n".join([",".join(rows[0]), *lines_of]) + "\n")
    arguments = ["--agg", "n=count", "--agg", "last=last:page", "--tie", "seq"]
    run = ran(folder, capsys, f"ties.{ending}", "sessions", *BASE["sessions"], *arguments)
    assert run.rows == [(0, 0, "d")]
    assert "windrow: left out: 1 without a tie (null_ties)\n" in run.err
    run = ran(folder, capsys, f"ties.{ending}", "sessions", *BASE["sessions"], *arguments, "--end-when", "out")
    assert sorted(run.rows) == [(0, 0, "b"), (0, 0, "d")]
    run = ran(folder, capsys, f"ties.{ending}", "sliding", *BASE["sliding"], "--timeline", "ann", *arguments)
    assert run.rows == [(-5, 0, "d")]
    assert "event left out: null tie" in (folder / "timeline.svg").read_text()
    assert main(["sessions", f"ties.{ending}", *BASE["sessions"], "--tie", "page"]) == 2
    message = capsys.readouterr().err
    assert message.startswith("windrow: --tie: column 'page'")
    assert ("integers" if ending == "csv" else "has type string; allowed: integers of at most 64 bits") in message
    assert main(["sessions", f"ties.{ending}", *BASE["sessions"], "--tie", "order"]) == 2
    assert capsys.readouterr().err.startswith("windrow: --tie: got 'order'; allowed: a column")


WORDS = {
    ("--key", "user"): "--key: got 'user'; allowed: each key column once\n",
    ("--cut-at", "noon"): "--cut-at: got 'noon'; allowed: a time of day, such as \"00:00\"\n",
    ("--max-duration", "5"): '--max-duration: got \'5\'; allowed: words such as "5 minutes", "1h30m" or "PT5M"\n',
    ("--zone", "UTC"): "--zone: got 'UTC'; allowed: none without --cut-at: it is the zone of that time of day\n",
    ("--cut-at", "00:00", "--zone", "UTC"): "--zone: got 'UTC'; allowed: none, as the time column 'ts' has no zone\n",
}


@pytest.mark.parametrize("arguments", WORDS)
def test_errors_have_no_words_of_python(
    arguments: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sessions", "rows.csv", *BASE["sessions"], *arguments]) == 2
    assert capsys.readouterr().err == f"windrow: {WORDS[arguments]}"
