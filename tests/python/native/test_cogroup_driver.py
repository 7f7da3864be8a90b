"""Cogroups record by record: late by the own input, closed by the slowest (rules 5.1)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow._native import Operator
from windrow.testing import StreamDriver
from windrow.testing._definition import plan_of

from ..harness.examples import usually

ZERO = datetime(1970, 1, 1)
US = pa.timestamp("us")
CLICKS = pa.schema({"k": pa.string(), "ts": US, "url": pa.string()})
ORDERS = pa.schema({"k": pa.string(), "at": US, "amount": pa.int64(), "tick": pa.bool_()})
SCHEMAS = {"clicks": CLICKS, "orders": ORDERS}


def us(ticks: int) -> timedelta:
    return timedelta(microseconds=ticks)


def at_tick(ticks: int) -> datetime:
    return ZERO + us(ticks)


SESSIONS = wr.SessionWindows.with_gap(us(5), grace=us(10))
SLIDING = wr.SlidingWindows.with_time_difference(us(5), grace=us(10), resolution=us(1))


def of(windows: Any, emit: Any = "close", every_record: bool = False, **aggregates: Any) -> Any:
    chosen = aggregates or {"clicks": wr.count("clicks.*"), "spent": wr.sum("orders.amount")}

    def definition(clicks: Any, orders: Any) -> Any:
        inputs = {
            "clicks": wr.group_by(clicks, "k", time="ts"),
            "orders": wr.group_by(orders, "k", time="at", tick="tick"),
        }
        return wr.cogroup(**inputs).windowed_by(windows).emit(emit, every_record=every_record).agg(**chosen)

    return definition


def driven(windows: Any, **options: Any) -> StreamDriver:
    return StreamDriver(of(windows, **options), SCHEMAS)


def changes_by_tick(changes: list[Any]) -> list[tuple[Any, ...]]:
    return [
        (change.kind, change.key["k"], *((bound - ZERO) // us(1) for bound in change.window), *change.values.values())
        for change in changes
    ]


def interleaved(rows: list[tuple[str, int, int | None]]) -> pa.Table:
    """Rows of (input, time, amount), both inputs in one table, each in its own time column."""
    clicks = [name == "clicks" for name, _, _ in rows]
    return pa.table(
        {
            "of": pa.array([name for name, _, _ in rows], pa.string()),
            "k": pa.array(["a"] * len(rows), pa.string()),
            "ts": pa.array([time if own else None for own, (_, time, _) in zip(clicks, rows, strict=True)], US),
            "at": pa.array([None if own else time for own, (_, time, _) in zip(clicks, rows, strict=True)], US),
            "url": pa.array([f"{time}" for _, time, _ in rows], pa.string()),
            "amount": pa.array([amount for _, _, amount in rows], pa.int64()),
            "tick": pa.nulls(len(rows), pa.bool_()),
        }
    )


@usually(40)
@given(
    st.lists(st.tuples(st.sampled_from(["clicks", "orders"]), st.integers(0, 60), st.integers(0, 9)), max_size=25),
    st.integers(1, 9),
    st.booleans(),
)
def test_batches_of_all_inputs_are_what_their_records_are(
    rows: list[tuple[str, int, int]], length: int, sliding: bool
) -> None:
    aggregates = {"n": wr.count(), "urls": wr.collect_list("clicks.url"), "last": wr.last("orders.amount")}
    windows = SLIDING if sliding else SESSIONS
    one, many = (driven(windows, emit="update", every_record=True, **aggregates) for _ in range(2))
    for name, time, amount in rows:
        own = {"ts": at_tick(time), "url": f"{time}"} if name == "clicks" else {"at": at_tick(time), "amount": amount}
        one.pipe(name, k="a", **own)
    many.pipe_batch(interleaved([*rows]), input_column="of", rows=length)
    for driver in (one, many):
        driver.finish()
    assert one.read_table() == many.read_table()
    assert one.counters == many.counters


TEXTS = wr.aggregate(
    lambda: "",
    {"clicks": lambda held, row: held + row.url, "orders": lambda held, row: f"{held}{row.amount}"},
    lambda older, later: f"({older}|{later})",
    schema="string",
    columns=["clicks.url", "orders.amount"],
)


def test_python_functions_are_fed_in_the_order_of_arrival() -> None:
    driver = driven(SESSIONS, emit="update", texts=TEXTS, sum=wr.reduce("orders.amount", lambda a, b: a + b))
    assert changes_by_tick(driver.pipe("orders", k="a", at=at_tick(9), amount=1)) == [("upsert", "a", 9, 9, "1", 1)]
    assert changes_by_tick(driver.pipe("clicks", k="a", ts=at_tick(0), url="x")) == [("upsert", "a", 0, 0, "x", None)]
    last = changes_by_tick(driver.pipe("clicks", k="a", ts=at_tick(5), url="y"))[-1]
    assert last[2:4] == (0, 9)
    assert last[4].endswith("(x|1)y") or last[4].replace("(|x)", "x").endswith("|1)y")
    assert last[5] == 1


@pytest.mark.parametrize(
    ("aggregate", "kept"),
    [
        (wr.reduce("orders.amount", lambda a, b: a + b), True),
        (wr.aggregate(lambda: None, {"orders": lambda held, row: None}, lambda a, b: None, schema="bigint"), True),
        (
            wr.aggregate(
                lambda: None,
                {"orders": lambda held, row: None, "clicks": lambda held, row: None},
                lambda a, b: None,
                schema="bigint",
            ),
            False,
        ),
    ],
)
def test_a_single_function_deletes_a_window_only_where_it_sees_every_input(aggregate: Any, kept: bool) -> None:
    driver = driven(SESSIONS, emit="update", x=aggregate)
    assert [change.kind for change in driver.pipe("clicks", k="a", ts=at_tick(0))] == ["upsert"] * kept
    assert driver.sessions.all().num_rows == kept


def test_one_batch_of_one_input_moves_that_input() -> None:
    driver = driven(SESSIONS)
    table = pa.table({"k": ["a", "b"], "ts": pa.array([0, 500], US), "url": ["x", "y"]})
    assert driver.pipe_batch(table, input="clicks") == []
    order = pa.table({"k": ["a"], "at": pa.array([100], US), "amount": [1], "tick": [True]})
    assert changes_by_tick(driver.pipe_batch(order.to_batches()[0], input="orders")) == [("final", "a", 0, 0, 1, None)]
    assert driver.pipe("orders", k="z", at=at_tick(200), tick=True) == []
    assert driver.stream_time == at_tick(200)


def test_no_rows_are_no_changes() -> None:
    driver = driven(SESSIONS)
    assert driver.pipe_batch(CLICKS.empty_table(), input="clicks") == []
    assert driver.pipe_batch(interleaved([]), input_column="of") == []
    assert driver.pipe_batch(interleaved([]).to_reader(), input_column="of", rows=3) == []
    assert driver.finish() == []


def single(data: Any) -> Any:
    return wr.group_by(data, "k", time="ts").windowed_by(SESSIONS).count()


def both(data: Any) -> Any:
    return of(SESSIONS)(data, data)


NONE = interleaved([])
REFUSED: dict[str, Any] = {
    "input: got None; allowed: 'clicks' or 'orders'": lambda: driven(SESSIONS).pipe(k="a"),
    "did you mean 'clicks'": lambda: driven(SESSIONS).pipe("click", k="a"),
    "record: got 'amount'": lambda: driven(SESSIONS).pipe("clicks", amount=1),
    "input: got 'x'": lambda: driven(SESSIONS).tick(at_tick(0), input="x"),
    "input: got None": lambda: driven(SESSIONS).pipe_batch(NONE),
    "input_column: got 'of'; allowed: none with input=": (
        lambda: driven(SESSIONS).pipe_batch(NONE, input="clicks", input_column="of")
    ),
    "input_column: got 'oh'": lambda: driven(SESSIONS).pipe_batch(interleaved([("clicks", 1, 1)]), input_column="oh"),
    "input_column: got 'visits'": (
        lambda: driven(SESSIONS).pipe_batch(interleaved([("visits", 1, 1)]), input_column="of")
    ),
    "data: got 'at'": lambda: driven(SESSIONS).pipe_batch(pa.table({"k": ["a"], "amount": [1.0]}), input="orders"),
    "input: got 'clicks'; allowed: none": lambda: StreamDriver(single, CLICKS).pipe("clicks", k="a"),
    "input_column: got 'k'; allowed: none": (
        lambda: StreamDriver(single, CLICKS).pipe_batch(CLICKS.empty_table(), input_column="k")
    ),
    "time: got 'at'; allowed: a column of the data": lambda: StreamDriver(both, CLICKS),
    r"schema: got \('clicks',\); allowed: the schema of the one input": lambda: StreamDriver(
        lambda clicks: single(clicks), {"clicks": CLICKS}
    ),
    r"schema: got \('a', 'b'\); allowed: schemas of 'clicks', 'orders'": (
        lambda: StreamDriver(lambda a, b: of(SESSIONS)(a, b), {"a": CLICKS, "b": ORDERS})
    ),
    "value: got 'url'": lambda: StreamDriver(of(SESSIONS), SCHEMAS, value="url"),
    "grace: got None": lambda: driven(wr.SessionWindows.with_gap("1 second")),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_wrong_is_named(message: str) -> None:
    with pytest.raises(ValueError, match=message):
        REFUSED[message]()


def test_a_schema_that_is_none_is_named() -> None:
    with pytest.raises(TypeError, match="orders: got 1, an int"):
        StreamDriver(of(SESSIONS), {"clicks": CLICKS, "orders": 1})  # type: ignore[dict-item]


def test_a_fold_without_a_function_for_an_input_names_the_input() -> None:
    """None in its place leaves the input out; nothing in its place is a fault of whoever made the fold."""

    def summed(one: int, other: int) -> int:
        return one + other

    plan = plan_of(of(SESSIONS, spent=wr.reduce("orders.amount", summed)), SCHEMAS)
    assert plan.origins is not None
    order = {"k": "a", plan.time: at_tick(0), plan.origins.column: 1, "orders.amount": 3}
    batch = pa.RecordBatch.from_pylist([order], plan.schema)
    (fold,) = plan.folds()
    fed, left_out, short = (
        Operator(plan.spec.in_order.text, plan.schema, [replace(fold, adds=adds)])
        for adds in (fold.adds, (None, None), fold.adds[:1])
    )
    for operator, spent in ((fed, 3), (left_out, None)):
        operator.push(batch)
        assert pa.Table.from_batches(operator.finish())["spent"].to_pylist() == [spent]
    with pytest.raises(RuntimeError, match=r'"spent": fn failed .*: there is no function for input 1$'):
        short.push(batch)
