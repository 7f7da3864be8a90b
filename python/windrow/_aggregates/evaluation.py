"""Columns computed from finished aggregates, by arithmetic, `then` and `apply`.

Expressions name their columns, and are pickled to the step that returns windows. Rows are windows:

```text
 user  window  ratio: sum(x)  ratio: count()   of the core
 user  window  ratio                           Finish: what was asked for, in its order; the parts are gone
```

An expression is a row of steps in postfix order, so that one of thousands of terms needs no recursion:

```text
 (sum(x) - 1) / count()        sum(x)  1  difference  count()  quotient
```
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._aggregates.conversion import as_type
from windrow._arguments.errors import aggregate_argument, bad_type
from windrow._arguments.nested import no_rows, nullable, nulls
from windrow._arguments.type_names import VIEWS
from windrow._folds.python_values import value_text
from windrow._folds.user_code import user_frame

Number = int | float | Decimal


@dataclass(frozen=True)
class Named:
    """A column of the core's result, null in windows that took too few records.

    Attributes:
        name: its name.
        counter: the column of the number of records that a window took; None where any number is enough.
        least: the smallest number of records that is enough.
    """

    name: str
    counter: str | None = None
    least: int = 0

    def of(self, batch: pa.RecordBatch) -> pa.Array[Any]:
        """The column of the rows of a batch."""
        values: pa.Array[Any] = batch.column(self.name)
        if self.counter is not None:
            values = _only(values, pc.greater_equal(batch.column(self.counter), pa.scalar(self.least)))
        return values


@dataclass(frozen=True)
class Operation:
    """A function over whole columns, the results of the steps before it.

    Attributes:
        function: takes arrays, and numbers as scalars, and gives an array of as many values.
        operands: how many results it takes.
        type: the type of its result; None for the type of the array that it returns.
        of_lists: whether it takes the lists of `apply`. Where one is null, the result is null, without a call.
    """

    function: Callable[..., Any]
    operands: int
    type: pa.DataType | None = None
    of_lists: bool = False

    def evaluate(self, operands: list[Any], rows: int) -> pa.Array[Any]:
        """The column, with this many rows."""
        if self.of_lists and any(operand.null_count for operand in operands):
            kept = functools.reduce(pc.and_, (operand.is_valid() for operand in operands))
            places, count = _places(kept), kept.true_count
            if not count:
                return nulls(rows, self.type)
            return _spread(self.evaluate([_kept(operand, kept) for operand in operands], count), places)
        result = self.function(*operands)
        if isinstance(result, pa.ChunkedArray):
            result = result.combine_chunks()
        if not isinstance(result, pa.Array):
            raise bad_type("the result", result, "a pyarrow.Array")
        if len(result) != rows:
            raise ValueError(f"the result: got {len(result)} values for {rows} windows; allowed: one for each")
        if self.type is not None:
            return as_type(result, self.type)
        if pa.types.is_null(result.type) and not rows:
            raise TypeError(
                "got an array of type null for no windows; allowed: an array of the result's type, or then(schema=) "
                "with that type"
            )
        return result


@dataclass(frozen=True)
class Expression:
    """A column that is computed from others.

    Attributes:
        steps: columns, numbers, and operations, each behind the steps that give its operands.
        last: the operation behind all of them, which gives the result.
    """

    steps: tuple[Named | Number | Operation, ...]
    last: Operation

    def evaluate(self, batch: pa.RecordBatch) -> pa.Array[Any]:
        """The column over the rows of a batch."""
        results: list[Any] = []
        for step in (*self.steps, self.last) if batch.num_rows else self._untyped():
            if isinstance(step, Operation):
                taken = len(results) - step.operands
                results[taken:] = [step.evaluate(results[taken:], batch.num_rows)]
            elif isinstance(step, pa.DataType):
                results.append(nulls(0, step))
            else:
                results.append(step.of(batch) if isinstance(step, Named) else _scalar(step))
        column: pa.Array[Any] = results[-1]
        return column

    def typed(self, kind: pa.DataType) -> Expression:
        """The same, with a result of this type."""
        return replace(self, last=replace(self.last, type=kind))

    def _untyped(self) -> list[Any]:
        """The steps over no rows: types stand for operations that have one, with all that they are made of."""
        steps: list[Any] = []
        passed = 0
        for step in (self.last, *reversed(self.steps)):
            operands = step.operands if isinstance(step, Operation) else 0
            if passed:
                passed += operands - 1
            elif isinstance(step, Operation) and step.type is not None:
                steps.append(step.type)
                passed = operands
            else:
                steps.append(step)
        return steps[::-1]


def _scalar(number: Number) -> pa.Scalar[Any]:
    fits = isinstance(number, float | Decimal) or -(2**63) <= number < 2**63
    return pa.scalar(number if fits else Decimal(number))


@dataclass
class Tally:
    """A count of computed results that are null because they do not fit their type.

    Attributes:
        overflows: how many there are.
    """

    overflows: int = 0


@dataclass(frozen=True)
class Finish:
    """The last step of a query with computed columns.

    Attributes:
        columns: the columns of the result, in order: those that pass, and those that are computed, by name.
        parts: columns of the core's result that only computed ones and least numbers of records need.
        has_op: whether the column `op` is what each row means, and not a key or an aggregate.
        nulls: whether a result that does not fit its type is null, and not an error.
        tally: counts such results.
    """

    columns: tuple[tuple[str, Named | Expression], ...]
    parts: tuple[str, ...]
    has_op: bool
    nulls: bool = False
    tally: Tally = dataclass_field(default_factory=Tally, compare=False)

    @property
    def limited(self) -> set[str]:
        """The columns of aggregates that are null where they take too few records."""
        return {name for name, column in self.columns if isinstance(column, Named) and column.counter is not None}

    def batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of a batch of the core's result. Other columns, such as counters, follow."""
        names, rows = {name for name, _ in self.columns} | set(self.parts), _Rows(batch, self.has_op)
        arrays: list[Any] = []
        fields: list[pa.Field[Any]] = []
        for name, column in self.columns:
            if isinstance(column, Named):
                arrays.append(column.of(batch))
                field = batch.schema.field(column.name).with_name(name)
                fields.append(field if column.counter is None else field.with_nullable(True))
            else:
                arrays.append(self._computed(name, column, rows))
                fields.append(pa.field(name, arrays[-1].type))
        for field in batch.schema:
            if field.name not in names:
                arrays.append(batch.column(field.name))
                fields.append(field)
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))

    def batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same for several."""
        return map(self.batch, batches)

    def schema(self, core: pa.Schema) -> pa.Schema:
        """The columns of the result for these columns of the core. Calls functions without a type with empty arrays.

        `TypeError` where that gives an array without a type.
        """
        empty = no_rows(core)
        return self.batch(empty).schema

    def typed(self, core: pa.Schema) -> Finish:
        """The same, with the types of `schema` for all results. Nulls are allowed within them: rows may have none."""
        schema = self.schema(core)

        def of_type(name: str, column: Named | Expression) -> Named | Expression:
            return column.typed(nullable(schema.field(name).type)) if isinstance(column, Expression) else column

        return replace(self, columns=tuple((name, of_type(name, column)) for name, column in self.columns))

    def _computed(self, name: str, column: Expression, rows: _Rows) -> pa.Array[Any]:
        try:
            made = _of_fitting(column, rows.windows, self.tally) if self.nulls else column.evaluate(rows.windows)
            return rows.spread(made)
        except OverflowError as error:
            raise _named(name, error, _place(column, rows.windows)) from error
        except Exception as error:
            raise _named(name, error) from error


def _of_fitting(column: Expression, windows: pa.RecordBatch, tally: Tally) -> pa.Array[Any]:
    """The column over windows, with nulls for results that do not fit their type."""
    try:
        return column.evaluate(windows)
    except OverflowError:
        if not windows.num_rows:
            raise
        if windows.num_rows > 1:
            middle = windows.num_rows // 2
            halves = (windows.slice(0, middle), windows.slice(middle))
            joined: pa.Array[Any] = pa.concat_arrays([_of_fitting(column, half, tally) for half in halves])
            return joined
        tally.overflows += 1
        return nulls(1, column.evaluate(windows.slice(0, 0)).type)


class _Rows:
    """The rows of a batch that have aggregates: windows that are not deleted, no counters, no records left out."""

    def __init__(self, batch: pa.RecordBatch, has_op: bool) -> None:
        kept: Any = batch.column("window").is_valid()
        if has_op:
            lacks: Any = pc.is_in(batch.column("op"), value_set=pa.array(["delete", "left_out"]))
            kept = pc.and_not(kept, lacks)
        self._places: Any = None
        self.windows = batch
        if pc.all(kept).as_py() is False:
            columns = [_kept(column, kept) for column in batch.columns]
            self.windows = pa.RecordBatch.from_arrays(columns, schema=batch.schema)
            self._places = _places(kept)

    def spread(self, values: pa.Array[Any]) -> pa.Array[Any]:
        """A column for all rows: the values in these rows, null in the others."""
        return values if self._places is None else _spread(values, self._places)


def _kept(values: Any, kept: Any) -> Any:
    """The values where `kept` is true, of any type."""
    try:
        return values.filter(kept)
    except pa.ArrowNotImplementedError:  # such as views, and what holds them
        places: Any = pc.indices_nonzero(kept)
        return pa.concat_arrays([values.slice(0, 0), *(values.slice(row, 1) for row in places.to_pylist())])


def _spread(values: pa.Array[Any], places: Any) -> pa.Array[Any]:
    """The values at these places, of any type; null where a place is null."""
    try:
        return values.take(places)
    except pa.ArrowNotImplementedError:
        null = nulls(1, values.type)
        return pa.concat_arrays([null if place is None else values.slice(place, 1) for place in places.to_pylist()])


def _only(values: Any, kept: Any) -> Any:
    """The values where `kept` is true, null elsewhere; of the same type, which may be any."""
    kind = values.type
    if not len(values) or pc.all(kept, skip_nulls=False).as_py() is True:
        return values
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, _only(values.storage, kept))
    plain = VIEWS.get(str(kind))
    if plain is not None:  # pyarrow cannot choose among views
        return _only(values.cast(plain), kept).cast(kind)
    null = nulls(1, kind)
    try:
        return pc.if_else(kept.fill_null(False), values, null[0])
    except pa.ArrowNotImplementedError:  # nor among run-end encoded values or lists of extension types
        flags = kept.to_pylist()
        return pa.concat_arrays([values.slice(row, 1) if flag else null for row, flag in enumerate(flags)])


def _places(kept: Any) -> Any:
    """For each kept row its place among the kept rows; null for the others."""
    counted = pc.subtract(pc.cumulative_sum(kept.cast(pa.int64())), pa.scalar(1))
    return pc.if_else(kept, counted, pa.scalar(None, pa.int64()))


def _place(column: Expression, windows: pa.RecordBatch) -> str:
    """The key and window of the first result that does not fit its type, and the fix; empty without windows."""
    if not windows.num_rows:
        return ""
    while windows.num_rows > 1:
        first = windows.slice(0, windows.num_rows // 2)
        try:
            column.evaluate(first)
        except OverflowError:
            windows = first
        else:
            windows = windows.slice(first.num_rows)
    window: Any = windows.column("window")
    start, end = (bound.cast(pa.string())[0] for bound in window.flatten())
    keys = windows.schema.names[: windows.schema.names.index("window")]
    key = ", ".join("" if key.null_count else value_text(key) for key in map(windows.column, keys))
    return f' in window [{start}, {end}] of key {key}; overflow("null") makes it null and counts it'


def _named(name: str, error: Exception, place: str = "") -> Exception:
    """The error of a computed column: one of Python's own kinds that names the column, and the user's file and line."""
    # pyarrow's own errors are some of these.
    kinds: tuple[type[Exception], ...] = (TypeError, OverflowError, ValueError)
    kind = next((each for each in kinds if isinstance(error, each)), RuntimeError)
    text = f"{type(error).__name__}: {error}" if kind is RuntimeError else str(error)
    frame = user_frame(error.__traceback__)
    return kind(f"{aggregate_argument(name)}: {text}{place}{'' if frame is None else f' ({frame})'}")
