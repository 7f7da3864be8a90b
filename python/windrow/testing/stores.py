"""Queries of a driver's windows, in Kafka's words. All bounds are inclusive, None leaves a side open.

Keys are the value of the key column, or a tuple of the values of several. Results are tables: the keys, `window`, the
aggregates, and `time`, the largest time of the window's records. The order is by key, then end and start; backward is
its exact reverse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow.errors import bad_value

if TYPE_CHECKING:
    from windrow._native import Operator


@dataclass(frozen=True)
class Store:
    """The way to an operator's windows."""

    operator: Operator
    schema: pa.Schema
    keys: tuple[str, ...]
    time: str

    def select(
        self, first: Any, last: Any, start: Any, end: Any, *, due: bool = False, backward: bool = False
    ) -> pa.Table:
        """The windows between keys and times."""
        found = self.operator.select(
            self._key(first), self._key(last), self._ticks(start), self._ticks(end), due=due, backward=backward
        )
        return pa.Table.from_batches([found])

    def _key(self, key: Any) -> pa.RecordBatch | None:
        if key is None:
            return None
        values = (key,) if len(self.keys) == 1 else key
        if not isinstance(values, tuple) or len(values) != len(self.keys):
            raise bad_value("key", key, f"a tuple of the values of {', '.join(self.keys)}")
        fields = [self.schema.field(name) for name in self.keys]
        columns = [pa.array([value], field.type) for value, field in zip(values, fields, strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))

    def _ticks(self, time: Any) -> int | None:
        if time is None:
            return None
        ticks: int = pa.scalar(time, self.schema.field(self.time).type).cast(pa.int64()).as_py()
        return ticks


class SessionStore:
    """The visible sessions of a driver (Kafka's `ReadOnlySessionStore`)."""

    def __init__(self, store: Store) -> None:
        """Over the windows of an operator."""
        self._store = store

    def find_sessions(
        self, key: Any = None, earliest_end: Any = None, latest_start: Any = None, *, to_key: Any = None
    ) -> pa.Table:
        """The sessions of a key, or of the keys up to `to_key`, that end and start within the bounds."""
        return self._find(key, to_key, earliest_end, latest_start, backward=False)

    def backward_find_sessions(
        self, key: Any = None, earliest_end: Any = None, latest_start: Any = None, *, to_key: Any = None
    ) -> pa.Table:
        """As `find_sessions`, in reverse."""
        return self._find(key, to_key, earliest_end, latest_start, backward=True)

    def fetch(self, key: Any, to_key: Any = None) -> pa.Table:
        """All sessions of a key, or of the keys up to `to_key`."""
        return self._find(key, to_key, None, None, backward=False)

    def backward_fetch(self, key: Any, to_key: Any = None) -> pa.Table:
        """As `fetch`, in reverse."""
        return self._find(key, to_key, None, None, backward=True)

    def fetch_session(self, key: Any, start: Any, end: Any) -> dict[str, Any] | None:
        """The session with exactly these bounds, or None."""
        found = self._find(key, key, end, start, backward=False)
        bounds = found["window"].combine_chunks()
        kind = bounds.type.field("start").type
        starts, ends = pc.struct_field(bounds, "start"), pc.struct_field(bounds, "end")
        same = pc.and_(pc.equal(starts, pa.scalar(start, kind)), pc.equal(ends, pa.scalar(end, kind)))
        rows: list[dict[str, Any]] = found.filter(same).to_pylist()
        return rows[0] if rows else None

    def find_closed(self, earliest: Any = None, latest: Any = None) -> pa.Table:
        """The sessions whose last record and its gap end within the bounds, by end, start and key."""
        return self._store.select(None, None, earliest, latest, due=True)

    def all(self) -> pa.Table:
        """All sessions."""
        return self._store.select(None, None, None, None)

    def _find(self, key: Any, to_key: Any, end: Any, start: Any, *, backward: bool) -> pa.Table:
        last = key if to_key is None else to_key
        return self._store.select(key, last, end, start, backward=backward)


class WindowStore:
    """The visible sliding windows of a driver (Kafka's `ReadOnlyWindowStore`). Time bounds are of the start."""

    def __init__(self, store: Store) -> None:
        """Over the windows of an operator."""
        self._store = store

    def fetch(self, key: Any, start: Any = None, end: Any = None, *, to_key: Any = None) -> pa.Table:
        """The windows of a key, or of the keys up to `to_key`, that start within the bounds."""
        return self._store.select(key, key if to_key is None else to_key, start, end)

    def backward_fetch(self, key: Any, start: Any = None, end: Any = None, *, to_key: Any = None) -> pa.Table:
        """As `fetch`, in reverse."""
        return self._store.select(key, key if to_key is None else to_key, start, end, backward=True)

    def fetch_window(self, key: Any, start: Any) -> dict[str, Any] | None:
        """The window of a key with this start, or None."""
        rows: list[dict[str, Any]] = self._store.select(key, key, start, start).to_pylist()
        return rows[0] if rows else None

    def fetch_all(self, start: Any = None, end: Any = None) -> pa.Table:
        """The windows of all keys that start within the bounds."""
        return self._store.select(None, None, start, end)

    def backward_fetch_all(self, start: Any = None, end: Any = None) -> pa.Table:
        """As `fetch_all`, in reverse."""
        return self._store.select(None, None, start, end, backward=True)

    def find_closed(self, earliest: Any = None, latest: Any = None) -> pa.Table:
        """The windows that start within the bounds, by start and key."""
        return self._store.select(None, None, earliest, latest, due=True)

    def all(self) -> pa.Table:
        """All windows."""
        return self._store.select(None, None, None, None)
