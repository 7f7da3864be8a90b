"""What an error proposes works on the very data that it refuses: calls that no other test runs."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow as wr

from ..harness.tables import arrow
from .test_nested_days import ENDS, TIMES, windowed

LAST: dict[str, Any] = {"v": wr.last("x")}
TIME = pa.array(TIMES[:1], pa.timestamp("us"))
CUT = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(bytes([0] * 4 + [1] + [0] * 3)), pa.py_buffer(b"\xff")])
"""A string that is no UTF-8."""


def last(data: Any) -> list[Any]:
    found: list[Any] = arrow(windowed(data, "ts").agg(**LAST))["v"].to_pylist()
    return found


WIDE: dict[str, Callable[[pl.Expr], pl.Expr]] = {
    "a column": lambda x: x,
    "a list": lambda x: pl.concat_list(x, x),
    "an array": lambda x: pl.concat_list(x, x).list.to_array(2),
    "a struct": lambda x: pl.struct(x.alias("Int128"), of=pl.lit("Int128")),
    "a list of structs": lambda x: pl.concat_list(pl.struct(x)),
}


@pytest.mark.parametrize("case", WIDE)
@pytest.mark.parametrize("kind", [pl.Int128, pl.UInt128], ids=str)
def test_an_integer_of_128_bits_of_polars_keeps_its_digits(kind: Any, case: str) -> None:
    data = pl.DataFrame({"ts": TIMES[:1], "x": pl.Series([2**100], dtype=kind)})
    data = data.with_columns(WIDE[case](pl.col("x")).alias("x"))
    with pytest.raises(TypeError, match=r"column 'x' .*: (cast\(.*\)) keeps all digits, (cast\(.*\)) up to") as refused:
        last(data)
    casts = re.search(r": (cast\(.*\)) keeps all digits, (cast\(.*\)) up to", str(refused.value))
    assert casts is not None
    text, number = (last(data.with_columns(eval(f"pl.col('x').{cast}"))) for cast in casts.groups())
    assert str(text).replace("'", "") == re.sub(r"Decimal\((.*?)\)", r"\1", str(number)).replace("'", "")
    assert str(2**100) in str(text)


def test_a_type_of_duckdb_is_text() -> None:
    data = duckdb.sql(f"SELECT TIMESTAMP '{TIMES[0]}' ts, get_type(1) x")
    with pytest.raises(TypeError, match=r"column 'x' cannot be read .*; CAST\(\.\.\. AS VARCHAR\) makes text of it"):
        last(data)
    assert last(data.project("ts, CAST(x AS VARCHAR) x")) == ["INTEGER"]


def test_strings_that_are_no_text_are_binary() -> None:
    data = pa.table({"ts": TIME, "x": CUT})
    with pytest.raises(ValueError, match='column "x": .* or the same bytes as binary'):
        last(data)
    assert last(data.set_column(1, "x", data["x"].cast(pa.binary()))) == [b"\xff"]


@pytest.mark.parametrize("function", ["sum", "mean"])
def test_booleans_have_aggregates_of_their_own(function: str) -> None:
    data = windowed(pa.table({"ts": TIME, "x": [True]}), "ts")
    with pytest.raises(TypeError, match=r"column \"x\" has type bool; .*count_if\(\"x\"\)") as refused:
        data.agg(v=getattr(wr, function)("x"))
    calls = re.findall(r'count_if\("x"\)(?: / count\(.*?\))?', str(refused.value))
    assert len(calls) == (2 if function == "mean" else 1)
    for call in calls:
        assert data.agg(v=eval(call, vars(wr)))["v"].to_pylist() == [1]


def test_an_open_file_is_read_as_a_table() -> None:
    data = io.BytesIO()
    pq.write_table(pa.table({"ts": TIME, "x": [1]}), data)
    data.seek(0)
    with pytest.raises(TypeError, match=r"got .*BytesIO; allowed: (pyarrow\.\S+), for an open Parquet file") as refused:
        last(data)
    call = str(refused.value).partition("allowed: ")[2].partition(",")[0]
    assert last(eval(call, {"pyarrow": pa, "data": data})) == [1]


FRAMES: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "a label that is no text": lambda frame: frame.rename(columns={"x": 7}),
    "a level of the index": lambda frame: frame.set_index("x"),
}


@pytest.mark.parametrize("shape", FRAMES)
@pytest.mark.parametrize(
    ("before", "after"),
    [("string", "int64"), ("int64", "string"), ("float64", "Float64"), ("int8", "float32"), ("float32", "Int64")],
)
def test_a_cast_of_pandas_names_the_column_as_the_frame_has_it(shape: str, before: str, after: str) -> None:
    def day(number: int, kind: str) -> pd.DataFrame:
        return FRAMES[shape](
            pd.DataFrame({"user": [1], "ts": TIMES[number : number + 1], "x": pd.Series([1], dtype=kind)})
        )

    calls = {"v": wr.last("7" if "label" in shape else "x")}
    first = windowed(day(0, before)).advance(None, to=ENDS[0], **calls)
    frame = day(1, after)
    try:
        windowed(frame).advance(first.still_open, to=ENDS[1], **calls)
        return
    except ValueError as error:
        found = re.search(r": (frame.*?); or ", str(error))
    assert found is not None
    cast = eval(found[1], {"frame": frame, "pandas": pd, "pyarrow": pa}).reset_index(drop=True)
    made = frame.reset_index(drop=True).assign(**{} if "label" in shape else {"x": cast})
    if "label" in shape:
        made[7] = cast
    assert len(windowed(made).advance(first.still_open, to=ENDS[1], **calls).closed) == 1
