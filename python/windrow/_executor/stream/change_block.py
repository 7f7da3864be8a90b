"""Changes on their way from a shard to the last step, as blocks, and that step.

Blocks are Arrow IPC streams of columns in few bytes: what Spark copies between processes costs by the byte and by the
block.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from windrow._executor.batches import Batches, read_schema, rebased
from windrow._native import decode_changes, encode_changes


def blocks_of(changes: pa.RecordBatch) -> Iterator[bytes]:
    """Changes as blocks of at most 256 KiB, or of so many bytes of values, or of one row."""
    yield from encode_changes(rebased(changes))


def rows_of(blocks: Batches) -> Batches:
    """The rows of the blocks in the first column; a null or empty one has none."""
    for batch in blocks:
        for block in batch.column(0):
            if data := block.as_py():
                yield decode_changes(data)


def unpack(batches: Batches, schema: bytes) -> Batches:
    """The last step: the rows of the blocks in the first column, in the columns of `schema`."""
    columns = read_schema(schema)
    for rows in rows_of(batches):
        yield pa.RecordBatch.from_arrays(rows.columns, schema=columns)
