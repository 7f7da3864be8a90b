"""Times keep their instants with PYARROW_IGNORE_TIMEZONE. Up to PySpark 4.1 an import of `pyspark.pandas` sets it."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyspark.sql import Row

import windrow as wr
from windrow import state
from windrow._arguments.instant import ticks
from windrow.testing import StreamDriver

from ..harness.tables import arrow

YORK = ZoneInfo("America/New_York")
TOKYO = timezone(timedelta(hours=9))
KIND = pa.timestamp("us", "America/New_York")
EIGHT = datetime(2026, 3, 4, 8, tzinfo=YORK)
TIMES = [EIGHT, EIGHT + timedelta(minutes=4), EIGHT + timedelta(minutes=30)]
TICKS = [int(each.timestamp()) * 1_000_000 for each in TIMES]
WINDOWS = wr.SessionWindows.with_gap("5 minutes", grace="0 seconds")


@pytest.fixture(params=["ignored", "not ignored"], autouse=True)
def zones(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether `pa.array` ignores the offsets of times."""
    monkeypatch.delenv("PYARROW_IGNORE_TIMEZONE", raising=False)
    if request.param == "ignored":
        monkeypatch.setenv("PYARROW_IGNORE_TIMEZONE", "1")
    made: Any = pa.array([EIGHT], KIND).cast(pa.int64())
    assert (made[0].as_py() == TICKS[0]) is (request.param == "not ignored")


def data() -> pa.Table:
    at = pa.array(TICKS, pa.int64()).cast(KIND)
    return pa.table({"user": ["ann"] * 3, "ts": at, "x": pa.array([1.0, 2.0**-24, 2.0**-24], pa.float32())})


def windowed(table: pa.Table, *keys: str) -> wr.WindowedData[Any]:
    return wr.group_by(table, *(keys or ("user",)), time="ts").windowed_by(WINDOWS)


def test_a_function_returns_the_time_that_it_was_given() -> None:
    assert windowed(data()).agg(last=wr.reduce("ts", max))["last"].to_pylist() == [TIMES[1], TIMES[2]]


@pytest.mark.parametrize("zone", [UTC, TOKYO, YORK])
def test_a_function_returns_a_time_of_any_zone(zone: Any) -> None:
    def add(held: dict[str, Any], row: Any) -> dict[str, Any]:
        seen.extend(each.tzinfo for each in held["seen"])
        return {"seen": [*held["seen"], row.ts.astimezone(zone)], "x": held["x"] + row.x}

    def merge(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
        return {"seen": one["seen"] + other["seen"], "x": one["x"] + other["x"]}

    for x in (pa.float64(), pa.float32()):  # the accumulator of a float32 is rounded after each record
        seen = list[Any]()
        schema = pa.struct([("seen", pa.list_(KIND)), ("x", x)])
        made = wr.aggregate(lambda: {"seen": [], "x": 0.0}, add, merge, schema=schema, columns=["ts", "x"])
        held = windowed(data()).agg(a=made)["a"].to_pylist()
        assert [each["seen"] for each in held] == [TIMES[:2], TIMES[2:]]
        assert held[0]["x"] == (1.0 if x == pa.float32() else 1 + 2.0**-24)
        assert seen == [YORK if x == pa.float32() else zone]  # as from a page


@pytest.mark.parametrize("zone", [UTC, TOKYO, YORK])
def test_explain_finds_a_time_of_any_zone(zone: Any) -> None:
    text = wr.explain_record(windowed(data()), "ann", TIMES[1].astimezone(zone))
    assert text.splitlines()[0].startswith("user 'ann' at 2026-03-04 08:04:00")


@pytest.mark.parametrize("zone", [UTC, TOKYO, YORK])
def test_a_driver_takes_a_time_of_any_zone(zone: Any) -> None:
    schema = pa.schema([("user", pa.string()), ("ts", KIND)])
    driver = StreamDriver(lambda rows: windowed(rows).count(), schema)
    driver.pipe(user="ann", ts=TIMES[1].astimezone(zone))
    assert driver.stream_time == TIMES[1]
    (final,) = driver.tick((TIMES[1] + timedelta(minutes=6)).astimezone(zone))
    assert (final.window.start, final.window.end) == (TIMES[1], TIMES[1])


@pytest.mark.parametrize("zone", [UTC, TOKYO, YORK])
def test_keys_that_are_times_are_found(zone: Any) -> None:
    table = data().append_column("born", data()["ts"])
    opened = windowed(table, "born").advance(None, to=EIGHT, n=wr.count()).still_open
    without = state.without_keys(opened, born=[TIMES[0].astimezone(zone), TIMES[2].astimezone(zone)])
    assert [each for each in without["born"].to_pylist() if each] == [TIMES[1]]
    without = state.without_keys(opened, born=TIMES[1].astimezone(zone))
    assert [each for each in without["born"].to_pylist() if each] == [TIMES[0], TIMES[2]]


NULLS = [None, pd.NaT, pd.NA, np.datetime64("NaT"), np.datetime64("NaT", "us")]
BARE = EIGHT.replace(tzinfo=None)
AT_EIGHT: Any = pa.array([TICKS[0], None], pa.int64()).cast(KIND)
FRAMES: dict[str, Any] = {
    "pyarrow": lambda table: table,
    "pandas": lambda table: table.to_pandas(),
    "Polars": pl.from_arrow,
}


def keyed(keys: Any) -> pa.Table:
    """The open windows of some keys, the first with one record, the next with two, and so on."""
    rows = pa.array([place for place in range(len(keys)) for _ in range(place + 1)])
    ts: Any = pa.array([TICKS[0]] * len(rows), pa.int64())
    table = pa.table({"at": keys.take(rows), "id": rows, "ts": ts.cast(KIND)})
    return windowed(table, "at", "id").advance(None, to="2026-03-04 08:00", n=wr.count()).still_open


def left(opened: Any, at: Any) -> list[int]:
    """How many records the windows have that are left without a key."""
    rows = arrow(state.without_keys(opened, at=at)).to_pylist()
    return sorted(row["n"] for row in rows if row["n"] is not None and row["n"] == row["n"])


@pytest.mark.parametrize("name", FRAMES)
def test_nulls_of_pandas_are_null_keys_and_a_bare_time_is_in_the_zone_of_the_column(name: str) -> None:
    opened = FRAMES[name](keyed(AT_EIGHT))
    for null in NULLS:
        assert left(opened, null) == [1]
        assert left(opened, [null, BARE]) == []
    bare = [BARE, pd.Timestamp(BARE), np.datetime64(BARE), np.datetime64(BARE, "ns"), "2026-03-04 08:00"]
    for time in (*bare, EIGHT, EIGHT.astimezone(UTC), pd.Timestamp(EIGHT), "2026-03-04T13:00Z"):
        assert left(opened, time) == [2]
    for other in (BARE - timedelta(microseconds=1), BARE + timedelta(hours=5), date(2026, 3, 4)):
        assert left(opened, other) == [1, 2]
    assert state.clock(state.with_clock(opened, BARE)) == state.clock(state.with_clock(opened, EIGHT))


def test_parts_of_keys_are_read_in_the_same_way() -> None:
    structs = keyed(pa.StructArray.from_arrays([AT_EIGHT], names=["t"]))
    assert [left(structs, {"t": time}) for time in (BARE, pd.NaT, EIGHT)] == [[2], [1], [2]]
    assert left(structs, [Row(t=pd.NaT), Row(t=BARE)]) == []
    lists = keyed(pa.ListArray.from_arrays(pa.array([0, 1, 2]), AT_EIGHT))
    assert [left(lists, [[time]]) for time in (BARE, pd.NaT, EIGHT)] == [[2], [1], [2]]


@pytest.mark.parametrize("kind", [pa.date32(), pa.time64("us"), pa.duration("us"), pa.string(), pa.float64()])
def test_a_null_of_pandas_is_null_for_each_type(kind: Any) -> None:
    value: Any = pa.array([0], pa.int64() if kind != pa.date32() else pa.int32()).cast(kind)
    opened = keyed(pa.concat_arrays([value, pa.nulls(1, kind)]))
    for null in NULLS:
        assert left(opened, null) == [1]


def test_nanoseconds_of_pandas_count() -> None:
    time = pd.Timestamp("2026-03-04 08:00:00.000000001")
    opened = keyed(pa.array([time.value], pa.int64()).cast(pa.timestamp("ns")))
    assert (left(opened, time), left(opened, BARE)) == ([], [1])
    zoned = keyed(pa.array([time.tz_localize(YORK).value], pa.int64()).cast(pa.timestamp("ns", "America/New_York")))
    assert (left(zoned, time), left(zoned, BARE)) == ([], [1])
    field = pa.field("ts", pa.timestamp("ns", "America/New_York"))
    assert ticks("to", time, field) == TICKS[0] * 1_000 + 1
    with pytest.raises(ValueError, match="to: got Timestamp.*; allowed: a time in whole us, the unit of the column"):
        ticks("to", time, field.with_type(KIND))


@pytest.mark.parametrize(
    ("time", "error", "says"),
    [
        (5, TypeError, "keys: at: got 5, an int; allowed: a datetime, a date, or text"),
        ("noon", ValueError, "keys: at: got 'noon'; allowed: a datetime, a date, or text"),
        ("2026-11-01 01:30", ValueError, "keys: at: got .*; allowed: a time that occurs once in America/New_York"),
        (datetime.max, ValueError, "keys: at: got .*; allowed: a time of the years 1 to 9999 in UTC"),
    ],
)
def test_a_key_that_is_no_time_is_named(time: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        state.without_keys(keyed(AT_EIGHT), at=time)


def test_a_time_with_a_zone_is_no_key_of_a_column_without_one() -> None:
    opened = keyed(AT_EIGHT.cast(pa.timestamp("us")))
    with pytest.raises(ValueError, match="keys: at: got .*; allowed: a time without a zone, as the column 'at' has"):
        state.without_keys(opened, at=EIGHT)


FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("time", "fits"),
    [
        (FIRST, True),
        (datetime.min.replace(tzinfo=timezone(timedelta(minutes=1))), False),
        (datetime.min.replace(tzinfo=timezone(timedelta(minutes=-1))), True),
        (LAST, True),
        (datetime.max.replace(tzinfo=timezone(timedelta(minutes=-1))), False),
        (datetime.max.replace(tzinfo=timezone(timedelta(minutes=1))), True),
    ],
)
def test_a_time_must_have_a_year_of_python_in_utc(time: datetime, fits: bool) -> None:
    def asked() -> Any:
        kind = pa.timestamp("us", "UTC")
        made = wr.aggregate(lambda: None, lambda _held, _row: time, lambda _one, other: other, schema=kind)
        return windowed(data().slice(2)).agg(a=made)["a"].to_pylist()

    if fits:
        assert asked() == [time]
    else:
        with pytest.raises(RuntimeError, match="a datetime of the years 1 to 9999 in UTC"):
            asked()
