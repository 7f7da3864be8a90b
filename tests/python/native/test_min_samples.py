"""`min_samples`: null where an aggregate takes too few records."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr

from ..harness.steps import LocalStream

US = pa.timestamp("us")
HOURS = pa.table(
    {
        "user": ["ann", "ann", "ann", "bob"],
        "ts": pa.array([0, 1, 2, 50], US),
        "amount": pa.array([3.0, float("nan"), None, 5.0]),
        "paid": [True, None, True, False],
        "word": ["a", None, "b", "c"],
    }
)


def sessions(data: Any = HOURS) -> Any:
    return wr.group_by(data, "user", time="ts").windowed_by(wr.SessionWindows.with_gap(timedelta(microseconds=10)))


def by_user(result: Any) -> dict[str, list[Any]]:
    """The aggregates of each user."""
    return {row.pop("user"): [*row.values()] for row in result.drop_columns("window").to_pylist()}


def test_the_number_may_change_at_a_restart() -> None:
    def query(least: int) -> Callable[[Any], Any]:
        aggregates = {"total": wr.sum("by").min_samples(least), "share": (wr.sum("by") / wr.count()).min_samples(least)}
        gap = wr.SessionWindows.with_gap(timedelta(microseconds=5), grace="0 seconds")
        return lambda data: wr.group_by(data, "k", time="ts").windowed_by(gap).agg(**aggregates)

    schema = pa.schema({"k": pa.int64(), "ts": US, "by": pa.int64()})
    stream = LocalStream(query(3), schema)
    stream.push([pa.table({"k": [1, 1], "ts": [0, 1], "by": [4, 2]}, schema)])
    stream.define(query(2))
    (row,) = stream.push([pa.table({"k": [2], "ts": [50], "by": [1]}, schema)])
    assert (row["total"], row["share"]) == (6, 3.0)


def test_where_over_and_min_samples_come_in_any_order() -> None:
    calls: dict[str, Callable[[Any], Any]] = {
        "where": lambda each: each.where("paid"),
        "over": lambda each: each.over("1 day"),
        "least": lambda each: each.min_samples(2),
    }
    for made in (wr.mean("amount"), wr.count(), wr.sum("amount") / wr.count()):
        orders = [
            functools.reduce(lambda each, name: calls[name](each), order, made)
            for order in itertools.permutations(calls)
        ]
        assert all(each == orders[0] for each in orders)
    assert repr(wr.count().min_samples(2).where("paid")) == "count().where('paid').min_samples(2)"


def test_a_window_with_too_few_records_is_null_also_for_counts_and_lists() -> None:
    found = sessions().agg(
        n=wr.count().min_samples(2),
        paid=wr.count_if("paid").min_samples(2),
        mean=wr.mean("amount").min_samples(2),
        words=wr.collect_list("word").min_samples(3),
        whole=wr.collect_list("word", ignore_nulls=False).min_samples(3),
        first=wr.first("word", ignore_nulls=True).min_samples(3),
        paths=wr.path("word").min_samples(2),
    )
    ann = by_user(found)["ann"]
    assert ann[:2] == [3, 2]
    assert np.isnan(ann[2])
    assert ann[3:] == [None, ["a", None, "b"], None, ["a", "b"]]
    assert by_user(found)["bob"] == [None] * 7
    assert all(found.schema.field(name).nullable for name in found.column_names[2:])


def test_a_funnel_of_values_takes_records_with_a_value_and_other_funnels_take_all() -> None:
    steps = ["a", "b"]
    found = sessions().agg(
        values=wr.funnel(steps, column="word").min_samples(3),
        strict=wr.funnel(steps, column="word", strict=True).min_samples(3),
        conditions=wr.funnel(["paid"]).min_samples(3),
    )
    assert by_user(found)["ann"] == [None, 1, 1]


def test_apply_does_not_call_its_function_for_windows_with_too_few_records() -> None:
    calls: list[list[Any]] = []

    def spread(lists: Any) -> Any:
        calls.append(lists.to_pylist())
        return pa.array([len(values) for values in lists.to_pylist()], pa.int64())

    applied = wr.apply(spread, "word", schema="bigint").min_samples(2)
    assert by_user(sessions().agg(n=applied)) == {"ann": [3], "bob": [None]}
    assert calls == [[["a", None, "b"]]]
    calls.clear()
    nothing = wr.apply(spread, "word", schema="bigint").min_samples(9)
    assert by_user(sessions().agg(n=nothing)) == {"ann": [None], "bob": [None]}
    assert calls == []


def test_equal_counts_are_computed_once() -> None:
    plan = sessions()._plan(
        {
            "n": wr.count(),
            "low": wr.min("amount").min_samples(2),
            "high": wr.max("amount").min_samples(3),
            "usual": (wr.mean("amount") / wr.count()).min_samples(2),
            "first": wr.first("word").min_samples(2),
        }
    )
    assert list(dict(plan.aggregates)) == ["n", "low", "high", "first", "usual: mean(amount)", "low: count(amount)"]


def test_a_cogroup_counts_the_records_of_the_input() -> None:
    both = wr.cogroup(a=wr.group_by(HOURS, "user", time="ts"), b=wr.group_by(HOURS[:1], "user", time="ts"))
    found = both.windowed_by(wr.SessionWindows.with_gap("10 microseconds")).agg(
        ours=wr.first("b.word").min_samples(2),
        theirs=wr.first("a.word").min_samples(3),
        rows=wr.count("b.*").min_samples(1),
        all=wr.count().min_samples(4),
        sums=wr.sum("a.amount").min_samples(1).where("a.paid"),
    )
    assert by_user(found) == {"ann": [None, "a", 1, 4, 3.0], "bob": [None, None, None, None, None]}


ONE_OF_EACH: dict[str, Any] = {
    "view": pa.array(["a", "b", "c", "d"], pa.string_view()),
    "packed": pa.array(["a", "b", "c", "d"]).dictionary_encode(),
    "uuid": pa.array([bytes([number]) * 16 for number in range(4)], pa.uuid()),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([3, 4], pa.int32()), pa.array(["x", "y"])),
    "union": pa.UnionArray.from_sparse(
        pa.array([0, 1, 0, 1], pa.int8()), [pa.array([1, 2, 3, 4]), pa.array(["a"] * 4)]
    ),
    "nested": pa.array([[{"v": "a"}]] * 4, pa.list_(pa.struct([("v", pa.string_view())]))),
    "map": pa.array([[("k", 1)]] * 4, pa.map_(pa.string(), pa.int64())),
    "nothing": pa.nulls(4),
}


@pytest.mark.parametrize("kind", ONE_OF_EACH)
def test_a_value_keeps_its_type(kind: str) -> None:
    data = HOURS.append_column("v", ONE_OF_EACH[kind])
    found = sessions(data).agg(plain=wr.last("v"), enough=wr.last("v").min_samples(2))
    assert found.schema.field("plain").type == found.schema.field("enough").type
    users = by_user(found)
    assert users["ann"][0] == users["ann"][1]
    assert users["bob"][1] is None


@pytest.mark.parametrize("number", [0, -1, 2**63, True, 1.0, "3", None, np.float64(2)])
def test_what_is_no_number_of_records_is_refused(number: Any) -> None:
    kind = ValueError if type(number) is int else TypeError
    message = rf"min_samples\(n=\): got {re.escape(repr(number))}.*an int from 1 to 2\*\*63 - 1"
    with pytest.raises(kind, match=message):
        wr.count().min_samples(number)


def test_a_whole_number_of_numpy_is_a_number() -> None:
    assert wr.count().min_samples(np.int64(2)) == wr.count().min_samples(2)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "made",
    [
        wr.window_id(),
        wr.window_length(),
        wr.ended_by(),
        wr.position(),
        wr.session_number(),
        wr.reduce("amount", max),
        wr.aggregate(int, lambda held, row: held, lambda a, b: a, schema="bigint"),
        wr.sum("amount") / wr.window_length(),
        wr.reduce("amount", max) + 1,
    ],
    ids=repr,
)
def test_what_has_no_over_has_no_least_number(made: Any) -> None:
    with pytest.raises(ValueError, match=r"min_samples\(n=\).*no min_samples\(\.\.\.\)"):
        made.min_samples(2)
    with pytest.raises(ValueError, match=r"over.*no over\(\.\.\.\)"):
        made.over("1 hour")


@pytest.mark.parametrize("made", [wr.count().min_samples(2), wr.count().min_samples(2) / wr.count()], ids=repr)
def test_a_second_least_number_is_refused(made: Any) -> None:
    with pytest.raises(ValueError, match=r"one min_samples\(\.\.\.\)"):
        made.min_samples(3)
