"""A pipeline definition without data: the same function that a job calls with its DataFrame."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from windrow._arguments.column import check_prefix
from windrow._arguments.errors import bad_type, bad_value, listed
from windrow._arguments.expression import CONSTANT, ColumnExpression
from windrow._executor.empty_arrays import carried
from windrow._plan.input import Input, Need
from windrow._plan.plan import Origins, Plan

Definition = Callable[..., Any]
"""A function from data to a query over it: `group_by(data, ...).windowed_by(...).agg(...)`; for a cogroup, of its
inputs by name."""

Schemas = pa.Schema | Mapping[str, pa.Schema]
"""The columns of the data; for a cogroup, of its inputs by name."""


_STEPS = (
    "allowed: a function that takes the data and returns group_by(data, ...).windowed_by(...).agg(...); Spark's steps "
    "before and after that belong outside the function"
)


class Answer:
    """What `agg` returns to a definition: its plan, without rows for further steps."""

    def __init__(self, plan: Plan) -> None:
        """Of a plan."""
        self.plan = plan

    def __getattr__(self, name: str) -> Any:
        """There is nothing more."""
        raise _step(name, "behind agg(...)")

    def __getitem__(self, column: object) -> Any:
        """There are no columns."""
        raise _step(f"[{column!r}]", "behind agg(...)")


class Blank(Input[Answer]):
    """Columns without rows, for the plan of a query over them."""

    is_stream = True

    def __init__(self, schema: pa.Schema) -> None:
        """Of the columns of a schema."""
        self._schema = schema

    @property
    def columns(self) -> Sequence[str]:
        """The names of all columns, in order."""
        return self._schema.names

    def check_observation(self, observation: object) -> None:
        """Accepts anything: a driver always has its counters."""

    def check_start(self, opened: object) -> None:
        """Raises `TypeError` for a table of Spark, because a driver works in this process."""
        if any(kind.__module__.startswith("pyspark.") for kind in type(opened).__mro__):
            raise bad_type("open", opened, "a table in this process, such as still_open.toArrow() gives")

    def union(self, inputs: Sequence[Self], schema: pa.Schema | None = None, origins: Origins | None = None) -> Blank:
        """The columns of a cogroup; not the union of two DataFrames, which has no schema."""
        if schema is None:
            raise _step("union", "on the data")
        return Blank(schema)

    def output_name(self, argument: str, expression: ColumnExpression) -> str:
        """Raises `TypeError`: a driver computes no expressions."""
        allowed = "the name of a column of the schema, as a driver computes no expressions"
        raise TypeError(f"{argument}: got an expression ({expression}); allowed: {allowed}")

    def with_expressions(self, expressions: Mapping[str, ColumnExpression]) -> Self:
        """The same with the constant key of a query without keys, which the driver feeds."""
        for expression in expressions.values():
            if expression.language != CONSTANT:
                self.output_name("columns", expression)
        other = copy(self)
        other._schema = pa.schema([*self._schema, *(pa.field(name, pa.int32()) for name in expressions)])
        other.expressions = expressions
        return other

    def run(self, plan: Plan) -> Answer:
        """The plan itself."""
        return Answer(plan)

    def with_windows(self, plan: Plan) -> Answer:
        """A driver gives windows, not rows."""
        del plan
        raise _step("with_columns", "in place of agg(...)")

    def __getattr__(self, name: str) -> Any:
        """There are no rows, so DataFrame and table methods are missing."""
        raise _step(name, "on the data")

    def __getitem__(self, column: object) -> Any:
        """There are no columns of values."""
        raise _step(f"[{column!r}]", "on the data")

    def _field_at(self, argument: str, position: int, compared: Need | None) -> pa.Field[Any]:
        return carried(self._schema.field(position))


def plan_of(definition: Definition, schema: Schemas) -> Plan:
    """The plan that a definition makes over columns of these types; its own errors come through."""
    for name, given in schema.items() if isinstance(schema, Mapping) else [("schema", schema)]:
        if not isinstance(given, pa.Schema):
            raise bad_type(name, given, "a pyarrow.Schema of the data; for a cogroup, a dict of them by input")
        check_prefix(name, given.names)
    if not callable(definition):
        raise bad_type("definition", definition, "a function from data to a query over it")
    answer = _called(definition, schema)
    if not isinstance(answer, Answer):
        raise bad_type(
            "definition", answer, "a function that returns what agg(...) returned, and does nothing after it"
        )
    plan = answer.plan
    inputs = plan.origins.names if plan.origins is not None else ()
    named = tuple(schema) if isinstance(schema, Mapping) else ()
    if set(inputs) != set(named):
        allowed = f"schemas of {listed(inputs)}, by name" if inputs else "the schema of the one input of the definition"
        raise bad_value("schema", _schema_text(schema), allowed)
    return plan


def _called(definition: Definition, schema: Schemas) -> Any:
    """The result of the function. The call gives it only arguments that it takes, so a `TypeError` is its own."""
    named = {name: Blank(columns) for name, columns in schema.items()} if isinstance(schema, Mapping) else {}
    single = () if isinstance(schema, Mapping) else (Blank(schema),)
    try:
        signature = inspect.signature(definition)
    except (TypeError, ValueError):  # it is not known of some functions that are not written in Python
        return _run(definition, single, named)
    try:
        signature.bind(*single, **named)
    except TypeError as error:
        allowed = f"schemas of what the definition takes, {signature} ({error})"
        raise bad_value("schema", _schema_text(schema), allowed) from None
    return _run(definition, single, named)


def _run(definition: Definition, single: Sequence[Blank], named: Mapping[str, Blank]) -> Any:
    try:
        return definition(*single, **named)
    except AttributeError:  # its own, or that of a step
        raise
    except Exception as error:
        if not _in_pyspark(error.__traceback__):
            raise
        shown = f"{type(error).__name__}: {error}".rstrip(": ")
        raise TypeError(f"definition: got a function of pyspark, which raised {shown}; {_STEPS}") from error


def _in_pyspark(traceback: TracebackType | None) -> bool:
    """Whether an exception came through PySpark."""
    while traceback is not None:
        if str(traceback.tb_frame.f_globals.get("__name__")).partition(".")[0] == "pyspark":
            return True
        traceback = traceback.tb_next
    return False


def _step(name: str, where: str) -> AttributeError:
    if name.startswith("__"):  # what Python itself looks for
        return AttributeError(name)
    shown = name if name.startswith("[") else f".{name}"
    return AttributeError(f"definition: got {shown} {where}; {_STEPS}")


def _schema_text(schema: Schemas) -> object:
    return tuple(schema) if isinstance(schema, Mapping) else "one schema"
