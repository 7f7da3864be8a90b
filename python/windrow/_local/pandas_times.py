"""Times in Python objects and in zones of pandas, of which pyarrow would make other ones."""

from __future__ import annotations

from datetime import UTC, datetime, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from windrow._arguments.nested import with_inner
from windrow._folds.python_shape import has_type

_SEASONS = (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC))


def of_objects(column: Any, written: str) -> pa.Array[Any]:
    """A column of objects in Arrow, with all digits. Raises `ArrowTypeError` for times of which Arrow makes others.

    Args:
        column: a Series of objects.
        written: the column, as a user writes it.
    """
    values: pa.Array[Any] = pa.array(column)
    kind = _exact(column, values.type, written)
    return values if kind == values.type else pa.array(column, kind)


def known_zone(zone: tzinfo, written: str) -> tzinfo:
    """A zone that Arrow has, for one whose name in Arrow is no zone's or another one's; any other as it is."""
    if _is_known(zone):
        return zone
    offset = zone.utcoffset(None)
    if offset is None:
        cast = f"pandas.to_datetime({written}, utc=True)"
        raise pa.ArrowTypeError(f"Arrow has no zone {zone!r}; {cast} has the same times")
    return timezone(offset)


def _is_known(zone: tzinfo) -> bool:
    name = _name(zone)
    if name is None or name.startswith(("+", "-")):
        return True
    try:
        named = ZoneInfo(name)
    except (KeyError, ValueError):
        return False
    return all(at.astimezone(named).utcoffset() == at.astimezone(zone).utcoffset() for at in _SEASONS)


def _name(zone: tzinfo) -> str | None:
    kind: Any = pa.scalar(datetime(2026, 1, 1, tzinfo=zone)).type
    name: str | None = kind.tz
    return name


def _exact(column: Any, kind: Any, written: str) -> Any:
    """The type that keeps all digits of objects of which pyarrow makes this one."""
    if not has_type(kind, pa.types.is_temporal):
        return kind
    cells = column.dropna().tolist()
    if pa.types.is_nested(kind):
        return with_inner(kind, lambda each: each.with_type(_exact(_inside(cells, kind, each), each.type, "values")))
    digits = "nanosecond" if pa.types.is_timestamp(kind) else "nanoseconds"
    unit = "ns" if any(getattr(cell, digits, 0) for cell in cells) else getattr(kind, "unit", None)
    if pa.types.is_duration(kind):
        return pa.duration(unit)
    is_date = pa.types.is_date(kind)
    first = dict[bool, Any]()
    for cell in cells:
        first.setdefault(isinstance(cell, datetime) if is_date else getattr(cell, "tzinfo", None) is not None, cell)
    if True not in first:  # no date has a time of day, or no time an offset
        return pa.timestamp(unit) if pa.types.is_timestamp(kind) else kind
    if is_date:
        shown = f"{first[False]!r} and {first[True]!r}; pandas.to_datetime({written}) makes times of both"
    elif pa.types.is_time(kind):
        text = f'{written}.astype("string")'
        shown = f"{first[True]!r}, and Arrow's times of day have no offset; {text} makes text of them"
    elif False in first:
        shown = (
            f"{first[True]!r} with and {first[False]!r} without an offset from UTC; "
            f"pandas.to_datetime({written}, utc=True) takes the latter as UTC"
        )
    else:
        return pa.timestamp(unit, kind.tz and _name(known_zone(first[True].tzinfo, written)))
    raise pa.ArrowTypeError(f"it has {shown}")


def _inside(cells: list[Any], kind: Any, field: pa.Field[Any]) -> Any:
    """The elements of lists, or the values of a field of structs."""
    import pandas as pd

    is_struct = isinstance(kind, pa.StructType)
    parts = [cell.get(field.name) for cell in cells] if is_struct else [item for cell in cells for item in cell]
    return pd.Series(parts, dtype=object)
