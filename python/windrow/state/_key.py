"""The windows of one key, from the pages that may hold them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from windrow._arguments.errors import bad_value, listed
from windrow._arguments.instant import is_missing, ticks
from windrow._executor.stream.index import HEAD, INDEX, QUERY
from windrow._native import decode_page
from windrow.state._shard import NO_SHARDS, opened, operators
from windrow.state._stored_query import StoredQuery
from windrow.testing._values import cell_of

Shards = dict[int, dict[str, str]]
"""The entries of shards, by name."""

Reader = Callable[[int | None, list[str]], Shards]
"""Reads entries of some names, of one shard or of all."""


def fetch_key(
    read: Reader, key: object, start: object, end: object, *, backward: bool, zone: str | None = None
) -> pa.Table:
    """The windows of a key. Bare times are in `zone`, by default in the zone of the time column."""
    shards = read(None, [INDEX, QUERY])
    if not shards:
        raise ValueError(NO_SHARDS)
    _, query = opened(next(iter(shards.values())))
    sort_key = _key(query, key)
    time = pa.field(query.spec.time, query.time)
    first = None if start is None else ticks("start", start, time, zone)
    last = None if end is None else ticks("end", end, time, zone)
    shard, digits = query.place(sort_key)
    results = []
    if shard in shards:
        index, query = opened(shards[shard])
        # The parts of a session in close mode may be in pages of several times.
        times = (None, None) if query.is_in_parts else (first, last)
        names = [
            name for name, page in index.pages.items() if name.endswith(f"/{HEAD}") or page.may_hold(digits, *times)
        ]
        pages = read(shard, names).get(shard, {})
        for number in operators(index):
            prefix = f"{number}/"
            head = index.check(f"{prefix}{HEAD}", pages.get(f"{prefix}{HEAD}"))
            windows = [name for name in names if name.startswith(prefix) and name != f"{prefix}{HEAD}"]
            texts = [index.check(name, pages.get(name)) for name in windows]
            operator = query.operator([decode_page(text) for text in (head, *texts)], is_part=True)
            selected = operator.select(sort_key, sort_key, first, last, backward=backward)
            results.append([query.result_rows(operator, batch, query.source(index, number)) for batch in selected])
    if backward:
        results.reverse()
    if not results:
        raise ValueError("state: the shard of the key has no state: the checkpoint is damaged")
    return pa.Table.from_batches([batch for batches in results for batch in batches])


def _key(query: StoredQuery, key: object) -> pa.RecordBatch:
    fields = query.keys
    names = [field.name for field in fields]
    values: tuple[Any, ...]
    if query.is_series:
        if key is not None:
            raise bad_value("key", key, "None, as the query has no keys")
        values = (0,)
    elif isinstance(key, Mapping) and set(key) == set(names):
        values = tuple(key[name] for name in names)
    elif len(fields) == 1:
        values = key if isinstance(key, tuple) and len(key) == 1 else (key,)
    elif isinstance(key, tuple) and len(key) == len(fields):
        values = key
    else:
        raise bad_value("key", key, f"a tuple of the values of {listed(names)}, or a dict of them by name")
    values = tuple(None if is_missing(value) else value for value in values)
    if all(value is None for value in values):
        raise bad_value("key", key, "a key with a value that is not null: records without one have no windows")
    cells = [
        cell_of(f"key: column {field.name!r}", value, field.type) for value, field in zip(values, fields, strict=True)
    ]
    return pa.RecordBatch.from_arrays(cells, names=names)
