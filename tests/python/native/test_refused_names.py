"""Names that Arrow's interface would cut, and names of windrow's own columns: refused, with the whole name."""

from __future__ import annotations

import re
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import windrow as wr

TIMES = pa.array([0, 60_000_000], pa.timestamp("us"))
TABLE = pa.table({"k": ["a", "a"], "t": TIMES, "v": [1, 2]})


def counted(table: pa.Table, **aggregates: Any) -> pa.Table:
    grouped = wr.group_by(table, "k", time="t")
    return grouped.windowed_by(wr.SessionWindows.with_gap("5 minutes")).agg(**aggregates)


def test_a_null_character_in_the_name_of_an_aggregate() -> None:
    with pytest.raises(ValueError, match=re.escape(r"aggregates: got 'a\x00b'; allowed: a name without")):
        counted(TABLE, **{"a\0b": wr.count()})


def test_a_null_character_in_the_name_of_a_column() -> None:
    table = TABLE.append_column("v\0x", [[10, 20]])
    with pytest.raises(ValueError, match=re.escape(r"got 'v\x00x'; allowed: a name without")):
        counted(table, a=wr.sum("v"), b=wr.sum("v\0x"))
    assert counted(table, a=wr.sum("v"))["a"].to_pylist() == [3]


def test_a_null_character_in_the_name_of_a_field() -> None:
    table = TABLE.append_column("s", pa.array([{"x\0y": 1}, {"x\0y": 2}]))
    with pytest.raises(ValueError, match=re.escape(r"got 'x\x00y'; allowed: a name without")):
        counted(table, n=wr.first("s"))


@pytest.mark.parametrize("name", ["windrow.row", "Windrow.series"])
def test_a_column_that_begins_like_those_of_windrow(name: str) -> None:
    allowed = re.escape(f"got '{name}'; allowed: a name that does not begin with 'windrow.'")
    table = TABLE.append_column(name, [[10, 20]])
    with pytest.raises(ValueError, match=f"data: {allowed}"):
        counted(table, n=wr.count())
    with pytest.raises(ValueError, match=f"aggregates: {allowed}"):
        counted(TABLE, **{name: wr.count()})
    with pytest.raises(ValueError, match=f"keys: {allowed}"):
        wr.group_by(pl.from_arrow(TABLE), pl.col("k").alias(name), time="t")


def test_a_struct_called_windrow_and_names_that_only_look_alike() -> None:
    table = pa.table({"t": TIMES, "windrow": pa.array([{"key": 1}, {"key": 1}]), "windrows": [3, 4]})
    grouped = wr.group_by(table, "windrow.key", time="t").windowed_by(wr.SessionWindows.with_gap("5 minutes"))
    assert grouped.agg(windrow=wr.sum("windrows")).select(["key", "windrow"]).to_pylist() == [{"key": 1, "windrow": 7}]


@pytest.mark.parametrize("keys", [(), ("k",)])
def test_an_expression_that_is_called_as_the_series_of_windrow(keys: tuple[str, ...]) -> None:
    windowed = wr.group_by(pl.from_arrow(TABLE), *keys, time="t").windowed_by(wr.SessionWindows.with_gap("5 minutes"))
    aliased = wr.sum((pl.col("v") * 2).alias("windrow.series"))
    assert windowed.agg(twice=aliased, n=wr.count()).select("twice", "n").rows() == [(6, 2)]


def test_a_decimal_of_digits_without_end() -> None:
    with pytest.raises(ValueError, match="a decimal has 1 to 38 digits"):
        wr.aggregate(int, lambda acc, row: 1, lambda a, b: 1, schema=f"decimal({'1' * 5000})", columns=["v"])
