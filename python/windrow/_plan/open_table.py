"""The columns of a table of open windows, and of the rows of a run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import pyarrow as pa

from windrow._arguments.errors import bad_value
from windrow._plan.flat import BOUNDS, WINDOW
from windrow._plan.plan import Plan

STREAM_TIME = "stream_time"
"""The column of stream time, which only the clock row has."""

STATE = "state"
"""The column of the bytes that the next run reads."""

STATUS = "status"
"""The column that says whether a row of a run is a closed window or a row of the table of open windows."""

Reading = Callable[[Plan, list[Any]], pa.Table]
"""Reads an in-process table of open windows for a plan: the wanted fields that it has, as the core reads them."""

RESERVED = (STATE, "source", STREAM_TIME, STATUS)
"""Names that no key and no aggregate of a run may have."""

NO_TABLE: Any = object()
"""No table was given by position."""


def open_argument(open: Any, named: dict[str, Any], allowed: str, *, other: type | None = None) -> Any:
    """The table that was given by position, or by its name, which this takes out of `named`.

    Args:
        open: what was given by position.
        named: what was given by name.
        allowed: the right call, for the error.
        other: the class of values that may have the name `open` too, and are no table.
    """
    if open is not NO_TABLE:
        return open
    if "open" not in named or (other is not None and isinstance(named["open"], other)):
        raise TypeError(f"open: got no table; allowed: {allowed}")
    return named.pop("open")


def check_reserved(argument: str, names: Iterable[str], call: str) -> None:
    """Raises `ValueError` for a name that a table of open windows uses itself."""
    for name in names:
        if name.casefold() in RESERVED:
            raise bad_value(argument, name, f"any name but {', '.join(RESERVED)}, which {call} uses")


def bounds_of(plan: Plan, names: Collection[str]) -> tuple[str, ...]:
    """The columns of bounds in a table with these columns: those of the query, or those of one that differs in `flat`.

    The table of a stream's open windows is never flat.
    """
    own, others = (BOUNDS, (WINDOW,)) if plan.options.flat else ((WINDOW,), BOUNDS)
    has_others = {*own}.isdisjoint(names) and {*others} <= {*names} - {*plan.key_names}
    return others if has_others else own
