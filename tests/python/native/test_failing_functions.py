"""Errors of failing Python functions: where in the user's code, and which function returned None before."""

from __future__ import annotations

import json
import operator
import re
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import StreamDriver

from ..scenes import EIGHT, PAYMENTS

SESSIONS = wr.SessionWindows.with_gap("5 minutes", grace="1 hour")
SLIDING = wr.SlidingWindows.with_time_difference("5 minutes", grace="1 hour")


def table(*minutes: int) -> pa.Table:
    rows = [{"user": "u", "ts": EIGHT + timedelta(minutes=minute), "amount": minute} for minute in minutes]
    return pa.Table.from_pylist(rows, PAYMENTS)


def here(windows: Any, data: pa.Table, function: Any) -> pa.Table:
    return wr.group_by(data, "user", time="ts").windowed_by(windows).agg(x=function, n=wr.count())


def driven(windows: Any, data: pa.Table, function: Any) -> pa.Table:
    driver = StreamDriver(lambda given: here(windows, given, function), PAYMENTS)
    driver.pipe_batch(data, rows=1)
    driver.restore(driver.snapshot()).finish()
    return driver.read_table()


def appended(held: Any, row: Any) -> Any:
    return held.append(row.amount)


def extended(older: Any, later: Any) -> Any:
    return older.extend(later)


def forgotten() -> Any:
    joined([], [])


def added(held: Any, row: Any) -> Any:
    return [*held, row.amount]


def joined(older: Any, later: Any) -> Any:
    return older + later


NONES = {
    "add, then merge": (SESSIONS, list, appended, joined, "add", "merge"),
    "add, then add": (SLIDING, list, appended, joined, "add", "add"),
    "merge, then add": (SESSIONS, list, added, extended, "merge", "add"),
    "init, then add": (SLIDING, forgotten, added, joined, "init", "add"),
    "init, then merge": (SESSIONS, forgotten, lambda held, row: [row.amount], joined, "init", "merge"),
}


@pytest.mark.parametrize("run", [here, driven])
@pytest.mark.parametrize(("windows", "init", "add", "merge", "returned", "failed"), NONES.values(), ids=NONES)
def test_a_function_that_returned_none_is_named_before_the_one_that_got_it(
    run: Any, windows: Any, init: Any, add: Any, merge: Any, returned: str, failed: str
) -> None:
    function = wr.aggregate(init, add, merge, schema="array<bigint>", columns=["amount"])
    message = (
        rf'^aggregate "x": {returned} returned None, not the accumulator, then {failed} failed for the record at '
        r"2026-01-01T08:0\d:00, in the window \[20.*\]: \w+: .*NoneType.* "
        r"\(.*test_failing_functions.py:\d+, in \w+: .*\)$"
    )
    with pytest.raises(RuntimeError, match=message) as raised:
        run(windows, table(0, 1, 2), function)
    assert isinstance(raised.value.__cause__, TypeError | AttributeError)


def test_none_after_a_restart_is_still_of_add() -> None:
    function = wr.aggregate(list, appended, joined, schema="array<bigint>", columns=["amount"])
    driver = StreamDriver(lambda given: here(SESSIONS, given, function), PAYMENTS)
    driver.pipe_batch(table(0))
    with pytest.raises(RuntimeError, match="add returned None, not the accumulator, then merge failed"):
        driver.restore(driver.snapshot()).pipe_batch(table(1))


def test_none_is_not_blamed_for_what_it_did_not_cause() -> None:
    def add(held: Any, row: Any) -> Any:
        if row.amount:
            raise KeyError(row.amount)
        return None if row.amount == 0 else held

    function = wr.aggregate(lambda: None, add, lambda older, later: None, schema="bigint", columns=["amount"])
    with pytest.raises(
        RuntimeError, match='^aggregate "x": add failed for the record at 2026-01-01T08:01:00, .*: KeyError: 1 '
    ):
        here(SESSIONS, table(0, 1), function)


def test_functions_that_take_none_may_return_it() -> None:
    last = wr.aggregate(
        lambda: None, lambda held, row: row.amount or None, lambda older, later: later, schema="bigint",
        columns=["amount"],
    )  # fmt: skip
    assert here(SESSIONS, table(0, 1, 20, 21, 40), last)["x"].to_pylist() == [1, 21, 40]
    assert here(SESSIONS, table(0), last)["x"].to_pylist() == [None]


def parsed(text: str) -> Any:
    return json.loads(text)  # raised within, at some line of the library


def wrong(held: int, row: Any) -> Any:
    return held + parsed("{")


PLACES = {
    "its own line": (lambda held, row: held // 0, lambda line: f"{__file__}:{line}, in <lambda>: "),
    "a function that it calls": (
        wrong,
        lambda line: f"{__file__}:{parsed.__code__.co_firstlineno + 1}, in parsed: return json.loads(text)",
    ),
    "a library's own function": (lambda held, row: json.loads(""), lambda line: f"{__file__}:{line}, in <lambda>: "),
}


@pytest.mark.parametrize("run", [here, driven])
@pytest.mark.parametrize(("add", "place"), PLACES.values(), ids=PLACES)
def test_the_error_has_the_innermost_line_of_the_user(run: Any, add: Any, place: Any) -> None:
    function = wr.aggregate(int, add, max, schema="bigint", columns=["amount"])
    with pytest.raises(RuntimeError, match="add failed for the record at 2026-01-01T08:00:00, in the window") as raised:
        run(SESSIONS, table(0), function)
    message = str(raised.value)
    assert f" ({place(add.__code__.co_firstlineno)}" in message
    assert message.endswith(")")


def test_the_error_of_a_library_function_has_its_own_line() -> None:
    function = wr.aggregate(str, lambda held, row: held, json.JSONDecoder().raw_decode, schema="string")
    with pytest.raises(RuntimeError, match=r"merge failed .*\(.*json.decoder.py:\d+, in raw_decode"):
        here(SESSIONS, table(0, 1), function)


def test_an_exception_without_lines_of_python_is_shown_alone() -> None:
    function = wr.reduce("amount", divmod)
    with pytest.raises(RuntimeError, match=r": ZeroDivisionError: [^(]*$"):
        here(SESSIONS, table(0, 0), function)


def changes(held: Any, row: Any) -> None:
    held.append(row.amount)


def returns_early(held: Any, row: Any) -> None:
    if row.amount is None:
        return
    try:
        held.append(row.amount)
    except ValueError:
        return


class Adder:
    def __call__(self, held: Any, row: Any) -> Any:
        return held

    def add(self, held: Any, row: Any) -> None:
        held.append(row.amount)


@pytest.mark.parametrize("add", [changes, returns_early, Adder().add])
def test_an_add_without_a_return_of_a_value_is_refused_at_the_call(add: Any) -> None:
    place = f"{__file__}:{add.__code__.co_firstlineno}"
    message = rf"aggregate\(add=\): got {add.__qualname__}, which returns no value \({place}\); allowed: a func"
    with pytest.raises(TypeError, match=message):
        wr.aggregate(list, add, joined, schema="array<bigint>")
    with pytest.raises(TypeError, match=message):
        wr.aggregate(list, {"left": added, "right": add}, joined, schema="array<bigint>")
    with pytest.raises(TypeError, match=r"aggregate\(merge=\): got .*, which returns no value"):
        wr.aggregate(list, added, add, schema="array<bigint>")
    with pytest.raises(TypeError, match=r"reduce\(fn=\): got .*, which returns no value"):
        wr.reduce("amount", add)


def either(held: Any, row: Any) -> Any:
    return held or None


def at_times(held: Any, row: Any) -> Any:
    if row.amount:
        return held
    return None


def refuses(held: Any, row: Any) -> Any:
    raise ValueError("no rows")


@pytest.mark.parametrize("add", [either, at_times, refuses, Adder(), Adder().__call__, max, lambda held, row: None])
def test_an_add_that_may_return_a_value_is_taken(add: Any) -> None:
    assert isinstance(wr.aggregate(list, add, joined, schema="array<bigint>"), wr.Aggregate)


@pytest.mark.parametrize("run", [here, driven])
def test_a_row_is_asked_by_name_in_brackets_too(run: Any) -> None:
    def add(held: list[int], row: Any) -> list[int]:
        assert row == (row["amount"], row["ts"]) == (row.amount, row.ts) == (row[0], row[1]) == row[:]
        return [*held, row["amount"]]

    function = wr.aggregate(list, add, joined, schema="array<bigint>", columns=["amount", "ts"])
    assert run(SESSIONS, table(0, 1, 20), function)["x"].to_pylist() == [[0, 1], [20]]


def test_names_that_are_none_of_python_are_asked_in_brackets() -> None:
    odd = table(3, 4).rename_columns(["user", "ts", "paid in €"])
    function = wr.aggregate(int, lambda held, row: held + row["paid in €"], max, schema="bigint", columns=["paid in €"])
    assert here(SLIDING, odd, function)["x"].to_pylist() == [3, 7, 4]
    either = {side: wr.group_by(odd, "user", time="ts") for side in ("left", "right")}
    counted = wr.aggregate(
        int, {"left": lambda held, row: held + row["paid in €"]}, max, schema="bigint", columns=["left.paid in €"]
    )
    assert wr.cogroup(**either).windowed_by(SLIDING).agg(x=counted)["x"].to_pylist() == [3, 7, 4]


def test_for_an_unknown_name_in_brackets_the_error_lists_the_names() -> None:
    function = wr.aggregate(int, lambda held, row: row["amout"], max, schema="bigint", columns=["amount"])
    with pytest.raises(
        RuntimeError, match=r"KeyError: .*no column 'amout'; the columns of the row are 'amount'.* in <lam"
    ):
        here(SESSIONS, table(0), function)


ONE_VALUE = lambda value: value  # noqa: E731
ARITIES: dict[str, Any] = {
    "reduce(fn=)": lambda: wr.reduce("amount", ONE_VALUE),
    "aggregate(init=)": lambda: wr.aggregate(ONE_VALUE, added, joined, schema="array<bigint>"),
    "aggregate(add=)": lambda: wr.aggregate(list, ONE_VALUE, joined, schema="array<bigint>"),
    "aggregate(merge=)": lambda: wr.aggregate(list, added, ONE_VALUE, schema="array<bigint>"),
    "apply(fn=)": lambda: wr.apply(ONE_VALUE, "amount", "user", schema="bigint"),
    "then(fn=)": lambda: wr.count().then(ONE_VALUE, wr.count()),
}


@pytest.mark.parametrize("argument", ARITIES)
def test_a_function_of_another_number_of_arguments_is_refused_at_the_call(argument: str) -> None:
    message = re.escape(f"{argument}: got <lambda>, which takes (value); allowed: a function ")
    with pytest.raises(TypeError, match=message):
        ARITIES[argument]()


def test_functions_with_options_and_functions_of_c_are_taken() -> None:
    for function in (max, lambda a, b, c=0: a, lambda *values: values[0], operator.add):
        wr.reduce("amount", function)


def failing(values: pa.ListArray) -> pa.Array:
    raise KeyError("no such price")


def test_an_error_of_apply_or_then_names_the_file_and_the_line() -> None:
    line = failing.__code__.co_firstlineno + 1
    place = rf"KeyError: 'no such price' \({re.escape(__file__)}:{line}, in failing: raise KeyError"
    for function in (wr.apply(failing, "amount", schema="bigint"), wr.count().then(failing, schema="bigint")):
        with pytest.raises(RuntimeError, match=f'^aggregate "x": {place}'):
            here(SESSIONS, table(0, 1), function)
