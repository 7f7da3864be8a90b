"""The last step of a streaming query: changes as typed rows."""

from __future__ import annotations

import pyarrow as pa

from windrow import _worker


def unpack(batches: _worker.Batches, schema: bytes) -> _worker.Batches:
    """The rows of the Arrow IPC streams in the column `block`: their first columns, as `schema` has them."""
    columns = pa.ipc.read_schema(pa.py_buffer(schema))
    for rows in rows_of(batches):
        yield pa.RecordBatch.from_arrays(rows.columns[: len(columns)], schema=columns)


def rows_of(blocks: _worker.Batches) -> _worker.Batches:
    """The rows of the Arrow IPC streams in the first column; a null or empty one has none."""
    for batch in blocks:
        for block in batch.column(0):
            held = block.as_buffer()
            if held is not None and held.size:
                yield from pa.ipc.open_stream(held)
