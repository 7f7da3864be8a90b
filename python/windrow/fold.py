"""Python functions at work: what the core calls for each record, and the way from Python values to Arrow and back."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

Rows = Callable[[pa.RecordBatch], Iterable[Any]]
"""From a batch to what `add` is handed for each of its records."""


@dataclass(frozen=True)
class Fold:
    """The functions of one aggregate, as the core calls them.

    Attributes:
        type: the Arrow type of the accumulator.
        init: makes the accumulator of no records.
        adds: for each input, adds a record to an accumulator.
        merge: merges an accumulator with one of later records.
        rows: from a batch to its records.
    """

    type: pa.DataType
    init: Callable[[], Any]
    adds: tuple[Callable[[Any, Any], Any], ...]
    merge: Callable[[Any, Any], Any]
    rows: Rows

    def to_arrow(self, values: list[Any]) -> pa.Array[Any]:
        """Accumulators as an array of the type."""
        plain = [list(value) if isinstance(value, set | frozenset) else value for value in values]
        return pa.array(plain, self.type)

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
    init: Callable[[], Any],
    add: Callable[[Any, Any], Any],
    merge: Callable[[Any, Any], Any],
    columns: Sequence[str],
    kind: pa.DataType,
) -> Fold:
    """The fold of `aggregate`: a record is a named tuple of the columns."""
    row = namedtuple("Row", columns, rename=True)  # type: ignore[misc] # the names are the user's

    def rows(batch: pa.RecordBatch) -> list[Any]:
        if not columns:
            return [row()] * batch.num_rows
        return [row(*values) for values in zip(*(batch.column(name).to_pylist() for name in columns), strict=True)]

    return Fold(kind, init, (add,), merge, rows)
