"""The command `windrow`: CSV and Parquet in and out, the same windows as brute force, one line for what is wrong."""

from __future__ import annotations

import csv
import gzip
import itertools
import os
import pty
import re
import shlex
import subprocess
import sys
import termios
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import windrow as wr
from windrow.__main__ import main
from windrow._command import aggregate

from ..harness.flights import flights

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
SESSIONS = ["--key", "user", "--time", "ts", "--gap", "5 minutes"]
ANSWER = """\
"user","window_start","window_end","n","spend"
"ann",2026-05-04 09:00:00.000000,2026-05-04 09:05:00.000000,2,7.5
"ann",2026-05-04 09:11:00.000000,2026-05-04 09:11:00.000000,1,1
"bob",2026-05-04 09:03:00.000000,2026-05-04 09:03:00.000000,1,7.5
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with `clicks.csv`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clicks.csv").write_text(CLICKS)
    return tmp_path


def written(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def days(rows: Iterator[tuple[str, datetime, int | None]], gap: timedelta) -> set[tuple[object, ...]]:
    """Sessions by brute force: aircraft, first and last departure, how many, the sum of their minutes."""
    found = set[tuple[object, ...]]()
    for key, own in itertools.groupby(sorted(rows, key=lambda row: row[:2]), key=lambda row: row[0]):
        session: list[tuple[str, datetime, int | None]] = []
        for row in own:
            if session and row[1] - session[-1][1] > gap:
                found.add(_day(key, session))
                session = []
            session.append(row)
        found.add(_day(key, session))
    return found


def _day(key: str, session: list[tuple[str, datetime, int | None]]) -> tuple[object, ...]:
    minutes = [row[2] for row in session if row[2] is not None]
    return key, session[0][1], session[-1][1], len(session), sum(minutes) if minutes else None


@pytest.mark.parametrize(
    ("ending", "many", "no_key", "no_time"),
    [("parquet", 50_000, 228, 500), ("csv", 50_000, 228, 500), ("tsv.gz", 50_000, 228, 500)],
)
def test_flights(
    ending: str, many: int, no_key: int, no_time: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = flights().select(["tailnum", "departure", "minutes", "origin"]).slice(0, many)
    source = folder / f"flights.{ending}"
    if ending == "parquet":
        pq.write_table(table, source)
    else:
        with pa.output_stream(source) as stream:  # gzip by its name
            options = pa.csv.WriteOptions(delimiter="\t" if ending.startswith("tsv") else ",")
            pa.csv.write_csv(table, stream, options)
    arguments = ["sessions", source.name, "--key", "tailnum", "--time", "departure", "--gap", "6 hours"]
    assert main([*arguments, "--agg", "flights=count", "--agg", "minutes=sum:minutes", "--out", "days.parquet"]) == 0
    days_written = pq.read_table(folder / "days.parquet")
    found = {
        (row["tailnum"], row["window"]["start"], row["window"]["end"], row["flights"], row["minutes"])
        for row in days_written.to_pylist()
    }
    rows = (tuple(row.values())[:3] for row in table.to_pylist() if row["tailnum"] and row["departure"])
    assert found == days(rows, timedelta(hours=6))
    assert len(found) == days_written.num_rows > many // 4
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"{many:,} records, {len(found):,} windows: days.parquet" in printed.err
    left_out = f"left out: {no_key:,} without a key (null_keys), {no_time:,} without a time (null_times)"
    assert left_out in printed.err


def test_the_windows_of_one_hour_of_flights(folder: Path) -> None:
    table = flights().slice(0, 3_000)
    pq.write_table(table, folder / "flights.parquet")
    arguments = ["sliding", "flights.parquet", "--key", "origin", "--time", "departure", "--difference", "60 minutes"]
    assert main([*arguments, "--resolution", "1 minute", "--out", "hours.parquet", "--quiet"]) == 0
    hour, minute, expected = timedelta(hours=1), timedelta(minutes=1), set[tuple[object, ...]]()
    for origin in ("EWR", "JFK", "LGA"):
        own = [row["departure"] for row in table.to_pylist() if row["origin"] == origin and row["departure"]]
        starts = {time - hour for time in own} | {time + minute for time in own}
        windows = ((start, sum(start <= time <= start + hour for time in own)) for start in starts)
        expected |= {(origin, start, start + hour, count) for start, count in windows if count}
    written = pq.read_table(folder / "hours.parquet").to_pylist()
    assert {(row["origin"], *row["window"].values(), row["count"]) for row in written} == expected
    assert len(written) == len(expected) > 3_000


def test_rows_in_order_on_the_standard_output(folder: Path) -> None:
    arguments = ["sessions", "clicks.csv", *SESSIONS, "--agg", "n=count", "--agg", "spend=sum:amount", "--sort"]
    ran = subprocess.run([sys.executable, "-m", "windrow", *arguments], capture_output=True, text=True, check=True)
    assert ran.stdout == ANSWER
    assert ran.stderr.splitlines() == [
        "windrow: 6 records, 3 windows: standard output",
        "windrow: left out: 1 without a key (null_keys), 1 without a time (null_times)",
    ]


def test_a_csv_file_out(folder: Path) -> None:
    arguments = ["sessions", "clicks.csv", *SESSIONS, "--agg", "n=count", "--agg", "spend=sum:amount", "--sort"]
    assert main([*arguments, "--out", "sessions.csv"]) == 0
    assert (folder / "sessions.csv").read_text() == ANSWER
    assert main([*arguments, "--out", "sessions.tsv.gz"]) == 0
    assert gzip.decompress((folder / "sessions.tsv.gz").read_bytes()).decode() == ANSWER.replace(",", "\t")
    assert sorted(path.name for path in folder.iterdir()) == ["clicks.csv", "sessions.csv", "sessions.tsv.gz"]


def test_several_files_are_read_one_after_the_other(folder: Path) -> None:
    lines = CLICKS.splitlines(keepends=True)
    (folder / "one.csv").write_text("".join(lines[:3]))
    (folder / "two.csv").write_text("".join([lines[0], *lines[3:]]))
    arguments = ["sessions", "one.csv", "two.csv", *SESSIONS, "--agg", "n=count", "--agg", "spend=sum:amount", "--sort"]
    assert main([*arguments, "--out", "sessions.csv"]) == 0
    assert (folder / "sessions.csv").read_text() == ANSWER


def test_aggregates_of_two_columns_and_several_keys(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "pages.csv").write_text(
        "user,shop,ts,page,amount\nann,1,2026-05-04T09:00Z,home,1\nann,1,2026-05-04T09:01Z,cart,9\n"
        "ann,2,2026-05-04T09:02Z,help,5\n"
    )
    arguments = ["sessions", "pages.csv", "--key", "user", "--key", "shop", "--time", "ts", "--gap", "5m"]
    assert main([*arguments, "--agg", "best=max_by:page,amount", "--agg", "pages=count:page", "--sort"]) == 0
    first, second = written(capsys.readouterr().out)
    assert (first["shop"], first["best"], first["pages"]) == ("1", "cart", "2")
    assert (second["shop"], second["best"], second["pages"]) == ("2", "help", "1")
    assert first["window_end"] == "2026-05-04 09:01:00.000000Z"


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


TIMES = {
    "dates": (["2026-05-04", "2026-05-05"], []),
    "text of another form": (["04/05/2026 00:00", "05/05/2026 00:00"], ["--time-format", "%d/%m/%Y %H:%M"]),
    "digits of another form": (["20260504", "20260505"], ["--time-format", "%Y%m%d"]),
    "seconds since 1970": (["1777852800", "1777939200"], ["--time-unit", "s"]),
    "milliseconds since 1970": (["1777852800000", "1777939200000"], ["--time-unit", "ms"]),
    "instants": (["2026-05-04T02:00:00+02:00", "2026-05-05T00:00:00Z"], []),
}


@pytest.mark.parametrize("kind", TIMES)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_times_that_are_no_timestamps(kind: str, ending: str, folder: Path) -> None:
    texts, options = TIMES[kind]
    if ending == "csv":
        (folder / "days.csv").write_text("user,ts\n" + "".join(f"ann,{text}\n" for text in texts))
    else:
        times = pa.array(texts) if "unit" not in str(options) else pa.array([int(text) for text in texts])
        pq.write_table(pa.table({"user": ["ann", "ann"], "ts": times}), folder / "days.parquet")
    arguments = ["sessions", f"days.{ending}", "--key", "user", "--time", "ts", "--gap", "1 day", *options]
    assert main([*arguments, "--out", "out.parquet"]) == 0
    (row,) = pq.read_table(folder / "out.parquet").to_pylist()
    zone = UTC if kind == "instants" else None
    assert row["window"] == {"start": datetime(2026, 5, 4, tzinfo=zone), "end": datetime(2026, 5, 5, tzinfo=zone)}


def test_gaps_of_the_records_own(folder: Path) -> None:
    start = datetime(2026, 1, 1)
    minutes, gaps = [0, 20, 30], [5, 15, 200]
    table = pa.table(
        {
            "user": ["ann"] * 3,
            "ts": [start + timedelta(minutes=minute) for minute in minutes],
            "pause": pa.array([timedelta(minutes=gap) for gap in gaps], pa.duration("us")),
        }
    )
    pq.write_table(table, folder / "visits.parquet")
    arguments = ["sessions", "visits.parquet", "--key", "user", "--time", "ts", "--dynamic-gap", "pause"]
    assert main([*arguments, "--max-gap", "1 hour", "--out", "out.parquet"]) == 0
    counted = {row["window"]["start"].minute: row["count"] for row in pq.read_table(folder / "out.parquet").to_pylist()}
    assert counted == {0: 1, 20: 2}


def test_types_and_nulls_of_csv(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "own.csv").write_text("user;ts;amount\n007;2026-05-04 09:00;NA\nNA;2026-05-04 09:00;3\n")
    arguments = ["sessions", "own.csv", "--key", "user", "--time", "ts", "--gap", "5m", "--delimiter", ";"]
    assert main([*arguments, "--type", "user=string", "--null", "NA", "--agg", "spend=sum:amount"]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[1:] == ['"007";2026-05-04 09:00:00.000000;2026-05-04 09:00:00.000000;']
    assert "1 without a key" in printed.err


WRONG = {
    "no command": ([], "required"),
    "no time": (["sessions", "clicks.csv", "--key", "user", "--gap", "5m"], "--time"),
    "no gap": (["sessions", "clicks.csv", "--key", "user", "--time", "ts"], "--gap"),
    "an option that is none": (["sessions", "clicks.csv", *SESSIONS, "--grace", "1m"], "--grace"),
    "no such file": (["sessions", "none.csv", *SESSIONS], "'none.csv'; allowed: a file that exists"),
    "an output of no ending": (["sessions", "clicks.csv", *SESSIONS, "--out", "out.xlsx"], ".parquet"),
    "a key that is none": (["sessions", "clicks.csv", *SESSIONS, "--key", "usr"], "--key: got 'usr'"),
    "a key twice": (["sessions", "clicks.csv", *SESSIONS, "--key", "user"], "--key: got 'user'; allowed: each key"),
    "a gap that is none": (
        ["sessions", "clicks.csv", "--key", "user", "--time", "ts", "--gap", "5"],
        "--gap: got '5'; allowed: words such as",
    ),
    "a time that is none": (
        ["sessions", "clicks.csv", "--key", "user", "--time", "amount", "--gap", "5m"],
        "--time-format",
    ),
    "an aggregate that is none": (["sessions", "clicks.csv", *SESSIONS, "--agg", "n=cuont"], "did you mean 'count'?"),
    "an aggregate without a name": (["sessions", "clicks.csv", *SESSIONS, "--agg", "count"], "name=function"),
    "an aggregate twice": (
        ["sessions", "clicks.csv", *SESSIONS, "--agg", "n=count", "--agg", "n=count"],
        "appears twice",
    ),
    "an aggregate of no column": (["sessions", "clicks.csv", *SESSIONS, "--agg", "n=sum"], "allowed: sum:column"),
    "an aggregate of two columns": (
        ["sessions", "clicks.csv", *SESSIONS, "--agg", "n=min_by:user"],
        "min_by:column,by",
    ),
    "an aggregate of another type": (
        ["sessions", "clicks.csv", *SESSIONS, "--agg", "n=sum:user"],
        "--agg n: column 'user': got 'ann'; allowed: numbers",
    ),
    "a column of an aggregate that is none": (
        ["sessions", "clicks.csv", *SESSIONS, "--agg", "n=sum:x"],
        "--agg n: got 'x'",
    ),
    "an output that is an input": (["sessions", "clicks.csv", *SESSIONS, "--out", "./clicks.csv"], "not among the"),
    "an output in no folder": (
        ["sessions", "clicks.csv", *SESSIONS, "--out", "none/out.csv"],
        "a folder that exists",
    ),
    "an output of no format": (["sessions", "clicks.csv", *SESSIONS, "--out", "out"], "--out: got 'out'"),
    "a list as csv": (
        ["sessions", "clicks.csv", *SESSIONS, "--agg", "n=collect_list:amount"],
        "--agg n: got list<item: string not null>, which CSV does not have; allowed: Parquet or JSON Lines",
    ),
    "a list in a file of csv": (
        ["sessions", "clicks.csv", *SESSIONS, "--agg", "n=top_k:amount", "--out", "out.tsv.gz"],
        "--agg n: got list<",
    ),
    "a name that csv has": (
        ["sessions", "clicks.csv", *SESSIONS, "--agg", "window_end=count"],
        "--out: got 'window_end'",
    ),
    "an option of sessions": (
        ["sliding", "clicks.csv", "--key", "user", "--time", "ts", "--difference", "5m", "--max-duration", "1h"],
        "--max-duration is an option of windrow sessions; windrow sliding has no such option (all options: windrow",
    ),
    "an option of sliding": (
        ["sessions", "clicks.csv", *SESSIONS, "--resolution=1s"],
        "--resolution is an option of windrow sliding",
    ),
    "an option of none, misspelt": (["sessions", "clicks.csv", *SESSIONS, "--longst=1h"], "unrecognized arguments: --"),
    "a longest gap beside a gap": (["sessions", "clicks.csv", *SESSIONS, "--max-gap", "1h"], "--max-gap"),
    "no threads": (["sessions", "clicks.csv", *SESSIONS, "--threads", "0"], "--threads: got 0"),
    "a type that is none": (["sessions", "clicks.csv", *SESSIONS, "--type", "user=text"], "'string'"),
    "a window of no multiple": (
        ["sliding", "clicks.csv", "--key", "user", "--time", "ts", "--difference", "5m", "--resolution", "2m"],
        "--difference: got '5m'",
    ),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_wrong_is_one_line(kind: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, message = WRONG[kind]
    try:
        code: object = main(arguments)
    except SystemExit as left:
        code = left.code
    printed = capsys.readouterr()
    assert code == 2
    assert message in printed.err
    assert printed.err.startswith("windrow: ")
    assert printed.err.count("\n") == 1
    assert [path.name for path in folder.iterdir()] == ["clicks.csv"]


@pytest.mark.parametrize(
    ("name", "content"), [("bad.parquet", "PAR1"), ("empty.csv", ""), ("ragged.csv", "user,ts\na\n")]
)
def test_files_that_are_damaged(name: str, content: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / name).write_text(content)
    assert main(["sessions", name, *SESSIONS]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_files_of_other_types_do_not_go_together(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    times = pa.array([0], pa.timestamp("us"))
    for name, user in (("one", "ann"), ("two", 1)):
        pq.write_table(pa.table({"user": [user], "ts": times}), folder / f"{name}.parquet")
    assert main(["sessions", "one.parquet", "two.parquet", *SESSIONS]) == 2
    printed = capsys.readouterr().err
    assert "two.parquet: column 'user': got 'int64'; allowed: the type that it has in the first file, string" in printed


def test_the_command_of_the_tutorial(folder: Path) -> None:
    page = (ROOT / "docs" / "tutorial" / "batch.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(blocks[0] + next(block for block in blocks if "write_csv" in block), {})
    ((command, printed),) = re.findall(r"```sh\nwindrow (sessions .*?)\n```\n\n```text\n(.*?)```", page, re.DOTALL)
    arguments = [sys.executable, "-m", "windrow", *shlex.split(command)]
    ran = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert ran.stdout + ran.stderr == printed


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"windrow {wr.__version__}\n"


def test_the_name_of_the_command() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"windrow": "windrow._command.main:main"}


def test_a_bar_where_there_is_a_terminal(folder: Path) -> None:
    arguments = [sys.executable, "-m", "windrow", "sessions", "clicks.csv", *SESSIONS, "--out", "out.csv"]
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    with subprocess.Popen(arguments, stderr=theirs, stdout=subprocess.DEVNULL) as process:
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


def test_a_reader_that_has_had_enough(folder: Path) -> None:
    rows = "".join(f"user {number},2026-05-04 09:00:00\n" for number in range(100_000))
    (folder / "long.csv").write_text(f"user,ts\n{rows}")
    arguments = [sys.executable, "-m", "windrow", "sessions", "long.csv", *SESSIONS, "--quiet"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read(10) == b'"user","wi'
        process.stdout.close()
        assert process.stderr is not None
        printed = process.stderr.read()
    assert printed == b""
    assert process.returncode == 0
