"""Expressions that do not fit the data are refused by argument, expression and library; which ones of Polars fit."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import windrow as wr
from windrow.testing import StreamDriver

from .test_expressions import COMPUTED, GAP, SQL, TABLE

POLARS, DUCKDB, PANDAS = pl.from_arrow(COMPUTED), duckdb.from_arrow(COMPUTED), TABLE.to_pandas()
TWICE = pc.field("amount") * pc.scalar(2)
HAS = "which has 'user', 'ts', 'twice', 'large', 'gap'"
ONE_COLUMN = "allowed: an expression that gives one column of the data"


def by(key: Any, data: Any = COMPUTED, **time: Any) -> Any:
    return wr.group_by(data, key, **({"time": "ts"} | time))


def sessions(data: Any = COMPUTED) -> Any:
    return by("user", data).windowed_by(GAP)


def both(data: Any) -> Any:
    return wr.cogroup(a=by("user", data), b=by("user", data)).windowed_by(GAP)


REFUSED: dict[str, Callable[[], Any]] = {
    'TypeError: keys: got an expression of Polars (col("user").str.to_lowercase()) for Arrow data; allowed: the name '
    "of a column, or an expression of pyarrow": lambda: by(pl.col("user").str.to_lowercase(), TABLE, time="seen.at"),
    "TypeError: time: got an expression of pyarrow (multiply_checked(amount, 2)) for a Polars frame; allowed: the name "
    "of a column, or an expression of Polars": lambda: by("user", pl.from_arrow(TABLE), time=TWICE),
    "TypeError: for a pandas frame; allowed: the name of a column, or an expression of pyarrow": lambda: by(
        SQL("user || 'x'"), PANDAS
    ),
    f"ValueError: got 'twice > 3'; allowed: a column of the data, {HAS}, or an expression of pyarrow": lambda: (
        sessions().agg(n=wr.count().where("twice > 3"))
    ),
    "ValueError: keys: got \"user || 'x'\"; allowed: a column of the data": lambda: by("user || 'x'", DUCKDB),
    "ValueError: count_if: got 'twice > 3'; allowed: a column of the data": lambda: sessions(DUCKDB).agg(
        n=wr.count_if("twice > 3")
    ),
    f"ValueError: keys: got 'add_checked(usr, 1)'; {ONE_COLUMN}, {HAS}": lambda: by(pc.field("usr") + pc.scalar(1)),
    f"ValueError: {HAS} (unable to find column": lambda: by(pl.col("usr").str.len_bytes(), POLARS),
    "ValueError: (Binder Error: Referenced column": lambda: by(SQL("usr || 'x'"), DUCKDB),
    f"ValueError: keys: got 'cs.string()'; {ONE_COLUMN}": lambda: by(pl.selectors.string(), POLARS),
    f"ValueError: {HAS} (it gives one value for all rows, not one for each)": lambda: both(POLARS).agg(
        n=wr.sum(pl.col("a.twice").sum())
    ),
    "ValueError: (Binder Error: ": lambda: both(DUCKDB).agg(n=wr.sum(SQL("sum(a.twice)"))),
    "ValueError: allowed: an expression over columns of one input, with its name before them, as in a.amount": lambda: (
        both(POLARS).agg(n=wr.sum(pl.col("a.twice") + pl.col("b.twice").sum()))
    ),
    "ValueError: expression: got 'cumulative_sum(twice)'; allowed: an expression that computes each value of its own "
    "row": lambda: sessions().agg(n=wr.sum(pc.cumulative_sum(pc.field("twice")))),
    "ValueError: time: got 'ts'; allowed: a column of the data, which has none": lambda: wr.group_by(
        pa.table({}), time="ts"
    ),
    "ValueError: a column of the data, which has none": lambda: wr.group_by(pd.DataFrame(), time="ts"),
    "ValueError: (Parser Error": lambda: sessions(DUCKDB).agg(n=wr.count().where("x >")),
    "ValueError: unnest makes several rows from one": lambda: by(SQL("unnest([1, 2])"), DUCKDB),
    "TypeError: time: column 'multiply_checked(amount, 2)' has type int64; allowed: a timestamp": lambda: by(
        "user", TABLE, time=TWICE
    ),
    "TypeError: count().where: column 'multiply_checked(twice, 2)' has type int64; allowed: a boolean, such": lambda: (
        sessions().agg(n=wr.count().where(pc.field("twice") * 2))
    ),
    "TypeError: keys: got a Series; allowed: the name of a column, or an expression over columns (add a Series to the "
    "frame": lambda: by(PANDAS["user"], PANDAS),
    "ValueError: keys: got 'seen.on'; allowed: a column of the data (the struct 'seen' has the fields 'at')": lambda: (
        by("seen.on", TABLE, time="seen.at")
    ),
    f'ValueError: aggregate "n": count_if: got \'[(col("twice").rle()) > (dyn int: 1)]\'; {ONE_COLUMN}': lambda: (
        sessions(POLARS).agg(n=wr.count_if(pl.col("twice").rle() > 1))
    ),
    "TypeError: as a driver computes no expressions": lambda: StreamDriver(
        lambda data: by(pc.field("twice") + pc.scalar(1), data), COMPUTED.schema
    ),
}


@pytest.mark.parametrize("error", REFUSED)
def test_what_does_not_fit_is_refused(error: str) -> None:
    kind, _, message = error.partition(": ")
    with pytest.raises(getattr(builtins, kind), match=re.escape(message)):
        REFUSED[error]()


def test_an_expression_that_fails_for_a_value_is_named() -> None:
    largest = pa.table({"user": ["a"], "ts": [datetime(2026, 1, 1)], "n": pa.array([2**63 - 1], pa.int64())})
    for expression, reason in (
        (pc.field("n") * pc.scalar(2), "overflow"),
        (pc.divide(pc.field("n"), pc.scalar(0)), "divide by zero"),
        (pc.field("user").cast("int64"), "Failed to parse string: 'a' as a scalar of type int64"),
    ):
        says = rf"^expression: got '.*; allowed: an expression that has a value in each row \({reason}\)$"
        for ask in (
            lambda expression: sessions(largest).agg(x=wr.sum(expression)),
            lambda expression: sessions(largest).with_columns(x=wr.sum(expression)),
            lambda expression: by(expression, largest).windowed_by(GAP).count(),
        ):
            with pytest.raises(ValueError, match=says):
                ask(expression)


def test_polars_expressions_that_fit_all_rows_but_not_one_are_taken() -> None:
    """`reshape` needs a number of rows that it can divide."""
    rows = pl.DataFrame({"user": ["a"] * 4, "ts": [datetime(2026, 1, 1)] * 4, "n": [1, 2, 3, 4]})
    pair = pl.col("n").reshape((-1, 2)).explode().cast(pl.Int64) > 2
    assert sessions(rows).agg(n=wr.count_if(pair))["n"].to_list() == [2]


# Expressions of Polars give one value for each row

ROWS = pl.DataFrame(
    {
        "user": ["ann", "ann", "bob"],
        "ts": [datetime(2026, 5, 4, 9, minute) for minute in range(3)],
        "amount": [None, 2, None],
        "paid": [None, True, None],
        "gap": [timedelta(minutes=5)] * 3,
        "gaps": [[], [timedelta(minutes=5)], []],
    }
)
LARGE = pl.col("amount") > 1
PLAIN: dict[str, Any] = {"keys": "user", "time": "ts", "value": "amount", "where": "paid", "gap": "gap"}
KINDS: dict[str, Callable[[pl.DataFrame], Any]] = {"eager": lambda rows: rows, "lazy": lambda rows: rows.lazy()}


def answer(data: Any, **of: Any) -> Any:
    """Sessions of a query that names a column in every place; rows have no windows."""
    of = {**PLAIN, **of}
    windows = wr.SessionWindows.with_dynamic_gap(of["gap"])
    query = wr.group_by(data, of["keys"], time=of["time"]).windowed_by(windows).flat()
    result = query.agg(paid=wr.sum(of["value"]), large=wr.count().where(of["where"]), n=wr.count())
    return result.lazy().collect().drop("window_start", "window_end").rows()


SOME: dict[str, tuple[str, pl.Expr]] = {
    "value": ("value", pl.col("amount").filter(LARGE)),
    "value without nulls": ("value", pl.col("amount").drop_nulls()),
    "value of more rows": ("value", pl.col("gaps").explode().dt.total_minutes()),
    "key": ("keys", pl.col("user").filter(LARGE)),
    "time": ("time", pl.col("ts").filter(LARGE)),
    "gap": ("gap", pl.col("gap").filter(LARGE)),
    "condition": ("where", (pl.col("amount") > 0).filter(LARGE)),
}
"""Expressions whose number of values depends on the rows: one for all of ROWS, none for the first row."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", SOME)
@pytest.mark.parametrize("count", [1, 3])
def test_expressions_that_filter_are_refused_by_name(kind: str, place: str, count: int) -> None:
    argument, expression = SOME[place]
    rows = ROWS[:count]
    assert rows.select(expression).height != count
    with pytest.raises(ValueError, match=r"^expression: got .* gives one value for each row \(it gives \d") as raised:
        answer(KINDS[kind](rows), **{argument: expression})
    assert f"got {str(expression)!r}; allowed" in str(raised.value)


@pytest.mark.parametrize("kind", KINDS)
def test_filters_of_two_columns_agree_on_no_rows(kind: str) -> None:
    both = {"keys": SOME["key"][1], "time": SOME["time"][1]}
    with pytest.raises(ValueError, match=r"gives one value for each row \(it gives 1 for 3 rows\)"):
        answer(KINDS[kind](ROWS), **both, value=SOME["value"][1])
    with pytest.raises(ValueError, match=r"gives one value for each row \(it gives 0 for 1 rows\)"):
        answer(KINDS[kind](ROWS[:1]), **both, value=SOME["value"][1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", SOME)
def test_a_filter_that_keeps_each_row_or_has_none_is_an_expression(kind: str, place: str) -> None:
    argument, expression = SOME[place]
    kept = ROWS[1:2].with_columns(gaps=pl.col("gap").implode())
    assert len(answer(KINDS[kind](kept), **{argument: expression})) == 1
    assert answer(KINDS[kind](ROWS[:0]), **{argument: expression}) == []


WHOLE: dict[str, tuple[str, pl.Expr]] = {
    "mean": ("value", pl.col("amount").mean()),
    "number of rows": ("value", pl.len()),
    "sum of a selector": ("value", pl.sum_horizontal(pl.selectors.integer()).sum().alias("total")),
    "last key": ("keys", pl.col("user").last()),
    "latest time": ("time", pl.col("ts").max()),
    "longest gap": ("gap", pl.col("gap").max()),
    "condition on all rows": ("where", pl.col("amount").sum() > 1),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", WHOLE)
@pytest.mark.parametrize("count", [0, 1, 3])
def test_aggregates_of_all_rows_are_refused_by_name(kind: str, place: str, count: int) -> None:
    argument, expression = WHOLE[place]
    with pytest.raises(ValueError, match="it gives one value for all rows, not one for each") as raised:
        answer(KINDS[kind](ROWS[:count]), **{argument: expression})
    assert f"got {str(expression)!r}; allowed" in str(raised.value)


ONE_FOR_EACH: dict[str, tuple[pl.Expr, list[int | None]]] = {
    "mean over a key": (pl.col("amount").mean().over("user").cast(int), [2, 2, None]),
    "less the mean": (pl.col("minute") - pl.col("minute").mean().cast(int), [-1, 0, 1]),
    "shift": (pl.col("minute").shift(), [None, 0, 1]),
    "less the first": (pl.col("minute") - pl.col("minute").get(0), [0, 1, 2]),
    "less that of the largest": (pl.col("minute") - pl.col("minute").get(pl.col("amount").arg_max()), [-1, 0, 1]),
    "shift by an amount of the data": (pl.col("minute").shift(pl.col("amount").max() - 1), [None, 0, 1]),
    "in another order": (pl.col("minute").gather([2, 0, 1]), [2, 0, 1]),
    "drawn": (pl.col("minute").sample(n=3, seed=0).sort(), [0, 1, 2]),
    "times the only one": (pl.col("minute") * pl.col("amount").drop_nulls().item(), [0, 2, 4]),
    "in lists of one": (pl.col("minute").reshape((3, 1)).arr.first(), [0, 1, 2]),
    "running sum": (pl.col("minute").cum_sum(), [0, 1, 3]),
    "of a selector": (pl.sum_horizontal(pl.selectors.integer()).alias("total"), [0, 3, 2]),
    "number of the row": (pl.int_range(pl.len()), [0, 1, 2]),
    "literal": (pl.lit(7), [7, 7, 7]),
    "literal of several values": (pl.lit(pl.Series([4, 5, 6])), [4, 5, 6]),
    "filter within an aggregate over a key": (
        pl.col("minute").filter(pl.col("minute") > 0).max().over("user"),
        [1, 1, 2],
    ),
}


def test_an_expression_that_fails_over_these_rows_is_refused_with_the_reason_of_polars() -> None:
    failing = [
        (pl.col("amount").get(9) - pl.col("amount"), "out of bounds"),
        (pl.col("amount").shift(pl.col("amount").first()), "must not be null"),
        (pl.col("amount").sample(n=4), "larger sample"),
    ]
    for expression, reason in failing:
        with pytest.raises(ValueError, match=f"allowed: an expression that gives one column .*{reason}"):
            answer(ROWS, value=expression)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ONE_FOR_EACH)
def test_values_that_depend_on_other_rows_are_those_of_polars(kind: str, name: str) -> None:
    expression, values = ONE_FOR_EACH[name]
    rows = ROWS.with_columns(minute=pl.col("ts").dt.minute().cast(int))
    assert rows.with_columns(value=expression)["value"].to_list() == values
    windowed = wr.group_by(KINDS[kind](rows), "minute", time="ts").windowed_by(wr.SessionWindows.with_gap("5 minutes"))
    found = windowed.agg(value=wr.first(expression)).lazy().collect().sort("minute")
    assert found["value"].to_list() == values
    tagged = windowed.with_columns(value=wr.first(expression)).lazy().collect()
    assert tagged["value"].to_list() == values
    assert tagged.columns == [*rows.columns, "window", "value"]
    none = wr.group_by(KINDS[kind](rows[:0]), "minute", time="ts").windowed_by(wr.SessionWindows.with_gap("5 minutes"))
    empty = none.agg(value=wr.first(expression)).lazy().collect()
    assert (empty.height, empty.schema["value"]) == (0, found.schema["value"])
