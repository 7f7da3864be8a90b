"""Windows of any length, resolution and unit of time equal the oracle, in-process."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr

from ..harness.examples import usually
from ..harness.families import often, some
from ..harness.tables import Call, Windows, assert_windows, by_sessions, by_sliding, in_batches, rows_of
from ..scenes import keyed

AGGREGATES = {
    "n": Call("count"),
    "ids": Call("collect_list", ("id",)),
    "first": Call("first", ("id",)),
    "last": Call("last", ("id",)),
    "low": Call("min", ("id",)),
    "total": Call("sum", ("id",)),
}
ADD = timedelta(microseconds=1)


def table_of(times: list[int | None], keys: list[int], unit: str, cuts: list[int]) -> pa.Table:
    """Events with their row number as id; times are ticks of the unit."""
    return in_batches(keyed(keys, times, unit), cuts)


@st.composite
def events(draw: st.DrawFn, unit: str, scale: int = 1) -> pa.Table:
    """Up to 40 events of three keys, at multiples of `scale` and a little next to them."""
    around = draw(st.sampled_from([0, 0, 10**6, -(10**6)])) * scale
    time = st.builds(lambda at, beside: around + at * scale + beside, st.integers(-25, 80), st.integers(0, scale - 1))
    rows = draw(some(st.tuples(often(time), st.integers(1, 3)), 40))
    cuts = draw(st.lists(st.integers(0, 40), max_size=4))
    return table_of([time for time, _ in rows], [key for _, key in rows], unit, cuts)


def check(table: pa.Table, windows: Any, oracle: Any) -> None:
    """One query against the oracle."""
    aggregates = {name: aggregate.build(wr) for name, aggregate in AGGREGATES.items()}
    result = wr.group_by(table, "k", time="ts").windowed_by(windows).agg(**aggregates)
    assert_windows(rows_of(result, ["k"]), table, ["k"], oracle, AGGREGATES)


@usually(60)
@given(events("us"), st.integers(1, 12))
def test_sessions_of_any_gap_equal_the_oracle(table: pa.Table, gap: int) -> None:
    check(table, wr.SessionWindows.with_gap(gap * ADD), by_sessions(gap))


@usually(60)
@given(events("us"), st.integers(1, 8), st.integers(1, 6))
def test_sliding_windows_of_any_resolution_equal_the_oracle(table: pa.Table, steps: int, resolution: int) -> None:
    windows = wr.SlidingWindows.with_time_difference(steps * resolution * ADD, resolution=resolution * ADD)
    check(table, windows, by_sliding(steps * resolution, resolution))


NINE_SECONDS = wr.SlidingWindows.with_time_difference("9 seconds", resolution="3 seconds")
OF_SECONDS: dict[str, tuple[Any, Callable[[int], Windows]]] = {
    "sessions": (wr.SessionWindows.with_gap("5 seconds"), lambda second: by_sessions(5 * second)),
    "times are floored": (NINE_SECONDS, lambda second: by_sliding(9 * second, 3 * second)),
    "a resolution of one tick": (
        wr.SlidingWindows.with_time_difference("9 seconds"),
        lambda second: by_sliding(9 * second, 1),
    ),
}


@pytest.mark.parametrize(("unit", "second"), [("s", 1), ("ms", 1000), ("us", 10**6), ("ns", 10**9)])
@pytest.mark.parametrize(("windows", "oracle"), OF_SECONDS.values(), ids=OF_SECONDS)
def test_windows_do_not_mind_the_unit_of_time(windows: Any, oracle: Any, unit: str, second: int) -> None:
    usually(15)(given(events(unit, second))(lambda table: check(table, windows, oracle(second))))()


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_no_sliding_window_ends_before_its_record(unit: str) -> None:
    # two records, one tick apart    ├──────────┤●          the left window of each ends with it
    #                                 ├──────────┤●
    times = [10**10 + 1, 10**10 + 2]
    windows = wr.SlidingWindows.with_time_difference("5 seconds")
    windowed = wr.group_by(table_of(times, [1, 1], unit, []), "k", time="ts").windowed_by(windows)
    counted = rows_of(windowed.count(), ["k"])
    assert set(times) <= {end for _, _, end in counted}
    assert set(rows_of(windowed.agg(last=wr.reduce("k", lambda _, value: value)), ["k"])) == set(counted)


def test_a_resolution_finer_than_the_unit_of_time_is_an_error_that_names_it() -> None:
    windows = wr.SlidingWindows.with_time_difference("9 seconds", resolution="1 millisecond")
    with pytest.raises(ValueError, match="resolution"):
        wr.group_by(table_of([0, 4], [1, 1], "s", []), "k", time="ts").windowed_by(windows).count()


@pytest.mark.parametrize(
    ("gap", "sessions"), [("1000 microseconds", 2), ("1999 microseconds", 2), ("2000 microseconds", 1)]
)
def test_a_gap_between_two_ticks_of_the_time_column_joins_what_it_reaches(gap: str, sessions: int) -> None:
    # ticks of 1 ms: records 2 ms apart join from a gap of 2 ms on
    table = table_of([0, 2], [1, 1], "ms", [])
    result = wr.group_by(table, "k", time="ts").windowed_by(wr.SessionWindows.with_gap(gap)).count()
    assert result.num_rows == sessions


@pytest.mark.parametrize("time", [-11, -10, -9, -1, 0, 1, 9, 10, 11])
@pytest.mark.parametrize("other", [-12, -1, 0, 1, 10, 11, 21, 22])
def test_sliding_windows_at_the_bounds_of_the_early_window(time: int, other: int) -> None:
    # d 10     [-10,0) their own world    [0,10) early: [0,10]    from 10 on: [t-10,t]
    windows = wr.SlidingWindows.with_time_difference(10 * ADD, resolution=ADD)
    check(table_of([time, other], [1, 1], "us", []), windows, by_sliding(10, 1))


@pytest.mark.parametrize("time", [-(2**63), 2**63 - 1, 2**63 - 7, 7 - 2**63])
def test_sessions_at_the_ends_of_time_neither_wrap_nor_panic(time: int) -> None:
    other = time - 5 if time > 0 else time + 5
    check(table_of([time, other, 0], [1, 1, 1], "us", []), wr.SessionWindows.with_gap(5 * ADD), by_sessions(5))


@pytest.mark.parametrize("time", [-(2**63), 2**63 - 1])
def test_a_sliding_window_beyond_the_ends_of_time_is_an_error_that_names_the_column(time: int) -> None:
    windows = wr.SlidingWindows.with_time_difference(5 * ADD, resolution=ADD)
    neighbour = time - 2 if time > 0 else time + 2
    message = r'column "ts": the window of the record at .* has a bound beyond the range of timestamp\[us\]'
    with pytest.raises(OverflowError, match=message):
        wr.group_by(table_of([neighbour, time], [1, 1], "us", []), "k", time="ts").windowed_by(windows).count()


def test_ticks_are_left_out_and_counted() -> None:
    # gap 5    1     tick     2        without the tick row 1 and 2 are apart
    #          0     4        8
    table = keyed([1, 1, 1, None], [0, 4, 8, 100], tick=pa.array([False, True, None, True]))
    grouped = wr.group_by(table, "k", time="ts", tick="tick")
    result = grouped.windowed_by(wr.SessionWindows.with_gap(5 * ADD)).count()
    assert sorted(rows_of(result, ["k"])) == [((1,), 0, 0), ((1,), 8, 8)]
    assert result.schema.metadata[b"windrow.ticks"] == b"2"
    assert result.schema.metadata[b"windrow.records"] == b"2"
    assert result.schema.metadata[b"windrow.null_keys"] == b"0"
