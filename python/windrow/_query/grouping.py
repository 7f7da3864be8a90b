"""Records grouped by key: the columns, input and stream against which windows and aggregates are resolved."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, Self

import pyarrow as pa

from windrow._aggregates.call import AggregateCall
from windrow._aggregates.user_function import Accumulation
from windrow._arguments.duration import is_duration
from windrow._arguments.errors import bad_column_type, bad_type, bad_value
from windrow._arguments.expression import Reference, stands_for
from windrow._native import groupable
from windrow._plan.input import Input, Result
from windrow._plan.plan import Origins, Stream
from windrow._query.notebook import ShownInNotebooks
from windrow._query.projection import Projection
from windrow._windows.session import InvalidValue


@dataclass(frozen=True)
class Grouping(ShownInNotebooks, Generic[Result]):
    """Records grouped by key.

    Attributes:
        keys: the key columns, as the result names them.
        time: the timestamp column.
        tick: the boolean column of ticks, if there is one.
        input: the data.
        key_columns: the key columns of the data; one of a constant for a query without keys.
        fields: the columns that every query reads: keys, time, tie, tick, end, and those of gaps and rules.
        stream: how the records of a stream are ordered, and whose time they move.
        tie: the integer column that orders records of one time, if there is one.
        end: the column of the ends of records, if there is one.
        invalid_end: what happens to a record whose end is null or before its time.
    """

    keys: tuple[str, ...]
    time: str
    tick: str | None
    input: Input[Result] = field(repr=False)
    key_columns: tuple[str, ...] = field(repr=False)
    fields: tuple[pa.Field[pa.DataType], ...] = field(repr=False)
    stream: Stream = field(repr=False)
    tie: str | None = field(default=None, repr=False, kw_only=True)
    end: str | None = field(default=None, repr=False, kw_only=True)
    invalid_end: InvalidValue = field(default="drop", repr=False, kw_only=True)

    @property
    def _own_sources(self) -> tuple[str, ...]:
        """The source columns, as the data names them."""
        return self.stream.source

    def _with_gap(self, column: Reference) -> tuple[Self, str]:
        """The same with the column of the records' own gaps among those that are read, and its name."""
        projections = self._projections()
        name = projections[""].gap("column", column)
        grouped = self._over(projections)
        return replace(grouped, fields=(*self.fields, gap_field("column", grouped.input, name))), name

    def _with_rule(self, argument: str, column: Reference) -> tuple[Self, str]:
        """The same with a column of a rule for sessions among those that are read, and its name."""
        grouped, (name,) = self._projected([(argument, column)])
        make = value_field if argument == "cut_on" else boolean_field
        return replace(grouped, fields=(*self.fields, make(argument, grouped.input, name))), name

    def _projected(self, columns: Iterable[tuple[str, Reference]]) -> tuple[Self, list[str]]:
        """The same over data with a column for each of these, which arguments give, and their names."""
        projections = self._projections()
        names = [self._name(projections, argument, column)[0] for argument, column in columns]
        return self._over(projections), names

    def _projections(self) -> Mapping[str, Projection[Result]]:
        """A projection of each input, by its name; of the one input under no name."""
        return {"": Projection(self.input)}

    def _name(self, projections: Mapping[str, Projection[Result]], argument: str, column: Reference) -> tuple[str, str]:
        """The name of a column in the data, and the one that its library gives it."""
        return projections[""].column(argument, column)

    def _over(self, projections: Mapping[str, Projection[Result]]) -> Self:
        """The same over the projected data."""
        return replace(self, input=projections[""].input)

    def _resolved(self, argument: str, aggregate: AggregateCall) -> AggregateCall:
        """The aggregate over the columns that a plan of this data has."""
        if isinstance(aggregate, Accumulation) and isinstance(aggregate.add, Mapping):
            raise bad_type(f"{argument}: aggregate(add=)", aggregate.add, "one function, as there is one input")
        return aggregate

    def _origins(self, _columns: Collection[str]) -> Origins | None:
        """The inputs of the records of a plan with these columns; None if there is only one."""
        return None


def boolean_field(argument: str, opened: Input[Result], column: str) -> pa.Field[pa.DataType]:
    """The column that `argument` names: booleans, or only nulls, which are never true."""
    column_field = opened.field(argument, column)
    if not pa.types.is_boolean(column_field.type) and not pa.types.is_null(column_field.type):
        if opened.has_no_values(column):
            return column_field.with_type(pa.bool_())
        raise no_condition(argument, opened, column_field, "a boolean")
    return column_field


def no_condition(argument: str, opened: Input[Result], column_field: pa.Field[pa.DataType], allowed: str) -> TypeError:
    """The error for a column without booleans, with an expression that makes some."""
    column = column_field.name
    written, casts = opened.written(column)
    condition = casts.of_condition(written, column_field.type, opened.sample(column))
    made = "" if condition is None else f", such as {condition}{stands_for(written)}"
    return bad_column_type(argument, opened.shown(column), column_field.type, f"{allowed}{made}")


def value_field(argument: str, opened: Input[Result], column: str) -> pa.Field[pa.DataType]:
    """The column that `argument` names, whose values are compared."""
    column_field = opened.field(argument, column, compared="equality")
    if not groupable(column_field.type):
        if opened.has_no_values(column):
            return column_field.with_type(pa.string())
        raise bad_column_type(argument, opened.shown(column), column_field.type, "a type that a key may have")
    return column_field


def integer_field(argument: str, opened: Input[Result], column: str, example: str) -> pa.Field[pa.DataType]:
    """The column of integers that `argument` names."""
    column_field = opened.field(argument, column)
    if not pa.types.is_integer(column_field.type) or pa.types.is_uint64(column_field.type):
        if opened.has_no_values(column) or opened.holds_integers(column):
            return column_field.with_type(pa.int64())
        raise bad_column_type(
            argument, opened.shown(column), column_field.type, f"integers of at most 64 bits, {example}"
        )
    return column_field


def gap_field(argument: str, opened: Input[Result], column: str) -> pa.Field[pa.DataType]:
    """The column of the records' own gaps, which `argument` names; `TypeError` where it holds no durations."""
    if column not in opened.columns and is_duration(column):
        one = f"the name of a column; with_gap({column!r}) has one gap for all records"
        raise bad_value(argument, column, one)
    column_field = opened.field(argument, column)
    if not pa.types.is_duration(column_field.type):
        if opened.has_no_values(column):
            return column_field.with_type(pa.duration("us"))
        written, casts = opened.written(column)
        allowed = casts.of_gap(written, column_field.type, opened.sample(column)) + stands_for(written)
        raise bad_column_type(argument, opened.shown(column), column_field.type, allowed)
    return column_field
