"""pandas frames: read column by column, and made of results with pandas' own types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from windrow._arguments.expression import Reference
from windrow._local.columns import SAMPLE, Columns, arrow_words
from windrow._local.counters import ATTRIBUTE
from windrow._local.pandas_times import known_zone, of_objects
from windrow._local.pandas_types import Geometry, has_objects, leaves, list_type, pandas_frame, unit
from windrow._local.results import Kinds, Parts
from windrow._plan.casts import Casts

_CASTS = Casts(
    text='pandas.to_datetime({0}, format="ISO8601").dt.as_unit("{1}")',  # pandas 3 takes the unit from the digits
    zoned='pandas.to_datetime({0}, format="ISO8601", utc=True).dt.as_unit("{1}")',
    format='pandas.to_datetime({0}, format="{1}").dt.as_unit("us")',
    zoned_format='pandas.to_datetime({0}, format="{1}", utc=True).dt.as_unit("us")',
    formats={},
    integers={unit: f'pandas.to_datetime({{0}}.astype("Int64"), unit="{unit}")' for unit in ("s", "ms", "us", "ns")},
    floats='pandas.to_datetime({0}.astype("float64") * {1}, unit="us").dt.round("us")',
    date='{0}.astype("datetime64[us]")',
    duration="timedelta64",
    durations={unit: f'pandas.to_timedelta({{0}}.astype("Float64"), unit="{unit}")' for unit in ("s", "ms")},
    of_day=('pandas.to_datetime({1}.astype("string") + " " + {0}.astype("string"), format="ISO8601").dt.as_unit("us")'),
    as_text='{0}.astype("string")',
    as_number='pandas.to_numeric({0}, errors="coerce")',
    finite='{0}.astype("float64").replace([float("inf"), float("-inf")], float("nan"))',
    without='{0}.astype("string").str.strip().replace("{1}", None)',
    nonzero="{0} != 0",
    equals='{0} == "{1}"',
    words="pandas.to_timedelta({0})",
    offset_format='pandas.to_datetime({0}, format="{1}", utc=True).dt.as_unit("us")',
    period="{0}.dt.to_timestamp()",
    far='{0}.astype("datetime64[{1}]")',  # before pandas 3, to_datetime makes nanoseconds
)


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
        if unit(self.dtype(self._names.index(column))) is not None:
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
        return None if unit(own) is None else (str(was), str(own))

    def in_words(self, kind: Any) -> str:
        import pandas as pd

        [kind, *_] = leaves(kind)
        return f"category of {kind.categories.dtype}" if isinstance(kind, pd.CategoricalDtype) else str(kind)

    def meaning(self, kind: Any) -> str | None:
        return next(filter(None, map(unit, leaves(kind))), None)

    def nested(self, parts: Parts) -> Any:
        return parts if any(map(has_objects, leaves(parts))) else None

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
            kind, column = self._frame.dtypes.iloc[position], self._frame.iloc[:, position]
            if str(kind) == "geometry":
                return Geometry(column.array.crs)
            return kind if str(kind) != "object" else list_type(column) or kind
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
        stored = [str(name) for name, kind in frame.dtypes.items() if _is_stored(kind)]
        frame = frame.assign(**{name: _stored(frame[name], self.written(name)[0]) for name in stored})
        return frame.iloc[:, [list(frame.columns).index(self._names[position]) for position in positions]]


def _is_stored(kind: Any) -> bool:
    """Whether `_stored` converts a dtype, because pyarrow does not, or in another way in each version."""
    import pandas as pd

    if str(kind) in ("geometry", "object") or isinstance(kind, pd.DatetimeTZDtype):
        return True
    if isinstance(kind, pd.CategoricalDtype):
        categories = kind.categories
        is_nested = isinstance(categories, pd.MultiIndex) or any(isinstance(each, tuple) for each in categories)
        if is_nested:
            raise pa.ArrowTypeError("Arrow has lists for categories that are tuples")
        return isinstance(categories.dtype, pd.IntervalDtype | pd.PeriodDtype | pd.DatetimeTZDtype)
    return isinstance(kind, pd.IntervalDtype | pd.SparseDtype)


def _stored(column: Any, written: str) -> Any:
    """Values of these dtypes as Arrow has them. `written` is the column as a user writes it."""
    import pandas as pd

    if isinstance(column.dtype, pd.DatetimeTZDtype):
        zone = known_zone(column.dtype.tz, written)
        return column if zone is column.dtype.tz else column.dt.tz_convert(zone)
    if str(column.dtype) == "object":
        return pd.arrays.ArrowExtensionArray(of_objects(column, written))
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
