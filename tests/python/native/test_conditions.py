"""`.where(column)`: an aggregate of the records alone in which a column is true."""

from __future__ import annotations

import builtins
import functools
import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import windrow as wr
from windrow._aggregates.aggregate import call_of
from windrow.testing import StreamDriver

US = pa.timestamp("us")
ORDERS = pa.table(
    {
        "user": ["ann", "ann", "ann", "bob"],
        "ts": pa.array([0, 1, 2, 50], US),
        "amount": [3, 9, 6, 5],
        "paid": [True, None, True, False],
        "packed": pa.array([True, None, True, False]).dictionary_encode(),
    }
)
GAP = wr.SessionWindows.with_gap("10 seconds", grace="0 seconds")


def sessions(data: Any = ORDERS) -> Any:
    return wr.group_by(data, "user", time="ts").windowed_by(GAP)


def by_user(result: pa.Table, column: str) -> dict[str, Any]:
    return dict(zip(result["user"].to_pylist(), result[column].to_pylist(), strict=True))


def appended(held: list[int], row: Any) -> list[int]:
    return [*held, row.amount]


LISTED = wr.aggregate(list, appended, lambda a, b: a + b, schema="array<bigint>", columns=["amount"])


FLAGS = {
    "byte": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, None, 5, 0], pa.int8())),
    "runs": pc.run_end_encode(ORDERS["paid"].combine_chunks()),
}


@pytest.mark.parametrize("column", ["paid", "packed", *FLAGS])
@pytest.mark.parametrize("windows", [GAP, wr.SlidingWindows.with_time_difference("1 second", grace="0 seconds")])
def test_python_functions_see_the_records_that_meet_their_condition(column: str, windows: Any) -> None:
    def total(a: int, b: int) -> int:
        return a + b

    flagged = functools.reduce(lambda table, name: table.append_column(name, FLAGS[name]), FLAGS, ORDERS)
    windowed = wr.group_by(flagged, "user", time="ts").windowed_by(windows)
    got = windowed.agg(
        ours=wr.reduce("amount", total).where(column),
        theirs=wr.sum("amount").where(column),
        listed=LISTED.where(column),
        collected=wr.collect_list("amount").where(column),
    )
    plain = wr.group_by(ORDERS, "user", time="ts").windowed_by(windows).agg(total=wr.sum("amount").where("paid"))
    assert got["ours"].to_pylist() == got["theirs"].to_pylist()
    assert sorted(got["theirs"].to_pylist(), key=repr) == sorted(plain["total"].to_pylist(), key=repr)
    assert got["listed"].to_pylist() == got["collected"].to_pylist()
    assert any(value is not None for value in got["ours"].to_pylist())


def test_a_cogroup_takes_conditions_of_the_input_of_the_aggregate() -> None:
    listed = wr.aggregate(list, {"one": appended}, lambda a, b: a + b, schema="array<bigint>", columns=["one.amount"])
    got = both().agg(
        n=wr.count("one.*").where("one.paid"),
        also=wr.count().where("one.paid"),
        total=wr.sum("one.amount").where("one.paid"),
        listed=listed.where("one.paid"),
    )
    assert by_user(got, "n") == by_user(got, "also") == {"ann": 2, "bob": 0}
    assert by_user(got, "total") == {"ann": 9, "bob": None}
    assert by_user(got, "listed") == {"ann": [3, 6], "bob": []}


def job(condition: str) -> Callable[[Any], Any]:
    return lambda data: sessions(data).agg(total=wr.sum("amount").where(condition), listed=LISTED.where(condition))


def test_a_state_continues_only_with_its_own_conditions() -> None:
    table = ORDERS.append_column("sent", ORDERS["paid"])
    driver = StreamDriver(job("paid"), table.schema)
    driver.pipe_batch(table.slice(0, 2))
    with pytest.raises(
        ValueError, match=r"the aggregate .total. was sum\(.amount.\)\.where\(.paid.\), is .*where\(.sent.\)"
    ):
        StreamDriver(job("sent"), table.schema).restore(driver.snapshot())


def test_the_plan_names_a_condition_only_where_there_is_one() -> None:
    plain, filtered = (call_of(each).plan("x") for each in (wr.sum("amount"), wr.sum("amount").where("paid")))
    assert "where" not in json.dumps(plain)
    assert filtered == {**plain, "where": "paid"}
    assert wr.count_if("paid") == wr.count().where("paid")


def test_a_column_of_nulls_alone_is_never_true() -> None:
    table = ORDERS.append_column("none", pa.nulls(4))
    functions = {"ours": wr.reduce("amount", lambda a, b: a + b).where("none"), "listed": LISTED.where("none")}
    built_in = {"n": wr.count_if("none"), "total": wr.sum("amount").where("none")}
    for windows in (GAP, wr.SlidingWindows.with_time_difference("1 second", grace="0 seconds")):
        windowed = wr.group_by(table, "user", time="ts").windowed_by(windows)
        got = [tuple(row.values())[2:] for row in windowed.agg(**built_in, **functions).to_pylist()]
        assert set(map(repr, got)) == {repr((0, None, None, []))}
        assert set(windowed.with_columns(**built_in)["n"].to_pylist()) == {0}
    ended = wr.group_by(table, "user", time="ts", tick="none").windowed_by(
        wr.SessionWindows.with_gap("10 seconds", end_when="none")
    )
    assert by_user(ended.agg(n=wr.count()), "n") == {"ann": 3, "bob": 1}
    driver = StreamDriver(lambda data: sessions(data).agg(n=wr.count_if("none"), m=wr.count()), table.schema)
    driver.pipe_batch(table)
    assert {change.key["user"]: change.values for change in driver.finish()} == {
        "ann": {"n": 0, "m": 3},
        "bob": {"n": 0, "m": 1},
    }


def both() -> Any:
    inputs = {name: wr.group_by(ORDERS, "user", time="ts") for name in ("one", "two")}
    return wr.cogroup(**inputs).windowed_by(GAP)


AMOUNT, TWO = wr.sum("amount"), dict.fromkeys(("one", "two"), appended)
OF_TWO = wr.aggregate(list, TWO, max, schema="array<bigint>")
REFUSED: dict[str, Callable[[], Any]] = {
    r"TypeError: sum\(...\).where\(column=\): got 5": lambda: AMOUNT.where(5),
    "ValueError: allowed: one condition; this aggregate has 'paid'": lambda: AMOUNT.where("paid").where("packed"),
    r"ValueError: count\(\).where\('paid'\).where\(column=\): got 'packed'; allowed: one condition": lambda: (
        wr.count_if("paid").where("packed")
    ),
    r"TypeError: count\(\).where: column 'amount' has type int64; allowed: a boolean": lambda: sessions().agg(
        n=wr.count().where("amount")
    ),
    "TypeError: a boolean": lambda: sessions().agg(n=LISTED.where("amount")),
    "ValueError: .n.: count_if: got 'pai'; .*did you mean 'paid'": lambda: sessions().agg(n=wr.count_if("pai")),
    r'ValueError: .n.: sum\("amount"\).where: got .pai': lambda: sessions().agg(n=AMOUNT.where("pai")),
    "ValueError: .n.: sum: got .amoun": lambda: sessions().agg(n=wr.sum("amoun").where("paid")),
    r'ValueError: sum\("one.amount"\).where: got .one.pai': lambda: both().agg(n=wr.sum("one.amount").where("one.pai")),
    "ValueError: columns of one input": lambda: both().agg(n=wr.sum("one.amount").where("two.paid")),
    "ValueError: columns of one": lambda: both().agg(n=wr.count("one.*").where("two.paid")),
    "ValueError: allowed: a column of the one input that has an add": lambda: both().agg(n=OF_TWO.where("one.paid")),
}


@pytest.mark.parametrize("error", REFUSED)
def test_wrong_conditions_are_refused_at_the_call(error: str) -> None:
    kind, _, message = error.partition(": ")
    with pytest.raises(getattr(builtins, kind), match=message):
        REFUSED[error]()
