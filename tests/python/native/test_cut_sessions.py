"""Sessions with `longest` and `ends` are the oracle's: in this process, through Spark's two steps, in order of time."""

from __future__ import annotations

import functools
import operator
import time
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import windrow as wr
from windrow._inspection.query import trace
from windrow._native import Query

from ..harness.examples import usually
from ..harness.families import often, some
from ..harness.shuffle import after_a_shuffle, blocks, folded_after_a_shuffle, merged
from ..harness.tables import in_batches, rows_of, ticks, window_bounds
from ..oracle.cut_sessions import cut_sessions
from ..oracle.records import Record, by_key
from ..scenes import keyed

TICK = timedelta(microseconds=1)
Row = tuple[int | None, int | None, int | None, bool | None]
Rule = tuple[int | None, int | None, bool]
"""The gap of all records, or none where each has its own; the longest session; whether records end sessions."""


def listed(held: list[int], row: Any) -> list[int]:
    return [*held, row.id]


AGGREGATES = {
    "n": wr.count(),
    "ids": wr.collect_list("id"),
    "total": wr.sum("v"),
    "odd": wr.count().where("odd"),
    "last": wr.last("v"),
    "mean": wr.sum("v") / wr.count(),
}
FOLDED = {
    "n": wr.count(),
    "ids": wr.aggregate(list, listed, operator.add, schema="array<bigint>", columns=["id"]),
    "least": wr.reduce("v", min),
}


def table_of(rows: list[Row], cuts: list[int]) -> pa.Table:
    """Records of a key, a time, a gap in ticks and whether they end their session; their arrival is the id."""
    keys, times, gaps, ends = ([row[place] for row in rows] for place in range(4))
    values = pa.array([row * row % 31 for row in range(len(rows))], pa.int64())
    odd = pa.array([row % 2 == 1 for row in range(len(rows))], pa.bool_())
    return in_batches(keyed(keys, times, gaps=gaps, out=pa.array(ends, pa.bool_()), v=values, odd=odd), cuts)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    around = draw(st.sampled_from([0, 0, 10**6, -(10**6), 2**63 - 61, -(2**63) + 21]))
    moment = st.integers(around - 20, around + 60)
    row = st.tuples(often(st.integers(1, 3)), often(moment), often(st.integers(-1, 15)), often(st.booleans()))
    return table_of(draw(some(row, 40)), draw(st.lists(st.integers(0, 40), max_size=4)))


RULES = st.tuples(st.integers(1, 15) | st.none(), st.integers(1, 40) | st.none(), st.booleans())


def windows_of(rule: Rule) -> wr.SessionWindows:
    gap, longest, ends = rule
    limit = None if longest is None else longest * TICK
    column = "out" if ends else None
    if gap is None:
        return wr.SessionWindows.with_dynamic_gap("gap", max_duration=limit, end_when=column)
    return wr.SessionWindows.with_gap(gap * TICK, max_duration=limit, end_when=column)


def expected(table: pa.Table, rule: Rule) -> dict[tuple[Any, int, int], list[Record]]:
    gap, longest, ends = rule
    columns = zip(*(table[name].to_pylist() for name in ("k", "out", "v")), strict=True)
    gaps = table["gap"].cast(pa.int64()).to_pylist()
    rows = [
        Record((key,), at, row, {"gap": gaps[row], "out": out, "v": v})
        for row, (at, (key, out, v)) in enumerate(zip(ticks(table["ts"]), columns, strict=True))
    ]
    of = functools.partial(
        cut_sessions,
        gap_of=lambda record: record.values["gap"] if gap is None else gap,
        longest=longest,
        ends=lambda record: ends and record.values["out"],
    )
    return {(key, *bounds): members for key, own in by_key(rows).items() for *bounds, members in of(own)}


def check(answer: pa.Table, wanted: dict[Any, list[Record]]) -> None:
    """The windows and aggregates of the oracle; lists in the order of time, ties as they came."""
    got = rows_of(answer, ["k"])
    assert got.keys() == wanted.keys()
    for window, members in wanted.items():
        found, values = got[window], [record.values["v"] for record in members]
        assert found["n"] == len(members)
        assert found["ids"] == [record.arrival for record in members]
        if "total" in found:
            assert (found["total"], found["last"]) == (sum(values), values[-1])
            assert found["odd"] == sum(record.arrival % 2 for record in members)
            assert found["mean"] == pytest.approx(sum(values) / len(values))
        else:
            assert found["least"] == min(values)


def windowed(data: Any, windows: Any) -> Any:
    return wr.group_by(data, "k", time="ts").windowed_by(windows)


@usually(80)
@given(tables(), RULES, st.integers(1, 5), st.lists(st.integers(0, 40), max_size=4))
@example(table_of([(1, 0, 1, True), (1, 0, 1, None), (1, 1, 1, False)], []), (1, None, True), 1, [])
@example(table_of([(1, 0, 40, True), (1, 10, 1, False), (1, 30, 1, False)], []), (None, None, True), 1, [])
def test_oracle_sessions_and_aggregates_on_every_way(table: pa.Table, rule: Rule, shards: int, cuts: list[int]) -> None:
    wanted, grouped = expected(table, rule), windowed(table, windows_of(rule)).shards(shards)
    check(grouped.agg(**AGGREGATES), wanted)
    check(grouped.to_reader(**AGGREGATES).read_all(), wanted)
    check(grouped.agg(**FOLDED), wanted)
    check(after_a_shuffle(grouped._plan(AGGREGATES), table, cuts), wanted)
    check(folded_after_a_shuffle(grouped._plan(FOLDED), table, cuts), wanted)


@usually(50)
@given(tables(), RULES, st.lists(st.integers(0, 40), max_size=4), st.randoms(use_true_random=False))
def test_oracle_every_row_with_its_session(table: pa.Table, rule: Rule, cuts: list[int], random: Any) -> None:
    order = list(range(table.num_rows))
    random.shuffle(order)
    shuffled = table.take(pa.array(order, pa.int64()))
    wanted = {
        record.arrival: (start, end, sorted(member.arrival for member in members))
        for (_, start, end), members in expected(table, rule).items()
        for record in members
    }
    aggregates = {"n": wr.count(), "ids": wr.collect_list("id"), "window_id": wr.window_id()}
    grouped = windowed(shuffled, windows_of(rule))
    here = grouped.with_columns(**aggregates)
    assert here.select(table.column_names).replace_schema_metadata(None).equals(shuffled)
    query = Query.rows_with_windows(grouped._plan(aggregates, rows=True).spec.text, shuffled.schema)
    numbers = set()
    for answer in (here, merged(query, blocks(query, shuffled, cuts))):
        assert sorted(answer["id"].to_pylist()) == list(range(table.num_rows))
        for row, (start, end) in zip(_plain(answer), window_bounds(answer), strict=True):
            left_out = (None, None, None)
            ids = None if row["ids"] is None else sorted(row["ids"])
            assert (start, end, ids) == wanted.get(row["id"], left_out)
            assert row["n"] == (None if ids is None else len(ids))
            numbers.add((row["k"] if ids else None, start, row["window_id"]))
    assert len({number for *_, number in numbers}) == len(numbers)


def _plain(answer: pa.Table) -> list[dict[str, Any]]:
    """The rows without times, some of which Python has no `datetime` for."""
    return answer.select(["k", "id", "n", "ids", "window_id"]).to_pylist()


@usually(20)
@given(tables(), RULES)
def test_a_length_that_no_session_reaches_changes_nothing(table: pa.Table, rule: Rule) -> None:
    gap = rule[0]
    plain = windowed(table, windows_of((gap, None, False))).agg(**AGGREGATES)
    cut_nowhere = windowed(table, windows_of((gap, 2**63 - 1, False))).agg(**AGGREGATES)
    assert rows_of(cut_nowhere, ["k"]) == rows_of(plain, ["k"])


def naive(keys: list[int], times: list[int], outs: list[bool], gap: int, longest: int) -> dict[Any, int]:
    """Key, start and end of each session with its count, by a loop over sorted rows."""
    found: dict[Any, int] = {}
    last, start, count, ended, key = 0, 0, 0, True, None
    for own, at, out in sorted(zip(keys, times, outs, strict=True)):
        is_new = own != key or (at != last and (ended or at - last > gap or at - start > longest))
        if is_new:
            if count:
                found[key, start, last] = count
            key, start, count, ended = own, at, 0, False
        elif at != last:
            ended = False
        last, count, ended = at, count + 1, ended or out
    found[key, start, last] = count
    return found


@pytest.fixture(scope="module")
def many() -> pa.Table:
    """Rows enough for several steps, threads and packers, in no order."""
    random, rows = np.random.default_rng(7), 150_000
    return pa.table(
        {
            "k": random.integers(0, 500, rows),
            "ts": pa.array(random.integers(0, 10_000_000, rows)).cast(pa.timestamp("us")),
            "out": random.random(rows) < 0.05,
        }
    )


def test_many_rows_on_threads_in_blocks_and_in_a_reader_are_what_a_loop_gives_and_faster(many: pa.Table) -> None:
    began = time.perf_counter()
    columns = (many["k"].to_pylist(), ticks(many["ts"]), many["out"].to_pylist())
    wanted = naive(*columns, gap=50_000, longest=120_000)  # type: ignore[arg-type]
    looped = time.perf_counter() - began
    windows = wr.SessionWindows.with_gap(50_000 * TICK, max_duration=120_000 * TICK, end_when="out")
    for data, threads in ((many, 3), (many.sort_by("ts"), 1), (many.sort_by([("ts", "descending")]), 2)):
        began = time.perf_counter()
        answer = windowed(data, windows).threads(threads).count()
        took = time.perf_counter() - began
        assert counts(answer) == wanted
        assert took < looped
    assert counts(windowed(many, windows).to_reader(count=wr.count()).read_all()) == wanted
    plan = windowed(many.sort_by("ts"), windows).shards(3)._plan({"count": wr.count()})
    query = Query(plan.spec.text, plan.schema)
    assert counts(merged(query, blocks(query, many.sort_by("ts"), [50_000, 100_000]))) == wanted


def counts(answer: pa.Table) -> dict[Any, int]:
    rows = zip(answer["k"].to_pylist(), window_bounds(answer), answer["count"].to_pylist(), strict=True)
    found = {(key, *bounds): count for key, bounds, count in rows}
    assert len(found) == answer.num_rows
    return found


@usually(40)
@given(tables(), RULES)
def test_oracle_the_trace_has_the_same_windows(table: pa.Table, rule: Rule) -> None:
    wanted = expected(table, rule)
    grouped = windowed(table, windows_of(rule))
    for key in {key for (key,), *_ in wanted}:
        found = timeline_windows(grouped, key)
        assert found == {
            (start, end, frozenset(record.arrival for record in members))
            for ((own,), start, end), members in wanted.items()
            if own == key
        }


def timeline_windows(grouped: Any, key: int) -> set[tuple[int, int, frozenset[int]]]:
    found = trace(None, grouped, [key], None, 1_000, argument="key")
    return {(window.start, window.end, window.rows) for window in found.windows}
