"""`Aggregate`: a function by its name, its columns, and its options."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Never, Self

import pyarrow as pa

from windrow import _worker
from windrow.aggregates import arithmetic
from windrow.aggregates.evaluation import Expression, Named, Number, Operation
from windrow.column import column_name
from windrow.ddl import arrow_type
from windrow.errors import bad_type, bad_value, no_attribute, unknown_word
from windrow.integer import index_of

if TYPE_CHECKING:
    from windrow.column import ColumnName

FUNCTIONS = _worker.aggregate_functions()
"""The names of the built-in aggregates."""

MAKERS = (*FUNCTIONS, "avg", "count_if", "stddev_samp", "var_samp", "reduce", "aggregate", "apply", "window_id")
"""The functions that make aggregates."""

_NAMES = ("alias", "name")
"""What names a column in Spark and Polars."""


@dataclass(frozen=True)
class Aggregate:
    """One aggregate over the records of a window. Made by `count`, `sum` and the like, `reduce` and `aggregate`.

    Attributes:
        function: its name.
        columns: the columns that it reads.
        ignore_nulls: whether a null is passed over; only `first`, `last`, `any_value` and `collect_list` ask.
        percentage: the share of values below, from 0 to 1, or several; only percentiles ask.
        accuracy: how exact it is; only `approx_count_distinct` and `approx_percentile` ask.
        most: how many elements its list has at most; only `top_k` and `histogram_numeric` ask.
        condition: the boolean column that is true in the records that it sees; None where it sees all.
        inputs: the inputs of a cogroup, where it is of one.
        input: the one of them whose records alone it sees; None where it sees all.
    """

    function: str
    columns: tuple[str, ...] = ()
    ignore_nulls: bool | None = None
    percentage: float | tuple[float, ...] | None = field(default=None, kw_only=True)
    accuracy: float | None = field(default=None, kw_only=True)
    most: int | None = field(default=None, kw_only=True)
    condition: str | None = field(default=None, kw_only=True)
    inputs: tuple[str, ...] = field(default=(), kw_only=True, repr=False)
    input: str | None = field(default=None, kw_only=True, repr=False)

    if not TYPE_CHECKING:  # to a type checker there is no such attribute

        def __getattr__(self, name: str) -> Never:
            hint = "its name goes before it, as in agg(clicks=windrow.count())" if name in _NAMES else None
            raise no_attribute(self, name, hint)

    @property
    def maker(self) -> str:
        """The function that makes it, by its first name where it has two."""
        return self.function

    @property
    def read(self) -> tuple[str, ...]:
        """All columns that are read for it, its condition among them."""
        return self.columns if self.condition is None else (*self.columns, self.condition)

    @property
    def read_by(self) -> Iterator[tuple[str, str]]:
        """The same columns, each behind what reads it, as errors call it."""
        yield from ((self.maker, column) for column in self.columns)
        if self.condition is not None:
            columns = ", ".join(f'"{column}"' for column in self.columns)
            yield f"{self.maker}({columns}).where", self.condition

    def where(self, column: ColumnName) -> Self:
        """The same aggregate of the records alone in which a boolean column is true; SQL's `FILTER (WHERE ...)`.

        Null counts as false. A window is there whether or not it has such a record; where it has none, the aggregate is
        what it is over no records: 0 for `count`, null for `sum`.

        Of a cogroup both are columns of one input: `wr.sum("orders.amount").where("orders.paid")`.

        Raises:
            TypeError: `column` is not a name; from `agg`, a column of anything but booleans.
            ValueError: the aggregate has a condition already; from `agg`, a column that the data does not have.

        >>> from datetime import datetime
        >>> import pyarrow as pa
        >>> import windrow as wr
        >>> hours = [datetime(2026, 1, 1, hour) for hour in (8, 9, 10)]
        >>> orders = pa.table({"user": ["ann"] * 3, "ts": hours, "amount": [3, 9, 6], "paid": [True, None, True]})
        >>> day = wr.group_by(orders, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
        >>> day.agg(paid=wr.sum("amount").where("paid"))["paid"].to_pylist()
        [9]
        """
        if self.condition is not None:
            allowed = f"one condition, and this has {self.condition!r}: make one column of both"
            raise bad_value(f"{self.maker}(...).where(column=)", column, allowed)
        return replace(self, condition=column_name(f"{self.maker}(...).where(column=)", column))

    def then(self, fn: Callable[..., Any], *others: Aggregate, schema: str | pa.DataType | None = None) -> Computed:
        """What a function makes of the finished column, as a column in its place.

        `fn(column)` is called with the `pyarrow.Array` of many windows at once, `fn(column, *others)` with those of
        other aggregates too, and gives an array of as many values. It is called when windows have closed, with those of
        a batch; how windows are cut into batches is not defined, so a value may depend on its own window alone. It is
        not handed windows that a stream deletes, where the result is null.

        Args:
            fn: a function of arrays; on Spark it travels to executors, as the functions of `reduce` do.
            others: aggregates whose columns it is called with too.
            schema: the type of the result, in Spark's words or as an Arrow type; without it `agg` calls `fn` once with
                empty arrays, and takes the type of what that gives.

        Raises:
            TypeError: `fn` is no function, `others` are no aggregates, or `schema` is no type.
            ValueError: `schema` spells no type.

        >>> from datetime import datetime
        >>> import pyarrow as pa
        >>> import pyarrow.compute as pc
        >>> import windrow as wr
        >>> hours = [datetime(2026, 1, 1, hour) for hour in (8, 9, 10)]
        >>> orders = pa.table({"user": ["ann"] * 3, "ts": hours, "amount": [3.0, 9.0, 6.5]})
        >>> day = wr.group_by(orders, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
        >>> day.agg(spend=wr.sum("amount").then(pc.round))["spend"].to_pylist()
        [18.0]
        """
        if not callable(fn):
            raise bad_type("then(fn=)", fn, "a function of arrays")
        for other in others:
            if not isinstance(other, Aggregate):
                raise bad_type("then(others)", other, "an aggregate of windrow")
        kind = arrow_type("then(schema=)", schema) if isinstance(schema, str) else schema
        if not isinstance(kind, pa.DataType | None):
            raise bad_type("then(schema=)", schema, "a type in Spark's words, or an Arrow type")
        return Computed.of("then", fn, self, *others, type=kind)

    def __add__(self, other: Aggregate | Number) -> Computed:
        """The sum of two results, or of a result and a number."""
        return _arithmetic(arithmetic.total, self, other)

    def __radd__(self, other: Number) -> Computed:
        """The sum of a number and a result."""
        return _arithmetic(arithmetic.total, other, self)

    def __sub__(self, other: Aggregate | Number) -> Computed:
        """The difference of two results, or of a result and a number."""
        return _arithmetic(arithmetic.difference, self, other)

    def __rsub__(self, other: Number) -> Computed:
        """The difference of a number and a result."""
        return _arithmetic(arithmetic.difference, other, self)

    def __mul__(self, other: Aggregate | Number) -> Computed:
        """The product of two results, or of a result and a number."""
        return _arithmetic(arithmetic.product, self, other)

    def __rmul__(self, other: Number) -> Computed:
        """The product of a number and a result."""
        return _arithmetic(arithmetic.product, other, self)

    def __truediv__(self, other: Aggregate | Number) -> Computed:
        """One result over another, or over a number: a float64, null where it would be divided by zero."""
        return _arithmetic(arithmetic.quotient, self, other)

    def __rtruediv__(self, other: Number) -> Computed:
        """A number over a result: a float64, null where it would be divided by zero."""
        return _arithmetic(arithmetic.quotient, other, self)

    def check(self, argument: str) -> None:
        """Raises `ValueError` or `TypeError`, as of this argument, unless a function of windrow makes such.

        How many columns there are and of which types, the core checks.
        """
        if type(self) is Aggregate and self.function not in FUNCTIONS:
            raise unknown_word(f"{argument}: function", self.function, FUNCTIONS)
        if not isinstance(self.columns, tuple):
            raise bad_type(f"{argument}: columns", self.columns, "a tuple of names of columns")
        if not isinstance(self.ignore_nulls, bool | None):
            raise bad_type(f"{argument}: ignore_nulls", self.ignore_nulls, "True or False")
        if not isinstance(self.condition, str | None):
            raise bad_type(f"{argument}: condition", self.condition, "the name of a column")
        if self.input is not None:
            raise bad_value(f"{argument}: input", self.input, "None: a cogroup tells inputs by the names of columns")

    def plan(self, name: str) -> dict[str, object]:
        """What the core needs to know of this aggregate, whose result column is `name`."""
        plan: dict[str, object] = {"name": name, "function": self.function, "columns": list(self.columns)}
        if self.function == "collect_list":
            plan |= {"keep_nulls": True} if self.ignore_nulls is False else {}
        elif self.ignore_nulls is not None:
            plan["ignore_nulls"] = self.ignore_nulls
        if self.percentage is not None:
            plan["percentage"] = self.percentage
        if self.accuracy is not None:
            plan["accuracy"] = self.accuracy
        if self.most is not None:
            plan["most"] = self.most
        if self.condition is not None:
            plan["where"] = self.condition
        if self.input is not None:
            plan["input"] = self.inputs.index(self.input)
        return plan


@dataclass(frozen=True)
class Computed(Aggregate):
    """What is computed of finished aggregates. Made by arithmetic, `then` and `apply`.

    Attributes:
        steps: the aggregates and numbers that it is computed of, and the operations with them, in postfix order.
        last: the operation behind all of them.
    """

    steps: tuple[Aggregate | Number | Operation, ...] = field(kw_only=True)
    last: Operation = field(kw_only=True)

    @classmethod
    def of(
        cls, maker: str, fn: Callable[..., Any], *operands: Aggregate | Number, type: pa.DataType | None = None
    ) -> Computed:
        """What a function makes of these."""
        steps: list[Aggregate | Number | Operation] = []
        for operand in operands:
            steps += (*operand.steps, operand.last) if isinstance(operand, Computed) else (operand,)
        return cls(maker, steps=tuple(steps), last=Operation(fn, len(operands), type))

    @property
    def aggregates(self) -> Iterator[Aggregate]:
        """The aggregates of the core and of Python functions that it is computed of; one may be there twice."""
        return (step for step in self.steps if isinstance(step, Aggregate))

    def where(self, column: ColumnName) -> Computed:
        """The same of the records alone in which a boolean column is true: the condition is that of every part."""
        where = (step.where(column) if isinstance(step, Aggregate) else step for step in self.steps)
        return replace(self, steps=tuple(where))

    def expression(self, name_of: Callable[[Aggregate], str]) -> Expression:
        """The expression over columns that `name_of` names."""
        named = (Named(name_of(step)) if isinstance(step, Aggregate) else step for step in self.steps)
        return Expression(tuple(named), self.last)


def _arithmetic(fn: Callable[..., Any], *operands: object) -> Computed:
    taken: list[Aggregate | Number] = []
    for operand in operands:
        known = operand if isinstance(operand, Aggregate | float | Decimal) else index_of(operand)
        if known is None:
            return NotImplemented  # type: ignore[no-any-return]  # the operators' callers turn it into a TypeError
        if isinstance(known, int | Decimal):
            _check_digits(Decimal(known))
        taken.append(known)
    return Computed.of("arithmetic", fn, *taken)


def of_columns(function: str, **columns: ColumnName) -> Aggregate:
    """An aggregate over columns, each under the argument that names it; `TypeError` for what is no column."""
    names = (column_name(f"{function}({argument}=)", column) for argument, column in columns.items())
    return Aggregate(function, tuple(names))


def _check_digits(number: Decimal) -> None:
    """Raises `ValueError` for a number that no type of decimals holds."""
    places = number.as_tuple().exponent
    if not isinstance(places, int) or abs(number) >= 10**38 or -places > 38:
        raise bad_value("number", number, "a number of up to 38 digits on both sides of the point, or a float")
