"""Open windows under another query: what is derivable equals a query over all records, the rest is refused."""

from __future__ import annotations

import operator
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow._arguments.other_query import difference
from windrow.testing import StreamDriver

from ..harness.daily_jobs import days, half_hours, instant, pairs
from ..harness.examples import usually
from ..oracle.records import Record
from ..oracle.sessions import sessions
from ..oracle.sliding import sliding
from ..scenes import at, keyed

TICK, US = timedelta(microseconds=1), pa.timestamp("us")
END = 200


@st.composite
def cuts(draw: st.DrawFn) -> tuple[pa.Table, int]:
    """Up to 30 records of two keys, and the end of the first query."""
    rows = draw(st.lists(st.tuples(st.integers(-20, 80), st.integers(1, 2)), max_size=30))
    return keyed([key for _, key in rows], [time for time, _ in rows]), draw(st.integers(-25, 90))


def of_session(gap: int, grace: int) -> Any:
    return wr.SessionWindows.with_gap(gap * TICK, grace=grace * TICK)


def of_sliding(steps: int, grace: int) -> Any:
    return wr.SlidingWindows.with_time_difference(steps * TICK, grace=grace * TICK)


def appended(held: list[int], row: Any) -> list[int]:
    return [*held, row.id]


def ids() -> Any:
    return wr.aggregate(list, appended, operator.add, columns=["id"], schema="array<bigint>")


BEFORE: dict[str, Any] = {
    "n": wr.count(),
    "low": wr.min("id"),
    "kept": ids(),
    "gone": wr.sum("id"),
    "gone_too": wr.reduce("id", min),
}
AFTER: dict[str, Any] = {
    "most": wr.reduce("id", max),
    "kept": ids(),
    "count": wr.count(),
    "least": wr.min("id"),
    "last": wr.last("id"),
    "n": wr.count(),
    "all": wr.collect_list("id"),
    "double": wr.max("id") * 2,
}
NEW = ("most", "last", "all", "double")


def values_of(members: list[int], old: set[int]) -> dict[str, Any]:
    """The values of `AFTER` over some records, of which `old` came before the aggregates were added."""
    known = {"kept": sorted(members), "count": len(members), "n": len(members), "least": min(members)}
    if old & set(members):
        return {**known, **dict.fromkeys(NEW)}
    return {**known, "most": max(members), "last": members[-1], "all": members, "double": 2 * max(members)}


def two_queries(cut: tuple[pa.Table, int], before: Any, after: Any) -> Any:
    """The run of a query up to the cut, that of another query over the rest, and the records of the first."""
    history, end = cut
    first, second = days(history, [end])
    one = wr.group_by(first, "k", time="ts").windowed_by(before).advance(None, to=instant(end, US), **BEFORE)
    two = wr.group_by(second, "k", time="ts").windowed_by(after)
    return one, two.advance(one.still_open, to=instant(END, US), **AFTER), first


def by_window(table: pa.Table) -> dict[Any, dict[str, Any]]:
    """The values of windows; those of `kept` and `all` in order."""
    found = {}
    for row in table.to_pylist():
        window = (row["k"], *(pa.scalar(row["window"][bound], pa.timestamp("us")).value for bound in ("start", "end")))
        assert window not in found
        found[window] = {name: row[name] for name in AFTER}
        found[window]["kept"] = sorted(row["kept"])
    return found


def records_of(history: pa.Table, key: int, without: set[int]) -> list[Record]:
    """The records of a key, without those that a closed session has."""
    return [
        Record((key,), pa.scalar(row["ts"], pa.timestamp("us")).value, row["id"])
        for row in history.to_pylist()
        if row["k"] == key and row["id"] not in without
    ]


@usually(80)
@given(cuts(), st.integers(1, 9), st.integers(0, 6), st.integers(0, 7), st.integers(0, 6))
def test_sessions_continue_under_another_query(
    cut: tuple[pa.Table, int], gap: int, grace: int, more: int, other: int
) -> None:
    """Closed sessions stay closed. All other records make the sessions of the longer gap."""
    one, two, first = two_queries(cut, of_session(gap, grace), of_session(gap + more, other))
    closed = {number for row in one.closed.to_pylist() for number in row["kept"]}
    old = set(first["id"].to_pylist())
    expected = {}
    for key in (1, 2):
        for start, end, members in sessions(records_of(cut[0], key, closed), gap + more):
            expected[key, start, end] = values_of([member.arrival for member in members], old)
    assert by_window(two.closed) == expected


@usually(80)
@given(cuts(), st.integers(1, 6), st.integers(0, 5), st.integers(0, 5))
def test_sliding_windows_continue_under_another_query(
    cut: tuple[pa.Table, int], difference: int, grace: int, other: int
) -> None:
    """The second query closes all windows that the first has not closed."""
    _, two, first = two_queries(cut, of_sliding(difference, grace), of_sliding(difference, other))
    old = set(first["id"].to_pylist())
    expected = {}
    for key in (1, 2):
        for start, end, members in sliding(records_of(cut[0], key, set()), difference, 1):
            if end >= cut[1] - grace:
                expected[key, start, end] = values_of([member.arrival for member in members], old)
    assert by_window(two.closed) == expected


@pytest.mark.parametrize("added", [wr.max("id"), wr.sum("id").where("odd")], ids=repr)
def test_an_aggregate_may_read_the_column_of_a_python_function(added: Any) -> None:
    history = pairs(("ann", 0), ("ann", 10), ("bob", 40)).append_column("odd", pa.array([True] * 3))
    first, second = history[:1].append_column("id", [[0]]), history[1:].append_column("id", [[0, 1]])
    kept: dict[str, Any] = {"kept": wr.reduce("id", max)}
    run = half_hours(first).advance(None, to=at(5), **kept)
    both = half_hours(second).advance(run.still_open, to=at(200), **kept, added=added)
    assert both.closed["kept"].to_pylist() == [0, 1]
    assert both.closed["added"].is_null().to_pylist() == [True, False]
    again = half_hours(first).advance(None, to=at(5), **kept, added=added)
    assert half_hours(second).advance(again.still_open, to=at(200), **kept).closed["kept"].to_pylist() == [0, 1]


def advanced(windows: Any, opened: Any = None, **options: Any) -> Any:
    day = pa.table({"user": ["ann"], "ts": pa.array([at(0)], pa.timestamp("us")), "x": [1.5], "other": [2]})
    return wr.group_by(day, "user", time="ts").windowed_by(windows).advance(opened, to=at(10), **options)


SESSIONS = wr.SessionWindows.with_gap("30 minutes")
OPEN = advanced(SESSIONS, n=wr.count(), x=wr.sum("x"), f=wr.reduce("x", min)).still_open


N = {"n": wr.count()}
with_gap = wr.SessionWindows.with_gap


@pytest.mark.parametrize(
    ("windows", "aggregates", "says"),
    [
        (with_gap("29 minutes"), N, "gap was 30 minutes, is 29 minutes"),
        (with_gap("1 hour", max_duration="2 hours"), N, "gap was .*, is 1 hour; max_duration was none, is 2 hours"),
        (wr.SlidingWindows.with_time_difference("30 minutes"), N, "windows were sessions, are sliding windows"),
        (SESSIONS, {"x": wr.sum("other")}, r"the aggregate \"x\" was sum\('x'\), is sum\('other'\)"),
        (SESSIONS, {"f": wr.sum("x")}, r"the aggregate \"f\" was a Python function\('x'\), is sum\('x'\)"),
        (SESSIONS, {"f": wr.reduce("other", min)}, 'the aggregate "f" was a Python function'),
    ],
)
def test_what_cannot_be_derived_is_refused_with_the_difference(
    windows: Any, aggregates: dict[str, Any], says: str
) -> None:
    allowed = "allowed: the same keys and windows; .* and the gap may now be longer"
    with pytest.raises(ValueError, match=f"^open: the open windows are of another query: {says}.*; {allowed}"):
        advanced(windows, OPEN, **aggregates)


ZONES = {"UTC": pa.timestamp("us", "UTC"), "Berlin": pa.timestamp("us", "Europe/Berlin"), "none": pa.timestamp("us")}
UNITS = {unit: pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")}  # type: ignore[arg-type]


def visits(kind: pa.DataType = ZONES["none"], *minutes: int, key: pa.DataType = ZONES["none"]) -> pa.Table:
    """Records of one user, with two names for each column of a rule."""
    rows = len(minutes)
    columns: dict[str, Any] = {name: pa.repeat(False, rows) for name in ("end", "finish", "begin", "enter")}
    columns |= {name: pa.array(range(rows), pa.int64()) for name in ("seq", "number")}
    columns |= {name: pa.repeat("a", rows) for name in ("page", "place")}
    columns["ts"] = pa.array([60 * minute for minute in minutes], pa.timestamp("s")).cast(kind)
    return pa.table({"user": pa.array([0] * rows, pa.int64()).cast(key), **columns})


def of_visits(data: Any, *, tie: str | None = None, grace: Any = None, **rules: Any) -> Any:
    return wr.group_by(data, "user", time="ts", tie=tie).windowed_by(with_gap("30 minutes", grace=grace, **rules))


def continued(before: pa.Table, after: pa.Table, one: dict[str, Any], other: dict[str, Any]) -> list[dict[str, Any]]:
    """The sessions of a query that continues the open windows of another, and of a driver that does."""
    aggregates: dict[str, Any] = {"n": wr.count(), "last": wr.max("ts")}
    run = of_visits(before, **one).advance(None, to=end_of(before, 30), **aggregates)
    run = of_visits(after, **other).advance(run.still_open, to=end_of(after, 300), **aggregates)
    rows: list[dict[str, Any]] = run.closed.to_pylist()

    def driver(data: pa.Table, rules: dict[str, Any]) -> StreamDriver:
        return StreamDriver(lambda data: of_visits(data, grace="1 minute", **rules).agg(**aggregates), data.schema)

    first = driver(before, one)
    first.pipe_batch(before)
    second = driver(after, other).restore(first.snapshot())
    second.pipe_batch(after)
    second.finish()
    assert second.read_table().to_pylist() == rows
    return rows


def end_of(data: pa.Table, minutes: int) -> datetime:
    """A time as the time column shows it."""
    kind: Any = data.schema.field("ts").type
    return instant_of(minutes).replace(tzinfo=kind.tz and UTC)


def instant_of(minutes: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"end_when": "end"}, {"end_when": "finish"}),
        ({"start_when": "begin"}, {"start_when": "enter"}),
        ({"end_when": "end", "tie": "seq"}, {"end_when": "end", "tie": "number"}),
    ],
)
def test_the_columns_of_rules_and_ties_may_have_other_names(one: dict[str, Any], other: dict[str, Any]) -> None:
    utc = ZONES["UTC"]
    assert [row["n"] for row in continued(visits(utc, 5, 25), visits(utc, 45), one, other)] == [3]


@pytest.mark.parametrize(("one", "other"), [("UTC", "Berlin"), ("Berlin", "UTC")])
def test_times_may_have_another_zone(one: str, other: str) -> None:
    before, after = (visits(ZONES[zone], *at, key=ZONES[zone]) for zone, at in ((one, (5, 25)), (other, (45,))))
    (row,) = continued(before, after, {}, {})
    assert (row["user"], row["n"], row["last"]) == (instant_of(0), 3, instant_of(45))


@pytest.mark.parametrize(
    ("one", "other", "says"),
    [
        ({"cut_on": ["page"]}, {"cut_on": ["place"]}, "cut_on was 'page', is 'place'"),
        ({"end_when": "end"}, {}, "end_when was 'end', is none"),
        ({}, {"start_when": "begin"}, "start_when was none, is 'begin'"),
        ({"max_records": 9, "tie": "seq"}, {"max_records": 9}, "tie was 'seq', is none"),
    ],
)
def test_what_windows_hold_is_the_same(one: dict[str, Any], other: dict[str, Any], says: str) -> None:
    history = visits(ZONES["UTC"], 5, 25)
    with pytest.raises(ValueError, match=f"open: the open windows are of another query: .*{says}"):
        continued(history, visits(ZONES["UTC"]), one, other)


@pytest.mark.parametrize(
    ("before", "after"),
    [(ZONES["none"], ZONES["UTC"]), (UNITS["us"], UNITS["ns"]), (UNITS["ns"], UNITS["us"]), (UNITS["ms"], UNITS["s"])],
)
def test_times_of_another_type_are_refused_with_a_cast_that_works(before: pa.DataType, after: pa.DataType) -> None:
    history, table = visits(before, 5, 25), visits(after, 35)
    says = f"open: column 'ts' was {before} in the run before, and is {after} now; allowed: a {before}: "
    with pytest.raises(ValueError, match=f"^{re.escape(says)}") as refused:
        continued(history, table, {}, {})
    cast = str(refused.value).removeprefix(says).removesuffix("; or None to begin anew")
    place = table.column_names.index("ts")
    continued(history, table.set_column(place, "ts", eval(cast, {"table": table, "pyarrow": pa})), {}, {})


def test_a_time_with_more_digits_than_the_next_query_has_is_no_damage() -> None:
    history = visits(UNITS["ns"], 5)
    times = pa.array([5 * 60 * 10**9 + 1], pa.int64()).cast(pa.timestamp("ns"))
    history = history.set_column(history.column_names.index("ts"), "ts", times)
    with pytest.raises(ValueError, match=r"was timestamp\[ns\] in the run before, and is timestamp\[us\] now"):
        continued(history, visits(UNITS["us"]), {}, {})


def test_the_values_that_cut_sessions_keep_their_type() -> None:
    before, rules = visits(ZONES["UTC"], 5), {"cut_on": ["page"]}
    after = before.set_column(before.column_names.index("page"), "page", pa.array([1]))
    with pytest.raises(ValueError, match='column "page" was string, is int64'):
        continued(before, after[:0], rules, rules)


def of_gap(microseconds: int) -> dict[str, Any]:
    return {"windows": {"kind": "session", "gap": microseconds, "gap_column": None}}


COUNT = {"name": "n", "function": "count", "columns": []}
SUM = {"name": "n", "function": "sum", "columns": ["x"], "where": "paid"}
FIRST_INPUT = {"name": "n", "function": "top_k", "columns": ["x"], "most": 3, "input": 0, "ignore_nulls": False}
STEPS = [f"step {number}" for number in range(20)]
FUNNEL = {"name": "n", "function": "funnel", "columns": ["x"], "funnel": {"within": 1_500, "values": ["a"]}}


@pytest.mark.parametrize(
    ("saved", "own", "says"),
    [
        (of_gap(5_400_000_000), of_gap(1), "gap was 1 hour 30 minutes, is 1 microsecond"),
        (of_gap(5), of_gap(5_001) | {"nanoseconds": True}, "gap was 5 microseconds, is 5001 nanoseconds"),
        ({"until": None}, {"until": 1_000}, "retention was none, is 1 millisecond"),
        ({"until": None}, {"until": 0}, "retention was none, is 0 seconds"),
        ({"keys": ["a"]}, {"keys": ["windrow.series"]}, "keys were 'a', are none"),
        ({"tie": "a"}, {}, "tie was 'a', is none"),
        ({"inputs": None}, {"inputs": {"count": 2}}, "the query was of one input, is a cogroup of 2 inputs"),
        ({"over": True}, {}, "the query was with_columns(...), is agg(...)"),
        ({"aggregates": [COUNT]}, {"aggregates": [COUNT, SUM]}, "the aggregate n=sum('x').where('paid') is new"),
        ({"aggregates": [FIRST_INPUT]}, {}, "the aggregate n=top_k('x', most=3, input=0) was there"),
        (
            {"aggregates": [FUNNEL], "nanoseconds": True},
            {},
            'the aggregate n=funnel(["a"], column=\'x\', within="1500 nanoseconds") was there',
        ),
        (
            {"aggregates": [{**FUNNEL, "funnel": {"values": STEPS, "within": 60_000_000}}]},
            {"aggregates": [{**FUNNEL, "funnel": {"values": STEPS, "within": None, "strict": True}}]},
            'the aggregate "n" was funnel(["step 0","st...p 19"], column=\'x\', within="1 minute"), '
            'is funnel(["step 0","st...p 19"], column=\'x\', strict=true)',
        ),
        (
            {"aggregates": [COUNT], "results": ["int32"]},
            {"aggregates": [COUNT], "results": ["int64"]},
            "the type of n=count() was int32, is int64",
        ),
        ({"types": {"x": "int64", "gone": "int64"}}, {"types": {"x": "float64"}}, 'column "x" was int64, is double'),
        (
            {"types": {"windrow.row": {"x": "int64", "y": "int64"}}},
            {"types": {"windrow.row": {"x": "int64", "z": "int64"}}},
            'column "y" was there; column "z" is new',
        ),
        ({}, {}, "another version of windrow wrote it"),
    ],
)
def test_each_difference_is_in_the_words_of_the_api(saved: dict[str, Any], own: dict[str, Any], says: str) -> None:
    assert difference(saved, own) == says


def test_many_and_long_differences_are_cut() -> None:
    saved, own = ({"types": {f"c{nth}": kind for nth in range(9)}} for kind in ("a" * 500, "b"))
    says = difference(saved, own)
    assert says.endswith("; and 6 more")
    assert len(says) < 500
