"""Daily jobs: however a history is cut into days, the runs give the windows of one query over all of it (rules 1.9),
over frames of every library, and with the options of a query.
"""

from __future__ import annotations

import io
import random
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr

from ..harness.daily_jobs import days, half_hours, pairs, played, shown_windows
from ..harness.examples import usually
from ..harness.families import FAMILIES, often, some
from ..harness.libraries import LIBRARIES
from ..harness.tables import Call, arrow, assert_same, assert_windows, by_sessions, by_sliding, rows_of
from ..scenes import TICK, at, keyed

AGGREGATES = {
    "n": Call("count"),
    "ids": Call("collect_list", ("id",)),
    "first": Call("first", ("id",)),
    "last": Call("last", ("id",)),
    "low": Call("min", ("id",)),
    "mean": Call("mean", ("id",)),
    "top": Call("top_k", ("id",), most=2),
}
BUILT = {name: each.build(wr) for name, each in AGGREGATES.items()}


WINDOWS: dict[str, Any] = {
    "session": wr.SessionWindows.with_gap,
    "sliding": wr.SlidingWindows.with_time_difference,
}


@st.composite
def histories(draw: st.DrawFn) -> tuple[pa.Table, list[int]]:
    """Up to 40 records of three keys, some without a key or a time, and the ends of days."""
    around = draw(st.sampled_from([0, 10**6, -(10**6)]))
    time, key = st.integers(-25, 80).map(lambda at: around + at), st.integers(1, 3)
    rows = draw(some(st.tuples(often(time), often(key)), 40))
    ends = sorted(draw(st.lists(st.integers(-30, 100), min_size=1, max_size=5)))
    return keyed([key for _, key in rows], [time for time, _ in rows]), [around + end for end in ends]


def check(cut: tuple[pa.Table, list[int]], windows: Any, oracle: Any) -> None:
    """All windows of the runs against the oracle. The last run has the rest of the history."""
    history, ends = cut
    *parts, rest = days(history, ends)
    parts[-1] = pa.concat_tables([parts[-1], rest])
    closed, still_open = played(parts, ends, lambda day: wr.group_by(day, "k", time="ts").windowed_by(windows), BUILT)
    assert_windows(rows_of(pa.concat_tables([*closed, still_open]), ["k"]), history, ["k"], oracle, AGGREGATES)


@usually(150)
@given(histories(), st.integers(1, 12), st.integers(0, 9))
def test_sessions_of_days_are_those_of_the_history(cut: tuple[pa.Table, list[int]], gap: int, grace: int) -> None:
    check(cut, wr.SessionWindows.with_gap(gap * TICK, grace=grace * TICK), by_sessions(gap))


@usually(150)
@given(histories(), st.integers(1, 9), st.integers(0, 4), st.integers(1, 3))
def test_sliding_windows_of_days_are_those_of_the_history(
    cut: tuple[pa.Table, list[int]], steps: int, grace: int, unit: int
) -> None:
    windows = wr.SlidingWindows.with_time_difference(
        steps * unit * TICK, grace=grace * unit * TICK, resolution=unit * TICK
    )
    check(cut, windows, by_sliding(steps * unit, unit))


def check_continued(history: pa.Table, ends: list[int], windowed: Any, aggregates: dict[str, Any]) -> None:
    """The windows of runs up to each end are those of one query over the history. The last run has all the rest."""
    *parts, rest = days(history, ends)
    parts[-1] = pa.concat_tables([parts[-1], rest])
    closed, still_open = played(parts, ends, windowed, aggregates)
    got, whole = pa.concat_tables([*closed, still_open]), windowed(history).agg(**aggregates)
    unordered = [name for name in aggregates if name.startswith("collect")]
    assert_same(rows_of(got, ["k"]), rows_of(whole, ["k"]), unordered)
    assert got.schema.types == whole.schema.types


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("kind", WINDOWS)
def test_every_aggregate_of_every_type_continues(name: str, kind: str) -> None:
    family = FAMILIES[name]
    aggregates = {name: each.build(wr) for name, each in family.aggregates().items()}

    @usually(4)
    @given(st.lists(st.tuples(st.integers(0, 40), often(family.values)), min_size=1, max_size=16))
    def days_of(rows: list[tuple[int, Any]]) -> None:
        by = pa.array(range(len(rows)), pa.int64())
        flags = pa.array([number % 3 > 0 for number in range(len(rows))])
        values = pa.array([x for _, x in rows], family.type)
        history = keyed([1] * len(rows), [time for time, _ in rows], x=values, by=by, flag=flags)

        def windowed(day: Any) -> Any:
            return wr.group_by(day, "k", time="ts").windowed_by(WINDOWS[kind](5 * TICK))

        check_continued(history, [12, 13, 25, 60], windowed, aggregates)

    days_of()


@pytest.mark.parametrize("name", ["op", "user"])
def test_a_key_or_an_aggregate_may_have_the_name_of_the_column_that_late_records_add(name: str) -> None:
    day = pa.table({name: ["ann", "bob"], "ts": [at(0), at(58)]})
    windows = wr.SessionWindows.with_gap("5 minutes")
    closed, still_open = wr.group_by(day, name, time="ts").windowed_by(windows).advance(None, to=at(60), n=wr.count())
    assert (closed[name].to_pylist(), still_open[name].drop_null().to_pylist()) == (["ann"], ["bob"])
    counted: Any = {name: wr.count()}
    closed, still_open = wr.group_by(day, time="ts").windowed_by(windows).advance(None, to=at(60), **counted)
    assert (closed[name].to_pylist(), still_open[name].drop_null().to_pylist()) == ([1], [1])


def test_a_run_that_is_repeated_gives_the_same_rows() -> None:
    one = half_hours(pairs(("ann", 0), ("bob", 40))).advance(None, to=at(45), n=wr.count())
    again = half_hours(pairs(("ann", 0), ("bob", 40))).advance(None, to=at(45), n=wr.count())
    assert one.rows.equals(again.rows)
    two = [half_hours(pairs(("bob", 50))).advance(one.still_open, to=at(60), n=wr.count()) for _ in range(2)]
    assert two[0].rows.equals(two[1].rows)


def test_a_record_that_would_move_cuts_is_refused_and_named() -> None:
    def windowed(day: Any) -> Any:
        windows = wr.SessionWindows.with_gap("30 minutes", max_duration="1 hour")
        return wr.group_by(day, "user", time="ts").windowed_by(windows)

    with pytest.raises(ValueError, match=r"the record of user = ann at 2026-01-01 08:50:00 is not before `to`"):
        windowed(pairs(("bob", 0), ("ann", 50))).advance(None, to=at(50), n=wr.count())
    one = windowed(pairs(("bob", 0))).advance(None, to=at(50), n=wr.count())
    with pytest.raises(ValueError, match=r"the record of user = ann at 2026-01-01 08:49:00 is before the earlier `to`"):
        windowed(pairs(("ann", 49))).advance(one.still_open, to=at(60), n=wr.count())
    assert windowed(pairs(("ann", 50))).advance(one.still_open, to=at(60), n=wr.count()).still_open.num_rows == 2


def through_parquet(opened: pa.Table) -> pa.Table:
    file = io.BytesIO()
    pq.write_table(opened, file)
    file.seek(0)
    return pq.read_table(file)


def through_duckdb(opened: pa.Table) -> Any:
    connection = duckdb.connect()
    connection.register("given", opened)
    connection.execute("CREATE TABLE kept AS SELECT *, 1 AS day FROM given ORDER BY random()")
    return connection.table("kept")


TRIPS = {
    "Parquet": through_parquet,
    "pandas": lambda opened: opened.to_pandas(),
    "Polars": pl.from_arrow,
    "DuckDB": through_duckdb,
}


@pytest.mark.parametrize("trip", TRIPS.values(), ids=TRIPS)
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
@pytest.mark.parametrize("kind", WINDOWS)
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

    def windowed(day: Any) -> Any:
        return wr.group_by(day, "user", "id", time="ts").windowed_by(WINDOWS[kind]("5 minutes", grace="2 minutes"))

    aggregates = {"n": wr.count(), "low": wr.min("x"), "ids": wr.collect_list("id")}
    ends = [minute * 60_000_000 for minute in (20, 21, 60, 95)]
    *parts, _ = days(history, ends)
    closed, still_open = played(parts, ends, windowed, aggregates, trip)
    whole = windowed(history).agg(**aggregates)
    assert_same(rows_of(pa.concat_tables([*closed, still_open]), ["user", "id"]), rows_of(whole, ["user", "id"]))


@pytest.mark.parametrize("name", [*LIBRARIES, "reader"])
def test_a_run_gives_frames_of_the_kind_of_the_data(name: str) -> None:
    frame: Any = LIBRARIES.get(name, pa.Table.to_reader)
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


def test_ticks_and_records_without_a_key_are_counted() -> None:
    day = pa.table({"user": ["ann", None, "ann"], "ts": [at(0), at(1), at(300)], "tick": [False, False, True]})
    windowed = wr.group_by(day, "user", time="ts", tick="tick").windowed_by(wr.SessionWindows.with_gap("30 minutes"))
    with pytest.warns(wr.LeftOut):
        run = windowed.advance(None, to=at(10), n=wr.count())
    assert shown_windows(run.still_open)["n"].to_pylist() == [1]
    counted = wr.counters(run.closed)
    assert (counted["records"], counted["null_keys"], counted["ticks"], counted["windows_open"]) == (2, 1, 1, 1)


@pytest.mark.parametrize("late", ["drop", "emit"])
def test_an_observation_takes_the_counters(late: Any) -> None:
    seen = wr.Observation()
    half_hours(pairs(("ann", 0))).late(late).observe(seen).advance(None, to=at(60), n=wr.count())
    assert (seen.get["records"], seen.get["windows"], seen.get["late"], seen.get["windows_open"]) == (1, 1, 0, 0)
