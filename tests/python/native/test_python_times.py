"""Times and durations that Arrow has and Python has not: keys are found whole, or an error names column and value."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import windrow as wr
from windrow import state
from windrow.__main__ import main
from windrow.plot import timeline
from windrow.testing import StreamDriver

NINE = datetime(2026, 1, 1, 9)
COUNTS = [5_000_000_001, 5_000_000_002, 5_000_000_001]
FAR = 253_402_300_800_000_000
"""The first microsecond after the year 9999."""
ITEM = pa.struct([("at", pa.time64("ns"))])
KINDS: dict[str, tuple[pa.Array[Any], str]] = {
    "a time of day": (pa.array(COUNTS).cast(pa.time64("ns")), "00:00:05.000000001"),
    "a time": (pa.array(COUNTS).cast(pa.timestamp("ns")), "Timestamp('1970-01-01 00:00:05.000000001')"),
    "a duration": (pa.array(COUNTS).cast(pa.duration("ns")), "Timedelta('0 days 00:00:05.000000001')"),
    "a dictionary": (pa.array(COUNTS).cast(pa.time64("ns")).dictionary_encode(), "00:00:05.000000001"),
    "a struct": (pa.array([{"at": count} for count in COUNTS], ITEM), "{'at': 00:00:05.000000001}"),
    "a list": (pa.array([[count] for count in COUNTS], pa.list_(pa.time64("ns"))), "[ 00:00:05.000000001 ]"),
    "a far time": (pa.array([FAR, FAR + 1, FAR]).cast(pa.timestamp("us")), "10000-01-01 00:00:00.000000"),
    "months": (
        pa.array([pa.MonthDayNano([1, 2, last]) for last in (3, 4, 3)]),
        "MonthDayNano(months=1, days=2, nanoseconds=3)",
    ),
}
# Two records of the first key within the gap, and one of the next key between them.
TIMES = [NINE, NINE + timedelta(minutes=1), NINE + timedelta(minutes=2)]


def windowed(keys: pa.Array[Any], grace: str | None = None) -> tuple[pa.Table, Any]:
    rows = pa.table({"k": keys, "ts": pa.array(TIMES, pa.timestamp("us"))})
    return rows, wr.group_by(rows, "k", time="ts").windowed_by(wr.SessionWindows.with_gap("5 minutes", grace=grace))


@pytest.mark.parametrize("grace", [None, "1 hour"])
@pytest.mark.parametrize("case", KINDS)
def test_a_key_is_found_whole_and_no_other_with_it(case: str, grace: str | None) -> None:
    keys, shown = KINDS[case]
    rows, query = windowed(keys, grace)
    text = wr.explain_record(query, rows["k"][0], NINE)
    assert text.startswith(f"k {shown} at 2026-01-01 09:00:00")
    assert "09:02:00], which has 2 records" in text
    assert "which has 1 record\n" in wr.explain_record(query, rows["k"][1], TIMES[1])
    picture = timeline(rows, query, [rows["k"][0], rows["k"][1], rows["k"][0]])
    assert [text.get_text() for text in picture.figure.axes[0].texts].count(f"k {shown}") == 1


def test_a_key_of_numpy_is_one_of_its_type() -> None:
    keys = pa.array(COUNTS).cast(pa.timestamp("ns"))
    _, query = windowed(keys)
    assert "which has 2 records" in wr.explain_record(query, np.datetime64(COUNTS[0], "ns"), NINE)
    with pytest.raises(TypeError, match=r"key: column 'k': got .*; allowed: a value that timestamp\[us\] holds"):
        wr.explain_record(windowed(pa.array(COUNTS).cast(pa.timestamp("us")))[1], np.datetime64(1, "ns"), NINE)


@pytest.mark.parametrize(
    ("kind", "key", "allowed"),
    [
        (pa.timestamp("ms"), datetime(1970, 1, 1, microsecond=1), "a datetime without a zone, in whole ms"),
        (pa.time32("s"), time(microsecond=1), "a time, in whole s"),
        (pa.duration("s"), timedelta(microseconds=1), "a timedelta, in whole s"),
        (pa.timestamp("us", "UTC"), datetime(1970, 1, 1), "a datetime with a zone"),
    ],
    ids=str,
)
def test_a_key_that_its_column_does_not_hold_is_not_another_one(kind: pa.DataType, key: Any, allowed: str) -> None:
    rows = pa.table({"k": pa.array([0, 1, 2], pa.int32() if kind == pa.time32("s") else pa.int64()).cast(kind)})
    _, query = windowed(rows["k"].combine_chunks())
    with pytest.raises(ValueError, match=rf"key: column 'k': got .*; allowed: {allowed}"):
        wr.explain_record(query, key, NINE)
    if not pa.types.is_timestamp(kind):
        opened = query.advance(None, to=TIMES[2], n=wr.count()).still_open
        with pytest.raises(ValueError, match=rf"keys: k: got .*; allowed: {allowed}"):
            state.without_keys(opened, k=key)


def counting(windows: Any, rows: pa.Table) -> StreamDriver:
    return StreamDriver(lambda data: wr.group_by(data, "k", time="ts").windowed_by(windows).count(), rows.schema)


def test_windows_are_removed_and_found_by_a_time_of_day_in_nanoseconds() -> None:
    keys = KINDS["a time of day"][0]
    rows, query = windowed(keys, "1 hour")
    opened = query.advance(None, to=TIMES[2], n=wr.count()).still_open
    left = state.without_keys(opened, k=keys[0])
    assert [count for count in left["n"].to_pylist() if count is not None] == [1]
    driver = counting(query.windows, rows)
    assert driver.pipe(k=keys[0], ts=NINE) == driver.pipe(k=keys[1], ts=NINE) == []
    assert driver.sessions.fetch(keys[0])["k"].combine_chunks() == keys[:1]
    refused = r"column 'k': got 00:00:05.000000001; allowed: .* whole microseconds.*; or an int64, to which the column"
    for call in (lambda: driver.sessions.fetch_session(keys[0], NINE, NINE), driver.finish):
        with pytest.raises(OverflowError, match=refused):
            call()
    assert sorted(driver.read_table()["k"].cast(pa.int64()).to_pylist()) == COUNTS[:2]
    cast = rows.set_column(0, "k", rows["k"].cast(pa.int64()))
    driver = counting(query.windows, cast)
    driver.pipe_batch(cast)
    closed = sorted((change.key["k"], change.values["count"]) for change in driver.finish())
    assert closed == [(COUNTS[0], 2), (COUNTS[1], 1)]


def test_the_command_draws_a_time_of_day_in_nanoseconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(windowed(KINDS["a time of day"][0])[0], "rows.parquet")
    arguments = ["sessions", "rows.parquet", "--key", "k", "--time", "ts", "--gap", "5m", "--out", "out.csv"]
    assert main([*arguments, "--timeline", "00:00:05.000000001"]) == 0
    assert "k 00:00:05.000000001" in Path("timeline.svg").read_text()


WITHOUT_PANDAS = """
import sys
class Hidden:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == "pandas":
            raise ImportError(name)
sys.meta_path.insert(0, Hidden())
import pyarrow as pa
import windrow as wr
from windrow.testing import StreamDriver
kind = pa.{kind}("ns")
rows = pa.table({{"k": pa.array([1, 1_000]).cast(kind), "ts": pa.array([0, 1]).cast(pa.timestamp("us"))}})
windows = wr.SessionWindows.with_gap("1 hour", grace="1 hour")
print(wr.explain_record(wr.group_by(rows, "k", time="ts").windowed_by(windows), rows["k"][0], "1970-01-01"))
driver = StreamDriver(lambda data: wr.group_by(data, "k", time="ts").windowed_by(windows).count(), rows.schema)
driver.pipe_batch(rows)
try:
    driver.finish()
except OverflowError as error:
    print(error)
"""


@pytest.mark.parametrize(("kind", "shown"), [("timestamp", "1970-01-01 00:00:00.000000001"), ("duration", "1")])
def test_without_pandas_a_value_in_nanoseconds_is_shown_whole_or_named(kind: str, shown: str) -> None:
    script = WITHOUT_PANDAS.format(kind=kind)
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(f"k {shown} at 1970-01-01 00:00:00")
    last = ran.stdout.splitlines()[-1]
    assert last.startswith(f"column 'k': got {shown}; allowed: times and durations in whole microseconds")
    assert last.endswith("; or an int64, to which the column can be cast")


def test_no_rows_and_null_keys_have_no_record_of_a_key() -> None:
    keys = KINDS["a time of day"][0]
    for grace in (None, "1 hour"):
        for given in (keys.slice(0, 0), pa.nulls(3, keys.type)):
            rows = pa.table({"k": given, "ts": pa.array(TIMES[: len(given)], pa.timestamp("us"))})
            windows = wr.SessionWindows.with_gap("5 minutes", grace=grace)
            query = wr.group_by(rows, "k", time="ts").windowed_by(windows)
            with pytest.raises(ValueError, match="the time of a record of this key; it has none"):
                wr.explain_record(query, keys[0], NINE)
            with pytest.raises(ValueError, match="a key with a value that is not null"):
                wr.explain_record(query, pa.scalar(None, keys.type), NINE)


@pytest.mark.parametrize("library", [pa.table, pl.from_arrow, duckdb.from_arrow])
def test_a_hint_needs_no_times_that_python_does_not_have(library: Any) -> None:
    days = pa.array([3_000_000], pa.int32()).cast(pa.date32())  # after the year 9999
    rows = pa.table({"day": days, "far": pa.array([FAR]).cast(pa.timestamp("us")), "ts": [NINE]})
    data = rows if library is pa.table else library(rows)
    with pytest.raises(TypeError, match=re.escape("time: column 'day' has type date32[day]; allowed: a timestamp")):
        wr.group_by(data, time="day")
    with pytest.raises(TypeError, match="column: column 'far' has type timestamp.*; allowed: an? "):
        wr.group_by(data, time="ts").windowed_by(wr.SessionWindows.with_dynamic_gap("far"))


def test_an_overflow_names_a_key_that_python_does_not_have() -> None:
    keys = KINDS["a far time"][0][:1]
    rows = pa.table({"k": keys, "ts": [NINE], "x": pa.array([2**63 - 1])})
    sessions = wr.group_by(rows, "k", time="ts").windowed_by(wr.SessionWindows.with_gap("5 minutes"))
    with pytest.raises(OverflowError, match="of key 10000-01-01 00:00:00.000000"):
        sessions.agg(total=wr.sum("x") + wr.sum("x"))


def test_errors_of_a_run_name_times_and_keys_that_python_does_not_have() -> None:
    rows = pa.table({"k": KINDS["a time of day"][0][:1], "ts": pa.array([FAR]).cast(pa.timestamp("us")), "n": [1]})
    windows = wr.SessionWindows.with_gap("1 hour", max_duration="1 day")
    day = wr.group_by(rows, "k", time="ts").windowed_by(windows)
    with pytest.raises(ValueError, match="the record of k = 00:00:05.000000001 at 10000-01-01 00:00:00.000000 is not "):
        day.advance(None, to="9999-12-31", n=wr.count())
    open_rows = windowed(KINDS["a time of day"][0])[1].advance(None, to=TIMES[2], n=wr.count()).still_open
    more = pc.add(open_rows["n"], 1)
    changed = open_rows.set_column(open_rows.column_names.index("n"), "n", more)
    said = r"open: the row of k = 00:00:05.00000000\d: 'n' is \d, and its `state` has \d:"
    with pytest.raises(ValueError, match=said):
        windowed(KINDS["a time of day"][0])[1].advance(changed, to=TIMES[2], n=wr.count())


# What a Python function or a driver gets

LIMITS: dict[str, tuple[pa.DataType, int, int, str]] = {
    "a time": (pa.timestamp("us"), FAR - 1, FAR, "10000-01-01 00:00:00.000000"),
    "a time with a zone": (pa.timestamp("us", "UTC"), FAR - 1, FAR, "10000-01-01 00:00:00.000000Z"),
    "the earliest time": (
        pa.timestamp("us"),
        -62_135_596_800_000_000,
        -(2**63),
        "<value out of range: -9223372036854775808>",
    ),
    "a day": (pa.date32(), 2_932_896, 2_932_897, "10000-01-01"),
    "a time of day": (pa.time64("ns"), 5_000, 5_001, "00:00:00.000005001"),
    "a duration": (pa.duration("s"), 86_400 * 10**9 - 1, 86_400 * 10**9, "86400000000000"),
}
WINDOWS = wr.SessionWindows.with_gap("1 hour", grace="1 hour")


def table_of(name: str, kind: pa.DataType, value: int) -> pa.Table:
    width = pa.int32() if kind == pa.date32() else pa.int64()
    columns = {"k": pa.array([1, 1]), "ts": pa.array([0, 1], pa.int64()).cast(pa.timestamp("us"))}
    return pa.table({**columns, name: pa.array([None, value], width).cast(kind)})


def latest() -> dict[str, wr.Aggregate]:
    """Both ways into a Python function."""
    return {
        "reduce": wr.reduce("v", max),
        "aggregate": wr.aggregate(int, lambda held, row: held + 1, int.__add__, schema="bigint", columns=["v"]),
    }


@pytest.mark.parametrize("way", ["reduce", "aggregate"])
@pytest.mark.parametrize("case", LIMITS)
def test_a_function_gets_what_python_has_and_all_else_is_an_error(case: str, way: str) -> None:
    kind, fits, beyond, shown = LIMITS[case]

    def sums(value: int) -> Any:
        return wr.group_by(table_of("v", kind, value), "k", time="ts").windowed_by(WINDOWS).agg(a=latest()[way])

    assert sums(fits).num_rows == 1
    with pytest.raises(OverflowError) as raised:
        sums(beyond)
    assert f"column 'v': got {shown}; allowed: times of the years 1 to 9999" in str(raised.value)


@pytest.mark.parametrize("kind", [pa.list_(pa.time64("ns")), pa.map_(pa.string(), pa.time64("ns"))], ids=str)
def test_a_time_of_day_within_a_nested_value_is_not_cut(kind: pa.DataType) -> None:
    for value, fits in ((5_000, True), (5_001, False)):
        parts = pa.array([[("a", value)] if pa.types.is_map(kind) else [value], None], kind)
        data = table_of("v", pa.int64(), 1).set_column(2, "v", parts)
        windowed = wr.group_by(data, "k", time="ts").windowed_by(WINDOWS)
        last = {"last": wr.reduce("v", lambda _, value: value)}
        if fits:
            assert windowed.agg(**last).num_rows == 1
            continue
        with pytest.raises(OverflowError, match="column 'v': got .*00:00:00.000005001.* whole microseconds"):
            windowed.agg(**last)


def test_a_time_of_day_in_runs_is_not_cut() -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), pa.array([5_000, 5_001], pa.time64("ns")))
    last = {"last": wr.reduce("v", lambda _, value: value)}
    for column, fits in ((runs[:1], True), (runs[1:], False)):
        data = table_of("v", pa.int64(), 1).set_column(2, "v", pa.concat_arrays([column, column]))
        windowed = wr.group_by(data, "k", time="ts").windowed_by(WINDOWS)
        if fits:
            assert windowed.agg(**last)["last"].to_pylist() == [time(microsecond=5)]
            continue
        with pytest.raises(OverflowError, match="column 'v': got .*00:00:00.000005001.* whole microseconds"):
            windowed.agg(**last)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("within", ["{}", "[{}]", "{{'at': {}}}", "MAP{{'at': {}}}"])
def test_midnight_at_the_end_of_a_day_is_not_that_at_its_beginning(within: str, unit: str) -> None:
    """SQL has 24:00, and pyarrow makes 00:00 of it."""
    kind: Any = pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
    for clock, fits in (("23:59:59", True), ("24:00:00", False)):
        literal = f"TIME '{clock}'"
        whole = duckdb.sql(f"SELECT {within.format(literal)} v").to_arrow_table()["v"]
        if within == "{}" and unit != "us":
            seconds = 86_399 if fits else 86_400
            ticks = pa.array([seconds * {"s": 1, "ms": 10**3, "ns": 10**9}[unit]], pa.int64())
            whole = pa.chunked_array([ticks.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)])
        data = pa.table({"k": [1], "ts": pa.array([NINE], pa.timestamp("us")), "v": whole})
        windowed = wr.group_by(data, "k", time="ts").windowed_by(WINDOWS)
        assert windowed.agg(v=wr.first("v"))["v"].equals(whole)
        if fits:
            assert windowed.agg(v=wr.reduce("v", lambda one, other: one)).num_rows == 1
            continue
        with pytest.raises(OverflowError, match="column 'v.*: got .*; allowed: .* before 24:00"):
            windowed.agg(v=wr.reduce("v", lambda one, other: one))


def test_within_a_struct_the_error_names_the_field() -> None:
    parts = pa.StructArray.from_arrays([pa.array([0, FAR]).cast(pa.timestamp("us"))], ["at"])
    data = table_of("v", pa.int64(), 1).set_column(2, "v", parts)
    with pytest.raises(OverflowError, match="column 'v.at': got 10000-01-01 00:00:00.000000; allowed: times of"):
        wr.group_by(data, "k", time="ts").windowed_by(WINDOWS).agg(a=wr.reduce("v", lambda one, other: other))


@pytest.mark.parametrize(
    ("time", "shown"), [(FAR, "10000-01-01 00:00:00.000000"), (2**63 - 1, "<value out of range: 9223372036854775807>")]
)
def test_a_driver_reports_a_stream_time_that_python_does_not_have(time: int, shown: str) -> None:
    schema = pa.schema([("k", pa.int64()), ("ts", pa.timestamp("us"))])
    driver = StreamDriver(lambda rows: wr.group_by(rows, "k", time="ts").windowed_by(WINDOWS).count(), schema)
    assert driver.stream_time is None
    driver.pipe_batch(pa.table({"k": [1], "ts": pa.array([FAR - 1]).cast(pa.timestamp("us"))}))
    assert driver.stream_time.year == 9999
    driver.pipe_batch(pa.table({"k": [1], "ts": pa.array([time]).cast(pa.timestamp("us"))}))
    with pytest.raises(OverflowError) as raised:
        _ = driver.stream_time
    assert f"column 'ts': got {shown}" in str(raised.value)


def test_a_driver_reports_a_window_that_python_does_not_have_and_keeps_its_row() -> None:
    schema = pa.schema([("k", pa.int64()), ("ts", pa.timestamp("us"))])
    updates = wr.SessionWindows.with_gap("1 hour", grace="1 hour")
    driver = StreamDriver(
        lambda rows: wr.group_by(rows, "k", time="ts").windowed_by(updates).emit("update").count(), schema
    )
    with pytest.raises(OverflowError, match="column 'window.start': got 10000-01-01 00:00:00.000000; allowed"):
        driver.pipe_batch(pa.table({"k": [1], "ts": pa.array([FAR]).cast(pa.timestamp("us"))}))
    assert driver.read_table().num_rows == 1
    assert driver.pipe(k=2) == []
