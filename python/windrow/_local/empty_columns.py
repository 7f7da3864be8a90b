"""Types for columns without values: an empty frame of pandas has objects, the header of a CSV file gives strings.

Their own types say nothing. Each column gets the first type with which all aggregates over it work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from windrow._arguments.nested import nulls
from windrow._executor.batches import stream_reader
from windrow._executor.empty_arrays import column_of, decoded
from windrow._plan.earlier_types import filled, plain, retyped, time_type, types_of
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


def fitted(plan: Plan, check: Callable[[Plan], object], has_no_values: Callable[[str], bool]) -> Plan:
    """The plan with other types for columns without values, if `check` refuses it with their own.

    Args:
        plan: a plan.
        check: raises `TypeError` for a plan whose columns have types that its aggregates refuse.
        has_no_values: whether a column of an aggregate has no value.
    """
    if passes(plan, check):
        return plan
    windows = plan.windows
    gap = windows.gap if isinstance(windows, SessionWindows) else None
    # These have types that fit.
    needed = {*plan.keys, plan.time, plan.end, gap.column if isinstance(gap, DynamicGap) else None}
    allowed: dict[str, list[pa.DataType | None]] = {}
    for name, call in plan.aggregates:
        columns = [column for column in call.columns if column not in needed and has_no_values(column)]
        condition = call.condition
        conditions = [] if condition is None or not has_no_values(condition) else [condition]
        one = replace(plan, aggregates=((name, call),))
        flags = dict.fromkeys(conditions, pa.bool_())
        fits = [
            kind
            for kind in (_KINDS if columns else ())
            if passes(retyped(one, {**dict.fromkeys(columns, kind), **flags}), check)
        ]
        for column in columns:
            allowed[column] = [kind for kind in allowed.get(column, fits) if kind in fits]
        allowed |= {column: [kind] for column, kind in flags.items()}
    return retyped(plan, {column: kinds[0] for column, kinds in allowed.items() if kinds})


def continued(plan: Plan, earlier: Mapping[str, Any], check: Callable[[Plan], object], nothing: Sequence[str]) -> Plan:
    """The plan with the types of the query `earlier` for columns without values, where both queries have them.

    Args:
        plan: a plan.
        earlier: the specification of a query.
        check: raises `TypeError` for a plan whose columns have types that its aggregates refuse.
        nothing: the columns without values.
    """
    fields = {field.name: field.type for field in plan.schema}
    kinds = {name: filled(fields[name], kind) or kind for name, kind in types_of(earlier).items() if name in nothing}
    if plan.time in nothing:
        kinds[plan.time] = time_type(earlier)
    if plan.end is not None:  # it has the type of times
        kinds[plan.end] = kinds.get(plan.time, plan.schema.field(plan.time).type)
    other = retyped(plan, {name: kind for name, kind in kinds.items() if plain(fields[name]) != plain(kind)})
    return other if passes(other, check) else plan


def typed_stream(stream: Any, schema: pa.Schema, remembered: Callable[[Iterator[Any]], Iterator[Any]]) -> Any:
    """A stream in the types of a plan, which differ from its own for encoded columns and those without values.

    `remembered` keeps what its batches raise.
    """
    own = stream.schema if isinstance(stream, pa.Table) else None
    if own is None:
        stream = stream_reader(stream)
        own = stream.schema
    if own.types == schema.types:
        return stream
    reader = stream_reader(stream)
    return pa.RecordBatchReader.from_batches(schema, remembered(of_schema(batch, schema) for batch in reader))


def of_schema(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch in the columns of a plan, where encoded keys, columns without values and those of a job differ."""

    def typed(name: str, column: Any, kind: Any) -> Any:
        is_other = kind not in (column.type, decoded(column.type))
        is_nothing = is_other and column.null_count == len(column)
        return nulls(len(column), kind) if is_nothing else column_of(name, column, kind)

    columns = [typed(field.name, column, field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def passes(plan: Plan, check: Callable[[Plan], object]) -> bool:
    try:
        check(plan)
    except TypeError:
        return False
    return True
