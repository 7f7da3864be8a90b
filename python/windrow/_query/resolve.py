"""Aggregates resolved against the data that they are of: the plan of a query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from windrow import functions
from windrow._aggregates.aggregate import Aggregate, call_of
from windrow._aggregates.call import AggregateCall
from windrow._aggregates.user_function import Accumulation, Reduction
from windrow._aggregates.window_id import WindowId
from windrow._arguments.errors import NO_NULL_CHARACTER, aggregate_argument, bad_type, bad_value
from windrow._native import compares
from windrow._plan.computed import finish_of, parts_of
from windrow._plan.flat import BOUNDS, WINDOW
from windrow._plan.plan import INPUT, Options, Plan
from windrow._plan.sequence import SEQUENCE
from windrow._query.grouping import Grouping
from windrow._windows.session import SessionWindows
from windrow._windows.sliding import SlidingWindows


def resolved(
    grouped: Grouping[Any],
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
        _check_name(name, aggregate, folded)
        folded[name.casefold()] = f"the aggregate {name!r}"
    calls = {name: call_of(aggregate) for name, aggregate in chosen.items()}
    parts = parts_of(calls, taken)
    resolved_parts, fields = dict[str, AggregateCall](), {field.name: field for field in grouped._fields}
    for name, call in parts.items():
        argument = aggregate_argument(name)
        _check_fits(argument, call, windows, rows)
        resolved_parts[name] = grouped._resolved(argument, call)
        # The key, time or gap of an empty column has the type that it needs, not the column's own.
        fields = {field.name: field for field in _read(grouped, argument, resolved_parts[name])} | fields
    plan = Plan(
        keys=grouped.keys,
        time=grouped.time,
        tick=grouped.tick,
        windows=windows,
        aggregates=tuple(resolved_parts.items()),
        options=options,
        schema=pa.schema(fields.values()),
        origins=grouped._origins(fields),
        stream=grouped._stream,
        finish=finish_of(
            calls, parts, (*grouped.keys, WINDOW), ("op",) if options.op else (), nulls=options.overflow == "null"
        ),
    )
    return grouped._input.fitted(plan, rows=rows, holds_nothing=grouped._input.holds_nothing)


def _taken(grouped: Grouping[Any], options: Options, rows: bool) -> dict[str, str]:
    """Names that no aggregate may have, and what has them."""
    added = {WINDOW: "the column of windows"}
    if options.flat:
        added |= dict.fromkeys(BOUNDS, "a column that flat() adds")
    if options.op:
        added["op"] = "the column that emit('update') and late('emit') add"
    if options.sequence:
        added[SEQUENCE] = "the column that emit('update', sequence=True) adds"
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


def _read(grouped: Grouping[Any], argument: str, aggregate: AggregateCall) -> Iterator[pa.Field[pa.DataType]]:
    """The columns that an aggregate reads."""
    for position, (reader, column) in enumerate(aggregate.read_by):
        compared = position < len(aggregate.columns) and compares(aggregate.function, position)
        yield grouped._input.field(f"{argument}: {reader}", column, compared=compared)


def _check_name(name: str, aggregate: Aggregate, taken: dict[str, str]) -> None:
    """Raises unless it is an aggregate under a name that is not in `taken`, which says what has each name."""
    if not isinstance(aggregate, Aggregate):
        called = getattr(aggregate, "__name__", "")
        hint = f"; write windrow.{called}(...)" if called in functions.__all__ else ""
        if callable(aggregate) and not hint:
            hint = "; functions of Python go into windrow.reduce(...) or windrow.aggregate(...)"
        raise bad_type(aggregate_argument(name), aggregate, f"an aggregate of windrow, such as windrow.count(){hint}")
    if "\0" in name:
        raise bad_value("aggregates", name, NO_NULL_CHARACTER)
    if name.casefold() in taken:
        raise bad_value("aggregates", name, f"a name that nothing else has; {taken[name.casefold()]} has this one")


def without_names(given: Sequence[object], call: str = "agg") -> TypeError:
    """Aggregates were given by position, or in a list, where each is a column that needs a name."""
    flat = [each for one in given for each in (one if isinstance(one, list | tuple) else [one])]
    named = (_shown(call_of(each)) for each in flat if isinstance(each, Aggregate))
    shown = ", ".join(dict.fromkeys(named)) or "n=windrow.count()"
    return bad_type("aggregates", given[0], f"aggregates by name, such as {call}({shown})")


def to_rows(name: str) -> str:
    """What to write for a method of the result, or for an aggregate."""
    if name in functions.__all__:
        return f'aggregates go into agg, by name: .agg(result=windrow.{name}("column"))'
    if name == "windowed_by":
        return "it is windowed already; other windows start from the same group_by(...)"
    return "its rows come from agg, which gives the kind of the data: .agg(n=windrow.count())"


def _shown(call: AggregateCall) -> str:
    name = "_".join([call.maker, *call.columns])
    shown = repr(call) if type(call) is AggregateCall else f"{call.maker}(...)"
    return f"{name if name.isidentifier() else 'result'}=windrow.{shown}"
