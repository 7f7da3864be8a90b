"""Aggregates of Python functions: errors, and functions that come back to their driver.

Orders of folds, nulls and deletes are those of the oracle in `conformance/test_streams.py`.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import StreamDriver

from ..harness.steps import LocalStream
from ..scenes import at

SCHEMA = pa.schema({"user": pa.string(), "ts": pa.timestamp("us"), "word": pa.string(), "amount": pa.int64()})
SESSIONS = wr.SessionWindows.with_gap("5 minutes", grace="1 hour")
SLIDING = wr.SlidingWindows.with_time_difference("5 minutes", grace="1 hour")
WORDS = wr.reduce("word", lambda a, b: f"{a}+{b}")


def driver(windows: Any, **aggregates: Any) -> StreamDriver:
    def definition(data: Any) -> Any:
        grouped = wr.group_by(data, "user", time="ts").windowed_by(windows)
        return grouped.emit("update", every_record=True).agg(**aggregates)

    return StreamDriver(definition, SCHEMA)


def shown(changes: list[Any], name: str = "x") -> list[Any]:
    return [change.values.get(name) for change in changes]


@pytest.mark.parametrize("seed", range(3))
def test_a_function_takes_the_records_of_a_split_in_the_order_of_its_batches(seed: int) -> None:
    def joined(data: Any) -> Any:
        return wr.group_by(data, "user", time="ts").windowed_by(SESSIONS).emit("update").agg(x=WORDS)

    words = list("hearsay and lore")
    rows = pa.table([["u"] * 16, [at(-minute) for minute in range(16)], words, [1] * 16], schema=SCHEMA)
    (row,) = LocalStream(joined, SCHEMA, seed=seed).push([rows])
    assert row["x"] == "+".join(words)


@pytest.mark.parametrize("function", ["init", "add", "merge"])
def test_an_exception_names_window_and_record_and_is_the_cause(function: str) -> None:
    def fails(*_args: object) -> Any:
        raise KeyError("boom")

    functions: dict[str, Any] = {"init": int, "add": lambda held, row: held + 1, "merge": lambda a, b: a + b}
    made = driver(SESSIONS, x=wr.aggregate(**{**functions, function: fails}, schema="bigint"))

    def pipe() -> None:
        for minute in range(2):
            made.pipe(user="u", ts=at(minute))

    place = rf"aggregate \"x\": {function} failed for the record at 2026-01-01T08:0"
    with pytest.raises(RuntimeError, match=place) as raised:
        pipe()
    assert isinstance(raised.value.__cause__, KeyError)
    assert "in the window [2026-01-01T08:00:00" in str(raised.value)
    with pytest.raises(ValueError, match="failed halfway"):
        made.pipe(user="u", ts=at(2))


UUIDS = pa.array([UUID(int=1).bytes], pa.uuid())
UNMADE = {
    "an extension in a list": pa.ListArray.from_arrays([0, 1], UUIDS),
    "an extension in a map": pa.MapArray.from_arrays([0, 1], ["a"], UUIDS),
    "an extension in a struct": pa.StructArray.from_arrays([UUIDS], ["v"]),
    "a union": pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]),
}


@pytest.mark.parametrize("values", UNMADE.values(), ids=UNMADE)
def test_types_whose_values_cannot_be_made_are_refused_at_the_call(values: pa.Array[Any]) -> None:
    table = pa.table({"user": ["u"], "ts": [at(0)], "v": values})
    windowed = wr.group_by(table, "user", time="ts").windowed_by(SESSIONS)
    with pytest.raises(TypeError, match="reduce: column 'v' has type .*; allowed: types without unions"):
        windowed.agg(x=wr.reduce("v", lambda a, b: a))
    with pytest.raises(ValueError, match=r"aggregate\(schema=\): got .*; allowed: types without unions"):
        wr.aggregate(int, lambda held, row: held, schema=values.type)


class Single(dict[str, int]):
    """A dict that cannot be copied."""

    def __deepcopy__(self, _memo: object) -> Any:
        raise KeyError("boom")


def test_an_accumulator_that_cannot_be_copied_is_reported_with_its_record() -> None:
    single = wr.aggregate(Single, lambda held, row: held, lambda a, b: a, schema="map<string, bigint>")
    message = 'aggregate "x": copy of an accumulator failed'
    window = r"in the window \[2026-01-01T08:00:00, 2026-01-01T08:00:00\]: KeyError"
    with pytest.raises(RuntimeError, match=f"{message} for the record at 2026-01-01T08:00:00, {window}"):
        driver(SESSIONS, x=single).pipe(user="u", ts=at(0))
    closing = StreamDriver(
        lambda data: wr.group_by(data, "user", time="ts").windowed_by(SESSIONS).emit("close").agg(x=single), SCHEMA
    )
    closing.pipe(user="u", ts=at(0))
    state = closing.snapshot()
    with pytest.raises(RuntimeError, match=f"{message} {window}"):
        closing.tick(at(66))
    with pytest.raises(RuntimeError, match=f"{message} {window}"):
        closing.restore(state).pipe(user="another", ts=at(66))


@pytest.mark.parametrize("times", [(0, 1), (0, 10, 5)], ids=["of a record", "of two sessions"])
def test_an_exception_of_a_reduction_is_of_fn(times: tuple[int, ...]) -> None:
    made = driver(SESSIONS, x=wr.reduce("amount", lambda a, b: a // (b - b)))
    *before, last = [{"user": "u", "ts": at(minute), "amount": 1} for minute in times]
    for record in before:
        made.pipe(**record)
    with pytest.raises(RuntimeError, match=r'aggregate "x": fn failed for the record at .*, in the window \['):
        made.pipe(**last)


def test_a_function_that_comes_back_to_its_driver_and_continues_keeps_its_rows() -> None:
    def add(held: int, row: Any) -> int:
        for again in (lambda: made.pipe(user="u", ts=at(0), amount=100), made.windows.all):
            with pytest.raises(ValueError, match="one call at a time"):
                again()
        return held + row.amount

    made = driver(SLIDING, x=wr.aggregate(int, add, schema="bigint", columns=["amount"]))
    rows = [{"user": "u", "ts": at(0), "amount": amount} for amount in (1, 2, 3)]
    assert shown(made.pipe_batch(pa.Table.from_pylist(rows, SCHEMA))) == [1, 3, 6]


def test_a_function_that_comes_back_to_its_driver_is_an_error() -> None:
    made: list[StreamDriver] = []
    again = wr.aggregate(int, lambda held, row: made[0].counters["records"], lambda a, b: a, schema="bigint")
    made.append(driver(SESSIONS, x=again))
    with pytest.raises(RuntimeError, match="one call at a time"):
        made[0].pipe(user="u", ts=at(0))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: wr.reduce("word", 3), TypeError, r"reduce\(fn=\)"),  # type: ignore[arg-type]
        (lambda: wr.reduce(3, max), TypeError, r"reduce\(column=\)"),  # type: ignore[arg-type]
        (lambda: wr.aggregate(0, max, schema="int"), TypeError, r"aggregate\(init=\)"),  # type: ignore[arg-type]
        (lambda: wr.aggregate(int, max, 3, schema="int"), TypeError, r"aggregate\(merge=\)"),  # type: ignore[arg-type]
        (lambda: wr.aggregate(int, max, schema=3), TypeError, r"aggregate\(schema=\)"),  # type: ignore[arg-type]
        (lambda: wr.aggregate(int, max, schema="bigit"), ValueError, "did you mean 'bigint'"),
        (lambda: wr.aggregate(int, max, schema=pa.struct([("n", pa.int8())] * 2)), ValueError, "each name once"),
        (lambda: wr.aggregate(int, max, schema="int", columns="word"), TypeError, r"aggregate\(columns=\)"),
        (lambda: wr.aggregate(int, max, schema="int", columns=["a", "a"]), ValueError, "each column once"),
        (lambda: driver(SESSIONS, x=wr.aggregate(int, max, schema="int")), ValueError, "sessions are merged"),
        (lambda: driver(SESSIONS, x=wr.reduce("wrd", max)), ValueError, "did you mean 'word'"),
    ],
)
def test_wrong_arguments_are_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()
