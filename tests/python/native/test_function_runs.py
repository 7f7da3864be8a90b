"""Python functions over sliding windows of a batch: windows that begin at one record share the adding of records."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow._folds.runs import copied

from ..harness.tables import by_sliding, records
from ..oracle.records import by_key
from ..scenes import EIGHT

US = timedelta(microseconds=1)
SLIDING = wr.SlidingWindows.with_time_difference(12 * US)


def of_times(*times: int) -> pa.Table:
    moments = pa.array(times, pa.int64()).cast(pa.timestamp("us"))
    return pa.table({"user": ["u"] * len(times), "ts": moments, "n": list(range(len(times)))})


def folded(table: Any, windows: Any = SLIDING, **aggregates: Any) -> pa.Table:
    return wr.group_by(table, "user", time="ts").windowed_by(windows).agg(**aggregates)


@given(st.lists(st.integers(-30, 60), min_size=1, max_size=40))
def test_a_record_is_added_once_for_all_windows_that_begin_at_one_record(times: list[int]) -> None:
    made: list[str] = []

    def init() -> list[int]:
        made.append("init")
        return []

    def add(held: list[int], row: Any) -> list[int]:
        made.append("add")
        return [*held, row.n]

    def merge(older: Any, later: Any) -> Any:
        raise AssertionError("there is nothing to merge")

    table = of_times(*times)
    longest: dict[int, int] = {}
    for members in by_key(records(table, ["user"])).values():
        for _start, _end, rows in by_sliding(12, 1)(members):
            first = id(rows[0])
            longest[first] = max(longest.get(first, 0), len(rows))
    folded(table, x=wr.aggregate(init, add, merge, schema="array<bigint>", columns=["n"]))
    # `init` is asked once more, for the class of what it makes.
    assert Counter(made) == {"init": len(longest) + 1, "add": sum(longest.values())}


def test_windows_that_close_on_the_way_through_many_records_hold_the_same() -> None:
    # Enough records that windows close some times before the end; 20 users with 6 to 7 records a window.
    count, users, difference = 300_000, 20, 120
    random = np.random.default_rng(7)
    user = random.integers(0, users, count)
    ts = np.sort(random.integers(0, count, count))
    n = random.integers(-1000, 1000, count)
    table = pa.table({"user": user, "ts": pa.array(ts, pa.timestamp("us")), "n": n})
    windows = wr.SlidingWindows.with_time_difference(difference * US)
    total = wr.aggregate(int, lambda held, row: held + row.n, schema="bigint", columns=["n"])
    shuffled, in_order = table.take(random.permutation(count)), [("user", "ascending"), ("window.start", "ascending")]
    found, plain = (folded(shuffled, windows, total=each).flatten().sort_by(in_order) for each in (total, wr.sum("n")))
    assert all(found[name].equals(plain[name]) for name in plain.column_names)
    assert found.num_rows > 550_000


@pytest.mark.parametrize(
    ("failing", "window"),
    [
        (0, r"\[2026-01-01T07:58:00, 2026-01-01T08:00:00\]"),
        (1, r"\[2026-01-01T07:59:00, 2026-01-01T08:01:00\]"),
        (3, r"\[2026-01-01T08:01:00, 2026-01-01T08:03:00\]"),
        (5, r"\[2026-01-01T08:03:00, 2026-01-01T08:05:00\]"),
    ],
)
def test_the_error_names_the_record_and_the_first_window_that_fails(failing: int, window: str) -> None:
    def add(held: int, row: Any) -> int:
        return held + 1 // (row.n - failing)

    times = [EIGHT + timedelta(minutes=minute) for minute in range(6)]
    table = pa.table({"user": ["u"] * 6, "ts": times, "n": list(range(6))})
    windows = wr.SlidingWindows.with_time_difference("2 minutes")
    message = f'^aggregate "x": add failed for the record at 2026-01-01T08:0{failing}:00, in the window {window}: Zero'
    with pytest.raises(RuntimeError, match=message) as raised:
        folded(table, windows, x=wr.aggregate(int, add, schema="bigint", columns=["n"]))
    assert isinstance(raised.value.__cause__, ZeroDivisionError)


def test_a_value_that_does_not_fit_is_an_error_with_its_window() -> None:
    def add(held: Any, row: Any) -> Any:
        return "text" if row.n == 2 else row.n

    table = of_times(100, 150, 200, 250)
    window = r"\[1970-01-01T00:00:00.000188, 1970-01-01T00:00:00.000200\]"
    with pytest.raises(RuntimeError, match=rf'aggregate "x": conversion to its type failed in the window {window}'):
        folded(table, x=wr.aggregate(int, add, schema="bigint", columns=["n"]))


def test_an_interrupt_stays_what_it_is() -> None:
    def add(held: int, row: Any) -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        folded(of_times(1, 2), x=wr.aggregate(int, add, schema="bigint"))


def test_a_function_may_run_another_query() -> None:
    inner = of_times(1, 2, 3)

    def add(held: int, row: Any) -> int:
        return held + folded(inner, x=wr.reduce("n", max)).num_rows

    windows = folded(inner, n=wr.count()).num_rows
    found = folded(of_times(1), x=wr.aggregate(int, add, schema="bigint"))
    assert found["x"].to_pylist() == [windows]


class Tally(dict[str, int]):
    """A dict of one's own."""


FLAT: list[Any] = [
    None, 1, 2.5, "a", b"b", True, [1, "a"], {"a": 1}, {1, 2}, defaultdict(int, a=1), Counter("aab"), Tally(a=1),
    [[1], [2]], {"a": [1]}, (1, [2]), frozenset({1}), bytearray(b"c"),
]  # fmt: skip


@pytest.mark.parametrize("held", FLAT, ids=repr)
def test_a_copy_is_equal_and_changes_by_itself(held: Any) -> None:
    other = copied(held)
    assert (other, type(other)) == (held, type(held))
    before = repr(held)
    for part in (other, *(other.values() if isinstance(other, dict) else other if isinstance(other, tuple) else ())):
        if isinstance(part, list | bytearray):
            part.append(7)
        elif isinstance(part, dict):
            part["new"] = 7
        elif isinstance(part, set):
            part.add(7)
    for part in other if isinstance(other, list) else ():
        if isinstance(part, list):
            part.append(7)
    assert repr(held) == before
