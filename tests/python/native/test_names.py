"""Names that Arrow's interface would cut: refused where they are named, with the whole name."""

from __future__ import annotations

import re
from typing import Any

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


def test_a_decimal_of_digits_without_end() -> None:
    with pytest.raises(ValueError, match="a decimal has 1 to 38 digits"):
        wr.aggregate(int, lambda acc, row: 1, lambda a, b: 1, schema=f"decimal({'1' * 5000})", columns=["v"])
