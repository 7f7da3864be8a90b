"""Calls Python functions: once for each record, with conversions from Arrow to Python values and back."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from types import TracebackType
from typing import Any

import pyarrow as pa

from windrow._arguments.errors import listed
from windrow._folds.check import array_of, check_of, fitted, is_rounded, is_zoned
from windrow._folds.check_scalar import Check
from windrow._folds.collector import paused
from windrow._folds.plain_values import plain_array
from windrow._folds.python_shape import Shaper, can_change, in_shape, plain, shaped, shaper_of
from windrow._folds.python_values import values_of
from windrow._folds.runs import Runs, Step, copied, runs_of, runs_of_reduce
from windrow._folds.user_code import user_frame


def row_class(columns: Sequence[str]) -> Any:
    """The class of rows with these columns of the user.

    In brackets, any name of a column works. After a dot, a name that Python does not allow is `_` and its number.

    >>> row = row_class(["amount", "paid by"])(5, "card")
    >>> row.amount, row["amount"], row["paid by"], row[-1], row[:1]
    (5, 5, 'card', 'card', (5,))
    >>> row["amout"]
    Traceback (most recent call last):
        ...
    KeyError: "no column 'amout'; the columns of the row are 'amount', 'paid by'"
    """
    places = {name: place for place, name in enumerate(columns)}

    class Row(namedtuple("Row", columns, rename=True)):  # type: ignore[misc]  # the names are known at run time
        __slots__ = ()

        def __getitem__(self, key: Any) -> Any:
            if type(key) is not str:
                return super().__getitem__(key)
            if key not in places:
                raise KeyError(f"no column {key!r}; the columns of the row are {listed(list(places))}")
            return super().__getitem__(places[key])

    return Row


Adder = Callable[[Any, Any], Any]
"""Adds a record to an accumulator."""

Each = Callable[[list[Any], Any, list[Any]], None]
"""Adds a record to several accumulators; appends each result to a list."""

Rows = Callable[[pa.RecordBatch], Iterable[Any]]
"""From a batch to the argument of `add` for each of its records."""


@dataclass(frozen=True)
class Fold:
    """The functions of one aggregate, as the core calls them.

    Attributes:
        type: the Arrow type of the accumulator.
        init: makes the accumulator of no records.
        adds: for each input, adds a record to an accumulator; None where records of this input are not added.
        merge: merges an accumulator with one of later records.
        rows: from a batch to its records.
        reduces: whether `adds` and `merge` are both of the function that `reduce` was given.
        each: what any of `adds` does, for several accumulators at once, if that is faster than one by one.
        runs: what `init` and any of `adds` do, for runs of rows, if that is faster than row by row.
    """

    type: pa.DataType
    init: Callable[[], Any]
    adds: tuple[Adder | None, ...]
    merge: Callable[[Any, Any], Any]
    rows: Rows
    reduces: bool = False
    each: Each | None = None
    runs: Runs | None = None

    @property
    def adds_each(self) -> tuple[Each | None, ...]:
        """For each input, adds a record to several accumulators: sliding windows share it."""
        return tuple(add and (self.each or _each_of(add)) for add in self.adds)

    def fold_runs(
        self, rows: list[Any], starts: Sequence[int], ends: Sequence[int], made: list[Any], failed: list[Step]
    ) -> None:
        """Appends the accumulators of sliding windows to `made`: of the rows from each start to before its end."""
        self._runs(rows, starts, ends, made, failed)

    def of_inputs(self, column: str) -> Fold:
        """The same with one function for all inputs; a column has the number of each record's input."""
        of_rows, adds = self.rows, self.adds

        def rows(batch: pa.RecordBatch) -> list[tuple[Adder | None, Any]]:
            numbers: list[Any] = batch.column(column).to_pylist()
            return [(adds[number], row) for number, row in zip(numbers, of_rows(batch), strict=True)]

        def add(accumulator: Any, record: tuple[Adder | None, Any]) -> Any:
            of_input, row = record
            return accumulator if of_input is None else of_input(accumulator, row)

        return replace(self, adds=(add,), rows=rows, each=None, runs=None)

    def copied(self, accumulator: Any) -> Any:
        """An equal accumulator that does not change with the other."""
        return copied(accumulator)

    def to_arrow(self, values: list[Any]) -> pa.Array[Any]:
        """Accumulators as an array of the type; `TypeError` or `ValueError` if one would come back changed."""
        if not values:
            return pa.array([], self.type)
        plain = plain_array(values, self.type, self._like)
        return array_of(values, self.type, self._check) if plain is None else plain

    def from_arrow(self, array: pa.Array[Any]) -> list[Any]:
        """Accumulators as they were; accumulators of an extension type come as its storage."""
        wrapped = self.type.wrap_array(array) if isinstance(self.type, pa.BaseExtensionType) else array
        return shaped(wrapped, self._shaper)

    def user_frame(self, raised: TracebackType | None) -> str | None:
        """Where in the functions an exception was raised: file, line, function and source."""
        return user_frame(raised)

    @cached_property
    def _runs(self) -> Runs:
        if self.runs is not None:
            return self.runs
        (add,) = self.adds
        return runs_of(self.init, add or _same)

    @cached_property
    def _like(self) -> Any:
        return self.init()

    @cached_property
    def _check(self) -> Check:
        return check_of(self.type, self._like)

    @cached_property
    def _shaper(self) -> Shaper | None:
        return shaper_of(self.type, self._like)

    def rounding(self) -> Fold:
        """The same, but each result is rounded at once, as it would be after a restart.

        Only floats of fewer bits than Python's come back as other values.
        """
        if not is_rounded(self.type):
            return self

        def rounded(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
            if is_zoned(self.type):
                return lambda one, other: self.from_arrow(self.to_arrow([function(one, other)]))[0]
            return lambda one, other: in_shape(self._shaper, fitted(function(one, other), self._check))

        return self.with_adds(rounded, merge=rounded(self.merge))

    def with_adds(self, change: Callable[[Adder], Adder], **others: Any) -> Fold:
        """The same with other functions that add a record."""
        return replace(self, adds=tuple(add and change(add) for add in self.adds), each=None, runs=None, **others)


def of_reduce(fn: Callable[[Any, Any], Any], field: pa.Field[Any], *, kafka: bool) -> Fold:
    """The fold of `reduce` over a column.

    Nulls are skipped; with `kafka` the function gets them, as in Kafka.
    """

    def add(accumulator: Any, value: Any) -> Any:
        if accumulator is None or (value is None and not kafka):
            return value if accumulator is None else accumulator
        return fn(accumulator, value)

    def each(accumulators: list[Any], value: Any, added: list[Any]) -> None:
        if value is None and not kafka:
            added.extend(accumulators)
            return
        append = added.append
        for accumulator in accumulators:
            append(value if accumulator is None else fn(accumulator, value))

    def merge(older: Any, later: Any) -> Any:
        if older is None or later is None:
            return later if older is None else older
        return fn(older, later)

    shaper = shaper_of(field.type)

    def rows(batch: pa.RecordBatch) -> list[Any]:
        return _shaped(batch, field.name, shaper)

    fold = Fold(plain(field.type), lambda: None, (_of_own(add, [field]),), merge, rows, reduces=True)
    if not can_change(field.type):
        fold = replace(fold, each=each, runs=None if kafka else runs_of_reduce(fn))
    return fold.rounding()


def of_aggregate(
    init: Callable[[], Any],
    add: Adder,
    merge: Callable[[Any, Any], Any],
    columns: Sequence[pa.Field[Any]],
    kind: pa.DataType,
    *,
    names: Sequence[str] | None = None,
) -> Fold:
    """The fold of `aggregate`: a record is a named tuple of the columns, by `names` where these differ."""
    row, values = row_class(names or [column.name for column in columns]), _values(columns)

    def rows(batch: pa.RecordBatch) -> list[Any]:
        with paused():
            return list(map(tuple.__new__, repeat(row), values(batch)))

    return Fold(kind, init, (_of_own(add, columns),), merge, rows).rounding()


def of_cogroup(
    init: Callable[[], Any],
    adds: Iterable[Adder | None],
    merge: Callable[[Any, Any], Any],
    columns: Sequence[pa.Field[Any]],
    kind: pa.DataType,
) -> Fold:
    """The fold of `aggregate` over a cogroup, with an add of `of_input` for each input: a record is a plain tuple."""
    copying = tuple(add and _of_own(add, columns) for add in adds)
    return Fold(kind, init, copying, merge, _values(columns)).rounding()


def of_input(add: Adder, name: str, columns: Sequence[str]) -> Adder:
    """The `add` of one input for tuples of `columns`: it sees the columns of its input, without the input's name."""
    places = [place for place, column in enumerate(columns) if column.startswith(f"{name}.")]
    row = row_class([columns[place].removeprefix(f"{name}.") for place in places])
    return lambda accumulator, values: add(accumulator, row(*(values[place] for place in places)))


def _same(accumulator: Any, _record: object) -> Any:
    return accumulator


def _each_of(add: Adder) -> Each:
    """One by one."""

    def each(accumulators: list[Any], record: Any, added: list[Any]) -> None:
        append = added.append
        for accumulator in accumulators:
            append(add(accumulator, record))

    return each


def _of_own(add: Adder, columns: Sequence[pa.Field[Any]]) -> Adder:
    """An `add` that gets its own copy of a record: sliding windows share records, and a function may change values."""
    if not any(can_change(column.type) for column in columns):
        return add
    return lambda accumulator, record: add(accumulator, deepcopy(record))


def _values(columns: Sequence[pa.Field[Any]]) -> Callable[[pa.RecordBatch], list[tuple[Any, ...]]]:
    if not columns:
        return lambda batch: [()] * batch.num_rows
    shapers = [(column.name, shaper_of(column.type)) for column in columns]
    return lambda batch: list(zip(*(_shaped(batch, name, shaper) for name, shaper in shapers), strict=True))


def _shaped(batch: pa.RecordBatch, column: str, shaper: Shaper | None) -> list[Any]:
    """The values of a column in their shape.

    Errors name the column: `OverflowError` for a time that Python does not have, `ValueError` for a map with a key
    twice.
    """
    values = values_of(column, batch.column(column))
    try:
        return values if shaper is None else [in_shape(shaper, value) for value in values]
    except ValueError as error:
        raise ValueError(f"column {column!r}: {error}") from error
