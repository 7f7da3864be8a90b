"""Aggregates of Python functions: `reduce`, `aggregate` and `apply`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from windrow._aggregates.aggregate import Aggregate
from windrow._aggregates.call import AggregateCall, Computed
from windrow._arguments.ddl import DEEPEST, arrow_type
from windrow._arguments.errors import bad_column_type, bad_type, bad_value, function_name, returns_none, wrong_arity
from windrow._arguments.expression import Reference, column_reference
from windrow._folds.fold import Adder, Fold, of_aggregate, of_cogroup, of_input, of_reduce
from windrow._folds.python_shape import is_deeper, is_made
from windrow._folds.user_code import returns_nothing, takes

if TYPE_CHECKING:
    from windrow._arguments.expression import ColumnName

_NO_RECORDS = "only built-in aggregates have it, and apply(...) for Python functions"
_ALLOWED_TYPES = "types without unions and without nested extension types: cast those to their storage types"


@dataclass(frozen=True, repr=False)
class Reduction(AggregateCall):
    """Values of a column, combined by a Python function. Made by `reduce`.

    Attributes:
        fn: combines two values.
    """

    fn: Callable[[Any, Any], Any] = field(kw_only=True)

    maker = "reduce"
    whole = _NO_RECORDS

    def fold(self, schema: pa.Schema, *, kafka: bool) -> Fold:
        """The functions over columns of these types."""
        (column,) = self.columns
        kind = schema.field(column).type
        if not is_made(kind):
            raise bad_column_type("reduce", column, kind, _ALLOWED_TYPES)
        fold = _filtered(of_reduce(self.fn, schema.field(column), kafka=kafka), self.condition)
        if self.input is None:
            return fold
        (add,) = fold.adds
        return replace(fold, adds=tuple(add if name == self.input else None for name in self.inputs))

    def _arguments(self) -> Iterator[str]:
        yield from (repr(self.columns[0]), function_name(self.fn))


@dataclass(frozen=True, repr=False)
class Accumulation(AggregateCall):
    """Records, added to an accumulator by Python functions. Made by `aggregate`.

    Attributes:
        init: makes the accumulator of no records.
        add: adds a record to an accumulator; for a cogroup, one function for each input whose records are added.
        merge: merges two accumulators; None if none was given.
        type: the Arrow type of the accumulator.
        schema: the same in the words of the user.
        names: what rows call the columns; empty for their own names.
    """

    init: Callable[[], Any] = field(kw_only=True)
    add: Adder | Mapping[str, Adder] = field(kw_only=True)
    merge: Callable[[Any, Any], Any] | None = field(kw_only=True)
    type: pa.DataType = field(kw_only=True)
    schema: str | pa.DataType = field(kw_only=True, compare=False)
    names: tuple[str, ...] = field(default=(), kw_only=True)

    maker = "aggregate"
    whole = _NO_RECORDS

    def renamed(self, named: Callable[[str, Reference], tuple[str, str]]) -> Self:
        """The same over names of columns; an expression has the name that its library gives it in rows."""
        names = [named(self.maker, column)[1] for column in self.columns]
        for position, name in enumerate(names):
            if name in names[:position]:
                raise bad_value("aggregate(columns=)", name, "a name for each column, for example with alias(...)")
        return replace(super().renamed(named), names=tuple(names))

    def fold(self, schema: pa.Schema, *, kafka: bool) -> Fold:
        """The functions over columns of these types."""
        del kafka  # `add` sees every record, with its nulls, either way
        merge, columns = self.merge or _no_merge, [schema.field(name) for name in self.columns]
        if isinstance(self.add, Mapping):
            adders = [(self.add.get(name), name) for name in self.inputs]
            adds = [add and of_input(add, name, self.names or self.columns) for add, name in adders]
            return _filtered(of_cogroup(self.init, adds, merge, columns, self.type), self.condition)
        return _filtered(of_aggregate(self.init, self.add, merge, columns, self.type, names=self.names), self.condition)

    def _arguments(self) -> Iterator[str]:
        yield function_name(self.init)
        if isinstance(self.add, Mapping):
            yield f"{{{', '.join(f'{name!r}: {function_name(add)}' for name, add in self.add.items())}}}"
        else:
            yield function_name(self.add)
        if self.merge is not None:
            yield function_name(self.merge)
        yield f"schema={self.schema!r}"
        if self.columns:
            yield f"columns={list(self.columns)!r}"


def reduce(column: ColumnName, fn: Callable[[Any, Any], Any]) -> Aggregate:
    """The values of a column, combined by a Python function (Kafka's `reduce`); the result has the column's type.

    `fn(a, b)` combines the result so far with the value of the next record. When two sessions become one, it combines
    their results, the older result first. Nulls are skipped; a window without a value gives null.

    In a batch, on Spark and in-process, the next record is the next by event time. Records of equal time come
    by tie, or keep their order of arrival: the order of rows within a partition, undefined between partitions. So a
    batch gives what Kafka gives for a stream in the order of time. In a `windrow.testing.StreamDriver` records come in
    the order in which you feed them. On a stream they come in the order of `order=`; without it they come as they
    arrive, and the query warns. `apply` always has the values in the order of time.

    Values have the classes that `aggregate` describes for rows, and `fn` may change them. A result has the same shape.

    An exception of `fn` is raised as a `RuntimeError` that names the window, the time of the record, and the file, line
    and source where it was raised; the exception is its cause. If the column's type does not hold a result exactly, the
    same error comes when the window is shown or saved; it names the window but no record. On Spark the job fails with
    the error. Functions travel to executors like those of PySpark's UDFs (cloudpickle): by value from a notebook or
    script, by name from a module, which the executors then need.

    Raises:
        TypeError: `column` is not a name, or `fn` is not a function of two values or has no `return` of a value. From
            `agg` on Spark: `fn` cannot be pickled.

    >>> from datetime import datetime
    >>> import pyarrow as pa
    >>> import windrow as wr
    >>> heard = pa.table(
    ...     {"room": ["a", "a"], "ts": [datetime(2026, 1, 1, 8), datetime(2026, 1, 1, 9)], "word": ["good", "day"]}
    ... )
    >>> talks = wr.group_by(heard, "room", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
    >>> talks.agg(said=wr.reduce("word", lambda a, b: f"{a} {b}"))["said"].to_pylist()
    ['good day']
    """
    _check("reduce(fn=)", fn, 2, "a function of two values", "their combination")
    return Aggregate(Reduction("python", (column_reference("reduce(column=)", column),), fn=fn))


def aggregate(
    init: Callable[[], Any],
    add: Adder | Mapping[str, Adder],
    merge: Callable[[Any, Any], Any] | None = None,
    *,
    schema: str | pa.DataType,
    columns: Sequence[ColumnName] = (),
) -> Aggregate:
    """An accumulator that Python functions fill record by record (Kafka's `aggregate`).

    Args:
        init: makes the accumulator of no records; a new one at each call.
        add: returns the accumulator with a record added: `add(accumulator, row)`. It may change its argument. For a
            cogroup it can be a dict of such functions by the names of inputs; then the records of other inputs are left
            out.
        merge: returns one accumulator for two, the older session's first. Session windows need it: a record starts with
            the value of `init`, and each session that it joins is merged with that.
        schema: the type of the accumulator in Spark's words (`"bigint"`, `"n bigint, total double"`), or as an Arrow
            type. It is the type of the result and of the saved state.
        columns: the columns of `row`, a named tuple: `row.amount` or `row["amount"]`. An expression is called by its
            alias, or by the name that its library gives it. Nulls are None. For a cogroup they name their input
            (`"orders.amount"`), and `row` holds the columns of the record's own input, without its name (`row.amount`).

    Records are added in the order that `reduce` describes, and functions travel and fail as described there. Each
    window has its own accumulator and its own values of a row, so `add` and `merge` may change their arguments.

    The type determines the classes of accumulators and of values in rows: a list for an array, a dict with all of its
    names for a struct, a dict for a map (a list of tuples if its keys cannot be keys of a dict). If `init` makes a
    value of another class, alone or in a struct, that class is kept: a set, frozenset or tuple for an array, a tuple or
    named tuple for a struct, a `Counter`, another kind of dict or a list of tuples for a map, a bytearray for a binary.
    So an accumulator is equal after a restart (an int in a double comes back as a float). An accumulator of another
    shape is an error that names the window, at the latest when it is saved or shown. So is one that `schema` does not
    hold exactly (2.75 for a bigint, an unknown name); no value is cut. Only Spark's 32-bit `float` takes the nearest
    value, after each record.

    If the accumulator is None, the result is null, and the next `add` or `merge` gets None. If that call fails, for
    example because `add` forgot to return the accumulator, the error first names the function that returned None.

    Raises:
        TypeError: not functions, functions of another number of arguments, an `add` or `merge` without a `return` of a
            value, not a type, not names. From `agg` on Spark: functions that cannot be pickled, or a type that Spark
            lacks.
        ValueError: `schema` spells no type, or one of more than 24 arrays, maps and structs nested in each other.

    >>> from datetime import datetime
    >>> import pyarrow as pa
    >>> import windrow as wr
    >>> paid = pa.table({"card": [1, 1], "ts": [datetime(2026, 1, 1, 8), datetime(2026, 1, 1, 9)], "amount": [5, 7]})
    >>> largest_first = wr.aggregate(
    ...     list,
    ...     lambda held, row: sorted([*held, row.amount], reverse=True)[:3],
    ...     lambda a, b: sorted(a + b, reverse=True)[:3],
    ...     schema="array<bigint>",
    ...     columns=["amount"],
    ... )
    >>> sessions = wr.group_by(paid, "card", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
    >>> sessions.agg(top=largest_first)["top"].to_pylist()
    [[7, 5]]
    """
    adds = dict(add) if isinstance(add, Mapping) else {"add": add}
    if not adds:
        raise bad_value("aggregate(add=)", add, "a function for at least one input")
    for argument, functions, count, allowed in (
        ("init", [init], 0, "a function without arguments"),
        ("add", adds.values(), 2, "a function of an accumulator and a row, or a dict of such functions by input"),
        ("merge", [merge] if merge is not None else [], 2, "a function of two accumulators"),
    ):
        for function in functions:
            _check(f"aggregate({argument}=)", function, count, allowed, "the accumulator")
    if isinstance(columns, str) or not isinstance(columns, Sequence):
        raise bad_type("aggregate(columns=)", columns, "a list of column names")
    names = tuple(column_reference("aggregate(columns=)", column) for column in columns)
    for position, column in enumerate(names):
        if column in names[:position]:
            raise bad_value("aggregate(columns=)", column, "each column once")
    if not isinstance(schema, str | pa.DataType):
        raise bad_type("aggregate(schema=)", schema, "a type in Spark's words, or an Arrow type")
    kind = arrow_type("aggregate(schema=)", schema) if isinstance(schema, str) else schema
    if is_deeper(kind, DEEPEST):
        raise bad_value("aggregate(schema=)", schema, f"at most {DEEPEST} lists, maps and structs nested in each other")
    if not is_made(kind):
        raise bad_value("aggregate(schema=)", schema, _ALLOWED_TYPES)
    fields = [field.name for field in kind] if isinstance(kind, pa.StructType) else []
    if len(set(fields)) < len(fields):
        raise bad_value("aggregate(schema=)", schema, "each name once")
    return Aggregate(Accumulation("python", names, init=init, add=add, merge=merge, type=kind, schema=schema))


def _check(argument: str, function: Any, count: int, allowed: str, returned: str) -> None:
    """Raises `TypeError` unless it is a function of so many arguments. One without arguments may return anything."""
    if not callable(function):
        raise bad_type(argument, function, allowed)
    if count and returns_nothing(function):
        raise returns_none(argument, function, f"{allowed}, that returns {returned}")
    if not takes(function, count):
        raise wrong_arity(argument, function, allowed)


def _filtered(fold: Fold, condition: str | None) -> Fold:
    """The fold over only the records in which a column is true."""
    if condition is None:
        return fold

    def rows(batch: pa.RecordBatch) -> list[tuple[bool | None, Any]]:
        return list(zip(batch.column(condition).to_pylist(), fold.rows(batch), strict=True))

    return fold.with_adds(_if_true, rows=rows)


def _if_true(add: Adder) -> Adder:
    return lambda accumulator, row: add(accumulator, row[1]) if row[0] else accumulator


def _no_merge(_older: object, _later: object) -> Any:
    raise TypeError("aggregate(merge=) was not given")


def apply(fn: Callable[..., Any], *columns: ColumnName, schema: str | pa.DataType) -> Aggregate:
    """The result of a function over the values of windows, for what no other aggregate covers.

    `fn` gets a `pyarrow.ListArray` for each column: a list for each window, with the values of its records in the order
    of event time, then of tie or arrival. Nulls are included, so the lists of a window have one length. It returns an
    array with one value for each window. So one call covers many windows: `values.flatten()` has the values of all of
    them, and `values.offsets` the start of each window. Each value may depend on its own window only, because windrow
    may split windows into batches at any place. The state of a window holds all values.

    Args:
        fn: a function of list arrays that returns an array; on Spark it travels to executors like those of `reduce`.
        columns: the columns whose values it gets, at least one.
        schema: the type of the result, in Spark's words or as an Arrow type.

    Raises:
        TypeError: `fn` does not take one array for each column, a column is not a name, or `schema` is not a type.
        ValueError: no column, or `schema` spells no type. From `agg`: a result of another length; on Spark the job
            fails with it.

    >>> from datetime import datetime
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> import windrow as wr
    >>> hours = [datetime(2026, 1, 1, hour) for hour in (8, 9, 10, 15, 16)]
    >>> ticks = pa.table({"share": ["x"] * 5, "ts": hours, "price": [3.0, 9.0, 6.0, 1.0, 2.0]})
    >>> def steepest(prices):
    ...     windows = np.split(prices.flatten().to_numpy(), prices.offsets.to_numpy()[1:-1])
    ...     return pa.array([max(np.diff(window)) for window in windows])
    >>> day = wr.group_by(ticks, "share", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
    >>> sorted(day.agg(rise=wr.apply(steepest, "price", schema="double"))["rise"].to_pylist())
    [1.0, 6.0]
    """
    if not callable(fn):
        raise bad_type("apply(fn=)", fn, "a function of list arrays")
    if not columns:
        raise bad_value("apply(columns)", columns, "at least one column")
    kind = arrow_type("apply(schema=)", schema) if isinstance(schema, str) else schema
    if not isinstance(kind, pa.DataType):
        raise bad_type("apply(schema=)", schema, "a type in Spark's words, or an Arrow type")
    if not takes(fn, len(columns)):
        raise wrong_arity("apply(fn=)", fn, f"a function of {len(columns)} list arrays, one for each column")
    names = [column_reference("apply(columns)", column) for column in columns]
    lists = (AggregateCall("collect_list", (name,), ignore_nulls=False) for name in names)
    made = Computed.of("apply", fn, *lists, type=kind)
    return Aggregate(replace(made, last=replace(made.last, of_lists=True)))
