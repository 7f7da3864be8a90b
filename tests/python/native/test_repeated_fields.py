"""A struct with two fields of one name, and an extension type over a view of lists: whole, or refused at the call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import windrow as wr

from ..harness.tables import arrow
from .test_nested_days import ENDS, day, windowed

FIELDS = [pa.field("a", pa.int64()), pa.field("a", pa.string())]
PAIR: Any = pa.StructArray.from_arrays([pa.array([1]), pa.array(["x"])], fields=FIELDS)
ENDINGS = pa.array([0, 1], pa.int32())
WITHIN: dict[str, pa.Array[Any]] = {
    "alone": PAIR,
    "list": pa.ListArray.from_arrays(ENDINGS, PAIR),
    "struct": pa.StructArray.from_arrays([PAIR], ["q"]),
    "map": pa.MapArray.from_arrays(ENDINGS, pa.array(["k"]), PAIR),
}
LIBRARIES: dict[str, Callable[[pa.Table], Any]] = {
    "pyarrow": lambda table: table,
    "duckdb": duckdb.from_arrow,
    "pandas": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
}
CALLS: dict[str, Any] = {"first": wr.first("x"), "all": wr.collect_list("x")}


def fields_of(column: Any) -> list[Any]:
    """The innermost values: of pyarrow, as dicts have one value for a name."""
    kind = column.type
    if pa.types.is_struct(kind):
        return [each for part in column.combine_chunks().flatten() for each in fields_of(pa.chunked_array([part]))]
    if pa.types.is_map(kind):
        return fields_of(pa.chunked_array([chunk.items for chunk in column.chunks]))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return fields_of(pa.chunked_array([chunk.flatten() for chunk in column.chunks]))
    values: list[Any] = column.to_pylist()
    return values


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("within", WITHIN)
def test_a_struct_with_two_fields_of_one_name_is_whole_or_refused(within: str, library: str) -> None:
    if (library, within) == ("polars", "alone"):
        return  # Polars refuses the table
    one, other = (LIBRARIES[library](day(number, WITHIN[within])) for number in (0, 1))
    if (library, within) == ("polars", "struct"):
        for query in (lambda: windowed(one).agg(**CALLS), lambda: windowed(one, "x").agg(n=wr.count())):
            with pytest.raises(TypeError, match="column 'x' cannot be read as Arrow data .*two fields 'a'"):
                query()
        return
    assert fields_of(arrow(windowed(one).with_columns(n=wr.count()))["x"]) == [1, "x"]
    run = windowed(one).advance(None, to=ENDS[0], **CALLS)
    closed = arrow(windowed(other).advance(run.still_open, to=ENDS[1], **CALLS).closed)
    assert fields_of(closed["first"]) == [1, "x"]
    assert fields_of(closed["all"]) == [1, 1, "x", "x"]
    if within == "map":
        return
    run = windowed(one, "x").advance(None, to=ENDS[0], n=wr.count("x"))
    closed = arrow(windowed(other, "x").advance(run.still_open, to=ENDS[1], n=wr.count("x")).closed)
    assert (fields_of(closed["x"]), closed["n"].to_pylist()) == ([1, "x"], [2])


@pytest.mark.parametrize("kind", [pa.struct([("a", pa.int64())]), pa.struct([("b", pa.int64()), ("a", pa.string())])])
def test_a_day_with_other_fields_is_refused(kind: pa.DataType) -> None:
    run = windowed(day(0, PAIR)).advance(None, to=ENDS[0], **CALLS)
    says = r"^open: column 'x' was struct<a: int64, a: string> in the run before, and is struct<.*> now; allowed: str"
    with pytest.raises(ValueError, match=says):
        windowed(day(1, pa.nulls(1, kind))).advance(run.still_open, to=ENDS[1], **CALLS)


def test_a_type_of_duckdb_that_crosses_as_text_beside_a_field_of_its_name_is_refused() -> None:
    inner = duckdb.sql("SELECT INTERVAL 1 HOUR AS v").to_arrow_table()["v"].combine_chunks()
    pair: Any = pa.StructArray.from_arrays([inner, inner], fields=[pa.field("a", inner.type)] * 2)
    data = duckdb.from_arrow(day(0, pair))
    with pytest.raises(TypeError, match="last: column 'x' cannot be read as Arrow data .* two fields 'a'"):
        windowed(data).agg(v=wr.last("x"))
    assert fields_of(windowed(data.to_arrow_table()).agg(v=wr.last("x"))["v"]) == inner.to_pylist() * 2


@pytest.mark.parametrize(
    "storage", [pa.list_view, pa.large_list_view, lambda kind: pa.struct([("a", pa.list_view(kind))])]
)
def test_an_extension_type_over_a_view_of_lists_is_a_key(storage: Any) -> None:
    kind = storage(pa.int64())
    value: Any = {"a": [1, 2]} if pa.types.is_struct(kind) else [1, 2]
    own: Any = pa.opaque(kind, "pair", "ours")
    column = pa.ExtensionArray.from_storage(own, pa.array([value], kind))
    (found,) = windowed(day(0, column), "x").agg(n=wr.count()).to_pylist()
    assert (found["x"], found["n"]) == (value, 1)
    run = windowed(day(0, column), "x").advance(None, to=ENDS[0], n=wr.count())
    (found,) = windowed(day(1, column), "x").advance(run.still_open, to=ENDS[1], n=wr.count()).closed.to_pylist()
    assert (found["x"], found["n"]) == (value, 2)
