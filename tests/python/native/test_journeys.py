"""`funnel`, `funnel_times` and `path`: how users get through a window, against a search of all chains and SQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from math import inf
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr

from ..harness.examples import usually
from ..harness.families import often, some
from ..harness.shuffle import after_a_shuffle
from ..harness.tables import KINDS, arrow, in_batches, records, rows_of
from ..oracle.journeys import funnel, funnel_times
from ..oracle.records import Record, by_key, in_order
from ..scenes import TICK, all_at

EPOCH = datetime(1970, 1, 1)
STEPS = ["view", "cart", "pay"]
EVENTS = [*STEPS, "search"]
FLAGS = ["a", "b", "c"]


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Events of two keys near time 0 with ties and nulls: a step or none by name, and any of three flags."""
    flag = st.sampled_from([True, True, False, None])
    row = st.tuples(st.integers(1, 2), st.integers(-12, 24), often(st.sampled_from(EVENTS)), flag, flag, flag)
    rows = draw(some(row, 20))
    keys, times, events, *flags = (list(column) for column in zip(*rows, strict=True)) if rows else [[]] * 6
    columns = {
        "k": pa.array(keys, pa.int64()),
        "ts": pa.array(times, pa.int64()).cast(pa.timestamp("us")),
        "event": pa.array(events, pa.string()),
        "code": pa.array([None if event is None else EVENTS.index(event) for event in events], pa.int32()),
    }
    columns |= {name: pa.array(column, pa.bool_()) for name, column in zip(FLAGS, flags, strict=True)}
    return in_batches(pa.table(columns), draw(st.lists(st.integers(0, 20), max_size=3)))


def by_value(record: Record) -> frozenset[int]:
    """The step of an event."""
    event = record.values["event"]
    return frozenset([STEPS.index(event)] if event in STEPS else [])


def by_flags(record: Record) -> frozenset[int]:
    """The steps whose flags are true."""
    return frozenset(step for step, name in enumerate(FLAGS) if record.values[name])


def asked_for(within: int | None, strict: bool) -> dict[str, wr.Aggregate]:
    options: dict[str, Any] = {"within": None if within is None else within * TICK, "strict": strict}
    return {
        "values": wr.funnel(STEPS, column="event", **options),
        "codes": wr.funnel([0, 1, 2], column="code", **options),
        "flags": wr.funnel(FLAGS, **options),
        "value times": wr.funnel_times(STEPS, column="event", **options),
        "code times": wr.funnel_times([0, 1, 2], column="code", **options),
        "flag times": wr.funnel_times(FLAGS, **options),
        "twice": wr.funnel_times(["view", "view"], column="event", **options),
        "path": wr.path("event"),
        "start": wr.path("code", max_length=2),
    }


def expected(rows: Sequence[Record], within: int | None, strict: bool) -> dict[str, Any]:
    longest = inf if within is None else within
    of_values, of_flags = ([(row.time or 0, fits(row)) for row in rows] for fits in (by_value, by_flags))
    values, flags = (funnel(each, 3, longest, strict=strict) for each in (of_values, of_flags))
    value_times, flag_times = (
        [EPOCH + time * TICK for time in funnel_times(each, 3, longest, strict=strict)]
        for each in (of_values, of_flags)
    )
    assert (len(value_times), len(flag_times)) == (values, flags)
    views = [(row.time or 0, frozenset([0, 1] if row.values["event"] == "view" else [])) for row in rows]
    twice = [EPOCH + time * TICK for time in funnel_times(views, 2, longest, strict=strict)]
    path: list[str] = []
    for row in in_order(rows):
        event = row.values["event"]
        if event is not None and path[-1:] != [event]:
            path.append(event)
    start = [EVENTS.index(event) for event in path[:2]]
    times = {"value times": value_times, "code times": value_times, "flag times": flag_times, "twice": twice}
    return {"values": values, "codes": values, "flags": flags, **times, "path": path, "start": start}


@pytest.mark.parametrize("kind", KINDS)
def test_funnels_and_paths_equal_a_search_of_all_chains(kind: str) -> None:
    windows, oracle = KINDS[kind]
    within = st.none() | st.integers(0, 12)

    @usually(120)
    @given(tables(), within, st.booleans(), st.integers(1, 3), st.lists(st.integers(0, 20), max_size=3))
    def check(table: pa.Table, within: int | None, strict: bool, shards: int, cuts: list[int]) -> None:
        asked = asked_for(within, strict)
        grouped = wr.group_by(table, "k", time="ts").windowed_by(windows).shards(shards)
        wanted = {
            (key, start, end): expected(rows, within, strict)
            for key, members in by_key(records(table, ["k"])).items()
            for start, end, rows in oracle(members)
        }
        assert rows_of(grouped.agg(**asked), ["k"]) == wanted
        assert rows_of(after_a_shuffle(grouped._plan(asked), table, cuts), ["k"]) == wanted

    check()


def visits(events: Sequence[tuple[float, str]], **columns: Any) -> pa.Table:
    minutes, names = zip(*events, strict=True) if events else ((), ())
    times = pa.array(all_at(*minutes), pa.timestamp("us"))
    return pa.table({"user": ["ann"] * len(names), "ts": times, "event": pa.array(names, pa.string()), **columns})


def windowed(data: Any) -> Any:
    return wr.group_by(data, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 day"))


def test_a_record_that_fits_several_steps_is_one_of_them() -> None:
    both = ["event <> 'search'", "event <> 'view'"]
    for events, steps in {("cart",): 1, ("cart", "cart"): 2, ("cart", "view"): 1, ("view", "cart"): 2}.items():
        data = duckdb.from_arrow(visits(list(enumerate(events))))
        assert windowed(data).agg(steps=wr.funnel(both)).fetchall()[0][2] == steps
    # At one time: the record that fits steps 1 and 3 is step 3 of a chain that began before.
    flags = {"a": [True, True, False], "b": [False, False, True], "c": [False, True, False]}
    data = visits([(0, "x"), (5, "x"), (5, "x")], **flags)
    assert windowed(data).agg(steps=wr.funnel(FLAGS))["steps"].to_pylist() == [3]
    assert windowed(data).agg(steps=wr.funnel(FLAGS, within="4 minutes"))["steps"].to_pylist() == [2]


def test_conditions_are_those_of_where() -> None:
    table = visits(list(enumerate(["view", "search", "cart", "pay"])), view=[True, False, False, False])
    aggregates = {
        "pyarrow": (table, ["view", pc.field("event") == "cart", pc.field("event") == "pay"]),
        "polars": (pl.from_arrow(table), ["view", pl.col("event") == "cart", pl.col("event") == "pay"]),
        "duckdb": (duckdb.from_arrow(table), ["view", "event = 'cart'", duckdb.SQLExpression("event = 'pay'")]),
    }
    for data, steps in aggregates.values():
        (row,) = arrow(windowed(data).agg(steps=wr.funnel(steps), strictly=wr.funnel(steps, strict=True))).to_pylist()
        assert (row["steps"], row["strictly"]) == (3, 1)
    # the name of an existing column wins over SQL of the same text
    named = table.append_column("event = 'cart'", pa.array([True, False, False, False]))
    both = wr.funnel(["view", "event = 'cart'"])
    assert windowed(duckdb.from_arrow(named)).agg(steps=both).fetchall()[0][2] == 1


def test_the_steps_of_a_funnel_may_be_of_several_inputs() -> None:
    views = pa.table({"user": ["ann", "ann"], "ts": all_at(0, 9), "page": ["/", "/buy"]})
    orders = pa.table({"user": ["ann"], "ts": all_at(5), "paid": [True]})
    grouped = {"views": wr.group_by(views, "user", time="ts"), "orders": wr.group_by(orders, "user", time="ts")}
    both = wr.cogroup(**grouped).windowed_by(wr.SessionWindows.with_gap("1 hour"))
    home, buy = pc.field("views.page") == "/", pc.field("views.page") == "/buy"
    got = both.agg(
        paid=wr.funnel([home, "orders.paid"]),
        at=wr.funnel_times([home, "orders.paid", buy]),
        bought=wr.funnel([home, "orders.paid", buy]),
        one=wr.funnel([home, buy], strict=True),
        pages=wr.path("views.page"),
    )
    assert got.select(["paid", "at", "bought", "one", "pages"]).to_pylist() == [
        {"paid": 2, "at": all_at(0, 5, 9), "bought": 3, "one": 2, "pages": ["/", "/buy"]}
    ]


def test_the_types_of_values() -> None:
    for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()), pa.string_view()):
        events = pa.array(STEPS).cast(kind)
        data = visits([(0, ""), (1, ""), (2, "")]).set_column(2, "event", events)
        assert windowed(data).agg(steps=wr.funnel(STEPS, column="event"))["steps"].to_pylist() == [3]
    for number in (pa.int8(), pa.uint64(), pa.float64()):
        data = visits([(0, ""), (1, ""), (2, "")], code=pa.array([1, 2, 3], number))
        assert windowed(data).agg(steps=wr.funnel([1, 2, 3], column="code"))["steps"].to_pylist() == [3]
    empty = visits([], flag=pa.array([], pa.null()))
    got = windowed(empty).agg(a=wr.funnel(STEPS, column="event"), b=wr.funnel(["flag"]), c=wr.path("event"))
    assert (len(got), [str(kind) for kind in got.schema.types[2:]]) == (
        0,
        ["int64", "int64", "list<item: string not null>"],
    )
    nothing = visits([(0, "view")], flag=pa.nulls(1))
    assert windowed(nothing).agg(steps=wr.funnel(["flag"]))["steps"].to_pylist() == [0]


@pytest.mark.parametrize("maker", [wr.funnel, wr.funnel_times])
@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda maker: maker([]), ValueError, ["(steps=)", "1 to 32"]),
        (lambda maker: maker(["a"] * 33), ValueError, ["(steps=)", "1 to 32"]),
        (lambda maker: maker("view", column="event"), TypeError, ["(steps=)", "a list"]),
        (lambda maker: maker([1, "a"], column="event"), TypeError, ["(steps=)", "only strings or only integers"]),
        (lambda maker: maker([1.5], column="event"), TypeError, ["(steps=)", "1.5", "strings or integers"]),
        (lambda maker: maker([True], column="event"), TypeError, ["(steps=)", "strings or integers"]),
        (lambda maker: maker([2**63], column="event"), ValueError, ["(steps=)", "64 bits"]),
        (lambda maker: maker([1]), TypeError, ["(steps=)", "got 1"]),
        (lambda maker: maker(STEPS, column="event", within=60), TypeError, ["(within=)", "60"]),
        (lambda maker: maker(STEPS, column="event", within="-1 hour"), ValueError, ["(within=)"]),
        (lambda maker: maker(STEPS, column="event", strict=1), TypeError, ["(strict=)", "True or False"]),
        (lambda maker: maker(STEPS, column=3), TypeError, ["(column=)"]),
        (lambda maker: of(maker(["event"])), TypeError, ["'event'", "booleans"]),
        (lambda maker: of(maker([1, 2], column="event")), TypeError, ["'event'", "numbers"]),
        (lambda maker: of(maker(STEPS, column="ts")), TypeError, ["'ts'", "strings"]),
        (lambda maker: of(maker(STEPS)), ValueError, ["'view'", "event"]),
        (lambda maker: of(maker(["event = 'view'"])), ValueError, ["SQL text is for Spark and DuckDB"]),
        (lambda maker: of(maker([1], column="n", within="1 ns")), ValueError, ["(within=)", "1 microsecond"]),
    ],
)
def test_a_bad_funnel_is_an_error_at_the_call(maker: Any, call: Any, error: type[Exception], words: list[str]) -> None:
    with pytest.raises(error) as raised:
        call(maker)
    said = str(raised.value).replace('"', "'")
    for word in words:
        assert (f"{maker.__name__}{word}" if word.startswith("(") else word) in said


def test_a_bad_path_is_an_error_at_the_call() -> None:
    with pytest.raises(ValueError, match=r"path.max_length=.: got 0; allowed: .*1 to 1,000,000"):
        wr.path("event", max_length=0)
    with pytest.raises(TypeError, match="path.max_length=.: got '3'"):
        wr.path("event", max_length="3")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="nope"):
        of(wr.path("nope"))


def of(aggregate: wr.Aggregate) -> Any:
    return windowed(visits([(0, "view")], n=[0])).agg(steps=aggregate)
