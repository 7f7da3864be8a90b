"""Blocks of changes from a shard, and the last step, which reads them.

Blocks are compact Arrow IPC streams, because Spark's copies between processes cost time per byte and per block.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from windrow._executor.batches import Batches, read_schema, rebased
from windrow._native import decode_changes, encode_changes


def blocks_of(changes: pa.RecordBatch) -> Iterator[bytes]:
    """Changes as blocks: at most 256 KiB encoded, or 256 KiB of values, or a single row."""
    yield from encode_changes(rebased(changes))


def rows_of(blocks: Batches) -> Batches:
    """The rows of the blocks in the first column. Null and empty blocks have none."""
    for batch in blocks:
        for block in batch.column(0):
            if data := block.as_py():
                yield decode_changes(data)


def unpack(batches: Batches, schema: bytes) -> Batches:
    """The last step: reads the blocks in the first column into the columns of `schema`."""
    columns = read_schema(schema)
    for rows in rows_of(batches):
        yield pa.RecordBatch.from_arrays(rows.columns, schema=columns)
