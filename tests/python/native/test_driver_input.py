"""What a driver gets: values go over as they are, or are refused by name before anything is taken."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import StreamDriver

NOON = datetime(2026, 1, 1, 12)
ZONED = pa.timestamp("ms", "Europe/Berlin")
SESSIONS = wr.SessionWindows.with_gap("5 minutes", grace="1 minute")
FIELDS: list[tuple[str, pa.DataType]] = [
    ("user", pa.string()),
    ("ts", pa.timestamp("ms")),
    ("amount", pa.int8()),
    ("spans", pa.list_(pa.duration("s"))),
]
SCHEMA = pa.schema(FIELDS)
ROW: dict[str, Any] = {"user": "ann", "ts": NOON, "amount": 1, "spans": []}


def sessions(data: Any) -> Any:
    grouped = wr.group_by(data, "user", time="ts").windowed_by(SESSIONS)
    return grouped.agg(n=wr.count(), spent=wr.sum("amount"), spans=wr.last("spans"))


def with_ts(kind: pa.DataType) -> StreamDriver:
    schema = SCHEMA.set(1, pa.field("ts", kind))
    return StreamDriver(sessions, schema)


def naive() -> StreamDriver:
    return StreamDriver(sessions, SCHEMA)


def table(**columns: pa.Array[Any]) -> pa.Table:
    """One row that fits, in other columns."""
    plain = {field.name: pa.array([ROW[field.name]], field.type) for field in SCHEMA}
    return pa.table(plain | columns)


FINE = NOON + timedelta(microseconds=999)
EAST = NOON.replace(tzinfo=UTC)
LONG_ZONE = timezone(timedelta(hours=-7), "the zone of a name that is long")
FRAME = {"frame": pd.DataFrame({"a": range(2)}), "more": "x" * 120}
NO_ZONE, ZONE = "allowed: a datetime without a zone", "allowed: a datetime with a zone"
CELLS: list[tuple[str, Any, type[Exception], str]] = [
    ("ts", FINE, ValueError, ": got .*; allowed: .* in whole ms"),
    ("ts", 5, TypeError, ": got 5, an int; allowed: a datetime"),
    ("ts", EAST, ValueError, f": got .*; {NO_ZONE}"),
    ("user", 7, TypeError, ": got 7, an int; allowed: a str"),
    ("user", "\ud800", ValueError, r": got '\\ud800'; allowed: a value of"),
    ("amount", 1.5, TypeError, ": got 1.5, a float; allowed: an int"),
    ("amount", 128, ValueError, ": got 128; allowed: an int from -128"),
    ("spans", [5], TypeError, r"\[0\]: got 5, an int; allowed: a time"),
]


@pytest.mark.parametrize(("name", "value", "kind", "message"), CELLS)
def test_a_value_of_a_record_that_does_not_fit_is_named(
    name: str, value: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=f"record: column '{name}'{message}"):
        naive().pipe(**(ROW | {name: value}))


LIST = r"got \[datetime.datetime\(2026, .* and 3\d,\d{3} more characters, a list; allowed: a datetime"
TICKS: list[tuple[Any, type[Exception], str]] = [
    (FINE, ValueError, "got .*; allowed: .* in whole ms"),
    (5, TypeError, "got 5, an int; allowed: a datetime without"),
    ("12:00", TypeError, "got '12:00', a str; allowed: a datetime"),
    (EAST, ValueError, f"got .*; {NO_ZONE}"),
    (FINE.replace(tzinfo=LONG_ZONE), ValueError, rf"got 2026-\d\d-\d\d \d\d:00:00.000999-07:00; {NO_ZONE}"),
    ([NOON] * 1_000, TypeError, LIST),
    (FRAME, TypeError, "got a dict; allowed: a datetime"),
]


@pytest.mark.parametrize(("time", "kind", "message"), TICKS, ids=[message for *_, message in TICKS])
def test_a_time_of_a_tick_that_does_not_fit_is_named(time: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^time: {message}"):
        naive().tick(time)


def test_times_of_a_column_with_a_zone_or_of_nanoseconds_have_theirs() -> None:
    with pytest.raises(ValueError, match=f"record: column 'ts': got .*; {ZONE}"):
        with_ts(ZONED).pipe(**ROW)
    with pytest.raises(ValueError, match=f"time: got .*; {ZONE}"):
        with_ts(ZONED).tick(NOON)
    with pytest.raises(ValueError, match="time: got datetime.datetime.9999, .*; allowed: a value of timestamp.ns."):
        with_ts(pa.timestamp("ns")).tick(datetime(9999, 1, 1))
    with pytest.raises(
        TypeError, match=r"has type timestamp\[ms\]; allowed: timestamp\[ms, tz=Europe/Berlin\], the decl"
    ):
        with_ts(ZONED).pipe_batch(table())


ONE_OR_MORE, WHOLE = "allowed: one row or more in a batch", "allowed: a whole number"
CUTS: list[tuple[Any, int, type[Exception], str]] = [
    (0, 3, ValueError, f"got 0; {ONE_OR_MORE}"),
    ([2, -1], 3, ValueError, f"got -1; {ONE_OR_MORE}"),
    (-1, 0, ValueError, f"got -1; {ONE_OR_MORE}"),
    (2.5, 3, TypeError, f"got 2.5, a float; {WHOLE}"),
    ([1, 2.5], 3, TypeError, f"got 2.5, a float; {WHOLE}"),
    ("ab", 3, TypeError, f"got 'ab', a str; {WHOLE}"),
    (True, 3, TypeError, f"got True, a bool; {WHOLE}"),
]


@pytest.mark.parametrize(("rows", "count", "kind", "message"), CUTS)
def test_lengths_of_batches_that_cannot_be_are_named_before_any_is_taken(
    rows: Any, count: int, kind: type[Exception], message: str
) -> None:
    driver = naive()
    with pytest.raises(kind, match=f"^rows: {message}"):
        driver.pipe_batch(pa.concat_tables([SCHEMA.empty_table(), *[table()] * count]), rows=rows)
    assert driver.counters["records"] == 0


COLUMNS: list[tuple[str, pa.Array[Any], type[Exception], str]] = [
    ("ts", pa.array([5]), TypeError, "has type int64; allowed: timestamp.ms., the declared type"),
    ("ts", pa.array(["2026-01-01"]), TypeError, "has type string; all"),
    ("ts", pa.array([NOON.date()]), TypeError, "has type date32"),
    ("ts", pa.array([EAST]), TypeError, "has type timestamp.us, tz="),
    ("ts", pa.array([FINE]), ValueError, "has values that timest"),
    ("user", pa.array([7]), TypeError, "has type int64; allowed: s"),
    ("amount", pa.array([128]), ValueError, "has values t"),
    ("amount", pa.array([0.5]), ValueError, "has values that int8 does"),
    ("amount", pa.array([True]), TypeError, "has type bool"),
]


@pytest.mark.parametrize(("name", "values", "kind", "message"), COLUMNS)
def test_a_column_that_does_not_fit_is_named(
    name: str, values: pa.Array[Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=f"data: column '{name}' {message}"):
        naive().pipe_batch(table(**{name: values}))


def test_what_is_no_name_or_twice_there_is_named() -> None:
    with pytest.raises(TypeError, match="value: got 5, an int; allowed: th"):
        StreamDriver(sessions, SCHEMA, value=5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"input: got \['a'\]; allowed: none"):
        naive().pipe(["a"])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="data: got 'user'; allowed: a name that only one column has; 2 columns"):
        naive().pipe_batch(table().append_column("user", pa.array(["bob"])))


def test_a_record_goes_over_as_it_is() -> None:
    driver = naive()
    exact = NOON + timedelta(milliseconds=999)
    driver.pipe(user="ann", ts=exact, amount=np.int8(-128), spans=[timedelta(seconds=3), None])
    driver.pipe(user=None, ts=None)
    (final,) = driver.finish()
    assert final.window.start == exact
    assert final.values == {"n": 1, "spent": -128, "spans": [timedelta(seconds=3), None]}
    zoned = with_ts(ZONED)
    zoned.pipe(user="ann", ts=EAST)
    assert zoned.tick(EAST + timedelta(minutes=6)) == []
    assert zoned.stream_time == EAST + timedelta(minutes=6)
    assert naive().tick(None) == []


SAME: list[tuple[str, pa.Array[Any]]] = [
    ("user", pa.array(["ann"], pa.large_string())),
    ("user", pa.array(["ann"]).dictionary_encode()),
    ("ts", pa.array([NOON], pa.timestamp("ns"))),
    ("ts", pa.array([NOON], pa.timestamp("s"))),
    ("amount", pa.array([1.0])),
    ("spans", pa.nulls(1)),
]


@pytest.mark.parametrize(("name", "values"), SAME, ids=[f"{name} {values.type}" for name, values in SAME])
def test_columns_in_which_values_are_the_same_are_taken(name: str, values: pa.Array[Any]) -> None:
    driver = naive()
    driver.pipe_batch(table(**{name: values}))
    (final,) = driver.finish()
    assert (final.key, final.window.start, final.values["spent"]) == ({"user": "ann"}, NOON, 1)


UPDATES: list[tuple[Any, list[int]]] = [
    (itertools.repeat(2), [2, 4, 5]),
    ([3], [3, 5]),
    ([], [5]),
    (np.array([1, 3]), [1, 4, 5]),
    (5, [5]),
    (6, [5]),
    (10**30, [5]),
    ([9, -1], [5]),
]


@pytest.mark.parametrize(("rows", "updates"), UPDATES, ids=str)
def test_batches_are_cut_until_the_data_ends(rows: Any, updates: list[int]) -> None:
    def updating(data: Any) -> Any:
        return wr.group_by(data, "user", time="ts").windowed_by(SESSIONS).emit("update").agg(n=wr.count())

    changes = StreamDriver(updating, SCHEMA).pipe_batch(pa.concat_tables([table()] * 5), rows=rows)
    assert [change.values["n"] for change in changes] == updates
