"""Values of text files come out as they went in, unless `--type` says otherwise; times in all forms that files have."""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.__main__ import main

from ..harness.command import refused

NINE = "2026-05-04 09:00"
IDS = [
    "007",
    "7",
    "07",
    "1e3",
    "1000",
    "1E3",
    "+7",
    "-0",
    "0",
    "0x10",
    "18446744073709551615",
    "18446744073709551614",
    "9223372036854775808",
    "9223372036854775807",
    "9007199254740993",
    "9007199254740992",
    "1234567890.1577836800",
    "1234567890.1577836801",
    "1.0",
    "1.00",
    "1,5",
    "true",
    "TRUE",
    "2026-05-04",
    "2026-05-04 00:00:00",
    "00:30",
    "nan",
    "NaN",
    "inf",
    "NULL",
    " a",
    "a ",
    "a",
    'a"b',
]
"""Ids that a reader which infers types changes or merges with another one."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_csv(path: Path, header: str, rows: list[list[str]]) -> None:
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([header.split(","), *rows])


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


SESSIONS = ["--time", "ts", "--gap", "1 hour"]


@pytest.mark.parametrize("others", ["alone", "together"])
def test_no_id_is_changed_or_merged(others: str, folder: Path) -> None:
    groups = [IDS] if others == "together" else [[one] for one in IDS]
    found = []
    for ids in groups:
        write_csv(folder / "ids.csv", "id,ts", [[one, NINE] for one in ids])
        assert main(["sessions", "ids.csv", "--key", "id", *SESSIONS, "--out", "out.csv", "--quiet"]) == 0
        found += [(row["id"], row["count"]) for row in read_csv(folder / "out.csv")]
    assert sorted(found) == sorted((one, "1") for one in IDS)


@pytest.mark.parametrize("function", ["first", "last", "any_value", "mode", "min", "max", "min_by", "max_by"])
def test_a_value_prints_back_as_it_was(function: str, folder: Path) -> None:
    write_csv(
        folder / "values.csv", "user,ts,value,n", [[f"u{place}", NINE, one, "1"] for place, one in enumerate(IDS)]
    )
    call = f"v={function}:value" + (",n" if function.endswith("_by") else "")
    arguments = ["sessions", "values.csv", "--key", "user", *SESSIONS, "--agg", call, "--quiet"]
    assert main([*arguments, "--out", "out.csv"]) == 0
    assert sorted(row["v"] for row in read_csv(folder / "out.csv")) == sorted(IDS)
    numbers = ["007.50", "1e3", "+7", "18446744073709551615", ".5"]
    write_csv(folder / "values.csv", "user,ts,value,n", [[f"u{one}", NINE, one, "1"] for one in numbers])
    assert main([*arguments, "--out", "out.csv"]) == 0
    assert sorted(row["v"] for row in read_csv(folder / "out.csv")) == sorted(numbers)


def test_min_and_max_compare_numbers_as_numbers_and_times_as_times(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """```text
    n   9     10     007.50         large   18446744073709551615   18446744073709551614   2
    t   9:00+02:00 = 7:00           8:00Z                         7:30Z
    ```
    """
    rows = [
        ["ann", NINE, "9", "18446744073709551615", "2026-05-04T09:00+02:00", "b"],
        ["ann", NINE, "10", "18446744073709551614", "2026-05-04T08:00Z", "10"],
        ["ann", NINE, "007.50", "2", "2026-05-04T07:30Z", "9"],
    ]
    write_csv(folder / "rows.csv", "user,ts,n,large,t,text", rows)
    calls = [
        f"{function}_{column}={function}:{column}"
        for column in ("n", "large", "t", "text")
        for function in ("min", "max")
    ]
    arguments = ["sessions", "rows.csv", "--key", "user", *SESSIONS, *(f"--agg={call}" for call in calls)]
    assert main([*arguments, "--out", "out.csv"]) == 0
    (row,) = read_csv(folder / "out.csv")
    assert (row["min_n"], row["max_n"]) == ("007.50", "10")
    assert (row["min_large"], row["max_large"]) == ("2", "18446744073709551615")
    assert (row["min_t"], row["max_t"]) == ("2026-05-04T09:00+02:00", "2026-05-04T08:00Z")
    assert (row["min_text"], row["max_text"]) == ("10", "b")
    assert main([*arguments, "--out", "out.parquet"]) == 0
    (typed,) = pq.read_table(folder / "out.parquet").to_pylist()
    assert (typed["min_n"], typed["max_n"], typed["max_large"]) == (7.5, 10.0, 2**64 - 1)
    assert typed["max_t"] == datetime(2026, 5, 4, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("first", "later", "message"),
    [
        (
            "7",
            "A12",
            "int64, the type of the first values; --null A12 makes it null, --type code=string keeps all as text",
        ),
        ("7", "7.5", "int64, the type of the first values; --type code=double reads it"),
        ("2026-05-04", "soon", "times, as the first values are; --type code=string compares all as text"),
    ],
)
def test_an_order_that_later_values_do_not_have(
    first: str, later: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_csv(folder / "rows.csv", "user,ts,code", [["ann", NINE, first]] * 60_000 + [["ann", NINE, later]])
    arguments = ["sessions", "rows.csv", "--key", "user", *SESSIONS, "--agg", "top=max:code", "--quiet"]
    assert refused(capsys, *arguments) == f"--agg top: column 'code': got '{later}'; allowed: {message}"
    assert main([*arguments, "--type", "code=string"]) == 0
    assert capsys.readouterr().out.endswith(f',"{max(first, later)}"\n')


TYPES = {
    "int64": ("7", "7.5", "--type x=double reads it"),
    "uint64": ("18446744073709551615", "-1", "--type x=int64 reads it"),
    "double": ("1e3", "many", "--null many makes it null, --type x=string keeps all as text"),
    "bool": ("true", "yes", "bool, the type that --type names (true and false, or 1 and 0)"),
    "date": ("2026-05-04", "05/04/2026", "date, the type that --type names"),
    "timestamp": ("2026-05-04T09:00:00", "9:00", "timestamp, the type that --type names"),
    "decimal(20,2)": ("7.50", "7.505", "--type x=double reads it"),
    "decimal(38,0)": ("18446744073709551615", "1,5", "--decimal , reads it"),
}


@pytest.mark.parametrize("kind", TYPES)
def test_a_type_that_fits_and_one_that_does_not(kind: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad, fix = TYPES[kind]
    arguments = ["sessions", "rows.csv", "--key", "x", *SESSIONS, "--type", f"x={kind}"]
    write_csv(folder / "rows.csv", "x,ts", [[good, NINE]])
    assert main([*arguments, "--out", "out.parquet"]) == 0
    found = str(pq.read_schema(folder / "out.parquet").field("x").type)
    assert found in (kind, f"{kind}32[day]", f"{kind}[us]", kind.replace("decimal", "decimal128").replace(",", ", "))
    write_csv(folder / "rows.csv", "x,ts", [[good, NINE], [bad, NINE]])
    capsys.readouterr()
    message = refused(capsys, *arguments)
    assert message.startswith(f"--type: column 'x': got '{bad}'; allowed: {kind}, the type that --type names")
    assert fix in message


def test_types_that_are_wrong_at_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_csv(folder / "rows.csv", "user,ts", [["ann", NINE]])
    arguments = ["sessions", "rows.csv", "--key", "user", *SESSIONS, "--type"]
    assert refused(capsys, *arguments, "usr=int64").startswith(
        "--type: got 'usr'; allowed: a column of the data (did you"
    )
    for kind in ("integer", "decimal(39,0)", "decimal(5,6)", "decimal"):
        message = refused(capsys, *arguments, f"user={kind}")
        assert message.startswith(f"--type user: got '{kind}'; allowed: 'string' or 'int64' or")
        assert "'decimal(p,s)'" in message
    table = pa.table({"user": [1.5], "ts": pa.array([0], pa.timestamp("us"))})
    pq.write_table(table, folder / "rows.parquet")
    arguments[1] = "rows.parquet"
    assert main([*arguments, "user=string", "--quiet"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith('"1.5",')
    assert "--type user: got 'int64'; allowed: a type that holds every value" in refused(
        capsys, *arguments, "user=int64"
    )


FORMATS = {
    "Apache": ("%d/%b/%Y:%H:%M:%S %z", "17/May/2015:10:05:03 +0000", datetime(2015, 5, 17, 10, 5, 3, tzinfo=UTC)),
    "RFC 2822": (
        "%a, %d %b %Y %H:%M:%S %z",
        "Sun, 17 May 2015 10:05:03 -0430",
        datetime(2015, 5, 17, 14, 35, 3, tzinfo=UTC),
    ),
    "HTTP": ("%a, %d %b %Y %H:%M:%S %Z", "Sun, 17 May 2015 10:05:03 GMT", datetime(2015, 5, 17, 10, 5, 3, tzinfo=UTC)),
    "git": ("%a %b %d %H:%M:%S %Y %z", "Sun May  7 10:05:03 2015 +02:00", datetime(2015, 5, 7, 8, 5, 3, tzinfo=UTC)),
    "a zone": ("%Y-%m-%d %H:%M:%S %Z", "2017-04-22 15:00:00 EST", datetime(2017, 4, 22, 20, tzinfo=UTC)),
    "a short zone": ("%F %T%z", "2017-04-22 15:00:00-05", datetime(2017, 4, 22, 20, tzinfo=UTC)),
    "fractions": ("%Y-%m-%d %H:%M:%S.%f", "2017-04-22 15:00:00.5", datetime(2017, 4, 22, 15, 0, 0, 500_000)),
    "Python's logging": ("%Y-%m-%d %H:%M:%S,%f", "2017-04-22 15:00:00,123", datetime(2017, 4, 22, 15, 0, 0, 123_000)),
    "fractions and a zone": (
        "%FT%T.%f%z",
        "2017-04-22T15:00:00.000001Z",
        datetime(2017, 4, 22, 15, 0, 0, 1, tzinfo=UTC),
    ),
    "12 hours": ("%m/%d/%y %I:%M %p", "4/2/17 12:05 AM", datetime(2017, 4, 2, 0, 5)),
    "noon": ("%m/%d/%y %I:%M %p", "4/2/17 12:05 p.m.", datetime(2017, 4, 2, 12, 5)),
    "long months": ("%B %e, %Y %R", "September 2, 1969 9:05", datetime(1969, 9, 2, 9, 5)),
    "a percent sign": ("100%% %Y%m%d", "100% 20170402", datetime(2017, 4, 2)),
}


@pytest.mark.parametrize("form", FORMATS)
def test_formats_of_times(form: str, folder: Path) -> None:
    pattern, text, expected = FORMATS[form]
    write_csv(folder / "log.csv", "ip,ts", [["a", text], ["a", ""], ["b", text]])
    arguments = ["sessions", "log.csv", "--key", "ip", "--time", "ts", "--gap", "30 min", "--time-format", pattern]
    assert main([*arguments, "--out", "out.parquet"]) == 0
    rows = pq.read_table(folder / "out.parquet").to_pylist()
    assert [row["window"] for row in rows] == [{"start": expected, "end": expected}] * 2


REFUSED = {
    "an ambiguous zone": ("%F %T %Z", "2017-04-22 15:00:00 IST", "'IST', which may mean several zones: write offsets"),
    "no such day": ("%Y-%m-%d", "2017-02-30", "column 'ts': got '2017-02-30'; allowed: times in this format"),
    "no such hour": ("%Y-%m-%d %I %p", "2017-02-03 13 PM", "got '2017-02-03 13 PM'"),
    "no such month": ("%d %b %Y", "3 Mai 2017", "got '3 Mai 2017'"),
    "text behind": ("%Y-%m-%d", "2017-02-03 x", "got '2017-02-03 x'"),
    "an unknown directive": ("%Y-%m-%d %Q", "2017-02-03", ", not %Q"),
    "an epoch": ("%s", "1577836800", "--time-unit s"),
    "no year": ("%b %d %H:%M", "May 4 09:00", "a format with year, month and day"),
    "a directive twice": ("%F %d", "2017-02-03 3", "%d appears twice"),
    "half a day": ("%F %I", "2017-02-03 3", "%p with %I"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_formats_and_times_that_are_refused(case: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pattern, text, message = REFUSED[case]
    write_csv(folder / "log.csv", "ip,ts", [["a", text]])
    line = refused(capsys, "sessions", "log.csv", "--key", "ip", *SESSIONS, "--time-format", pattern)
    assert line.startswith("--time-format")
    assert message in line


def test_fractions_of_nanoseconds_in_a_format(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["sessions", "log.csv", "--key", "ip", *SESSIONS, "--time-format", "%F %T.%f", "--quiet"]
    write_csv(folder / "log.csv", "ip,ts", [["a", "2017-04-22 15:00:00.1"], ["a", "2017-04-22 15:00:00.123456789"]])
    assert main(arguments) == 0
    assert ",2017-04-22 15:00:00.123456789,2" in capsys.readouterr().out


EPOCHS = {
    "s": (["1777885200.25", "1777885201"], 250_000, 1_000_000),
    "ms": (["1777885200000.5", "1777885200001"], 500, 1_000),
    "us": (["1777885200000000", "1777885200000001"], 0, 1),
}


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("unit", EPOCHS)
def test_fractional_epochs(unit: str, decimal: str, folder: Path) -> None:
    texts, first, last = EPOCHS[unit]
    write_csv(folder / "rows.csv", "user,ts", [["ann", text.replace(".", decimal)] for text in texts])
    arguments = ["sessions", "rows.csv", "--key", "user", *SESSIONS, "--time-unit", unit, "--decimal", decimal]
    assert main([*arguments, "--out", "out.parquet"]) == 0
    (row,) = pq.read_table(folder / "out.parquet").to_pylist()
    nine = datetime(2026, 5, 4, 9)
    assert row["window"] == {
        "start": nine.replace(microsecond=first),
        "end": nine.replace(second=last // 10**6, microsecond=last % 10**6),
    }
    numbers = pa.array([float(text) for text in texts])
    pq.write_table(pa.table({"user": ["ann"] * 2, "ts": numbers}), folder / "rows.parquet")
    assert (
        main(["sessions", "rows.parquet", "--key", "user", *SESSIONS, "--time-unit", unit, "--out", "out.parquet"]) == 0
    )
    assert pq.read_table(folder / "out.parquet").to_pylist() == [row]


def test_epochs_before_1970_and_nanoseconds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_csv(folder / "rows.csv", "user,ts", [["ann", "-0.5"], ["ann", "0.123456789"]])
    arguments = ["sessions", "rows.csv", "--key", "user", *SESSIONS, "--time-unit", "s", "--quiet"]
    assert main(arguments) == 0
    assert "1969-12-31 23:59:59.500000000,1970-01-01 00:00:00.123456789,2" in capsys.readouterr().out
    write_csv(folder / "rows.csv", "user,ts", [["ann", "0"]] * 200_000 + [["ann", "0.5"]])
    assert "--type ts=double reads fractions" in refused(capsys, *arguments)
    assert main([*arguments, "--type", "ts=double"]) == 0
    capsys.readouterr()
    write_csv(folder / "rows.csv", "user,ts", [["ann", "9" * 19]])
    assert f"got '{'9' * 19}'; allowed: numbers up to" in refused(capsys, *arguments)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("1777885200", "--time-unit s"),
        ("1777885200000", "--time-unit ms"),
        ("1777885200000000", "--time-unit us"),
        ("1777885200000000000", "--time-unit ns"),
        ("1777885200.25", "--time-unit s"),
        ("20260504", "--time-format %Y%m%d"),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_numbers_as_times_name_the_option(
    text: str, hint: str, ending: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_csv(folder / "rows.csv", "user,ts", [["ann", text]])
    number = float(text) if "." in text else int(text)
    pq.write_table(pa.table({"user": ["ann"], "ts": [number]}), folder / "rows.parquet")
    message = refused(capsys, "sessions", f"rows.{ending}", "--key", "user", *SESSIONS)
    assert message.endswith(f": {hint}")
    assert main(["sessions", f"rows.{ending}", "--key", "user", *SESSIONS, *hint.split()]) == 0


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("-62135596800", None),
        ("253402300799", None),
        ("-62135596801", ""),
        ("253402300800", "ms"),
        ("1777885200000", "ms"),
        ("1777885200000.5", "ms"),
        ("1777885200000000", "us"),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_numbers_of_another_unit(
    text: str, hint: str | None, ending: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_csv(folder / "rows.csv", "user,ts", [["ann", text]])
    number = float(text) if "." in text else int(text)
    pq.write_table(pa.table({"user": ["ann"], "ts": [number]}), folder / "rows.parquet")
    arguments = ["sessions", f"rows.{ending}", "--key", "user", *SESSIONS, "--time-unit", "s"]
    if hint is None:
        assert main(arguments) == 0
        return
    message = refused(capsys, *arguments)
    assert f"got {text if ending == 'parquet' else repr(text)}; allowed: times of the years 1 to 9999, as" in message
    assert message.endswith(f"; {text} may be a time since 1970: --time-unit {hint}" if hint else "s counts them")


def test_text_where_a_unit_counts_numbers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_csv(folder / "rows.csv", "user,ts,gap,end", [["ann", NINE, "5m", "no"]])
    arguments = ["sessions", "rows.csv", "--key", "user", "--time", "ts"]
    message = refused(capsys, *arguments, "--gap", "5m", "--time-unit", "s")
    assert message.endswith("allowed: numbers, as the unit s counts them; text in ISO 8601 needs no --time-unit")
    write_csv(folder / "exponents.csv", "user,ts", [["ann", "1.7778852e9"]])
    exponents = ["sessions", "exponents.csv", "--key", "user", *SESSIONS, "--time-unit", "s"]
    assert refused(capsys, *exponents).endswith("as the unit s counts them; --type ts=double reads it")
    assert main([*exponents, "--type", "ts=double"]) == 0
    capsys.readouterr()
    message = refused(capsys, *arguments, "--dynamic-gap", "gap", "--gap-unit", "ms")
    assert message == "--dynamic-gap: column 'gap': got '5m'; allowed: numbers, as the unit ms counts them"
    message = refused(capsys, *arguments, "--gap", "5m", "--end-when", "end")
    assert message == "--end-when: column 'end': got 'no'; allowed: booleans (true and false, or 1 and 0)"


def test_numbers_with_decimal_commas(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "rows.csv").write_text(f"user;ts;x\nann;{NINE};1,5\nann;{NINE};-2,25\n")
    arguments = [
        "sessions",
        "rows.csv",
        "--key",
        "user",
        *SESSIONS,
        "--delimiter",
        ";",
        "--agg",
        "s=sum:x",
        "--agg",
        "m=min:x",
    ]
    assert main([*arguments, "--decimal", ",", "--quiet"]) == 0
    assert capsys.readouterr().out.splitlines()[1].endswith(';"-0,75";"-2,25"')
    assert "got '1,5'; allowed: numbers; --decimal , reads it" in refused(capsys, *arguments)
    assert "--decimal: got ';'; allowed: '.' or ','" in refused(capsys, *arguments, "--decimal", ";")
