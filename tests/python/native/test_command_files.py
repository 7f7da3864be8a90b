"""Files that the command cannot read as they are, or that have next to nothing in them: rows, or what is wrong."""

from __future__ import annotations

import csv
import gzip
import os
import threading
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.__main__ import main

from ..harness.command import refused

SESSIONS = ["--key", "user", "--time", "ts", "--gap", "5 minutes"]
HEADER = '"user","window_start","window_end","n","spend"\n'
ARGUMENTS = [*SESSIONS, "--agg", "n=count", "--agg", "spend=sum:amount", "--quiet"]
FIRST = "ann,2026-05-04 09:00:00,5\n"
LAST = '"ann",2026-05-04 09:00:00.000000,2026-05-04 09:00:00.000000,1,5\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(folder: Path, **contents: str | bytes) -> list[str]:
    """Files of CSV by name."""
    for name, content in contents.items():
        (folder / f"{name}.csv").write_bytes(content.encode() if isinstance(content, str) else content)
    return [f"{name}.csv" for name in contents]


def test_a_header_alone_gives_the_header_of_the_result(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (name,) = files(folder, header="user,ts,amount\n")
    assert main(["sessions", name, *ARGUMENTS]) == 0
    assert capsys.readouterr().out == HEADER
    assert (
        main(["sliding", name, "--key", "user", "--time", "ts", "--difference", "1 hour", "--out", "no.parquet"]) == 0
    )
    written = pq.read_table(folder / "no.parquet")
    assert (written.num_rows, written.column_names) == (0, ["user", "window", "count"])
    assert "0 records, 0 windows" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("a.csv", "user,ts,amount", ()),
        ("a.csv", "\ufeffuser,ts,amount", ()),
        ("a.csv", "user;ts;amount\r", ("--delimiter", ";")),
        ("a.tsv", "user\tts\tamount", ()),
        ("a.txt", "user ts amount", ()),
        ("a.txt", "\n user ts amount\n", ()),
        ("a.csv", "", ("--columns", "user,ts,amount")),
        ("a.csv", "\n", ("--columns", "user,ts,amount")),
        ("a.txt", "", ("--columns", "user,ts,amount")),
    ],
)
def test_names_of_columns_without_a_row(
    name: str, content: str, options: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / name).write_bytes(content.encode())
    assert main(["sessions", name, *ARGUMENTS, *options]) == 0
    assert capsys.readouterr().out.replace(";", ",") == HEADER


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", f"user,ts,amount\n{FIRST}"),
        ("a.txt", "user ts amount\nann 2026-05-04T09:00:00 5"),
        ("a.jsonl", '{"user": "ann", "ts": "2026-05-04 09:00:00", "amount": 5}'),
    ],
)
@pytest.mark.parametrize("is_stream", [False, True])
def test_a_byte_order_mark_of_utf_8(
    name: str, content: str, is_stream: bool, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / name).write_bytes(b"\xef\xbb\xbf" + content.encode())
    if is_stream and name != "a.txt":
        os.mkfifo(folder / "pipe")
        threading.Thread(target=lambda: (folder / "pipe").write_bytes((folder / name).read_bytes())).start()
        name = "pipe"
    assert main(["sessions", name, *ARGUMENTS]) == 0
    assert capsys.readouterr().out == HEADER + LAST


def test_closed_standard_streams(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (name,) = files(folder, rows=f"user,ts,amount\n{FIRST}")
    assert refused(capsys, "sessions", "-", "-", *SESSIONS) == "FILE: got '-'; allowed: the standard input once"
    monkeypatch.setattr("sys.stdin", None)
    assert refused(capsys, "sessions", "-", *SESSIONS) == "FILE: got '-'; allowed: a standard input that is open"
    monkeypatch.setattr("sys.stderr", None)
    assert main(["sessions", name, *ARGUMENTS[:-1]]) == 0
    assert capsys.readouterr().out == HEADER + LAST
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.stdout", None)
    assert main(["sessions", name, *ARGUMENTS]) == 2
    assert main(["sessions", name, *ARGUMENTS, "--out", "out.csv"]) == 0
    monkeypatch.undo()
    assert "--out: got None; allowed: a file, because the standard output is closed" in capsys.readouterr().err


@pytest.mark.parametrize("delimiter", [" ", ":", "-", ".", "0", ";"])
def test_times_and_numbers_with_the_delimiter_in_them_are_quoted(delimiter: str, folder: Path) -> None:
    (name,) = files(folder, rows='user,ts,amount\nann,"2026-05-04T09:00:00","10.5"\n'.replace(",", delimiter))
    assert main(["sessions", name, *ARGUMENTS, "--delimiter", delimiter, "--out", "out.csv"]) == 0
    with (folder / "out.csv").open() as written:
        _, row = csv.reader(written, delimiter=delimiter)
    assert row == ["ann", *["2026-05-04 09:00:00.000000"] * 2, "1", "10.5"]


@pytest.mark.parametrize("delimiter", ["", "||", "é", '"', "\n", "\\t"])
def test_delimiters_that_are_refused(delimiter: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (name,) = files(folder, rows=f"user,ts,amount\n{FIRST}")
    message = refused(capsys, "sessions", name, *ARGUMENTS, "--delimiter", delimiter)
    assert message.startswith(f"--delimiter: got {delimiter!r}; allowed: one ASCII character and no quote, such as ';'")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_link_and_a_pipe_are_written_and_not_replaced(ending: str, folder: Path) -> None:
    (name,) = files(folder, rows=f"user,ts,amount\n{FIRST}")
    (folder / "target").touch()
    (folder / f"link.{ending}").symlink_to("target")
    assert main(["sessions", name, *ARGUMENTS, "--out", f"link.{ending}"]) == 0
    assert (folder / f"link.{ending}").is_symlink()
    assert (folder / "target").stat().st_size > 0
    os.mkfifo(folder / f"pipe.{ending}")
    read = list[bytes]()
    reader = threading.Thread(target=lambda: read.append((folder / f"pipe.{ending}").read_bytes()))
    reader.start()
    assert main(["sessions", name, *ARGUMENTS, "--out", f"pipe.{ending}"]) == 0
    reader.join(10)
    assert (folder / f"pipe.{ending}").is_fifo()
    assert read == [(folder / "target").read_bytes()]


@pytest.mark.parametrize("order", [("header", "rows"), ("rows", "header"), ("empty", "rows")])
def test_a_file_without_values_takes_the_types_of_the_next(
    order: tuple[str, str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files(
        folder,
        header="user,ts,amount\n",
        rows=f"user,ts,amount\n{FIRST}",
        empty="user,ts,amount\n,2026-05-04 09:00:00,\n",
    )
    assert main(["sessions", *(f"{name}.csv" for name in order), *ARGUMENTS]) == 0
    assert capsys.readouterr().out == HEADER + LAST


def test_the_first_file_with_rows_decides_the_zone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = files(folder, header="user,ts\n", zoned="user,ts\nann,2026-05-04T09:00:00+02:00\n")
    assert main(["sessions", *names, *SESSIONS, "--quiet"]) == 0
    assert "2026-05-04 07:00:00.000000Z" in capsys.readouterr().out


def test_types_are_those_of_the_first_values_however_late_they_come(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    late = "".join("ann,2026-05-04 09:00:00,\n" for _ in range(100_000))
    (name,) = files(folder, late=f"user,ts,amount\n{late}ann,2026-05-04 09:00:00,2.5\n")
    assert main(["sessions", name, *ARGUMENTS]) == 0
    assert capsys.readouterr().out.endswith(",100001,2.5\n")
    schema = pa.schema([("user", pa.string()), ("ts", pa.string())])
    pq.write_table(schema.empty_table(), folder / "empty.parquet")
    times = ["2026-05-04T09:00:00.123456789+02:00"]
    pq.write_table(pa.table({"user": ["a"], "ts": times}, schema=schema), folder / "zoned.parquet")
    assert main(["sessions", "empty.parquet", "zoned.parquet", *SESSIONS, "--quiet"]) == 0
    assert '"a",2026-05-04 07:00:00.123456789Z,' in capsys.readouterr().out


def test_a_column_that_a_file_has_twice(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twice, once = files(folder, twice="user,ts,user\na,2026-05-04 09:00:00,b\n", once=f"user,ts,amount\n{FIRST}")
    message = refused(capsys, "sessions", twice, *SESSIONS)
    assert message.startswith("--key: got 'user'; allowed: a name that only one column has")
    assert refused(capsys, "sessions", once, twice, *SESSIONS).startswith(
        "twice.csv: got 'user'; allowed: a name that only one column"
    )
    pq.write_table(pa.table([["a"], ["b"], [1]], names=["user", "user", "ts"]), folder / "twice.parquet")
    assert "--key: got 'user'" in refused(capsys, "sessions", "twice.parquet", *SESSIONS)


@pytest.mark.parametrize(
    "content",
    [
        b"user,ts\nj\xf6rg,2026-05-04 09:00:00\n",
        b"user\xf6,ts\njorg,2026-05-04 09:00:00\n",
        b"user,ts\n" + b"abcdefgh,2026-05-04 09:00:00\n" * 60_000 + b"j\xf6rg,2026-05-04 09:00:00\n",
    ],
    ids=["a value", "the header", "far behind"],
)
def test_text_that_is_not_utf_8(content: bytes, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (name,) = files(folder, latin=content)
    message = refused(capsys, "sessions", name, *SESSIONS)
    assert message.startswith("latin.csv: ")
    assert "text is read as UTF-8: convert Latin-1 with iconv -f latin1 -t utf-8" in message
    assert "--type" not in message


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", b"", "empty.csv: got an empty file; allowed: a line with the names of the columns, or --columns"),
        ("lines.csv", b"\n\r\n", "lines.csv: got an empty file; allowed: a line with the names"),
        ("mark.txt", b"\xef\xbb\xbf\n", "mark.txt: got an empty file; allowed: a line with the names"),
        ("wide.csv", "user,ts\n".encode("utf-16"), "wide.csv: got UTF-16; allowed: csv in UTF-8 (iconv -f utf-16 -t"),
        ("wide.jsonl", b"\xfe\xff\0{", "wide.jsonl: got UTF-16; allowed: jsonl in UTF-8 (iconv"),
        (
            "wide.csv.gz",
            gzip.compress("user".encode("utf-32"), mtime=0),
            "wide.csv.gz: got UTF-32; allowed: csv in UTF-8 (iconv",
        ),
        (
            "bare.csv",
            "user,ts\n".encode("utf-16-le"),
            "bare.csv: got UTF-16 without a mark; allowed: csv in UTF-8 (iconv -f utf-16le",
        ),
        ("bare.txt", "user ts\n".encode("utf-16-be"), "(iconv -f utf-16be -t utf-8 helps)"),
        ("zip.csv", b"PK\3\4", "zip.csv: got a zip archive or a spreadsheet; allowed: csv in UTF-8"),
        (
            "gz.csv",
            gzip.compress(b"user,ts\n", mtime=0),
            "gz.csv: got gzip; allowed: csv in UTF-8 (a name that ends with .gz helps)",
        ),
        ("table.tsv", b"PAR1", "table.tsv: got Parquet; allowed: tsv in UTF-8 (--format parquet helps)"),
        (
            "escaped.csv",
            b'user,ts\n"a\\"b, c",2026-05-04 09:00\n',
            """; a quote inside a field is doubled: "" in place of \\\"""",
        ),
        ("ragged.csv", b"user,ts\na\n", "ragged.csv: CSV parse error: Expected 2 columns, got 1"),
        ("semicolons.csv", b"user;ts\nann;2026-05-04 09:00;5,5\n", "(--delimiter sets the separator)"),
        ("bad.parquet", b"PAR1", "bad.parquet: Parquet file size is 4 bytes"),
        ("cut.csv.gz", gzip.compress(FIRST.encode() * 9, mtime=0)[:-20], "cut.csv.gz: "),
    ],
)
def test_what_is_wrong_with_one_of_several_files_names_it(
    name: str, content: bytes, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (good,) = files(folder, good=f"user,ts,amount\n{FIRST}")
    (folder / name).write_bytes(content)
    assert message in refused(capsys, "sessions", name, *SESSIONS)
    assert message in refused(capsys, "sessions", good, name, *SESSIONS)


def test_text_in_nanoseconds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fine, plain = "a,2026-05-04T09:00:00.123456789\n", "a,2026-05-04T09:00:00.123456\n"
    first, later = files(folder, fine=f"user,ts\n{plain}{fine}", coarse=f"user,ts\n{plain}")
    assert main(["sessions", first, later, *SESSIONS, "--quiet"]) == 0
    assert '"a",2026-05-04 09:00:00.123456000,2026-05-04 09:00:00.123456789,3' in capsys.readouterr().out
    message = refused(capsys, "sessions", later, first, *SESSIONS)
    assert "got '2026-05-04T09:00:00.123456789'" in message
    assert "with nanoseconds only if the first ones have them" in message


def test_gaps_of_integers_say_what_they_count(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "a,2026-05-04 09:00:00,120\na,2026-05-04 09:02:00,0\nb,2026-05-04 09:00:00,119\nb,2026-05-04 09:02:00,1\n"
    (name,) = files(folder, gaps=f"user,ts,gap\n{rows}")
    arguments = [name, "--key", "user", "--time", "ts", "--dynamic-gap", "gap"]
    message = refused(capsys, "sessions", *arguments)
    assert (
        "--dynamic-gap: column 'gap' has type string; allowed: durations, such as Parquet has; or numbers with"
        in message
    )
    assert main(["sessions", *arguments, "--gap-unit", "s", "--sort"]) == 0
    written = capsys.readouterr()
    assert [line.rpartition(",")[2] for line in written.out.splitlines()] == ['"count"', "1", "1", "1"]
    assert "1 with a gap that is null, negative, or zero without --end" in written.err
    assert "--gap-unit: got 's'; allowed: none with --gap" in refused(
        capsys, "sessions", name, *SESSIONS, "--gap-unit", "s"
    )
    gaps = pa.array([timedelta(minutes=2)] * 2, pa.duration("us"))
    times = pa.array([0, 120], pa.timestamp("s"))
    pq.write_table(pa.table({"user": ["a", "a"], "ts": times, "gap": gaps}), folder / "gaps.parquet")
    assert (
        main(["sessions", "gaps.parquet", *arguments[1:], "--gap-unit", "s", "--quiet"]) == 0
    )  # they say it themselves
    assert capsys.readouterr().out.endswith(",2\n")


@pytest.mark.parametrize(
    ("called", "allowed"),
    [
        ("percentile:amount", "percentile:column,percentage, such as percentile:amount,0.5"),
        (
            "approx_percentile:amount",
            "approx_percentile:column,percentage[,accuracy], such as approx_percentile:amount,0.5",
        ),
        ("max_by:amount", "max_by:column,by, such as max_by:amount,ts"),
        ("sum", "sum:column, such as sum:amount"),
    ],
)
def test_functions_that_lack_an_argument_are_shown_by_example(
    called: str, allowed: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (name,) = files(folder, good=f"user,ts,amount\n{FIRST}")
    assert refused(capsys, "sessions", name, *SESSIONS, "--agg", f"p={called}").endswith(f"allowed: {allowed}")


@pytest.mark.parametrize("option", ["--time", "--dynamic-gap"])
def test_integers_beyond_64_bits_are_reported(option: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    largest = pa.array([5, 2**63], pa.uint64())
    times = pa.array([0, 1], pa.timestamp("s"))
    pq.write_table(pa.table({"user": ["ann"] * 2, "ts": times, "n": largest}), folder / "large.parquet")
    aggregates = {
        "--time": ["--time", "n", "--time-unit", "s", "--gap", "5m"],
        "--dynamic-gap": ["--time", "ts", "--dynamic-gap", "n", "--gap-unit", "s"],
    }
    assert main(["sessions", "large.parquet", "--key", "user", *aggregates[option]]) == 2
    message = f"windrow: {option}: column 'n': got {2**63}; allowed: numbers up to {2**63 - 1}\n"
    assert capsys.readouterr().err == message


def test_a_list_as_csv_is_refused_before_the_work(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(f"ann,2026-05-04 09:00:00,{number}\n" for number in range(200_000))
    (folder / "long.csv").write_text(f"user,ts,amount\n{rows}ann,2026-05-04 09:00:00,many\n")
    arguments = ["sessions", "long.csv", *SESSIONS, "--agg", "n=count", "--agg", "all=collect_list:amount"]
    arguments += ["--type", "amount=int64"]
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith("windrow: --agg all: got list<")
    assert main([*arguments, "--out", "out.parquet"]) == 2
    assert "'many'" in capsys.readouterr().err


def test_a_value_of_another_type_far_behind(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(f"ann,2026-05-04 09:00:00,{number}\n" for number in range(200_000))
    (folder / "long.csv").write_text(f"user,ts,amount\n{rows}ann,2026-05-04 09:00:00,many\n")
    arguments = ["sessions", "long.csv", *SESSIONS, "--agg", "spend=sum:amount"]
    assert main(arguments) == 2
    printed = capsys.readouterr().err
    assert "'many'" in printed
    assert "--null many makes it null" in printed
