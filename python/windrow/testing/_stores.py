"""Queries of a driver's windows, in Kafka's words. All bounds are inclusive, None leaves a side open.

A key is the value of the key column, or a tuple of the values of several key columns, which may be None. `key` alone
selects the windows of this key. With `to_key` it is the first key of a range, and `to_key` is the last one; None leaves
a side open. Results are tables: the keys, `window`, the aggregates, and `time`, the largest time of the window's
records. The order is by key, then end and start; backward is its exact reverse.

>>> from datetime import datetime
>>> import pyarrow as pa
>>> import windrow as wr
>>> from windrow.testing import StreamDriver
>>> windows = wr.SessionWindows.with_gap("5 minutes", grace="1 minute")
>>> schema = pa.schema({"user": pa.string(), "ts": pa.timestamp("us")})
>>> driver = StreamDriver(lambda visits: wr.group_by(visits, "user", time="ts").windowed_by(windows).count(), schema)
>>> for user in ("ann", "bob", "cid"):
...     _ = driver.pipe(user=user, ts=datetime(2026, 1, 1, 8))
>>> def users(found):
...     return found["user"].to_pylist()
>>> users(driver.sessions.fetch("bob")), users(driver.sessions.fetch("bob", None))
(['bob'], ['bob', 'cid'])
>>> users(driver.sessions.backward_fetch(None, "bob"))
['bob', 'ann']

A store follows its driver: after a `restore` it has what was restored. With `source=` and `stream_time="source"`
it has the windows of all sources together; of windows with equal keys and bounds, the one of the source that was known
first comes first, and `fetch_session` and `fetch_window` return it.

A key or a bound of another type than its column raises `TypeError`, one that the column does not hold `ValueError`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow._arguments.errors import bad_value
from windrow._arguments.instant import is_missing
from windrow._folds.python_values import values_of
from windrow.testing._values import cell_of

if TYPE_CHECKING:
    from windrow.testing._operators import Operators


@dataclass(frozen=True)
class Store:
    """Queries of the windows of the operators that a driver has at the time of the query."""

    operators: Callable[[], Operators]
    schema: pa.Schema
    keys: tuple[str, ...]
    time: str

    def select(self, keys: tuple[Any, Any], *times: int | None, backward: bool) -> pa.Table:
        """The windows between a first and a last key, or one key and `...`, and two times in ticks."""
        first = self._key("key", keys[0])
        last = first if keys[1] is ... else self._key("to_key", keys[1])
        return pa.Table.from_batches(self.operators().select(first, last, *times, backward=backward))

    def window(self, key: Any, start: int | None, end: int | None) -> dict[str, Any] | None:
        """The window of a key with exactly these bounds in ticks, or None."""
        only = self._key("key", key)
        batches = self.operators().select(only, only, start, end, by="window")
        return first_row(pa.Table.from_batches(batches))

    def closed(self, earliest: Any, latest: Any, *, backward: bool) -> pa.Table:
        """The windows that are due between two times."""
        times = self.ticks("earliest", earliest), self.ticks("latest", latest)
        return pa.Table.from_batches(self.operators().select(None, None, *times, by="due", backward=backward))

    def ticks(self, argument: str, time: Any) -> int | None:
        """A time in ticks."""
        kind = self.schema.field(self.time).type
        ticks: int | None = cell_of(argument, time, kind).cast(pa.int64())[0].as_py()
        return ticks

    def _key(self, argument: str, key: Any) -> pa.RecordBatch | None:
        if key is None:
            return None
        values = (key,) if len(self.keys) == 1 else key
        if not isinstance(values, tuple) or len(values) != len(self.keys):
            raise bad_value(argument, key, f"a tuple of the values of {', '.join(self.keys)}")
        values = tuple(None if is_missing(value) else value for value in values)
        if all(value is None for value in values):
            raise bad_value(argument, key, "a key with a value that is not null: records without one have no windows")
        fields = [self.schema.field(name) for name in self.keys]
        columns = [
            cell_of(f"{argument}: column {field.name!r}", value, field.type)
            for value, field in zip(values, fields, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, names=list(self.keys))


def first_row(found: pa.Table) -> dict[str, Any] | None:
    """The first row as values of Python; `OverflowError` for those that Python does not have."""
    batches = found.slice(0, 1).combine_chunks().to_batches()
    if not batches:
        return None
    return {
        name: values_of(name, column)[0] for name, column in zip(found.column_names, batches[0].columns, strict=True)
    }


def _needed(**bounds: Any) -> None:
    for argument, bound in bounds.items():
        if bound is None:
            raise bad_value(argument, None, "a value, because the query is for one window")


class SessionStore:
    """The visible sessions of a driver (Kafka's `ReadOnlySessionStore`)."""

    def __init__(self, store: Store) -> None:
        """Over the windows of an operator."""
        self._store = store

    def find_sessions(
        self, key: Any = None, earliest_end: Any = None, latest_start: Any = None, *, to_key: Any = ...
    ) -> pa.Table:
        """The sessions of a key, or of the keys up to `to_key`, that end and start within the bounds."""
        return self._find(key, to_key, earliest_end, latest_start, backward=False)

    def backward_find_sessions(
        self, key: Any = None, earliest_end: Any = None, latest_start: Any = None, *, to_key: Any = ...
    ) -> pa.Table:
        """As `find_sessions`, in reverse."""
        return self._find(key, to_key, earliest_end, latest_start, backward=True)

    def fetch(self, key: Any, to_key: Any = ...) -> pa.Table:
        """All sessions of a key, or of the keys up to `to_key`."""
        return self._find(key, to_key, None, None, backward=False)

    def backward_fetch(self, key: Any, to_key: Any = ...) -> pa.Table:
        """As `fetch`, in reverse."""
        return self._find(key, to_key, None, None, backward=True)

    def fetch_session(self, key: Any, start: Any, end: Any) -> dict[str, Any] | None:
        """The session with exactly these bounds, or None. No bound is open."""
        _needed(key=key, start=start, end=end)
        return self._store.window(key, self._store.ticks("start", start), self._store.ticks("end", end))

    def find_closed(self, earliest: Any = None, latest: Any = None) -> pa.Table:
        """The sessions whose last record and its gap end within the bounds, by end, start and key."""
        return self._store.closed(earliest, latest, backward=False)

    def backward_find_closed(self, earliest: Any = None, latest: Any = None) -> pa.Table:
        """As `find_closed`, in reverse."""
        return self._store.closed(earliest, latest, backward=True)

    def all(self) -> pa.Table:
        """All sessions."""
        return self._find(None, None, None, None, backward=False)

    def backward_all(self) -> pa.Table:
        """As `all`, in reverse."""
        return self._find(None, None, None, None, backward=True)

    def _find(self, key: Any, to_key: Any, end: Any, start: Any, *, backward: bool) -> pa.Table:
        bounds = self._store.ticks("earliest_end", end), self._store.ticks("latest_start", start)
        return self._store.select((key, to_key), *bounds, backward=backward)


class WindowStore:
    """The visible sliding windows of a driver (Kafka's `ReadOnlyWindowStore`). Time bounds are of the start."""

    def __init__(self, store: Store) -> None:
        """Over the windows of an operator."""
        self._store = store

    def fetch(self, key: Any, start: Any = None, end: Any = None, *, to_key: Any = ...) -> pa.Table:
        """The windows of a key, or of the keys up to `to_key`, that start within the bounds."""
        return self._find(key, to_key, start, end, backward=False)

    def backward_fetch(self, key: Any, start: Any = None, end: Any = None, *, to_key: Any = ...) -> pa.Table:
        """As `fetch`, in reverse."""
        return self._find(key, to_key, start, end, backward=True)

    def fetch_window(self, key: Any, start: Any) -> dict[str, Any] | None:
        """The window of a key with this start, or None. No bound is open."""
        _needed(key=key, start=start)
        return first_row(self._find(key, ..., start, start, backward=False))

    def fetch_all(self, start: Any = None, end: Any = None) -> pa.Table:
        """The windows of all keys that start within the bounds."""
        return self._find(None, None, start, end, backward=False)

    def backward_fetch_all(self, start: Any = None, end: Any = None) -> pa.Table:
        """As `fetch_all`, in reverse."""
        return self._find(None, None, start, end, backward=True)

    def find_closed(self, earliest: Any = None, latest: Any = None) -> pa.Table:
        """The windows that start within the bounds, by start and key."""
        return self._store.closed(earliest, latest, backward=False)

    def backward_find_closed(self, earliest: Any = None, latest: Any = None) -> pa.Table:
        """As `find_closed`, in reverse."""
        return self._store.closed(earliest, latest, backward=True)

    def all(self) -> pa.Table:
        """All windows."""
        return self._find(None, None, None, None, backward=False)

    def backward_all(self) -> pa.Table:
        """As `all`, in reverse."""
        return self._find(None, None, None, None, backward=True)

    def _find(self, key: Any, to_key: Any, start: Any, end: Any, *, backward: bool) -> pa.Table:
        bounds = self._store.ticks("start", start), self._store.ticks("end", end)
        return self._store.select((key, to_key), *bounds, backward=backward)
