"""Cogroups in this process: their windows are those of all records as one input; Python functions see their input."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr

from ..harness.examples import usually
from ..harness.families import FAMILIES, Family
from ..harness.libraries import LIBRARIES
from ..harness.tables import KINDS, assert_same, rows_of
from .test_property_aggregates import events

US = pa.timestamp("us")
NAMES = ("clicks", "orders", "visits")


def cogrouped(tables: dict[str, pa.Table], kept: Any, threads: int = 2, **options: Any) -> Any:
    inputs = {name: wr.group_by(table, "k", time="ts", **options) for name, table in tables.items()}
    return wr.cogroup(**inputs).windowed_by(kept).threads(threads)


def of_input(name: str, family: Family) -> Iterator[tuple[str, Any, Any]]:
    """The aggregates over an input, and the same over the table of all records, where `name` is true in its own."""
    for key, call in family.aggregates().items():
        columns = tuple(f"{name}.{column}" for column in call.columns)
        where = None if call.where is None else f"{name}.{call.where}"
        own = replace(call, columns=columns or (f"{name}.*",), where=where)
        yield f"{name}_{key}", own.build(wr), replace(call, columns=columns, where=where or name).build(wr)


def as_one_input(tables: dict[str, pa.Table]) -> pa.Table:
    """All records, one input after the other. The columns of an input are null in the records of the others."""
    renamed = (
        table.rename_columns([column if column in ("k", "ts") else f"{name}.{column}" for column in table.column_names])
        for name, table in tables.items()
    )
    marked = (
        table.append_column(name, pa.array([True] * len(table), pa.bool_()))
        for name, table in zip(tables, renamed, strict=True)
    )
    return pa.concat_tables(marked, promote_options="default")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FAMILIES)
def test_aggregates_of_inputs_are_those_of_their_records_in_one_input(name: str, kind: str) -> None:
    windows, _ = KINDS[kind]

    @usually(10)
    @given(st.lists(events(FAMILIES[name]), min_size=2, max_size=3), st.integers(1, 4))
    def check(inputs: list[pa.Table], threads: int) -> None:
        tables = dict(zip(NAMES, inputs, strict=False))
        built = [each for of in ("clicks", "orders") for each in of_input(of, FAMILIES[name])]
        counts = {of: wr.count(f"{of}.*") for of in tables} | {"all": wr.count()}
        result = cogrouped(tables, windows, threads).agg(**counts, **{key: own for key, own, _ in built})
        counts = {of: wr.count().where(of) for of in tables} | {"all": wr.count()}
        one = wr.group_by(as_one_input(tables), "k", time="ts").windowed_by(windows)
        assert_same(rows_of(result, ["k"]), rows_of(one.agg(**counts, **{key: of for key, _, of in built}), ["k"]))
        assert result.schema.metadata[b"windrow.records"] == str(sum(map(len, tables.values()))).encode()

    check()


CLICKS = pa.table(
    {
        "k": pa.array(["ann", "ann", "bob", None]),
        "ts": pa.array([0, 4, 30, 1], US),
        "a.b": pa.array(["/", None, "/hats", "/no key"]),
        "ts_": pa.array([1, 2, 3, 4]),
    }
)
ORDERS = pa.table(
    {"k": pa.array(["ann", "cid"]), "at": pa.array([7, 90], US), "amount": pa.array([30, 5]), "tick": [False, None]}
)
GAP = wr.SessionWindows.with_gap(timedelta(microseconds=5))


def clicks(data: Any = CLICKS, time: str = "ts", **options: Any) -> Any:
    return wr.group_by(data, "k", time=time, **options)


def orders(data: Any = ORDERS, time: str = "at", **options: Any) -> Any:
    return wr.group_by(data, "k", time=time, **options)


def both(windows: Any = GAP) -> Any:
    return wr.cogroup(clicks=clicks(), orders=orders()).windowed_by(windows)


def test_keys_may_be_called_as_the_time_is_elsewhere() -> None:
    one = pa.table({"ts": pa.array([3, 3], US), "n": [1, 2]})
    other = pa.table({"ts": pa.array([3], US), "at": pa.array([7], US), "n": [4]})
    inputs = {"one": wr.group_by(one, "ts", time="ts"), "other": wr.group_by(other, "ts", time="at")}
    result = wr.cogroup(**inputs).windowed_by(GAP).agg(last=wr.max("other.at"), n=wr.sum("one.n"), m=wr.sum("other.n"))
    (row,) = result.to_pylist()
    assert (row["ts"].microsecond, row["window"]["end"].microsecond, row["last"].microsecond) == (3, 7, 7)
    assert (row["n"], row["m"]) == (3, 4)


def test_inputs_may_be_called_as_keys_and_times_are() -> None:
    one = pa.table({"k": [1], "ts": pa.array([1], US), "x": [2]})
    inputs = {"k": wr.group_by(one, "k", time="ts"), "ts": wr.group_by(one, "k", time="ts")}
    (row,) = (
        wr.cogroup(**inputs).windowed_by(GAP).agg(a=wr.sum("k.x"), b=wr.sum("ts.k"), n=wr.count("ts.*")).to_pylist()
    )
    assert (row["k"], row["a"], row["b"], row["n"]) == (1, 2, 1, 1)


def test_every_kind_of_data_in_this_process_is_joined() -> None:
    table = pa.table({"k": [1], "ts": pa.array([1], US), "x": [5]})
    made = {name.replace(" ", "_"): make(table) for name, make in LIBRARIES.items()}
    made |= {"batch": table.to_batches()[0], "reader": table.to_reader()}
    inputs = {name: wr.group_by(data, "k", time="ts") for name, data in made.items()}
    result = wr.cogroup(**inputs).windowed_by(GAP).agg(n=wr.count(), **{name: wr.sum(f"{name}.x") for name in inputs})
    (row,) = result.to_pylist()
    assert row["n"] == 7
    assert {row[name] for name in inputs} == {5}
    with pytest.raises(ValueError, match="an earlier query has read"):
        wr.cogroup(table=inputs["pyarrow"], reader=inputs["reader"]).windowed_by(GAP).count()


TEXTS = wr.aggregate(
    list,
    {"clicks": lambda held, row: [*held, row[0]], "orders": lambda held, row: [*held, f"{row.amount}"]},
    lambda older, later: older + later,
    schema="array<string>",
    columns=["orders.k", "clicks.a.b", "orders.amount"],
)


@pytest.mark.parametrize("kept", [GAP, wr.SlidingWindows.with_time_difference(timedelta(microseconds=3000))])
def test_python_functions_get_the_rows_of_their_input(kept: Any) -> None:
    sum_of = wr.reduce("orders.amount", lambda a, b: a + b)
    one = wr.aggregate(
        lambda: 0, lambda n, row: n + row.amount, lambda a, b: a + b, schema="bigint", columns=["orders.amount"]
    )
    none = wr.aggregate(lambda: 0, {"orders": lambda n, row: n + 1}, lambda a, b: a + b, schema="bigint")
    result = both(kept).agg(
        texts=TEXTS, sum=sum_of, one=one, none=none, spent=wr.sum("orders.amount"), n=wr.count("orders.*")
    )
    found = {
        row["k"]: [*row.values()][2:] for row in result.to_pylist() if row["window"]["end"] >= row["window"]["start"]
    }
    assert {key: [sorted(map(str, found[key][0])), *found[key][1:]] for key in ("bob", "cid")} == {
        "bob": [["/hats"], None, 0, 0, None, 0],
        "cid": [["5"], 5, 5, 1, 5, 1],
    }
    for row in result.to_pylist():
        assert (row["sum"], row["one"], row["none"]) == (row["spent"], row["spent"] or 0, row["n"])
    full = [row["texts"] for row in result.to_pylist() if row["k"] == "ann" and len(row["texts"]) == 3]
    assert full
    assert all(sorted(map(str, texts)) == ["/", "30", "None"] for texts in full)


@pytest.mark.parametrize(
    "layouts",
    [
        [pa.string(), pa.large_string(), pa.string_view()],
        [pa.string_view(), pa.string(), pa.large_string()],
        [pa.binary_view(), pa.large_binary(), pa.binary()],
    ],
)
def test_strings_and_bytes_of_every_layout_are_one_type_of_keys(layouts: list[pa.DataType]) -> None:
    keys = pa.array(["ann", None, "bob"]).cast(pa.string() if pa.types.is_string(layouts[1]) else pa.binary())
    times = pa.array([0, 1, 2], US)
    inputs = {
        f"i{place}": wr.group_by(pa.table({"k": keys.cast(layout), "ts": times}), "k", time="ts")
        for place, layout in enumerate(layouts)
    }
    result = wr.cogroup(**inputs).windowed_by(GAP).agg(n=wr.count(), last=wr.count("i2.*"))
    views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    assert result.schema.field("k").type == views.get(layouts[0], layouts[0])
    assert sorted(zip(result["n"].to_pylist(), result["last"].to_pylist(), strict=True)) == [(3, 1), (3, 1)]


def joined(**inputs: Any) -> Any:
    return wr.cogroup(**{"clicks": clicks(), **inputs})


def fold(add: Any, *columns: str, merge: Any = max) -> Any:
    return wr.aggregate(int, add, merge, schema="bigint", columns=columns)


OTHER_KEYS = orders(ORDERS.set_column(0, "k", pa.array([1, 2])))
OTHER_TIMES = orders(ORDERS.set_column(1, "at", pa.array([1, 2], pa.timestamp("ms"))))
DOTTED = wr.group_by(CLICKS, "a.b", time="ts")
VALUES: dict[str, Callable[[], Any]] = {
    r"inputs: got \(\); allowed: two or more": lambda: wr.cogroup(),
    r"inputs: got \('clicks',\)": lambda: joined(),
    "inputs: got 'a.b'; allowed: Python names": lambda: joined(**{"a.b": clicks()}),
    r"orders: keys: got \('amount',\); allowed: the keys of clicks, 'k'": (
        lambda: joined(orders=wr.group_by(ORDERS, "amount", time="at"))
    ),
    "orders: source: got .*; allowed: as many columns as clicks has, 1": (
        lambda: joined(clicks=clicks(source="a.b"), orders=orders())
    ),
    "orders: order: got 'amount'; allowed: one for all inputs or for none; clicks has None": (
        lambda: joined(orders=orders(order="amount"))
    ),
    "orders: stream_time: got 'slowest'": lambda: joined(orders=orders(stream_time="slowest")),
    "keys: got 'a.b'; allowed: names that do not start with an input's": lambda: wr.cogroup(a=DOTTED, b=DOTTED),
    "clicks: column: got 'amount'; allowed: a column of the data": lambda: both(of_gaps("amount")),
    "column: got 'clicks.a.b'; allowed: a column that every input has": lambda: both(of_gaps("clicks.a.b")),
    r"end_when: got 'tick'.*'orders\.tick'": lambda: both(wr.SessionWindows.with_gap("1 second", end_when="tick")),
    "aggregate.add=.: got {}": lambda: fold({}),
}
TYPES: dict[str, Callable[[], Any]] = {
    "orders: got .*allowed: what group_by": lambda: joined(orders=ORDERS),
    "orders: got .*CogroupedData": lambda: joined(orders=joined(a=clicks())),
    "orders: column 'k' has type int64; allowed: string, the type of column 'k' of clicks": (
        lambda: joined(orders=OTHER_KEYS)
    ),
    r"orders: column 'at' has type timestamp\[ms\]; allowed: timestamp\[us\]": lambda: joined(orders=OTHER_TIMES),
    "clicks: column: column 'k' has type string; allowed: a duration": lambda: both(of_gaps("k")),
    '"n": sum: column "clicks.a.b" has type': lambda: both().agg(n=wr.sum("clicks.a.b")),
    "aggregate .n.: aggregate.add=.: got .*; allowed: one function, as there is one input": (
        lambda: clicks().windowed_by(GAP).agg(n=fold({"clicks": max}))
    ),
    "aggregate.add=.: got 1, an int": lambda: fold({"a": 1}),
}
AGGREGATES: dict[str, Any] = {
    "sum: got 'amount'; allowed: a column of the data .did you mean 'orders.amount'.., which has 'clicks.k', ": (
        wr.sum("amount")
    ),
    "sum: got 'orders.a.b'": wr.sum("orders.a.b"),
    r"sum: got 'orders.\*'": wr.sum("orders.*"),
    r"count: got 'visits.\*'": wr.count("visits.*"),
    r"min_by: got \('clicks.a.b', 'orders.amount'\); allowed: columns of one input": (
        wr.min_by("clicks.a.b", by="orders.amount")
    ),
    "aggregate.add=.: got 'one function and columns of 2 inputs'; allowed: a function for each input, such as "
    "{'clicks': add, 'orders': add}": fold(max, "clicks.a.b", "orders.amount"),
    "aggregate.add=.: got 'one function and columns of 0 inputs'": fold(max),
    "aggregate.add=.: got 'visits'; allowed: the inputs 'clicks', 'orders'": fold({"visits": max}),
    "aggregate.columns=.: got 'clicks.a.b'; allowed: columns of inputs that have an add, 'orders'": (
        fold({"orders": max}, "clicks.a.b")
    ),
    "got .aggregate.*without merge": fold({"orders": max}, merge=None),
}


def of_gaps(column: str) -> Any:
    return wr.SessionWindows.with_dynamic_gap(column)


@pytest.mark.parametrize("message", [*VALUES, *TYPES])
def test_wrong_inputs_and_columns_are_named(message: str) -> None:
    with pytest.raises(TypeError if message in TYPES else ValueError, match=message):
        (VALUES | TYPES)[message]()


@pytest.mark.parametrize("message", AGGREGATES)
def test_an_aggregate_of_no_input_or_of_two_is_named(message: str) -> None:
    with pytest.raises(ValueError, match=f"aggregate .n.: {message}"):
        both().agg(n=AGGREGATES[message])
