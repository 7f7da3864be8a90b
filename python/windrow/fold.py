"""Python functions at work: what the core calls for each record, and the way from Python values to Arrow and back."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from windrow.accumulator import Check, array_of, check_of

Adder = Callable[[Any, Any], Any]
"""Adds a record to an accumulator."""

Rows = Callable[[pa.RecordBatch], Iterable[Any]]
"""From a batch to what `add` is handed for each of its records."""


@dataclass(frozen=True)
class Fold:
    """The functions of one aggregate, as the core calls them.

    Attributes:
        type: the Arrow type of the accumulator.
        init: makes the accumulator of no records.
        adds: for each input, adds a record to an accumulator; None where records of this input are not added.
        merge: merges an accumulator with one of later records.
        rows: from a batch to its records.
    """

    type: pa.DataType
    init: Callable[[], Any]
    adds: tuple[Adder | None, ...]
    merge: Callable[[Any, Any], Any]
    rows: Rows

    def to_arrow(self, values: list[Any]) -> pa.Array[Any]:
        """Accumulators as an array of the type; `TypeError` or `ValueError` for what it does not hold as it is."""
        return array_of(values, self.type, self._check)

    @cached_property
    def _check(self) -> Check:
        return check_of(self.type)

    def from_arrow(self, array: pa.Array[Any]) -> list[Any]:
        """Accumulators as they were: tuples and sets where `init` makes those."""
        values: list[Any] = array.to_pylist()
        kind = type(self.init())
        if issubclass(kind, tuple) and pa.types.is_struct(self.type):
            make = getattr(kind, "_make", kind)
            return [None if value is None else make(value.values()) for value in values]
        if issubclass(kind, tuple | set | frozenset) and pa.types.is_list(self.type):
            return [None if value is None else kind(value) for value in values]
        return values


def of_reduce(fn: Callable[[Any, Any], Any], column: str, kind: pa.DataType, *, kafka: bool) -> Fold:
    """The fold of `reduce`. A null is passed over; with `kafka` it is handed to the function, as Kafka does."""

    def add(held: Any, value: Any) -> Any:
        if held is None or (value is None and not kafka):
            return value if held is None else held
        return fn(held, value)

    def merge(older: Any, later: Any) -> Any:
        if older is None or later is None:
            return later if older is None else older
        return fn(older, later)

    def rows(batch: pa.RecordBatch) -> list[Any]:
        return batch.column(column).to_pylist()

    return Fold(kind, lambda: None, (add,), merge, rows)


def of_aggregate(
    init: Callable[[], Any], add: Adder, merge: Callable[[Any, Any], Any], columns: Sequence[str], kind: pa.DataType
) -> Fold:
    """The fold of `aggregate`: a record is a named tuple of the columns."""
    row = _row(columns)

    def rows(batch: pa.RecordBatch) -> list[Any]:
        return [row(*values) for values in _values(batch, columns)]

    return Fold(kind, init, (add,), merge, rows)


def of_cogroup(
    init: Callable[[], Any],
    adds: Iterable[Adder | None],
    merge: Callable[[Any, Any], Any],
    columns: Sequence[str],
    kind: pa.DataType,
) -> Fold:
    """The fold of `aggregate` over a cogroup, with an add of `of_input` for each input: a record is a plain tuple."""
    return Fold(kind, init, tuple(adds), merge, lambda batch: _values(batch, columns))


def of_input(add: Adder, name: str, columns: Sequence[str]) -> Adder:
    """The `add` of one input for tuples of `columns`: it sees those of its input, without the input's name."""
    places = [place for place, column in enumerate(columns) if column.startswith(f"{name}.")]
    row = _row([columns[place].removeprefix(f"{name}.") for place in places])
    return lambda held, values: add(held, row(*(values[place] for place in places)))


def _row(columns: Sequence[str]) -> Any:
    return namedtuple("Row", columns, rename=True)  # the names are the user's


def _values(batch: pa.RecordBatch, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    if not columns:
        return [()] * batch.num_rows
    return list(zip(*(batch.column(name).to_pylist() for name in columns), strict=True))
