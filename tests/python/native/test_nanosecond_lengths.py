"""Lengths of part of a microsecond, over times in nanoseconds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import StreamDriver

from ..harness.tables import arrow

NEW_YEAR = 1_767_225_600_000_000_000
TICKS = [0, 100, 200, 600, 601, 1_600, 2_601]
"""Nanoseconds after the new year."""


def hits(ticks: list[int], unit: Any = "ns") -> pa.Table:
    times = pa.array([NEW_YEAR + tick for tick in ticks], pa.int64()).cast(pa.timestamp("ns"))
    rows = {"k": ["a"] * len(ticks), "ts": times.cast(pa.timestamp(unit), safe=False), "n": range(len(ticks))}
    return pa.table({name: pa.array(values) for name, values in rows.items()})


def ticks_of(window: Any, bound: str) -> list[int]:
    return [tick - NEW_YEAR for tick in pa.compute.struct_field(window, bound).cast(pa.int64()).to_pylist()]


def grouped(ticks: list[int], unit: Any = "ns") -> Any:
    return wr.group_by(hits(ticks, unit), "k", time="ts")


def sessions(ticks: list[int], gap: int) -> list[tuple[int, int, int]]:
    """First, last and number of each session, record by record."""
    found: list[tuple[int, int, int]] = []
    for tick in sorted(ticks):
        if found and tick - found[-1][1] <= gap:
            found[-1] = (found[-1][0], tick, found[-1][2] + 1)
        else:
            found.append((tick, tick, 1))
    return found


@pytest.mark.parametrize("gap", [1, 99, 100, 399, 400, 999, 1_000, 1_001, 2**62 + 1])
@pytest.mark.parametrize("made", ["text", "pandas", "numpy"])
def test_sessions_of_any_gap_are_those_of_brute_force(gap: int, made: str) -> None:
    lengths: dict[str, Any] = {
        "text": f"{gap}ns",
        "pandas": pd.Timedelta(gap, "ns"),
        "numpy": np.timedelta64(gap, "ns"),
    }
    answer = grouped(TICKS).windowed_by(wr.SessionWindows.with_gap(lengths[made])).count()
    starts, ends = (ticks_of(answer["window"], bound) for bound in ("start", "end"))
    assert sorted(zip(starts, ends, answer["count"].to_pylist(), strict=True)) == sessions(TICKS, gap)


@pytest.mark.parametrize("length", [1, 99, 100, 500, 999, 1_000, 1_999])
def test_sums_over_a_length_are_those_of_brute_force(length: int) -> None:
    windows = wr.SlidingWindows.with_time_difference("2 microseconds")
    whole = wr.SlidingWindows.with_time_difference(f"{length} nanoseconds")
    longest = 2_000
    frames = {
        "part": wr.sum("n").over(f"{length}ns"),
        "later": wr.sum("n").over("1ns", delay=f"{length}ns"),
        "all": wr.sum("n"),
    }
    answer = grouped(TICKS).windowed_by(windows).with_columns(**frames)

    def total(at: int, least: int, most: int) -> int | None:
        known = [number for number, tick in enumerate(TICKS) if at - least <= tick <= at - most]
        return sum(known) if known else None

    assert answer["part"].to_pylist() == [total(at, length, 0) for at in TICKS]
    assert answer["later"].to_pylist() == [total(at, length + 1, length) for at in TICKS]
    assert answer["all"].to_pylist() == [total(at, longest, 0) for at in TICKS]
    assert grouped(TICKS).windowed_by(whole).with_columns(s=wr.sum("n"))["s"].to_pylist() == answer["part"].to_pylist()


def test_the_lengths_of_rules_and_of_steps_count_nanoseconds() -> None:
    rules = wr.SessionWindows.with_gap("1 second", max_duration="500ns")
    answer = grouped(TICKS).windowed_by(rules).count()
    assert sorted(ticks_of(answer["window"], "start")) == [0, 600, 1_600, 2_601]
    for within, steps in (("599ns", 1), ("600ns", 2)):
        funnel = wr.funnel([0, 3], column="n", within=within)
        [row] = grouped(TICKS[:4]).windowed_by(wr.SessionWindows.with_gap("1s")).agg(steps=funnel).to_pylist()
        assert row["steps"] == steps
    resolved = wr.SlidingWindows.with_time_difference("600ns", resolution="300ns")
    answer = grouped([100, 350, 650]).windowed_by(resolved).count()
    assert {tick % 300 for tick in ticks_of(answer["window"], "end")} == {0}


def pipe(driver: StreamDriver, tick: int) -> list[Any]:
    return driver.pipe(k="a", ts=pd.Timestamp(NEW_YEAR + tick), n=tick)


@pytest.mark.parametrize(("grace", "kinds"), [("499ns", ["late"]), ("500ns", [])])
def test_a_grace_of_nanoseconds_judges_a_stream(grace: str, kinds: list[str]) -> None:
    windows = wr.SessionWindows.with_gap("500ns", grace=grace)

    def definition(data: Any) -> Any:
        return wr.group_by(data, "k", time="ts").windowed_by(windows).late("emit").agg(n=wr.count())

    driver = StreamDriver(definition, hits([0]).schema)
    pipe(driver, 0)
    pipe(driver, 2_000)
    made = pipe(driver, 1_000)
    assert [change.kind for change in made if change.kind == "late"] == kinds
    restored = StreamDriver(definition, hits([0]).schema).restore(driver.snapshot())
    assert restored.counters == driver.counters


def test_updates_come_every_few_nanoseconds() -> None:
    def definition(data: Any) -> Any:
        windows = wr.SessionWindows.with_gap("1ms", grace="0s")
        return wr.group_by(data, "k", time="ts").windowed_by(windows).emit("update", every="500ns").count()

    driver = StreamDriver(definition, hits([0]).schema)
    rows = [len(pipe(driver, tick)) for tick in (0, 499, 500, 999, 1_000)]
    assert sum(rows) < 2 * len(rows)
    assert rows[1] == 0


@pytest.mark.parametrize("grace", [2_500, 3_000])
def test_a_daily_job_keeps_a_session_open_for_a_grace_beside_a_gap_of_nanoseconds(grace: int) -> None:
    windows = wr.SessionWindows.with_gap("1500ns", grace=f"{grace}ns")
    last = 1_000 + 1_500 + grace
    for end, closed in ((last, []), (last + 1, [2])):
        run = grouped([0, 1_000]).windowed_by(windows).advance(None, to=pd.Timestamp(NEW_YEAR + end), n=wr.count())
        assert run.closed["n"].to_pylist() == closed


def test_a_daily_job_continues_with_another_unit_of_lengths() -> None:
    first = grouped(TICKS).windowed_by(wr.SessionWindows.with_gap("1 microsecond"))
    later = grouped([4_101]).windowed_by(wr.SessionWindows.with_gap("1500ns"))
    end = np.datetime64(NEW_YEAR + 3_000, "ns")
    to, after = (pd.Timestamp(end), pd.Timestamp(NEW_YEAR + 10**9))
    still_open = first.advance(None, to=to, n=wr.count()).still_open
    closed = later.advance(still_open, to=after, n=wr.count()).closed
    assert closed["n"].to_pylist() == [2]
    shorter = grouped([4_101]).windowed_by(wr.SessionWindows.with_gap("999ns"))
    with pytest.raises(ValueError, match="gap was 1 microsecond, is 999 nanoseconds"):
        shorter.advance(still_open, to=after, n=wr.count())


GAP, SLIDING = wr.SessionWindows.with_gap, wr.SlidingWindows.with_time_difference
COARSE: dict[str, Callable[[Any], Any]] = {
    "gap": lambda data: data.windowed_by(GAP("500ns")),
    "max_gap": lambda data: data.windowed_by(wr.SessionWindows.with_dynamic_gap("gap", max_gap="500ns")),
    "grace": lambda data: data.windowed_by(GAP("5s", grace="500ns")),
    "retention": lambda data: data.windowed_by(GAP("5s", retention="5s 500ns")),
    "max_duration": lambda data: data.windowed_by(GAP("5s", max_duration="500ns")),
    "difference": lambda data: data.windowed_by(SLIDING("500ns")),
    "resolution": lambda data: data.windowed_by(SLIDING("5s", resolution="500ns")),
    "every": lambda data: data.windowed_by(GAP("5s")).emit("update", every="500ns"),
    r'aggregate "m": over\(difference=\)': lambda data: over(data, wr.count().over("500ns")),
    r'aggregate "m": over\(delay=\)': lambda data: over(data, wr.count().over("1s", delay="500ns")),
    r'aggregate "m": funnel\(within=\)': lambda data: over(data, wr.funnel([1], column="n", within="500ns")),
}


def over(data: Any, aggregate: wr.Aggregate) -> Any:
    return data.windowed_by(SLIDING("5s")).with_columns(m=aggregate)


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
@pytest.mark.parametrize("argument", COARSE)
def test_a_coarser_time_column_refuses_parts_of_its_unit(argument: str, unit: str) -> None:
    table = hits([0], unit).append_column("gap", pa.array([timedelta(seconds=1)]))
    with pytest.raises(ValueError, match=f"^{argument}: got .*500 nanoseconds'; allowed: a multiple of "):
        COARSE[argument](wr.group_by(table, "k", time="ts"))


def test_a_wall_clock_counts_microseconds() -> None:
    windowed = grouped([0]).windowed_by(wr.SessionWindows.with_gap("1s"))
    with pytest.raises(ValueError, match="^duration: got '500ns'; allowed: a whole number of microseconds"):
        windowed.max_ahead("500ns")


@pytest.mark.parametrize("library", [pl.from_arrow, pa.Table.to_pandas])
def test_the_libraries_give_the_same(library: Callable[[pa.Table], Any]) -> None:
    windows = wr.SlidingWindows.with_time_difference("500ns")
    answer = arrow(wr.group_by(library(hits(TICKS)), "k", time="ts").windowed_by(windows).with_columns(s=wr.sum("n")))
    assert answer["s"].to_pylist() == [0, 1, 3, 6, 9, 5, 6]


def test_a_record_without_a_window_has_the_bounds_that_it_would_have() -> None:
    windows = wr.SlidingWindows.with_time_difference("500ns")
    left = wr.group_by(hits([0, 1_000]).append_column("u", pa.array([None, "x"])), "u", time="ts")
    rows = arrow(left.windowed_by(windows).left_out("emit").count())
    lost = rows.filter(pa.compute.equal(rows["op"], "left_out"))
    assert (ticks_of(lost["window"], "start"), ticks_of(lost["window"], "end")) == ([-500], [0])
