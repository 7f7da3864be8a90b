"""What a driver gets: values go over as they are, or are refused by name before anything is taken."""

from __future__ import annotations

import itertools
from collections.abc import Callable
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
    return with_ts(pa.timestamp("ms"))


def pipe(**cells: Any) -> Any:
    return naive().pipe(**(ROW | cells))


def table(**columns: pa.Array[Any]) -> pa.Table:
    """One row that fits, in other columns."""
    plain = {field.name: pa.array([ROW[field.name]], field.type) for field in SCHEMA}
    return pa.table(plain | columns)


def batch(**columns: pa.Array[Any]) -> Any:
    return naive().pipe_batch(table(**columns))


def cut(rows: Any, count: int = 3) -> Any:
    return naive().pipe_batch(pa.concat_tables([SCHEMA.empty_table(), *[table()] * count]), rows=rows)


FINE = NOON + timedelta(microseconds=999)
EAST = NOON.replace(tzinfo=UTC)
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "finer than the unit": (lambda: pipe(ts=FINE), ValueError, "record: column 'ts': got .*; allowed: .* in whole ms"),
    "a tick finer than the unit": (lambda: naive().tick(FINE), ValueError, "time: got .*; allowed: .* in whole ms"),
    "a number for a time": (lambda: pipe(ts=5), TypeError, "record: column 'ts': got 5, an int; allowed: a datetime"),
    "a number for a tick": (lambda: naive().tick(5), TypeError, "time: got 5, an int; allowed: a datetime without"),
    "words for a tick": (lambda: naive().tick("12:00"), TypeError, "time: got '12:00', a str; allowed: a datetime"),
    "a zone": (lambda: pipe(ts=EAST), ValueError, "record: column 'ts': got .*; allowed: a datetime without a zone"),
    "a tick with a zone": (lambda: naive().tick(EAST), ValueError, "time: got .*; allowed: a datetime without a zone"),
    "a tick with a long zone": (
        lambda: naive().tick(FINE.replace(tzinfo=timezone(timedelta(hours=-7), "the zone of a name that is long"))),
        ValueError,
        r"time: got 2026-\d\d-\d\d \d\d:00:00.000999-07:00; allowed: a datetime without a zone",
    ),
    "a list for a tick": (
        lambda: naive().tick([NOON] * 1_000),
        TypeError,
        r"time: got \[datetime.datetime\(2026, .* and 3\d,\d{3} more characters, a list; allowed: a datetime",
    ),
    "a dict of lines for a tick": (
        lambda: naive().tick({"frame": pd.DataFrame({"a": range(2)}), "more": "x" * 120}),
        TypeError,
        "time: got a dict; allowed: a datetime",
    ),
    "no zone": (
        lambda: with_ts(ZONED).pipe(**ROW),
        ValueError,
        "record: column 'ts': got .*; allowed: a datetime with a zone",
    ),
    "a tick without a zone": (
        lambda: with_ts(ZONED).tick(NOON),
        ValueError,
        "time: got .*; allowed: a datetime with a",
    ),
    "a number for a key": (lambda: pipe(user=7), TypeError, "record: column 'user': got 7, an int; allowed: a str"),
    "no UTF-8": (lambda: pipe(user="\ud800"), ValueError, r"record: column 'user': got '\\ud800'; allowed: a value of"),
    "a fraction": (lambda: pipe(amount=1.5), TypeError, "record: column 'amount': got 1.5, a float; allowed: an int"),
    "too large": (lambda: pipe(amount=128), ValueError, "record: column 'amount': got 128; allowed: an int from -128"),
    "inside a list": (
        lambda: pipe(spans=[5]),
        TypeError,
        r"record: column 'spans'\[0\]: got 5, an int; allowed: a time",
    ),
    "beyond nanoseconds": (
        lambda: with_ts(pa.timestamp("ns")).tick(datetime(9999, 1, 1)),
        ValueError,
        "time: got datetime.datetime.9999, .*; allowed: a value of timestamp.ns.",
    ),
    "no batch": (lambda: cut(0), ValueError, "rows: got 0; allowed: one row or more in a batch"),
    "a negative batch": (lambda: cut([2, -1]), ValueError, "rows: got -1; allowed: one row or more in a batch"),
    "half a row": (lambda: cut(2.5), TypeError, "rows: got 2.5, a float; allowed: a whole number"),
    "half a row of several": (lambda: cut([1, 2.5]), TypeError, "rows: got 2.5, a float; allowed: a whole number"),
    "rows in words": (lambda: cut("ab"), TypeError, "rows: got 'ab', a str; allowed: a whole number"),
    "a truth of rows": (lambda: cut(True), TypeError, "rows: got True, a bool; allowed: a whole number"),
    "rows of no data": (lambda: cut(-1, 0), ValueError, "rows: got -1; allowed: one row or more in a batch"),
    "value is no name": (
        lambda: StreamDriver(sessions, SCHEMA, value=5),
        TypeError,
        "value: got 5, an int; allowed: th",
    ),  # type: ignore[arg-type]
    "no input of this name": (lambda: naive().pipe(["a"]), ValueError, r"input: got \['a'\]; allowed: none"),  # type: ignore[arg-type]
    "a column twice": (
        lambda: naive().pipe_batch(table().append_column("user", pa.array(["bob"]))),
        ValueError,
        "data: got 'user'; allowed: a name that only one column has; 2 columns",
    ),
    "numbers for times": (
        lambda: batch(ts=pa.array([5])),
        TypeError,
        "data: column 'ts' has type int64; allowed: timestamp.ms., the declared type",
    ),
    "words for times": (
        lambda: batch(ts=pa.array(["2026-01-01"])),
        TypeError,
        "data: column 'ts' has type string; all",
    ),
    "days for times": (lambda: batch(ts=pa.array([NOON.date()])), TypeError, "data: column 'ts' has type date32"),
    "times with a zone": (
        lambda: batch(ts=pa.array([EAST])),
        TypeError,
        "data: column 'ts' has type timestamp.us, tz=",
    ),
    "times without a zone": (
        lambda: with_ts(ZONED).pipe_batch(table()),
        TypeError,
        "data: column 'ts' has type timestamp.ms.; allowed: timestamp.ms, tz=Europe/Berlin., the declared type",
    ),
    "times that are finer": (
        lambda: batch(ts=pa.array([FINE])),
        ValueError,
        "data: column 'ts' has values that timest",
    ),
    "numbers for keys": (
        lambda: batch(user=pa.array([7])),
        TypeError,
        "data: column 'user' has type int64; allowed: s",
    ),
    "numbers that are larger": (
        lambda: batch(amount=pa.array([128])),
        ValueError,
        "data: column 'amount' has values t",
    ),
    "fractions": (lambda: batch(amount=pa.array([0.5])), ValueError, "data: column 'amount' has values that int8 does"),
    "truths for numbers": (lambda: batch(amount=pa.array([True])), TypeError, "data: column 'amount' has type bool"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_named(case: str) -> None:
    call, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        call()


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


@pytest.mark.parametrize(
    "columns",
    [
        {"user": pa.array(["ann"], pa.large_string())},
        {"user": pa.array(["ann"]).dictionary_encode()},
        {"ts": pa.array([NOON], pa.timestamp("ns"))},
        {"ts": pa.array([NOON], pa.timestamp("s"))},
        {"amount": pa.array([1.0])},
        {"spans": pa.nulls(1)},
    ],
    ids=["large", "dictionary", "nanoseconds", "seconds", "double", "nulls"],
)
def test_columns_in_which_values_are_the_same_are_taken(columns: dict[str, Any]) -> None:
    driver = naive()
    driver.pipe_batch(table(**columns))
    (final,) = driver.finish()
    assert (final.key, final.window.start, final.values["spent"]) == ({"user": "ann"}, NOON, 1)


def test_other_zones_show_the_same_times() -> None:
    driver = with_ts(ZONED)
    driver.pipe_batch(table(ts=pa.array([EAST], pa.timestamp("us", "Asia/Tokyo"))))
    assert driver.stream_time == EAST


@pytest.mark.parametrize(
    ("rows", "updates"),
    [
        (itertools.repeat(2), [2, 4, 5]),
        ([3], [3, 5]),
        ([], [5]),
        (np.array([1, 3]), [1, 4, 5]),
        (5, [5]),
        (6, [5]),
        (10**30, [5]),
        ([9, -1], [5]),
    ],
    ids=str,
)
def test_batches_are_cut_until_the_data_ends(rows: Any, updates: list[int]) -> None:
    def updating(data: Any) -> Any:
        return wr.group_by(data, "user", time="ts").windowed_by(SESSIONS).emit("update").agg(n=wr.count())

    changes = StreamDriver(updating, SCHEMA).pipe_batch(pa.concat_tables([table()] * 5), rows=rows)
    assert [change.values["n"] for change in changes] == updates


def test_an_error_in_a_later_batch_comes_before_any_is_taken() -> None:
    driver = naive()
    with pytest.raises(TypeError, match="rows: got 'x'"):
        driver.pipe_batch(pa.concat_tables([table()] * 3), rows=[1, "x"])  # type: ignore[list-item]
    assert driver.counters["records"] == 0
