"""Batches as Arrow IPC streams in memory."""

from __future__ import annotations

import pyarrow as pa


def ipc_stream(batch: pa.RecordBatch, options: pa.ipc.IpcWriteOptions | None = None) -> pa.Buffer:
    """A stream of this one batch, with the metadata of its schema."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return sink.getvalue()
