"""After a failure nothing half done is saved, and nothing is passed over."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow._native import Operator
from windrow.testing import StreamDriver
from windrow.testing._definition import plan_of

from ..scenes import at_second

SCHEMA = pa.schema([("k", pa.string()), ("ts", pa.timestamp("us")), ("v", pa.int64())])


WINDOWS = wr.SessionWindows.with_gap("5 seconds", grace="100 seconds")
HALFWAY = "an earlier batch failed halfway: restore"


def driver(aggregate: wr.Aggregate, emit: Any = "close") -> StreamDriver:
    def definition(rows: Any) -> Any:
        return wr.group_by(rows, "k", time="ts").windowed_by(WINDOWS).emit(emit).agg(n=wr.count(), a=aggregate)

    return StreamDriver(definition, SCHEMA)


def test_a_batch_that_failed_halfway_leaves_what_came_before_in_the_table_and_nothing_to_save_or_to_ask() -> None:
    def add(held: int, row: Any) -> int:
        if row.v == 9:
            raise KeyError(row.v)
        return held + int(row.v)

    updating = driver(wr.aggregate(int, add, lambda a, b: a + b, schema="bigint", columns=["v"]), "update")
    rows = pa.table({"k": ["a"] * 4, "ts": [at_second(0)] * 4, "v": [1, 2, 9, 4]}, SCHEMA)
    saved = updating.snapshot()
    with pytest.raises(RuntimeError, match="KeyError"):
        updating.pipe_batch(rows, rows=1)
    assert updating.counters["records"] == 3
    assert updating.read_table()["a"].to_pylist() == [1, 3]
    asked = (updating.snapshot, updating.changed_pages, updating.sessions.all)
    for call in (lambda: updating.pipe(k="a"), lambda: updating.tick(None), updating.finish, *asked):
        with pytest.raises(ValueError, match=HALFWAY):
            call()
    updating.restore(saved)
    assert updating.counters["records"] == 0
    (change,) = updating.pipe_batch(rows.slice(3))
    assert change.values == {"n": 1, "a": 4}


def test_values_that_are_refused_are_no_failure_of_a_batch() -> None:
    counting = driver(wr.count())
    with pytest.raises(TypeError, match="column 'k'"):
        counting.pipe(k=1, ts=at_second(0), v=1)
    assert counting.pipe(k="a", ts=at_second(0), v=1) == []


def test_a_gap_that_is_refused_and_a_string_that_is_no_text_fail_their_batch() -> None:
    gaps = wr.SessionWindows.with_dynamic_gap("gap", grace="100 seconds", invalid_gap="error")
    schema = SCHEMA.append(pa.field("gap", pa.duration("s")))
    strict = StreamDriver(lambda rows: wr.group_by(rows, "k", time="ts").windowed_by(gaps).count(), schema)
    with pytest.raises(ValueError, match='column "gap": the gap of key a at'):
        strict.pipe(k="a", ts=at_second(0))
    counting = driver(wr.count())
    broken = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff"))
    with pytest.raises(ValueError, match='column "k": it has a string whose bytes are not UTF-8'):
        counting.pipe_batch(pa.record_batch([broken, [at_second(0)], [1]], schema=SCHEMA))
    for failed in (strict, counting):
        with pytest.raises(ValueError, match=HALFWAY):
            failed.tick(at_second(1))


PAGES: dict[str, tuple[Any, str]] = {
    "none": (None, "pages: got None, a NoneType; allowed: .*snapshot"),
    "a number": (5, "pages: got 5, an int; allowed: .*snapshot"),
    "text": ("abc", "pages: got 'abc', a str; allowed: .*snapshot"),
    "bytes": (b"", "pages: got b'', a bytes; allowed: .*snapshot"),
    "a view": (memoryview(b"x"), "pages: got <memory .*, a memoryview; allowed: .*snapshot"),
    "changes": ({"head": b"x"}, "pages: got .*, a dict; allowed: .*values"),
    "names": (["head"], r"pages\[0\]: got 'head', a str; allowed: bytes"),
    "no page": ([b"x", None], r"pages\[1\]: got None, a NoneType; allowed: bytes"),
    "one of views": (iter([memoryview(b"x")]), r"pages\[0\]: got <memory .*, a memoryview; allowed: bytes"),
}


@pytest.mark.parametrize("case", PAGES)
def test_what_are_not_pages_is_refused_and_nothing_is_forgotten(case: str) -> None:
    pages, message = PAGES[case]
    counting = driver(wr.count())
    counting.pipe(k="a", ts=at_second(0), v=1)
    with pytest.raises(TypeError, match=message):
        counting.restore(pages)
    assert counting.sessions.all().num_rows == 1


def test_after_a_restore_that_failed_nothing_is_counted() -> None:
    plan = plan_of(lambda rows: wr.group_by(rows, "k", time="ts").windowed_by(WINDOWS).count(), SCHEMA)
    first, second = (Operator(plan.spec.text, plan.schema, []) for _ in range(2))
    first.push(pa.record_batch({"k": ["a"], "ts": pa.array([at_second(0)], pa.timestamp("us"))}, plan.schema))
    head, *_ = first.pages()
    with pytest.raises(ValueError, match="page"):
        second.restore([head])
    for ask in (second.counters, lambda: second.stream_time, second.pages):
        with pytest.raises(ValueError, match="an earlier restore failed halfway: restore"):
            ask()


def test_a_store_is_that_of_its_driver_also_after_a_restore() -> None:
    counting = driver(wr.count())
    store = counting.sessions
    counting.pipe(k="a", ts=at_second(0), v=1)
    saved = counting.snapshot()
    counting.pipe(k="b", ts=at_second(1), v=1)
    assert store.all()["k"].to_pylist() == ["a", "b"]
    counting.restore(saved)
    assert store.all()["k"].to_pylist() == ["a"]
    counting.pipe(k="c", ts=at_second(2), v=1)
    assert store.all()["k"].to_pylist() == ["a", "c"]


def test_pages_that_could_not_be_written_are_not_passed_over() -> None:
    def add(held: list[int], row: Any) -> Any:
        return "no list" if row.v == 9 else [*held, row.v]

    closing = driver(wr.aggregate(list, add, lambda a, b: a + b, schema="array<bigint>", columns=["v"]))
    closing.pipe(k="a", ts=at_second(0), v=1)
    closing.pipe(k="b", ts=at_second(1), v=9)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="conversion to its type failed"):
            closing.changed_pages()


def test_a_key_of_nulls_only_has_no_windows_to_ask_for() -> None:
    schema = pa.schema([("a", pa.string()), ("b", pa.string()), ("ts", pa.timestamp("us"))])
    both = StreamDriver(lambda rows: wr.group_by(rows, "a", "b", time="ts").windowed_by(WINDOWS).count(), schema)
    both.pipe(a="x", b=None, ts=at_second(0))
    assert both.sessions.fetch(("x", None)).num_rows == 1
    with pytest.raises(ValueError, match=r"key: got \(None, None\); allowed: a key with a value that is not null"):
        both.sessions.fetch((None, None))


def test_a_reduce_of_categories_gives_their_values() -> None:
    categories = pa.array(["x", "y"]).dictionary_encode()
    for values, expected in ((categories, "xy"), (pa.array([["x"], ["y"]]), ["x", "y"])):
        rows = pa.table({"k": ["a", "a"], "ts": [at_second(0), at_second(1)], "v": values})
        sessions = wr.group_by(rows, "k", time="ts").windowed_by(WINDOWS)
        assert sessions.agg(all=wr.reduce("v", lambda a, b: a + b))["all"].to_pylist() == [expected]
