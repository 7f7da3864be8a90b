"""Expressions that do not fit the data: the error names the argument, the expression, the library and the columns."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable
from datetime import datetime
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


def test_errors_of_values_come_through() -> None:
    largest = pa.table({"user": ["a"], "ts": [datetime(2026, 1, 1)], "n": pa.array([2**63 - 1], pa.int64())})
    with pytest.raises(pa.ArrowInvalid, match="overflow"):
        sessions(largest).agg(x=wr.sum(pc.field("n") * pc.scalar(2)))


def test_polars_expressions_that_fit_all_rows_but_not_one_are_taken() -> None:
    """`reshape` needs a number of rows that it can divide."""
    rows = pl.DataFrame({"user": ["a"] * 4, "ts": [datetime(2026, 1, 1)] * 4, "n": [1, 2, 3, 4]})
    pair = pl.col("n").reshape((-1, 2)).explode().cast(pl.Int64) > 2
    assert sessions(rows).agg(n=wr.count_if(pair))["n"].to_list() == [2]
