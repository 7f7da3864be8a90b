"""Aggregates resolved against the data that they are of: the plan of a query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow import _worker
from windrow.aggregates.aggregate import Aggregate, call_of
from windrow.aggregates.call import AggregateCall
from windrow.aggregates.named import check_name
from windrow.aggregates.user_function import Accumulation, Reduction
from windrow.aggregates.window_id import WindowId
from windrow.computed import finish_of, parts_of
from windrow.errors import aggregate_argument, bad_value
from windrow.flat import BOUNDS, WINDOW
from windrow.options import Options
from windrow.plan import INPUT, Plan
from windrow.windows.session import SessionWindows
from windrow.windows.sliding import SlidingWindows

if TYPE_CHECKING:
    from windrow.grouped import GroupedData


def resolved(
    grouped: GroupedData[Any],
    windows: SessionWindows | SlidingWindows,
    options: Options,
    chosen: Mapping[str, Aggregate],
    *,
    rows: bool = False,
) -> Plan:
    """The plan of these aggregates; with `rows`, one that gives the rows back, each with its window."""
    if not chosen and not rows:
        raise ValueError("aggregates: got none; allowed: one or more, such as agg(n=windrow.count())")
    taken = _taken(grouped, options, rows)
    folded = {name.casefold(): what for name, what in taken.items()}
    for name, aggregate in chosen.items():
        check_name(name, aggregate, folded)
        folded[name.casefold()] = f"the aggregate {name!r}"
    calls = {name: call_of(aggregate) for name, aggregate in chosen.items()}
    parts = parts_of(calls, taken)
    resolved_parts, fields = dict[str, AggregateCall](), {field.name: field for field in grouped._fields}
    for name, call in parts.items():
        argument = aggregate_argument(name)
        _check_fits(argument, call, windows, rows)
        resolved_parts[name] = grouped._resolved(argument, call)
        fields |= {field.name: field for field in _read(grouped, argument, resolved_parts[name])}
    return Plan(
        keys=grouped.keys,
        time=grouped.time,
        tick=grouped.tick,
        windows=windows,
        aggregates=tuple(resolved_parts.items()),
        options=options,
        schema=pa.schema(fields.values()),
        origins=grouped._origins(fields),
        stream=grouped._stream,
        finish=finish_of(calls, parts, (*grouped.keys, WINDOW), ("op",) if options.op else ()),
    )


def _taken(grouped: GroupedData[Any], options: Options, rows: bool) -> dict[str, str]:
    """Names that no aggregate may have, and what has them."""
    added = {WINDOW: "the column of windows"}
    if options.flat:
        added |= dict.fromkeys(BOUNDS, "a column that flat() adds")
    if options.op:
        added["op"] = "the column that emit('update') and late('emit') add"
    if not rows:
        return {**dict.fromkeys(grouped.keys, "a key"), **added}
    if grouped._origins(()) is not None:
        added[INPUT] = "the column of the records' inputs"
    columns = grouped._input.row_columns
    for column in columns:
        if column.casefold() in added:
            raise bad_value("data", column, f"any name but {column.casefold()!r}, which the result adds: rename it")
    return {**dict.fromkeys(columns, "a column of the data"), **added}


def _check_fits(argument: str, aggregate: AggregateCall, windows: SessionWindows | SlidingWindows, rows: bool) -> None:
    """Raises `ValueError` for an aggregate that is not one of these windows, or of what is made of them."""
    if isinstance(aggregate, WindowId) and not rows:
        raise bad_value(argument, "window_id()", "with_columns(...): agg gives one row for each window")
    if isinstance(aggregate, Reduction | Accumulation) and rows:
        raise bad_value(argument, f"{aggregate.maker}(...)", "built-in aggregates; Python functions go into agg")
    if isinstance(aggregate, Accumulation) and aggregate.merge is None and not isinstance(windows, SlidingWindows):
        allowed = "aggregate(init, add, merge, ...): sessions are merged"
        raise bad_value(argument, "aggregate(...) without merge", allowed)


def _read(grouped: GroupedData[Any], argument: str, aggregate: AggregateCall) -> Iterator[pa.Field[pa.DataType]]:
    """The columns that an aggregate reads."""
    for position, (reader, column) in enumerate(aggregate.read_by):
        compared = position < len(aggregate.columns) and _worker.compares(aggregate.function, position)
        yield grouped._input.field(f"{argument}: {reader}", column, compared=compared)
