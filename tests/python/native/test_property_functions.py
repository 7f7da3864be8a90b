"""Python functions over a batch are called in the order of time: the oracle's folds, in-process and through shards."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow._native import Operator
from windrow.testing._definition import plan_of

from ..harness.examples import usually
from ..harness.families import often, some
from ..harness.shuffle import folded_after_a_shuffle
from ..harness.tables import KINDS as SHARED
from ..harness.tables import assert_same, by_dynamic_gap, in_batches, records, rows_of
from ..oracle.records import Record, by_key, null_keys, null_times
from ..scenes import TICK

KINDS = SHARED | {
    "own gaps": (wr.SessionWindows.with_dynamic_gap("gap", max_gap=9 * TICK), by_dynamic_gap("gap", 9)),
}
SCHEMA = pa.schema(
    {"k": pa.int64(), "ts": pa.timestamp("us"), "word": pa.string(), "n": pa.int64(), "gap": pa.duration("us")}
)


def bracket(one: str, other: str) -> str:
    """Shows what was combined with what."""
    return f"({one}{other})"


def append(held: list[Any], row: Any) -> list[Any]:
    """May change what it gets."""
    held.append(None if row.n is None else {"word": row.word, "n": row.n})
    return held


def chain(held: list[Any], row: Any) -> list[Any]:
    """The same, not in place."""
    return [*held, row.n]


AGGREGATES = {
    "words": wr.reduce("word", bracket),
    "rows": wr.aggregate(
        list, append, operator.add, schema="array<struct<word: string, n: bigint>>", columns=["word", "n"]
    ),
    "total": wr.sum("n"),
    "last": wr.last("n"),
    "numbers": wr.aggregate(list, chain, operator.add, schema="array<bigint>", columns=["n"]),
    "count": wr.count(),
}


def folded(members: Sequence[Record]) -> dict[str, Any]:
    """What each aggregate is over the records of a window, in order."""
    words = [record.values["word"] for record in members if record.values["word"] is not None]
    numbers = [record.values["n"] for record in members]
    known = [number for number in numbers if number is not None]
    return {
        "words": functools.reduce(bracket, words) if words else None,
        "rows": [None if r.values["n"] is None else {"word": r.values["word"], "n": r.values["n"]} for r in members],
        "total": sum(known) if known else None,
        "last": numbers[-1],
        "numbers": numbers,
        "count": len(members),
    }


def expected(table: pa.Table, windows: Callable[[list[Record]], Any]) -> dict[Any, dict[str, Any]]:
    """The oracle's windows and folds; ties are in the order of the table's rows."""
    return {
        (key, start, end): folded(rows)
        for key, members in by_key(records(table, ["k"])).items()
        for start, end, rows in windows(members)
    }


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Records of few keys, times before and after 1970, many of them equal; nulls everywhere."""
    times, gaps = st.integers(-40, 60) | st.none(), often(st.integers(-1, 12))
    row = st.tuples(
        st.integers(0, 2) | st.none(), times, often(st.sampled_from("abcdef")), often(st.integers(-9, 9)), gaps
    )
    columns = list(zip(*draw(some(row, 40)), strict=True)) or [[]] * len(SCHEMA)
    arrays = [
        pa.array(column, kind if pa.types.is_string(kind) else pa.int64()).cast(kind)
        for column, kind in zip(columns, SCHEMA.types, strict=True)
    ]
    return pa.table(arrays, schema=SCHEMA)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@usually(150)
def test_oracle_folds_in_the_order_of_time(kind: str, data: st.DataObject) -> None:
    windows, oracle = KINDS[kind]
    table, cuts = data.draw(tables()), data.draw(st.lists(st.integers(0, 40), max_size=4))
    windowed = wr.group_by(in_batches(table, cuts), "k", time="ts").windowed_by(windows)
    windowed, wanted = windowed.shards(data.draw(st.integers(1, 5))), expected(table, oracle)
    here = windowed.agg(**AGGREGATES)
    assert_same(rows_of(here, ["k"]), wanted)
    members = records(table, ["k"])
    counted = {name: int(here.schema.metadata[f"windrow.{name}".encode()]) for name in ("null_keys", "null_times")}
    assert counted == {"null_keys": null_keys(members), "null_times": null_times(members)}

    sharded = folded_after_a_shuffle(windowed._plan(AGGREGATES), table, cuts)
    assert sharded.schema.equals(here.schema)
    assert_same(rows_of(sharded, ["k"]), wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_windows_leave_as_time_passes_and_nothing_is_late(kind: str) -> None:
    plan = plan_of(lambda of: wr.group_by(of, "k", time="ts").windowed_by(KINDS[kind][0]).agg(**AGGREGATES), SCHEMA)
    operator = Operator(plan.spec.in_order.text, plan.schema, plan.folds())
    times = sorted((row * 7919) % 30_011 - 9_000 for row in range(3_000))
    batch = pa.record_batch(
        [
            pa.array([7] * 3_000),
            pa.array(times).cast(pa.timestamp("us")),
            pa.array(["w"] * 3_000),
            pa.array(times),
            pa.array([5] * 3_000).cast(pa.duration("us")),
        ],
        schema=SCHEMA,
    ).select(plan.schema.names)
    operator.push(batch)
    counted = operator.counters()
    assert (counted["late"], counted["windows_refused"]) == (0, 0)
    assert counted["windows_open"] < 20
    assert counted["windows_closed"] > 500
