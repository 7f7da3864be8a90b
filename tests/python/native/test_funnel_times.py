"""`funnel_times` over a length, against a search of all chains; its types and errors."""

from __future__ import annotations

from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.testing import StreamDriver

from ..harness.examples import usually
from ..harness.tables import records
from ..oracle.journeys import funnel_times
from ..scenes import all_at, keyed
from .test_journeys import EPOCH, STEPS, TICK, by_value, tables, visits, windowed

RULES = (st.none() | st.integers(0, 12), st.booleans())


@usually(40)
@given(tables(), st.integers(1, 12), *RULES)
def test_the_times_before_each_record_are_those_of_its_frame(
    table: pa.Table, length: int, within: int | None, strict: bool
) -> None:
    sliding = wr.group_by(table, "k", time="ts").windowed_by(wr.SlidingWindows.with_time_difference(12 * TICK))
    limit = None if within is None else within * TICK
    asked = wr.funnel_times(STEPS, column="event", within=limit, strict=strict)
    found = sliding.with_columns(times=asked.over(length * TICK))
    rows = records(table, ["k"])
    longest = float("inf") if within is None else within
    for row, got in zip(rows, found["times"].to_pylist(), strict=True):
        frame = [
            (each.time, by_value(each))
            for each in rows
            if each.key == row.key and row.time - length <= each.time <= row.time
        ]
        assert got == [EPOCH + time * TICK for time in funnel_times(frame, 3, longest, strict=strict)]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Madrid"])
def test_the_times_have_the_type_of_the_time_column(unit: Any, zone: str | None) -> None:
    table = keyed([1, 1, 1], [0, 2, 9], unit)
    table = table.set_column(1, "ts", table["ts"].cast(pa.timestamp(unit, zone)))
    hour = wr.SessionWindows.with_gap("1 hour")
    asked = {"times": wr.funnel_times([0, 2], column="id")}
    for data in (table, table.slice(0, 0)):
        kind = wr.group_by(data, "k", time="ts").windowed_by(hour).agg(**asked).schema.field("times").type
        assert kind == pa.list_(pa.field("item", pa.timestamp(unit, zone), nullable=False))
    got = wr.group_by(table, "k", time="ts").windowed_by(hour).agg(**asked)
    assert got["times"].cast(pa.list_(pa.int64())).to_pylist() == [[0, 9]]


def test_the_libraries_give_lists_of_their_own_times() -> None:
    table = visits([(0, "view"), (2, "view"), (3, "cart"), (9, "search"), (20, "pay")])
    asked = {"times": wr.funnel_times(STEPS, column="event"), "none": wr.funnel_times(["gone"], column="event")}
    expected = all_at(2, 3, 20)
    [row] = windowed(duckdb.from_arrow(table)).agg(**asked).fetchall()
    assert row[2:] == (expected, [])
    frame: Any = windowed(pl.from_arrow(table)).agg(**asked)
    assert frame.row(0)[2:] == (expected, [])
    assert frame.schema["times"] == pl.List(pl.Datetime("us"))
    pandas = windowed(table.to_pandas()).agg(**asked)
    assert (list(pandas["times"][0]), list(pandas["none"][0])) == (expected, [])


def test_a_funnel_of_another_length_or_of_other_steps_does_not_continue_a_stream() -> None:
    def driver(aggregate: wr.Aggregate) -> StreamDriver:
        def definition(data: Any) -> Any:
            stream = wr.SessionWindows.with_gap("30 minutes", grace="1 hour")
            return wr.group_by(data, "user", time="ts").windowed_by(stream).agg(times=aggregate)

        return StreamDriver(definition, visits([(0, "view")]).schema)

    first = driver(wr.funnel_times(STEPS, column="event"))
    first.pipe_batch(visits([(0, "view"), (3, "cart")]))
    second = driver(wr.funnel_times(STEPS, column="event")).restore(first.snapshot())
    second.pipe_batch(visits([(5, "pay")]))
    second.finish()
    assert second.read_table()["times"].to_pylist() == [all_at(0, 3, 5)]
    for other in (
        wr.funnel(STEPS, column="event"),
        wr.funnel_times(STEPS, column="event", within="1 hour"),
        wr.funnel_times(STEPS, column="event", strict=True),
        wr.funnel_times(STEPS[:2], column="event"),
    ):
        with pytest.raises(ValueError, match="funnel"):
            driver(other).restore(first.snapshot())


def test_a_long_session_keeps_the_records_up_to_the_end_of_its_funnel() -> None:
    """A state leaves out what comes after the end, but a late record may still make the end earlier."""
    many = 500
    events = [*((minute, "view") for minute in range(1, many)), (many, "cart"), (many + 1, "pay")]
    events += [(many + 2 + minute, STEPS[minute % 3]) for minute in range(many)]
    late = [(0.5, "view"), (0.6, "cart"), (0.7, "pay")]
    for more, within, expected in (
        ([], "1 hour", (many - 1, many, many + 1)),
        (late, "1 hour", (0.5, 0.6, 0.7)),
        (late, "6 seconds", (0.5, 0.6)),
    ):
        asked = wr.funnel_times(STEPS, column="event", within=within)
        [row] = windowed(visits([*events[::-1], *more])).agg(times=asked).to_pylist()
        assert row["times"] == all_at(*expected)
