"""A table of open windows from the pages of a streaming query: what runs on executors.

```text
 pages of the shards ─▶ pack_shards ─▶ (the parts of the clock row to one task) ─▶ rows_of_table
```
"""

from __future__ import annotations

import itertools
import json
from typing import Any

import pyarrow as pa

from windrow._executor.batches import Batches, ipc_stream, read_schema
from windrow._executor.empty_arrays import rebuilt
from windrow._executor.run import clock_row
from windrow._executor.stream.index import INDEX
from windrow._native import Operator, decode_page, join_clocks
from windrow._plan.flat import WINDOW
from windrow._plan.open_table import STATE, STREAM_TIME
from windrow.state._shard import entries_of, opened
from windrow.state._stored_query import StoredQuery

ROWS, CLOCK = range(2)
"""The kinds of packed rows."""

_KINDS = {"kind": pa.int32(), "shard": pa.int32(), "block": pa.binary()}
PACKED = pa.schema([pa.field(name, kind) for name, kind in _KINDS.items()])
_ROWS_OF_BLOCK = 1 << 14


def table_schema(query: StoredQuery) -> pa.Schema:
    """The columns of a table of open windows: keys, `window`, aggregates, `stream_time`, `state`."""
    core = Operator(query.spec.of_state.text, query.schema, query.folds).output_schema
    count = len(query.spec.keys) + 1 + len(query.spec.aggregates)
    bounds = pa.struct([("start", query.time), ("end", query.time)])
    fields = [field.with_type(bounds) if field.name == WINDOW else field for field in list(core)[:count]]
    named = zip(fields[1:] if query.is_series else fields, query.names, strict=False)
    shown = [field.with_name(name).with_nullable(True) for field, name in named]
    return pa.schema([*shown, pa.field(STREAM_TIME, query.time), pa.field(STATE, pa.binary())])


def pack_shards(batches: Batches, schema: bytes, batch: int) -> Batches:
    """The open windows of shards, packed, each with its part of the clock row.

    Args:
        batches: rows of `shard`, `name` and `page`, each shard's one after the other.
        schema: the columns of the table, serialized.
        batch: the number of the micro-batch.

    Raises:
        ValueError: pages are damaged or missing.
    """
    columns = read_schema(schema)
    for number, (_, entries) in enumerate(itertools.groupby(entries_of(batches), lambda entry: entry[0])):
        pages = {name: page for _, name, page in entries}
        index, query = opened(pages)
        del pages[INDEX]
        index.check_all(pages)
        operator = query.operator([decode_page(text) for name, text in pages.items() if name.startswith("0/")])
        sources = [json.dumps(source) for source in index.sources] if index.source else []
        rows, clock = operator.open_windows(None, batch, sources)
        for windows in rows:
            for start in range(0, windows.num_rows, _ROWS_OF_BLOCK):
                shown = _open_rows(windows.slice(start, _ROWS_OF_BLOCK), query, columns)
                yield _packed(ROWS, number + 1, ipc_stream(shown).to_pybytes())
        yield _packed(CLOCK, 0, clock)


def _open_rows(rows: pa.RecordBatch, query: StoredQuery, columns: pa.Schema) -> pa.RecordBatch:
    *shown, states = rows.columns
    shown = shown[1:] if query.is_series else shown
    times = pa.nulls(rows.num_rows, columns.field(STREAM_TIME).type)
    arrays = [rebuilt(column, field.type) for column, field in zip([*shown, times, states], columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=columns)


def _packed(kind: int, shard: int, block: bytes) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"kind": kind, "shard": shard, "block": block}], PACKED)


def rows_of_table(batches: Batches, schema: bytes, shards: int) -> Batches:
    """The rows of the table. The task with the parts of the clock row adds that row."""
    columns, clocks = read_schema(schema), list[bytes]()
    for batch in batches:
        for kind, packed in zip(batch.column("kind").to_pylist(), batch.column("block"), strict=True):
            block: Any = packed
            if kind == CLOCK:
                clocks.append(block.as_py())
            else:
                yield from pa.ipc.open_stream(block.as_buffer())
    if clocks:
        if len(clocks) != shards:
            raise ValueError(f"state: has {len(clocks)} shards of {shards}: the checkpoint is damaged")
        yield clock_row(*join_clocks(clocks), columns)
