"""Expressions of Polars give one value for each row. Others are refused, as `DataFrame.with_columns` refuses them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pytest

import windrow as wr

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
