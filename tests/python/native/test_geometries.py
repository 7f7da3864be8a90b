"""Columns of geometries, as GeoPandas has them: keys and values with their system of coordinates, without an order.

GeoPandas is not installed. A small dtype and a module with two functions take its place.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pandas.api.extensions import ExtensionArray, ExtensionDtype, take

import windrow as wr

from ..scenes import all_at, at

GAP = wr.SessionWindows.with_gap("5 minutes")
CRS = "EPSG:4326"
WKB = {b"ARROW:extension:name": b"geoarrow.wkb"}
FIRST, SECOND = "POINT (1 4)", "POINT (2 5)"


class GeometryType(ExtensionDtype):
    """Has no system of coordinates, as the dtype of GeoPandas."""

    name = "geometry"
    type = str

    @classmethod
    def construct_array_type(cls) -> Any:
        return Geometries


class Geometries(ExtensionArray):  # type: ignore[misc]
    """Texts of geometries, which pyarrow cannot read."""

    def __init__(self, values: Sequence[Any], crs: str | None) -> None:
        self.values = np.array(values, dtype=object)
        self.crs = crs

    dtype = GeometryType()

    @classmethod
    def _from_sequence(cls, scalars: Sequence[Any], *, dtype: Any = None, copy: bool = False) -> Geometries:
        return cls(scalars, None)

    @classmethod
    def _concat_same_type(cls, to_concat: Sequence[Geometries]) -> Geometries:
        return cls([value for each in to_concat for value in each.values], to_concat[0].crs)

    def __getitem__(self, item: Any) -> Any:
        found = self.values[item]
        return Geometries(found, self.crs) if isinstance(found, np.ndarray) else found

    def __len__(self) -> int:
        return len(self.values)

    def isna(self) -> Any:
        return np.array([value is None for value in self.values], dtype=bool)

    def take(self, indices: Any, *, allow_fill: bool = False, fill_value: Any = None) -> Geometries:
        return Geometries(take(self.values, indices, allow_fill=allow_fill, fill_value=None), self.crs)

    def copy(self) -> Geometries:
        return Geometries(self.values.copy(), self.crs)


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    def to_wkb(column: Geometries) -> Any:
        return np.array([None if value is None else value.encode() for value in column.values], dtype=object)

    def from_wkb(values: Sequence[bytes | None], crs: str | None) -> Geometries:
        return Geometries([None if value is None else value.decode() for value in values], crs)

    library: Any = ModuleType("geopandas")
    library.array = ModuleType("geopandas.array")
    library.array.to_wkb, library.array.from_wkb = to_wkb, from_wkb
    monkeypatch.setitem(sys.modules, "geopandas", library)


def frame() -> pd.DataFrame:
    places = Geometries([FIRST, SECOND, None, FIRST], CRS)
    return pd.DataFrame({"user": [1, 1, 1, 2], "ts": all_at(0, 4, 5, 20), "place": places})


def windowed(data: Any, *keys: str) -> Any:
    return wr.group_by(data, *keys, time="ts").windowed_by(GAP)


def shown(column: Any) -> list[Any]:
    """The values of a column, which is of geometries with the system of coordinates of the data."""
    assert str(column.dtype) == "geometry"
    assert column.array.crs == CRS
    return list(column)


def test_a_geometry_is_a_value_and_comes_back_with_its_system_of_coordinates() -> None:
    found = windowed(frame(), "user").agg(first=wr.first("place"), last=wr.last("place", ignore_nulls=False))
    assert shown(found["first"]) == [FIRST, FIRST]
    assert shown(found["last"]) == [None, FIRST]
    rows = windowed(frame(), "user").with_columns(first=wr.first("place"))
    assert shown(rows["place"]) == [FIRST, SECOND, None, FIRST]
    assert shown(rows["first"]) == [FIRST] * 4


def test_equal_geometries_are_one_key_and_one_value() -> None:
    with pytest.warns(wr.LeftOut, match="null_keys 1"):
        found = windowed(frame(), "place").count()
    assert sorted(zip(shown(found["place"]), found["count"], strict=True)) == [(FIRST, 1), (FIRST, 1), (SECOND, 1)]
    assert windowed(frame(), "user").agg(n=wr.count_distinct("place"))["n"].tolist() == [2, 1]


def test_a_daily_job_keeps_geometries_in_its_open_windows() -> None:
    first = windowed(frame().iloc[:1], "user").advance(None, to=at(2), place=wr.first("place"))
    assert shown(first.still_open["place"])[:1] == [FIRST]
    second = windowed(frame().iloc[1:], "user").advance(first.still_open, to=at(60), place=wr.first("place"))
    assert shown(second.closed["place"]) == [FIRST, FIRST]


@pytest.mark.parametrize("call", [wr.max("place"), wr.min_by("user", "place"), wr.mode("place")])
def test_geometries_have_no_order(call: Any) -> None:
    table = pa.table({"user": [1], "ts": all_at(0), "place": pa.array([b"a"])})
    table = table.cast(table.schema.set(2, pa.field("place", pa.binary(), metadata=WKB)))
    for data in (frame(), table):
        with pytest.raises(TypeError, match='column "place" .*whose order is known: cast an extension type'):
            windowed(data, "user").agg(x=call)


def test_an_extension_type_that_pyarrow_does_not_know_stays_one_in_each_result() -> None:
    table = pa.table({"user": [1], "ts": all_at(0), "place": pa.array([b"a"])})
    table = table.cast(table.schema.set(2, pa.field("place", pa.binary(), metadata=WKB)))
    query, both = windowed(table, "user"), wr.group_by(table, "user", time="ts")
    inputs = wr.cogroup(a=both, b=both).windowed_by(GAP)
    for result in (
        query.agg(x=wr.first("place")),
        query.to_reader(x=wr.first("place")).read_all(),
        query.with_columns(x=wr.first("place")),
        query.advance(None, to=at(60), x=wr.first("place")).closed,
        inputs.agg(x=wr.first("b.place")),
        inputs.with_columns(x=wr.first("b.place")),
    ):
        assert result.schema.field("x").metadata == WKB
        assert result["x"].to_pylist() == [b"a"] * result.num_rows
    assert windowed(table, "place").count().schema.field("place").metadata == WKB
    assert inputs.with_columns().schema.field("place").metadata == WKB
