"""Sessions of own gaps, of records that last, with `max_duration` and `end_when` are the oracle's on every way."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
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
from windrow.plot import timeline

from ..harness.examples import usually
from ..harness.families import often, some
from ..harness.shuffle import after_a_shuffle, blocks, folded_after_a_shuffle, merged
from ..harness.tables import in_batches, rows_of, ticks, window_bounds
from ..oracle.cut_sessions import cut_sessions
from ..oracle.records import Record, by_key
from ..oracle.sessions import bad_gaps, clamped_gaps
from ..scenes import TICK, all_at, at, keyed

Row = tuple[int | None, int | None, int | None, bool | None, int | None]
Rule = tuple[int | None, int | None, bool, bool]
"""The gap of all records, or none where each has its own; the longest session; whether records end it; if they last."""


def listed(held: list[int], row: Any) -> list[int]:
    return [*held, row.id]


AGGREGATES = {"ids": wr.collect_list("id")}
FOLDED = {"ids": wr.aggregate(list, listed, operator.add, schema="array<bigint>", columns=["id"])}


MAX_GAP = 10


def table_of(rows: list[Row], cuts: list[int]) -> pa.Table:
    """Records of a key, a time, a gap in ticks, whether they end their session, a length; their arrival is the id."""
    keys, times, gaps, ends, lengths = ([row[place] for row in rows] for place in range(5))
    until = [
        None if None in (time, length) or not -(2**63) <= time + length < 2**63 else time + length
        for time, length in zip(times, lengths, strict=True)
    ]
    moments = pa.array(until, pa.int64()).cast(pa.timestamp("us"))
    return in_batches(keyed(keys, times, gaps=gaps, out=pa.array(ends, pa.bool_()), until=moments), cuts)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    around = draw(st.sampled_from([0, 0, 10**6, -(10**6), 2**63 - 61, -(2**63) + 21]))
    moment = st.integers(around - 20, around + 60)
    length = st.sampled_from([0, 0, 0, 1, 2, 5, 9, 30, None, -1, -(2**40)])
    row = st.tuples(often(st.integers(1, 3)), often(moment), often(st.integers(-1, 15)), often(st.booleans()), length)
    return table_of(draw(some(row, 40)), draw(st.lists(st.integers(0, 40), max_size=4)))


ENDED_BY_THE_FIRST = table_of([(1, 0, 40, True, 0), (1, 10, 1, False, 0), (1, 30, 1, False, 0)], [])
LONGEST = st.integers(1, 40) | st.sampled_from([None, 2**63 - 1])
POINTS = st.tuples(st.integers(1, 15) | st.none(), LONGEST, st.booleans(), st.just(False))
RULES = POINTS | st.tuples(st.integers(0, 15) | st.none(), LONGEST, st.booleans(), st.just(True))
"""Only records that last may have a gap of zero."""


def windows_of(rule: Rule) -> wr.SessionWindows:
    gap, longest, ends, _ = rule
    rules: dict[str, Any] = {"max_duration": None if longest is None else longest * TICK}
    rules |= {"end_when": "out"} if ends else {}
    if gap is None:
        return wr.SessionWindows.with_dynamic_gap("gap", max_gap=MAX_GAP * TICK, **rules)
    return wr.SessionWindows.with_gap(gap * TICK, **rules)


def records(table: pa.Table) -> list[Record]:
    columns = table["k"].to_pylist(), *(ticks(table[name]) for name in ("ts", "gap", "until")), table["out"].to_pylist()
    return [
        Record((key,), at, row, {"gap": gap, "until": until, "out": out})
        for row, (key, at, gap, until, out) in enumerate(zip(*columns, strict=True))
    ]


def own_gap(record: Record) -> int | None:
    gap: int | None = record.values["gap"]
    return None if gap is None else min(gap, MAX_GAP)


def expected(table: pa.Table, rule: Rule) -> dict[tuple[Any, int, int], list[int]]:
    """The ids of the records of each session, in the order of time, ties as they came."""
    gap, longest, ends, lasts = rule
    of = functools.partial(
        cut_sessions,
        gap_of=own_gap if gap is None else lambda _: gap,
        longest=longest,
        ends=lambda record: ends and record.values["out"],
        end_of=(lambda record: record.values["until"]) if lasts else None,
    )
    found = ((key, *session) for key, own in by_key(records(table)).items() for session in of(own))
    return {(key, start, end): [record.arrival for record in members] for key, start, end, members in found}


def check(answer: pa.Table, wanted: dict[Any, list[int]]) -> None:
    assert {window: values["ids"] for window, values in rows_of(answer, ["k"]).items()} == wanted


def windowed(data: Any, windows: Any, *, lasts: bool = False) -> Any:
    return wr.group_by(data, "k", time="ts", end="until" if lasts else None).windowed_by(windows)


@usually(120)
@given(tables(), RULES, st.integers(1, 5), st.integers(1, 4), st.lists(st.integers(0, 40), max_size=4))
@example(table_of([(1, 0, 1, True, 0), (1, 0, 1, None, 0), (1, 1, 1, False, 0)], []), (1, None, True, False), 1, 1, [])
@example(ENDED_BY_THE_FIRST, (None, None, True, False), 1, 1, [])
def test_oracle_sessions_and_aggregates_on_every_way(
    table: pa.Table, rule: Rule, shards: int, threads: int, cuts: list[int]
) -> None:
    gap, *_, lasts = rule
    wanted = expected(table, rule)
    grouped = windowed(table, windows_of(rule), lasts=lasts).shards(shards).threads(threads)
    answer = grouped.agg(**AGGREGATES)
    check(answer, wanted)
    check(grouped.to_reader(**AGGREGATES).read_all(), wanted)
    check(grouped.agg(**FOLDED), wanted)
    check(after_a_shuffle(grouped._plan(AGGREGATES), table, cuts), wanted)
    check(folded_after_a_shuffle(grouped._plan(FOLDED), table, cuts), wanted)
    of_row = {row: bounds for (_, *bounds), rows in wanted.items() for row in rows}
    tagged = grouped.with_columns(n=wr.count())
    assert [*map(list, window_bounds(tagged))] == [of_row.get(row, [None, None]) for row in range(len(table))]
    counted, members = wr.counters(answer), [each for each in records(table) if None not in (*each.key, each.time)]
    if lasts and gap is not None:
        untils = [each.values["until"] for each in members]
        bad = [end is None or end < each.time for end, each in zip(untils, members, strict=True)]
        assert counted["bad_ends"] == sum(bad)
    if gap is None and not lasts:
        own = lambda record: record.values["gap"]  # noqa: E731
        gaps = bad_gaps(members, own), clamped_gaps(members, own, MAX_GAP)
        assert (counted["bad_gaps"], counted["clamped_gaps"]) == gaps


def test_many_rows_on_threads_in_blocks_and_in_a_reader_are_alike() -> None:
    """Rows enough for several steps, threads and packers, in no order."""
    random, rows = np.random.default_rng(7), 150_000
    many = pa.table(
        {
            "k": random.integers(0, 500, rows),
            "ts": pa.array(random.integers(0, 10_000_000, rows)).cast(pa.timestamp("us")),
            "out": random.random(rows) < 0.05,
        }
    )
    ordered = many.sort_by("ts")
    windows = wr.SessionWindows.with_gap(50_000 * TICK, max_duration=120_000 * TICK, end_when="out")
    wanted = rows_of(windowed(ordered, windows).threads(1).count(), ["k"])
    assert sum(values["count"] for values in wanted.values()) == rows
    for data, threads in ((many, 3), (many.sort_by([("ts", "descending")]), 2)):
        assert rows_of(windowed(data, windows).threads(threads).count(), ["k"]) == wanted
    assert rows_of(windowed(many, windows).to_reader(count=wr.count()).read_all(), ["k"]) == wanted
    plan = windowed(ordered, windows).shards(3)._plan({"count": wr.count()})
    query = Query(plan.spec.text, plan.schema)
    assert rows_of(merged(query, blocks(query, ordered, [50_000, 100_000])), ["k"]) == wanted


@usually(40)
@given(tables(), RULES)
def test_oracle_the_trace_has_the_same_windows(table: pa.Table, rule: Rule) -> None:
    wanted = {(key, *bounds): frozenset(ids) for ((key,), *bounds), ids in expected(table, rule).items()}
    found = {}
    for key in {key for key, *_ in wanted}:
        traced = trace(None, windowed(table, windows_of(rule), lasts=rule[-1]), [key], None, 1_000, argument="key")
        found |= {(key, window.start, window.end): window.rows for window in traced.windows}
    assert found == wanted


CLICKS = pa.table(
    {
        "user": ["ann"] * 5 + ["bob"],
        "ts": all_at(0, 4, 8, 12, 13, 1),
        "logout": [False, False, None, True, False, True],
        "url": ["/", "/a", "/b", "/c", "/d", "/"],
    }
)
CUT = wr.SessionWindows.with_gap("5 minutes", max_duration="10 minutes", end_when="logout")


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_length_counts_in_ticks_rounded_down(unit: str) -> None:
    per = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    times = pa.array([0, per, 2 * per], pa.int64()).cast(pa.timestamp(unit))
    grouped = wr.group_by(pa.table({"user": ["ann"] * 3, "ts": times}), "user", time="ts")
    two = timedelta(seconds=2)
    for longest, sizes in ((two - TICK, [1, 2]), (two, [3]), (two + TICK, [3])):
        windows = wr.SessionWindows.with_gap("1 second", max_duration=longest)
        assert sorted(grouped.windowed_by(windows).count()["count"].to_pylist()) == sizes
    short = wr.SessionWindows.with_gap("1 second", max_duration=TICK)
    if unit in ("s", "ms"):
        with pytest.raises(
            ValueError, match=r"max_duration: got '1 microsecond'; allowed: at least 1 (milli)?second, as"
        ):
            grouped.windowed_by(short)
    else:
        assert grouped.windowed_by(short).count().num_rows == 3


CLICKED = wr.group_by(CLICKS, "user", time="ts")


def refused(error: type[Exception], words: str, call: Callable[[], Any]) -> None:
    with pytest.raises(error, match=words):
        call()


def test_what_an_explanation_does_not_take_is_refused_with_the_reason() -> None:
    ended = wr.SessionWindows.with_gap("5 minutes", grace="1 minute", end_when="logout")
    grouped = CLICKED.windowed_by(ended)
    reason = "stream: got True; allowed: False or None for sessions with rules"
    refused(ValueError, reason, lambda: wr.explain_record(grouped, "ann", at(0), stream=True))
    assert "closes" not in wr.explain_record(grouped, "ann", at(0))  # as a batch
    full = CLICKED.windowed_by(wr.SessionWindows.with_gap("5 minutes", max_records=2))
    refused(ValueError, "windowed: max_records: got 2", lambda: wr.explain_record(full, "ann", at(0)))


def test_it_explains_what_ended_a_session() -> None:
    explained = functools.partial(wr.explain_record, CLICKED.windowed_by(CUT), "ann")
    too_long = "4 minutes away, at most the gap of 5 minutes, but its session would be longer than 10 minutes"
    logout = "1 minute away, at most the gap of 5 minutes, but 'logout' is true at 2026-01-01 08:12:00, which ends its"
    assert f"next record: 2026-01-01 08:12:00, {too_long}: the session ends here" in explained(at(8))
    assert f"previous record: 2026-01-01 08:08:00, {too_long}: the session starts here" in explained(at(12))
    assert f"next record: 2026-01-01 08:13:00, {logout} session: the session ends here" in explained(at(12))
    assert f"previous record: 2026-01-01 08:12:00, {logout} session: the session starts here" in explained(at(13))
    assert "next record: 2026-01-01 08:04:00, 4 minutes away, at most the gap of 5 minutes: one session" in explained(
        at(0)
    )


def test_it_explains_what_ended_a_session_of_own_gaps() -> None:
    gaps = pa.array([timedelta(minutes=minutes) for minutes in (60, 2, 2, 60, 1, 1)])
    table = CLICKS.append_column("pause", gaps)
    windows = wr.SessionWindows.with_dynamic_gap("pause", max_duration="10 minutes", end_when="logout")
    explained = functools.partial(wr.explain_record, wr.group_by(table, "user", time="ts").windowed_by(windows), "ann")
    first = "that of 2026-01-01 08:00:00 with its gap of 1 hour reaches to 2026-01-01 09:00:00"
    too_long = "but its session would be longer than 10 minutes"
    assert f"next record: 2026-01-01 08:12:00; {first}, {too_long}: the session ends here" in explained(at(8))
    assert f"previous record: {first}, {too_long}: the session starts here" in explained(at(12))
    ended = "but 'logout' is true at 2026-01-01 08:12:00, which ends its session"
    assert f"{ended}: the session ends here" in explained(at(12))


def test_a_picture_has_the_sessions_and_no_closing_times() -> None:
    windows = wr.SessionWindows.with_gap("5 minutes", grace="1 minute", max_duration="10 minutes", end_when="logout")
    drawn = timeline(CLICKS, CLICKED.windowed_by(windows), ["ann"])
    assert "max_duration='10 minutes', end_when='logout'" in drawn.svg
    assert "closes" not in drawn.svg
