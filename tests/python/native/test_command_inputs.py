"""What the command reads and writes: folders of Spark, patterns, streams, compressed files, JSON Lines, text."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.__main__ import main

ROWS = [("ann", "2026-05-04T09:00:00", 1), ("bob", "2026-05-04T09:00:00", 2), ("ann", "2026-05-04T09:01:00", 3)]
CSV = "user,ts,n\n" + "".join(f"{user},{time},{n}\n" for user, time, n in ROWS)
SESSIONS = ["--key", "user", "--time", "ts", "--gap", "5 minutes", "--sort"]
WINDOW = "2026-05-04 09:00:00.000000,2026-05-04 09:0{}:00.000000"
ANSWER = f'"user","window_start","window_end","s"\n"ann",{WINDOW.format(1)},4\n"bob",{WINDOW.format(0)},2\n'
SUM = ["--agg", "s=sum:n"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def parquet() -> bytes:
    sink = pa.BufferOutputStream()
    rows = [{"user": user, "ts": datetime.fromisoformat(time), "n": n} for user, time, n in ROWS]
    pq.write_table(pa.Table.from_pylist(rows), sink)
    return sink.getvalue().to_pybytes()


def jsonl() -> str:
    return "".join(json.dumps({"user": user, "ts": time, "n": n}) + "\n" for user, time, n in ROWS)


def blanks() -> str:
    return CSV.replace(",", " \t ")


FILES: dict[str, Callable[[], bytes]] = {
    "rows.csv": CSV.encode,
    "rows.csv.gz": lambda: gzip.compress(CSV.encode()),
    "members.csv.gz": lambda: gzip.compress(CSV[:20].encode()) + gzip.compress(CSV[20:].encode()),
    "rows.csv.bz2": lambda: bz2.compress(CSV.encode()),
    "rows.tsv": lambda: CSV.replace(",", "\t").encode(),
    "windows.csv": lambda: CSV.replace("\n", "\r\n").encode("utf-8-sig"),
    "rows.parquet": parquet,
    "rows.jsonl": lambda: jsonl().encode(),
    "rows.ndjson": lambda: jsonl().replace("\n", "\n\n").encode(),
    "rows.json.gz": lambda: gzip.compress(jsonl().encode()),
    "rows.txt": lambda: blanks().encode(),
    "rows.log": lambda: "".join(f"  {line} \r\n" for line in blanks().splitlines()).encode(),
    "rows.txt.gz": lambda: gzip.compress(blanks().encode()),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_each_format(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / name).write_bytes(FILES[name]())
    assert main(["sessions", name, *SESSIONS, *SUM]) == 0
    printed = capsys.readouterr()
    assert printed.out == ANSWER
    assert printed.err == "windrow: 3 records, 2 windows: standard output\n"


@pytest.mark.parametrize("name", FILES)
def test_the_standard_input(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = SimpleNamespace(buffer=io.BytesIO(FILES[name]()))
    monkeypatch.setattr(sys, "stdin", text)
    arguments = {"rows.tsv": ["--format", "tsv"], "rows.csv": ["--format", "csv"]}.get(name, [])
    arguments = ["--format", "text"] if ".txt" in name or ".log" in name else arguments
    assert main(["sessions", "-", *SESSIONS, *SUM, *arguments]) == 0
    assert capsys.readouterr().out == ANSWER
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", ["rows.csv", "rows.json.gz", "rows.parquet"])
def test_a_pipe(name: str, folder: Path) -> None:
    command = [sys.executable, "-m", "windrow", "sessions", "-", *SESSIONS, *SUM, "--timeline", "ann"]
    ran = subprocess.run(command, input=FILES[name](), capture_output=True, check=True)
    assert ran.stdout.decode() == ANSWER
    assert ran.stderr.decode().endswith("windrow: picture: timeline.svg\n")


def test_a_named_pipe(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("pipe")
    with subprocess.Popen([sys.executable, "-c", f"open('pipe', 'w').write({CSV!r})"]):
        assert main(["sessions", "pipe", *SESSIONS, *SUM]) == 0
    assert capsys.readouterr().out == ANSWER


def spark_folder(folder: Path, ending: str) -> None:
    """What Spark leaves: parts in folders of a partition, checksums, a mark, and a part without a row."""
    parts = {"day=2026-05-04/shop=a%2Fb": [0, 1], "day=__HIVE_DEFAULT_PARTITION__/shop=007": [2]}
    (folder / "events").mkdir()
    (folder / "events" / "_SUCCESS").touch()
    for place, (name, chosen) in enumerate(parts.items()):
        part = folder / "events" / name
        part.mkdir(parents=True)
        rows = [ROWS[each] for each in chosen]
        path = part / f"part-{place:05}-c000.{ending}"
        (part / f".{path.name}.crc").write_bytes(b"crc\0")
        if ending == "snappy.parquet":
            table = pa.Table.from_pylist([{"user": user, "ts": time, "n": n} for user, time, n in rows])
            pq.write_table(table, path, compression="snappy")
            continue
        lines = "".join(
            json.dumps({"user": user, "ts": time, "n": n}) + "\n" if "json" in ending else f"{user},{time},{n}\n"
            for user, time, n in rows
        )
        text = lines if "json" in ending else f"user,ts,n\n{lines}"
        path.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
        (part / f"part-00009-c000.{ending}").touch()


@pytest.mark.parametrize("ending", ["snappy.parquet", "csv", "csv.gz", "json", "json.gz"])
@pytest.mark.parametrize("argument", ["events", "events/", "events/*", "events/day=*", "events/**/part-*"])
def test_a_folder_of_spark(ending: str, argument: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spark_folder(folder, ending)
    arguments = ["sessions", argument, *SESSIONS, "--key", "day", "--key", "shop", *SUM]
    assert main(arguments) == 0
    assert capsys.readouterr().out == (
        '"user","day","shop","window_start","window_end","s"\n'
        f'"ann","2026-05-04","a/b",{WINDOW.format(0)},1\n'
        '"ann",,"007",2026-05-04 09:01:00.000000,2026-05-04 09:01:00.000000,3\n'
        f'"bob","2026-05-04","a/b",{WINDOW.format(0)},2\n'
    )
    assert main([*arguments, "--type", "day=date", "--type", "shop=string", "--out", "out.parquet"]) == 0
    assert str(pq.read_schema(folder / "out.parquet").field("day").type) == "date32[day]"


def test_columns_of_folders_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spark_folder(folder, "snappy.parquet")
    assert main(["sessions", "events", "--key", "shop", "--time", "day", "--gap", "1 hour", "--sort"]) == 0
    printed = capsys.readouterr()
    assert printed.out.endswith('"a/b",2026-05-04 00:00:00.000000,2026-05-04 00:00:00.000000,2\n')
    assert "1 without a time" in printed.err


TABLES = {"_delta_log/0.json": "Delta", ".hoodie/hoodie.properties": "Hudi", "metadata/v1.metadata.json": "Iceberg"}


@pytest.mark.parametrize("name", [*TABLES, "_spark_metadata/0"])
def test_tables_whose_files_are_not_all_theirs(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spark_folder(folder, "csv")
    (folder / "events" / name).parent.mkdir()
    (folder / "events" / name).touch()
    assert main(["sessions", "events", *SESSIONS]) == 2
    message = f"no {TABLES[name]} table" if name in TABLES else "no sink of a Spark stream"
    assert f"windrow: FILE: got 'events'; allowed: {message}" in capsys.readouterr().err


WRONG = {
    "a folder without files": (["no"], "FILE: got 'no'; allowed: a folder with files"),
    "a pattern without files": (["no/*.csv"], "FILE: got 'no/*.csv'; allowed: a pattern that matches a file"),
    "no such file": (["rows.csv"], "FILE: got 'rows.csv'; allowed: a file that exists"),
    "an ending of no format": (["rows.dat"], "FILE: got 'rows.dat'; allowed: a file that ends with .parquet"),
    "a list of objects": (["list.json"], "list.json: line 1: got a value that is not an object; allowed: JSON Lines"),
    "half an object": (["half.json"], "half.json: line 3: "),
    "a list as a value": (["tags.json", "--agg", "t=first:tags"], "tags.json: column 'tags': got a list"),
    "an object as a value": (["tags.json", "--key", "shop"], "--key: got 'shop'; allowed: a column of the data"),
    "text with other fields": (["ragged.txt"], "ragged.txt: CSV parse error: line 3: Expected 3 columns, got 4"),
    "text with other fields than names": (
        ["ragged.txt", "--columns", "user,ts"],
        "ragged.txt: CSV parse error: line 1: Expected 2 columns, got 3: user ts n; allowed: as many fields in each "
        "line as --columns names (",
    ),
    "a table on the standard output": (["list.json", "--out-format", "parquet"], "--out-format: got 'parquet'"),
    "an output of text": (["list.json", "--out", "out.txt"], "--out: got 'out.txt'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_read(case: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "no").mkdir()
    (folder / "rows.dat").write_text(CSV)
    (folder / "list.json").write_text('[{"user": 1}]')
    (folder / "half.json").write_text('{"user": 1, "ts": "2026-05-04"}\n\n{"user":\n')
    (folder / "tags.json").write_text('{"user": 1, "ts": "2026-05-04", "tags": [1], "shop": {"id": 1}}\n')
    (folder / "ragged.txt").write_text("user ts n\n\nann 2026-05-04 09:00 1\n")
    arguments, message = WRONG[case]
    assert main(["sessions", *arguments[:1], *SESSIONS, *arguments[1:]]) == 2
    line = capsys.readouterr().err
    assert message in line
    assert line.count("\n") == 1


HEADERS = {
    "user;ts\na;2026-05-04\n": "; --delimiter ';' divides it",
    "user\tts\na\t2026-05-04\n": "; --delimiter $'\\t' divides it",
    "user|ts\na|2026-05-04\n": "; --delimiter '|' divides it",
    "ann,2026-05-04T09:00Z\nbob,2026-05-04T09:00Z\n": "; --columns names the columns of a file without a header line",
    "ann,7\nbob,8\n": "; --columns names the columns of a file without a header line",
    "usr,ts\na,2026-05-04\n": "which has 'usr', 'ts'",
}


@pytest.mark.parametrize("text", HEADERS)
def test_a_header_that_is_none_names_the_option(text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "rows.csv").write_text(text)
    assert main(["sessions", "rows.csv", *SESSIONS]) == 2
    assert capsys.readouterr().err.endswith(f"{HEADERS[text]}\n")


def test_json_without_a_line_gives_no_window(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "rows.jsonl").touch()
    arguments = ["sessions", "rows.jsonl", *SESSIONS, *SUM, "--agg", "m=max:n", "--agg", "b=bool_or:ok"]
    assert main(arguments) == 0
    printed = capsys.readouterr()
    assert printed.out == '"user","window_start","window_end","s","m","b"\n'
    assert "0 records, 0 windows" in printed.err
    (folder / "more.jsonl").write_text(jsonl())
    assert main(["sessions", "rows.jsonl", "more.jsonl", *SESSIONS, *SUM]) == 0
    assert capsys.readouterr().out == ANSWER


def test_a_format_that_the_name_does_not_tell(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "rows.dat").write_text(CSV)
    assert main(["sessions", "rows.dat", *SESSIONS, *SUM, "--format", "csv"]) == 0
    assert capsys.readouterr().out == ANSWER


def test_text_without_a_header_and_with_quotes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "rows.txt").write_text('"ann  lee"  2026-05-04T09:00:00 1\n\n ann 2026-05-04T09:00:00\t2\n')
    arguments = ["sessions", "rows.txt", *SESSIONS, *SUM, "--columns", "user,ts,n", "--quiet"]
    assert main(arguments) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        f'"ann",{WINDOW.format(0)},2',
        f'"ann  lee",{WINDOW.format(0)},1',
    ]


def test_a_quote_that_a_line_of_text_does_not_end_ends_with_the_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [
        'a 2026-05-04T09:00:00 "x  y',
        'b 2026-05-04T09:01:00 5"',
        'c 2026-05-04T09:02:00 "x ""y',
        "d 2026-05-04T09:03 z",
    ]
    for end in ("\n", "\r\n"):
        (folder / "rows.txt").write_bytes(end.join(lines).encode())
        arguments = ["sessions", "rows.txt", *SESSIONS, "--columns", "user,ts,note", "--agg", "n=first:note", "--quiet"]
        assert main([*arguments, "--out-format", "jsonl", "--sort"]) == 0
        printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [(row["user"], row["n"]) for row in printed] == [("a", "x  y"), ("b", '5"'), ("c", 'x "y'), ("d", "z")]


def test_a_line_of_text_with_other_fields_has_its_number_in_the_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"user{number % 10} 2026-05-04T09:00:00 {number}" for number in range(100_000)]
    (folder / "rows.txt").write_text("\n".join(["user ts n", "", *rows[:-5], "a b", *rows[-5:]]))
    assert main(["sessions", "rows.txt", *SESSIONS]) == 2
    assert "line 99998: Expected 3 columns, got 2: a b" in capsys.readouterr().err


def test_a_date_and_a_time_in_two_columns(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "rows.txt").write_text("2026-05-04 09:00:00.5 M017 ON\n2026-05-04 09:01:00 M017 OFF\n")
    (folder / "rows.csv").write_text("ip,day,at\na,4/May/26,9:00\na,4/May/26,\n")
    arguments = ["sessions", "rows.txt", "--columns", "date,time,sensor,state", "--key", "sensor", "--gap", "5m"]
    assert main([*arguments, "--time", "date", "--time", "time"]) == 0
    assert '"M017",2026-05-04 09:00:00.500000,2026-05-04 09:01:00.000000,2' in capsys.readouterr().out
    arguments = ["sessions", "rows.csv", "--key", "ip", "--gap", "5m", "--time-format", "%d/%b/%y %H:%M"]
    assert main([*arguments, "--time", "day", "--time", "at"]) == 0
    printed = capsys.readouterr()
    assert f'"a",{WINDOW.format(0)},1' in printed.out
    assert "1 without a time" in printed.err
    assert main([*arguments, "--time", "day", "--time", "att"]) == 2
    assert "--time: got 'att'; allowed: a column of the data (did you mean 'at'?)" in capsys.readouterr().err


def test_long_text_is_read_in_chunks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"user{number % 10}  2026-05-04T09:00:00  {number}" for number in range(100_000)]
    (folder / "rows.txt").write_text("\n".join(["user ts n", *rows]))
    objects = [json.dumps(dict(zip(("user", "ts", "n"), row.split(), strict=True))) for row in rows]
    (folder / "rows.jsonl").write_text("\n".join(objects))
    outs = []
    for name in ("rows.txt", "rows.jsonl"):
        assert main(["sessions", name, *SESSIONS, *SUM]) == 0
        printed = capsys.readouterr()
        assert "100,000 records, 10 windows" in printed.err
        outs.append(printed.out)
    assert outs[0] == outs[1]
    assert f'"user3",{WINDOW.format(0)},{sum(range(3, 100_000, 10))}' in outs[0]


def test_json_numbers_are_ids_as_they_are_and_fields_have_dots(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line without a field has a null there; a name with a dot is itself."""
    lines = [
        '{"user": {"id": 18446744073709551615}, "ts": "2026-05-04T09:00:00", "n": 7.50, "ok": true}',
        '{"user": {"id": 18446744073709551614}, "ts": "2026-05-04T09:00:00", "n": 1e3}',
        '{"user": {"id": 1.10}, "ts": "2026-05-04T09:00:00", "n": null}',
        '{"user.id": "é", "ts": "2026-05-04T09:00:00", "n": NaN}',
    ]
    (folder / "rows.jsonl").write_text("\n".join(lines), encoding="utf-8")
    arguments = ["sessions", "rows.jsonl", "--key", "user.id", "--time", "ts", "--gap", "5m", "--sort", "--quiet"]
    arguments += ["--agg", "n=first:n", "--agg", "s=sum:n", "--agg", "oks=count_if:ok"]
    assert main(arguments) == 0
    assert [line.replace(WINDOW.format(0), "w") for line in capsys.readouterr().out.splitlines()[1:]] == [
        '"1.10",w,,,0',
        '"18446744073709551614",w,"1e3",1000,0',
        '"18446744073709551615",w,"7.50",7.5,1',
        '"é",w,"NaN",nan,0',
    ]
    assert main([*arguments, "--out-format", "jsonl"]) == 0
    written = capsys.readouterr().out.splitlines()
    assert json.loads(written[2])["user.id"] == "18446744073709551615"
    assert '"user.id": "é"' in written[3]
    assert '"s": "NaN"' in written[3]
    assert [json.loads(line)["s"] for line in written] == [None, 1000.0, 7.5, "NaN"]


@pytest.mark.parametrize(
    "name", ["windows.parquet", "windows.csv", "windows.jsonl", "windows.tsv.gz", "windows.jsonl.gz"]
)
def test_the_command_reads_what_it_wrote(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "rows.csv").write_text(CSV)
    assert main(["sessions", "rows.csv", *SESSIONS, *SUM, "--agg", "top=max:n", "--out", name]) == 0
    start = "window_start" if "csv" in name or "tsv" in name else "window.start"
    arguments = ["sessions", name, "--key", "user", "--time", start, "--gap", "1 hour", "--sort", "--quiet"]
    assert main([*arguments, "--agg", "s=sum:s", "--agg", "top=max:top"]) == 0
    assert capsys.readouterr().out.replace('"', "").splitlines()[1:] == [
        f"ann,{WINDOW.format(0)},4,3",
        f"bob,{WINDOW.format(0)},2,2",
    ]


def test_fields_of_structs_at_any_depth(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"at": {"when": {"ts": 0, "x": 1}}, "a.b": "k", "n": 1},
        {"at": None, "a.b": "k", "n": 2},
        {"at": {"when": {"ts": 60, "x": 1}}, "a.b": "k", "n": 3},
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "rows.parquet")
    arguments = ["sessions", "rows.parquet", "--key", "a.b", "--time", "at.when.ts", "--time-unit", "s", "--gap", "5m"]
    assert main([*arguments, *SUM, "--agg", "x=sum:at.when.x"]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[1] == '"k",1970-01-01 00:00:00,1970-01-01 00:01:00,4,2'
    assert "1 without a time" in printed.err
    assert main([*arguments, "--agg", "x=sum:at.when.y"]) == 2
    assert (
        "--agg x: got 'at.when.y'; allowed: a column of the data (did you mean 'at.when.x'?" in capsys.readouterr().err
    )


@pytest.mark.parametrize("command", [["sessions", "--gap", "5m"], ["sliding", "--difference", "5m"]])
def test_no_key_is_one_series(command: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "rows.csv").write_text(CSV)
    (folder / "rows.parquet").write_bytes(parquet())
    outs = []
    for name in ("rows.csv", "rows.parquet"):
        arguments = [command[0], name, "--time", "ts", *command[1:], "--sort", *SUM]
        assert main([*arguments, "--timeline"]) == 0
        printed = capsys.readouterr()
        assert printed.out.splitlines()[0] == '"window_start","window_end","s"'
        assert "all records" in (folder / "timeline.svg").read_text()
        outs.append(printed.out)
    assert outs[0] == outs[1]
    assert (f"{WINDOW.format(1)},6" in outs[0]) is (command[0] == "sessions")
    assert main([*arguments, "--timeline", "ann"]) == 2
    assert "--timeline: got 'ann'; allowed: no KEY without --key" in capsys.readouterr().err
    assert main([*arguments, "--agg", "series=count"]) == 2
    assert "--agg: got 'series'; allowed: another name" in capsys.readouterr().err


def test_counts_of_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "rows.csv").write_text("user,ts\nann,2026-05-04\n")
    assert main(["sessions", "rows.csv", *SESSIONS]) == 0
    assert capsys.readouterr().err == "windrow: 1 record, 1 window: standard output\n"
