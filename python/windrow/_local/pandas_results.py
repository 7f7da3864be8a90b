"""Arrow columns in pandas' types: those of the data, and the closest to Arrow's for all others."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from windrow._local.results import Kinds, of_type, without_views


def pandas_frame(rows: pa.Table, kinds: Kinds, *, arrow: bool) -> Any:
    """A `pandas.DataFrame` with an index of row numbers. `arrow`: whether columns without a kind are Arrow-backed."""
    import pandas as pd

    columns = {name: pandas_column(rows[name], kinds.get(name), arrow=arrow) for name in rows.column_names}
    return pd.DataFrame(columns, index=pd.RangeIndex(rows.num_rows))


def pandas_column(column: pa.ChunkedArray[Any], kind: Any, *, arrow: bool) -> Any:
    """A Series of a dtype of pandas, or if that is None of the one that changes no value."""
    import pandas as pd

    column = column.cast(without_views(column.type))
    if isinstance(kind, pd.ArrowDtype):
        return pd.Series(pd.arrays.ArrowExtensionArray(of_type(column, kind.pyarrow_dtype)))
    if kind is None and arrow:
        return pd.Series(pd.arrays.ArrowExtensionArray(column))
    if kind is not None and hasattr(kind, "__from_arrow__"):
        return pd.Series(kind.__from_arrow__(column))
    series = _closest(column)
    if kind is None or series.dtype == kind:
        return series
    if str(kind) == "object":
        return pd.Series(_objects(column), dtype=object)
    exact = isinstance(kind, pd.api.extensions.ExtensionDtype) or not column.null_count or series.dtype.kind in "mM"
    return series.astype(kind) if exact else series


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


def _objects(column: pa.ChunkedArray[Any]) -> list[Any]:
    """Values of Python, with a Timestamp for each time.

    `to_pandas` makes floats of the integers next to a null in a list, and in a struct bare numbers of nanoseconds.
    """
    if pa.types.is_struct(column.type) and column.type.num_fields:
        fields = [column.type.field(position) for position in range(column.type.num_fields)]
        names, parts = [field.name for field in fields], map(_objects, column.flatten())
        dicts: list[Any] = [dict(zip(names, cells, strict=True)) for cells in zip(*parts, strict=True)]
        if not column.null_count:
            return dicts
        return [value if valid else None for value, valid in zip(dicts, column.is_valid().to_pylist(), strict=True)]
    if pa.types.is_timestamp(column.type):
        times: Any = column.to_pandas()
        return [time if valid else None for time, valid in zip(times, column.is_valid().to_pylist(), strict=True)]
    values: list[Any] = column.to_pylist()
    return values
