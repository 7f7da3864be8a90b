"""Columns that are computed of finished aggregates: arithmetic, `then`, `apply`."""

from __future__ import annotations

import builtins
import functools
import itertools
import math
import operator
import pickle
import time
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr

US = pa.timestamp("us")
ORDERS = pa.table(
    {
        "user": ["ann", "ann", "ann", "bob", "cid"],
        "ts": pa.array([0, 1, 2, 50, 60], US),
        "amount": pa.array([3, 9, 6, 5, None], pa.int64()),
        "price": pa.array([Decimal("1.50"), Decimal("2.25"), None, Decimal("0.00"), None], pa.decimal128(10, 2)),
        "paid": [True, None, True, False, True],
    }
)
GAP = wr.SessionWindows.with_gap("10 microseconds")


def sessions(data: Any = ORDERS) -> Any:
    return wr.group_by(data, "user", time="ts").windowed_by(GAP)


def by_user(column: str, result: pa.Table) -> dict[str, Any]:
    return dict(zip(result["user"].to_pylist(), result[column].to_pylist(), strict=True))


def test_a_result_over_another_is_a_float_and_null_where_it_would_divide_by_zero() -> None:
    got = sessions().agg(share=wr.count_if("paid") / wr.count("amount"), per=wr.sum("price") / wr.count())
    assert by_user("share", got) == {"ann": 2 / 3, "bob": 0.0, "cid": None}
    assert by_user("per", got) == {"ann": 1.25, "bob": 0.0, "cid": None}
    assert got.column_names == ["user", "window", "share", "per"]
    zero = sessions().agg(ratio=1 / (wr.sum("amount") - 5))
    assert by_user("ratio", zero) == {"ann": 1 / 13, "bob": None, "cid": None}


numbers = st.integers(-(10**6), 10**6)


@given(st.lists(st.tuples(st.integers(1, 4), numbers | st.none(), numbers | st.none()), min_size=1), numbers)
def test_arithmetic_is_that_of_fractions(rows: list[tuple[int, int | None, int | None]], number: int) -> None:
    keys, left, right = (list(column) for column in zip(*rows, strict=True))
    table = pa.table({"user": keys, "ts": pa.array([0] * len(rows), US), "a": left, "b": right}).cast(
        pa.schema([("user", pa.int64()), ("ts", US), ("a", pa.int64()), ("b", pa.float64())])
    )
    a, b = wr.sum("a"), wr.sum("b")
    got = sessions(table).agg(plus=a + b, less=number - a, times=a * number, mixed=(a - b) / (b * 2), a=a)
    for row in got.to_pylist():
        own = [(a, b) for key, a, b in rows if key == row["user"]]
        sums = [[value for value in column if value is not None] for column in zip(*own, strict=True)]
        a_, b_ = (Fraction(sum(column)) if column else None for column in sums)
        both = a_ is not None and b_ is not None
        expected = {
            "plus": a_ + b_ if both else None,
            "less": None if a_ is None else number - a_,
            "times": None if a_ is None else a_ * number,
            "mixed": (a_ - b_) / (b_ * 2) if both and b_ else None,
            "a": a_,
        }
        for name, value in expected.items():
            assert (row[name] is None) == (value is None), name
            assert value is None or math.isclose(row[name], float(value), rel_tol=1e-12), name


def test_integers_beyond_53_bits_are_computed_with_as_the_nearest_floats() -> None:
    rows = pa.table({"user": [1, 1], "ts": pa.array([0, 1], pa.timestamp("us")), "size": [2**53, 2**53 + 1]})
    windowed = wr.group_by(rows, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 second"))
    got = windowed.agg(mean=wr.sum("size") / wr.count(), half=wr.max("size") * 0.5, most=wr.max("size") / 1)
    (row,) = got.drop_columns(["user", "window"]).to_pylist()
    assert row == {"mean": float(2**54 + 1) / 2, "half": float(2**52), "most": float(2**53)}


def test_types_follow_those_of_the_parts() -> None:
    got = sessions().agg(
        whole=wr.sum("amount") + 1, money=wr.sum("price") - Decimal("0.50"), real=wr.sum("amount") * 0.5
    )
    kinds = {"whole": pa.int64(), "money": pa.decimal128(21, 2), "real": pa.float64()}
    assert {name: got.schema.field(name).type for name in kinds} == kinds
    assert by_user("money", got) == {"ann": Decimal("3.25"), "bob": Decimal("-0.50"), "cid": None}


def test_an_integer_that_does_not_fit_names_its_column() -> None:
    with pytest.raises(OverflowError, match=r'aggregate "huge": the product does not fit its type \(int64\) in window'):
        sessions().agg(huge=wr.sum("amount") * 2**62)
    message = r'the sum .* in window \[1970-01-01 00:00:00.000001, .*\] of key bob; overflow\("null"\) makes it null'
    rows = pa.table({"user": ["ann", "bob", "cid"], "ts": pa.array([0, 1, 2], US), "n": [1, 2**63 - 1, 2**63 - 1]})
    with pytest.raises(OverflowError, match=message):
        wr.group_by(rows.sort_by("n"), "user", time="ts").windowed_by(GAP).agg(next=wr.max("n") + 1)


def test_a_part_that_fails_is_reported_with_the_column_that_needs_it() -> None:
    with pytest.raises(TypeError, match='aggregate "share: sum\\(user\\)": sum: column "user" has type string'):
        sessions().agg(share=wr.sum("user") / wr.count())
    large = pa.table({"user": [1, 1], "ts": pa.array([0, 0], US), "n": [2**63 - 1] * 2, "on": [True, True]})
    with pytest.raises(OverflowError, match='"twice: sum\\(n\\) where on"'):
        sessions(large).agg(twice=(wr.sum("n") * 2).where("on"))


SMALL = pa.table(
    {
        "user": ["ann", "ann"],
        "ts": pa.array([0, 1], US),
        "tiny": pa.array([100, -100], pa.int8()),
        "byte": pa.array([3, 200], pa.uint8()),
        "long": pa.array([2**63 + 7, 5], pa.uint64()),
        "price": pa.array([Decimal("1.50"), Decimal("2.25")], pa.decimal128(38, 2)),
        "real": pa.array([0.5, 0.25], pa.float32()),
    }
)


def test_numbers_of_few_bits_and_of_no_sign_are_computed_as_the_numbers_that_they_are() -> None:
    got = sessions(SMALL).agg(
        span=wr.max("tiny") - wr.min("tiny"),
        back=wr.min("byte") - wr.max("byte"),
        apart=wr.min("long") - wr.max("long"),
        many=wr.max("long") * 3 + 2**70,
        real=wr.max("real") + wr.max("tiny"),
    )
    apart, many = Decimal(-(2**63) - 2), Decimal(3 * (2**63 + 7) + 2**70)
    (row,) = got.drop_columns(["user", "window"]).to_pylist()
    assert row == {"span": 200, "back": -197, "apart": apart, "many": many, "real": 100.5}
    assert [got.schema.field(name).type for name in ("span", "back", "real")] == [pa.int64(), pa.int64(), pa.float64()]


def test_decimals_of_38_digits_are_exact_and_what_does_not_fit_is_an_error() -> None:
    got = sessions(SMALL).agg(
        twice=wr.sum("price") * 2, more=1 + wr.sum("price"), square=wr.max("price") * wr.max("price")
    )
    assert got.drop_columns(["user", "window"]).to_pylist() == [
        {"twice": Decimal("7.50"), "more": Decimal("4.75"), "square": Decimal("5.0625")}
    ]
    assert got.schema.field("twice").type == pa.decimal128(38, 2)
    with pytest.raises(OverflowError, match=r'"huge": the product does not fit its type \(decimal128\(38, 2\)\)'):
        sessions(SMALL).agg(huge=wr.sum("price") * 10**37)
    with pytest.raises(TypeError, match='"fine": got the product of decimal128.* after the point'):
        sessions(SMALL).agg(fine=wr.max("price") * Decimal(1).scaleb(-37))


NESTED = pa.struct([pa.field("id", pa.uuid()), pa.field("flags", pa.list_(pa.bool8()))])


def test_nested_extension_types_pass_next_to_computed_columns() -> None:
    held = pa.nulls(5, pa.list_(pa.uuid()))
    table = ORDERS.append_column("held", held).append_column("own", pa.nulls(5, NESTED))
    for data in (table, table.slice(0, 0)):
        got = sessions(data).agg(held=wr.first("held"), own=wr.last("own"), twice=wr.count() * 2)
        assert [got.schema.field(name).type for name in ("held", "own")] == [held.type, NESTED]
        kept = sessions(data).agg(held=wr.first("held").then(lambda held: held, schema=held.type))
        assert kept.schema.field("held").type == held.type
        assert sessions(data).agg(n=wr.apply(pc.list_value_length, "own", schema="int")).num_rows == got.num_rows


def test_lists_of_overlapping_windows_go_to_a_function_some_windows_at_a_time() -> None:
    rows = 60_000
    dense = pa.table({"user": [1] * rows, "ts": pa.array(range(rows), US), "amount": list(range(rows))})
    sizes: list[int] = []

    def largest(amounts: pa.Array[Any]) -> Any:
        sizes.append(len(amounts.values))
        return pc.subtract(pc.list_value_length(amounts), 1)

    windows = wr.SlidingWindows.with_time_difference("1 millisecond")
    got = wr.group_by(dense, "user", time="ts").windowed_by(windows).agg(n=wr.apply(largest, "amount", schema="int"))
    assert wr.counters(got) == {**wr.counters(got), "records": rows, "windows": got.num_rows}
    assert sum(sizes) > 50_000_000
    assert max(sizes) < sum(sizes) / 2


def test_what_is_not_a_number_is_refused_at_the_call() -> None:
    for number in (Decimal("NaN"), Decimal("Infinity"), 10**38, Decimal(10) ** 400, Decimal("1e-39")):
        with pytest.raises(ValueError, match=r"number: got .*; allowed: a number of up to 38 digits"):
            wr.count() / number
    for wrong in ("1", True, None, [1], pc.field("amount")):
        with pytest.raises(TypeError, match="^arithmetic: got .*; allowed: aggregates of windrow, and numbers"):
            wr.count() + wrong  # type: ignore[operator]
    for compared in (operator.gt, operator.le):
        with pytest.raises(TypeError, match=r"^comparison: got count\(\), an Aggregate; allowed: .*filter what agg"):
            compared(wr.count(), 3)


def test_a_condition_of_a_computed_column_is_that_of_its_parts() -> None:
    got = sessions().agg(
        paid=(wr.sum("amount") / wr.count()).where("paid"), same=wr.sum("amount").where("paid") / wr.count_if("paid")
    )
    assert by_user("paid", got) == by_user("same", got) == {"ann": 4.5, "bob": None, "cid": None}


def test_then_gets_the_columns_of_many_windows_at_once() -> None:
    calls: list[int] = []

    def spread(low: pa.Array[Any], high: pa.Array[Any]) -> Any:
        calls.append(len(low))
        return pc.subtract(high, low)

    many = pa.table({"user": list(range(5000)), "ts": pa.array([0] * 5000, US), "amount": list(range(5000))})
    got = sessions(many).agg(spread=wr.min("amount").then(spread, wr.max("amount")), high=wr.max("amount"))
    assert set(got["spread"].to_pylist()) == {0}
    assert got.column_names == ["user", "window", "spread", "high"]
    assert sum(calls) == 5000
    assert len(calls) < 40


def test_the_type_of_then_is_declared_or_that_of_an_empty_result() -> None:
    declared = sessions().agg(n=wr.count().then(lambda n: n, schema="double"))
    assert declared.schema.field("n").type == pa.float64()
    inferred = sessions().agg(n=wr.count().then(lambda n: pc.cast(n, pa.string())))
    assert by_user("n", inferred) == {"ann": "3", "bob": "1", "cid": "1"}


def test_a_result_has_the_type_of_the_empty_one_with_any_values() -> None:
    got = sessions().agg(
        n=wr.count().then(lambda n: pa.array([1.0] * len(n), pa.float32() if len(n) else pa.float64()))
    )
    assert got.schema.field("n").type == pa.float64()
    with pytest.raises(TypeError, match='aggregate "n": got an array of type null for no windows; .*schema='):
        sessions().agg(n=wr.count().then(lambda n: pa.array([str(each) for each in n.to_pylist()])))
    with pytest.raises(TypeError, match='aggregate "n": got an array of type null for no windows; .*schema='):
        sessions().agg(n=wr.count().then(lambda n: pa.array([2 * each for each in n.to_pylist()])) + 1)


@pytest.mark.parametrize(
    ("fn", "error"),
    [
        (lambda n: 3, "the result: got 3, an int; allowed: a pyarrow.Array"),
        (lambda n: pa.array([1, 2]), "the result: got 2 values for 0 windows; allowed: one for each"),
        (lambda n: n.no_such(), "AttributeError: .*no_such"),
    ],
)
def test_a_wrong_result_of_a_function_is_an_error(fn: Any, error: str) -> None:
    with pytest.raises((TypeError, ValueError, RuntimeError), match=f'aggregate "n": {error}'):
        sessions().agg(n=wr.count().then(fn))


REFUSED: dict[str, Callable[[], Any]] = {
    r"TypeError: then\(fn=\): got 3": lambda: wr.count().then(3),
    r"TypeError: then\(others\): got 'amount'": lambda: wr.count().then(print, "amount"),
    r"TypeError: then\(schema=\): got 3": lambda: wr.count().then(print, schema=3),
    r"TypeError: apply\(fn=\): got 3": lambda: wr.apply(3, "amount", schema="int"),
    r"ValueError: apply\(columns\): got \(\); allowed: at least one column": lambda: wr.apply(print, schema="int"),
    r"TypeError: apply\(columns\): got \['amount'\], a list; allowed: the name of a column": lambda: wr.apply(
        print, ["amount"], schema="int"
    ),
    'TypeError: aggregate "x": got a result of type list<.*allowed: results that are numbers': lambda: sessions().agg(
        x=wr.collect_list("amount") + 1
    ),
}


@pytest.mark.parametrize("error", REFUSED)
def test_wrong_arguments_are_refused_at_the_call(error: str) -> None:
    kind, _, message = error.partition(": ")
    with pytest.raises(getattr(builtins, kind), match=message):
        REFUSED[error]()


def slopes(xs: pa.Array[Any], ys: pa.Array[Any]) -> Any:
    """The last y less the first one over the same of x, of each window; null where that is nothing."""
    ends = xs.offsets.to_numpy()
    x, y = xs.values.to_pylist(), ys.values.to_pylist()
    found = []
    for start, end in itertools.pairwise(ends):
        known = [(a, b) for a, b in zip(x[start:end], y[start:end], strict=True) if None not in (a, b)]
        wide = bool(known) and known[-1][0] != known[0][0]
        found.append((known[-1][1] - known[0][1]) / (known[-1][0] - known[0][0]) if wide else None)
    return pa.array(found, pa.float64())


rows = st.tuples(st.integers(1, 3), st.integers(0, 40), st.integers(-5, 5) | st.none(), st.integers(-5, 5) | st.none())


@given(st.lists(rows, min_size=1, unique_by=lambda row: row[:2]), st.booleans())
def test_apply_gets_all_values_of_each_window_in_order(
    events: list[tuple[int, int, int | None, int | None]], sliding: bool
) -> None:
    keys, times, xs, ys = (list(column) for column in zip(*events, strict=True))
    table = pa.table(
        {"k": keys, "ts": pa.array(times, US), "x": pa.array(xs, pa.int64()), "y": pa.array(ys, pa.int64())}
    )
    windows = wr.SlidingWindows.with_time_difference("7 microseconds") if sliding else GAP
    got = wr.group_by(table, "k", time="ts").windowed_by(windows).agg(slope=wr.apply(slopes, "x", "y", schema="double"))
    for row in got.to_pylist():
        start, end = row["window"]["start"], row["window"]["end"]
        own = sorted((at, x, y) for key, at, x, y in events if key == row["k"])
        within = [(x, y) for at, x, y in own if start <= np.datetime64(at, "us").astype(object) <= end]
        expected = slopes(*(pa.array([list(column)], pa.list_(pa.int64())) for column in zip(*within, strict=True)))
        assert row["slope"] == expected.to_pylist()[0]


WIDE = 2_000
"""More terms than Python has levels of calls."""


def test_thousands_of_terms_are_computed_in_time_that_grows_with_their_number() -> None:
    columns = {f"c{number}": [number, 1, 2] for number in range(WIDE)}
    rows = pa.table(
        {"user": ["ann", "ann", "bob"], "ts": pa.array([0, 1, 2], US), "on": [True, False, True], **columns}
    )
    started = time.process_time()
    all_of = functools.reduce(operator.add, (wr.sum(name) for name in columns))
    # One of each operation, over and over: 2 (x - 1) / 2 + 1 is x.
    steps = functools.reduce(lambda held, _: ((held - 1) * 2 / 2 + 1).then(pc.round), range(WIDE // 5), 0 + wr.count())
    got = sessions(rows).agg(all=all_of, where=all_of.where("on"), n=steps)
    taken = time.process_time() - started
    assert by_user("all", got) == {"ann": sum(range(WIDE)) + WIDE, "bob": 2 * WIDE}
    assert by_user("where", got) == {"ann": sum(range(WIDE)), "bob": 2 * WIDE}
    assert by_user("n", got) == {"ann": 2, "bob": 1}
    assert taken < 5
    assert "c1999" in repr(all_of)
    plan = sessions(rows)._plan({"all": all_of})
    finish = pickle.loads(pickle.dumps(plan.finish))
    assert finish == plan.finish
    parts = sessions(rows).agg(**{name: wr.Aggregate(call) for name, call in plan.aggregates}).to_batches()
    assert dict(zip("ab", finish.batch(parts[0])["all"].to_pylist(), strict=True)) == {
        "a": sum(range(WIDE)) + WIDE,
        "b": 2 * WIDE,
    }


def test_over_no_rows_a_function_of_what_has_a_type_is_not_called() -> None:
    def never(held: pa.Array[Any]) -> Any:
        assert len(held), "called without rows"
        return held

    inner = wr.count().then(never)
    got = sessions(ORDERS.slice(0, 0)).agg(n=(inner + inner.then(never)).then(never, schema="bigint") * 2)
    assert got.schema.field("n").type == pa.int64()
    with pytest.raises(RuntimeError, match='aggregate "n": AssertionError: called without rows'):
        sessions(ORDERS.slice(0, 0)).agg(n=wr.sum("amount").then(never, schema="bigint") + inner)


def test_python_functions_may_be_parts() -> None:
    got = sessions().agg(twice=wr.reduce("amount", lambda a, b: a + b) * 2, n=wr.count())
    assert by_user("twice", got) == {"ann": 36, "bob": 10, "cid": None}


def test_parts_that_are_asked_for_are_computed_once_and_names_do_not_collide() -> None:
    windowed = sessions().emit("update")
    got = windowed.agg(r=wr.sum("amount") / wr.count(), r_1=wr.max("amount"), N=wr.count())
    assert got.column_names == ["user", "window", "r", "r_1", "N", "op"]
    plan = windowed._plan({"r": wr.sum("amount") / wr.count(), "r_1": wr.max("amount"), "N": wr.count()})
    assert [name for name, _ in plan.aggregates] == ["r_1", "N", "r: sum(amount)"]
    both = windowed.agg(**{"r": wr.sum("amount") * 2, "R: SUM(amount)": wr.count()})
    assert both.column_names == ["user", "window", "r", "R: SUM(amount)", "op"]


@pytest.mark.parametrize("kind", [pa.string(), pa.int64(), pa.dictionary(pa.int8(), pa.string())], ids=str)
def test_a_key_or_an_aggregate_called_op_says_nothing_of_a_row(kind: pa.DataType) -> None:
    ops = pa.array([1, 2, 3], kind) if kind == pa.int64() else pa.array(["insert", "delete", "left_out"]).cast(kind)
    changes = pa.table({"op": ops, "k": [1, 2, 3], "ts": pa.array([0] * 3, US)})
    by_op = wr.group_by(changes, "op", time="ts").windowed_by(GAP)
    assert by_op.agg(n=wr.count() * 2)["n"].to_pylist() == [2, 2, 2]
    assert by_op.advance(None, to="1970-01-02", n=wr.count() * 2).closed["n"].to_pylist() == [2, 2, 2]
    by_k = wr.group_by(changes, "k", time="ts").windowed_by(GAP)
    assert by_k.agg(op=wr.first("op"), n=wr.count() * 2).drop_columns("window").to_pylist() == [
        {"k": k, "op": op, "n": 2} for k, op in zip([1, 2, 3], ops.to_pylist(), strict=True)
    ]
