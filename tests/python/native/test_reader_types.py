"""`to_reader` gives the columns of `agg`, in the same types."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import windrow as wr

from ..harness.tables import arrow

TIMES = [datetime(2026, 5, 4, 9, minute) for minute in (0, 1, 30)]
GAP = wr.SessionWindows.with_gap("5 minutes")
CATEGORIES = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int8()), pa.array(["a", "b"]))
CHOSEN = {"first": wr.first("v"), "last": wr.last("v"), "n": wr.count("v"), "all": wr.collect_list("v")}


def query(data: Any, *keys: str) -> wr.WindowedData[Any]:
    return wr.group_by(data, *keys, time="ts").windowed_by(GAP)


def rows(table: pa.Table) -> list[str]:
    return sorted(map(str, table.to_pylist()))


def same(windowed: wr.WindowedData[pa.Table], **aggregates: Any) -> pa.Table:
    """The result of `to_reader`, which is that of `agg`."""
    reader, whole = windowed.to_reader(**aggregates), windowed.agg(**aggregates)
    table = reader.read_all()
    table.validate(full=True)
    assert table.schema.equals(reader.schema)
    assert table.schema.equals(whole.schema)
    assert rows(table) == rows(whole)
    return table


def plain(kind: Any) -> Any:
    """A type of another library in the layout of pyarrow."""
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, plain(kind.value_type), kind.ordered)
    return pa.large_string() if str(kind) == "string_view" else kind


UUIDS = pa.array([UUID(int=number).bytes for number in (1, 2, 1)], pa.uuid())
COLUMNS: dict[str, pa.Array[Any]] = {
    "nulls": pa.nulls(3),
    "dictionary of nulls": pa.DictionaryArray.from_arrays(CATEGORIES.indices, pa.nulls(2)),
    "UUIDs": UUIDS,
    "dictionary of UUIDs": pa.DictionaryArray.from_arrays(CATEGORIES.indices, UUIDS[:2]),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("count", [0, 1, 3])
def test_columns_of_arrow_have_the_types_of_agg(name: str, count: int) -> None:
    table = pa.table({"user": [1, 1, 1], "ts": TIMES, "v": COLUMNS[name]}).slice(0, count)
    same(query(table, "user", "v").flat().emit("update"), **CHOSEN)
    same(query(table, "user"), reduced=wr.reduce("v", lambda one, _other: one))
    kept = same(query(table, "v"), **CHOSEN).schema.field("v").type
    assert pa.types.is_dictionary(kept) == name.startswith("dictionary")


def frames() -> dict[str, Any]:
    """Columns of the own types of other libraries."""
    columns: dict[str, Any] = {"user": [1, 1, 1], "ts": TIMES}
    days = pd.Categorical.from_codes([0, 1, 0], ["mon", "tue", "wed"], ordered=True)
    polars = {
        "categories": pl.Series(["a", "b", None], dtype=pl.Categorical),
        "enum": pl.Series(["a", "b", "a"], dtype=pl.Enum(["b", "a", "c"])),
        "nulls": pl.Series([None] * 3),
        "strings": pl.Series(["a", "b", "a"]),
    }
    pandas = {
        "categories": pd.Categorical(["a", "b", None]),
        "ordered": days,
        "numbers": pd.Categorical([7, 8, 7]),
        "objects": [None, None, None],
        "arrow": pd.array(["a", "b", "a"], dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))),
    }
    return {
        **{f"pandas {name}": pd.DataFrame({**columns, "v": column}) for name, column in pandas.items()},
        **{f"polars {name}": pl.DataFrame({**columns, "v": column}) for name, column in polars.items()},
        **{f"lazy {name}": pl.DataFrame({**columns, "v": column}).lazy() for name, column in polars.items()},
    }


@pytest.mark.parametrize("name", frames())
def test_columns_of_frames_have_the_types_of_agg(name: str) -> None:
    agree(frames()[name])


@pytest.mark.parametrize("kind", ["VARCHAR", "ENUM ('b', 'a', 'c')", "BLOB", "INTEGER"])
def test_columns_of_duckdb_have_the_types_of_agg(kind: str) -> None:
    table = duckdb.from_arrow(pa.table({"user": [1, 1, 1], "ts": TIMES}))
    agree(table.project(f"*, CAST('{7 if kind == 'INTEGER' else 'a'}' AS {kind}) AS v"))


def agree(frame: Any) -> None:
    """Checks keys and chosen values of both results."""
    for windowed, names in ((query(frame, "v"), ["v", "first"]), (query(frame, "user"), ["user", "first"])):
        reader, whole = windowed.to_reader(**CHOSEN), arrow(windowed.agg(**CHOSEN))
        table = reader.read_all()
        assert table.select(names).schema.types == [plain(whole.schema.field(name).type) for name in names]
        assert rows(table.select([*names, "n"])) == rows(whole.select([*names, "n"]))


def test_expressions_have_the_types_of_agg() -> None:
    frame = pl.DataFrame({"ts": TIMES, "v": ["a", "b", "a"]})
    windowed = query(frame, pl.col("v").cast(pl.Categorical))
    table = windowed.to_reader(first=wr.first(pl.col("v").cast(pl.Enum(["b", "a"])))).read_all()
    assert table.select(["v", "first"]).to_pylist() == [{"v": v, "first": v} for v in table["v"].to_pylist()]
    assert all(pa.types.is_dictionary(table.schema.field(name).type) for name in ("v", "first"))


def test_an_input_that_is_read_once_keeps_its_types() -> None:
    table = pa.table({"ts": TIMES, "v": CATEGORIES})
    reader = query(table.to_reader(), "v").to_reader(first=wr.first("v"))
    assert reader.schema.equals(query(table, "v").agg(first=wr.first("v")).schema)


def test_a_cogroup_keeps_the_type_that_all_inputs_have() -> None:
    table = pa.table({"ts": TIMES, "v": CATEGORIES})
    inputs = {name: wr.group_by(table, "v", time="ts") for name in ("a", "b")}
    found = same(wr.cogroup(**inputs).windowed_by(GAP), n=wr.count())
    assert found.schema.field("v").type == table.schema.field("v").type


@pytest.mark.parametrize("count", [127, 128, 129])
@pytest.mark.parametrize("index", [pa.int8(), pa.uint8(), pa.int16()], ids=str)
def test_dictionaries_of_chunks_may_need_a_wider_index(count: int, index: pa.DataType) -> None:
    halves = [range(100), range(100, count)]
    kind = pa.dictionary(index, pa.string())
    chunks = [pa.DictionaryArray.from_arrays(pa.array(range(len(half)), index), [*map(str, half)]) for half in halves]
    table = pa.table({"ts": pa.array([TIMES[0]] * count), "v": pa.chunked_array(chunks, kind)})
    result = same(query(table, "v"), first=wr.first("v"))
    assert result.schema.field("v").type.index_type == (pa.int32() if index == pa.int8() and count > 128 else index)
    assert sorted(result["v"].to_pylist()) == sorted(map(str, range(count)))
