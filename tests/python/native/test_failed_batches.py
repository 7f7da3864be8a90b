"""After a failure nothing half done is saved, and nothing is passed over."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import StreamDriver

SCHEMA = pa.schema([("k", pa.string()), ("ts", pa.timestamp("us")), ("v", pa.int64())])


def at(second: int) -> datetime:
    return datetime(2026, 1, 1) + timedelta(seconds=second)


def driver(aggregate: wr.Aggregate) -> StreamDriver:
    windows = wr.SessionWindows.with_gap("5 seconds", grace="100 seconds")
    return StreamDriver(
        lambda rows: wr.group_by(rows, "k", time="ts").windowed_by(windows).agg(n=wr.count(), a=aggregate), SCHEMA
    )


def test_a_batch_that_failed_half_way_leaves_nothing_to_save_or_to_ask() -> None:
    def add(held: list[int], row: Any) -> list[int]:
        if row.v == 9:
            raise KeyError(row.v)
        return [*held, row.v]

    failing = driver(wr.aggregate(list, add, lambda a, b: a + b, schema="array<bigint>", columns=["v"]))
    failing.pipe(k="a", ts=at(0), v=1)
    with pytest.raises(RuntimeError, match="KeyError"):
        failing.pipe(k="a", ts=at(1), v=9)
    for ask in (failing.snapshot, failing.changed_pages, failing.sessions.all):
        with pytest.raises(ValueError, match="an earlier batch failed half way: restore"):
            ask()


def test_pages_that_could_not_be_written_are_not_passed_over() -> None:
    def add(held: list[int], row: Any) -> Any:
        return "no list" if row.v == 9 else [*held, row.v]

    aggregate = wr.aggregate(list, add, lambda a, b: a + b, schema="array<bigint>", columns=["v"])
    windows = wr.SessionWindows.with_gap("5 seconds", grace="100 seconds")
    closing = StreamDriver(
        lambda rows: wr.group_by(rows, "k", time="ts").windowed_by(windows).emit("close").agg(a=aggregate), SCHEMA
    )
    closing.pipe(k="a", ts=at(0), v=1)
    closing.pipe(k="b", ts=at(1), v=9)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="conversion to its type failed"):
            closing.changed_pages()


def test_a_key_of_nulls_only_has_no_windows_to_ask_for() -> None:
    schema = pa.schema([("a", pa.string()), ("b", pa.string()), ("ts", pa.timestamp("us"))])
    windows = wr.SessionWindows.with_gap("5 seconds", grace="1 minute")
    both = StreamDriver(lambda rows: wr.group_by(rows, "a", "b", time="ts").windowed_by(windows).count(), schema)
    both.pipe(a="x", b=None, ts=at(0))
    assert both.sessions.fetch(("x", None)).num_rows == 1
    with pytest.raises(ValueError, match=r"key: got \(None, None\); allowed: a key with a value in it"):
        both.sessions.fetch((None, None))


def test_a_reduce_of_categories_gives_their_values() -> None:
    categories = pa.array(["x", "y"]).dictionary_encode()
    for values, expected in ((categories, "xy"), (pa.array([["x"], ["y"]]), ["x", "y"])):
        rows = pa.table({"k": ["a", "a"], "ts": [at(0), at(1)], "v": values})
        sessions = wr.group_by(rows, "k", time="ts").windowed_by(wr.SessionWindows.with_gap("5 seconds"))
        assert sessions.agg(all=wr.reduce("v", lambda a, b: a + b))["all"].to_pylist() == [expected]
