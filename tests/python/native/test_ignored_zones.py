"""Times keep their instants with PYARROW_IGNORE_TIMEZONE. Up to PySpark 4.1 an import of `pyspark.pandas` sets it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

import windrow as wr
from windrow import state
from windrow.testing import StreamDriver

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
