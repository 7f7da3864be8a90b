"""`position` and `session_number`: the place of a record in its window, of a session among those of its key."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

import windrow as wr

from ..harness.examples import usually
from ..harness.tables import ticks
from ..oracle.row_windows import RowWindows
from ..scenes import all_at
from .test_with_columns import ON_DISK, after_a_shuffle, expected, kinds, tables, windowed

POSITION = {"position": wr.position()}
BOTH = {**POSITION, "session_number": wr.session_number(), "n": wr.count()}


def check(table: pa.Table, answer: pa.Table, windows: RowWindows) -> None:
    """Each number counted from all records of the key; null for a record that is left out."""
    known, times, keys = expected(table, windows), ticks(table["ts"]), table["k"].to_pylist()
    starts: dict[Any, set[int]] = {}
    for row, (start, _, _) in known.items():
        starts.setdefault(keys[row], set()).add(start)
    names = [name for name in BOTH if name in answer.column_names]
    for row, got in enumerate(answer.select(names).to_pylist()):
        if row not in known:
            assert got == dict.fromkeys(names)
            continue
        start, _, members = known[row]
        order = sorted(members, key=lambda member: (times[member], member))
        assert got["position"] == order.index(row) + 1
        if "session_number" in got:
            assert got["session_number"] == sorted(starts[keys[row]]).index(start) + 1
            assert got["n"] == len(members)


@usually(200)
@given(tables(), kinds(), ON_DISK)
def test_numbers_equal_the_oracle(table: pa.Table, kind: tuple[Any, RowWindows], most: int) -> None:
    windows, oracle = kind
    for aggregates in (POSITION,) if isinstance(windows, wr.SlidingWindows) else (BOTH, POSITION):
        check(table, windowed(table, windows).with_columns(**aggregates), oracle)
        check(table, after_a_shuffle(table, windows, most, 2, aggregates), oracle)


def test_the_records_of_a_cogroup_are_numbered_together() -> None:
    views = pa.table({"user": ["ann", "ann"], "ts": all_at(0, 9)})
    orders = pa.table({"user": ["ann", "ann"], "ts": all_at(5, 90)})
    grouped = {"views": wr.group_by(views, "user", time="ts"), "orders": wr.group_by(orders, "user", time="ts")}
    rows = wr.cogroup(**grouped).windowed_by(wr.SessionWindows.with_gap("1 hour")).with_columns(**BOTH)
    assert [(row["input"], row["position"], row["session_number"]) for row in rows.to_pylist()] == [
        ("views", 1, 1),
        ("views", 3, 1),
        ("orders", 2, 1),
        ("orders", 1, 2),
    ]


CLICKS = pa.table({"user": ["ann"], "ts": all_at(0), "url": ["/"]})


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda data: data.agg(i=wr.position()), r"position\(\)'; allowed: with_columns"),
        (lambda data: data.agg(i=wr.session_number()), r"session_number\(\)'; allowed: with_columns"),
        (lambda data: data.with_columns(i=wr.position().where("url")), "no condition"),
        (lambda data: data.with_columns(i=wr.session_number().where("url")), "no condition"),
        (lambda data: data.with_columns(i=wr.position().over("1 hour")), r"no over"),
        (lambda data: data.with_columns(i=wr.window_length().over("1 hour")), r"no over"),
        (lambda data: data.with_columns(i=wr.position() / wr.count()), r"position\(\) as a separate column"),
        (lambda data: data.with_columns(i=wr.count() - wr.position()), r"position\(\) as a separate column"),
    ],
)
def test_what_has_no_number_is_refused_at_the_call(call: Any, why: str) -> None:
    data = wr.group_by(CLICKS, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("5 minutes"))
    with pytest.raises(ValueError, match=why):
        call(data)


def test_sliding_windows_have_no_session_number_and_a_number_may_be_computed_with() -> None:
    grouped = wr.group_by(CLICKS, "user", time="ts")
    sliding = grouped.windowed_by(wr.SlidingWindows.with_time_difference("5 minutes"))
    with pytest.raises(ValueError, match=r"session_number\(\)'; allowed: session windows: sliding windows overlap"):
        sliding.with_columns(i=wr.session_number())
    sessions = grouped.windowed_by(wr.SessionWindows.with_gap("5 minutes"))
    assert sessions.with_columns(before=wr.session_number() - 1)["before"].to_pylist() == [0]
    assert sessions.with_columns(**BOTH).slice(0, 0).schema.field("position").type == pa.int64()
