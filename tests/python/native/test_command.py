"""The command `windrow`: CSV and Parquet in and out, the oracle's windows, pictures, one line for what is wrong."""

from __future__ import annotations

import gzip
import os
import pty
import re
import shlex
import subprocess
import sys
import termios
import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import windrow as wr
from windrow.__main__ import main
from windrow._command import aggregate

from ..harness.command import Command, command
from ..harness.flights import flights
from ..harness.tables import Call, assert_windows, by_sessions, rows_of

__all__ = ["command"]

ROOT = Path(__file__).resolve().parents[3]
CLICKS = """\
user,ts,amount
ann,2026-05-04 09:00:00,5.0
ann,2026-05-04 09:11:00,1.0
,2026-05-04 09:11:00,1.0
ann,2026-05-04 09:05:00,2.5
bob,2026-05-04 09:03:00,7.5
bob,,1.0
"""
SESSIONS = "sessions clicks.csv --key user --time ts --gap '5 minutes'"
SLIDING = "sliding clicks.csv --key user --time ts --difference 5m"
SORTED = f"{SESSIONS} --agg n=count --agg spend=sum:amount --sort"
ANSWER = """\
"user","window_start","window_end","n","spend"
"ann",2026-05-04 09:00:00.000000,2026-05-04 09:05:00.000000,2,7.5
"ann",2026-05-04 09:11:00.000000,2026-05-04 09:11:00.000000,1,1
"bob",2026-05-04 09:03:00.000000,2026-05-04 09:03:00.000000,1,7.5
"""
MINUTE = 60_000_000


@pytest.fixture
def clicks(command: Command) -> Command:
    """The command in a folder with `clicks.csv`."""
    Path("clicks.csv").write_text(CLICKS)
    return command


@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv.gz"])
def test_flights(ending: str, command: Command) -> None:
    table = (
        flights().select(["tailnum", "departure", "minutes"]).slice(0, 50_000).rename_columns(["k", "ts", "minutes"])
    )
    if ending == "parquet":
        pq.write_table(table, "flights.parquet")
    else:
        with pa.output_stream(f"flights.{ending}") as stream:  # gzip by its name
            options = pa.csv.WriteOptions(delimiter="\t" if ending.startswith("tsv") else ",")
            pa.csv.write_csv(table, stream, options)
    line = f"sessions flights.{ending} --key k --time ts --gap '6 hours' --agg flights=count --agg minutes=sum:minutes"
    printed = command(f"{line} --out days.parquet")
    days = pq.read_table("days.parquet")
    calls = {"flights": Call("count"), "minutes": Call("sum", ("minutes",))}
    assert_windows(rows_of(days, ["k"]), table, ["k"], by_sessions(360 * MINUTE), calls)
    assert days.num_rows > 12_500
    assert printed.out == ""
    assert f"50,000 records, {days.num_rows:,} windows: days.parquet" in printed.err
    assert "left out: 228 without a key (null_keys), 500 without a time (null_times)" in printed.err


def test_rows_in_order_on_the_standard_output(clicks: Command) -> None:
    run = [sys.executable, "-m", "windrow", *shlex.split(SORTED)]
    ran = subprocess.run(run, capture_output=True, text=True, check=True)
    assert ran.stdout == ANSWER
    assert ran.stderr.splitlines() == [
        "windrow: 6 records, 3 windows: standard output",
        "windrow: left out: 1 without a key (null_keys), 1 without a time (null_times)",
    ]


def test_a_csv_file_out(clicks: Command) -> None:
    clicks(f"{SORTED} --out sessions.csv")
    assert Path("sessions.csv").read_text() == ANSWER
    clicks(f"{SORTED} --out sessions.tsv.gz")
    assert gzip.decompress(Path("sessions.tsv.gz").read_bytes()).decode() == ANSWER.replace(",", "\t")
    assert sorted(path.name for path in Path().iterdir()) == ["clicks.csv", "sessions.csv", "sessions.tsv.gz"]


def test_several_files_are_read_one_after_the_other(command: Command) -> None:
    lines = CLICKS.splitlines(keepends=True)
    Path("one.csv").write_text("".join(lines[:3]))
    Path("two.csv").write_text("".join([lines[0], *lines[3:]]))
    assert command(SORTED.replace("clicks.csv", "one.csv two.csv")).out == ANSWER


def test_aggregates_with_numbers_and_with_any_number_of_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    def share(column: str, percentage: float, accuracy: int = 5) -> str:
        return "an aggregate"

    def distinct(column: str, *columns: str) -> str:
        return "an aggregate"

    monkeypatch.setitem(aggregate.FUNCTIONS, "share", share)
    monkeypatch.setitem(aggregate.FUNCTIONS, "distinct", distinct)
    calls = aggregate.calls(["a=share:ms,0.95", "b=share:ms,1e-3,100", "c=distinct:x", "d=distinct:x,y,z"])
    given = [[value for _, value in call.arguments] for call in calls]
    assert given == [["ms", 0.95], ["ms", 0.001, 100], ["x"], ["x", "y", "z"]]
    for call, message in (("share:ms", "share:column,percentage"), ("share:ms,much", "a number for percentage")):
        with pytest.raises(ValueError, match=message):
            aggregate.calls([f"a={call}"])


def test_types_and_nulls_of_csv(command: Command) -> None:
    Path("own.csv").write_text("user;ts;amount\n007;2026-05-04 09:00;NA\nNA;2026-05-04 09:00;3\n")
    line = "sessions own.csv --key user --time ts --gap 5m --delimiter ';' --null NA --type user=string"
    printed = command(f"{line} --agg spend=sum:amount")
    assert printed.out.splitlines()[1:] == ['"007";2026-05-04 09:00:00.000000;2026-05-04 09:00:00.000000;']
    assert "1 without a key" in printed.err


WRONG = {
    "": "required",
    "sessions clicks.csv --key user --gap 5m": "--time",
    "sessions clicks.csv --key user --time ts": "--gap",
    "sessions clicks.csv --key user --time ts --gap 5": "--gap: got '5'; allowed: words such as",
    "sessions clicks.csv --key user --time amount --gap 5m": "--time-format",
    f"{SESSIONS} --grace 1m": "--grace",
    SESSIONS.replace("clicks", "none"): "'none.csv'; allowed: a file that exists",
    f"{SESSIONS} --key usr": "--key: got 'usr'",
    f"{SESSIONS} --agg n=cuont": "did you mean 'count'?",
    f"{SESSIONS} --agg count": "name=function",
    f"{SESSIONS} --agg n=count --agg n=count": "appears twice",
    f"{SESSIONS} --agg n=min_by:user": "min_by:column,by",
    f"{SESSIONS} --agg n=sum:user": "--agg n: column 'user': got 'ann'; allowed: numbers",
    f"{SESSIONS} --agg n=sum:x": "--agg n: got 'x'",
    f"{SESSIONS} --out out.xlsx": ".parquet",
    f"{SESSIONS} --out ./clicks.csv": "not among the",
    f"{SESSIONS} --out none/out.csv": "a folder that exists",
    f"{SESSIONS} --out out": "--out: got 'out'",
    f"{SESSIONS} --agg n=collect_list:amount": (
        "--agg n: got list<item: string not null>, which CSV does not have; allowed: Parquet or JSON Lines"
    ),
    f"{SESSIONS} --agg n=top_k:amount --out out.tsv.gz": "--agg n: got list<",
    f"{SESSIONS} --agg window=count": "--agg: got 'window'; allowed: a new name: the column of windows has this one",
    f"{SESSIONS} --agg window_end=count": "--out: got 'window_end'",
    f"{SLIDING} --max-duration 1h": (
        "--max-duration is an option of windrow sessions; windrow sliding has no such option (all options: windrow"
    ),
    f"{SESSIONS} --resolution=1s": "--resolution is an option of windrow sliding",
    f"{SESSIONS} --longst=1h": "unrecognized arguments: --",
    f"{SESSIONS} --max-gap 1h": "--max-gap",
    f"{SESSIONS} --end stop": "--end: got 'stop'; allowed: a column",
    f"{SESSIONS} --end user": "--end: column 'user'",
    f"{SESSIONS} --invalid-end error": "--invalid-end: got 'error'; allowed: none without --end",
    f"{SESSIONS} --end-when stop": "--end-when: got 'stop'; allowed: a column",
    f"{SESSIONS} --threads 0": "--threads: got 0",
    f"{SESSIONS} --type user=text": "'string'",
    f"{SLIDING} --resolution 2m": "--difference: got '5m'",
}


@pytest.mark.parametrize("line", WRONG)
def test_what_is_wrong_is_one_line(line: str, clicks: Command) -> None:
    assert WRONG[line] in clicks.refused(line)
    assert [path.name for path in Path().iterdir()] == ["clicks.csv"]


def test_files_of_other_types_do_not_go_together(command: Command) -> None:
    times = pa.array([0], pa.timestamp("us"))
    for name, user in (("one", "ann"), ("two", 1)):
        pq.write_table(pa.table({"user": [user], "ts": times}), f"{name}.parquet")
    message = command.refused(SESSIONS.replace("clicks.csv", "one.parquet two.parquet"))
    assert message.startswith(
        "two.parquet: column 'user': got 'int64'; allowed: the type that it has in the first file"
    )


def test_the_command_of_the_tutorial(command: Command) -> None:
    page = (ROOT / "docs" / "tutorial" / "batch.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(blocks[0] + next(block for block in blocks if "write_csv" in block), {})
    ((line, printed),) = re.findall(r"```sh\nwindrow (sessions .*?)\n```\n\n```text\n(.*?)```", page, re.DOTALL)
    assert "".join(command(line)) == printed


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="^0$"):
        main(["--version"])
    assert capsys.readouterr().out == f"windrow {wr.__version__}\n"


def test_the_name_of_the_command() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"windrow": "windrow._command.main:main"}


def test_a_bar_where_there_is_a_terminal(clicks: Command) -> None:
    run = [sys.executable, "-m", "windrow", *shlex.split(SESSIONS), "--out", "out.csv"]
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    with subprocess.Popen(run, stderr=theirs, stdout=subprocess.DEVNULL) as process:
        os.close(theirs)
        printed = b""
        while chunk := _read(ours):
            printed += chunk
    os.close(ours)
    assert process.returncode == 0
    assert b"windows: 100%" in printed
    assert b"6 records, 3 windows" in printed


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:  # the other end is closed
        return b""


def test_a_reader_that_has_had_enough(command: Command) -> None:
    rows = "".join(f"user {number},2026-05-04 09:00:00\n" for number in range(100_000))
    Path("clicks.csv").write_text(f"user,ts\n{rows}")
    run = [sys.executable, "-m", "windrow", *shlex.split(SESSIONS), "--quiet"]
    with subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read(10) == b'"user","wi'
        process.stdout.close()
        assert process.stderr is not None
        printed = process.stderr.read()
    assert printed == b""
    assert process.returncode == 0


def test_a_picture_of_some_keys(clicks: Command) -> None:
    clicks(f"{SESSIONS} --timeline ann --timeline bob --out out.csv")
    picture = Path("timeline.svg").read_text()
    assert "user 'ann'" in picture
    assert "user 'bob'" in picture
    assert "SessionWindows.with_gap('5 minutes')" in picture
    clicks(f"{SESSIONS} --timeline ann --timeline-out ann.png --out out.csv")
    assert Path("ann.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_of_several_key_columns(command: Command) -> None:
    Path("shops.csv").write_text("user,shop,ts\nann,1,2026-05-04 09:00\nann,2,2026-05-04 09:00\n")
    command("sliding shops.csv --key user --key shop --time ts --difference 5m --timeline ann,2")
    assert "shop '2'" in Path("timeline.svg").read_text()


def test_keys_with_commas(command: Command) -> None:
    Path("shops.csv").write_text('user,shop,ts\n"Smith, John",1,2026-05-04 09:00\n"a ""b""",2,2026-05-04 09:00\n')
    line = "sessions shops.csv --time ts --gap 5m --key user"
    command(line, "--timeline", "Smith, John", "--timeline", 'a "b"')
    picture = Path("timeline.svg").read_text()
    assert "user 'Smith, John'" in picture
    assert "user 'a &quot;b&quot;'" in picture or "user 'a \"b\"'" in picture
    line = f"{line} --key shop --timeline"
    command(line, '"Smith, John",1')
    assert "user 'Smith, John', shop '1'" in Path("timeline.svg").read_text()
    message = command.refused(line, "Smith, John")
    assert message.startswith("--timeline: got 'Smith, John'; allowed: keys that have records in the files")
    words = "a value of each key column, separated by commas: user,shop; a value with a comma in double quotes"
    assert words in command.refused(line, "Smith, John,1")


PICTURES = {
    "--timeline eve": "--timeline: got 'eve'; allowed: keys that have records in the files",
    "--timeline ann --timeline-out ann.gif": "--timeline-out: got 'ann.gif'",
    "--timeline ann --timeline-out no/ann.svg": "a folder that exists",
    "--timeline ann " * 13: "at most 12",
    "--key amount --timeline ann": "user,amount",
    "--key amount --type amount=double --timeline ann,much": "'amount', which holds double",
}


@pytest.mark.parametrize("arguments", PICTURES)
def test_pictures_that_cannot_be(arguments: str, clicks: Command) -> None:
    assert PICTURES[arguments] in clicks.refused(f"{SESSIONS} {arguments} --out out.csv")
    assert [path.name for path in Path().iterdir()] == ["clicks.csv"]


def test_a_picture_without_matplotlib(clicks: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert clicks.refused(f"{SESSIONS} --timeline ann") == "windrow.plot needs matplotlib: pip install matplotlib"


def test_the_page_has_the_options_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    for kind in ("sessions", "sliding"):
        with pytest.raises(SystemExit):
            main([kind, "--help"])
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help"}
    page = (ROOT / "docs" / "reference" / "command.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(--[a-z-]+)", page, re.MULTILINE)) == options
    assert len(options) >= 20
