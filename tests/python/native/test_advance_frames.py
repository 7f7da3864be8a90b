"""Daily jobs over frames of every library, and with the options of a query."""

from __future__ import annotations

import io
import random
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow as wr

from ..harness.daily_jobs import days, half_hours, pairs, played, shown_windows
from ..harness.tables import arrow, assert_same, rows_of
from ..scenes import at


def through_parquet(opened: pa.Table) -> pa.Table:
    file = io.BytesIO()
    pq.write_table(opened, file)
    file.seek(0)
    return pq.read_table(file)


def through_pandas(opened: pa.Table) -> Any:
    return opened.to_pandas()


def through_polars(opened: pa.Table) -> Any:
    return pl.from_arrow(opened)


def through_duckdb(opened: pa.Table) -> Any:
    connection = duckdb.connect()
    connection.register("given", opened)
    connection.execute("CREATE TABLE kept AS SELECT *, 1 AS day FROM given ORDER BY random()")
    return connection.table("kept")


TRIPS = [through_parquet, through_pandas, through_polars, through_duckdb]


@pytest.mark.parametrize("trip", TRIPS, ids=lambda trip: trip.__name__)
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
@pytest.mark.parametrize("kind", ["session", "sliding"])
def test_open_windows_survive_a_round_trip(trip: Any, zone: str | None, kind: str) -> None:
    rng = random.Random(5)
    rows = [(rng.randint(0, 90), rng.choice(["ann", "bob", "ä", ""]), rng.randint(-5, 2**62)) for _ in range(80)]
    history = pa.table(
        {
            "user": [user for _, user, _ in rows],
            "id": pa.array([number for _, _, number in rows], pa.int64()),
            "ts": pa.array([time * 60_000_000 for time, _, _ in rows], pa.int64()).cast(pa.timestamp("us", zone)),
            "x": [number / 7 for _, _, number in rows],
        }
    )
    made: Any = wr.SessionWindows.with_gap if kind == "session" else wr.SlidingWindows.with_time_difference

    def windowed(day: Any) -> Any:
        return wr.group_by(day, "user", "id", time="ts").windowed_by(made("5 minutes", grace="2 minutes"))

    aggregates = {"n": wr.count(), "low": wr.min("x"), "ids": wr.collect_list("id")}
    ends = [minute * 60_000_000 for minute in (20, 21, 60, 95)]
    *parts, _ = days(history, ends)
    closed, still_open = played(parts, ends, windowed, aggregates, trip)
    whole = windowed(history).agg(**aggregates)
    assert_same(rows_of(pa.concat_tables([*closed, still_open]), ["user", "id"]), rows_of(whole, ["user", "id"]))


FRAMES = {
    "pandas": lambda table: table.to_pandas(),
    "Polars": pl.from_arrow,
    "lazy Polars": lambda table: pl.from_arrow(table).lazy(),
    "DuckDB": lambda table: duckdb.connect().from_arrow(table),
    "reader": lambda table: table.to_reader(),
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_run_gives_frames_of_the_kind_of_the_data(name: str) -> None:
    frame = FRAMES[name]
    first = pa.table({"user": ["ann", "ann", "bob"], "ts": [at(0), at(55), at(10)], "amount": [1.5, 2.0, 4.0]})
    second = pa.table({"user": ["ann", "bob"], "ts": [at(70), at(100)], "amount": [8.0, 16.0]})

    def run(day: Any, opened: Any, minutes: float) -> Any:
        windowed = wr.group_by(day, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("30 minutes"))
        return windowed.advance(opened, to=at(minutes), spend=wr.sum("amount"))

    one = run(frame(first), None, 60)
    two = run(frame(second), one.still_open, 140)
    if name != "reader":
        for part in (*one, one.rows):
            assert type(part) is type(frame(first))
    closed, still_open = two
    spend = sorted(row["spend"] for part in (one.closed, closed) for row in arrow(part).to_pylist())
    assert spend == [1.5, 4.0, 10.0, 16.0]
    assert arrow(still_open).num_rows == 1  # the clock row
    rows = arrow(two.rows)
    assert rows.num_rows == arrow(closed).num_rows + 1
    assert rows.column_names == ["user", "window", "spend", "stream_time", "state", "status"]


def test_a_cogroup_continues() -> None:
    def run(clicks: pa.Table, orders: pa.Table, opened: Any, minutes: float) -> Any:
        both = wr.cogroup(clicks=wr.group_by(clicks, "user", time="ts"), orders=wr.group_by(orders, "user", time="ts"))
        windowed = both.windowed_by(wr.SessionWindows.with_gap("30 minutes"))
        aggregates = {"n": wr.count(), "clicks": wr.count("clicks.*"), "orders": wr.count("orders.*")}
        return windowed.advance(opened, to=at(minutes), **aggregates)

    one = run(pairs(("ann", 0), ("ann", 50)), pairs(("ann", 55)), None, 60)
    two = run(pairs(("bob", 70)), pairs(("ann", 80), ("bob", 65)), one.still_open, 200)
    shown = sorted((row["user"], row["n"], row["clicks"], row["orders"]) for row in two.closed.to_pylist())
    assert [row["n"] for row in one.closed.to_pylist()] == [1]
    assert shown == [("ann", 3, 1, 2), ("bob", 2, 1, 1)]


def test_a_query_without_keys_and_with_flat_bounds_continues() -> None:
    def run(day: pa.Table, opened: Any, minutes: float) -> Any:
        windowed = wr.group_by(day, time="ts").windowed_by(wr.SessionWindows.with_gap("30 minutes")).flat()
        return windowed.advance(opened, to=at(minutes), n=wr.count())

    one = run(pairs(("ann", 0), ("bob", 20)), None, 30)
    assert one.still_open.column_names == ["window_start", "window_end", "n", "stream_time", "state"]
    two = run(pairs(("ann", 40)), one.still_open, 120)
    assert two.closed.to_pylist() == [{"window_start": at(0), "window_end": at(40), "n": 3}]


def half_hours_by(key: str, day: pa.Table, opened: Any, minutes: float, *, flat: bool) -> Any:
    grouped = wr.group_by(day.rename_columns([key, "ts"]), key, time="ts")
    windowed = grouped.windowed_by(wr.SessionWindows.with_gap("30 minutes"))
    return (windowed.flat() if flat else windowed).advance(opened, to=at(minutes), n=wr.count())


@pytest.mark.parametrize("flat", [True, False])
def test_a_query_continues_the_table_of_one_that_differs_in_flat(flat: bool) -> None:
    one = half_hours_by("user", pairs(("ann", 0), ("ann", 20)), None, 30, flat=flat)
    two = half_hours_by("user", pairs(("ann", 40)), one.still_open, 120, flat=not flat)
    (row,) = two.closed.to_pylist()
    bounds = [*row["window"].values()] if flat else [row["window_start"], row["window_end"]]
    assert (row["user"], bounds, row["n"]) == ("ann", [at(0), at(40)], 3)


@pytest.mark.parametrize(("key", "flat", "lost"), [("window", True, "window_end"), ("window_end", False, "window")])
def test_a_key_with_the_name_of_bounds_is_never_taken_for_them(key: str, flat: bool, lost: str) -> None:
    one = half_hours_by(key, pairs(("ann", 0), ("bob", 20)), None, 40, flat=flat)
    two = half_hours_by(key, pairs(("bob", 45)), one.still_open, 120, flat=flat)
    assert [(row[key], row["n"]) for row in [*one.closed.to_pylist(), *two.closed.to_pylist()]] == [
        ("ann", 1),
        ("bob", 2),
    ]
    with pytest.raises(ValueError, match=f"allowed: one that has '{lost}'"):
        half_hours_by(key, pairs(("bob", 40)), one.still_open.drop_columns([lost]), 120, flat=flat)


def test_conditions_ticks_and_left_out_records() -> None:
    day = pa.table(
        {
            "user": ["ann", "ann", None, "ann"],
            "ts": pa.array([at(0), at(5), at(1), at(300)], pa.timestamp("us")),
            "paid": [True, False, True, True],
            "tick": [False, False, False, True],
        }
    )
    windowed = wr.group_by(day, "user", time="ts", tick="tick").windowed_by(wr.SessionWindows.with_gap("30 minutes"))
    with pytest.warns(wr.LeftOut):
        run = windowed.advance(None, to=at(10), n=wr.count(), paid=wr.count().where("paid"))
    assert [(row["n"], row["paid"]) for row in shown_windows(run.still_open).to_pylist()] == [(2, 1)]
    counted = wr.counters(run.closed)
    assert (counted["records"], counted["null_keys"], counted["ticks"], counted["windows_open"]) == (3, 1, 1, 1)


@pytest.mark.parametrize("late", ["drop", "emit"])
def test_an_observation_takes_the_counters(late: Any) -> None:
    seen = wr.Observation()
    half_hours(pairs(("ann", 0))).late(late).observe(seen).advance(None, to=at(60), n=wr.count())
    assert (seen.get["records"], seen.get["windows"], seen.get["late"], seen.get["windows_open"]) == (1, 1, 0, 0)


@pytest.mark.parametrize(
    ("to", "zone", "ticks"),
    [
        ("2026-05-05", None, 1777939200),
        ("2026-05-05 00:00:00", "Europe/Berlin", 1777932000),
        ("2026-05-05T00:00:00Z", "Europe/Berlin", 1777939200),
        ("2026-05-05T02:00:00+02:00", "UTC", 1777939200),
    ],
)
def test_a_bare_time_is_in_the_zone_of_the_column(to: str, zone: str | None, ticks: int) -> None:
    day = pa.table({"user": pa.array([], pa.string()), "ts": pa.array([], pa.timestamp("s", zone))})
    run = half_hours(day).advance(None, to=to, n=wr.count())
    assert run.still_open["stream_time"].cast(pa.int64()).to_pylist() == [ticks]
