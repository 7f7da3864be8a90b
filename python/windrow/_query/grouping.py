"""What windows and aggregates are resolved against: columns, input, and stream of records that are grouped by key."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, Self

import pyarrow as pa

from windrow._aggregates.call import AggregateCall
from windrow._aggregates.user_function import Accumulation
from windrow._arguments.duration import is_duration
from windrow._arguments.errors import bad_column_type, bad_type, bad_value
from windrow._plan.input import Input, Result
from windrow._plan.plan import Origins, Stream


@dataclass(frozen=True)
class Grouping(Generic[Result]):
    """Records grouped by key.

    Attributes:
        keys: the key columns.
        time: the timestamp column.
        tick: the boolean column of ticks, if there is one.
    """

    keys: tuple[str, ...]
    time: str
    tick: str | None
    _input: Input[Result] = field(repr=False)
    _fields: tuple[pa.Field[pa.DataType], ...] = field(repr=False)
    _stream: Stream = field(repr=False)

    def _with_gap(self, column: str) -> Self:
        """The same with the column of the records' own gaps among those that are read."""
        return replace(self, _fields=(*self._fields, gap_field("column", self._input, column)))

    def _with_end_when(self, column: str) -> Self:
        """The same with the column that ends sessions among those that are read."""
        return replace(self, _fields=(*self._fields, boolean_field("end_when", self._input, column)))

    def _resolved(self, argument: str, aggregate: AggregateCall) -> AggregateCall:
        """The aggregate over the columns that a plan of this data has."""
        if isinstance(aggregate, Accumulation) and isinstance(aggregate.add, Mapping):
            raise bad_type(f"{argument}: aggregate(add=)", aggregate.add, "one function, as there is one input")
        return aggregate

    def _origins(self, _columns: Collection[str]) -> Origins | None:
        """Which inputs the records of a plan with these columns are of; None where there is one."""
        return None


def boolean_field(argument: str, opened: Input[Result], column: str) -> pa.Field[pa.DataType]:
    """The column that `argument` names: of booleans, or of nulls alone, which are never true."""
    column_field = opened.field(argument, column)
    if not pa.types.is_boolean(column_field.type) and not pa.types.is_null(column_field.type):
        if opened.holds_nothing(column):
            return column_field.with_type(pa.bool_())
        raise bad_column_type(argument, column, column_field.type, "a boolean")
    return column_field


def gap_field(argument: str, opened: Input[Result], column: str) -> pa.Field[pa.DataType]:
    """The column of the records' own gaps, which `argument` names; `TypeError` where it holds no durations."""
    if column not in opened.columns and is_duration(column):
        one = f"the name of a column; with_gap({column!r}) has one gap for all records"
        raise bad_value(argument, column, one)
    column_field = opened.field(argument, column)
    if not pa.types.is_duration(column_field.type):
        if opened.holds_nothing(column):
            return column_field.with_type(pa.duration("us"))
        raise bad_column_type(argument, column, column_field.type, opened.allowed_gaps)
    return column_field
