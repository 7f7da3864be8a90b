"""Expressions that do not fit the data: the error names the argument, the expression, the library and the columns."""

from __future__ import annotations

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


def sessions(data: Any) -> Any:
    """Sessions of the users of data with plain columns."""
    return wr.group_by(data, "user", time="ts").windowed_by(GAP)


def both(data: Any) -> Any:
    grouped = wr.group_by(data, "user", time="ts")
    return wr.cogroup(a=grouped, b=grouped).windowed_by(GAP)


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "Polars for Arrow": (
        lambda: wr.group_by(TABLE, pl.col("user").str.to_lowercase(), time="seen.at"),
        TypeError,
        'keys: got an expression of Polars (col("user").str.to_lowercase()) for Arrow data; allowed: the name of a '
        "column, or an expression of pyarrow",
    ),
    "pyarrow for Polars": (
        lambda: wr.group_by(pl.from_arrow(TABLE), "user", time=pc.field("a") * pc.scalar(2)),
        TypeError,
        "time: got an expression of pyarrow (multiply_checked(a, 2)) for a Polars frame; allowed: the name of a "
        "column, or an expression of Polars",
    ),
    "DuckDB for pandas": (
        lambda: wr.group_by(TABLE.to_pandas(), SQL("user || 'x'"), time="ts"),
        TypeError,
        "for a pandas frame; allowed: the name of a column, or an expression of pyarrow",
    ),
    "SQL for Arrow": (
        lambda: sessions(COMPUTED).agg(n=wr.count().where("twice > 3")),
        ValueError,
        "got 'twice > 3'; allowed: a column of the data, which has 'user', 'ts', 'twice', 'large', 'gap', or an "
        "expression of pyarrow",
    ),
    "SQL elsewhere": (
        lambda: wr.group_by(duckdb.from_arrow(COMPUTED), "user || 'x'", time="ts"),
        ValueError,
        "keys: got \"user || 'x'\"; allowed: a column of the data",
    ),
    "SQL in count_if": (
        lambda: (
            wr.group_by(duckdb.from_arrow(COMPUTED), "user", time="ts").windowed_by(GAP).agg(n=wr.count_if("twice > 3"))
        ),
        ValueError,
        "got 'twice > 3'; allowed: a column of the data",
    ),
    "a wrong name in Arrow": (
        lambda: wr.group_by(COMPUTED, pc.field("usr") + pc.scalar(1), time="ts"),
        ValueError,
        "keys: got 'add_checked(usr, 1)'; allowed: an expression that gives one column of the data, which has 'user'",
    ),
    "a wrong name in Polars": (
        lambda: wr.group_by(pl.from_arrow(COMPUTED), pl.col("usr").str.len_bytes(), time="ts"),
        ValueError,
        "which has 'user', 'ts', 'twice', 'large', 'gap' (unable to find column",
    ),
    "a wrong name in DuckDB": (
        lambda: wr.group_by(duckdb.from_arrow(COMPUTED), SQL("usr || 'x'"), time="ts"),
        ValueError,
        "(Binder Error",
    ),
    "several columns at once in Polars": (
        lambda: wr.group_by(pl.from_arrow(COMPUTED), pl.selectors.string(), time="ts"),
        ValueError,
        "keys: got 'cs.string()'; allowed: an expression that gives one column of the data",
    ),
    "fewer values than rows in Polars": (
        lambda: sessions(pl.from_arrow(COMPUTED)).agg(n=wr.sum(pl.col("twice").filter(pl.col("twice") > 3))),
        ValueError,
        "allowed: an expression that gives one value for each row (it gives 4 for 6 rows)",
    ),
    "fewer times than rows in Polars": (
        lambda: wr.group_by(pl.from_arrow(COMPUTED), "user", time=pl.col("twice").filter(pl.col("twice") > 3)),
        ValueError,
        "allowed: an expression that gives one value for each row (it gives 4 for 6 rows)",
    ),
    "one value for all rows of an input": (
        lambda: both(pl.from_arrow(COMPUTED)).agg(n=wr.sum(pl.col("a.twice").sum())),
        ValueError,
        "which has 'user', 'ts', 'twice', 'large', 'gap' (it gives one value for all rows, not one for each)",
    ),
    "an aggregate over an input of DuckDB": (
        lambda: both(duckdb.from_arrow(COMPUTED)).agg(n=wr.sum(SQL("sum(a.twice)"))),
        ValueError,
        "(Binder Error",
    ),
    "columns of two inputs": (
        lambda: both(pl.from_arrow(COMPUTED)).agg(n=wr.sum(pl.col("a.twice") + pl.col("b.twice").sum())),
        ValueError,
        "allowed: an expression over columns of one input, with its name before them, as in a.amount",
    ),
    "one value for all rows in Polars": (
        lambda: sessions(pl.from_arrow(COMPUTED)).agg(n=wr.sum(pl.col("twice").sum())),
        ValueError,
        'aggregate "n": sum: got \'col("twice").sum()\'; allowed: an expression that gives one column of the data, '
        "which has 'user', 'ts', 'twice', 'large', 'gap' (it gives one value for all rows, not one for each)",
    ),
    "a condition on all rows in Polars": (
        lambda: sessions(pl.from_arrow(COMPUTED)).agg(n=wr.count().where(pl.col("twice").max() > 3)),
        ValueError,
        "(it gives one value for all rows, not one for each)",
    ),
    "a key of all rows in one row of Polars": (
        lambda: wr.group_by(pl.from_arrow(COMPUTED[:1]), pl.col("user").first(), time="ts"),
        ValueError,
        "(it gives one value for all rows, not one for each)",
    ),
    "a cumulative function of pyarrow": (
        lambda: sessions(COMPUTED).agg(n=wr.sum(pc.cumulative_sum(pc.field("twice")))),
        ValueError,
        "expression: got 'cumulative_sum(twice)'; allowed: an expression that computes each value of its own row",
    ),
    "no columns and no key": (
        lambda: wr.group_by(pa.table({}), time="ts"),
        ValueError,
        "time: got 'ts'; allowed: a column of the data, which has none",
    ),
    "no columns and no key in pandas": (
        lambda: wr.group_by(pd.DataFrame(), time="ts"),
        ValueError,
        "time: got 'ts'; allowed: a column of the data, which has none",
    ),
    "wrong SQL": (
        lambda: (
            wr.group_by(duckdb.from_arrow(COMPUTED), "user", time="ts").windowed_by(GAP).agg(n=wr.count().where("x >"))
        ),
        ValueError,
        "(Parser Error",
    ),
    "SQL of several rows": (
        lambda: wr.group_by(duckdb.from_arrow(COMPUTED), SQL("unnest([1, 2])"), time="ts"),
        ValueError,
        "unnest makes several rows from one",
    ),
    "several columns": (
        lambda: wr.group_by(pl.from_arrow(COMPUTED), pl.all(), time="ts"),
        ValueError,
        "an expression that gives one column",
    ),
    "a type": (
        lambda: wr.group_by(TABLE, "user", time=pc.field("amount") * pc.scalar(2)),
        TypeError,
        "time: column 'multiply_checked(amount, 2)' has type int64; allowed: a timestamp",
    ),
    "a condition that is a number": (
        lambda: (
            wr.group_by(COMPUTED, "user", time="ts").windowed_by(GAP).agg(n=wr.count().where(pc.field("twice") * 2))
        ),
        TypeError,
        "count().where: column 'multiply_checked(twice, 2)' has type int64; allowed: a boolean, such as ",
    ),
    "a Series": (
        lambda: wr.group_by(TABLE.to_pandas(), TABLE.to_pandas()["user"], time="ts"),
        TypeError,
        "keys: got a Series; allowed: the name of a column, or an expression over columns (add a Series to the frame",
    ),
    "a field that is not there": (
        lambda: wr.group_by(TABLE, "seen.on", time="seen.at"),
        ValueError,
        "keys: got 'seen.on'; allowed: a column of the data (the struct 'seen' has the fields 'at')",
    ),
    "a comparison of Polars that fails over rows only": (
        lambda: sessions(pl.from_arrow(COMPUTED)).agg(n=wr.count_if(pl.col("twice").rle() > 1)),
        ValueError,
        'aggregate "n": count_if: got \'[(col("twice").rle()) > (dyn int: 1)]\'; allowed: an expression that '
        "gives one column of the data",
    ),
    "an expression in a driver": (
        lambda: StreamDriver(
            lambda data: wr.group_by(data, pc.field("twice") + pc.scalar(1), time="ts"), COMPUTED.schema
        ),
        TypeError,
        "as a driver computes no expressions",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(name: str) -> None:
    make, kind, text = REFUSED[name]
    with pytest.raises(kind, match=re.escape(text)):
        make()


def test_errors_of_values_come_through() -> None:
    largest = pa.table({"user": ["a"], "ts": [datetime(2026, 1, 1)], "n": pa.array([2**63 - 1], pa.int64())})
    windowed = wr.group_by(largest, "user", time="ts").windowed_by(GAP)
    with pytest.raises(pa.ArrowInvalid, match="overflow"):
        windowed.agg(x=wr.sum(pc.field("n") * pc.scalar(2)))


def test_polars_expressions_that_fit_all_rows_but_not_one_are_taken() -> None:
    """`reshape` needs a number of rows that it can divide."""
    rows = pl.DataFrame({"user": ["a"] * 4, "ts": [datetime(2026, 1, 1)] * 4, "n": [1, 2, 3, 4]})
    pair = pl.col("n").reshape((-1, 2)).explode().cast(pl.Int64) > 2
    assert sessions(rows).agg(n=wr.count_if(pair))["n"].to_list() == [2]
