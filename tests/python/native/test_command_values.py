"""Values of text files come out as they went in, unless `--type` says otherwise; times in all forms that files have."""

from __future__ import annotations

import csv
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ..harness.command import Command, command

__all__ = ["command"]

NINE = "2026-05-04 09:00"
LARGE = ["18446744073709551615", "18446744073709551614", "9223372036854775808", "9223372036854775807"]
DIGITS = ["9007199254740993", "9007199254740992", "1234567890.1577836800", "1234567890.1577836801"]
NUMBERS = ["007", "7", "07", "1e3", "1000", "1E3", "+7", "-0", "0", "0x10", "1.0", "1.00", "1,5", *LARGE, *DIGITS]
TIMES = ["2026-05-04", "2026-05-04 00:00:00", "00:30"]
IDS = [*NUMBERS, *TIMES, "true", "TRUE", "nan", "NaN", "inf", "NULL", " a", "a ", "a", 'a"b']
"""Ids that a reader which infers types changes or merges with another one."""
HOURS = "sessions rows.csv --time ts --gap '1 hour' --quiet"
USERS = f"{HOURS} --key user"


def write(header: str, *rows: list[str]) -> None:
    """Writes `rows.csv`."""
    with Path("rows.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([header.split(","), *rows])


def text_rows(command: Command, line: str) -> list[dict[str, str]]:
    """The rows of CSV that a run prints."""
    return list(csv.DictReader(command(line).out.splitlines()))


@pytest.mark.parametrize("others", ["alone", "together"])
def test_no_id_is_changed_or_merged(others: str, command: Command) -> None:
    found = []
    for ids in [IDS] if others == "together" else [[one] for one in IDS]:
        write("id,ts", *([one, NINE] for one in ids))
        found += [(row["id"], row["count"]) for row in text_rows(command, f"{HOURS} --key id")]
    assert sorted(found) == sorted((one, "1") for one in IDS)


@pytest.mark.parametrize("function", ["first", "last", "any_value", "mode", "min", "max", "min_by", "max_by"])
def test_a_value_prints_back_as_it_was(function: str, command: Command) -> None:
    line = f"{USERS} --agg v={function}:value" + (",n" if function.endswith("_by") else "")
    for values in (IDS, ["007.50", "1e3", "+7", "18446744073709551615", ".5"]):
        write("user,ts,value,n", *([f"u{place}", NINE, one, "1"] for place, one in enumerate(values)))
        assert sorted(row["v"] for row in text_rows(command, line)) == sorted(values)


def test_min_and_max_compare_numbers_as_numbers_and_times_as_times(command: Command) -> None:
    """```text
    n   9     10     007.50         large   18446744073709551615   18446744073709551614   2
    t   9:00+02:00 = 7:00           8:00Z                         7:30Z
    ```
    """
    write(
        "user,ts,n,large,t,text",
        ["ann", NINE, "9", "18446744073709551615", "2026-05-04T09:00+02:00", "b"],
        ["ann", NINE, "10", "18446744073709551614", "2026-05-04T08:00Z", "10"],
        ["ann", NINE, "007.50", "2", "2026-05-04T07:30Z", "9"],
    )
    expected = {
        "n": ("007.50", "10"),
        "large": ("2", "18446744073709551615"),
        "t": ("2026-05-04T09:00+02:00", "2026-05-04T08:00Z"),
        "text": ("10", "b"),
    }
    line = " ".join([USERS, *(f"--agg min_{name}=min:{name} --agg max_{name}=max:{name}" for name in expected)])
    (row,) = text_rows(command, line)
    assert {name: (row[f"min_{name}"], row[f"max_{name}"]) for name in expected} == expected
    (typed,) = command.rows(line)
    assert (typed["min_n"], typed["max_n"], typed["max_large"]) == (7.5, 10.0, 2**64 - 1)
    assert typed["max_t"] == datetime(2026, 5, 4, 8, tzinfo=UTC)


OF_THE_FIRST = "int64, the type of the first values; "


@pytest.mark.parametrize(
    ("first", "later", "message"),
    [
        ("7", "A12", f"{OF_THE_FIRST}--null A12 makes it null, --type code=string keeps all as text"),
        ("7", "7.5", f"{OF_THE_FIRST}--type code=double reads it"),
        ("2026-05-04", "soon", "times, as the first values are; --type code=string compares all as text"),
    ],
)
def test_an_order_that_later_values_do_not_have(first: str, later: str, message: str, command: Command) -> None:
    write("user,ts,code", *[["ann", NINE, first]] * 60_000, ["ann", NINE, later])
    line = f"{USERS} --agg top=max:code"
    assert command.refused(line) == f"--agg top: column 'code': got '{later}'; allowed: {message}"
    assert command(f"{line} --type code=string").out.endswith(f',"{max(first, later)}"\n')


TYPES = {
    "int64": ("7", "7.5", "--type x=double reads it"),
    "uint64": ("18446744073709551615", "-1", "--type x=int64 reads it"),
    "double": ("1e3", "many", "--null many makes it null, --type x=string keeps all as text"),
    "bool": ("true", "yes", "bool, the type that --type names (true and false, or 1 and 0)"),
    "date": ("2026-05-04", "05/04/2026", "date, the type that --type names"),
    "timestamp": ("2026-05-04T09:00:00", "9:00", "timestamp, the type that --type names"),
    "decimal(20,2)": ("7.50", "7.505", "--type x=double reads it"),
    "decimal(38,0)": ("18446744073709551615", "1,5", "--decimal , reads it as 1.5"),
}


@pytest.mark.parametrize("kind", TYPES)
def test_a_type_that_fits_and_one_that_does_not(kind: str, command: Command) -> None:
    good, bad, fix = TYPES[kind]
    line = f"{HOURS} --key x --type 'x={kind}'"
    write("x,ts", [good, NINE])
    command(f"{line} --out out.parquet")
    found = str(pq.read_schema("out.parquet").field("x").type)
    assert found in (kind, f"{kind}32[day]", f"{kind}[us]", kind.replace("decimal", "decimal128").replace(",", ", "))
    write("x,ts", [good, NINE], [bad, NINE])
    message = command.refused(line)
    assert message.startswith(f"--type: column 'x': got '{bad}'; allowed: {kind}, the type that --type names")
    assert fix in message


def test_types_that_are_wrong_at_once(command: Command) -> None:
    write("user,ts", ["ann", NINE])
    message = command.refused(f"{USERS} --type usr=int64")
    assert message.startswith("--type: got 'usr'; allowed: a column of the data (did you")
    for kind in ("integer", "decimal(39,0)", "decimal(5,6)", "decimal"):
        message = command.refused(f"{USERS} --type 'user={kind}'")
        assert message.startswith(f"--type user: got '{kind}'; allowed: 'string' or 'int64' or")
        assert "'decimal(p,s)'" in message
    pq.write_table(pa.table({"user": [1.5], "ts": pa.array([0], pa.timestamp("us"))}), "rows.parquet")
    line = f"{USERS} --type".replace("rows.csv", "rows.parquet")
    assert command(f"{line} user=string").out.splitlines()[1].startswith('"1.5",')
    message = command.refused(f"{line} user=int64")
    assert message.startswith("--type user: got 'int64'; allowed: a type that holds every value")


@pytest.mark.parametrize(("ends", "counts"), [(["", "1", ""], [2, 1]), (["", "", ""], [3]), ([], [])])
def test_a_column_that_has_few_ends_or_none_is_boolean(ends: list[str], counts: list[int], command: Command) -> None:
    write("user,ts,out", *(["ann", f"2026-05-04T09:0{minute}:00", end] for minute, end in enumerate(ends)))
    assert [row["count"] for row in command.rows(f"{USERS} --end-when out --sort")] == counts


SECONDS = datetime(2015, 5, 17, 10, 5, 3, tzinfo=UTC)
FORMATS = {
    "Apache": ("%d/%b/%Y:%H:%M:%S %z", "17/May/2015:10:05:03 +0000", SECONDS),
    "RFC 2822": ("%a, %d %b %Y %H:%M:%S %z", "Sun, 17 May 2015 10:05:03 -0430", SECONDS.replace(hour=14, minute=35)),
    "HTTP": ("%a, %d %b %Y %H:%M:%S %Z", "Sun, 17 May 2015 10:05:03 GMT", SECONDS),
    "git": ("%a %b %d %H:%M:%S %Y %z", "Sun May  7 10:05:03 2015 +02:00", SECONDS.replace(day=7, hour=8)),
    "a zone": ("%Y-%m-%d %H:%M:%S %Z", "2017-04-22 15:00:00 EST", datetime(2017, 4, 22, 20, tzinfo=UTC)),
    "a short zone": ("%F %T%z", "2017-04-22 15:00:00-05", datetime(2017, 4, 22, 20, tzinfo=UTC)),
    "fractions": ("%Y-%m-%d %H:%M:%S.%f", "2017-04-22 15:00:00.5", datetime(2017, 4, 22, 15, 0, 0, 500_000)),
    "Python's logging": ("%Y-%m-%d %H:%M:%S,%f", "2017-04-22 15:00:00,123", datetime(2017, 4, 22, 15, 0, 0, 123_000)),
    "both": ("%FT%T.%f%z", "2017-04-22T15:00:00.000001Z", datetime(2017, 4, 22, 15, 0, 0, 1, tzinfo=UTC)),
    "12 hours": ("%m/%d/%y %I:%M %p", "4/2/17 12:05 AM", datetime(2017, 4, 2, 0, 5)),
    "noon": ("%m/%d/%y %I:%M %p", "4/2/17 12:05 p.m.", datetime(2017, 4, 2, 12, 5)),
    "long months": ("%B %e, %Y %R", "September 2, 1969 9:05", datetime(1969, 9, 2, 9, 5)),
    "a percent sign": ("100%% %Y%m%d", "100% 20170402", datetime(2017, 4, 2)),
}


@pytest.mark.parametrize("form", FORMATS)
def test_formats_of_times(form: str, command: Command) -> None:
    pattern, text, expected = FORMATS[form]
    write("user,ts", ["a", text], ["a", ""], ["b", text])
    rows = command.rows(f"{USERS} --time-format '{pattern}'")
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
def test_formats_and_times_that_are_refused(case: str, command: Command) -> None:
    pattern, text, message = REFUSED[case]
    write("user,ts", ["a", text])
    said = command.refused(f"{USERS} --time-format '{pattern}'")
    assert said.startswith("--time-format")
    assert message in said


def test_fractions_of_nanoseconds_in_a_format(command: Command) -> None:
    write("user,ts", ["a", "2017-04-22 15:00:00.1"], ["a", "2017-04-22 15:00:00.123456789"])
    line = f"{USERS} --time-format '%F %T.%f'"
    assert ",2017-04-22 15:00:00.123456789,2" in command(line).out
    write("user,ts", *[["a", "2017-04-22 15:00:00.1"]] * 60_000, ["a", "2017-04-22 15:00:00.123456789"])
    assert "got '2017-04-22 15:00:00.123456789'; allowed: times in this format" in command.refused(line)


FINE, LAST = "2026-05-04T09:00:00.123456789", "2262-04-11T23:47:16.854775807"
FAR = ["9999-12-31T00:00:00.0", "1677-09-21T00:00:00.0", "2262-04-11T23:47:16.854776"]
RANGE = "times from 1677-09-21 to 2262-04-11, as other times have nanoseconds"
READ_AS = {"--time": "", "--time-format '%FT%T.%f'": "--time-format %FT%T.%f"}


@pytest.mark.parametrize("reads", READ_AS)
@pytest.mark.parametrize("time", [LAST, *FAR, LAST.replace("807", "808")])
def test_a_time_beyond_nanoseconds_names_their_range(time: str, reads: str, command: Command) -> None:
    line = f"sessions rows.csv --gap 1h --time ts {READ_AS[reads]}"
    write("ts", [FINE], [time])
    if time == LAST:
        assert f"{LAST.replace('T', ' ')},1\n" in command(line).out
        return
    assert command.refused(line) == f"{reads}: column 'ts': got '{time}'; allowed: {RANGE}; --null {time} makes it null"
    assert "left out: 1 without a time" in command(f"{line} --null {time}").err


@pytest.mark.parametrize("far", FAR)
def test_an_end_beyond_the_nanoseconds_of_the_times_names_their_range(far: str, command: Command) -> None:
    line = "sessions rows.csv --gap 1h --time ts --end until"
    write("ts,until", [FINE, "2026-05-04T09:30:00.5"], [FINE, far])
    assert command.refused(line) == f"--end: column 'until': got '{far}'; allowed: {RANGE}; --null {far} makes it null"
    assert "left out: 1 with an end that is null" in command(f"{line} --null {far}").err
    ends = pa.array(["2026-05-04T09:30:00.5", far]).cast(pa.timestamp("us"))
    pq.write_table(pa.table({"ts": pa.array([FINE] * 2).cast(pa.timestamp("ns")), "until": ends}), "rows.parquet")
    message = command.refused(line.replace("csv", "parquet"))
    assert message == f"--end: column 'until': got {ends[1].value}; allowed: {RANGE}"


EPOCHS = {
    "s": (["1777885200.25", "1777885201"], 250_000, 1_000_000),
    "ms": (["1777885200000.5", "1777885200001"], 500, 1_000),
    "us": (["1777885200000000", "1777885200000001"], 0, 1),
}


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("unit", EPOCHS)
def test_fractional_epochs(unit: str, decimal: str, command: Command) -> None:
    texts, first, last = EPOCHS[unit]
    write("user,ts", *(["ann", text.replace(".", decimal)] for text in texts))
    rows = command.rows(f"{USERS} --time-unit {unit} --decimal {decimal}")
    start = datetime(2026, 5, 4, 9, microsecond=first)
    end = datetime(2026, 5, 4, 9, second=last // 10**6, microsecond=last % 10**6)
    assert [row["window"] for row in rows] == [{"start": start, "end": end}]
    pq.write_table(pa.table({"user": ["ann"] * 2, "ts": [float(text) for text in texts]}), "rows.parquet")
    assert command.rows(f"{USERS} --time-unit {unit}".replace("rows.csv", "rows.parquet")) == rows


def test_epochs_before_1970_and_nanoseconds(command: Command) -> None:
    line = f"{USERS} --time-unit s"
    write("user,ts", ["ann", "-0.5"], ["ann", "0.123456789"])
    assert "1969-12-31 23:59:59.500000000,1970-01-01 00:00:00.123456789,2" in command(line).out
    write("user,ts", *[["ann", "0"]] * 200_000, ["ann", "0.5"])
    assert command.refused(line).endswith("as the first values are; --type 'ts=decimal(38,9)' reads it")
    assert "1970-01-01 00:00:00.500000000,200001" in command(f"{line} --type 'ts=decimal(38,9)'").out
    for large in (str(2**63), f"-{2**63 + 1}"):
        write("user,ts", ["ann", "5"], ["ann", str(2**63 - 1)], ["ann", large])
        assert f"got '{large}'; allowed: numbers up to" in command.refused(line)


def times_in(ending: str, text: str) -> str:
    """The sessions of a time in a file of CSV or, as a number, of Parquet."""
    write("user,ts", ["ann", text])
    number = float(text) if "." in text else int(text)
    pq.write_table(pa.table({"user": ["ann"], "ts": [number]}), "rows.parquet")
    return USERS.replace("rows.csv", f"rows.{ending}")


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
def test_numbers_as_times_name_the_option(text: str, hint: str, ending: str, command: Command) -> None:
    line = times_in(ending, text)
    assert command.refused(line).endswith(f": {hint}")
    command(f"{line} {hint}")


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
def test_numbers_of_another_unit(text: str, hint: str | None, ending: str, command: Command) -> None:
    line = f"{times_in(ending, text)} --time-unit s"
    if hint is None:
        command(line)
        return
    message = command.refused(line)
    assert f"got {text if ending == 'parquet' else repr(text)}; allowed: times of the years 1 to 9999, as" in message
    assert message.endswith(f"; {text} may be a time since 1970: --time-unit {hint}" if hint else "s counts them")


UNITS = {
    "--gap 5m --time-unit s": "allowed: numbers, as the unit s counts them; text in ISO 8601 needs no --time-unit",
    "--dynamic-gap gap --gap-unit ms": "'5m'; allowed: numbers, as the unit ms counts them; --null 5m makes it null",
    "--gap 5m --end-when end": "column 'end': got 'no'; allowed: booleans (true and false, or 1 and 0)",
}


@pytest.mark.parametrize("arguments", UNITS)
def test_text_where_a_unit_counts_numbers(arguments: str, command: Command) -> None:
    write("user,ts,gap,end", ["ann", NINE, "5m", "no"])
    assert command.refused(f"sessions rows.csv --key user --time ts {arguments}").endswith(UNITS[arguments])


SPELLED = {".5": 500_000, "-.5": -500_000, "+.5": 500_000, "5.": 5_000_000, "+5": 5_000_000, "-0.25": -250_000}
SPELLED |= {
    "1.7778852e9": 1_777_885_200_000_000,
    "1e3": 1_000_000_000,
    "1.5E-3": 1_500,
    ".5e+1": 5_000_000,
    " .5 ": 500_000,
}
"""Texts of numbers, and their microseconds."""


@pytest.mark.parametrize("text", SPELLED)
@pytest.mark.parametrize("others", [0, 200_000])
def test_a_number_has_any_spelling_where_a_unit_counts(text: str, others: int, command: Command) -> None:
    """As DuckDB, pandas and Polars read it; the first values may be spelled in another way."""
    write("user,ts,gap", *[["bob", "0.000001", "1.000001"]] * others, ["ann", text, text])
    rows = command.rows(f"{USERS} --time-unit s --agg x=sum:ts")
    first = datetime(1970, 1, 1) + timedelta(microseconds=SPELLED[text])
    assert [(row["window"]["start"], row["x"]) for row in rows if row["user"] == "ann"] == [(first, float(text))]
    line = "sessions rows.csv --time ts --time-unit s --dynamic-gap gap --gap-unit s --key user --quiet"
    assert len([row for row in command.rows(line) if row["user"] == "ann"]) == (SPELLED[text] > 0)


@pytest.mark.parametrize(
    ("values", "kind", "allowed"),
    [
        (["99999999999999999999.5"], pa.decimal128(30, 1), "numbers up to 9223372036854.775807"),
        (["9999999999999999.5"], pa.decimal128(30, 1), "numbers up to 9223372036854.775807"),
        (["1e30"], None, "numbers up to 9223372036854775807"),
        (["1777885200000.50"], pa.decimal128(20, 2), "--time-unit ms"),
        (["1.5000000001"], pa.decimal128(30, 10), "in whole ns; --type ts=double rounds to microseconds"),
        (["1e-9999"], None, "in whole s; --type ts=double rounds to microseconds"),
        (["1e9999"], None, "numbers up to 9223372036854775807"),
        (["1,5"], None, "--decimal , reads it as 1.5"),
        (["1,000"], None, "--decimal , reads it as 1.000"),
        (["1,000.5"], None, "write 1000.5"),
        (["0x10"], None, "--null 0x10 makes it null"),
        (["1 000"], None, "--null '1 000' makes it null"),
    ],
)
def test_numbers_that_no_unit_counts_name_an_option_that_works(
    values: list[str], kind: pa.DataType | None, allowed: str, command: Command
) -> None:
    line = f"{HOURS} --time-unit s"
    if kind is None:
        write("ts", *([value] for value in values))
    else:
        pq.write_table(pa.table({"ts": pa.array(map(Decimal, values), kind)}), "rows.parquet")
        line = line.replace("rows.csv", "rows.parquet")
    message = command.refused(line)
    assert f"--time: column 'ts': got '{values[0]}'; allowed: " in message
    assert message.endswith(allowed)
    option = re.search(r"(--\S+ (?:'.*?'|\S+))(?: reads| rounds| makes|$)", allowed)
    if option is not None:
        command(f"{line.replace(' --time-unit s', '')} {option[1]}" if "unit" in option[1] else f"{line} {option[1]}")


def test_times_of_text_views_with_a_unit(command: Command) -> None:
    pq.write_table(pa.table({"ts": pa.array(["1.5"], pa.string_view())}), "rows.parquet")
    assert "00:00:01.5" in command(f"{HOURS} --time-unit s".replace("rows.csv", "rows.parquet")).out
