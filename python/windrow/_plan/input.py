"""The input of a query: a Spark frame or in-process Arrow data, with one interface."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, Literal, Self, TypeVar

import pyarrow as pa

from windrow._arguments.column import column_position
from windrow._arguments.errors import NO_NULL_CHARACTER, bad_type, bad_value, listed, unknown_column
from windrow._arguments.expression import FIELD, ColumnExpression, Reference
from windrow._arguments.nested import nullable
from windrow._plan.casts import ARROW_CASTS, Casts
from windrow._plan.plan import Origins, Plan

Need = Literal["equality", "order", "number"]
"""What a query needs of the values of a column: to compare them, to calculate, or a type that the next run knows."""

Result = TypeVar("Result")
"""The result of a query over an input: a Spark `DataFrame`, or in-process the kind of the data."""


@dataclass(frozen=True)
class Run(Generic[Result]):
    """What one run of a daily job gives: its closed windows, and those that are still open.

    It unpacks into both. They are filters of `rows`, of the same kind.

    Attributes:
        closed: the windows that no later record can change, as `agg` gives them.
        still_open: the table of open windows, which the next run reads.
        rows: the rows of both, with the column `status`: "closed" or "open".
    """

    closed: Result
    still_open: Result
    rows: Result

    def __iter__(self) -> Iterator[Result]:
        """The closed windows, then those that are still open."""
        return iter((self.closed, self.still_open))


def check_table(open: object) -> None:
    """Raises `TypeError` for a whole run in place of its table of open windows."""
    if isinstance(open, Run):
        raise bad_type("open", open, "its still_open, which is the table of open windows")


ALLOWED = (
    "a Spark DataFrame, the path of Parquet files, a pyarrow Table, RecordBatch or RecordBatchReader, a Polars frame, "
    "a DuckDB relation, a pandas DataFrame, a list of pyarrow Tables or RecordBatches, or anything else that gives an "
    "Arrow stream (__arrow_c_stream__)"
)


def libraries_of(data: object) -> set[str]:
    """The libraries that define the type of an object."""
    return {kind.__module__.partition(".")[0] for kind in type(data).__mro__}


class Input(ABC, Generic[Result]):
    """The columns that a query may name, and how to run a query over them.

    Attributes:
        expressions: the columns that are computed for the query, by name. They come last, and no record shows them.
        is_stream: whether the rows never end.
        in_spark: whether Spark runs the query. Its rows have no order in which a stream would bring them.
    """

    expressions: Mapping[str, ColumnExpression] = MappingProxyType({})
    is_stream = False
    in_spark = False

    @property
    @abstractmethod
    def columns(self) -> Sequence[str]:
        """The names of all columns, in order; a name may occur twice."""

    @property
    def row_columns(self) -> Sequence[str]:
        """The names of the columns in which records come back."""
        return self.columns[: len(self.columns) - len(self.expressions)]

    @abstractmethod
    def output_name(self, argument: str, expression: ColumnExpression) -> str:
        """The library's name for the column of an expression.

        Raises:
            TypeError: an expression of another library.
            ValueError: one that gives no single column over these columns.
        """

    @abstractmethod
    def with_expressions(self, expressions: Mapping[str, ColumnExpression]) -> Self:
        """The same with further columns, by name."""

    def reference(self, column: str) -> Reference:
        """The expression behind a column, or the name of a column of the data."""
        return self.expressions.get(column, column)

    def is_column(self, expression: ColumnExpression) -> bool:
        """Whether an expression that looks like the name of a column is this column."""
        return True

    def spelled(self, column: str) -> str:
        """The name as the data spells it."""
        return column

    @property
    def is_case_sensitive(self) -> bool:
        """Whether two columns of a result may have names that differ only in case."""
        return False

    def is_same(self, name: str, other: str) -> bool:
        """Whether two names are of one column in a result."""
        return name == other or (name.casefold() == other.casefold() and not self.is_case_sensitive)

    @abstractmethod
    def check_observation(self, observation: object) -> None:
        """Raises unless the counters of a query over this input can be reported to `observation`."""

    def check_start(self, opened: object) -> None:
        """Raises unless a query over this input can begin with a table of open windows."""
        raise TypeError(
            "start_from: got a batch; allowed: a streaming DataFrame (a batch continues with advance(open, to=...))"
        )

    @abstractmethod
    def run(self, plan: Plan) -> Result:
        """The result of a plan; the core's own checks of types come first (`TypeError`, `ValueError`)."""

    def reader(self, plan: Plan) -> pa.RecordBatchReader:
        """The result of a plan in batches, over in-process data; `TypeError` over anything else."""
        raise TypeError(
            "to_reader: got data that is not in this process; allowed: Arrow data, Polars, DuckDB or pandas (Spark "
            "writes its own results: agg(...).write.parquet(path))"
        )

    @abstractmethod
    def with_windows(self, plan: Plan) -> Result:
        """All rows and columns. Each row has its window of a plan, and the aggregates of that window."""

    def advance(self, plan: Plan, opened: Any, to: int) -> Run[Result]:
        """One run of a daily job: the rows of a plan over the open windows and these records, up to `to`."""
        raise TypeError(
            "advance: got a streaming DataFrame; allowed: a batch DataFrame, or data in this process (a stream keeps "
            "its open windows in its checkpoint)"
        )

    @abstractmethod
    def union(self, inputs: Sequence[Any], schema: pa.Schema, origins: Origins) -> Input[Result]:
        """The rows of the inputs of a cogroup, all of this kind, in the schema of a plan."""

    def has_no_values(self, column: str) -> bool:
        """Whether the column has no value, so that its type says nothing: it is Arrow's null, or there are no rows."""
        return False

    def fitted(self, plan: Plan, *, rows: bool, has_no_values: Callable[[str], bool]) -> Plan:
        """The plan with types that its aggregates allow for the columns that hold nothing."""
        return plan

    def continued(self, plan: Plan, opened: Any) -> Plan:
        """The plan of a daily job. Columns that hold nothing have the types of the run that left windows open."""
        return plan

    def holds_integers(self, column: str) -> bool:
        """Whether a column of another type holds integers, and is read as them."""
        return False

    @property
    def zone(self) -> str | None:
        """The time zone in which a session shows times; None if columns have their own."""
        return None

    def rows(self, schema: pa.Schema, keys: Sequence[str], wanted: Sequence[pa.RecordBatch]) -> pa.Table:
        """These columns of at least the rows whose key columns `keys` have the values of one of the `wanted` rows."""
        raise bad_type("data", self, "data in this process, or a Spark DataFrame that is not a stream")

    @abstractmethod
    def _field_at(self, argument: str, position: int, compared: Need | None) -> pa.Field[Any]:
        """The Arrow field of one column, or `TypeError` where it has none."""

    def position(self, argument: str, column: str) -> int:
        """The position of the column; `ValueError` if the data has none or several of this name."""
        columns = list(self.columns)
        if column in columns:
            return column_position(argument, column, columns)
        unnamed = self.unnamed(argument)
        if unnamed is not None:
            shown = listed(list(self.row_columns))
            raise bad_value(argument, column, f"{unnamed}, or a column of the data, which has {shown}")
        struct = next((before for before in _before_dots(column) if self._struct(before) is not None), None)
        fields = None if struct is None else [field.name for field in self._struct(struct) or ()]
        own = [name for name in columns if name not in self.expressions]
        raise unknown_column(argument, column, own, struct=struct, fields=fields)

    def field_path(self, column: str) -> tuple[str, ...] | None:
        """The path to the field of a struct that a name with dots means; None for any other name."""
        for before in _before_dots(column):
            name = self.spelled(before)
            kind: Any = self._struct(name)
            path = [name]
            for part in column[len(before) + 1 :].split("."):
                fields = [field.name for field in kind] if isinstance(kind, pa.StructType) else []
                found = [field for field in fields if self._is_spelled(part, field)]
                if len(found) != 1:
                    break
                path.append(found[0])
                kind = kind.field(fields.index(found[0])).type
            else:
                return tuple(path)
        return None

    def _is_spelled(self, name: str, other: str) -> bool:
        """Whether a user may write `name` for a column or field called `other`."""
        return name == other

    def field(self, argument: str, column: str, *, compared: Need | None = None) -> pa.Field[Any]:
        """The Arrow field of the column that `argument` names. `compared`: how values are compared, if they are.

        Nulls are allowed within its values: another input, another day, and a window without a value may have them.
        """
        if not isinstance(column, str):
            raise bad_type(argument, column, "the name of a column")
        with self.named():
            field = self._field_at(argument, self.position(argument, column), compared)
        cut = next((name for name in _names(field) if "\0" in name), None)
        if cut is not None:
            raise bad_value(argument, cut, NO_NULL_CHARACTER)
        return field.with_type(nullable(field.type))

    def type_of(self, field: pa.Field[Any]) -> tuple[str, str | None]:
        """A column's type in the words of its library, and what it means beside Arrow's type; None if nothing."""
        return str(field.type), None

    def duration_of(self, column: str) -> ColumnExpression | None:
        """The durations of a gap column of another type; None if the column has durations itself, or has none."""
        return None

    def shown(self, column: str) -> str:
        """A column as errors name it: a field of a struct by its path."""
        expression = self.expressions.get(column)
        if expression is None:
            return column
        return str(expression) if expression.language == FIELD else expression.column or column

    @contextmanager
    def named(self) -> Iterator[None]:
        """Gives columns the names of `shown` in errors that the core raises in this block."""
        try:
            yield
        except (TypeError, ValueError, OverflowError) as error:
            text = str(error)
            for name in self.expressions:
                text = _with_path(text, name, self.shown(name))
            if text != str(error):
                error.args = (text,)
            raise

    def written(self, column: str) -> tuple[str, Casts]:
        """A column as a user of its library writes it, and how the library makes other types of it."""
        return f"table[{column!r}]", ARROW_CASTS

    def cast(self, column: str, kind: pa.DataType) -> str | None:
        """How its library gives a column another type; None if there is no data yet."""
        return None

    def sample(self, column: str) -> list[Any]:
        """Some values of a column, without nulls; none if the data is not in-process."""
        return []

    def unnamed(self, argument: str) -> str | None:
        """How to name nameless data that `argument` may mean; None if there is none."""
        return None

    def _struct(self, column: str) -> pa.StructType | None:
        """The type of a column that is a struct."""
        if column not in self.columns:
            return None
        try:
            kind = self._field_at("column", list(self.columns).index(column), None).type
        except TypeError:  # it cannot be read as Arrow data
            return None
        return kind if isinstance(kind, pa.StructType) else None


def _with_path(text: str, name: str, path: str) -> str:
    """The text of an error with the path of a column in place of its name, also in the hint of the core."""
    quoted = f'"{path}"'.replace("\\", r"\\")
    text = re.sub(rf'(?<!aggregate )"{re.escape(name)}"', quoted, text)
    return text.replace(f"column {name!r} ", f"column {path!r} ")


def _names(field: pa.Field[Any]) -> Iterator[str]:
    """The names of a field and of the fields within its type."""
    yield field.name
    for position in range(field.type.num_fields):
        yield from _names(field.type.field(position))


def _before_dots(column: str) -> Iterator[str]:
    """The parts before each dot of a name, the shortest first."""
    return (column[:place] for place, letter in enumerate(column) if letter == ".")
