"""Cogroups in this process: every aggregate over every type equals the oracle, and Python functions see their input."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr

from ..harness.cogroups import assert_cogroup, counts, of_input
from ..harness.examples import usually
from ..harness.families import FAMILIES, Family, flags, often, some
from ..harness.tables import Call, Windows, by_dynamic_gap, by_sessions, by_sliding, in_batches, rows_of

US = pa.timestamp("us")
NAMES = ("clicks", "orders", "visits")


def windows(kind: str) -> tuple[Any, Windows]:
    """Both kinds, in microseconds: as the package and as the oracle take them."""
    if kind == "session":
        return wr.SessionWindows.with_gap(timedelta(microseconds=5)), by_sessions(5)
    difference, resolution = timedelta(microseconds=12), timedelta(microseconds=3)
    return wr.SlidingWindows.with_time_difference(difference, resolution=resolution), by_sliding(12, 3)


def cogrouped(tables: dict[str, pa.Table], kept: Any, threads: int = 2, **options: Any) -> Any:
    inputs = {name: wr.group_by(table, "k", time="ts", **options) for name, table in tables.items()}
    return wr.cogroup(**inputs).windowed_by(kept).threads(threads)


@st.composite
def inputs(draw: st.DrawFn, family: Family, names: tuple[str, ...]) -> dict[str, pa.Table]:
    """Up to 16 events of each input near time 0: ties, nulls, keys of one input only, empty inputs, any batches."""
    tables = {}
    for name in names:
        row = st.tuples(
            often(st.integers(1, 3)),
            often(st.integers(-20, 60) | st.integers(0, 8)),
            often(family.values),
            often(st.integers(-2, 2)),
        )
        rows = draw(some(row, 16))
        keys, times, values, by = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [], [])
        table = pa.table(
            {
                "k": pa.array(keys, pa.int64()),
                "ts": pa.array(times, pa.int64()).cast(US),
                "x": pa.array(values, family.type),
                "by": pa.array(by, pa.int64()),
                "flag": flags(by),
            }
        )
        tables[name] = in_batches(table, draw(st.lists(st.integers(0, 16), max_size=2)))
    return tables


@pytest.mark.parametrize("kind", ["session", "sliding"])
@pytest.mark.parametrize("name", FAMILIES)
def test_aggregates_of_inputs_equal_the_oracle(name: str, kind: str) -> None:
    kept, oracle = windows(kind)

    @usually(10)
    @given(st.integers(2, 3).flatmap(lambda many: inputs(FAMILIES[name], NAMES[:many])), st.integers(1, 4))
    def check(tables: dict[str, pa.Table], threads: int) -> None:
        specs = {**counts(tuple(tables)), **of_input("clicks", FAMILIES[name].aggregates())}
        specs |= of_input("orders", FAMILIES[name].aggregates())
        aggregates = {name: aggregate.build(wr) for name, aggregate in specs.items()}
        result = cogrouped(tables, kept, threads).agg(**aggregates)
        assert_cogroup(rows_of(result, ["k"]), tables, ["k"], oracle, specs)
        assert result.schema.metadata[b"windrow.records"] == str(sum(map(len, tables.values()))).encode()

    check()


@usually(40)
@given(inputs(FAMILIES["duration"], NAMES), st.integers(1, 30))
def test_records_of_all_inputs_bring_their_own_gaps(tables: dict[str, pa.Table], longest: int) -> None:
    kept = wr.SessionWindows.with_dynamic_gap("gap", max_gap=timedelta(microseconds=longest))
    gaps = [timedelta(microseconds=gap) for gap in range(-1, 9)] + [None]
    tables = {
        name: table.append_column(
            "gap", pa.array([gaps[row % len(gaps)] for row in range(len(table))], pa.duration("us"))
        )
        for name, table in tables.items()
    }
    aggregates = {
        **counts(NAMES),
        **of_input("visits", {"longest": Call("max", ("gap",)), "last": Call("last", ("by",))}),
    }
    result = cogrouped(tables, kept).agg(**{name: aggregate.build(wr) for name, aggregate in aggregates.items()})
    assert_cogroup(rows_of(result, ["k"]), tables, ["k"], by_dynamic_gap("gap", longest), aggregates)


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


def test_a_tick_of_one_input_is_no_record() -> None:
    ticked = ORDERS.set_column(3, "tick", pa.array([True, None]))
    grouped = wr.cogroup(clicks=clicks(), orders=orders(ticked, tick="tick")).windowed_by(GAP)
    result = grouped.agg(n=wr.count(), orders=wr.count("orders.*"))
    assert sorted(result["n"].to_pylist()) == [1, 1, 2]
    assert result.schema.metadata[b"windrow.ticks"] == b"1"


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
    import duckdb
    import polars

    table = pa.table({"k": [1], "ts": pa.array([1], US), "x": [5]})
    others = {
        "batch": table.to_batches()[0],
        "reader": table.to_reader(),
        "frame": polars.from_arrow(table),
        "lazy": polars.from_arrow(table).lazy(),
        "pandas": table.to_pandas().astype({"ts": "datetime64[us]"}),
        "relation": duckdb.from_arrow(table),
    }
    inputs = {name: wr.group_by(data, "k", time="ts") for name, data in {"table": table, **others}.items()}
    result = wr.cogroup(**inputs).windowed_by(GAP).agg(n=wr.count(), **{name: wr.sum(f"{name}.x") for name in inputs})
    (row,) = result.to_pylist()
    assert row["n"] == 7
    assert {row[name] for name in inputs} == {5}
    with pytest.raises(ValueError, match="an earlier query has read"):
        wr.cogroup(table=inputs["table"], reader=inputs["reader"]).windowed_by(GAP).count()


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


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "no input": (lambda: wr.cogroup(), ValueError, r"inputs: got \(\); allowed: two or more"),
    "one input": (lambda: wr.cogroup(clicks=clicks()), ValueError, r"inputs: got \('clicks',\)"),
    "a dot": (
        lambda: wr.cogroup(**{"a.b": clicks(), "c": clicks()}),
        ValueError,
        "inputs: got 'a.b'; allowed: Python names",
    ),
    "not grouped": (
        lambda: wr.cogroup(clicks=clicks(), orders=ORDERS),
        TypeError,
        "orders: got .*allowed: what group_by",
    ),
    "cogrouped": (
        lambda: wr.cogroup(clicks=clicks(), orders=wr.cogroup(a=clicks(), b=clicks())),
        TypeError,
        "orders: got .*CogroupedData",
    ),
    "other keys": (
        lambda: wr.cogroup(clicks=clicks(), orders=wr.group_by(ORDERS, "amount", time="at")),
        ValueError,
        r"orders: keys: got \('amount',\); allowed: the keys of clicks, 'k'",
    ),
    "other types of keys": (
        lambda: wr.cogroup(clicks=clicks(), orders=orders(ORDERS.set_column(0, "k", pa.array([1, 2])))),
        TypeError,
        "orders: column 'k' has type int64; allowed: string, the type of column 'k' of clicks",
    ),
    "other types of time": (
        lambda: wr.cogroup(
            clicks=clicks(), orders=orders(ORDERS.set_column(1, "at", pa.array([1, 2], pa.timestamp("ms"))))
        ),
        TypeError,
        r"orders: column 'at' has type timestamp\[ms\]; allowed: timestamp\[us\]",
    ),
    "some sources": (
        lambda: wr.cogroup(clicks=clicks(source="a.b"), orders=orders()),
        ValueError,
        "orders: source: got .*; allowed: as many columns as clicks has, 1",
    ),
    "some orders": (
        lambda: wr.cogroup(clicks=clicks(), orders=orders(order="amount")),
        ValueError,
        "orders: order: got 'amount'; allowed: one for all inputs or for none; clicks has None",
    ),
    "other stream times": (
        lambda: wr.cogroup(clicks=clicks(), orders=orders(stream_time="slowest")),
        ValueError,
        "orders: stream_time: got 'slowest'",
    ),
    "a key like a column": (
        lambda: wr.cogroup(a=wr.group_by(CLICKS, "a.b", time="ts"), b=wr.group_by(CLICKS, "a.b", time="ts")),
        ValueError,
        "keys: got 'a.b'; allowed: names that do not start with an input's",
    ),
    "a gap of one input": (
        lambda: both(wr.SessionWindows.with_dynamic_gap("amount")),
        ValueError,
        "clicks: column: got 'amount'; allowed: a column of the data",
    ),
    "a gap that is none": (
        lambda: both(wr.SessionWindows.with_dynamic_gap("k")),
        TypeError,
        "clicks: column: column 'k' has type string; allowed: a duration",
    ),
    "a gap by input": (
        lambda: both(wr.SessionWindows.with_dynamic_gap("clicks.a.b")),
        ValueError,
        "column: got 'clicks.a.b'; allowed: a column that every input has",
    ),
    "a bare column": (
        lambda: both().agg(n=wr.sum("amount")),
        ValueError,
        ".n.: sum: got 'amount'; allowed: a column of the data .did you mean 'orders.amount'.., which has 'clicks.k', ",
    ),
    "another column": (lambda: both().agg(n=wr.sum("orders.a.b")), ValueError, ".n.: sum: got 'orders.a.b'"),
    "all of a sum": (lambda: both().agg(n=wr.sum("orders.*")), ValueError, r".n.: sum: got 'orders.\*'"),
    "all of nothing": (lambda: both().agg(n=wr.count("visits.*")), ValueError, r".n.: count: got 'visits.\*'"),
    "two inputs": (
        lambda: both().agg(n=wr.min_by("clicks.a.b", by="orders.amount")),
        ValueError,
        r"aggregate .n.: min_by: got \('clicks.a.b', 'orders.amount'\); allowed: columns of one input",
    ),
    "a type": (lambda: both().agg(n=wr.sum("clicks.a.b")), TypeError, '"n": sum: column "clicks.a.b" has type'),
    "one function of two inputs": (
        lambda: both().agg(n=wr.aggregate(int, max, max, schema="bigint", columns=["clicks.a.b", "orders.amount"])),
        ValueError,
        ".n.: aggregate.add=.: got 'one function and columns of 2 inputs'; allowed: a function for each input, such as "
        "{'clicks': add, 'orders': add}",
    ),
    "one function of no columns": (
        lambda: both().agg(n=wr.aggregate(int, max, max, schema="bigint")),
        ValueError,
        "got 'one function and columns of 0 inputs'",
    ),
    "a function of no input": (
        lambda: both().agg(n=wr.aggregate(int, {"visits": max}, max, schema="bigint")),
        ValueError,
        "aggregate .n.: aggregate.add=.: got 'visits'; allowed: the inputs 'clicks', 'orders'",
    ),
    "a column without a function": (
        lambda: both().agg(n=wr.aggregate(int, {"orders": max}, max, schema="bigint", columns=["clicks.a.b"])),
        ValueError,
        "aggregate .n.: aggregate.columns=.: got 'clicks.a.b'; allowed: columns of inputs that have an add, 'orders'",
    ),
    "functions of one input": (
        lambda: clicks().windowed_by(GAP).agg(n=wr.aggregate(int, {"clicks": max}, max, schema="bigint")),
        TypeError,
        "aggregate .n.: aggregate.add=.: got .*; allowed: one function, as there is one input",
    ),
    "no function": (lambda: wr.aggregate(int, {}, max, schema="bigint"), ValueError, "aggregate.add=.: got {}"),
    "not functions": (
        lambda: wr.aggregate(int, {"a": 1}, max, schema="bigint"),
        TypeError,
        "aggregate.add=.: got 1, an int",
    ),
    "sessions without merge": (
        lambda: both().agg(n=wr.aggregate(int, {"orders": max}, schema="bigint")),
        ValueError,
        "aggregate.*without merge",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_named_at_the_call(case: str) -> None:
    call, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        call()
