"""pandas frames: read column by column, and made of results with pandas' own types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.duration import TIME_UNITS
from windrow._arguments.expression import Reference
from windrow._arguments.nested import LIST_TYPES, inner_fields
from windrow._folds.python_shape import has_type
from windrow._local.columns import SAMPLE, Columns, arrow_words
from windrow._local.counters import ATTRIBUTE
from windrow._local.results import Kinds, of_type, without_views
from windrow._plan.casts import Casts

_CASTS = Casts(
    text='pandas.to_datetime({0}, format="ISO8601").dt.as_unit("{1}")',  # pandas 3 takes the unit from the digits
    zoned='pandas.to_datetime({0}, format="ISO8601", utc=True).dt.as_unit("{1}")',
    format='pandas.to_datetime({0}, format="{1}").dt.as_unit("us")',
    zoned_format='pandas.to_datetime({0}, format="{1}", utc=True).dt.as_unit("us")',
    formats={},
    integers={unit: f'pandas.to_datetime({{0}}, unit="{unit}")' for unit in ("s", "ms", "us", "ns")},
    floats='pandas.to_datetime({0}.astype("float64") * {1}, unit="us").dt.round("us")',
    date='{0}.astype("datetime64[us]")',
    duration="timedelta64",
    durations={unit: f'pandas.to_timedelta({{0}}.astype("Float64"), unit="{unit}")' for unit in ("s", "ms")},
    of_day=('pandas.to_datetime({1}.astype("string") + " " + {0}.astype("string"), format="ISO8601").dt.as_unit("us")'),
    as_text='{0}.astype("string")',
    as_number='pandas.to_numeric({0}, errors="coerce")',
    finite='{0}.astype("float64").replace([float("inf"), float("-inf")], float("nan"))',
    without_empty='{0}.astype("string").str.strip().replace("", None)',
    nonzero="{0} != 0",
    equals='{0} == "{1}"',
    words="pandas.to_timedelta({0})",
    offset_format='pandas.to_datetime({0}, format="{1}", utc=True).dt.as_unit("us")',
    period="{0}.dt.to_timestamp()",
    far='{0}.astype("datetime64[{1}]")',  # before pandas 3, to_datetime makes nanoseconds
)


_OBJECTS = (-62_104_060_800, 253_370_764_800)
"""The first seconds of the years 2 and 9999: in some zone, other times are in no year of Python."""
_FIRST_CHANGE = -9_223_372_036
"""The first second in nanoseconds. pandas crashes if it makes objects of earlier times in a zone with changes."""


class Geometry(NamedTuple):
    """The type of a column of geometries of GeoPandas, whose dtype lacks their system of coordinates."""

    crs: Any


WKB: dict[bytes | str, bytes | str] = {"ARROW:extension:name": "geoarrow.wkb"}
"""The Arrow type of geometries, as GeoPandas names it. Their bytes have no order."""


class PandasColumns(Columns):
    """The columns, then the named index levels that no column shadows. NaN and NaT become nulls."""

    kind = "a pandas frame"
    has_floats_for_nulls = True

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._names = [str(label) for label in frame.columns]
        self._columns = len(self._names)
        levels = [(level, str(name)) for level, name in enumerate(frame.index.names) if name is not None]
        self._levels = [(level, name) for level, name in levels if name not in self._names]
        self._names += [name for _, name in self._levels]

    @property
    def rows(self) -> int | None:
        return len(self._frame)

    def written(self, column: Reference) -> tuple[str, Casts]:
        if not isinstance(column, str):
            return super().written(column)
        if column in [name for _, name in self._levels]:
            return f"frame.index.get_level_values({column!r}).to_series(index=frame.index)", _CASTS
        return f"frame[{self._label(column)!r}]", _CASTS

    def _label(self, column: str) -> Any:
        """The label of a column, which may be no text."""
        return dict(zip(self._names, self._frame.columns, strict=False)).get(column, column)

    def cast(self, column: Reference, kind: pa.DataType) -> str | None:
        if not isinstance(column, str):
            return super().cast(column, kind)
        written, _ = self.written(column)
        if _unit(self.dtype(self._names.index(column))) is not None:
            return None
        if isinstance(kind, pa.TimestampType):
            own: Any = self.schema([self._names.index(column)]).field(0).type
            if not isinstance(own, pa.TimestampType):
                return None
            zone = "" if own.tz == kind.tz else ".dt.tz_localize(None)"
            if own.tz != kind.tz and kind.tz is not None:
                zone = f'.dt.tz_{"localize" if own.tz is None else "convert"}("{kind.tz}")'
            return f'{written}{zone}.dt.as_unit("{kind.unit}")'
        if pa.types.is_integer(kind):
            return f'{written}.astype("{str(kind).replace("i", "I").replace("u", "U")}")'
        if pa.types.is_floating(kind):
            return f'{written}.astype("float{kind.bit_width}")'
        return f"{written}.astype(pandas.ArrowDtype({arrow_words(kind)}))"

    def type_names(self, column: str, was: pa.DataType) -> tuple[str, str] | None:
        own = self.dtype(self._names.index(column))
        return None if _unit(own) is None else (str(was), str(own))

    def in_words(self, kind: Any) -> str:
        import pandas as pd

        return f"category of {kind.categories.dtype}" if isinstance(kind, pd.CategoricalDtype) else str(kind)

    def is_other(self, was: Any, now: Any) -> bool:
        return _unit(was) != _unit(now)

    @property
    def names(self) -> Sequence[str]:
        return self._names

    def schema(self, positions: Sequence[int]) -> pa.Schema:
        schema = pa.Schema.from_pandas(self._projected(positions), preserve_index=False).remove_metadata()
        kinds = [self.dtype(position) for position in positions]
        return pa.schema(
            [
                field.with_metadata(WKB) if isinstance(kind, Geometry) else field
                for field, kind in zip(schema, kinds, strict=True)
            ]
        )

    def stream(self, positions: Sequence[int]) -> Any:
        schema = self.schema(positions)
        return pa.Table.from_pandas(self._projected(positions), schema=schema, preserve_index=False)

    def sample(self, position: int) -> list[Any]:
        values: list[Any] = self._projected([position]).iloc[:SAMPLE, 0].dropna().tolist()
        return values

    @property
    def unnamed_times(self) -> str | None:
        index = self._frame.index
        if index.names != [None] or index.dtype.kind != "M":
            return None
        return 'the index, if it has a name: frame.rename_axis("ts")'

    def dtype(self, position: int) -> Any:
        if position < self._columns:
            kind = self._frame.dtypes.iloc[position]
            return Geometry(self._frame.iloc[:0, position].array.crs) if str(kind) == "geometry" else kind
        level, _ = self._levels[position - self._columns]
        return self._frame.index.get_level_values(level).dtype

    def result(self, rows: pa.Table, kinds: Kinds, counted: Mapping[str, int]) -> Any:
        frame = pandas_frame(rows, kinds, arrow=self._is_arrow)
        labels = {str(label): label for label in self._frame.columns}
        frame.columns = [labels.get(name, name) if name in kinds else name for name in rows.column_names]
        frame.attrs[ATTRIBUTE] = dict(counted)
        return frame

    def held(self) -> Columns:
        return self

    def filtered(self, mask: pa.Array[Any]) -> Columns:
        return PandasColumns(self._frame[mask.to_numpy(zero_copy_only=False)])

    def with_columns(self, added: pa.Table, kinds: Kinds, counted: Mapping[str, int]) -> Any:
        import pandas as pd

        names: Any = added.column_names
        own = self._frame.columns
        if isinstance(own, pd.MultiIndex):
            names = pd.MultiIndex.from_tuples([(name, *[""] * (own.nlevels - 1)) for name in names])
        new = pandas_frame(added, kinds, arrow=self._is_arrow).set_axis(self._frame.index).set_axis(names, axis=1)
        # One by one, pandas warns from the hundredth column on.
        frame = pd.concat([self._frame, new.rename_axis(own.names, axis=1)], axis=1)
        frame = frame.__finalize__(self._frame)  # attrs, and what subclasses keep
        frame.attrs[ATTRIBUTE] = dict(counted)
        return frame

    @property
    def _is_arrow(self) -> bool:
        """Whether the times of the frame are Arrow-backed; then new columns are so, too."""
        return any(str(kind).startswith("timestamp[") for kind in self._frame.dtypes)

    def _projected(self, positions: Sequence[int]) -> Any:
        import pandas as pd

        of_frame = [position for position in positions if position < self._columns]
        plain: Any = pd.DataFrame(self._frame)  # a GeoDataFrame warns of a geometry that is bytes
        frame = plain.iloc[:, of_frame].set_axis([self._names[position] for position in of_frame], axis=1)
        for position in positions:
            if position >= self._columns:
                level, name = self._levels[position - self._columns]
                frame = frame.assign(**{name: self._frame.index.get_level_values(level)})
        frame = frame.assign(**{name: _stored(frame[name]) for name, kind in frame.dtypes.items() if _is_stored(kind)})
        return frame.iloc[:, [list(frame.columns).index(self._names[position]) for position in positions]]


def _unit(kind: Any) -> str | None:
    """What a dtype means beside the values that Arrow stores: the unit of periods, the closed bounds of intervals."""
    import pandas as pd

    if isinstance(kind, pd.CategoricalDtype):
        return _unit(kind.categories.dtype)
    if isinstance(kind, pd.PeriodDtype):
        return str(kind)
    return str(kind).rpartition(", ")[2] if isinstance(kind, pd.IntervalDtype) else None


def _is_stored(kind: Any) -> bool:
    """Whether `_stored` converts a dtype, because pyarrow does not, or in another way in each version."""
    import pandas as pd

    if str(kind) == "geometry":
        return True
    if isinstance(kind, pd.CategoricalDtype):
        categories = kind.categories
        is_nested = isinstance(categories, pd.MultiIndex) or any(isinstance(each, tuple) for each in categories)
        if is_nested:
            raise pa.ArrowTypeError("Arrow has lists for categories that are tuples")
        return isinstance(categories.dtype, pd.IntervalDtype | pd.PeriodDtype | pd.DatetimeTZDtype)
    return isinstance(kind, pd.IntervalDtype | pd.SparseDtype)


def _stored(column: Any) -> Any:
    """Geometries, intervals, sparse values, or categories of pandas' own types, as their storage in Arrow."""
    import pandas as pd

    if isinstance(column.dtype, pd.SparseDtype):
        return column.sparse.to_dense()
    if str(column.dtype) == "geometry":
        import geopandas

        return pd.arrays.ArrowExtensionArray(pa.array(geopandas.array.to_wkb(column.array).tolist(), pa.binary()))
    is_category = isinstance(column.dtype, pd.CategoricalDtype)
    values: Any = pa.array(pd.Series(column.cat.categories) if is_category else column)
    values = values.storage if isinstance(values, pa.ExtensionArray) else values
    if is_category:
        codes = column.cat.codes.to_numpy()
        values = pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), values, ordered=column.cat.ordered)
    return pd.arrays.ArrowExtensionArray(values)


def pandas_frame(rows: pa.Table, kinds: Kinds, *, arrow: bool) -> Any:
    """A `pandas.DataFrame` with an index of row numbers. `arrow`: whether columns without a kind are Arrow-backed."""
    import pandas as pd

    columns = {name: pandas_column(rows[name], kinds.get(name), arrow=arrow) for name in rows.column_names}
    return pd.DataFrame(columns, index=pd.RangeIndex(rows.num_rows))


def pandas_column(column: pa.ChunkedArray[Any], kind: Any, *, arrow: bool) -> Any:
    """A Series of a dtype of pandas, or if that is None of the one that changes no value."""
    import pandas as pd

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


def _is_of_pandas(kind: Any) -> bool:
    """Whether it is an extension type of which pandas makes a dtype of its own, such as periods."""
    return isinstance(kind, pa.ExtensionType) and hasattr(kind.to_pandas_dtype(), "__from_arrow__")


def _objects(column: pa.ChunkedArray[Any]) -> list[Any]:
    """Values of Python, with a Timestamp for each time.

    `to_pandas` makes floats of the integers next to a null in a list, and in a struct bare numbers of nanoseconds.
    """
    if pa.types.is_struct(column.type) and column.type.num_fields:
        names, parts = [field.name for field in inner_fields(column.type)], map(_objects, column.flatten())
        dicts: list[Any] = [dict(zip(names, cells, strict=True)) for cells in zip(*parts, strict=True)]
        if not column.null_count:
            return dicts
        return [value if valid else None for value, valid in zip(dicts, column.is_valid().to_pylist(), strict=True)]
    if isinstance(column.type, LIST_TYPES) and has_type(column.type, _is_of_pandas):
        cells: Any = (cell.values for cell in column)
        return [None if values is None else _objects(pa.chunked_array([values])) for values in cells]
    if _is_of_pandas(column.type):
        periods: list[Any] = column.to_pandas().astype(object).tolist()
        return periods
    if pa.types.is_timestamp(column.type):
        kind: Any = column.type
        if kind.tz is not None:
            _check_zoned(column, kind)
        times: list[Any] = column.to_pandas().astype(object).tolist()
        if not column.null_count:
            return times
        return [time if valid else None for time, valid in zip(times, column.is_valid().to_pylist(), strict=True)]
    values: list[Any] = column.to_pylist()
    return values
