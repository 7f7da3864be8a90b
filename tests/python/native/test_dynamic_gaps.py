"""Records that bring their own gaps (rules 3): in-process on any number of threads, with Python functions, driven."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr

from ..harness.tables import rows_of
from ..scenes import keyed

US = timedelta(microseconds=1)
TEN = wr.SessionWindows.with_dynamic_gap("gap", max_gap=10 * US)


def table_of(rows: list[tuple[Any, ...]], unit: str = "us") -> pa.Table:
    """Rows of key, time and gap in microseconds or ticks of the unit."""
    keys, times, gaps = zip(*rows, strict=True) if rows else ((), (), ())
    return keyed(keys, times, unit, gaps)


def sessions(table: Any, windows: Any = TEN, threads: int = 1) -> pa.Table:
    """The sessions of a table."""
    result: pa.Table = wr.group_by(table, "k", time="ts").windowed_by(windows).threads(threads).count()
    return result


def bounds(table: Any, windows: Any = TEN) -> list[tuple[int, int]]:
    """The bounds of the sessions of a table."""
    return sorted((start, end) for _, start, end in rows_of(sessions(table, windows), ["k"]))


def counted(result: pa.Table, *names: str) -> tuple[int, ...]:
    """Counters of a result."""
    return tuple(int(result.schema.metadata[b"windrow." + name.encode()]) for name in names)


def test_negative_and_extreme_times_neither_wrap_nor_panic() -> None:
    low, high = -(2**63), 2**63 - 1
    table = table_of([(1, low, 2**62), (1, low + 2**62, 1), (1, -1, 1), (1, 0, 1), (1, high - 1, 2**62), (1, high, 1)])
    longest = wr.SessionWindows.with_dynamic_gap("gap", max_gap=f"{2**62} microseconds")
    assert bounds(table, longest) == [(low, low + 2**62), (-1, 0), (high - 1, high)]


@pytest.mark.parametrize(
    ("time", "gap", "gap_ticks", "expected"),
    [
        ("s", "ms", 1_999, [(0, 1), (3, 3)]),  # rounded down to a second
        ("s", "ms", 2_000, [(0, 3)]),
        ("ns", "s", 1, [(0, 3)]),
        ("ms", "us", 1_000, [(0, 1), (3, 3)]),
        ("us", "ns", 999, []),  # less than a tick
        ("ms", "s", 2**62, [(0, 3)]),
    ],
)
def test_gaps_count_in_ticks_of_the_time_column(
    time: str, gap: str, gap_ticks: int, expected: list[tuple[int, int]]
) -> None:
    #  0  1     3
    times = pa.array([0, 1, 3], pa.int64()).cast(pa.timestamp(time))
    gaps = pa.array([gap_ticks] * 3, pa.int64()).cast(pa.duration(gap))
    table = pa.table({"k": [1, 1, 1], "ts": times, "gap": gaps, "id": [0, 1, 2]})
    result = sessions(table, wr.SessionWindows.with_dynamic_gap("gap"))
    assert sorted((start, end) for _, start, end in rows_of(result, ["k"])) == expected
    assert counted(result, "bad_gaps") == (0 if expected else 3,)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("gap", [None, 0, -1])
def test_a_bad_gap_is_an_error_that_names_key_and_time_where_that_was_asked(gap: int | None, threads: int) -> None:
    strict = wr.SessionWindows.with_dynamic_gap("gap", invalid_gap="error")
    good = table_of([(7, 0, 1), (None, 1, gap), (7, None, gap)])
    assert counted(sessions(good, strict, threads), "null_keys", "null_times", "bad_gaps") == (1, 1, 0)
    message = 'column "gap": the gap of key 7 at 1970-01-01T00:00:01 is null, zero or negative'
    bad = pa.concat_tables([good, table_of([(7, 10**6, gap)])])
    with pytest.raises(ValueError, match=message):
        sessions(bad, strict, threads)
    folded = wr.group_by(bad, "k", time="ts").windowed_by(strict)
    with pytest.raises(ValueError, match=message):
        folded.agg(total=wr.reduce("id", lambda one, other: one + other))


def test_the_gap_may_be_aggregated_and_be_a_key() -> None:
    table = table_of([(1, 0, 5), (1, 3, 2), (1, 9, 2)])
    longest = wr.group_by(table, "k", time="ts").windowed_by(TEN).agg(most=wr.max("gap"))
    assert rows_of(longest, ["k"]) == {((1,), 0, 3): {"most": 5 * US}, ((1,), 9, 9): {"most": 2 * US}}
    keyed = wr.group_by(table, "gap", time="ts").windowed_by(TEN).count()
    assert sorted(keyed["count"].to_pylist()) == [1, 1, 1]


REFUSED: list[tuple[str, type[Exception], str]] = [
    ("gpa", ValueError, r"got 'gpa'; allowed: a column of the data \(did you mean 'gap'\?\)"),
    ("id", TypeError, "column 'id' has type int64; allowed: a duration: pyarrow"),
    ("ts", TypeError, r"column 'ts' has type timestamp\[us\]; allowed"),
    ("months", TypeError, "column 'months' has type month_day_nano_interval; allowed: a duration"),
]


@pytest.mark.parametrize(("column", "error", "message"), REFUSED)
def test_a_column_without_durations_is_refused_when_windowed(column: str, error: type[Exception], message: str) -> None:
    table = table_of([(1, 0, 1)]).append_column("months", pa.array([(1, 2, 3)], pa.month_day_nano_interval()))
    with pytest.raises(error, match=f"column: {message}"):
        wr.group_by(table, "k", time="ts").windowed_by(wr.SessionWindows.with_dynamic_gap(column))


def test_a_column_that_is_there_twice_is_refused() -> None:
    table = table_of([(1, 0, 1)])
    twice = pa.Table.from_arrays([*table.columns, table["gap"]], names=[*table.column_names, "gap"])
    with pytest.raises(ValueError, match="column: got 'gap'; allowed: a name that only one column has; 2 columns"):
        wr.group_by(twice, "k", time="ts").windowed_by(TEN)
