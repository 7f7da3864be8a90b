"""Types for columns without values: an empty frame of pandas has objects, the header of a CSV file gives strings.

Their own types say nothing. Each column gets the first type with which all aggregates over it work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

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
