"""Every aggregate over every type it is defined for equals the oracle, in-process, for both kinds of windows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from families import FAMILIES, Family
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import Windows, assert_windows, by_sessions, by_sliding, in_batches, rows_of

wr: Any = pytest.importorskip("windrow")


@st.composite
def events(draw: st.DrawFn, family: Family) -> pa.Table:
    """Up to 24 events of two keys near time 0: ties, nulls, times before 1970, any order, any batches."""
    row = st.tuples(
        st.integers(1, 2),
        st.integers(-30, 60) | st.integers(0, 8) | st.none(),
        family.values | st.none(),
        st.integers(-2, 2) | st.none(),
    )
    rows = draw(st.lists(row, max_size=24))
    keys, times, values, by = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [], [])
    table = pa.table(
        {
            "k": pa.array(keys, pa.int64()),
            "ts": pa.array(times, pa.int64()).cast(pa.timestamp("us")),
            "x": pa.array(values, family.type),
            "by": pa.array(by, pa.int64()),
        }
    )
    return in_batches(table, draw(st.lists(st.integers(0, 24), max_size=3)))


def windows(kind: str) -> tuple[Any, Windows]:
    """Both kinds, in microseconds: as the package and as the oracle take them."""
    if kind == "session":
        return wr.SessionWindows.with_gap(timedelta(microseconds=5)), by_sessions(5)
    difference, resolution = timedelta(microseconds=12), timedelta(microseconds=3)
    return wr.SlidingWindows.with_time_difference(difference, resolution=resolution), by_sliding(12, 3)


@pytest.mark.parametrize("kind", ["session", "sliding"])
@pytest.mark.parametrize("name", FAMILIES)
def test_aggregates_equal_the_oracle(name: str, kind: str) -> None:
    family = FAMILIES[name]
    asked = family.asked()
    kept, oracle = windows(kind)

    @settings(max_examples=10)
    @given(events(family))
    def check(table: pa.Table) -> None:
        aggregates = {name: aggregate.build(wr) for name, aggregate in asked.items()}
        result = wr.group_by(table, "k", time="ts").windowed_by(kept).agg(**aggregates)
        assert {name: result.schema.field(name).type for name in family.result_types()} == family.result_types()
        assert_windows(rows_of(result, ["k"]), table, ["k"], oracle, asked)

    check()
