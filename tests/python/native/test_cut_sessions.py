"""Sessions with `longest` and `ends` are the oracle's: in this process, through Spark's two steps, in order of time."""

from __future__ import annotations

import functools
import pickle
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given
from hypothesis import settings as limits
from hypothesis import strategies as st

import windrow as wr
from windrow import _worker
from windrow.plan import Plan
from windrow.plot import timeline
from windrow.testing import StreamDriver
from windrow.trace.query import trace

from ..harness.families import often, some
from ..harness.tables import cut, in_batches, rows_of, ticks
from ..oracle.cut_sessions import cut_sessions
from ..oracle.records import Record, by_key

TICK = timedelta(microseconds=1)
Row = tuple[int | None, int | None, int | None, bool | None]
Rule = tuple[int | None, int | None, bool]
"""The gap of all records, or none where each has its own; the longest session; whether records end sessions."""


def listed(held: list[int], row: Any) -> list[int]:
    return [*held, row.id]


def joined(one: list[int], other: list[int]) -> list[int]:
    return one + other


ASKED = {
    "n": wr.count(),
    "ids": wr.collect_list("id"),
    "total": wr.sum("v"),
    "odd": wr.count().where("odd"),
    "last": wr.last("v"),
    "mean": wr.sum("v") / wr.count(),
}
FOLDED = {
    "n": wr.count(),
    "ids": wr.aggregate(list, listed, joined, schema="array<bigint>", columns=["id"]),
    "least": wr.reduce("v", min),
}


def table_of(rows: list[Row], cuts: list[int]) -> pa.Table:
    """Records of a key, a time, a gap in ticks and whether they end their session; their arrival is the id."""
    keys, times, gaps, ends = ([row[place] for row in rows] for place in range(4))
    columns = {
        "k": pa.array(keys, pa.int64()),
        "ts": pa.array(times, pa.int64()).cast(pa.timestamp("us")),
        "gap": pa.array(gaps, pa.int64()).cast(pa.duration("us")),
        "out": pa.array(ends, pa.bool_()),
        "id": pa.array(range(len(rows)), pa.int64()),
        "v": pa.array([row * row % 31 for row in range(len(rows))], pa.int64()),
        "odd": pa.array([row % 2 == 1 for row in range(len(rows))], pa.bool_()),
    }
    return in_batches(pa.table(columns), cuts)


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
        return wr.SessionWindows.with_dynamic_gap("gap", longest=limit, ends=column)
    return wr.SessionWindows.with_gap(gap * TICK, longest=limit, ends=column)


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


def check(answer: pa.Table, wanted: dict[Any, list[Record]], *, ordered: bool = True) -> None:
    """The windows and aggregates of the oracle; lists in the order of time, and `ordered` ties as they came."""
    got = rows_of(answer, ["k"])
    assert got.keys() == wanted.keys()
    for window, members in wanted.items():
        found, values = got[window], [record.values["v"] for record in members]
        assert found["n"] == len(members)
        ids = [record.arrival for record in members]
        assert found["ids"] == ids if ordered else sorted(found["ids"]) == sorted(ids)
        if "total" in found:
            assert (found["total"], found["last"]) == (sum(values), values[-1])
            assert found["odd"] == sum(record.arrival % 2 for record in members)
            assert found["mean"] == pytest.approx(sum(values) / len(values))
        else:
            assert found["least"] == min(values)


def windowed(data: Any, windows: Any) -> Any:
    return wr.group_by(data, "k", time="ts").windowed_by(windows)


def blocks(query: Any, table: pa.Table, cuts: list[int]) -> pa.Table | None:
    """What the first step makes of the splits of a table, sorted as Spark sorts it."""
    packed = []
    for split, rows in enumerate(cut(table, cuts)):
        packer = query.packer(split)
        packed += [*packer.push(rows), *packer.finish()]
    if not packed:
        return None
    return pa.Table.from_batches(packed).sort_by([("shard", "ascending"), ("first", "ascending")])


def merged(query: Any, packed: pa.Table | None) -> pa.Table:
    merger = query.merger()
    some = [] if packed is None else [one for batch in packed.to_batches(7) for one in merger.push(batch)]
    return pa.Table.from_batches([*some, *merger.finish()], query.output_schema)


def after_a_shuffle(plan: Plan, table: pa.Table, cuts: list[int]) -> pa.Table:
    query = _worker.query(plan.spec, plan.schema)
    answer = merged(query, blocks(query, table.select(plan.schema.names), cuts))
    assert plan.finish is not None
    finish = plan.finish.typed(answer.schema)
    return pa.Table.from_batches(finish.batches(iter(answer.to_batches())), finish.schema(answer.schema))


def folded_after_a_shuffle(plan: Plan, table: pa.Table, cuts: list[int]) -> pa.Table:
    packed = blocks(_worker.rows_query(plan.spec_in_order, plan.schema), table.select(plan.schema.names), cuts)
    functions = tuple(pickle.dumps(function) for function in plan.functions.values())
    schema = plan.schema.serialize().to_pybytes()
    found = _worker.fold(iter(packed.to_batches(3) if packed else []), plan.spec_in_order, schema, {}, functions)
    return pa.Table.from_batches(
        list(found), _worker.operator(plan.spec_in_order, plan.schema, plan.folds()).output_schema
    )


@limits(max_examples=80)
@given(tables(), RULES, st.integers(1, 5), st.lists(st.integers(0, 40), max_size=4))
@example(table_of([(1, 0, 1, True), (1, 0, 1, None), (1, 1, 1, False)], []), (1, None, True), 1, [])
@example(table_of([(1, 0, 40, True), (1, 10, 1, False), (1, 30, 1, False)], []), (None, None, True), 1, [])
def test_oracle_sessions_and_aggregates_on_every_way(table: pa.Table, rule: Rule, shards: int, cuts: list[int]) -> None:
    wanted, grouped = expected(table, rule), windowed(table, windows_of(rule)).shards(shards)
    check(grouped.agg(**ASKED), wanted)
    check(grouped.to_reader(**ASKED).read_all(), wanted)
    check(grouped.agg(**FOLDED), wanted)
    check(after_a_shuffle(grouped._plan(ASKED), table, cuts), wanted)
    check(folded_after_a_shuffle(grouped._plan(FOLDED), table, cuts), wanted)


@limits(max_examples=50)
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
    asked = {"n": wr.count(), "ids": wr.collect_list("id"), "window_id": wr.window_id()}
    grouped = windowed(shuffled, windows_of(rule))
    here = grouped.with_columns(**asked)
    assert here.select(table.column_names).replace_schema_metadata(None).equals(shuffled)
    query = _worker.over_query(grouped._plan(asked, rows=True).spec, shuffled.schema)
    numbers = set()
    for answer in (here, merged(query, blocks(query, shuffled, cuts))):
        assert sorted(answer["id"].to_pylist()) == list(range(table.num_rows))
        shown = answer["window"].combine_chunks()
        bounds = zip(ticks(pc.struct_field(shown, "start")), ticks(pc.struct_field(shown, "end")), strict=True)
        for row, (start, end) in zip(_plain(answer), bounds, strict=True):
            left_out = (None, None, None)
            ids = None if row["ids"] is None else sorted(row["ids"])
            assert (start, end, ids) == wanted.get(row["id"], left_out)
            assert row["n"] == (None if ids is None else len(ids))
            numbers.add((row["k"] if ids else None, start, row["window_id"]))
    assert len({number for *_, number in numbers}) == len(numbers)


def _plain(answer: pa.Table) -> list[dict[str, Any]]:
    """The rows without times, some of which Python has no `datetime` for."""
    return answer.select(["k", "id", "n", "ids", "window_id"]).to_pylist()


@limits(max_examples=20)
@given(tables(), RULES)
def test_a_length_that_no_session_reaches_changes_nothing(table: pa.Table, rule: Rule) -> None:
    gap = rule[0]
    plain = windowed(table, windows_of((gap, None, False))).agg(**ASKED)
    cut_nowhere = windowed(table, windows_of((gap, 2**63 - 1, False))).agg(**ASKED)
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
    windows = wr.SessionWindows.with_gap(50_000 * TICK, longest=120_000 * TICK, ends="out")
    for data, threads in ((many, 3), (many.sort_by("ts"), 1), (many.sort_by([("ts", "descending")]), 2)):
        began = time.perf_counter()
        answer = windowed(data, windows).threads(threads).count()
        took = time.perf_counter() - began
        assert counts(answer) == wanted
        assert took < looped
    assert counts(windowed(many, windows).to_reader(count=wr.count()).read_all()) == wanted
    plan = windowed(many.sort_by("ts"), windows).shards(3)._plan({"count": wr.count()})
    query = _worker.query(plan.spec, plan.schema)
    assert counts(merged(query, blocks(query, many.sort_by("ts"), [50_000, 100_000]))) == wanted


def counts(answer: pa.Table) -> dict[Any, int]:
    shown = answer["window"].combine_chunks()
    bounds = ticks(pc.struct_field(shown, "start")), ticks(pc.struct_field(shown, "end"))
    found = dict(zip(zip(answer["k"].to_pylist(), *bounds, strict=True), answer["count"].to_pylist(), strict=True))
    assert len(found) == answer.num_rows
    return found


def at(*minutes: float) -> list[datetime]:
    return [datetime(2026, 1, 1, 8) + timedelta(minutes=minute) for minute in minutes]


CLICKS = pa.table(
    {
        "user": ["ann"] * 5 + ["bob"],
        "ts": at(0, 4, 8, 12, 13, 1),
        "logout": [False, False, None, True, False, True],
        "url": ["/", "/a", "/b", "/c", "/d", "/"],
    }
)
CUT = wr.SessionWindows.with_gap("5 minutes", longest="10 minutes", ends="logout")
SESSIONS = [("ann", *at(0, 8), 3), ("ann", *at(12, 12), 1), ("ann", *at(13, 13), 1), ("bob", *at(1, 1), 1)]


def shown(answer: pa.Table) -> list[tuple[Any, ...]]:
    rows = ((row["user"], row["window"]["start"], row["window"]["end"], row["n"]) for row in answer.to_pylist())
    return sorted(rows)


LIBRARIES: dict[str, Callable[[], Any]] = {
    "pyarrow": lambda: CLICKS,
    "batches": lambda: CLICKS.to_batches(max_chunksize=2),
    "polars": lambda: pl.from_arrow(CLICKS),
    "lazy": lambda: pl.from_arrow(CLICKS).lazy(),
    "duckdb": lambda: duckdb.from_arrow(CLICKS),
    "pandas": lambda: pd.DataFrame(CLICKS.drop_columns("logout").to_pydict()).assign(
        logout=pd.array(CLICKS["logout"].to_pylist(), dtype="boolean")
    ),
    "dictionary": lambda: CLICKS.set_column(0, "user", CLICKS["user"].dictionary_encode()),
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_any_library_gives_the_same(library: str) -> None:
    data = LIBRARIES[library]()
    assert shown(wr.group_by(data, "user", time="ts").windowed_by(CUT).agg(n=wr.count())) == SESSIONS


def test_bounds_as_columns_and_counters_go_along() -> None:
    table = pa.concat_tables([CLICKS, CLICKS.slice(0, 1).set_column(0, "user", pa.array([None], pa.string()))])
    grouped = wr.group_by(table, "user", time="ts").windowed_by(CUT).flat()
    with pytest.warns(wr.LeftOut, match="1 of 7 records"):
        answer = grouped.count()
    assert answer.column_names == ["user", "window_start", "window_end", "count"]
    assert wr.counters(answer)["windows"] == 4
    updates = wr.group_by(CLICKS, "user", time="ts").windowed_by(CUT).emit("update").count()
    assert updates["op"].to_pylist() == ["upsert"] * 4


def test_what_is_left_out_ends_no_session() -> None:
    gaps = pa.array([timedelta(minutes=minutes) for minutes in (5, 5, 5, 0, 5, 5)])
    table = CLICKS.append_column("pause", gaps)
    tick = table.append_column("tick", pa.array([False, False, False, True, False, False]))
    windows = wr.SessionWindows.with_dynamic_gap("pause", ends="logout")
    with pytest.warns(wr.LeftOut):
        answer = wr.group_by(table, "user", time="ts").windowed_by(windows).agg(n=wr.count())
    assert shown(answer) == [("ann", *at(0, 13), 4), ("bob", *at(1, 1), 1)]
    fixed = wr.SessionWindows.with_gap("5 minutes", ends="logout")
    ticking = wr.group_by(tick, "user", time="ts", tick="tick").windowed_by(fixed).agg(n=wr.count())
    assert shown(ticking) == [("ann", *at(0, 13), 4), ("bob", *at(1, 1), 1)]


def test_a_cogroup_is_cut_by_a_column_of_one_input() -> None:
    orders = pa.table({"user": ["ann", "ann"], "paid": at(3, 11), "amount": [30, 40]})
    both = wr.cogroup(clicks=wr.group_by(CLICKS, "user", time="ts"), orders=wr.group_by(orders, "user", time="paid"))
    windows = wr.SessionWindows.with_gap("5 minutes", longest="11 minutes", ends="clicks.logout")
    asked = {"n": wr.count(), "clicks": wr.count("clicks.*"), "spent": wr.sum("orders.amount")}
    wanted = [("ann", *at(0, 11), 5), ("ann", *at(12, 12), 1), ("ann", *at(13, 13), 1), ("bob", *at(1, 1), 1)]
    answer = both.windowed_by(windows).agg(**asked)
    assert shown(answer) == wanted
    assert sorted(answer["spent"].to_pylist(), key=str) == [70, None, None, None]
    folded = both.windowed_by(windows).agg(n=wr.count(), most=wr.reduce("orders.amount", max))
    assert shown(folded) == wanted
    with pytest.raises(ValueError, match=r"ends: got 'logout'.*'clicks\.logout'"):
        both.windowed_by(wr.SessionWindows.with_gap("5 minutes", ends="logout"))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_length_counts_in_ticks_rounded_down(unit: str) -> None:
    per = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    times = pa.array([0, per, 2 * per], pa.int64()).cast(pa.timestamp(unit))
    grouped = wr.group_by(pa.table({"user": ["ann"] * 3, "ts": times}), "user", time="ts")
    two = timedelta(seconds=2)
    for longest, sizes in ((two - TICK, [1, 2]), (two, [3]), (two + TICK, [3])):
        windows = wr.SessionWindows.with_gap("1 second", longest=longest)
        assert sorted(grouped.windowed_by(windows).count()["count"].to_pylist()) == sizes
    short = wr.SessionWindows.with_gap("1 second", longest=TICK)
    if unit in ("s", "ms"):
        with pytest.raises(ValueError, match=r"longest: got '1 microsecond'; allowed: at least 1 (milli)?second, as"):
            grouped.windowed_by(short)
    else:
        assert grouped.windowed_by(short).count().num_rows == 3


def refused(error: type[Exception], words: str, call: Callable[[], Any]) -> None:
    with pytest.raises(error, match=words):
        call()


def test_wrong_arguments_are_errors_at_the_call() -> None:
    with_gap, dynamic = wr.SessionWindows.with_gap, wr.SessionWindows.with_dynamic_gap
    refused(ValueError, "longest: got '0 seconds'", lambda: with_gap("1 second", longest="0 seconds"))
    refused(TypeError, "longest: got 30, an int", lambda: with_gap("1 second", longest=30))  # type: ignore[arg-type]
    refused(ValueError, "longest: got '1 month'", lambda: dynamic("pause", longest="1 month"))
    refused(ValueError, "ends: got ''", lambda: with_gap("1 second", ends=""))
    refused(TypeError, "ends: got True, a bool", lambda: dynamic("pause", ends=True))  # type: ignore[arg-type]
    refused(TypeError, "grace='1 hour', longest='2 hours'", lambda: with_gap("1 second", "1 hour", "2 hours"))  # type: ignore[arg-type]
    refused(TypeError, "did you mean 'longest'", lambda: dynamic("pause", longst="1 hour"))  # type: ignore[call-arg]
    grouped = wr.group_by(CLICKS, "user", time="ts")
    refused(ValueError, "ends: got 'out'.*'logout'", lambda: grouped.windowed_by(with_gap("1 second", ends="out")))
    refused(
        TypeError,
        "ends: column 'url' has type string; allowed: a boolean",
        lambda: grouped.windowed_by(with_gap("1 second", ends="url")),
    )
    nanoseconds = CLICKS.set_column(1, "ts", CLICKS["ts"].cast(pa.timestamp("ns")))
    far = with_gap("1 second", longest=timedelta(days=200_000))
    refused(
        ValueError,
        "longest: got '28571 weeks 3 days'; allowed: at most 15250 weeks",
        lambda: wr.group_by(nanoseconds, "user", time="ts").windowed_by(far),
    )


def test_windows_show_the_call_that_makes_them_and_are_values() -> None:
    dynamic = wr.SessionWindows.with_dynamic_gap("pause", longest_gap="1 hour", longest="2 hours", ends="out")
    made = "SessionWindows.with_dynamic_gap('pause', longest_gap='1 hour', longest='2 hours', ends='out')"
    assert repr(dynamic) == made
    assert repr(CUT) == "SessionWindows.with_gap('5 minutes', longest='10 minutes', ends='logout')"
    assert eval(repr(CUT), {"SessionWindows": wr.SessionWindows}) == CUT
    assert wr.SessionWindows.with_gap("5 minutes", ends=pl.col("logout")).ends == "logout"
    assert pickle.loads(pickle.dumps(CUT)) == CUT != wr.SessionWindows.with_gap("5 minutes")
    until = wr.SessionWindows.with_gap("5 minutes", grace="0 seconds", longest="1 hour").until("1 day")
    assert (until.longest, until.retention) == (3_600_000_000, 86_400_000_000)


@pytest.mark.parametrize(
    ("options", "named"), [({"longest": "1 hour"}, "longest: got '1 hour'"), ({"ends": "logout"}, "ends: got 'logout'")]
)
def test_a_stream_is_refused_with_the_reason(options: dict[str, str], named: str) -> None:
    windows = wr.SessionWindows.with_gap("5 minutes", grace="1 minute", **options)  # type: ignore[arg-type]

    def visits(data: Any) -> Any:
        return wr.group_by(data, "user", time="ts").windowed_by(windows).agg(n=wr.count())

    reason = f"{named}; allowed: None on a stream: .* a record that comes behind others would move the cuts"
    refused(ValueError, reason, lambda: StreamDriver(visits, CLICKS.schema))
    grouped = wr.group_by(CLICKS, "user", time="ts").windowed_by(windows)
    refused(ValueError, reason, lambda: wr.explain(grouped, "ann", at(0)[0], stream=True))
    assert "closes" not in wr.explain(grouped, "ann", at(0)[0])  # as a batch


def test_it_is_told_what_ended_a_session() -> None:
    told = functools.partial(wr.explain, wr.group_by(CLICKS, "user", time="ts").windowed_by(CUT), "ann")
    too_long = "4 minutes away, at most the gap of 5 minutes, but its session would be longer than 10 minutes"
    logout = "1 minute away, at most the gap of 5 minutes, but 'logout' is true at 2026-01-01 08:12:00, which ends its"
    assert f"behind it: 2026-01-01 08:12:00, {too_long}: the session ends here" in told(at(8)[0])
    assert f"before it: 2026-01-01 08:08:00, {too_long}: the session starts here" in told(at(12)[0])
    assert f"behind it: 2026-01-01 08:13:00, {logout} session: the session ends here" in told(at(12)[0])
    assert f"before it: 2026-01-01 08:12:00, {logout} session: the session starts here" in told(at(13)[0])
    assert "behind it: 2026-01-01 08:04:00, 4 minutes away, at most the gap of 5 minutes: one session" in told(at(0)[0])


def test_it_is_told_what_ended_a_session_of_own_gaps() -> None:
    gaps = pa.array([timedelta(minutes=minutes) for minutes in (60, 2, 2, 60, 1, 1)])
    table = CLICKS.append_column("pause", gaps)
    windows = wr.SessionWindows.with_dynamic_gap("pause", longest="10 minutes", ends="logout")
    told = functools.partial(wr.explain, wr.group_by(table, "user", time="ts").windowed_by(windows), "ann")
    first = "that of 2026-01-01 08:00:00 with its gap of 1 hour reaches to 2026-01-01 09:00:00"
    too_long = "but its session would be longer than 10 minutes"
    assert f"behind it: 2026-01-01 08:12:00; {first}, {too_long}: the session ends here" in told(at(8)[0])
    assert f"before it: {first}, {too_long}: the session starts here" in told(at(12)[0])
    ended = "but 'logout' is true at 2026-01-01 08:12:00, which ends its session"
    assert f"{ended}: the session ends here" in told(at(12)[0])


@limits(max_examples=40)
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


def test_a_picture_has_the_sessions_and_no_closing_times() -> None:
    windows = wr.SessionWindows.with_gap("5 minutes", grace="1 minute", longest="10 minutes", ends="logout")
    drawn = timeline(CLICKS, wr.group_by(CLICKS, "user", time="ts").windowed_by(windows), ["ann"])
    assert "longest='10 minutes', ends='logout'" in drawn.svg
    assert "closes" not in drawn.svg
