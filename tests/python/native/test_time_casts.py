"""A time column of another type: the error shows a cast, which makes the right times of that very data."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import duckdb
import pandas
import pandas as pd
import polars as pl
import pyarrow
import pyarrow as pa
import pytest

import windrow as wr

from ..harness.tables import arrow

GAP = wr.SessionWindows.with_gap("5 minutes")
EIGHT = datetime(2026, 1, 31, 8)
TIMES = [EIGHT, EIGHT + timedelta(seconds=60, microseconds=123456), EIGHT + timedelta(minutes=30)]
WHOLE = [at.replace(microsecond=0) for at in TIMES]
DAYS = [datetime(2026, 1, 31), datetime(2026, 1, 31), datetime(2026, 2, 1)]
UTC_SECONDS = [at.replace(tzinfo=UTC).timestamp() for at in TIMES]
TICKS = [round(seconds * 10**6) for seconds in UTC_SECONDS]
USERS = ["ann", "ann", "bob"]


def written(form: str, times: list[datetime] = WHOLE) -> list[str]:
    return [at.strftime(form) for at in times]


CASES: dict[str, tuple[Any, list[datetime]]] = {
    "text": (written("%Y-%m-%d %H:%M:%S"), WHOLE),
    "text in views": (pa.array(written("%Y-%m-%d %H:%M:%S"), pa.string_view()), WHOLE),
    "large text": (pa.array(written("%Y-%m-%d %H:%M:%S"), pa.large_string()), WHOLE),
    "categories": (pa.array(written("%Y-%m-%dT%H:%M:%S")).dictionary_encode(), WHOLE),
    "microseconds": ([at.isoformat() for at in TIMES], TIMES),
    "minutes": (written("%Y-%m-%d %H:%M"), [at.replace(second=0) for at in WHOLE]),
    "days": (written("%Y-%m-%d", DAYS), DAYS),
    "some are days": ([*written("%Y-%m-%dT%H:%M")[:2], "2026-02-01"], [*WHOLE[:1], WHOLE[1], DAYS[2]]),
    "zoned": (written("%Y-%m-%dT%H:%M:%S+02:00"), [at - timedelta(hours=2) for at in WHOLE]),
    "in UTC": (written("%Y-%m-%dT%H:%M:%SZ"), WHOLE),
    "short zone": (written("%Y-%m-%dT%H:%M:%S-03"), [at + timedelta(hours=3) for at in WHOLE]),
    "two zones": ([*written("%Y-%m-%dT%H:%M:%SZ")[:2], "2026-01-31T10:30:00+02:00"], WHOLE),
    "compact": (written("%Y%m%dT%H%M%S"), WHOLE),
    "compact in UTC": (written("%Y%m%dT%H%M%SZ"), WHOLE),
    "compact zoned": (written("%Y%m%dT%H%M%S+0200"), [at - timedelta(hours=2) for at in WHOLE]),
    "compact with a space": (written("%Y%m%d %H%M%S"), WHOLE),
    "compact minutes": (written("%Y%m%dT%H%M"), [at.replace(second=0) for at in WHOLE]),
    "compact digits": (written("%Y%m%d%H%M%S"), WHOLE),
    "compact days": (written("%Y%m%d", DAYS), DAYS),
    "days as integers": ([int(day) for day in written("%Y%m%d", DAYS)], DAYS),
    "digits as integers": ([int(day) for day in written("%Y%m%d%H%M%S")], WHOLE),
    "slashes": (written("%Y/%m/%d %H:%M:%S"), WHOLE),
    "days with slashes": (written("%Y/%m/%d", DAYS), DAYS),
    "us date": (["01/31/2026 8:00 AM", "1/31/2026 08:01 AM", "01/31/2026 8:30 AM"], WHOLE),
    "us date only": (["12/31/2025", "12/31/2025", "1/1/2026"], [datetime(2025, 12, 31)] * 2 + [datetime(2026, 1, 1)]),
    "us date, seconds": (written("%m/%d/%Y %H:%M:%S"), WHOLE),
    "european": (written("%d.%m.%Y %H:%M"), WHOLE),
    "month by name": (["Jan 31 2026 8:00AM", "Jan 31 2026 08:01AM", "JAN 31 2026 8:30am"], WHOLE),
    "days with months by name": (["January 31, 2026", "January 31, 2026", "February 1, 2026"], DAYS),
    "day, month by name": (written("%d-%b-%Y %H:%M:%S"), WHOLE),
    "web server": (written("%d/%b/%Y:%H:%M:%S +0200"), [at - timedelta(hours=2) for at in WHOLE]),
    "mail": (written("%a, %d %b %Y %H:%M:%S +0000"), WHOLE),
    "HTTP": (written("%a, %d %b %Y %H:%M:%S GMT"), WHOLE),
    "C": (written("%a %b %d %H:%M:%S %Y"), WHOLE),
    "short year": (written("%d.%m.%y %H:%M"), WHOLE),
    "day first": (["03/01/2026", "03/01/2026", "13/01/2026"], [datetime(2026, 1, 3)] * 2 + [datetime(2026, 1, 13)]),
    "s": (pa.array(map(int, UTC_SECONDS), pa.int64()), WHOLE),
    "int32": (pa.array(map(int, UTC_SECONDS), pa.int32()), WHOLE),
    "ms": ([at // 1000 for at in TICKS], [at.replace(microsecond=at.microsecond // 1000 * 1000) for at in TIMES]),
    "us": (TICKS, TIMES),
    "uint64": (pa.array(TICKS, pa.uint64()), TIMES),
    "ns": ([at * 1000 for at in TICKS], TIMES),
    "float": (UTC_SECONDS, TIMES),
    "float ms": ([1000 * at for at in UTC_SECONDS], TIMES),
    "float us": ([float(at) for at in TICKS], TIMES),
    "float ns": ([float(at * 1000) for at in TICKS], TIMES),
    "decimal": (pa.array([Decimal(f"{at:.6f}") for at in UTC_SECONDS]), TIMES),
    "s as text": ([str(int(at)) for at in UTC_SECONDS], WHOLE),
    "us as text": ([str(at) for at in TICKS], TIMES),
    "ns as text": (pa.array([str(at * 1000) for at in TICKS]).dictionary_encode(), TIMES),
    "float as text": ([f"{at:.6f}" for at in UTC_SECONDS], TIMES),
    "with UTC": (written("%Y-%m-%d %H:%M:%S UTC"), WHOLE),
    "date": (pa.array(DAYS).cast(pa.date32()), DAYS),
}
"""A column of each kind, and its times."""


def cast_of(data: Any, column: str) -> str:
    """The cast that the error of a time column names."""
    with pytest.raises(TypeError, match=rf"^time: column '{column}' has type .*; allowed: a timestamp") as raised:
        wr.group_by(data, "user", time=column)
    _, known, cast = str(raised.value).partition("a timestamp, with or without a zone: ")
    assert known
    return re.split(" if (?:it counts|the month) ", cast)[0]


def of_library(library: str, table: pa.Table) -> Any:
    made = {"polars": pl.from_arrow, "pandas": pa.Table.to_pandas, "duckdb": duckdb.from_arrow}
    return made[library](table) if library in made else table


def converted(library: str, data: Any, cast: str) -> Any:
    """The data with the times `ts` that a cast makes."""
    known = {"table": data, "frame": data, "pyarrow": pyarrow, "pandas": pandas, "pl": pl}
    if library == "duckdb":
        return data.project(f"*, {cast} AS ts")
    made = eval(cast, known)
    if library == "polars":
        return data.with_columns(made.alias("ts"))
    return data.assign(ts=made) if library == "pandas" else data.append_column("ts", made)


def times_of(made: Any) -> list[datetime]:
    """The column `ts` in UTC."""
    column = arrow(made)["ts"]
    ticks = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64()).drop_null()
    times: list[datetime] = ticks.cast(pa.timestamp("us")).to_pylist()
    return times


def sessions(made: Any) -> list[tuple[str, int]]:
    """The users and the number of their records."""
    result = arrow(wr.group_by(made, "user", time="ts").windowed_by(GAP).count())
    return sorted(zip(result["user"].to_pylist(), result["count"].to_pylist(), strict=True))


LIBRARIES = ["pyarrow", "polars", "pandas", "duckdb"]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_time_of_another_type_names_the_cast_and_the_cast_works(library: str, case: str) -> None:
    values, times = CASES[case]
    data = of_library(library, pa.table({"user": USERS, "at": values}))
    made = converted(library, data, cast_of(data, "at"))
    assert times_of(made) == times
    assert sessions(made) == [("ann", 2), ("bob", 1)]


@pytest.mark.parametrize("zone", ["", "Z", "+02:00"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_text_with_nanoseconds_keeps_them(library: str, zone: str) -> None:
    texts = [f"2026-01-31 08:00:00.5{zone}", f"2026-01-31 08:01:00.123456789{zone}", f"2026-01-31 08:30:00{zone}"]
    data = of_library(library, pa.table({"user": USERS, "at": texts}))
    made = converted(library, data, cast_of(data, "at"))
    assert sessions(made) == [("ann", 2), ("bob", 1)]
    ticks = arrow(made)["ts"].cast(pa.int64()).to_pylist()
    eight = datetime(2026, 1, 31, 6 if zone.startswith("+") else 8, tzinfo=UTC)
    after = [500_000_000, 60_123_456_789, 1_800_000_000_000]
    assert ticks == [int(eight.timestamp()) * 10**9 + nanoseconds for nanoseconds in after]


@pytest.mark.parametrize("library", LIBRARIES)
def test_values_without_a_time_stay_without_one(library: str) -> None:
    texts = pa.table({"user": USERS, "at": [None, *written("%Y%m%dT%H%M%SZ")[1:]]})
    floats = pa.table({"user": USERS, "at": [float("nan"), *UTC_SECONDS[1:]]})
    for table, times in ((texts, WHOLE[1:]), (floats, TIMES[1:])):
        data = of_library(library, table)
        made = converted(library, data, cast_of(data, "at"))
        assert times_of(made) == times
        with pytest.warns(wr.LeftOut, match="null_times 1"):
            assert sessions(made) == [("ann", 1), ("bob", 1)]


@pytest.mark.parametrize("kind", [pa.time64("us"), pa.time64("ns"), pa.time32("s"), pa.time32("ms")], ids=str)
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_time_of_day_is_added_to_its_date(library: str, kind: pa.DataType) -> None:
    of_day = pa.array([at.time() for at in WHOLE], pa.time64("us")).cast(kind)
    table = pa.table({"user": USERS, "at": of_day, "day": pa.array(DAYS).cast(pa.date32())})
    data = of_library(library, table)
    made = converted(library, data, cast_of(data, "at"))
    assert times_of(made) == [datetime.combine(day, at.time()) for day, at in zip(DAYS, WHOLE, strict=True)]
    assert sessions(made) == [("ann", 2), ("bob", 1)]
    alone = of_library(library, table.drop_columns(["day"]))
    named = cast_of(alone, "at").removeprefix("a time of day needs a date: ").removesuffix(", with a column of dates")
    dated = converted(library, of_library(library, table.rename_columns({"day": "date"})), named)
    assert times_of(dated) == times_of(made)


@pytest.mark.parametrize("frequency", ["M", "D", "h", "min"])
def test_a_period_of_pandas_begins_at_a_time(frequency: str) -> None:
    frame = pd.DataFrame({"user": USERS, "month": pd.PeriodIndex(WHOLE, freq=frequency)})
    cast = cast_of(frame, "month")
    assert cast == "frame['month'].dt.to_timestamp()"
    begins = {"M": datetime(2026, 1, 1), "D": DAYS[0], "h": EIGHT, "min": EIGHT}
    assert times_of(converted("pandas", frame, cast))[0] == begins[frequency]


RUNS: dict[str, pa.Array[Any]] = {
    "times": pa.array(TIMES, pa.timestamp("us")),
    "zoned times": pa.array(TIMES, pa.timestamp("ns", "UTC")),
    "text": pa.array([at.isoformat() for at in TIMES]),
    "microseconds": pa.array(TICKS),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_cast_makes_times_of_runs(name: str) -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3], pa.int32()), RUNS[name])
    data = pa.table({"user": USERS, "at": runs})
    made = converted("pyarrow", data, cast_of(data, "at"))
    assert times_of(made) == TIMES
    assert sessions(made) == [("ann", 2), ("bob", 1)]


@pytest.mark.parametrize("library", ["pyarrow", "pandas"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Madrid"])
@pytest.mark.parametrize("unit", ["us", "ns"])
def test_a_cast_makes_times_of_categories_of_times(library: str, zone: str | None, unit: str) -> None:
    times = pa.array(TICKS).cast(pa.timestamp("us", zone)).cast(pa.timestamp(unit, zone))
    data: Any = pa.table({"user": USERS, "at": times.dictionary_encode()})
    if library == "pandas":
        data = pd.DataFrame({"user": USERS, "at": pd.Categorical(times.to_pandas())})
    assert times_of(converted(library, data, cast_of(data, "at"))) == TIMES


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    ("values", "times"),
    [
        (["0001-01-01 00:00:00", "9999-12-31", None], [datetime(1, 1, 1), datetime(9999, 12, 31)]),
        (["1600-02-29T10:00:00.5Z", "9999-12-31T00:00:00+01:00"], [datetime(1600, 2, 29, 10, 0, 0, 500000)]),
        ([date(1600, 2, 29), date(9999, 12, 31), None], [datetime(1600, 2, 29), datetime(9999, 12, 31)]),
        ([32503680000, -32503680000], [datetime(3000, 1, 1), datetime(940, 1, 1)]),
    ],
    ids=["text", "zoned text", "dates", "seconds"],
)
def test_a_cast_makes_times_of_far_years(library: str, values: list[Any], times: list[datetime]) -> None:
    data = of_library(library, pa.table({"user": USERS[: len(values)], "at": values}))
    assert times_of(converted(library, data, cast_of(data, "at")))[: len(times)] == times


def test_the_cast_of_text_gives_one_unit_whatever_its_digits() -> None:
    units = set()
    for texts in (["2026-05-04 23:50:00"], ["2026-05-04 23:50:00.5"], ["2026-05-04"], ["20260504"], ["05/04/2026"]):
        frame = pd.DataFrame({"user": ["ann"], "at": texts})
        cast = cast_of(frame, "at")
        assert cast.endswith('.dt.as_unit("us")')
        units.add(str(converted("pandas", frame, cast)["ts"].dtype))
    assert units == {"datetime64[us]"}


def test_the_cast_of_a_number_is_chosen_by_its_size() -> None:
    for name, unit in {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}.items():
        with pytest.raises(TypeError, match=rf'timestamp\("{name}"\)\) if it counts {unit} since 1970$'):
            wr.group_by(pa.table({"user": USERS, "at": CASES[name][0]}), "user", time="at")
    bounds = {10**11 - 1: "seconds", 10**11: "milliseconds", 10**14 - 1: "milliseconds", -(10**14): "microseconds"}
    for number, unit in bounds.items():
        with pytest.raises(TypeError, match=f"if it counts {unit} since 1970$"):
            wr.group_by(pa.table({"user": [1], "t": [number]}), "user", time="t")
    for library in LIBRARIES:
        with pytest.raises(TypeError, match="with or without a zone$"):
            wr.group_by(of_library(library, pa.table({"t": pa.array([2**63], pa.uint64())})), time="t")


def test_casts_of_unread_data_are_offered_by_what_it_may_hold() -> None:
    unread = pa.table({"user": USERS, "s": CASES["s"][0], "text": CASES["us date"][0]}).to_reader()
    with pytest.raises(TypeError, match="seconds since 1970, or .* milliseconds .*, or .* nanoseconds since 1970$"):
        wr.group_by(unread, "user", time="s")
    kinds = ["ISO 8601 with `-` and `:`", "'01/31/2026 5:00 PM'", "'20260131T170000Z'"]
    for chosen, name in enumerate(("text", "us date", "compact in UTC")):
        values, times = CASES[name]
        table = pa.table({"user": USERS, "text": values})
        casts = cast_of(table.to_reader(), "text").split(", or ")
        assert [cast.partition(" of ")[2] for cast in casts] == kinds
        assert times_of(converted("pyarrow", table, casts[chosen].partition(" of ")[0])) == times
    assert unread.read_all().num_rows == 3


@pytest.mark.parametrize("form", ["{}/{}/2026 08:00", "{}/{}/2026", "{}-{}-2026", "{}/{}/26", "{}/{}/2026 8:00 AM"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_the_month_or_the_day_is_first_if_all_texts_fit_both(library: str, form: str) -> None:
    for first, second in ((4, 12), (4, 13), (13, 4)):
        texts = [form.format("01", "02"), form.format(f"{first:02}", f"{second:02}")]
        data = of_library(library, pa.table({"user": ["ann", "ann"], "at": texts}))
        with pytest.raises(TypeError, match="a timestamp, with or without a zone: ") as raised:
            wr.group_by(data, "user", time="at")
        casts = [each.split(" if the ") for each in str(raised.value).partition("a zone: ")[2].split(", or ")]
        days = [(at.month, at.day) for at in (times_of(converted(library, data, cast[0]))[1] for cast in casts)]
        assert days == [(month, day) for month, day in ((first, second), (second, first)) if month <= 12]
        assert [cast[1:] for cast in casts] == ([["month is first"], ["day is first"]] if len(casts) == 2 else [[]])


@pytest.mark.parametrize("dtype", ["int64[pyarrow]", "Int64", "UInt64", "object", "string"])
def test_integers_and_their_text_keep_all_digits_beside_a_null(dtype: str) -> None:
    nanoseconds = [at * 1000 + 789 for at in TICKS[:2]]
    values = [*map(str, nanoseconds), None] if dtype in ("object", "string") else [*nanoseconds, None]
    frame = pd.DataFrame({"user": USERS, "at": pd.Series(values, dtype=dtype)})
    made = converted("pandas", frame, cast_of(frame, "at"))["ts"]
    assert [at.value for at in made.dropna()] == nanoseconds


def test_text_without_a_known_format_is_shown() -> None:
    for odd in ("half past eight", "2026-W19-1", "2026-01-31 08:00:00,5", "31/Jan/2026 at 8", "1769846400"):
        shown = re.escape(f"windrow knows no format that all texts have, such as {odd!r}; pyarrow.compute.strptime(")
        with pytest.raises(TypeError, match=f'{shown}.*"...", unit="us".'):
            wr.group_by(pa.table({"user": ["ann", "ann"], "t": ["2026-01-31", odd]}), "user", time="t")
    uuids = duckdb.sql("SELECT '6c1ff4e5-3f0b-4a94-9c1e-0d3c7e1c2a5b'::UUID AS t")
    mixed = pa.table({"t": ["01/31/2026", "31/01/2026"]})
    partly = pa.table({"t": ["2026-01-31 08:00", "2026-01-31 08:00Z"]})
    for data, said in (
        (uuids, "no format that all texts have, such as '6c1ff4e5-.*'; strptime"),
        (mixed, "no format that all texts have, such as '01/31/2026'; pyarrow"),
        (partly, "offset from UTC in all rows or in none; it has '.*Z' and '2026-01-31 08:00'$"),
    ):
        with pytest.raises(TypeError, match=said):
            wr.group_by(data, time="t")


@pytest.mark.parametrize("values", [[True], [timedelta(hours=9)], [{"a": 1}], [[1]], [b"x"]], ids=repr)
def test_a_time_that_no_cast_makes_names_none(values: list[Any]) -> None:
    with pytest.raises(TypeError, match="a timestamp, with or without a zone$"):
        wr.group_by(pa.table({"user": [1], "t": values}), "user", time="t")


@pytest.mark.parametrize("library", ["pyarrow", "polars", "duckdb"])
def test_the_cast_of_a_time_of_day_keeps_its_nanoseconds(library: str) -> None:
    table = pa.table({"at": pa.array([9, None], pa.time64("ns")), "day": pa.array(DAYS[:2]).cast(pa.date32())})
    table = table.append_column("user", pa.array(USERS[:2]))
    data = of_library(library, table)
    made = arrow(converted(library, data, cast_of(data, "at")))["ts"]
    assert made.type == pa.timestamp("ns")
    assert made.cast(pa.int64()).to_pylist() == [int(DAYS[0].replace(tzinfo=UTC).timestamp()) * 10**9 + 9, None]


def test_a_time_of_day_beside_other_columns_names_the_first_date() -> None:
    rows = {"user": ["ann"], "at": [time(9)], "when": [EIGHT], "day": [date(2026, 1, 31)], "due": [date(2026, 2, 1)]}
    with pytest.raises(TypeError, match=r"pl\.col\('day'\)\.dt\.combine\(pl\.col\('at'\), \"ns\"\)$"):
        wr.group_by(pl.DataFrame(rows), "user", time="at")


STRUCTS = [{"at": at.isoformat(), "n": round(at.replace(tzinfo=UTC).timestamp()), "a gap": 90.5} for at in WHOLE]


@pytest.mark.parametrize("name", ["s.at", "s.n", "s.a gap"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_the_cast_of_a_field_of_a_struct_is_an_expression_that_works(library: str, name: str) -> None:
    data = of_library(library, pa.table({"user": USERS, "ts": WHOLE, "s": STRUCTS}))
    windows = wr.SessionWindows.with_dynamic_gap(name) if name == "s.a gap" else GAP
    with pytest.raises(TypeError, match="has type .*; allowed: ") as raised:
        wr.group_by(data, "user", time="ts" if name == "s.a gap" else name).windowed_by(windows)
    cast = str(raised.value).partition("; allowed: ")[2].partition(": ")[2].partition(" if it counts ")[0]
    made = duckdb.SQLExpression(cast) if library == "duckdb" else eval(cast, {"pyarrow": pyarrow, "pl": pl})
    time, windows = ("ts", wr.SessionWindows.with_dynamic_gap(made)) if name == "s.a gap" else (made, GAP)
    result = arrow(wr.group_by(data, "user", time=time).windowed_by(windows).count()).sort_by("user")
    assert result["count"].to_pylist() == [2, 1]


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_cast_of_an_expression_works_on_this_expression(library: str) -> None:
    data = of_library(library, pa.table({"user": USERS, "t": [f" {at.isoformat()} " for at in WHOLE]}))
    trimmed: Any = {"polars": pl.col("t").str.strip_chars(), "duckdb": duckdb.SQLExpression("trim(t)")}
    expression = trimmed.get(library, pyarrow.compute.utf8_trim_whitespace(pyarrow.compute.field("t")))
    with pytest.raises(TypeError, match="^time: column .* has type (large_)?string.*; allowed: a timestamp") as raised:
        wr.group_by(data, "user", time=expression)
    _, _, cast = str(raised.value).partition("a timestamp, with or without a zone: ")
    cast, is_named, _ = cast.partition("; expression is the one that you gave")
    assert bool(is_named) == (library != "duckdb")
    known = {"pyarrow": pyarrow, "expression": expression}
    made = duckdb.SQLExpression(cast) if library == "duckdb" else eval(cast, known)
    result = arrow(wr.group_by(data, "user", time=made).windowed_by(GAP).count()).sort_by("user")
    assert result["count"].to_pylist() == [2, 1]


@pytest.mark.parametrize(
    "form", ["%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y%m%dT%H%M%S", "%m/%d/%Y %H:%M", "%Y%m%d"]
)
@pytest.mark.parametrize("empty", ["", "  ", "NULL", " NaT", "n/a", "-"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_empty_text_among_times_is_no_time(library: str, empty: str, form: str) -> None:
    times = [datetime.strptime(text, form) for text in written(form)[:2]]
    texts = pa.array([empty, *written(form)[:2], None])
    for values in (texts, texts.dictionary_encode()):
        data = of_library(library, pa.table({"user": ["ann"] * 4, "at": values}))
        made = converted(library, data, cast_of(data, "at"))
        assert times_of(made) == times
        with pytest.warns(wr.LeftOut, match="null_times 2"):
            assert sum(count for _, count in sessions(made)) == 2


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_infinite_number_or_an_empty_text_far_below_is_seen(library: str) -> None:
    odd = {"number": [*[1e9] * 5_000, float("inf")], "text": [*["2026-01-31"] * 5_000, ""]}
    data = of_library(library, pa.table({"user": ["ann"] * 5_001, **odd}))
    for column in odd:
        assert len(times_of(converted(library, data, cast_of(data, column)))) == 5_000


def test_the_cast_of_an_index_or_of_a_label_that_is_no_text_works() -> None:
    texts = written("%Y-%m-%d %H:%M:%S")
    frame = pd.DataFrame({"user": USERS, 7: texts}, index=pd.Index(texts, name="at"))
    for column in ("at", "7"):
        assert sessions(converted("pandas", frame, cast_of(frame, column))) == [("ann", 2), ("bob", 1)]
