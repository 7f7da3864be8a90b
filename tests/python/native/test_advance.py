"""Daily jobs: however a history is cut into days, the runs give the windows of one query over all of it (rules 1.9)."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr

from ..harness.daily_jobs import days, half_hours, pairs, played
from ..harness.examples import usually
from ..harness.families import FAMILIES, often, some
from ..harness.tables import Call, assert_same, assert_windows, by_sessions, by_sliding, rows_of
from ..oracle.micro_batches import MicroBatches
from ..oracle.scenario import Row
from ..oracle.streaming_scenario import StreamingScenario
from ..scenes import at, keyed

TICK = timedelta(microseconds=1)
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


@st.composite
def histories(draw: st.DrawFn) -> tuple[pa.Table, list[int]]:
    """Up to 40 records of three keys, and the ends of days; the last end is after all records or before some."""
    around = draw(st.sampled_from([0, 10**6, -(10**6)]))
    time = st.integers(-25, 80).map(lambda at: around + at)
    rows = draw(some(st.tuples(often(time), often(st.integers(1, 3))), 40))
    ends = sorted(draw(st.lists(st.integers(-30, 100), min_size=1, max_size=5)))
    return keyed([key for _, key in rows], [time for time, _ in rows]), [around + end for end in ends]


def check(cut: tuple[pa.Table, list[int]], windows: Any, oracle: Any) -> None:
    """All windows of the runs against the oracle. The last run has the rest of the history."""
    history, ends = cut
    *parts, rest = days(history, ends)
    parts[-1] = pa.concat_tables([parts[-1], rest])
    closed, still_open = played(parts, ends, lambda day: wr.group_by(day, "k", time="ts").windowed_by(windows), BUILT)
    assert_windows(rows_of(pa.concat_tables([*closed, still_open]), ["k"]), history, ["k"], oracle, AGGREGATES)


@pytest.mark.filterwarnings("ignore::windrow.LeftOut")
@usually(150)
@given(histories(), st.integers(1, 12), st.integers(0, 9))
def test_sessions_of_days_are_those_of_the_history(cut: tuple[pa.Table, list[int]], gap: int, grace: int) -> None:
    check(cut, wr.SessionWindows.with_gap(gap * TICK, grace=grace * TICK), by_sessions(gap))


@pytest.mark.filterwarnings("ignore::windrow.LeftOut")
@usually(150)
@given(histories(), st.integers(1, 9), st.integers(0, 4), st.integers(1, 3))
def test_sliding_windows_of_days_are_those_of_the_history(
    cut: tuple[pa.Table, list[int]], steps: int, grace: int, unit: int
) -> None:
    windows = wr.SlidingWindows.with_time_difference(
        steps * unit * TICK, grace=grace * unit * TICK, resolution=unit * TICK
    )
    check(cut, windows, by_sliding(steps * unit, unit))


@pytest.mark.filterwarnings("ignore::windrow.LeftOut")
@pytest.mark.parametrize("kind", ["session", "sliding"])
@pytest.mark.parametrize("late", ["drop", "emit"])
def test_late_records_are_those_of_a_micro_batch(kind: str, late: Any) -> None:
    """A run is a micro-batch that ends with a tick: brute force over rules 1.2, with records of earlier days."""
    seen = 0
    for seed in range(25):
        rng = random.Random(f"{kind} {late} {seed}")
        length, grace = rng.randint(1, 6), rng.randint(0, 4)
        scenario = StreamingScenario(kind, length, grace, emit="close", late=late)
        oracle = MicroBatches(scenario)
        made: Any = wr.SessionWindows.with_gap if kind == "session" else wr.SlidingWindows.with_time_difference
        windows, opened, end = made(length * TICK, grace=grace * TICK), None, 10**6
        late_rows = 0
        for _ in range(4):
            start, end = end, end + rng.randint(0, 15)
            rows = [(rng.randint(end - 25, end - 1), rng.choice("ab")) for _ in range(rng.randint(0, 8))]
            batch = [Row(key, time, 1) for time, key in rows]
            changes = oracle.push([*batch, Row(None, end, tick=True)])
            table = keyed([ord(key) for _, key in rows], [time for time, _ in rows])
            run = wr.group_by(table, "k", time="ts").windowed_by(windows).late(late)
            result = run.advance(opened, to=pa.scalar(end, pa.timestamp("us")).as_py(), n=wr.count())
            opened = result.still_open
            shown = result.closed.to_pylist()
            got = sorted((row.get("op", "upsert"), row["k"], *ticks(row["window"]), row["n"]) for row in shown)
            expected = sorted(
                (change.op, ord(change.key), change.start, change.end, (change.values or (0,))[0]) for change in changes
            )
            assert got == expected, f"seed {seed}, day {start} to {end}"
            late_rows += wr.counters(result.closed)["late"]
        assert late_rows == oracle.counters["late"]
        seen += late_rows
    assert seen > 20


def ticks(window: dict[str, Any]) -> tuple[int, int]:
    start, end = (pa.scalar(window[bound], pa.timestamp("us")).value for bound in ("start", "end"))
    return start, end


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("kind", ["session", "sliding"])
def test_every_aggregate_of_every_type_continues(name: str, kind: str) -> None:
    family = FAMILIES[name]

    @usually(4)
    @given(st.data())
    def days_of(data: st.DataObject) -> None:
        rows = data.draw(st.lists(st.tuples(st.integers(0, 40), often(family.values)), min_size=1, max_size=16))
        by = pa.array(range(len(rows)), pa.int64())
        flags = pa.array([number % 3 > 0 for number in range(len(rows))])
        history = keyed(
            [1] * len(rows),
            [time for time, _ in rows],
            x=pa.array([x for _, x in rows], family.type),
            by=by,
            flag=flags,
        )
        made: Any = wr.SessionWindows.with_gap if kind == "session" else wr.SlidingWindows.with_time_difference
        aggregates = {name: each.build(wr) for name, each in family.aggregates().items()}

        def windowed(day: Any) -> Any:
            return wr.group_by(day, "k", time="ts").windowed_by(made(5 * TICK))

        ends = [12, 13, 25, 60]
        *parts, _ = days(history, ends)
        closed, still_open = played(parts, ends, windowed, aggregates)
        whole = windowed(history).agg(**aggregates)
        got = pa.concat_tables([*closed, still_open])
        unordered = [each for each in aggregates if each.startswith("collect")]
        assert_same(rows_of(got, ["k"]), rows_of(whole, ["k"]), unordered)
        assert got.schema.types == whole.schema.types

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


def test_grace_and_late_policy_may_change_between_days() -> None:
    one = half_hours(pairs(("ann", 0))).advance(None, to=at(20), n=wr.count())
    two = half_hours(pairs(), grace="1 hour").late("emit").advance(one.still_open, to=at(31), n=wr.count())
    assert two.closed.num_rows == 0
    three = half_hours(pairs(("ann", 25)), grace="30 minutes").shards(7)
    three = three.advance(two.still_open, to=at(86), n=wr.count())
    assert [row["n"] for row in three.closed.to_pylist()] == [2]


@usually(60)
@given(histories(), st.data())
def test_dynamic_gaps_of_days_are_those_of_the_history(cut: tuple[pa.Table, list[int]], data: st.DataObject) -> None:
    history, ends = cut
    history = history.filter(history["ts"].is_valid()).filter(history.filter(history["ts"].is_valid())["k"].is_valid())
    lengths = data.draw(st.lists(st.integers(1, 20), min_size=history.num_rows, max_size=history.num_rows))
    history = history.append_column("gap", pa.array(lengths, pa.int64()).cast(pa.duration("us")))

    def windowed(day: Any) -> Any:
        return wr.group_by(day, "k", time="ts").windowed_by(wr.SessionWindows.with_dynamic_gap("gap"))

    *parts, rest = days(history, ends)
    parts[-1] = pa.concat_tables([parts[-1], rest])
    closed, still_open = played(parts, ends, windowed, BUILT)
    whole = windowed(history).agg(**BUILT)
    assert_same(rows_of(pa.concat_tables([*closed, still_open]), ["k"]), rows_of(whole, ["k"]))


@usually(60)
@given(histories(), st.integers(1, 10), st.integers(3, 20), st.booleans())
def test_cut_sessions_of_days_are_those_of_the_history(
    cut: tuple[pa.Table, list[int]], gap: int, longest: int, ends_too: bool
) -> None:
    history, ends = cut
    history = history.filter(history["ts"].is_valid()).filter(history.filter(history["ts"].is_valid())["k"].is_valid())
    history = history.append_column("out", pa.array([number % 4 == 0 for number in range(history.num_rows)]))
    options: dict[str, Any] = {"end_when": "out"} if ends_too else {}

    def windowed(day: Any) -> Any:
        windows = wr.SessionWindows.with_gap(gap * TICK, max_duration=longest * TICK, **options)
        return wr.group_by(day, "k", time="ts").windowed_by(windows)

    ends = [*ends, max([*ends, *(history["ts"].cast(pa.int64()).to_pylist())]) + 1]
    *parts, _ = days(history, ends)
    closed, still_open = played(parts, ends, windowed, BUILT)
    whole = windowed(history).agg(**BUILT)
    assert_same(rows_of(pa.concat_tables([*closed, still_open]), ["k"]), rows_of(whole, ["k"]))


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


def joined_ids(values: list[int], row: Any) -> list[int]:
    return [*values, row.id]


@usually(60)
@given(histories(), st.integers(1, 10), st.sampled_from(["session", "sliding"]))
def test_python_functions_continue(cut: tuple[pa.Table, list[int]], length: int, kind: str) -> None:
    history, ends = cut
    history = history.filter(history["ts"].is_valid()).filter(history.filter(history["ts"].is_valid())["k"].is_valid())
    sliding = kind == "sliding"
    made: Any = wr.SlidingWindows.with_time_difference if sliding else wr.SessionWindows.with_gap

    def merge(one: list[int], other: list[int]) -> list[int]:
        return one + other

    aggregates = {
        "ids": wr.aggregate(list, joined_ids, None if sliding else merge, columns=["id"], schema="array<bigint>"),
        "most": wr.reduce("id", max),
        "n": wr.count(),
        "double": wr.sum("id") * 2,
    }

    def windowed(day: Any) -> Any:
        return wr.group_by(day, "k", time="ts").windowed_by(made(length * TICK))

    ends = [*ends, max([*ends, *(history["ts"].cast(pa.int64()).to_pylist())]) + 1]
    *parts, _ = days(history, ends)
    closed, still_open = played(parts, ends, windowed, aggregates)
    whole = windowed(history).agg(**aggregates)
    assert_same(rows_of(pa.concat_tables([*closed, still_open]), ["k"]), rows_of(whole, ["k"]))
