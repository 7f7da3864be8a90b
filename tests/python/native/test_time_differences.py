"""Differences of times and `window_length`: durations, computed of finished aggregates."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.testing import StreamDriver

from ..harness.examples import usually
from ..harness.families import often, some
from ..harness.tables import KINDS, in_batches
from ..scenes import TICK, keyed
from .test_computed import ORDERS

NINE = datetime(2026, 5, 4, 9)
VISITS = pa.table(
    {
        "user": ["ann", "ann", "ann", "bob"],
        "ts": pa.array([NINE, NINE + timedelta(minutes=4), NINE + timedelta(minutes=9), NINE], pa.timestamp("us")),
        "paid_at": pa.array([None, NINE + timedelta(minutes=6), None, None], pa.timestamp("us")),
    }
)
AGGREGATES: dict[str, Any] = {
    "length": wr.window_length(),
    "span": wr.max("ts") - wr.min("ts"),
    "until_paid": wr.first("paid_at", ignore_nulls=True) - wr.first("ts"),
    "twice": (wr.max("ts") - wr.min("ts")) + wr.window_length(),
    "share": (wr.first("paid_at", ignore_nulls=True) - wr.first("ts")) / wr.window_length(),
}
ANN = [timedelta(minutes=9), timedelta(minutes=9), timedelta(minutes=6), timedelta(minutes=18), 6 / 9]
BOB = [timedelta(0), timedelta(0), None, timedelta(0), None]


def windowed(data: Any, gap: str = "5 minutes") -> Any:
    return wr.group_by(data, "user", time="ts").windowed_by(wr.SessionWindows.with_gap(gap))


@pytest.mark.parametrize(
    ("made", "rows"),
    [
        (lambda: VISITS, lambda result: [tuple(row.values()) for row in result.to_pylist()]),
        (lambda: VISITS.to_pandas(), lambda result: list(result.itertuples(index=False, name=None))),
        (lambda: pl.from_arrow(VISITS), lambda result: result.rows()),
        (lambda: pl.from_arrow(VISITS).lazy(), lambda result: result.collect().rows()),
        (lambda: duckdb.from_arrow(VISITS), lambda result: result.fetchall()),
    ],
    ids=["pyarrow", "pandas", "polars", "polars lazy", "duckdb"],
)
def test_every_kind_of_frame_gets_its_intervals(made: Any, rows: Any) -> None:
    result = windowed(made()).agg(length=AGGREGATES["length"], until_paid=AGGREGATES["until_paid"])
    found = {user: (length, None if pd.isna(until) else until) for user, _, length, until in rows(result)}
    assert found == {"ann": (ANN[0], ANN[2]), "bob": (BOB[0], None)}
    assert all(isinstance(length, timedelta) for length, _ in found.values())


def test_differences_sums_and_shares_of_durations() -> None:
    result = windowed(VISITS).agg(**AGGREGATES)
    assert [str(result.schema.field(name).type) for name in AGGREGATES] == ["duration[us]"] * 4 + ["double"]
    found = {row["user"]: [row[name] for name in AGGREGATES] for row in result.to_pylist()}
    assert found == {"ann": ANN, "bob": BOB}


@pytest.mark.parametrize("kind", KINDS)
def test_they_equal_those_of_the_rows(kind: str) -> None:
    row = st.tuples(st.integers(1, 2), st.integers(-30, 60), often(st.integers(-9, 9)))

    @usually(60)
    @given(some(row, 24), st.lists(st.integers(0, 24), max_size=3))
    def check(rows: list[Any], cuts: list[int]) -> None:
        keys, times, marks = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
        table = keyed(keys, times, mark=pa.array(marks, pa.int64()).cast(pa.timestamp("us")))
        first, last = wr.first("mark"), wr.last("mark")
        aggregates = {"length": wr.window_length(), "apart": last - first, "first": first, "last": last}
        grouped = wr.group_by(in_batches(table, cuts), "k", time="ts").windowed_by(KINDS[kind][0])
        for found in grouped.agg(**aggregates).to_pylist():
            assert found["length"] == found["window"]["end"] - found["window"]["start"]
            ends = found["last"], found["first"]
            assert found["apart"] == (None if None in ends else ends[0] - ends[1])

    check()


def test_units_and_zones_of_two_times() -> None:
    times = {
        "s": pa.array([0, 5], pa.timestamp("s")),
        "ns": pa.array([0, 7], pa.timestamp("ns")),
        "berlin": pa.array([0, 3_600_000], pa.timestamp("ms", "Europe/Berlin")),
        "utc": pa.array([0, 0], pa.timestamp("us", "UTC")),
        "day": pa.array([date(2026, 5, 4), date(2026, 5, 6)]),
    }
    data = pa.table({"user": ["ann", "ann"], "ts": pa.array([0, 1], pa.timestamp("us")), **times})
    got = windowed(data).agg(
        mixed=wr.max("s") - wr.max("ns"),
        zones=wr.max("berlin") - wr.max("utc"),
        days=wr.max("day") - wr.min("day"),
        until=wr.max("ts") - wr.min("day"),
    )
    assert [str(kind) for kind in got.schema.types[2:]] == ["duration[ns]", *["duration[us]"] * 3]
    assert got["mixed"].cast(pa.int64()).to_pylist() == [5 * 10**9 - 7]
    assert got["zones"].to_pylist() == [timedelta(hours=1)]
    assert got["days"].to_pylist() == [timedelta(days=2)]
    assert got["until"].to_pylist() == [datetime(1970, 1, 1) + TICK - datetime(2026, 5, 4)]
    with pytest.raises(TypeError, match=r'aggregate "d": got the difference of .*; allowed: two times with a zone, or'):
        windowed(data).agg(d=wr.max("utc") - wr.max("ts"))


def test_what_no_interval_holds_is_an_error_or_null() -> None:
    far = pa.array([-(2**62) - 1, 2**62], pa.timestamp("us"))
    data = pa.table({"user": ["ann", "ann"], "ts": pa.array([0, 1], pa.timestamp("us")), "far": far})
    aggregates = {"d": wr.max("far") - wr.min("far")}
    with pytest.raises(OverflowError, match=r'aggregate "d": the difference does not fit its type \(duration\[us\]\)'):
        windowed(data).agg(**aggregates)
    null = windowed(data).overflow("null").agg(**aggregates)
    assert (null["d"].to_pylist(), wr.counters(null)["overflows"]) == ([None], 1)


@pytest.mark.parametrize(
    "aggregate",
    [
        wr.max("ts") + wr.max("ts"),
        wr.max("ts") - 5,
        wr.window_length() * 2,
        wr.window_length() / wr.count(),
        wr.max("ts") - wr.window_length(),
        wr.max("user") - wr.min("user"),
    ],
    ids=repr,
)
def test_what_is_no_interval_is_refused_at_the_call(aggregate: wr.Aggregate) -> None:
    with pytest.raises(TypeError, match=r'aggregate "a": got a result of type .*; allowed: .* two times \(for -\)'):
        windowed(VISITS).agg(a=aggregate)


def test_the_length_of_a_window_takes_no_condition_and_no_other_aggregate() -> None:
    with pytest.raises(ValueError, match=r"window_length\(\).where\(column=\).*no condition"):
        wr.window_length().where("paid")
    alone = windowed(VISITS).agg(length=wr.window_length())
    assert alone.column_names == ["user", "window", "length"]
    assert sorted(alone["length"].to_pylist()) == [timedelta(0), timedelta(minutes=9)]
    flat = windowed(VISITS).flat().agg(length=wr.window_length())
    assert flat.column_names == ["user", "window_start", "window_end", "length"]
    assert len(windowed(VISITS.slice(0, 0)).agg(length=wr.window_length())) == 0
    read = windowed(VISITS).to_reader(length=wr.window_length()).read_all()
    assert sorted(read["length"].to_pylist()) == [timedelta(0), timedelta(minutes=9)]


def test_records_get_the_length_of_their_session() -> None:
    left_out = pa.table({"user": pa.array([None], pa.string()), "ts": pa.array([NINE], pa.timestamp("us"))})
    data = pa.concat_tables([VISITS.select(["user", "ts"]), left_out])
    with pytest.warns(wr.LeftOut):
        rows = windowed(data).with_columns(length=wr.window_length(), span=wr.max("ts") - wr.min("ts"))
    assert rows["length"].to_pylist() == [*[timedelta(minutes=9)] * 3, timedelta(0), None]
    assert rows["span"].to_pylist() == rows["length"].to_pylist()


def test_a_cogroup_has_differences_of_times_of_its_inputs() -> None:
    views = pa.table({"user": ["ann"], "ts": pa.array([NINE], pa.timestamp("us", "UTC"))})
    orders = pa.table({"user": ["ann"], "ts": pa.array([NINE + timedelta(minutes=3)], pa.timestamp("us", "UTC"))})
    grouped = {name: wr.group_by(data, "user", time="ts") for name, data in (("views", views), ("orders", orders))}
    visits = wr.cogroup(**grouped).windowed_by(wr.SessionWindows.with_gap("5 minutes"))
    wait = wr.first("orders.ts", ignore_nulls=True) - wr.first("views.ts", ignore_nulls=True)
    got = visits.agg(wait=wait, length=wr.window_length())
    assert got.select(["wait", "length"]).to_pylist() == [dict.fromkeys(["wait", "length"], timedelta(minutes=3))]
    assert got["window"][0].as_py()["start"] == NINE.replace(tzinfo=UTC)


@pytest.mark.parametrize("emit", ["close", "update"])
def test_a_driver_shows_what_is_computed_of_aggregates(emit: Any) -> None:
    closing = wr.SessionWindows.with_gap("10 microseconds", grace="0 seconds")
    aggregates = {
        "n": wr.count(),
        "share": wr.count_if("paid") / wr.count("amount"),
        "far": wr.max("amount") + (2**63 - 9),
        "span": wr.max("ts") - wr.min("ts"),
        "length": wr.window_length(),
    }

    def query(data: Any) -> Any:
        windowed = wr.group_by(data, "user", time="ts").windowed_by(closing)
        return windowed.emit(emit).overflow("null").agg(**aggregates)

    driver = StreamDriver(query, ORDERS.schema)
    changes = [*driver.pipe_batch(ORDERS, rows=1), *driver.finish()]
    shown = {
        (change.key["user"], change.window.start, change.window.end): change.values
        for change in changes
        if change.kind != "delete"
    }
    batch = query(ORDERS).to_pylist()
    for row in batch:
        window = row["window"]
        assert shown[row["user"], window["start"], window["end"]] == {name: row[name] for name in aggregates}
    table = driver.read_table()
    assert set(aggregates) < set(table.column_names)
    assert table.schema.field("span").type == pa.duration("us")
    if emit == "close":
        assert sorted(map(str, table.to_pylist())) == sorted(map(str, batch))
    too_large = [change for change in changes if change.key["user"] != "cid" and change.values.get("far", 0) is None]
    assert driver.counters["overflows"] == len(too_large) > 0
