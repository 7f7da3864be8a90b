"""Types for columns without values: an empty frame of pandas has objects, the header of a CSV file gives strings.

Their own types say nothing. Each column gets the first type with which all aggregates over it work.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from windrow._plan.plan import Plan
from windrow._windows.session import DynamicGap, SessionWindows

_KINDS = (
    None,  # its own
    pa.float64(),
    pa.int64(),
    pa.bool_(),
    pa.string(),
    pa.timestamp("us"),
    pa.duration("us"),
)
_WITH_ARGUMENTS = re.compile(r"(timestamp|duration|decimal)\((\w+)(?:,(\w+))?\)")


def fitted(plan: Plan, check: Callable[[Plan], object], holds_nothing: Callable[[str], bool]) -> Plan:
    """The plan with other types for columns without values, if `check` refuses it with their own.

    Args:
        plan: a plan.
        check: raises `TypeError` for a plan whose columns have types that its aggregates refuse.
        holds_nothing: whether a column of an aggregate has no value.
    """
    if _passes(plan, check):
        return plan
    windows = plan.windows
    gap = windows.gap if isinstance(windows, SessionWindows) else None
    needed = {*plan.keys, plan.time, gap.column if isinstance(gap, DynamicGap) else None}  # these have fit types
    allowed: dict[str, list[pa.DataType | None]] = {}
    for name, call in plan.aggregates:
        columns = [column for column in call.columns if column not in needed and holds_nothing(column)]
        condition = call.condition
        conditions = [] if condition is None or not holds_nothing(condition) else [condition]
        one = replace(plan, aggregates=((name, call),))
        flags = dict.fromkeys(conditions, pa.bool_())
        fits = [
            kind
            for kind in (_KINDS if columns else ())
            if _passes(_retyped(one, {**dict.fromkeys(columns, kind), **flags}), check)
        ]
        for column in columns:
            allowed[column] = [kind for kind in allowed.get(column, fits) if kind in fits]
        allowed |= {column: [kind] for column, kind in flags.items()}
    return _retyped(plan, {column: kinds[0] for column, kinds in allowed.items() if kinds})


def continued(plan: Plan, earlier: Mapping[str, Any], check: Callable[[Plan], object], nothing: Sequence[str]) -> Plan:
    """The plan with the types of the query `earlier` for columns without values, where both queries have them.

    Args:
        plan: a plan.
        earlier: the specification of a query.
        check: raises `TypeError` for a plan whose columns have types that its aggregates refuse.
        nothing: the columns without values.
    """
    kinds = {name: _named(text) for name, text in earlier["types"].items() if name in nothing}
    if plan.time in nothing:
        unit = earlier["time_type"].removeprefix("timestamp(").partition(",")[0]
        kinds[plan.time] = pa.timestamp(unit, earlier["time_zone"])
    fields = {field.name: field.type for field in plan.schema}
    other = _retyped(plan, {name: kind for name, kind in kinds.items() if _plain(fields[name]) != _plain(kind)})
    return other if _passes(other, check) else plan


def _plain(kind: Any) -> Any:
    """One type for those that the core gives one name."""
    if kind is not None and pa.types.is_dictionary(kind):
        kind = kind.value_type
    if isinstance(kind, pa.TimestampType) and kind.tz is not None:
        return pa.timestamp(kind.unit, "UTC")
    for name in ("string", "binary"):
        if str(kind) in (f"large_{name}", f"{name}_view"):
            return pa.type_for_alias(name)
    return kind


def _named(text: object) -> pa.DataType | None:
    """The type that the core names; None if it is nested."""
    found = _WITH_ARGUMENTS.fullmatch(str(text))
    try:
        if found is None:
            alias: Any = text
            return pa.type_for_alias(alias) if isinstance(text, str) else None
        groups: Any = found.groups()
        kind, first, second = groups
        if kind == "decimal":
            return pa.decimal128(int(first), int(second))
        return pa.duration(first) if kind == "duration" else pa.timestamp(first, None if second == "none" else second)
    except ValueError:
        return None


def of_schema(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch in the columns of a plan. Columns without values have their types there."""
    columns = [
        column if column.type == field.type else pa.nulls(batch.num_rows, field.type)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _retyped(plan: Plan, kinds: Mapping[str, pa.DataType | None]) -> Plan:
    fields = ((field, kinds.get(field.name)) for field in plan.schema)
    return replace(plan, schema=pa.schema([field if kind is None else field.with_type(kind) for field, kind in fields]))


def _passes(plan: Plan, check: Callable[[Plan], object]) -> bool:
    try:
        check(plan)
    except TypeError:
        return False
    return True
