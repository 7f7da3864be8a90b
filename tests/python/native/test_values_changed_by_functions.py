"""Functions may change what they get in place: each window has its own values of a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr

from ..harness.nested import LIST, SCHEMA, SESSIONS, SLIDING, driver, records
from ..scenes import EIGHT, at_second


def extended(one: list[int], other: list[int]) -> list[int]:
    one.extend(other)
    return one


def test_a_function_that_changes_a_value_in_place_changes_it_in_one_window() -> None:
    """
    10  12  13  14
    ·   ·  [1] [2]     [8, 13] holds the first list, [9, 14] and [12.001, 17.001] hold both
    """
    rows = [(10, None), (12, None), (13, [1]), (14, [2])]
    table = pa.Table.from_pylist([{"k": "a", "ts": at_second(second), "l": value} for second, value in rows], SCHEMA)
    in_place, fresh = wr.reduce("l", extended), wr.reduce("l", lambda one, other: one + other)
    windows = wr.SlidingWindows.with_time_difference("5 seconds", grace="1 minute", resolution="1 millisecond")
    stream = driver(windows, x=in_place, n=wr.count())  # alone, an aggregate that is None deletes its window
    stream.pipe_batch(table)
    here = wr.group_by(table, "k", time="ts").windowed_by(windows).agg(x=in_place, y=fresh)
    assert here["x"].to_pylist() == here["y"].to_pylist()
    for found in (here, stream.windows.all()):
        by_start = {(row["window"]["start"] - EIGHT).total_seconds(): row["x"] for row in found.to_pylist()}
        assert (by_start[8], by_start[9], by_start[12.001]) == ([1], [1, 2], [1, 2])


def spoil(value: Any) -> Any:
    """Changes a value, and what is in it, in place."""
    if isinstance(value, list):
        value.append(len(value))
    elif isinstance(value, dict):
        for inner in value.values():
            spoil(inner)
    return value


def same_but_fresh(value: Any) -> Any:
    if isinstance(value, list):
        return [*value, len(value)]
    return {name: same_but_fresh(inner) for name, inner in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("every", [True, False])
@pytest.mark.parametrize("windows", [SESSIONS, SLIDING], ids=["sessions", "sliding"])
@pytest.mark.parametrize("column", ["l", "pair", "map"])
def test_values_of_a_row_belong_to_one_window(column: str, windows: Any, every: bool) -> None:
    def adding(change: Callable[[Any], Any]) -> wr.Aggregate:
        def add(held: list[Any], row: Any) -> list[Any]:
            return [*held[:-1], *map(change, held[-1:]), change(getattr(row, column))]

        columns = ["n", column]
        return wr.aggregate(list, add, lambda one, two: one + two, schema=pa.list_(kind), columns=columns)

    kind = SCHEMA.field(column).type
    aggregates = {
        "x": adding(spoil),
        "y": adding(same_but_fresh),
        "last": wr.reduce(column, lambda one, other: spoil(other)),
        "fresh": wr.reduce(column, lambda one, other: same_but_fresh(other)),
    }
    fed = records(5)
    stream = driver(windows, every=every, **aggregates)
    changes = stream.pipe_batch(pa.Table.from_pylist(fed, SCHEMA))
    here = wr.group_by(pa.Table.from_pylist(fed, SCHEMA), "k", time="ts").windowed_by(windows).agg(**aggregates)
    shown = [change.values for change in changes if change.values] + here.to_pylist()
    assert len(shown) > 6
    for values in shown:
        assert (values["x"], values["last"]) == (values["y"], values["fresh"])


@pytest.mark.parametrize(
    "column",
    [
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int8()), pa.array([[1], [2], [3]], LIST)),
        pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3], pa.int32()), pa.array([[1], [2], [3]], LIST)),
        pa.array([[1], [2], [3]], pa.large_list_view(pa.int64())),
        pa.array([[1], [2], [3]], pa.list_(pa.int64(), 1)),
    ],
    ids=lambda column: str(column.type)[:10],
)
def test_values_of_any_layout_belong_to_one_window(column: Any) -> None:
    table = pa.table(
        {"k": ["a"] * 3, "ts": pa.array([at_second(0), at_second(1), at_second(2)], pa.timestamp("us")), "c": column}
    )

    def joined(change: Callable[[Any], Any]) -> wr.Aggregate:
        return wr.aggregate(list, lambda held, row: [*held, change(row.c)], schema=pa.list_(LIST), columns=["c"])

    made = wr.group_by(table, "k", time="ts").windowed_by(SLIDING).agg(x=joined(spoil), y=joined(same_but_fresh))
    assert made["x"].to_pylist() == made["y"].to_pylist()


def test_values_of_a_cogroup_belong_to_one_window() -> None:
    def changing(change: Callable[[Any], Any]) -> wr.Aggregate:
        def add(held: list[Any], row: Any) -> list[Any]:
            return [*map(change, held), change(row.l)]

        return wr.aggregate(list, {"b": add}, schema=pa.list_(LIST), columns=["b.l"])

    table = pa.Table.from_pylist([row for row in records(7) if "l" in row], SCHEMA)
    inputs = {name: wr.group_by(table, "k", time="ts") for name in "ab"}
    got = wr.cogroup(**inputs).windowed_by(SLIDING).agg(x=changing(spoil), y=changing(same_but_fresh))
    assert got["x"].to_pylist() == got["y"].to_pylist()
