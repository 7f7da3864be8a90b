"""What people write first: it works where it can only mean one thing, and elsewhere the error says what to write."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import windrow as wr

from ..harness.tables import arrow

TIMES = [datetime(2026, 1, 1, 8, minute) for minute in (0, 4, 30)]
CLICKS = pa.table(
    {
        "user": ["ann", "ann", "bob"],
        "shop": ["x", "x", "y"],
        "ts": pa.array(TIMES, pa.timestamp("us")),
        "amount": [1, 2, 3],
        "pause": [timedelta(minutes=5)] * 3,
        "tick": [False] * 3,
    }
)
GAP = wr.SessionWindows.with_gap("5 minutes")


def sessions(data: Any = CLICKS, *keys: Any, time: Any = "ts", **options: Any) -> list[tuple[str, int]]:
    """The users and the number of their clicks."""
    result = arrow(wr.group_by(data, *(keys or ("user",)), time=time, **options).windowed_by(GAP).count())
    return sorted(zip(result["user"].to_pylist(), result["count"].to_pylist(), strict=True))


EXPECTED = [("ann", 2), ("bob", 1)]


@pytest.mark.parametrize(
    "keys",
    [(["user"],), (("user", "shop"),), (["user", "shop"],), (pl.col("user"),), ([pl.col("user"), "shop"],)],
    ids=["a list", "a tuple", "two in a list", "an expression", "expressions and names"],
)
def test_keys_in_a_list_and_plain_columns_are_their_names(keys: tuple[Any, ...]) -> None:
    assert sessions(CLICKS, *keys) == EXPECTED


def test_every_argument_that_names_a_column_takes_a_plain_one() -> None:
    col = pl.col
    assert sessions(CLICKS, col("user"), time=col("ts"), tick=col("tick"), source=col("shop")) == EXPECTED
    assert sessions(CLICKS, col("user"), time=col("ts"), source=[col("shop")], order=col("amount")) == EXPECTED
    grouped = wr.group_by(CLICKS, "user", time="ts")
    gaps = grouped.windowed_by(wr.SessionWindows.with_dynamic_gap(col("pause")))
    last = wr.aggregate(int, lambda _, row: row.amount, max, schema="bigint", columns=[col("amount")])
    answer = gaps.agg(
        least=wr.min_by(col("shop"), col("amount")),
        total=wr.sum(col("amount")),
        known=wr.count(col("amount")),
        added=wr.reduce(col("amount"), lambda a, b: a + b),
        last=last,
    ).sort_by("user")
    assert answer.drop_columns(["user", "window"]).to_pylist() == [
        {"least": "x", "total": 3, "known": 2, "added": 3, "last": 2},
        {"least": "y", "total": 3, "known": 1, "added": 3, "last": 3},
    ]


@pytest.mark.parametrize(
    "data",
    [
        CLICKS.to_batches(max_chunksize=1),
        tuple(CLICKS.to_batches()),
        [CLICKS.slice(0, 1), CLICKS.slice(1)],
        [CLICKS.slice(0, 2), *CLICKS.slice(2).to_batches()],
    ],
    ids=["batches", "a tuple", "tables", "both"],
)
def test_a_list_of_batches_is_their_rows(data: Any) -> None:
    assert sessions(data) == EXPECTED


def test_batches_of_other_schemas_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^data\[1\]: got .*; allowed: the schema of the first"):
        sessions([CLICKS, CLICKS.drop_columns(["shop"])])


INSTEAD: dict[str, tuple[Callable[[], Any], str]] = {
    "a generator of batches": (lambda: (b for b in CLICKS.to_batches()), r"RecordBatchReader.from_batches\(schema"),
    "an iterator of batches": (lambda: iter(CLICKS.to_batches()), r"RecordBatchReader.from_batches\(schema"),
    "a list of dicts": (lambda: CLICKS.to_pylist(), r"pyarrow.Table.from_pylist\(rows\)"),
    "a dict of columns": (lambda: CLICKS.to_pydict(), r"pyarrow.table\(columns\)"),
    "an empty list": (list, "a list of pyarrow Tables or RecordBatches"),
}


@pytest.mark.parametrize("case", INSTEAD)
def test_what_has_no_schema_is_refused_with_what_makes_one(case: str) -> None:
    made, hint = INSTEAD[case]
    with pytest.raises(TypeError, match=rf"^data: got .*; allowed: .*{hint}"):
        sessions(made())


def test_a_named_index_of_pandas_counts_as_columns() -> None:
    frame = CLICKS.to_pandas()
    for index in ("ts", "user", ["user", "ts"], ["shop", "ts"]):
        assert sessions(frame.set_index(index)) == EXPECTED
    summed = wr.group_by(frame.set_index(["ts", "amount"]), "user", time="ts").windowed_by(GAP).agg(s=wr.sum("amount"))
    assert sorted(summed["s"]) == [3, 3]
    assert list(frame.columns) == CLICKS.column_names


def test_a_column_comes_before_an_index_of_its_name() -> None:
    frame = CLICKS.to_pandas().set_index(pd.Index(["x", "y", "z"], name="user"))
    assert sessions(frame) == EXPECTED
    with pytest.raises(ValueError, match="time: got 'level'; .*which has 'user'"):
        sessions(frame.rename_axis(None), time="level")
    twice = CLICKS.to_pandas().set_index(pd.MultiIndex.from_arrays([TIMES, TIMES], names=["at", "at"]))
    with pytest.raises(ValueError, match="time: got 'at'; .*2 columns of the data have this name"):
        sessions(twice, time="at")


def test_times_in_an_index_without_a_name_are_named_first() -> None:
    frame = CLICKS.to_pandas().set_index("ts").rename_axis(None)
    with pytest.raises(ValueError, match=r"^time: got 'ts'; allowed: the index, .*: frame\.rename_axis\(.ts.\), or"):
        wr.group_by(frame, "user", time="ts")
    assert sessions(frame.rename_axis("ts")) == EXPECTED
    with pytest.raises(ValueError, match="^time: got 'when'; allowed: a column of the data"):
        wr.group_by(frame.reset_index(drop=True), "user", time="when")
    with pytest.raises(ValueError, match=r"^keys: got 'usr'; .*\(did you mean 'user'\?\)"):
        wr.group_by(frame, "usr", time="ts")


def test_a_duration_for_a_column_of_gaps_names_with_gap() -> None:
    grouped = wr.group_by(CLICKS, "user", time="ts")
    with pytest.raises(ValueError, match=r"^column: got '5 minutes'; .*with_gap\('5 minutes'\) has one gap"):
        grouped.windowed_by(wr.SessionWindows.with_dynamic_gap("5 minutes"))
    with pytest.raises(TypeError, match=r"^column: got .*, a timedelta; .*with_gap\(...\) has one gap"):
        wr.SessionWindows.with_dynamic_gap(timedelta(minutes=5))  # type: ignore[arg-type]
    called = CLICKS.rename_columns({"pause": "5 minutes"})
    own = wr.group_by(called, "user", time="ts").windowed_by(wr.SessionWindows.with_dynamic_gap("5 minutes"))
    assert sorted(own.count()["count"].to_pylist()) == [1, 2]


MODULE: Any = wr
GROUPED: Any = wr.group_by(CLICKS, "user", time="ts")
WINDOWED: Any = GROUPED.windowed_by(GAP)
SPENT: Any = wr.sum("amount")
MISSING: dict[str, tuple[Callable[[], Any], str]] = {
    "agg without windows": (lambda: GROUPED.agg, r"windowed_by comes first: .*\.agg\(n=windrow.count\(\)\)$"),
    "count without windows": (lambda: GROUPED.count, r"windowed_by comes first: .*with_gap\(.*\)\)\.count\(\)$"),
    "emit without windows": (lambda: GROUPED.emit, r"windowed_by comes first: .*\.emit\(...\)$"),
    "sum without windows": (lambda: GROUPED.sum, r"first: .*\.agg\(result=windrow.sum\(.column.\)\)$"),
    "something else": (lambda: GROUPED.pivot, "'GroupedData' object has no attribute 'pivot'$"),
    "show before agg": (lambda: WINDOWED.show, r"its rows come from agg, .*: \.agg\(n=windrow.count\(\)\)$"),
    "toPandas before agg": (lambda: WINDOWED.toPandas, "its rows come from agg"),
    "sum of windows": (lambda: WINDOWED.sum, r"by name: \.agg\(result=windrow.sum\(.column.\)\)$"),
    "windowed twice": (lambda: WINDOWED.windowed_by, "windowed already"),
    "a private name": (lambda: WINDOWED._repr_latex_, "'WindowedData' object has no attribute '_repr_latex_'$"),
    "countDistinct": (lambda: MODULE.countDistinct, r"'windrow' has no .*; write windrow.count_distinct\(...\)$"),
    "window": (lambda: MODULE.window, "tumbling and hopping windows are Spark's: pyspark.sql.functions.window"),
    "TumblingWindows": (lambda: MODULE.TumblingWindows, "tumbling and hopping windows are Spark's"),
    "TimeWindows": (lambda: MODULE.TimeWindows, "tumbling and hopping windows are Spark's"),
    "session_window": (lambda: MODULE.session_window, r"write windrow.SessionWindows.with_gap\(.5 minutes.\)$"),
    "groupBy": (lambda: MODULE.groupBy, r"write windrow.group_by\(data, .user., time=.ts.\)$"),
    "lit": (lambda: MODULE.lit, "an expression of the library of the data: pyspark.sql.functions.col"),
    "col": (lambda: MODULE.col, "a column goes by its name"),
    "withColumn": (lambda: MODULE.withColumn, r"with_columns\(n=windrow.count\(\)\)$"),
    "something else of the module": (lambda: MODULE.nothing, "module 'windrow' has no attribute 'nothing'$"),
    "an aggregate of another library": (lambda: MODULE.functions.n_unique, r"write windrow.count_distinct\(...\)$"),
    "session_window of groups": (lambda: GROUPED.session_window, r"write windrow.SessionWindows.with_gap"),
    "countDistinct of groups": (lambda: GROUPED.countDistinct, r"write windrow.count_distinct"),
    "groupBy of windows": (lambda: WINDOWED.groupBy, r"write windrow.group_by"),
    "with_column of windows": (lambda: WINDOWED.with_column, r"with_columns\(n=windrow.count\(\)\)$"),
    "filter": (lambda: SPENT.filter, r"write where, as in windrow.sum"),
    "cast": (lambda: SPENT.cast, r"use the result of agg, or then\(...\)"),
    "an operand of a Column": (lambda: SPENT._get_object_id, "a Column of Spark takes no aggregate"),
    "an operand of a Column on Connect": (lambda: SPENT._expr, "a Column of Spark takes no aggregate"),
    "alias": (lambda: SPENT.alias, r"its name goes before it, as in agg\(clicks=windrow.count\(\)\)$"),
}


@pytest.mark.parametrize("case", MISSING)
def test_a_method_that_is_elsewhere_is_named(case: str) -> None:
    call, hint = MISSING[case]
    with pytest.raises(AttributeError, match=hint) as raised:
        call()
    assert raised.value.name
    assert f"has no attribute {raised.value.name!r}" in str(raised.value)


def test_objects_with_hints_are_copied_and_pickled_like_others() -> None:
    for known in (wr.sum("amount"), GAP, WINDOWED):
        assert copy.copy(known) == known
    assert pickle.loads(pickle.dumps(wr.sum("amount"))) == wr.sum("amount")
    assert not hasattr(WINDOWED, "show")


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ((wr.count(),), r"agg\(count=windrow.count\(\)\)$"),
        ((wr.count(), wr.sum("amount")), r"agg\(count=windrow.count\(\), sum_amount=windrow.sum\('amount'\)\)$"),
        ((pl.col("amount").sum(),), r"agg\(sum=windrow.sum\(.amount.\)\)$"),
        (([wr.max("a b")],), r"agg\(result=windrow.max\('a b'\)\)$"),
        ((wr.reduce("amount", max),), r"agg\(reduce_amount=windrow.reduce\(...\)\)$"),
        (({"amount": "sum"},), r"got {'amount': 'sum'}, a dict; .*agg\(n=windrow.count\(\)\)$"),
        (("count",), r"got 'count', a str; .*agg\(n=windrow.count\(\)\)$"),
    ],
)
def test_an_aggregate_without_a_name_is_refused_with_the_fix(given: tuple[Any, ...], hint: str) -> None:
    with pytest.raises(TypeError, match=rf"^aggregates: .*aggregates by name, such as {hint}|^aggregates: .*{hint}"):
        WINDOWED.agg(*given)


@pytest.mark.parametrize(
    ("other", "hint"),
    [
        (pl.col("amount").sum(), 'sum("amount")'),
        (pl.col("amount").n_unique(), 'count_distinct("amount")'),
        (pl.len(), "count()"),
        (pl.col("amount").std(), 'stddev("amount")'),
    ],
    ids=str,
)
def test_an_aggregate_of_polars_names_that_of_windrow(other: Any, hint: str) -> None:
    with pytest.raises(TypeError, match=rf'^aggregate "x": got .*; write windrow.{re.escape(hint)}$'):
        WINDOWED.agg(x=other)


def test_two_durations_of_sliding_windows_are_those_of_hopping_ones() -> None:
    make: Any = wr.SlidingWindows.with_time_difference
    with pytest.raises(TypeError, match=r"got '5 minutes' by position; .*hopping windows, Spark's window\(...\)$"):
        make("10 minutes", "5 minutes")


def test_a_polars_string_names_a_source() -> None:
    assert sessions(pl.from_arrow(CLICKS), source="shop") == EXPECTED


@pytest.mark.parametrize("kind", [np.int64, np.uint8])
def test_whole_numbers_of_numpy_are_taken_as_those_of_python(kind: Any) -> None:
    numbers = [
        (wr.top_k("amount", kind(2)), wr.top_k("amount", 2)),
        (wr.histogram_numeric("amount", kind(2)), wr.histogram_numeric("amount", 2)),
        (wr.approx_percentile("amount", 0.5, kind(9)), wr.approx_percentile("amount", 0.5, 9)),
        (wr.count() * kind(2) - kind(1), wr.count() * 2 - 1),
        (kind(2) / wr.count(), 2 / wr.count()),
        (WINDOWED.shards(kind(3)).threads(kind(2)), WINDOWED.shards(3).threads(2)),
    ]
    for given, meant in numbers:
        assert repr(given) == repr(meant)
    assert WINDOWED.agg(n=wr.top_k("amount", kind(1))).num_rows == 2
    for wrong in (np.True_, np.float64(2), np.array([1, 2]), "2", None):
        with pytest.raises(TypeError, match=r"top_k\(k=\): got .*; allowed: an int from 1 to 1,000,000"):
            wr.top_k("amount", wrong)
