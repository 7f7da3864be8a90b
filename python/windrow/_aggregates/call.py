"""`AggregateCall`: a function by its name, its columns, and its options."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from windrow._aggregates import arithmetic
from windrow._aggregates.evaluation import Expression, Named, Number, Operation
from windrow._aggregates.frame import Frame
from windrow._arguments.errors import bad_value, function_name
from windrow._arguments.expression import Reference, condition_reference

if TYPE_CHECKING:
    from windrow._arguments.expression import ColumnName

_ACCURACY = {"approx_count_distinct": ("rsd", 0.05), "approx_percentile": ("accuracy", 10_000)}
"""The name of the argument for `accuracy`, and its default."""

OF_COLUMN = ("min", "max", "first", "last", "any_value", "min_by", "max_by", "mode", "bit_and", "bit_or", "bit_xor")
"""The functions whose result is of the type of their first column."""

LISTS_OF_COLUMN = ("collect_list", "collect_set", "path")
"""The functions whose result is a list of values of their column."""

RANKS = ("min", "max", "min_by", "max_by", "mode", "top_k")
"""The functions that need the order of the values that they compare, not only their equality."""

_OF_ROWS = ("top_k",)
"""The functions that take records without a value, too."""

_BY = ("min_by", "max_by")
"""The functions that take the records in which their second column has a value."""

MOST_RECORDS = 2**63 - 1
"""The largest number of records that a count holds."""

_SIGNS = {arithmetic.total: "+", arithmetic.difference: "-", arithmetic.product: "*", arithmetic.quotient: "/"}


@dataclass(frozen=True, repr=False)
class AggregateCall:
    """One aggregate over the records of a window. Its repr is what a user writes.

    Attributes:
        function: its name in the core.
        columns: the columns that it reads; expressions until it meets the data.
        ignore_nulls: whether nulls are skipped; for `first`, `last`, `any_value` and `collect_list`.
        percentage: the share of values below, from 0 to 1, or several shares; for percentiles.
        accuracy: how exact it is; for `approx_count_distinct` and `approx_percentile`.
        most: the greatest length of its list; for `top_k` and `histogram_numeric`.
        condition: the boolean column that is true in the records that it sees; None for all records.
        is_count_if: whether the user wrote `count_if` for `count().where`; errors say so.
        frame: the times before a record that it covers; None for the whole window.
        least: the least number of records that it takes for a result; None for any.
        inputs: the inputs of a cogroup; empty for one input.
        input: the one input whose records it sees; None for all.
    """

    function: str
    columns: tuple[Any, ...] = ()
    ignore_nulls: bool | None = field(default=None, kw_only=True)
    percentage: float | tuple[float, ...] | None = field(default=None, kw_only=True)
    accuracy: float | None = field(default=None, kw_only=True)
    most: int | None = field(default=None, kw_only=True)
    condition: Any = field(default=None, kw_only=True)
    is_count_if: bool = field(default=False, kw_only=True, compare=False)
    frame: Frame | None = field(default=None, kw_only=True)
    least: int | None = field(default=None, kw_only=True)
    inputs: tuple[str, ...] = field(default=(), kw_only=True)
    input: str | None = field(default=None, kw_only=True)

    @property
    def maker(self) -> str:
        """The function of windrow that makes it, by its first name if it has two."""
        return self.function

    @property
    def read(self) -> tuple[str, ...]:
        """All columns that it reads, its condition among them."""
        return self.columns if self.condition is None else (*self.columns, self.condition)

    @property
    def read_by(self) -> Iterator[tuple[str, str]]:
        """The same columns, each after the name of its reader in errors."""
        yield from ((self.maker, column) for column in self.columns)
        if self.condition is not None:
            columns = ", ".join(f'"{column}"' for column in self.columns)
            yield "count_if" if self.is_count_if else f"{self.maker}({columns}).where", self.condition

    def renamed(self, named: Callable[[str, Reference], tuple[str, str]]) -> Self:
        """The same over names of columns.

        `named` takes a reader and the column that it reads. It gives the name of the column in the data, and in rows.
        """
        names = [named(reader, column)[0] for reader, column in self.read_by]
        condition = None if self.condition is None else names.pop()
        return replace(self, columns=tuple(names), condition=condition)

    def where(self, column: ColumnName) -> Self:
        """The same aggregate of the records in which a boolean column is true."""
        if self.condition is not None:
            allowed = f"one condition; this aggregate has {self.condition!r} already: combine both in one expression"
            raise bad_value(f"{self!r}.where(column=)", column, allowed)
        return replace(self, condition=condition_reference(f"{self.maker}(...).where(column=)", column))

    @property
    def whole(self) -> str | None:
        """Why it has neither `over` nor `min_samples`; None if it may have both."""
        return None

    def framed(self, frame: Frame) -> Self:
        """The same aggregate of the records in a frame."""
        if self.whole is not None:
            raise bad_value(f"{self!r}.over", frame, f"no over(...): {self.whole}")
        if self.frame is not None:
            raise bad_value(f"{self!r}.over", frame, "one over(...); this aggregate has one already")
        return replace(self, frame=frame)

    def sampled(self, least: int) -> Self:
        """The same aggregate, null if it takes fewer records."""
        if self.whole is not None:
            raise bad_value(f"{self!r}.min_samples(n=)", least, f"no min_samples(...): {self.whole}")
        if self.least is not None:
            allowed = "one min_samples(...); this aggregate has one already"
            raise bad_value(f"{self!r}.min_samples(n=)", least, allowed)
        return replace(self, least=least)

    @property
    def unlimited(self) -> Self:
        """The same aggregate of any number of records."""
        return self if self.least is None else replace(self, least=None)

    @property
    def counted(self) -> tuple[str, ...]:
        """The columns that hold a value in each record that it takes."""
        if self.function in _OF_ROWS or self.ignore_nulls is False:
            return ()
        return self.columns[1:] if self.function in _BY else self.columns

    @property
    def count(self) -> AggregateCall:
        """How many records it takes."""
        options: Any = {name: getattr(self, name) for name in ("condition", "frame", "inputs", "input")}
        return AggregateCall("count", self.counted, **options)

    @property
    def selection(self) -> str:
        """The user's calls after the one that makes it: `where`, `over` and `min_samples`."""
        condition = "" if self.condition is None else f".where({self.condition!r})"
        frame = "" if self.frame is None else f".over({self.frame!r})"
        return f"{condition}{frame}{'' if self.least is None else f'.min_samples({self.least})'}"

    def plan(self, name: str) -> dict[str, object]:
        """Its plan for the core; `name` is the result column."""
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
        if self.frame is not None:
            plan["frame"] = self.frame.plan()
        if self.input is not None:
            plan["input"] = self.inputs.index(self.input)
        return plan

    def __repr__(self) -> str:
        """The text that a user writes."""
        return f"{self.maker}({', '.join(self._arguments())}){self.selection}"

    def _arguments(self) -> Iterator[str]:
        yield from map(repr, self.columns)
        if self.percentage is not None:
            yield repr(list(self.percentage) if isinstance(self.percentage, tuple) else self.percentage)
        if self.most is not None:
            yield repr(self.most)
        if self.accuracy is not None and self.accuracy != _ACCURACY[self.function][1]:
            yield f"{_ACCURACY[self.function][0]}={self.accuracy!r}"
        if self.ignore_nulls is not None and self.ignore_nulls is (self.function != "collect_list"):
            yield f"ignore_nulls={self.ignore_nulls}"


@dataclass(frozen=True, repr=False)
class Computed(AggregateCall):
    """A column computed from finished aggregates. Made by arithmetic, `then` and `apply`.

    Attributes:
        steps: the aggregates, other result columns, numbers and operations that compute it, in postfix order.
        last: the operation behind all of them.
    """

    steps: tuple[AggregateCall | Named | Number | Operation, ...] = field(kw_only=True)
    last: Operation = field(kw_only=True)

    @classmethod
    def of(
        cls, maker: str, fn: Callable[..., Any], *operands: AggregateCall | Number, type: pa.DataType | None = None
    ) -> Computed:
        """The result of a function over these."""
        steps: list[AggregateCall | Named | Number | Operation] = []
        for operand in operands:
            steps += (*operand.steps, operand.last) if isinstance(operand, Computed) else (operand,)
        return cls(maker, steps=tuple(steps), last=Operation(fn, len(operands), type))

    @property
    def aggregates(self) -> Iterator[AggregateCall]:
        """The aggregates of the core and of Python functions that compute it; one may occur twice."""
        return (step for step in self.steps if isinstance(step, AggregateCall))

    @property
    def whole(self) -> str | None:
        """Why it has neither `over` nor `min_samples`: `window_length` has neither."""
        has_length = any(isinstance(step, Named) for step in self.steps)  # the column of windows
        return "window_length() is the length of the window itself" if has_length else None

    def where(self, column: ColumnName) -> Self:
        """The same over the records in which a boolean column is true: every part gets the condition."""
        if self.whole is not None:
            raise bad_value(
                f"{self._operand}.where(column=)",
                column,
                "no condition with window_length(): every window has a length",
            )
        return self._of_parts(lambda part: part.where(column))

    def framed(self, frame: Frame) -> Self:
        """The same over the records in a frame: every part gets the frame."""
        if self.whole is not None:
            raise bad_value(f"{self._operand}.over", frame, f"no over(...): {self.whole}")
        return self._of_parts(lambda part: part.framed(frame))

    def sampled(self, least: int) -> Self:
        """The same, where each part is null if it takes fewer records."""
        if self.whole is not None:
            raise bad_value(f"{self._operand}.min_samples(n=)", least, f"no min_samples(...): {self.whole}")
        return self._of_parts(lambda part: part.sampled(least))

    def renamed(self, named: Callable[[str, Reference], tuple[str, str]]) -> Self:
        """The same with all parts over names of columns."""
        return self._of_parts(lambda part: part.renamed(named))

    def expression(self, column_of: Callable[[AggregateCall], Named]) -> Expression:
        """The expression over the columns of its parts."""
        named = (column_of(step) if isinstance(step, AggregateCall) else step for step in self.steps)
        return Expression(tuple(named), self.last)

    def _of_parts(self, change: Callable[[AggregateCall], AggregateCall]) -> Self:
        """The same with another aggregate in place of each part."""
        steps = (change(step) if isinstance(step, AggregateCall) else step for step in self.steps)
        return replace(self, steps=tuple(steps))

    def __repr__(self) -> str:
        """The text that a user writes."""
        return self._operand[1:-1] if self.last.function in _SIGNS else self._operand

    @property
    def _operand(self) -> str:
        """The text in front of a method call: arithmetic is in brackets."""
        terms: list[tuple[str, AggregateCall | Named | Number | Operation]] = []
        for step in (*self.steps, self.last):
            text = repr(step)
            if isinstance(step, Operation):
                operands = terms[len(terms) - step.operands :]
                del terms[len(terms) - step.operands :]
                text = _operation(step, operands)
            terms.append((text, step))
        ((text, _),) = terms
        return text


def _operation(step: Operation, operands: list[tuple[str, AggregateCall | Named | Number | Operation]]) -> str:
    """The text that a user writes for an operation with operands."""
    if step.function is arithmetic.length:
        return "window_length()"
    sign = _SIGNS.get(step.function)
    texts = [text for text, _ in operands]
    if sign is not None:
        return f"({texts[0]} {sign} {texts[1]})"
    name, schema = function_name(step.function), [] if step.type is None else [f"schema={step.type!r}"]
    if step.of_lists:
        lists = [call for _, call in operands if isinstance(call, AggregateCall)]
        columns = [repr(column) for call in lists for column in call.columns]
        return f"apply({', '.join([name, *columns, *schema])}){lists[0].selection}"
    return f"{texts[0]}.then({', '.join([name, *texts[1:], *schema])})"
