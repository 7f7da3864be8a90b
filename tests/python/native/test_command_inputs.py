"""What the command reads and writes: folders of Spark, patterns, streams, compressed files, JSON Lines, text."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ..harness.command import Command, command, json_rows

__all__ = ["command"]

ROWS = [("ann", "2026-05-04T09:00:00", 1), ("bob", "2026-05-04T09:00:00", 2), ("ann", "2026-05-04T09:01:00", 3)]
CSV = "user,ts,n\n" + "".join(f"{user},{time},{n}\n" for user, time, n in ROWS)
SESSIONS = "sessions --key user --time ts --gap '5 minutes' --sort"
SUMS = f"{SESSIONS} --agg s=sum:n"
WINDOW = "2026-05-04 09:00:00.000000,2026-05-04 09:0{}:00.000000"
ANSWER = f'"user","window_start","window_end","s"\n"ann",{WINDOW.format(1)},4\n"bob",{WINDOW.format(0)},2\n'


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
def test_a_file_of_each_format(name: str, command: Command) -> None:
    Path(name).write_bytes(FILES[name]())
    assert command(f"{SUMS} {name}") == (ANSWER, "windrow: 3 records, 2 windows: standard output\n")


@pytest.mark.parametrize("name", FILES)
def test_the_standard_input(name: str, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(FILES[name]())))
    kind = {"rows.tsv": "--format tsv", "rows.csv": "--format csv"}.get(name, "")
    assert command(f"{SUMS} - {'--format text' if '.txt' in name or '.log' in name else kind}").out == ANSWER
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("name", ["rows.csv", "rows.json.gz", "rows.parquet"])
def test_a_pipe(name: str, command: Command) -> None:
    run = [sys.executable, "-m", "windrow", *shlex.split(f"{SUMS} - --timeline ann")]
    ran = subprocess.run(run, input=FILES[name](), capture_output=True, check=True)
    assert ran.stdout.decode() == ANSWER
    assert ran.stderr.decode().endswith("windrow: picture: timeline.svg\n")


def test_a_named_pipe(command: Command) -> None:
    os.mkfifo("pipe")
    with subprocess.Popen([sys.executable, "-c", f"open('pipe', 'w').write({CSV!r})"]):
        assert command(f"{SUMS} pipe").out == ANSWER


def spark_folder(ending: str) -> None:
    """What Spark leaves: parts in folders of a partition, checksums, a mark, and a part without a row."""
    parts = {"day=2026-05-04/shop=a%2Fb": [0, 1], "day=__HIVE_DEFAULT_PARTITION__/shop=007": [2]}
    Path("events").mkdir()
    Path("events/_SUCCESS").touch()
    for place, (name, chosen) in enumerate(parts.items()):
        part = Path("events") / name
        part.mkdir(parents=True)
        rows = [dict(zip(("user", "ts", "n"), ROWS[each], strict=True)) for each in chosen]
        path = part / f"part-{place:05}-c000.{ending}"
        (part / f".{path.name}.crc").write_bytes(b"crc\0")
        if ending == "snappy.parquet":
            pq.write_table(pa.Table.from_pylist(rows), path, compression="snappy")
            continue
        lines = [json.dumps(row) if "json" in ending else "{user},{ts},{n}".format(**row) for row in rows]
        text = "\n".join([*([] if "json" in ending else ["user,ts,n"]), *lines, ""])
        path.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
        (part / f"part-00009-c000.{ending}").touch()


@pytest.mark.parametrize("ending", ["snappy.parquet", "csv", "csv.gz", "json", "json.gz"])
@pytest.mark.parametrize("argument", ["events", "events/", "events/*", "events/day=*", "events/**/part-*"])
def test_a_folder_of_spark(ending: str, argument: str, command: Command) -> None:
    spark_folder(ending)
    line = f"{SUMS} {argument} --key day --key shop"
    assert command(line).out == (
        '"user","day","shop","window_start","window_end","s"\n'
        f'"ann","2026-05-04","a/b",{WINDOW.format(0)},1\n'
        '"ann",,"007",2026-05-04 09:01:00.000000,2026-05-04 09:01:00.000000,3\n'
        f'"bob","2026-05-04","a/b",{WINDOW.format(0)},2\n'
    )
    command(f"{line} --type day=date --type shop=string --out out.parquet")
    assert pq.read_schema("out.parquet").field("day").type == pa.date32()


def test_columns_of_folders_alone(command: Command) -> None:
    spark_folder("snappy.parquet")
    printed = command("sessions events --key shop --time day --gap '1 hour' --sort")
    assert printed.out.endswith('"a/b",2026-05-04 00:00:00.000000,2026-05-04 00:00:00.000000,2\n')
    assert "1 without a time" in printed.err


TABLES = {
    "_delta_log/0.json": "no Delta table",
    ".hoodie/hoodie.properties": "no Hudi table",
    "metadata/v1.metadata.json": "no Iceberg table",
    "_spark_metadata/0": "no sink of a Spark stream",
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_whose_files_are_not_all_theirs(name: str, command: Command) -> None:
    spark_folder("csv")
    Path("events", name).parent.mkdir()
    Path("events", name).touch()
    assert command.refused(f"{SESSIONS} events").startswith(f"FILE: got 'events'; allowed: {TABLES[name]}")


WRONG = {
    "no": "FILE: got 'no'; allowed: a folder with files",
    "no/*.csv": "FILE: got 'no/*.csv'; allowed: a pattern that matches a file",
    "rows.dat": "FILE: got 'rows.dat'; allowed: a file that ends with .parquet",
    "list.json": "list.json: line 1: got a value that is not an object; allowed: JSON Lines",
    "half.json": "half.json: line 3: ",
    "tags.json --agg t=first:tags": "tags.json: column 'tags': got a list",
    "tags.json --key shop": "--key: got 'shop'; allowed: a column of the data",
    "ragged.txt": "ragged.txt: CSV parse error: line 3: Expected 3 columns, got 4",
    "ragged.txt --columns user,ts": (
        "ragged.txt: CSV parse error: line 1: Expected 2 columns, got 3: user ts n; allowed: as many fields in each "
        "line as --columns names ("
    ),
    "list.json --out-format parquet": "--out-format: got 'parquet'",
    "list.json --out out.txt": "--out: got 'out.txt'",
}


@pytest.mark.parametrize("arguments", WRONG)
def test_what_cannot_be_read(arguments: str, command: Command) -> None:
    Path("no").mkdir()
    Path("rows.dat").write_text(CSV)
    Path("list.json").write_text('[{"user": 1}]')
    Path("half.json").write_text('{"user": 1, "ts": "2026-05-04"}\n\n{"user":\n')
    Path("tags.json").write_text('{"user": 1, "ts": "2026-05-04", "tags": [1], "shop": {"id": 1}}\n')
    Path("ragged.txt").write_text("user ts n\n\nann 2026-05-04 09:00 1\n")
    assert command.refused(f"{SESSIONS} {arguments}").startswith(WRONG[arguments])


HEADERS = {
    "user;ts\na;2026-05-04\n": "; --delimiter ';' divides it",
    "user\tts\na\t2026-05-04\n": "; --delimiter $'\\t' divides it",
    "user|ts\na|2026-05-04\n": "; --delimiter '|' divides it",
    "ann,2026-05-04T09:00Z\nbob,2026-05-04T09:00Z\n": "; --columns names the columns of a file without a header line",
    "ann,7\nbob,8\n": "; --columns names the columns of a file without a header line",
    "usr,ts\na,2026-05-04\n": "which has 'usr', 'ts'",
}


@pytest.mark.parametrize("text", HEADERS)
def test_a_header_that_is_none_names_the_option(text: str, command: Command) -> None:
    Path("rows.csv").write_text(text)
    assert command.refused(f"{SESSIONS} rows.csv").endswith(HEADERS[text])


def test_json_without_a_line_gives_no_window(command: Command) -> None:
    Path("rows.jsonl").touch()
    printed = command(f"{SUMS} rows.jsonl --agg m=max:n --agg b=bool_or:ok")
    assert printed.out == '"user","window_start","window_end","s","m","b"\n'
    assert "0 records, 0 windows" in printed.err
    Path("more.jsonl").write_text(jsonl())
    assert command(f"{SUMS} rows.jsonl more.jsonl").out == ANSWER


def test_text_without_a_header_and_with_quotes(command: Command) -> None:
    Path("rows.txt").write_text('"ann  lee"  2026-05-04T09:00:00 1\n\n ann 2026-05-04T09:00:00\t2\n')
    lines = command(f"{SUMS} rows.txt --columns user,ts,n").out.splitlines()
    assert lines[1:] == [f'"ann",{WINDOW.format(0)},2', f'"ann  lee",{WINDOW.format(0)},1']


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_quote_that_a_line_of_text_does_not_end_ends_with_the_line(end: str, command: Command) -> None:
    notes = ['a 2026-05-04T09:00 "x  y', 'b 2026-05-04T09:01 5"', 'c 2026-05-04T09:02 "x ""y', "d 2026-05-04T09:03 z"]
    Path("rows.txt").write_bytes(end.join(notes).encode())
    printed = command(f"{SESSIONS} rows.txt --columns user,ts,note --agg n=first:note --out-format jsonl").out
    found = [(row["user"], row["n"]) for row in json_rows(printed)]
    assert found == [("a", "x  y"), ("b", '5"'), ("c", 'x "y'), ("d", "z")]


def test_a_line_of_text_with_other_fields_has_its_number_in_the_file(command: Command) -> None:
    rows = [f"user{number % 10} 2026-05-04T09:00:00 {number}" for number in range(100_000)]
    Path("rows.txt").write_text("\n".join(["user ts n", "", *rows[:-5], "a b", *rows[-5:]]))
    assert "line 99998: Expected 3 columns, got 2: a b" in command.refused(f"{SESSIONS} rows.txt")


def test_a_date_and_a_time_in_two_columns(command: Command) -> None:
    Path("rows.txt").write_text("2026-05-04 09:00:00.5 M017 ON\n2026-05-04 09:01:00 M017 OFF\n")
    Path("rows.csv").write_text("ip,day,at\na,4/May/26,9:00\na,4/May/26,\n")
    columns = "--columns date,time,sensor,state --key sensor --time date --time time"
    printed = command(f"sessions rows.txt --gap 5m {columns}")
    assert '"M017",2026-05-04 09:00:00.500000,2026-05-04 09:01:00.000000,2' in printed.out
    line = "sessions rows.csv --key ip --gap 5m --time-format '%d/%b/%y %H:%M' --time day --time"
    printed = command(f"{line} at")
    assert f'"a",{WINDOW.format(0)},1' in printed.out
    assert "1 without a time" in printed.err
    message = command.refused(f"{line} att")
    assert message.startswith("--time: got 'att'; allowed: a column of the data (did you mean 'at'?)")


def test_long_text_is_read_in_chunks(command: Command) -> None:
    rows = [f"user{number % 10}  2026-05-04T09:00:00  {number}" for number in range(100_000)]
    Path("rows.txt").write_text("\n".join(["user ts n", *rows]))
    objects = [json.dumps(dict(zip(("user", "ts", "n"), row.split(), strict=True))) for row in rows]
    Path("rows.jsonl").write_text("\n".join(objects))
    text, objects_printed = (command(f"{SUMS} {name}") for name in ("rows.txt", "rows.jsonl"))
    assert text == objects_printed
    assert "100,000 records, 10 windows" in text.err
    assert f'"user3",{WINDOW.format(0)},{sum(range(3, 100_000, 10))}' in text.out


@pytest.mark.parametrize("every", [1, 3])
def test_long_csv_has_line_breaks_in_quoted_fields(every: int, command: Command) -> None:
    """Their halves look like rows, wherever a block ends."""
    notes = ['"Hello,\n2026-05-04,7,x\n"' if number % every == 0 else '"ok"' for number in range(100_000)]
    rows = [f"user{number % 10},2026-05-04T09:00:00,{number},{note}\n" for number, note in enumerate(notes)]
    Path("rows.csv").write_text("user,ts,n,note\n" + "".join(rows))
    printed = command(f"{SUMS} rows.csv --agg notes=count_distinct:note")
    assert "100,000 records, 10 windows" in printed.err
    assert f'"user3",{WINDOW.format(0)},{sum(range(3, 100_000, 10))},{1 if every == 1 else 2}\n' in printed.out


@pytest.mark.parametrize("long", ['"' + "x" * 2_200_000 + '"', '"x'])
@pytest.mark.parametrize("before", [0, 100_000])
def test_a_row_of_csv_that_is_too_long(before: int, long: str, command: Command) -> None:
    row = "ann,2026-05-04,1\n"
    Path("rows.csv").write_text(f"user,ts,n\n{row * before}bob,2026-05-04,{long}\n{row * 200_000}")
    message = "rows.csv: got a row longer than 1 MiB; allowed: shorter rows, in which every quote that begins a field"
    assert command.refused(f"{SUMS} rows.csv") == f"{message} also ends it"


def test_json_numbers_are_ids_as_they_are_and_fields_have_dots(command: Command) -> None:
    """A line without a field has a null there; a name with a dot is itself."""
    lines = [
        '{"user": {"id": 18446744073709551615}, "ts": "2026-05-04T09:00:00", "n": 7.50, "ok": true}',
        '{"user": {"id": 18446744073709551614}, "ts": "2026-05-04T09:00:00", "n": 1e3}',
        '{"user": {"id": 1.10}, "ts": "2026-05-04T09:00:00", "n": null}',
        '{"user.id": "é", "ts": "2026-05-04T09:00:00", "n": NaN}',
    ]
    Path("rows.jsonl").write_text("\n".join(lines), encoding="utf-8")
    line = "sessions rows.jsonl --key user.id --time ts --gap 5m --sort --agg n=first:n --agg s=sum:n"
    line = f"{line} --agg oks=count_if:ok"
    assert [row.replace(WINDOW.format(0), "w") for row in command(line).out.splitlines()[1:]] == [
        '"1.10",w,,,0',
        '"18446744073709551614",w,"1e3",1000,0',
        '"18446744073709551615",w,"7.50",7.5,1',
        '"é",w,"NaN",nan,0',
    ]
    written = command(f"{line} --out-format jsonl").out
    assert '"user.id": "é"' in written.splitlines()[3]
    found = [(row["user.id"], row["s"]) for row in json_rows(written)]
    assert found == [("1.10", None), (f"{2**64 - 2}", 1000.0), (f"{2**64 - 1}", 7.5), ("é", "NaN")]


@pytest.mark.parametrize("before", ["", "more.jsonl"])
def test_json_may_have_the_first_value_of_a_column_in_any_line(before: str, command: Command) -> None:
    """It is far behind the lines that show which columns there are."""
    objects = [{"user": f"user{number % 10}", "ts": "2026-05-04T09:00:00"} for number in range(50_000)]
    late = {**objects[3], "shop": {"coupon": "007"}, "n": 15}
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, [*objects, late])))
    Path("more.jsonl").write_text(jsonl())
    line = f"{SESSIONS} {before} rows.jsonl"
    more = "--agg c=count:shop.coupon --agg m=max:shop.coupon --agg s=sum:n --type shop.coupon=string"
    for options, values in ((more, '1,"007",15'), ("--type n=double", "5001")):
        assert f'"user3",{WINDOW.format(0)},{values}\n' in command(f"{line} {options}").out
    for option in ("--agg c=count:page", "--type page=string"):
        assert "got 'page'; allowed: a column of the data, which has 'user', 'ts'" in command.refused(
            f"{line} {option}"
        )


NO_FIELDS = "allowed: texts, numbers and booleans"
ALLOWED = "; allowed: an object, which has fields, or null"
MISFITS = {
    '"u": "x"': f"'x'{ALLOWED}; --null x makes it null",
    '"u": 5.0': f"'5.0'{ALLOWED}; --null 5.0 makes it null",
    '"u": true': f"'true'{ALLOWED}; --null true makes it null",
    '"u": ""': f"''{ALLOWED}; --null '' makes it null",
    '"u": [1]': f"['1']{ALLOWED}",
    '"u": {"i": {"d": 1}}': f"an object, whose fields have names such as 'u.i.name'; {NO_FIELDS}",
    '"u": {"i": [1]}': f"a list; {NO_FIELDS}",
    '"u": {"i": "a\\ud83d"}': "'a\\ud83d'; allowed: text in Unicode, without half a surrogate pair",
}
"""Lines of JSON in which `u.i` has no value, and what the command says of them."""


@pytest.mark.parametrize("use", ["--key u.i", "--agg n=count:u.i"])
@pytest.mark.parametrize("line", MISFITS)
def test_json_that_has_a_value_where_other_lines_have_a_field(line: str, use: str, command: Command) -> None:
    good = '{"u": {"i": 1}, "ts": "2026-05-04"}\n'
    Path("rows.jsonl").write_text(f'{good}{{{line}, "ts": "2026-05-04"}}\n')
    run = f"sessions rows.jsonl --time ts --gap 5m {use}"
    message = command.refused(run)
    assert message == f"rows.jsonl: column 'u.i': got {MISFITS[line]}"
    if "--null" in message:
        option = message.rpartition("; ")[2].removesuffix(" makes it null")
        assert command(f"{run} {option}").out.endswith(",1\n")


def test_json_without_a_field_has_a_null_there(command: Command) -> None:
    """PHP writes an empty object as a list. No option can name a column whose name is not Unicode."""
    lines = ['"u": {"i.d": {"e": 1}}', '"u": {}', '"u": []', '"u": null', '"v": "\\ud83d"', '"\\ud83d": {"e": 1}']
    Path("rows.jsonl").write_text("".join(f'{{{line}, "ts": "2026-05-04"}}\n' for line in lines))
    assert "5 without a key" in command("sessions rows.jsonl --key u.i.d.e --time ts --gap 5m").err


NAMES = ["windows.parquet", "windows.csv", "windows.jsonl", "windows.tsv.gz", "windows.jsonl.gz"]


@pytest.mark.parametrize("name", NAMES)
def test_the_command_reads_what_it_wrote(name: str, command: Command) -> None:
    Path("rows.csv").write_text(CSV)
    command(f"{SUMS} rows.csv --agg top=max:n --out {name}")
    start = "window_start" if "csv" in name or "tsv" in name else "window.start"
    line = f"sessions {name} --key user --time {start} --gap '1 hour' --sort --agg s=sum:s --agg top=max:top"
    lines = command(line).out.replace('"', "").splitlines()
    assert lines[1:] == [f"ann,{WINDOW.format(0)},4,3", f"bob,{WINDOW.format(0)},2,2"]


def test_fields_of_structs_at_any_depth(command: Command) -> None:
    rows = [
        {"at": {"when": {"ts": 0, "x": 1}}, "a.b": "k", "n": 1},
        {"at": None, "a.b": "k", "n": 2},
        {"at": {"when": {"ts": 60, "x": 1}}, "a.b": "k", "n": 3},
    ]
    pq.write_table(pa.Table.from_pylist(rows), "rows.parquet")
    line = "sessions rows.parquet --key a.b --time at.when.ts --time-unit s --gap 5m --agg s=sum:n"
    printed = command(f"{line} --agg x=sum:at.when.x")
    assert printed.out.splitlines()[1] == '"k",1970-01-01 00:00:00,1970-01-01 00:01:00,4,2'
    assert "1 without a time" in printed.err
    message = command.refused(f"{line} --agg x=sum:at.when.y")
    assert message.startswith("--agg x: got 'at.when.y'; allowed: a column of the data (did you mean 'at.when.x'?")
    pq.write_table(pa.Table.from_pylist([{"a": {"k": "ann"}, "a.b": {"ts": 0}}]), "rows.parquet")
    assert '"ann",1970' in command("sessions rows.parquet --key a.k --time a.b.ts --time-unit s --gap 5m").out


@pytest.mark.parametrize("kind", ["sessions --gap", "sliding --difference"])
def test_no_key_is_one_series(kind: str, command: Command) -> None:
    Path("rows.csv").write_text(CSV)
    Path("rows.parquet").write_bytes(parquet())
    line = f"{kind} 5m --time ts --sort --agg s=sum:n"
    csv, columns = (command(f"{line} {name} --timeline").out for name in ("rows.csv", "rows.parquet"))
    assert csv == columns
    assert csv.splitlines()[0] == '"window_start","window_end","s"'
    assert "all records" in Path("timeline.svg").read_text()
    assert (f"{WINDOW.format(1)},6" in csv) is kind.startswith("sessions")
    message = command.refused(f"{line} rows.csv --timeline ann")
    assert message.startswith("--timeline: got 'ann'; allowed: no KEY without --key")
    message = command.refused(f"{line} rows.csv --agg series=count")
    assert message.startswith("--agg: got 'series'; allowed: another name")


def test_counts_of_one(command: Command) -> None:
    Path("rows.csv").write_text("user,ts\nann,2026-05-04\n")
    assert command(f"{SESSIONS} rows.csv").err == "windrow: 1 record, 1 window: standard output\n"
