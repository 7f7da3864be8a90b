"""A pipeline definition without data: the same function that a job calls with its DataFrame."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import pyarrow as pa

from windrow.errors import bad_type, bad_value, listed
from windrow.input import Input
from windrow.plan import Origins, Plan

Definition = Callable[..., Any]
"""A function from data to a query over it: `group_by(data, ...).windowed_by(...).agg(...)`; for a cogroup, of its
inputs by name."""

Schemas = pa.Schema | Mapping[str, pa.Schema]
"""The columns of the data; for a cogroup, of its inputs by name."""


class Blank(Input[Plan]):
    """Columns without rows; a query over it is its plan."""

    def __init__(self, schema: pa.Schema) -> None:
        """Of the columns of a schema."""
        self._schema = schema

    @property
    def columns(self) -> Sequence[str]:
        """The names of all columns, in order."""
        return self._schema.names

    def check_observation(self, observation: object) -> None:
        """Anything will do: a driver has its counters at hand."""

    def check_threads(self, count: int) -> None:
        """Raises nothing: a driver has one thread, whatever a query asks for."""

    def union(self, inputs: Sequence[Self], schema: pa.Schema, origins: Origins) -> Blank:
        """The columns of a cogroup."""
        return Blank(schema)

    def run(self, plan: Plan) -> Plan:
        """The plan itself."""
        return plan

    def _field_at(self, argument: str, position: int, compared: bool) -> pa.Field[Any]:
        return self._schema.field(position)


def plan_of(definition: Definition, schema: Schemas) -> Plan:
    """The plan that a definition makes over columns of these types; its own errors come through."""
    for name, known in schema.items() if isinstance(schema, Mapping) else [("schema", schema)]:
        if not isinstance(known, pa.Schema):
            raise bad_type(name, known, "a pyarrow.Schema of the data; for a cogroup, a dict of them by input")
    if not callable(definition):
        raise bad_type("definition", definition, "a function from data to a query over it")
    plan = _called(definition, schema)
    if not isinstance(plan, Plan):
        raise bad_type("definition", plan, "a function that returns what agg(...) returned, and does nothing after it")
    inputs = plan.origins.names if plan.origins is not None else ()
    named = tuple(schema) if isinstance(schema, Mapping) else ()
    if set(inputs) != set(named):
        allowed = f"schemas of {listed(inputs)}, by name" if inputs else "the schema of the one input of the definition"
        raise bad_value("schema", _shown(schema), allowed)
    return plan


def _called(definition: Definition, schema: Schemas) -> Any:
    """What the function returns; it is called only with the arguments that it takes, so a `TypeError` is its own."""
    named = {name: Blank(known) for name, known in schema.items()} if isinstance(schema, Mapping) else {}
    single = () if isinstance(schema, Mapping) else (Blank(schema),)
    try:
        signature = inspect.signature(definition)
    except (TypeError, ValueError):  # it is not known of some functions that are not written in Python
        return definition(*single, **named)
    try:
        signature.bind(*single, **named)
    except TypeError as error:
        allowed = f"schemas of what the definition takes, {signature} ({error})"
        raise bad_value("schema", _shown(schema), allowed) from None
    return definition(*single, **named)


def _shown(schema: Schemas) -> object:
    return tuple(schema) if isinstance(schema, Mapping) else "one schema"
