"""The library's own types of the columns of a result: those of the columns of the data whose values they hold."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa

from windrow._aggregates.call import LISTS_OF_COLUMN, OF_COLUMN
from windrow._aggregates.user_function import Reduction
from windrow._arguments.nested import nullable
from windrow._executor.empty_arrays import carried
from windrow._local.columns import Columns
from windrow._local.results import Kinds
from windrow._plan.flat import BOUNDS
from windrow._plan.plan import Plan

_RECORD = "record"


def own_types(plan: Plan, source: Columns, rows: pa.Table, retyped: Collection[str] = ()) -> Kinds:
    """The types of the columns of `rows` that hold values of the columns of `source`, except of `retyped` ones."""
    columns = source_columns(plan, rows.column_names)
    kinds = _in_order(source, {name: column for name, column in columns.items() if column not in retyped})
    lists = list_columns(plan, rows.column_names)
    items = source.dtypes({name: column for name, column in lists.items() if column not in retyped})
    pairs = [name for name, call in plan.aggregates if call.function == "top_k"]
    parts: dict[str, Any] = {
        name: [{"item": kind, "count": pa.int64()} if name in pairs else kind] for name, kind in items.items()
    }
    if plan.left_out is not None and plan.left_out["record"] and _RECORD in rows.column_names:
        of_record: Any = rows.schema.field(_RECORD).type
        own = source.dtypes({name: column for column, name in plan.left_out["record"]})
        parts[_RECORD] = {field.name: own.get(field.name, field.type) for field in of_record}
    nested = {name: source.nested(each) for name, each in parts.items()}
    return {**kinds, **{name: kind for name, kind in nested.items() if kind is not None}}


def earlier_types(plan: Plan, before: Columns, retyped: Collection[str]) -> Kinds:
    """The types that the columns of open windows have that hold values of `retyped` columns."""
    columns = {**source_columns(plan, before.names), **list_columns(plan, before.names)}
    return _in_order(before, {name: name for name, column in columns.items() if column in retyped})


def _in_order(source: Columns, columns: Mapping[str, str]) -> Kinds:
    """The types of these columns, with the order of dictionaries that have one."""
    kinds, names = source.dtypes(columns), list(source.names)
    return {name: source.in_order(names.index(columns[name]), kind) for name, kind in kinds.items()}


def source_columns(plan: Plan, names: Sequence[str]) -> dict[str, str]:
    """The result columns, of those with these names, that hold values of a column of the data, and that column."""
    columns = dict(zip(plan.key_names, plan.keys, strict=False))
    columns |= dict.fromkeys(BOUNDS if plan.options.flat else (), plan.time)
    columns |= {} if plan.left_out is None else {"time": plan.time}
    for name, call in plan.aggregates:
        if call.function in OF_COLUMN or isinstance(call, Reduction):
            columns[name] = call.columns[0]
    return {name: column for name, column in columns.items() if name in names}


def list_columns(plan: Plan, names: Sequence[str]) -> dict[str, str]:
    """The result columns, of those with these names, that hold lists of values of a column, and that column."""
    calls = {name: call for name, call in plan.aggregates if call.function in (*LISTS_OF_COLUMN, "top_k")}
    return {name: call.columns[0] for name, call in calls.items() if name in names}


def retyped_columns(plan: Plan, source: Columns) -> list[str]:
    """The columns that have another type in a plan than in the data, where they have no value."""
    own = source.schema([list(source.names).index(column) for column in plan.schema.names])
    return [
        field.name
        for field, other in zip(plan.schema, own, strict=True)
        if not nullable(carried(other).type).equals(field.type)
    ]
