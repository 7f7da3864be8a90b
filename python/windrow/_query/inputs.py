"""The inputs of a cogroup as one: their columns, and the union of their rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import pyarrow as pa

from windrow._arguments.errors import bad_type
from windrow._arguments.expression import ColumnExpression
from windrow._plan.casts import ARROW_CASTS, Casts
from windrow._plan.cogroup_rows import by_name
from windrow._plan.input import Input, Need, Result, Run
from windrow._plan.plan import Origins, Plan


class Inputs(Input[Result]):
    """The columns of several inputs, each under its input's name and a dot."""

    def __init__(self, inputs: Mapping[str, Input[Result]]) -> None:
        self._inputs = inputs
        self._first = next(iter(inputs.values()))
        self.is_stream, self.in_spark = self._first.is_stream, self._first.in_spark
        self.expressions = {
            f"{name}.{column}": expression
            for name, opened in inputs.items()
            for column, expression in opened.expressions.items()
        }

    @property
    def columns(self) -> Sequence[str]:
        return [f"{name}.{column}" for name, opened in self._inputs.items() for column in opened.columns]

    @property
    def row_columns(self) -> Sequence[str]:
        return list(dict.fromkeys(column for opened in self._inputs.values() for column in opened.row_columns))

    @property
    def is_case_sensitive(self) -> bool:
        return self._first.is_case_sensitive

    def output_name(self, argument: str, expression: ColumnExpression) -> str:
        raise bad_type("inputs", self, "what group_by(...) returned")

    def with_expressions(self, expressions: Mapping[str, ColumnExpression]) -> Self:
        raise bad_type("inputs", self, "what group_by(...) returned")

    def check_observation(self, observation: object) -> None:
        self._first.check_observation(observation)

    def check_start(self, opened: object) -> None:
        self._first.check_start(opened)

    def run(self, plan: Plan) -> Result:
        return self._united(plan).run(plan)

    def continued(self, plan: Plan, opened: Any) -> Plan:
        return self._united(plan).continued(plan, opened)

    def advance(self, plan: Plan, opened: Any, to: int) -> Run[Result]:
        return self._united(plan).advance(plan, opened, to)

    @property
    def zone(self) -> str | None:
        return self._first.zone

    def reader(self, plan: Plan) -> pa.RecordBatchReader:
        return self._united(plan).reader(plan)

    def with_windows(self, plan: Plan) -> Result:
        fields = {
            name: {column: opened.field(f"with_columns: {name}", column) for column in opened.row_columns}
            for name, opened in self._inputs.items()
        }
        try:
            of_rows, schema = by_name(plan, origins_of(plan), self._inputs, fields)
        except TypeError:
            nothing = {
                name: {column: field.with_type(pa.null()) for column, field in of_input.items()}
                for name, of_input in fields.items()
                if all(map(self._inputs[name].has_no_values, of_input))
            }
            of_rows, schema = by_name(plan, origins_of(plan), self._inputs, {**fields, **nothing})
        return self._first.union(list(self._inputs.values()), schema, origins_of(of_rows)).with_windows(of_rows)

    def has_no_values(self, column: str) -> bool:
        name, own = split_column(column)
        return self._inputs[name].has_no_values(own)

    def shown(self, column: str) -> str:
        name, own = split_column(column)
        return f"{name}.{self._inputs[name].shown(own)}"

    def written(self, column: str) -> tuple[str, Casts]:
        name, own = split_column(column)
        written, casts = self._inputs[name].written(own)
        if written.startswith(("table[", "frame[", "frame.")):  # an expression of a cogroup names the input, too
            written, casts = f"pyarrow.compute.field({own!r})", ARROW_CASTS
        in_sql = re.sub(r'^(struct_extract\(*)*(?=")', lambda match: f'{match[0]}"{name}".', written)
        return (in_sql if in_sql != written else written.replace("'", f"'{name}.", 1)), casts

    def sample(self, column: str) -> list[Any]:
        name, own = split_column(column)
        return self._inputs[name].sample(own)

    def fitted(self, plan: Plan, *, rows: bool, has_no_values: Callable[[str], bool]) -> Plan:
        return self._first.fitted(plan, rows=rows, has_no_values=has_no_values)

    def _united(self, plan: Plan) -> Input[Result]:
        return self._first.union(list(self._inputs.values()), plan.schema, origins_of(plan))

    def union(self, inputs: Sequence[Any], schema: pa.Schema, origins: Origins) -> Input[Result]:
        raise bad_type("inputs", self, "what group_by(...) returned")

    def _field_at(self, argument: str, position: int, compared: Need | None) -> pa.Field[Any]:
        name, column = split_column(self.columns[position])
        field = self._inputs[name].field(argument, column, compared=compared)
        return field.with_name(f"{name}.{column}").with_nullable(True)


def origins_of(plan: Plan) -> Origins:
    if plan.origins is None:
        raise ValueError("plan: got one without inputs; allowed: the plan of a cogroup")
    return plan.origins


def split_column(column: str) -> tuple[str, str]:
    """The input's name, empty where none is named, and the column."""
    name, dot, rest = column.partition(".")
    return (name, rest) if dot else ("", column)
