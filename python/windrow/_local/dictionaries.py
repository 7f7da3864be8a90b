"""Dictionaries of columns: how many values an index counts, and how many the dictionaries of a stream have together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa


def capacity(kind: Any) -> int:
    """The most values of a dictionary of this type."""
    bits: int = kind.index_type.bit_width
    return 1 << (bits if pa.types.is_unsigned_integer(kind.index_type) else bits - 1)


def widened(kind: Any) -> Any:
    """A type for the values of several dictionaries, more together than the index of one counts."""
    return pa.dictionary(pa.int32(), kind.value_type, kind.ordered)


class Dictionaries:
    """The values of the dictionaries that a stream brings, as far as they may be more than an index counts."""

    def __init__(self) -> None:
        """Before the stream."""
        self._values = dict[str, set[str]]()
        self._last = dict[str, Any]()

    def reading(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches as they come."""
        for batch in batches:
            for field, column in zip(batch.schema, batch.columns, strict=True):
                if pa.types.is_dictionary(field.type) and capacity(field.type) <= 1 << 16:
                    self._add(field, column)
            yield batch

    def fitting(self, column: str, kind: Any) -> Any:
        """The type of a result column with values of this column of the stream, whose type is `kind`."""
        values = self._values.get(column, ()) if pa.types.is_dictionary(kind) else ()
        return widened(kind) if values and len(values) > capacity(kind) else kind

    def _add(self, field: pa.Field[Any], column: Any) -> None:
        values, last = self._values.setdefault(field.name, set()), self._last.get(field.name)
        if len(values) <= capacity(field.type) and (last is None or not last.equals(column.dictionary)):
            self._last[field.name] = column.dictionary
            values.update(map(str, column.dictionary.to_pylist()))
