"""Several inputs, each grouped by the same keys, windowed together: Kafka's cogroup (KIP-150).

```text
clicks   user ts url           ─┐   one row for each record: the keys, the time, which input it is of,
orders   user ts amount coupon ─┘   and the columns that aggregates name, null in the rows of the other inputs
```
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import pyarrow as pa

from windrow._aggregates.call import AggregateCall
from windrow._aggregates.journeys import Funnel
from windrow._aggregates.user_function import Accumulation
from windrow._arguments.column import Names
from windrow._arguments.errors import bad_type, bad_value, listed
from windrow._arguments.expression import ColumnExpression, Reference
from windrow._plan.cogroup_rows import check_type, with_indices_of
from windrow._plan.flat import WINDOW
from windrow._plan.input import Input, Result
from windrow._plan.plan import SERIES, Origins, Stream
from windrow._query.grouped import GroupedData
from windrow._query.grouping import gap_field
from windrow._query.inputs import Inputs, split_column
from windrow._query.projection import Projection


def cogroup(**inputs: GroupedData[Result]) -> CogroupedData[Result]:
    """Groups the records of several inputs by the keys they share. `windowed_by` follows and windows them together.

    A window of a key holds the records of all inputs. An aggregate names columns of one input, as the name of the
    input, a dot and the column, and sees the records of that input only: `sum("orders.amount")`, `first("clicks.url")`.
    The part before the first dot is the input. `count()` counts the records of all inputs, `count("clicks.*")` those of
    one. Of Python functions, `reduce("orders.amount", fn)` sees one input, and `aggregate(init, {"clicks": add, ...},
    ...)` has one function for each input.

    Every input has its own stream time. A record is late by the time of its own input, and a window closes when the
    slowest input has passed it. An input without any record yet keeps every window open.

    In-process, inputs may be of different libraries. The result has the kind of the first.

    Args:
        **inputs: two or more, by name; each is a result of `group_by`. Their time columns may have different names, and
            so may their `tie` columns. A `tie` orders records of one time across all inputs. Each input may have its
            own `end`; in an input without it, records end at their time.

    Raises:
        ValueError: fewer than two inputs, a name that is not a Python name, keys that differ, `tie`, `source` or
            `order` on some inputs only, ends with another `invalid_end`, or a key that looks like a column of an input.
        TypeError: an input that `group_by` did not return, keys, times, ties, sources or orders of different types, or
            inputs of Spark with in-process inputs.

    >>> from datetime import datetime
    >>> import pyarrow as pa
    >>> import windrow as wr
    >>> def at(*minutes):
    ...     return [datetime(2026, 1, 1, 8, minute) for minute in minutes]
    >>> clicks = pa.table({"user": ["ann", "ann", "bob"], "ts": at(0, 4, 9), "url": ["/", "/shoes", "/hats"]})
    >>> orders = pa.table({"user": ["ann"], "paid": at(7), "amount": [30]})
    >>> visits = (
    ...     wr.cogroup(clicks=wr.group_by(clicks, "user", time="ts"), orders=wr.group_by(orders, "user", time="paid"))
    ...     .windowed_by(wr.SessionWindows.with_gap("5 minutes"))
    ...     .agg(clicks=wr.count("clicks.*"), spent=wr.sum("orders.amount"), seen=wr.last("clicks.url"))
    ... )
    >>> for row in visits.sort_by("user").to_pylist():
    ...     print(row["user"], row["window"]["end"].minute, row["clicks"], row["spent"], row["seen"])
    ann 7 2 30 /shoes
    bob 9 1 None /hats
    """
    if len(inputs) < 2:
        raise bad_value("inputs", tuple(inputs), "two or more inputs by name, such as cogroup(clicks=..., orders=...)")
    for name, grouped in inputs.items():
        if not name.isidentifier():
            raise bad_value("inputs", name, "Python names: letters, digits and underscores")
        if not isinstance(grouped, GroupedData) or isinstance(grouped, CogroupedData):
            raise bad_type(name, grouped, "what group_by(...) returned")
    first, grouped = next(iter(inputs.items()))
    ended = [(name, each.invalid_end) for name, each in inputs.items() if each.end is not None]
    for name, other in inputs.items():
        _check_fits(name, other, first, grouped)
        if other.end is not None and other.invalid_end != ended[0][1]:
            allowed = f"the same for all ends; {ended[0][0]} has {ended[0][1]!r}"
            raise bad_value(f"{name}: invalid_end", other.invalid_end, allowed)
    shared = len(grouped.key_columns) + (1 if grouped.tie is None else 2)
    fields = [
        _common_field({name: (each.input, each.fields[position]) for name, each in inputs.items()})
        for position in range(shared)
    ]
    for key in grouped.keys:
        if split_column(key)[0] in inputs:
            raise bad_value("keys", key, "names that do not start with an input's and a dot: rename the column")
    return _cogrouped(inputs, replace(grouped, fields=tuple(fields)))


@dataclass(frozen=True)
class CogroupedData(GroupedData[Result]):
    """Records of several inputs grouped by key, without windows yet. Made by `cogroup`.

    Attributes:
        inputs: what was grouped, by the name of the input.
    """

    inputs: Mapping[str, GroupedData[Result]]
    _column: str = field(repr=False)
    _gaps: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def _own_sources(self) -> tuple[str, ...]:
        return next(iter(self.inputs.values())).stream.source

    def _with_gap(self, column: Reference) -> tuple[Self, str]:
        if isinstance(column, str) and split_column(column)[0] in self.inputs:
            raise bad_value("column", column, "a column that every input has, by its own name")
        projections = self._projections()
        own = {name: projection.gap(f"{name}: column", column) for name, projection in projections.items()}
        grouped = self._over(projections)
        of_inputs = {name: each.input for name, each in grouped.inputs.items()}
        gaps = {name: (each, gap_field(f"{name}: column", each, own[name])) for name, each in of_inputs.items()}
        first = next(iter(own.values()))
        field = _common_field(gaps).with_name(first).with_nullable(True)
        return replace(grouped, fields=(*self.fields, field), _gaps=own), first

    def _projections(self) -> Mapping[str, Projection[Result]]:
        return {name: Projection(grouped.input) for name, grouped in self.inputs.items()}

    def _name(self, projections: Mapping[str, Projection[Result]], argument: str, column: Reference) -> tuple[str, str]:
        if isinstance(column, str):
            of_input, name = split_column(column)
            if of_input not in projections:
                return column, column  # no column: the error comes from who reads it
            column = name
        else:
            of_input = self._input_of(argument, column)
            column = replace(column, input=of_input)
        name, shown = projections[of_input].column(argument, column)
        return f"{of_input}.{name}", f"{of_input}.{shown}"

    def _input_of(self, argument: str, expression: ColumnExpression) -> str:
        """The one input whose columns an expression names."""
        if expression.column is not None and split_column(expression.column)[0] in self.inputs:
            return split_column(expression.column)[0]
        found, refused = list[str](), dict[str, Exception]()
        for name, grouped in self.inputs.items():
            try:
                grouped.input.output_name(argument, replace(expression, input=name))
                found.append(name)
            except (TypeError, ValueError) as error:
                refused[name] = error
        named = [name for name in refused if re.search(rf"(?<!\w){re.escape(name)}\.", str(expression))]
        errors = [refused[name] for name in named] if len(named) == 1 else list(refused.values())
        if not found and (len(named) == 1 or all(isinstance(error, TypeError) for error in errors)):
            raise errors[0]  # of the one input that it names, or of another library than all inputs
        if len(found) != 1:
            first = next(iter(self.inputs))
            allowed = f"an expression over columns of one input, with its name before them, as in {first}.amount"
            raise bad_value(argument, str(expression), allowed) from (errors[0] if errors else None)
        return found[0]

    def _over(self, projections: Mapping[str, Projection[Result]]) -> Self:
        inputs = {name: replace(each, input=projections[name].input) for name, each in self.inputs.items()}
        opened = Inputs({name: grouped.input for name, grouped in inputs.items()})
        return replace(self, inputs=inputs, input=opened)

    def _resolved(self, argument: str, aggregate: AggregateCall) -> AggregateCall:
        inputs = tuple(self.inputs)
        rows = aggregate.columns if aggregate.columns in [(f"{name}.*",) for name in inputs] else ()
        if rows and aggregate.function == "count":
            aggregate = replace(aggregate, columns=())
        for reader, column in aggregate.read_by:
            self.input.field(f"{argument}: {reader}", column)
        named = tuple(dict.fromkeys(split_column(column)[0] for column in (*rows, *aggregate.read)))
        if isinstance(aggregate, Accumulation):
            of_columns = tuple(dict.fromkeys(split_column(column)[0] for column in aggregate.columns))
            adds, condition = _adds(argument, aggregate, inputs, of_columns), aggregate.condition
            if condition is not None and list(adds) != [split_column(condition)[0]]:
                raise bad_value(f"{argument}: where(column=)", condition, "a column of the one input that has an add")
            return replace(aggregate, add=adds, inputs=inputs)
        is_of_several = isinstance(aggregate, Funnel) and not aggregate.values and aggregate.condition is None
        if len(named) > 1 and not is_of_several:
            read = (*rows, *aggregate.read)
            raise bad_value(f"{argument}: {aggregate.maker}", read, "columns of one input")
        return replace(aggregate, inputs=inputs, input=named[0] if len(named) == 1 else None)

    def _origins(self, columns: Collection[str]) -> Origins:
        gap = next(iter(self._gaps.values()), None)
        columns_of = [
            {**dict(zip(self.key_columns, grouped.key_columns, strict=True)), self.time: grouped.time}
            for grouped in self.inputs.values()
        ]
        for names, (name, grouped) in zip(columns_of, self.inputs.items(), strict=True):
            if gap is not None:
                names[gap] = self._gaps[name]
            if self.tick is not None and grouped.tick is not None:
                names[self.tick] = grouped.tick
            if self.tie is not None and grouped.tie is not None:
                names[self.tie] = grouped.tie
            if self.end is not None:
                names[self.end] = grouped.end or grouped.time
            names |= {column: split_column(column)[1] for column in columns if split_column(column)[0] == name}
            names |= dict(zip(self.stream.columns, grouped.stream.columns, strict=True))
        return Origins(tuple(self.inputs), self._column, tuple(columns_of))


def _cogrouped(inputs: Mapping[str, GroupedData[Result]], first: GroupedData[Result]) -> CogroupedData[Result]:
    names = Names([WINDOW], inputs=inputs)
    keys = tuple(names.unused(key) for key in first.keys or (SERIES,))
    time = names.unused(first.time)
    tie = None if first.tie is None else names.unused(first.tie)
    tick = names.unused("windrow.tick") if any(grouped.tick is not None for grouped in inputs.values()) else None
    column = names.unused("windrow.input")
    shared = [*zip((*keys, time, *(() if tie is None else (tie,))), first.fields, strict=True)]
    fields = [field.with_name(name).with_nullable(True) for name, field in shared]
    fields += [pa.field(tick, pa.bool_())] if tick is not None else []
    ends = [(names.unused(each.end), each.invalid_end) for each in inputs.values() if each.end is not None]
    end, invalid = ends[0] if ends else (None, first.invalid_end)
    fields += [fields[len(keys)].with_name(end)] if end is not None else []
    fields.append(pa.field(column, pa.int32()))
    opened = Inputs({name: grouped.input for name, grouped in inputs.items()})
    stream = _stream_of(first.stream, names)
    own = (first.keys, time, tick, opened, keys, tuple(fields), stream, dict(inputs), column)
    return CogroupedData(*own, tie=tie, end=end, invalid_end=invalid)


def _stream_of(first: Stream, names: Names) -> Stream:
    """The streams of the inputs as one: their source columns and orders under separate names."""
    sources = tuple(names.unused(f"windrow.source.{position}") for position in range(len(first.source)))
    order = None if first.order is None else names.unused("windrow.order")
    stream = replace(first, source=sources, order=order)
    fields = (each.with_name(name) for name, each in zip(stream.columns, first.fields, strict=True))
    return replace(stream, fields=tuple(fields))


def _check_fits(name: str, other: GroupedData[Any], first: str, grouped: GroupedData[Any]) -> None:
    if type(other.input) is not type(grouped.input):
        raise TypeError(
            f"{name}: got another kind of data than {first}; allowed: Spark DataFrames for all inputs, or data in this "
            "process for all"
        )
    if other.keys != grouped.keys:
        raise bad_value(f"{name}: keys", other.keys, f"the keys of {first}, {listed(grouped.keys)}")
    if (other.tie is None) != (grouped.tie is None):
        raise bad_value(f"{name}: tie", other.tie, f"one for all inputs or for none; {first} has {grouped.tie!r}")
    ours, theirs = other.stream, grouped.stream
    if len(ours.source) != len(theirs.source):
        raise bad_value(f"{name}: source", ours.source, f"as many columns as {first} has, {len(theirs.source)}")
    if (ours.order is None) != (theirs.order is None):
        raise bad_value(f"{name}: order", ours.order, f"one for all inputs or for none; {first} has {theirs.order!r}")
    for mine, first_field in zip(ours.fields, theirs.fields, strict=True):
        check_type(name, (other.input, mine), first, (grouped.input, first_field))
    if ours.stream_time != theirs.stream_time:
        raise bad_value(f"{name}: stream_time", ours.stream_time, f"that of {first}, {theirs.stream_time!r}")


def _common_field(columns: Mapping[str, tuple[Input[Any], pa.Field[Any]]]) -> pa.Field[Any]:
    """The column that all inputs have: that of the first input in which it has values, and so a type."""
    (first, (opened, field)), *others = columns.items()
    for name, (other, own) in others:
        try:
            check_type(name, (other, own), first, (opened, field))
        except TypeError:
            if other.has_no_values(own.name):
                continue
            if not opened.has_no_values(field.name):
                raise
            first, opened, field = name, other, own
        else:
            field = with_indices_of(field, own)
    return field


def _adds(argument: str, aggregate: Accumulation, inputs: Sequence[str], named: Sequence[str]) -> Mapping[str, Any]:
    if not isinstance(aggregate.add, Mapping):
        if len(named) == 1:
            return {named[0]: aggregate.add}
        example = f"{{{inputs[0]!r}: add, {inputs[1]!r}: add}}"
        allowed = f"a function for each input, such as {example}, or columns of one input"
        raise bad_value(f"{argument}: aggregate(add=)", f"one function and columns of {len(named)} inputs", allowed)
    for name in aggregate.add:
        if name not in inputs:
            raise bad_value(f"{argument}: aggregate(add=)", name, f"the inputs {listed(inputs)}")
    for column in aggregate.columns:
        if split_column(column)[0] not in aggregate.add:
            allowed = f"columns of inputs that have an add, {listed(list(aggregate.add))}"
            raise bad_value(f"{argument}: aggregate(columns=)", column, allowed)
    return aggregate.add
