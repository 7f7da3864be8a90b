"""How the columns of in-process data continue those of an earlier run, whose types were narrower, wider or others."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.type_names import is_text
from windrow._executor.batches import stream_reader
from windrow._folds.python_shape import decoded, has_type
from windrow._local.advance import clock_of
from windrow._local.columns import Columns
from windrow._local.own_types import list_columns
from windrow._plan.earlier_types import arranged, filled, is_wider, refused, retyped, types_of
from windrow._plan.plan import Plan

_EXACT = 2**53
"""Floats from here on may stand for several integers."""


def with_earlier_types(plan: Plan, earlier: Mapping[str, Any], source: Columns, table: Columns) -> Plan:
    """The plan with the types of an earlier run where the columns have narrower ones.

    Args:
        plan: a plan.
        earlier: the specification of the earlier run.
        source: the columns, with those of expressions.
        table: the columns of the data, which know their library.
    """

    def chosen(column: str, was: pa.DataType) -> pa.DataType | None:
        own = plan.schema.field(column).type
        if is_wider(was, own):
            return was
        if pa.types.is_nested(own):
            kind: pa.DataType | None = filled(own, was)
            return kind
        if not table.has_floats_for_nulls:
            return None
        if pa.types.is_float64(own) and pa.types.is_integer(was):
            return next((kind for kind in (was, pa.int64()) if fits(source, column, kind)), None)
        return was if pa.types.is_integer(own) and pa.types.is_float64(was) and fits(source, column, was) else None

    types = {name: was for name, was in types_of(earlier).items() if name in plan.schema.names}
    return retyped(plan, {name: chosen(name, was) for name, was in types.items()})


def holds_integers(source: Columns, table: Columns, column: str) -> bool:
    """Whether a column of floats holds integers, as the library has no integers beside nulls."""
    if not table.has_floats_for_nulls:
        return False
    kind = source.schema([list(source.names).index(column)]).field(0).type
    return pa.types.is_float64(kind) and fits(source, column, pa.int64())


def fits(source: Columns, column: str, kind: pa.DataType) -> bool:
    """Whether all values of a column of numbers are exactly values of another type, and less than 2**53 in size."""
    values = _values(source, column)
    if not _casts(values, kind):
        return False
    largest = pc.max(pc.abs(values.cast(pa.float64(), safe=False))).as_py()
    return largest is None or largest < _EXACT


def refusal(
    error: ValueError,
    plan: Plan,
    before: Columns | None,
    source: Columns,
    table: Columns,
    *,
    columns: Mapping[str, str],
) -> ValueError:
    """The error of a run; it begins with the column of another type and shows its cast, if that is the reason.

    Args:
        error: the error of the core.
        plan: a plan.
        before: the table of open windows.
        source: the columns, with those of expressions.
        table: the columns of the data, which know their library.
        columns: the columns of the table that hold values of a column of the data, and that column.
    """
    own_types = _own_types(plan, before, columns) if before is not None and isinstance(before, type(table)) else {}
    clock = None if before is None else clock_of(before)

    def cast(column: str, kind: pa.DataType) -> str | None:
        values = _values(source, column)
        kind = arranged(kind, values.type)  # Polars casts no struct to one whose fields have another order
        if plan.origins is not None or column not in table.names or column in own_types or not _casts(values, kind):
            return None
        if column != plan.time and _has_zone(kind) and _has_clock_only(values.type):
            return None  # only times of records keep the name of their zone
        if pa.types.is_date(kind) and _has_zone(values.type):
            return None  # libraries differ in whose date it is
        if pa.types.is_nested(kind):
            # From lists of times of NumPy, which pandas has, pyarrow takes the numbers without their unit.
            has_times = has_type(kind, pa.types.is_temporal) and table.has_floats_for_nulls
            if has_times or has_type(kind, _has_zone) != has_type(values.type, _has_zone):  # a cast moves their clock
                return None
        made = table.cast(column, kind)
        is_own = made == table.cast(column, values.type)  # the library has one type for both
        return None if is_own else made

    def of_library(column: str, was: pa.DataType, _: pa.DataType) -> tuple[str, str] | None:
        names = table.type_names(column, was) if plan.origins is None and column in table.names else None
        own = own_types.get(column)
        return names if names is None or own is None else (str(own), names[1])

    return error if clock is None else refused(error, clock, plan.schema, plan.time, cast, of_library=of_library)


def _own_types(plan: Plan, before: Columns, columns: Mapping[str, str]) -> dict[str, Any]:
    """The earlier types of columns that Arrow does not tell from others; None in lists. No cast makes them."""
    kinds = {name: before.dtype(place) for place, name in enumerate(before.names)}
    kinds = {name: kind for name, kind in kinds.items() if before.meaning(kind) is not None}
    own = {column: kinds[name] for name, column in columns.items() if name in kinds}
    return {**dict.fromkeys(list_columns(plan, [*kinds]).values()), **own}


def has_cast(source: Columns, column: str, kind: pa.DataType) -> bool:
    """Whether the values of a column become another type, as far as they can be looked at."""
    return source.is_read_once or _casts(_values(source, column), kind)


def _values(source: Columns, column: str) -> Any:
    return stream_reader(source.stream([list(source.names).index(column)])).read_all()[0]


def _casts(values: Any, kind: Any) -> bool:
    """Whether Arrow casts all values, changes none, and makes valid data, which pyarrow does not of views of lists."""
    with suppress(pa.ArrowException):
        if _has_clock_only(values.type) and _has_zone(kind):  # clocks in a zone show some times twice, some never
            pc.assume_timezone(values.cast(pa.timestamp(kind.unit)), kind.tz)
        if _has_zone(values.type) and _has_clock_only(kind):
            pc.assume_timezone(pc.local_timestamp(values), values.type.tz)
        made = values.cast(kind)
        made.validate(full=True)
        values = values.cast(decoded(values.type))  # pyarrow casts only text back to a dictionary
        reads_times = has_type(values.type, is_text) and has_type(kind, pa.types.is_temporal)
        return reads_times or bool(made.cast(values.type).equals(values))
    return False


def _has_clock_only(kind: Any) -> bool:
    return pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None)


def _has_zone(kind: Any) -> bool:
    return pa.types.is_timestamp(kind) and kind.tz is not None
