"""What dtypes of pandas mean beside the values that Arrow has, and columns of Arrow in these dtypes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.duration import TIME_UNITS
from windrow._arguments.nested import inner_fields
from windrow._local.results import Kinds, Parts, of_type, without_views

_OBJECTS = (-62_104_060_800, 253_370_764_800)
"""The first seconds of the years 2 and 9999: in some zone, other times are in no year of Python."""
_FIRST_CHANGE = -9_223_372_036
"""The first second in nanoseconds. pandas crashes if it makes objects of earlier times in a zone with changes."""


class Geometry(NamedTuple):
    """The type of a column of geometries of GeoPandas, whose dtype lacks their system of coordinates."""

    crs: Any


def unit(kind: Any) -> str | None:
    """What a dtype means beside the values that Arrow stores: the unit of periods, the closed bounds of intervals."""
    import pandas as pd

    if isinstance(kind, pd.CategoricalDtype):
        return unit(kind.categories.dtype)
    if isinstance(kind, pd.PeriodDtype):
        return str(kind)
    return str(kind).rpartition(", ")[2] if isinstance(kind, pd.IntervalDtype) else None


def has_objects(kind: Any) -> bool:
    """Whether pandas has other Python objects for values of a dtype than Arrow has for their storage."""
    return isinstance(kind, Geometry) or unit(kind) is not None


def list_type(column: Any) -> Parts | None:
    """The dtypes of the parts of lists in a column, if pandas has objects for them; None for other columns."""
    import pandas as pd

    if not isinstance(next((cell for cell in column if cell is not None), None), list):
        return None
    objects = pd.Period | pd.Interval
    for item in (item for cell in column if isinstance(cell, list) for item in cell):
        is_pair = isinstance(item, dict) and isinstance(item.get("item"), objects)
        if is_pair or isinstance(item, objects):
            kind = pd.Series([item["item"] if is_pair else item]).dtype
            return [{"item": kind, "count": pa.int64()} if is_pair else kind]
    return None


def leaves(parts: Any) -> Iterator[Any]:
    """The types of innermost values."""
    if isinstance(parts, list | dict):
        for part in parts.values() if isinstance(parts, dict) else parts:
            yield from leaves(part)
    else:
        yield parts


def pandas_frame(rows: pa.Table, kinds: Kinds, *, arrow: bool) -> Any:
    """A `pandas.DataFrame` with an index of row numbers. `arrow`: whether columns without a kind are Arrow-backed."""
    import pandas as pd

    columns = {name: pandas_column(rows[name], kinds.get(name), arrow=arrow) for name in rows.column_names}
    return pd.DataFrame(columns, index=pd.RangeIndex(rows.num_rows))


def pandas_column(column: pa.ChunkedArray[Any], kind: Any, *, arrow: bool) -> Any:
    """A Series of a dtype of pandas, or if that is None of the one that changes no value."""
    import pandas as pd

    if isinstance(kind, list | dict):
        return pd.Series(_objects(column, kind), dtype=object)
    if isinstance(kind, Geometry):
        import geopandas

        return pd.Series(geopandas.array.from_wkb(_storage(column).to_pylist(), crs=kind.crs))
    column = of_type(column, without_views(column.type))
    if isinstance(kind, pd.CategoricalDtype):
        return _categories(column, kind)
    if str(kind).startswith(("interval[int", "interval[uint")) and column.null_count:
        kind = pd.api.types.pandas_dtype(f"interval[float64, {kind.closed}]")  # as in pandas: its integers have no null
    if isinstance(kind, pd.ArrowDtype):
        arrow_type: Any = kind.pyarrow_dtype
        typed = column if pa.types.is_nested(arrow_type) else of_type(column, arrow_type)
        return pd.Series(pd.arrays.ArrowExtensionArray(typed))
    if kind is None and (arrow or _has_nanoseconds_of_day(column.type)):
        return pd.Series(pd.arrays.ArrowExtensionArray(column))
    if kind is not None and hasattr(kind, "__from_arrow__"):
        return pd.Series(kind.__from_arrow__(column))
    series = _closest(column)
    if kind is None or series.dtype == kind:
        return series
    if str(kind) == "object":
        return pd.Series(_objects(column), dtype=object)
    takes_nulls = isinstance(kind, pd.api.extensions.ExtensionDtype)
    if isinstance(kind, pd.SparseDtype):
        takes_nulls = pd.api.types.is_float_dtype(kind)
    exact = takes_nulls or not column.null_count or series.dtype.kind in "mM"
    return series.astype(kind) if exact else series


def _has_nanoseconds_of_day(kind: Any) -> bool:
    """Whether a type has times of day in nanoseconds, of which only Arrow-backed columns hold all digits."""
    parts = (kind.field(place).type for place in range(kind.num_fields))
    return kind == pa.time64("ns") or any(map(_has_nanoseconds_of_day, parts))


def _storage(column: pa.ChunkedArray[Any]) -> pa.ChunkedArray[Any]:
    """The values of an extension type that another library has registered."""
    return column.cast(column.type.storage_type) if isinstance(column.type, pa.BaseExtensionType) else column


def _categories(column: pa.ChunkedArray[Any], kind: Any) -> Any:
    """A Series of categories, also of those that they lack: open windows may have keys that a day's data does not."""
    import numpy as np
    import pandas as pd

    if isinstance(column.type, pa.DictionaryType):
        column = column.cast(column.type.value_type)
    values = pandas_column(column.drop_null(), kind.categories.dtype, arrow=False)
    others = pd.Index(values.unique()).difference(kind.categories, sort=False)
    if not others.empty:
        kind = pd.CategoricalDtype(kind.categories.append(others), kind.ordered)
    codes: Any = np.full(len(column), -1)
    codes[column.is_valid().to_numpy()] = values.astype(kind).cat.codes
    return pd.Series(pd.Categorical.from_codes(codes, dtype=kind))


def _closest(column: pa.ChunkedArray[Any]) -> Any:
    """A Series of a plain type, or of a nullable one for integers and booleans with nulls."""
    import pandas as pd

    kind = column.type
    if column.null_count and (pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        name = str(kind)
        nullable: Any = pd.api.types.pandas_dtype(
            "boolean" if name == "bool" else name.replace("uint", "UInt").replace("int", "Int", "UInt" not in name)
        )
        return pd.Series(nullable.__from_arrow__(column))
    if pa.types.is_nested(kind):
        return pd.Series(_objects(column), dtype=object)
    return column.to_pandas()


def _check_zoned(column: pa.ChunkedArray[Any], kind: Any) -> None:
    """Raises `OverflowError` for times of which pandas makes no objects, and crashes for some."""
    is_fixed = kind.tz == "UTC" or kind.tz.startswith(("+", "-"))
    first, last = (_OBJECTS[0] if is_fixed else _FIRST_CHANGE), _OBJECTS[1]
    bounds: Any = pc.min_max(pc.divide(column.cast(pa.int64()), TIME_UNITS[kind.unit].per_second))
    if bounds["min"].is_valid and not first <= bounds["min"].as_py() <= bounds["max"].as_py() < last:
        years = f"{2 if is_fixed else 1678} to 9998"
        raise OverflowError(
            f"result: got a struct with times in the zone {kind.tz}, of which pandas makes objects for the years "
            f"{years}; allowed: flat(), which makes columns, or data in another library than pandas"
        )


def _objects(column: pa.ChunkedArray[Any], kind: Any = None) -> list[Any]:
    """Values of Python, with a Timestamp for each time. `kind` is the dtype, or the dtypes of the parts.

    `to_pandas` makes floats of the integers next to a null in a list, and in a struct bare numbers of nanoseconds.
    """
    if isinstance(column.type, pa.DictionaryType):
        column = column.cast(column.type.value_type)
    if has_objects(kind):
        of_dtype: list[Any] = pandas_column(column, kind, arrow=False).astype(object).tolist()
        return of_dtype
    if pa.types.is_struct(column.type) and column.type.num_fields:
        names, kinds = [field.name for field in inner_fields(column.type)], kind if isinstance(kind, dict) else {}
        parts = map(_objects, column.flatten(), [kinds.get(name) for name in names])
        dicts: list[Any] = [dict(zip(names, cells, strict=True)) for cells in zip(*parts, strict=True)]
        if not column.null_count:
            return dicts
        return [value if valid else None for value, valid in zip(dicts, column.is_valid().to_pylist(), strict=True)]
    if isinstance(kind, list):
        cells: Any = (cell.values for cell in column)
        return [None if values is None else _objects(pa.chunked_array([values]), kind[0]) for values in cells]
    if pa.types.is_timestamp(column.type):
        if column.type.tz is not None:
            _check_zoned(column, column.type)
        times: list[Any] = column.to_pandas().astype(object).tolist()
        if not column.null_count:
            return times
        return [time if valid else None for time, valid in zip(times, column.is_valid().to_pylist(), strict=True)]
    values: list[Any] = column.to_pylist()
    return values
