"""The records of a cogroup as rows of one schema: the columns of all inputs by name, null where an input has none.

```text
clicks   user ts url      ─┐
orders   user paid amount ─┘   user ts url paid amount; hidden: the time that all have, which input a row is of
```
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from windrow._aggregates.call import AggregateCall
from windrow._arguments.column import Names
from windrow._arguments.errors import bad_column_type
from windrow._plan.earlier_types import has_cast
from windrow._plan.input import Input
from windrow._plan.plan import Origins, Plan
from windrow._windows.session import SessionWindows

OfInput = tuple[Input[Any], Any]
"""An input, and the field of one of its columns."""


def by_name(
    plan: Plan, origins: Origins, inputs: Mapping[str, Input[Any]], fields: Mapping[str, Mapping[str, pa.Field[Any]]]
) -> tuple[Plan, pa.Schema]:
    """A cogroup's plan over columns by their own names, and the schema of all of these, hidden ones too.

    Args:
        plan: the plan over columns that are named by their inputs.
        origins: the inputs of the plan.
        inputs: the inputs by name.
        fields: the columns of each input by their names, by the name of the input.

    Raises:
        TypeError: two inputs have columns of one name and of different types.
    """
    shown = _united(inputs, fields)
    names = {column: _row_name(column, origins, shown) for column in plan.schema.names}
    windows = plan.windows
    for _, column in windows.rules.columns if isinstance(windows, SessionWindows) else ():
        # Null in the records of other inputs, which may have a column of this name.
        names[column] = _hidden(column, shown)
    fields_by_name = {names[field.name]: field.with_name(names[field.name]) for field in plan.schema}
    # A column without values has the type that the plan needs.
    fields_by_name |= {
        name: field for name, field in shown.items() if name not in fields_by_name or not pa.types.is_null(field.type)
    }
    columns_of_inputs = (
        {name: name for name in columns}
        | {names[column]: field for column, field in of_input.items() if column in names}
        for columns, of_input in zip(fields.values(), origins.columns, strict=True)
    )
    by_own_names = replace(
        plan,
        keys=tuple(names[key] for key in plan.keys),
        windows=plan.windows._renamed(lambda _, column: names[column]),
        time=names[plan.time],
        tick=None if plan.tick is None else names[plan.tick],
        tie=None if plan.tie is None else names[plan.tie],
        end=None if plan.end is None else names[plan.end],
        aggregates=tuple((name, _renamed(aggregate, names)) for name, aggregate in plan.aggregates),
        schema=pa.schema([fields_by_name[name] for name in dict.fromkeys(names.values())]),
        origins=replace(origins, column=names[origins.column], columns=tuple(columns_of_inputs), returned=tuple(shown)),
    )
    return by_own_names, pa.schema(fields_by_name.values())


def check_type(argument: str, own: OfInput, first: str, of_first: OfInput) -> None:
    """Raises `TypeError` unless a column has the type of a column of the first input."""
    (opened, field), (first_opened, first_field) = own, of_first
    (kind, meaning), (first_kind, first_meaning) = opened.type_of(field), first_opened.type_of(first_field)
    if _whatever_layout(field.type) != _whatever_layout(first_field.type) or meaning != first_meaning:
        kinds = (first_field.type, field.type)
        is_cast = meaning is None and first_meaning is None and not any(map(pa.types.is_dictionary, kinds))
        is_cast = is_cast and has_cast(*kinds)
        made = opened.cast(field.name, first_field.type) if is_cast else None
        allowed = f"{first_kind}, the type of column {first_field.name!r} of {first}"
        raise bad_column_type(argument, field.name, kind, allowed if made is None else f"{allowed}: {made}")


def with_indices_of(field: pa.Field[Any], other: pa.Field[Any]) -> pa.Field[Any]:
    """A field of two inputs, with indices for the categories of both."""
    kind: Any = field.type
    if not pa.types.is_dictionary(kind) or kind == other.type:
        return field
    return field.with_type(pa.dictionary(pa.int32(), kind.value_type, kind.ordered))


def _united(
    inputs: Mapping[str, Input[Any]], fields: Mapping[str, Mapping[str, pa.Field[Any]]]
) -> dict[str, pa.Field[Any]]:
    """All columns by name, in the order in which the inputs have them."""
    united: dict[str, pa.Field[Any]] = {}
    first_of: dict[str, str] = {}
    for name, columns in fields.items():
        for column, field in columns.items():
            if column in united and pa.types.is_null(field.type):
                continue  # it has no value here, and any type elsewhere
            if column in united and not pa.types.is_null(united[column].type):
                first = first_of[column]
                check_type(f"with_columns: {name}", (inputs[name], field), first, (inputs[first], united[column]))
                united[column] = with_indices_of(united[column], field)
            else:
                united[column], first_of[column] = field.with_nullable(True), name
    return united


def _row_name(column: str, origins: Origins, shown: Collection[str]) -> str:
    """The name of a cogroup's column among the rows: its own, or a new one if it is taken."""
    names = {of_input.get(column) for of_input in origins.columns}
    if column.partition(".")[0] in origins.names:
        names.discard(None)  # it is of that input alone
    if len(names) == 1 and (name := next(iter(names))) is not None:
        return name
    return _hidden(column, shown)


def _hidden(column: str, shown: Collection[str]) -> str:
    return Names(shown).unused(column)


def _renamed(aggregate: AggregateCall, names: Mapping[str, str]) -> AggregateCall:
    condition = None if aggregate.condition is None else names[aggregate.condition]
    return replace(aggregate, columns=tuple(names[column] for column in aggregate.columns), condition=condition)


def _whatever_layout(kind: Any) -> pa.DataType:
    """The type, with strings, bytes and indices of any of Arrow's layouts as one."""
    if isinstance(kind, pa.DictionaryType):
        values: Any = _whatever_layout(kind.value_type)
        return pa.dictionary(pa.int32(), values, kind.ordered)
    for plain in (pa.string(), pa.binary()):
        if str(kind) in (f"{plain}", f"large_{plain}", f"{plain}_view"):
            return plain
    whole: pa.DataType = kind
    return whole
