"""Resolves aggregates against their data: the plan of a query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from windrow import functions
from windrow._aggregates.activity import Active
from windrow._aggregates.aggregate import Aggregate, call_of
from windrow._aggregates.call import RANKS, AggregateCall, Computed
from windrow._aggregates.journeys import Funnel
from windrow._arguments.column import check_prefix
from windrow._arguments.duration import check_whole
from windrow._arguments.errors import NO_NULL_CHARACTER, aggregate_argument, bad_type, bad_value
from windrow._arguments.expression import ColumnExpression, Reference, column_reference
from windrow._arguments.other_names import aggregate_like
from windrow._folds.python_shape import decoded
from windrow._native import compares
from windrow._plan.computed import counters_of, finish_of, parts_of
from windrow._plan.flat import BOUNDS, WINDOW
from windrow._plan.input import Input, Need
from windrow._plan.limits import check, check_call, of_query
from windrow._plan.open_table import check_reserved
from windrow._plan.plan import INPUT, Options, Plan, left_out_columns
from windrow._plan.sequence import SEQUENCE
from windrow._plan.spec import LeftOutLayout
from windrow._query.grouping import Grouping, no_condition
from windrow._windows.session import SessionWindows
from windrow._windows.sliding import SlidingWindows


def resolved(
    grouped: Grouping[Any],
    windows: SessionWindows | SlidingWindows,
    options: Options,
    chosen: Mapping[str, Aggregate],
    *,
    rows: bool = False,
) -> tuple[Input[Any], Plan]:
    """The plan of these aggregates, and the input with the columns that it names.

    With `rows` the plan gives the rows back, each with its window.
    """
    if not chosen and not rows:
        raise ValueError("aggregates: got none; allowed: one or more, such as agg(n=windrow.count())")
    if options.start is not None:
        check_reserved("aggregates", chosen, "start_from")
    used = {**of_query(windows, options), "tie": grouped.tie, "rows": rows, "agg": not rows}
    check({**used, "with_columns": "start_from(...)" if rows else None})
    taken = _taken(grouped, options, rows)
    owners = dict[str, dict[str, str]]()
    for name, what in taken.items():
        owners.setdefault(name.casefold(), {})[name] = what
    for name, aggregate in chosen.items():
        others = owners.setdefault(name.casefold(), {})
        _check_name(name, aggregate, others, grouped.input)
        others[name] = f"the aggregate {name!r}"
    grouped, calls = _over_names(grouped, {name: call_of(aggregate) for name, aggregate in chosen.items()})
    for name, call in calls.items():
        if isinstance(call, Computed) and any(part.function == "position" for part in call.aggregates):
            allowed = "position() as a separate column: other columns are computed from whole windows"
            raise bad_value(aggregate_argument(name), repr(call), allowed)
    parts = parts_of(calls, taken)
    resolved_parts, fields = dict[str, AggregateCall](), {field.name: field for field in grouped.fields}
    for name, call in parts.items():
        argument = aggregate_argument(name)
        check_call(argument, call, used)
        if call.frame is not None:
            call.frame.check(argument, windows, rows, fields[grouped.time])
        if isinstance(call, Funnel) and call.within is not None:
            check_whole(f"{argument}: {call.maker}(within=)", call.within, fields[grouped.time])
        if isinstance(call, Active):
            call.check_limit(argument, fields[grouped.time])
        resolved_parts[name] = grouped._resolved(argument, call)
        # The key, time or gap of an empty column has the type that it needs, not the column's own.
        read = _read(grouped, argument, resolved_parts[name])
        fields |= {field.name: field for field in read if field.name not in fields}
    resolved_parts = {name: _of_ends(call, grouped.end) for name, call in resolved_parts.items()}
    counters, more = counters_of(calls, parts, resolved_parts, taken)
    resolved_parts |= more
    grouped, left_out, fields = _left_out(grouped, options, fields)
    plan = Plan(
        keys=grouped.key_columns,
        key_names=grouped.keys,
        time=grouped.time,
        tick=grouped.tick,
        windows=windows,
        aggregates=tuple(resolved_parts.items()),
        options=options,
        schema=pa.schema(fields.values()),
        origins=grouped._origins(fields),
        stream=grouped.stream,
        finish=finish_of(
            calls,
            parts,
            counters,
            (*grouped.key_columns, WINDOW),
            _after(grouped, options),
            nulls=options.overflow == "null",
        ),
        tie=grouped.tie,
        end=grouped.end,
        invalid_end=grouped.invalid_end,
        left_out=left_out,
    )
    opened = grouped.input
    return opened, opened.fitted(plan, rows=rows, has_no_values=opened.has_no_values)


def _left_out(
    grouped: Grouping[Any], options: Options, fields: dict[str, pa.Field[pa.DataType]]
) -> tuple[Grouping[Any], LeftOutLayout | None, dict[str, pa.Field[pa.DataType]]]:
    """How records in no window come back. Also the data and the columns to read, with those of such records."""
    if options.left_out is None:
        return grouped, None, fields
    grouped, names = grouped._projected([("columns", column) for column in options.left_out])
    record = tuple(zip(options.left_out, names, strict=True))
    read = {name: grouped.input.field("columns", name) for name in names if name not in fields}
    inputs = [] if (origins := grouped._origins(())) is None else origins.names
    return grouped, LeftOutLayout(record=record, columns=len(fields), inputs=inputs), {**fields, **read}


def _after(grouped: Grouping[Any], options: Options) -> tuple[str, ...]:
    """The columns of a result after its aggregates."""
    returned = left_out_columns(grouped._origins(()) is not None, options.left_out)
    return (*returned, *(("op",) if options.op else ()))


def _over_names(
    grouped: Grouping[Any], calls: Mapping[str, AggregateCall]
) -> tuple[Grouping[Any], dict[str, AggregateCall]]:
    """The aggregates over names of columns, and the records with these columns."""
    projections = grouped._projections()

    def named(argument: str) -> Callable[[str, Reference], tuple[str, str]]:
        return lambda reader, column: grouped._name(projections, f"{argument}: {reader}", column)

    over_names = {name: call.renamed(named(aggregate_argument(name))) for name, call in calls.items()}
    return grouped._over(projections), over_names


def _taken(grouped: Grouping[Any], options: Options, rows: bool) -> dict[str, str]:
    """Names that no aggregate may have, and what has them."""
    is_cogroup = grouped._origins(()) is not None
    added = dict.fromkeys(BOUNDS, "a column that flat() adds") if options.flat else {}
    if not options.flat or (rows and is_cogroup):
        added[WINDOW] = "the column of windows"
    if options.op:
        added["op"] = "the column that emit('update'), late('emit') and left_out('emit') add"
    added |= dict.fromkeys(left_out_columns(is_cogroup, options.left_out), "a column that left_out('emit') adds")
    if options.sequence:
        added[SEQUENCE] = "the column that emit('update', sequence=True) adds"
    if not rows:
        taken = dict.fromkeys(grouped.keys, "a key")
    else:
        if is_cogroup:
            added[INPUT] = "the column of the records' inputs"
        taken = dict.fromkeys(grouped.input.row_columns, "a column of the data")
    argument = "data" if rows else "keys"
    for column in taken:
        for name in added:
            if grouped.input.is_same(column, name):
                hint = ", or flat()" if name == WINDOW else ""
                raise bad_value(argument, column, f"any name but {name!r}, which the result adds: rename it{hint}")
    return {**dict.fromkeys(grouped.key_columns, "a key"), **taken, WINDOW: "the column of windows", **added}


def _of_ends(call: AggregateCall, end: str | None) -> AggregateCall:
    """The aggregate, which takes the ends of records if it measures them and they have ends."""
    return replace(call, columns=(end,)) if end is not None and isinstance(call, Active) else call


def _read(grouped: Grouping[Any], argument: str, aggregate: AggregateCall) -> Iterator[pa.Field[pa.DataType]]:
    """The columns that an aggregate reads."""
    for position, (reader, column) in enumerate(aggregate.read_by):
        is_compared = position < len(aggregate.columns) and compares(aggregate.function, position)
        compared: Need | None = None
        if is_compared:
            compared = "order" if aggregate.function in RANKS else "equality"
        field = grouped.input.field(f"{argument}: {reader}", column, compared=compared)
        is_condition = position >= len(aggregate.columns)
        if (is_condition or aggregate.function in ("bool_and", "bool_or")) and not _has_booleans(grouped, field):
            allowed = "a boolean" if is_condition else "booleans"
            raise no_condition(f"{argument}: {reader}", grouped.input, field, allowed)
        yield field


def _has_booleans(grouped: Grouping[Any], field: pa.Field[pa.DataType]) -> bool:
    """Whether a column has booleans of any layout, or no values."""
    kind = decoded(field.type)
    is_boolean = pa.types.is_boolean(kind) or pa.types.is_null(kind) or str(kind) == "extension<arrow.bool8>"
    return is_boolean or grouped.input.has_no_values(field.name)


def _check_name(name: str, aggregate: Aggregate, owners: Mapping[str, str], opened: Input[Any]) -> None:
    """Raises unless it is an aggregate with a free name. `owners` has the owner of each taken name."""
    if not isinstance(aggregate, Aggregate):
        called, columns = getattr(aggregate, "__name__", ""), "..."
        if not called:
            called, columns = _called(aggregate)
        hint = f"; write windrow.{called}({columns})" if called in functions.__all__ else ""
        if called == "count" and columns and hint:  # PySpark shows F.count and F.countDistinct alike
            hint += f", or windrow.count_distinct({columns})"
        if callable(aggregate) and not hint:
            hint = "; functions of Python go into windrow.reduce(...) or windrow.aggregate(...)"
        raise bad_type(aggregate_argument(name), aggregate, f"an aggregate of windrow, such as windrow.count(){hint}")
    if "\0" in name:
        raise bad_value("aggregates", name, NO_NULL_CHARACTER)
    check_prefix("aggregates", [name])
    what = next((what for other, what in owners.items() if opened.is_same(name, other)), None)
    if what is not None:
        raise bad_value("aggregates", name, f"a new name: {what} has this one already")


def _called(other: object) -> tuple[str, str]:
    """The aggregate of windrow and its arguments for an aggregate of another library; its name may be none of ours."""
    try:
        expression = column_reference("aggregates", other)
    except TypeError:
        return "", ""
    return aggregate_like(str(expression)) if isinstance(expression, ColumnExpression) else ("", "")


def without_names(positional: Sequence[object], call: str = "agg") -> TypeError:
    """Aggregates were given by position or in a list, but each is a column and needs a name."""
    flat = [each for one in positional for each in (one if isinstance(one, list | tuple) else [one])]
    named = [_as_argument(call_of(each)) for each in flat if isinstance(each, Aggregate)]
    for called, columns in map(_called, flat):
        named += [f"{called}=windrow.{called}({columns})"] if called in functions.__all__ else []
    shown = ", ".join(dict.fromkeys(named)) or "n=windrow.count()"
    return bad_type("aggregates", positional[0], f"aggregates by name, such as {call}({shown})")


def _as_argument(call: AggregateCall) -> str:
    name = "_".join([call.maker, *map(str, call.columns)])
    shown = repr(call) if type(call) is AggregateCall else f"{call.maker}(...)"
    return f"{name if name.isidentifier() else 'result'}=windrow.{shown}"
