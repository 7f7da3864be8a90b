"""Aggregates of Python functions: fold order, nulls, accumulators, errors."""

from __future__ import annotations

from typing import Any, NamedTuple
from uuid import UUID

import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import StreamDriver

from ..scenes import at

SCHEMA = pa.schema({"user": pa.string(), "ts": pa.timestamp("us"), "word": pa.string(), "amount": pa.int64()})
SESSIONS = wr.SessionWindows.with_gap("5 minutes", grace="1 hour")
SLIDING = wr.SlidingWindows.with_time_difference("5 minutes", grace="1 hour")
WORDS = wr.reduce("word", lambda a, b: f"{a}+{b}")


def driver(windows: Any, value: str | None = None, **aggregates: Any) -> StreamDriver:
    def definition(data: Any) -> Any:
        grouped = wr.group_by(data, "user", time="ts").windowed_by(windows)
        return grouped.emit("update", every_record=True).agg(**aggregates)

    return StreamDriver(definition, SCHEMA, value=value)


def shown(changes: list[Any], name: str = "x") -> list[Any]:
    return [change.values.get(name) for change in changes]


def test_reduce_folds_older_sessions_first_and_the_record_last() -> None:
    """
    a─────────b        then c between them: the sessions a and b, in that order, then c
         c
    """
    stream = driver(SESSIONS, x=WORDS, n=wr.count())
    for minute, word in ((0, "a"), (10, "b")):
        assert shown(stream.pipe(user="u", ts=at(minute), word=word)) == [word]
    changes = stream.pipe(user="u", ts=at(5), word="c")
    assert shown(changes) == [None, None, "a+b+c"]
    assert shown(changes, "n")[-1] == 3


def test_nulls_are_skipped_or_passed_on_as_in_kafka() -> None:
    def fed(value: str | None) -> list[Any]:
        made = driver(SESSIONS, value=value, x=WORDS)
        return [shown(made.pipe(user="u", ts=at(0), word=word)) for word in (None, "a", None)]

    assert fed(None) == [[None], ["a"], ["a"]]
    assert fed("word") == [[None], ["a"], ["a+None"]]
    sliding = driver(SLIDING, value="word", x=WORDS)
    assert sliding.pipe(user="u", ts=at(0)) == []
    assert (sliding.counters["null_values"], sliding.stream_time) == (1, None)


class Stats(NamedTuple):
    n: int
    words: list[str]


STATS = wr.aggregate(
    lambda: Stats(0, []),
    lambda held, row: Stats(held.n + 1, [*held.words, row.word]),
    lambda a, b: Stats(a.n + b.n, a.words + b.words),
    schema="n bigint, words array<string>",
    columns=["word"],
)


def test_an_accumulator_comes_back_from_pages_as_it_was() -> None:
    made = driver(SESSIONS, x=STATS)
    made.pipe(user="u", ts=at(0), word="a")
    again = driver(SESSIONS, x=STATS).restore(made.snapshot())
    assert shown(again.pipe(user="u", ts=at(1), word="b"))[-1] == {"n": 2, "words": ["a", "b"]}


def test_an_accumulator_that_is_changed_in_place_belongs_to_one_window() -> None:
    def add(held: list[str], row: Any) -> list[str]:
        held.append(row.word)
        return held

    in_place = wr.aggregate(list, add, lambda a, b: a + b, schema="array<string>", columns=["word"])
    fresh = wr.aggregate(
        list, lambda held, row: [*held, row.word], lambda a, b: a + b, schema="array<string>", columns=["word"]
    )
    for windows in (SESSIONS, SLIDING):
        one, other = driver(windows, x=in_place), driver(windows, x=fresh)
        for minute, word in ((10, "a"), (14, "b"), (12, "c"), (30, "d"), (11, "e")):
            changes = [made.pipe(user="u", ts=at(minute), word=word) for made in (one, other)]
            assert changes[0] == changes[1]
        table = pa.table({"user": ["u"] * 3, "ts": [at(0), at(1), at(2)], "word": ["a", "b", "c"], "amount": [1] * 3})
        assert driver(windows, x=in_place).pipe_batch(table) == driver(windows, x=fresh).pipe_batch(table)


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


@pytest.mark.parametrize(
    "function",
    [
        wr.reduce("amount", lambda a, b: "text"),
        wr.aggregate(int, lambda held, row: held + 1 if held == 0 else "text", lambda a, b: a + b, schema="bigint"),
    ],
    ids=["reduce", "aggregate"],
)
def test_a_result_that_is_not_of_the_type_is_an_error_that_names_the_window(function: Any) -> None:
    message = (
        r'^aggregate "x": conversion to its type failed in the window \[2026-01-01T09:00:00, 2026-01-01T09:01:00\]: '
        "TypeError: result: got 'text', a str; allowed: an int"
    )
    rows = [{"user": "u", "ts": at(minute), "amount": 1} for minute in (0, 60, 61)]
    made, table = driver(SESSIONS, x=function), pa.Table.from_pylist(rows, SCHEMA)
    for ask in (
        lambda: made.pipe_batch(table),
        lambda: wr.group_by(table, "user", time="ts").windowed_by(SESSIONS).agg(x=function),
    ):
        with pytest.raises(RuntimeError, match=message) as raised:
            ask()
        assert isinstance(raised.value.__cause__, TypeError)


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


def test_data_in_this_process_is_aggregated_in_the_order_of_time() -> None:
    table = pa.table({"user": ["u", "u", "v", None], "ts": [at(1), at(0), at(0), at(0)], "word": ["b", "a", "c", "d"]})
    result = wr.group_by(table, "user", time="ts").windowed_by(SESSIONS).emit("update").agg(x=WORDS, n=wr.count())
    assert result.column_names == ["user", "window", "x", "n", "op"]
    rows = {row["user"]: (row["x"], row["n"], row["op"]) for row in result.to_pylist()}
    assert rows == {"u": ("a+b", 2, "upsert"), "v": ("c", 1, "upsert")}
    assert wr.counters(result) == {
        "records": 4,
        "null_keys": 1,
        "null_times": 0,
        "null_ties": 0,
        "bad_gaps": 0,
        "bad_ends": 0,
        "clamped_gaps": 0,
        "ticks": 0,
        "overflows": 0,
        "windows": 2,
    }


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
