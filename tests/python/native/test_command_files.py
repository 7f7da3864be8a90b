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

from ..harness.command import Command, command

__all__ = ["command"]

SESSIONS = "sessions --key user --time ts --gap '5 minutes'"
HEADER = '"user","window_start","window_end","n","spend"\n'
TOTALS = f"{SESSIONS} --agg n=count --agg spend=sum:amount --quiet"
FIRST = "ann,2026-05-04 09:00:00,5\n"
ROWS = f"user,ts,amount\n{FIRST}"
ANSWER = HEADER + '"ann",2026-05-04 09:00:00.000000,2026-05-04 09:00:00.000000,1,5\n'


def files(**contents: str | bytes) -> str:
    """Files of CSV by name."""
    for name, content in contents.items():
        Path(f"{name}.csv").write_bytes(content.encode() if isinstance(content, str) else content)
    return " ".join(f"{name}.csv" for name in contents)


def test_a_header_alone_gives_the_header_of_the_result(command: Command) -> None:
    name = files(header="user,ts,amount\n")
    assert command(f"{TOTALS} {name}").out == HEADER
    printed = command(f"sliding {name} --key user --time ts --difference '1 hour' --out no.parquet")
    written = pq.read_table("no.parquet")
    assert (written.num_rows, written.column_names) == (0, ["user", "window", "count"])
    assert "0 records, 0 windows" in printed.err


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("a.csv", "user,ts,amount", ""),
        ("a.csv", "\ufeffuser,ts,amount", ""),
        ("a.csv", "user;ts;amount\r", "--delimiter ';'"),
        ("a.tsv", "user\tts\tamount", ""),
        ("a.txt", "user ts amount", ""),
        ("a.txt", "\n user ts amount\n", ""),
        ("a.csv", "", "--columns user,ts,amount"),
        ("a.csv", "\n", "--columns user,ts,amount"),
        ("a.txt", "", "--columns user,ts,amount"),
    ],
)
def test_names_of_columns_without_a_row(name: str, content: str, options: str, command: Command) -> None:
    Path(name).write_bytes(content.encode())
    assert command(f"{TOTALS} {name} {options}").out.replace(";", ",") == HEADER


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", ROWS),
        ("a.txt", "user ts amount\nann 2026-05-04T09:00:00 5"),
        ("a.jsonl", '{"user": "ann", "ts": "2026-05-04 09:00:00", "amount": 5}'),
    ],
)
@pytest.mark.parametrize("is_stream", [False, True])
def test_a_byte_order_mark_of_utf_8(name: str, content: str, is_stream: bool, command: Command) -> None:
    marked = b"\xef\xbb\xbf" + content.encode()
    if is_stream and name != "a.txt":
        name = "pipe"
        os.mkfifo(name)
        threading.Thread(target=Path(name).write_bytes, args=[marked]).start()
    else:
        Path(name).write_bytes(marked)
    assert command(f"{TOTALS} {name}").out == ANSWER


def test_closed_standard_streams(
    command: Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    line = f"{TOTALS} {files(rows=ROWS)}"
    assert command.refused(f"{SESSIONS} - -") == "FILE: got '-'; allowed: the standard input once"
    with monkeypatch.context() as closed:
        closed.setattr("sys.stdin", None)
        assert command.refused(f"{SESSIONS} -") == "FILE: got '-'; allowed: a standard input that is open"
        closed.setattr("sys.stderr", None)
        assert command(line.replace(" --quiet", "")).out == ANSWER
    with monkeypatch.context() as closed:
        closed.setattr("sys.stdout", None)
        assert main(["sessions", "rows.csv", "--time", "ts", "--gap", "5m"]) == 2
        assert main(["sessions", "rows.csv", "--time", "ts", "--gap", "5m", "--out", "out.csv"]) == 0
    assert "--out: got None; allowed: a file, because the standard output is closed" in capsys.readouterr().err


@pytest.mark.parametrize("delimiter", [" ", ":", "-", ".", "0", ";"])
def test_times_and_numbers_with_the_delimiter_in_them_are_quoted(delimiter: str, command: Command) -> None:
    name = files(rows='user,ts,amount\nann,"2026-05-04T09:00:00","10.5"\n'.replace(",", delimiter))
    command(f"{TOTALS} {name} --out out.csv --delimiter", delimiter)
    with Path("out.csv").open() as written:
        _, row = csv.reader(written, delimiter=delimiter)
    assert row == ["ann", *["2026-05-04 09:00:00.000000"] * 2, "1", "10.5"]


@pytest.mark.parametrize("delimiter", ["", "||", "é", '"', "\n", "\\t"])
def test_delimiters_that_are_refused(delimiter: str, command: Command) -> None:
    message = command.refused(f"{TOTALS} {files(rows=ROWS)} --delimiter", delimiter)
    assert message.startswith(f"--delimiter: got {delimiter!r}; allowed: one ASCII character and no quote, such as ';'")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_link_and_a_pipe_are_written_and_not_replaced(ending: str, command: Command) -> None:
    line, link, pipe = f"{TOTALS} {files(rows=ROWS)} --out", Path(f"link.{ending}"), Path(f"pipe.{ending}")
    Path("target").touch()
    link.symlink_to("target")
    command(f"{line} {link}")
    assert link.is_symlink()
    assert Path("target").stat().st_size > 0
    os.mkfifo(pipe)
    read = list[bytes]()
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    command(f"{line} {pipe}")
    reader.join(10)
    assert pipe.is_fifo()
    assert read == [Path("target").read_bytes()]


@pytest.mark.parametrize("order", ["header.csv rows.csv", "rows.csv header.csv", "empty.csv rows.csv"])
def test_a_file_without_values_takes_the_types_of_the_next(order: str, command: Command) -> None:
    files(header="user,ts,amount\n", rows=ROWS, empty="user,ts,amount\n,2026-05-04 09:00:00,\n")
    assert command(f"{TOTALS} {order}").out == ANSWER


def test_the_first_file_with_rows_decides_the_zone(command: Command) -> None:
    names = files(header="user,ts\n", zoned="user,ts\nann,2026-05-04T09:00:00+02:00\n")
    assert "2026-05-04 07:00:00.000000Z" in command(f"{SESSIONS} {names}").out


def test_types_are_those_of_the_first_values_however_late_they_come(command: Command) -> None:
    late = "ann,2026-05-04 09:00:00,\n" * 100_000
    name = files(late=f"user,ts,amount\n{late}ann,2026-05-04 09:00:00,2.5\n")
    assert command(f"{TOTALS} {name}").out.endswith(",100001,2.5\n")
    schema = pa.schema([("user", pa.string()), ("ts", pa.string())])
    pq.write_table(schema.empty_table(), "empty.parquet")
    times = ["2026-05-04T09:00:00.123456789+02:00"]
    pq.write_table(pa.table({"user": ["a"], "ts": times}, schema=schema), "zoned.parquet")
    assert '"a",2026-05-04 07:00:00.123456789Z,' in command(f"{SESSIONS} empty.parquet zoned.parquet").out


def test_a_column_that_a_file_has_twice(command: Command) -> None:
    files(twice="user,ts,user\na,2026-05-04 09:00:00,b\n", once=ROWS)
    says = "got 'user'; allowed: a name that only one column"
    assert command.refused(f"{SESSIONS} twice.csv").startswith(f"--key: {says} has")
    assert command.refused(f"{SESSIONS} once.csv twice.csv").startswith(f"twice.csv: {says}")
    pq.write_table(pa.table([["a"], ["b"], [1]], names=["user", "user", "ts"]), "twice.parquet")
    assert "--key: got 'user'" in command.refused(f"{SESSIONS} twice.parquet")


@pytest.mark.parametrize(
    "content",
    [
        b"user,ts\nj\xf6rg,2026-05-04 09:00:00\n",
        b"user\xf6,ts\njorg,2026-05-04 09:00:00\n",
        b"user,ts\n" + b"abcdefgh,2026-05-04 09:00:00\n" * 60_000 + b"j\xf6rg,2026-05-04 09:00:00\n",
    ],
    ids=["a value", "the header", "far behind"],
)
def test_text_that_is_not_utf_8(content: bytes, command: Command) -> None:
    message = command.refused(f"{SESSIONS} {files(latin=content)}")
    assert message.startswith("latin.csv: ")
    assert "text is read as UTF-8: convert Latin-1 with iconv -f latin1 -t utf-8" in message
    assert "--type" not in message


UTF_8 = "; allowed: csv in UTF-8 (iconv"
WRONG: dict[str, tuple[bytes, str]] = {
    "empty.csv": (b"", "got an empty file; allowed: a line with the names of the columns, or --columns"),
    "lines.csv": (b"\n\r\n", "got an empty file; allowed: a line with the names"),
    "mark.txt": (b"\xef\xbb\xbf\n", "got an empty file; allowed: a line with the names"),
    "wide.csv": ("user,ts\n".encode("utf-16"), f"got UTF-16{UTF_8} -f utf-16 -t"),
    "wide.jsonl": (b"\xfe\xff\0{", "got UTF-16; allowed: jsonl in UTF-8 (iconv"),
    "wide.csv.gz": (gzip.compress("user".encode("utf-32"), mtime=0), f"got UTF-32{UTF_8}"),
    "bare.csv": ("user,ts\n".encode("utf-16-le"), f"got UTF-16 without a mark{UTF_8} -f utf-16le"),
    "bare.txt": (
        "user ts\n".encode("utf-16-be"),
        "got UTF-16 without a mark; allowed: text in UTF-8 (iconv -f utf-16be",
    ),
    "zip.csv": (b"PK\3\4", "got a zip archive or a spreadsheet; allowed: csv in UTF-8"),
    "gz.csv": (gzip.compress(b"user,ts\n"), "got gzip; allowed: csv in UTF-8 (a name that ends with .gz helps)"),
    "table.tsv": (b"PAR1", "got Parquet; allowed: tsv in UTF-8 (--format parquet helps)"),
    "ragged.csv": (b"user,ts\na\n", "CSV parse error: Expected 2 columns, got 1"),
    "bad.parquet": (b"PAR1", "Parquet file size is 4 bytes"),
    "cut.csv.gz": (gzip.compress(FIRST.encode() * 9, mtime=0)[:-20], ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_one_of_several_files_names_it(name: str, command: Command) -> None:
    files(good=ROWS)
    content, message = WRONG[name]
    Path(name).write_bytes(content)
    for names in (name, f"good.csv {name}"):
        assert f"{name}: {message}" in command.refused(f"{SESSIONS} {names}")


def test_quotes_and_separators_that_csv_does_not_have_name_the_fix(command: Command) -> None:
    files(escaped='user,ts\n"a\\"b, c",2026-05-04 09:00\n', semicolons="user;ts\nann;2026-05-04 09:00;5,5\n")
    fix = """; a quote inside a field is doubled: "" in place of \\\""""
    assert fix in command.refused(f"{SESSIONS} escaped.csv")
    assert "(--delimiter sets the separator)" in command.refused(f"{SESSIONS} semicolons.csv")


def test_text_in_nanoseconds(command: Command) -> None:
    fine, plain = "a,2026-05-04T09:00:00.123456789\n", "a,2026-05-04T09:00:00.123456\n"
    files(fine=f"user,ts\n{plain}{fine}", coarse=f"user,ts\n{plain}")
    printed = command(f"{SESSIONS} fine.csv coarse.csv").out
    assert '"a",2026-05-04 09:00:00.123456000,2026-05-04 09:00:00.123456789,3' in printed
    message = command.refused(f"{SESSIONS} coarse.csv fine.csv")
    assert "got '2026-05-04T09:00:00.123456789'" in message
    assert "with nanoseconds only if the first ones have them" in message


def test_gaps_of_integers_say_what_they_count(command: Command) -> None:
    rows = "a,2026-05-04 09:00:00,120\na,2026-05-04 09:02:00,0\nb,2026-05-04 09:00:00,119\nb,2026-05-04 09:02:00,1\n"
    name, gaps = files(gaps=f"user,ts,gap\n{rows}"), "--key user --time ts --sort --dynamic-gap gap"
    message = command.refused(f"sessions {name} {gaps}")
    assert "column 'gap' has type string; allowed: durations, such as Parquet has; or numbers with" in message
    written = command(f"sessions {name} {gaps} --gap-unit s")
    assert [line.rpartition(",")[2] for line in written.out.splitlines()] == ['"count"', "1", "1", "1"]
    assert "1 with a gap that is null, negative, or zero without --end" in written.err
    assert "--gap-unit: got 's'; allowed: none with --gap" in command.refused(f"{SESSIONS} {name} --gap-unit s")
    lengths = pa.array([timedelta(minutes=2)] * 2, pa.duration("us"))
    pq.write_table(
        pa.table({"user": ["a"] * 2, "ts": pa.array([0, 120], pa.timestamp("s")), "gap": lengths}), "g.parquet"
    )
    for unit in ("", "--gap-unit s"):  # durations say it themselves
        assert command(f"sessions g.parquet {gaps} {unit}").out.endswith(",2\n")


@pytest.mark.parametrize(
    ("called", "allowed"),
    [
        ("percentile:amount", "percentile:column,percentage, such as percentile:amount,0.5"),
        ("approx_percentile:amount", ":column,percentage[,accuracy], such as approx_percentile:amount,0.5"),
        ("max_by:amount", "max_by:column,by, such as max_by:amount,ts"),
        ("sum", "sum:column, such as sum:amount"),
    ],
)
def test_functions_that_lack_an_argument_are_shown_by_example(called: str, allowed: str, command: Command) -> None:
    assert command.refused(f"{SESSIONS} {files(good=ROWS)} --agg p={called}").endswith(allowed)


@pytest.mark.parametrize("option", ["--time n --time-unit s --gap 5m", "--dynamic-gap n --gap-unit s --time ts"])
def test_integers_beyond_64_bits_are_reported(option: str, command: Command) -> None:
    columns = {"ts": pa.array([0, 1], pa.timestamp("s")), "n": pa.array([5, 2**63], pa.uint64())}
    pq.write_table(pa.table(columns), "large.parquet")
    message = f"{option.split()[0]}: column 'n': got {2**63}; allowed: numbers up to {2**63 - 1}"
    assert command.refused(f"sessions large.parquet {option}") == message


def test_a_value_of_another_type_far_behind_is_found_and_a_list_as_csv_is_refused_before(command: Command) -> None:
    rows = "".join(f"ann,2026-05-04 09:00:00,{number}\n" for number in range(200_000))
    line = f"{SESSIONS} " + files(long=f"user,ts,amount\n{rows}ann,2026-05-04 09:00:00,many\n")
    message = command.refused(f"{line} --agg spend=sum:amount")
    assert "'many'" in message
    assert "--null many makes it null" in message
    line = f"{line} --type amount=int64 --agg all=collect_list:amount"
    assert command.refused(line).startswith("--agg all: got list<")
    assert "'many'" in command.refused(f"{line} --out out.parquet")
