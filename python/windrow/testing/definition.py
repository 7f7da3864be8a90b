"""A pipeline definition without data: the same function that a job calls with its DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from windrow.errors import bad_type
from windrow.input import Input
from windrow.plan import Plan

Definition = Callable[[Any], Any]
"""A function from data to a query over it: `group_by(data, ...).windowed_by(...).agg(...)`."""


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

    def run(self, plan: Plan) -> Plan:
        """The plan itself."""
        return plan

    def _field_at(self, argument: str, position: int, compared: bool) -> pa.Field[Any]:
        return self._schema.field(position)


def plan_of(definition: Definition, schema: pa.Schema) -> Plan:
    """The plan that a definition makes over columns of these types; its own errors come through."""
    if not callable(definition):
        raise bad_type("definition", definition, "a function from data to a query over it")
    plan = definition(Blank(schema))
    if not isinstance(plan, Plan):
        raise bad_type("definition", plan, "a function that returns what agg(...) returned, and does nothing after it")
    return plan
