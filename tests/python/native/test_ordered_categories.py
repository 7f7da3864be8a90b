"""Ordered categories and dictionaries of any library keep their order in keys, values, readers and daily jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow as wr

from ..harness.five_records import GAP, frame, sessions
from ..scenes import all_at, at


@pytest.mark.parametrize("source", ["pandas", "table", "chunks", "path", "reader"])
def test_ordered_categories_keep_their_order(source: str, tmp_path: Path) -> None:
    sizes = ["S", "M", "L", "XL"]
    data = frame(size=pd.Categorical(["L", "S", "M", None, "L"], sizes, ordered=True))
    table = pa.Table.from_pandas(data)
    pq.write_table(table, tmp_path / "rows.parquet")
    given = {
        "pandas": data,
        "table": table,
        "chunks": pa.concat_tables([table[:2], table[2:]]),
        "path": str(tmp_path / "rows.parquet"),
        "reader": table.to_reader(),
    }[source]
    if source == "reader":
        size = sessions(given).agg(size=wr.first("size")).to_pandas()["size"]
        assert not size.cat.ordered  # its categories come with its rows
        return
    results = {
        "first": sessions(given).agg(size=wr.first("size")),
        "key": sessions(given, "size").agg(n=wr.count()),
        "to_reader": sessions(given).to_reader(size=wr.last("size")).read_all(),
        "to_reader key": sessions(given, "size").to_reader(n=wr.count()).read_all(),
        "advance": sessions(given, "size").advance(None, to=at(59), n=wr.count()).closed,
        "rows": sessions(given).with_columns(n=wr.count()),
    }
    for what, result in results.items():
        size = (result if isinstance(result, pd.DataFrame) else result.to_pandas())["size"]
        assert (size.cat.categories.tolist(), size.cat.ordered) == (sizes, True), what
        assert size.max() == "L", what
    wider = sessions(given, "size").advance(None, to=at(0), n=wr.count())
    later = pa.Table.from_pandas(frame(size=pd.Categorical(["M", "XS"] * 2 + ["M"], ["XS", "M"], ordered=True)))
    size = (
        sessions(later, "size").advance(pa.table(wider.still_open), to=at(59), n=wr.count()).closed.to_pandas()["size"]
    )
    assert size.cat.categories.tolist()[:2] == ["XS", "M"]
    assert {"S", "L"} < set(size.cat.categories)


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["b", "a"], pa.string_view()),
        pa.array([b"b", b"a"], pa.binary(1)),
        pa.array([2.0, float("nan")]),
        pa.array([2.0, 1.0]).cast(pa.float16()),
        pa.array([2, 1]).cast(pa.decimal128(21, 2)).cast(pa.decimal32(5, 2)),
        pa.array([2, 1]).cast(pa.timestamp("ns", "UTC")),
        pa.array([True, False]),
        pa.array([["b"], ["a"]]),
    ],
    ids=lambda values: str(values.type),
)
def test_ordered_dictionaries_of_any_values_come_back(values: Any) -> None:
    codes = pa.array([1, 0, None], pa.int8())
    data = pa.table({"k": pa.DictionaryArray.from_arrays(codes, values, ordered=True), "ts": all_at(0, 1, 2)})
    expected = [str(values[1]), str(values[0])]
    for result in (
        wr.group_by(data, time="ts").windowed_by(GAP).with_columns(n=wr.count()),
        sessions(data, "k").agg(n=wr.count()),
        sessions(data, "k").to_reader(n=wr.count()).read_all(),
        sessions(data, "k").advance(None, to=at(59), n=wr.count()).closed,
    ):
        result.validate(full=True)
        assert sorted(str(each) for each in result[0].drop_null()) == sorted(expected)
        assert result.schema[0].type.ordered
