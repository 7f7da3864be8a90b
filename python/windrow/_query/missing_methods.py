"""What to write for a method that a query does not have, at the step where it was called."""

from __future__ import annotations

from windrow import functions
from windrow._arguments.other_names import other_name


def windows_hint(name: str, windowed: type) -> str | None:
    """What to write for a method that comes after `windowed_by`, or that PySpark's `GroupedData` has."""
    first = 'windowed_by comes first: .windowed_by(windrow.SessionWindows.with_gap("5 minutes"))'
    if name in ("agg", "aggregate"):
        return f"{first}.agg(n=windrow.count())"
    if hasattr(windowed, name):
        return f"{first}.{name}({'' if name == 'count' else '...'})"
    if name in functions.__all__:
        return f'{first}.agg(result=windrow.{name}("column"))'
    return other_name(name)


def rows_hint(name: str) -> str:
    """What to write for a method of the result, or for an aggregate."""
    if name in functions.__all__:
        return f'aggregates go into agg, by name: .agg(result=windrow.{name}("column"))'
    if name == "windowed_by":
        return "it is windowed already; other windows start from the same group_by(...)"
    return other_name(name) or "its rows come from agg, which gives the kind of the data: .agg(n=windrow.count())"
