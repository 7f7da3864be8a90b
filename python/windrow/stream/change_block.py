"""Changes on their way from a shard to the last step, as blocks: Arrow IPC streams of columns in few bytes.

What Spark copies from process to process costs by the byte, and by the block.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from windrow import _worker
from windrow.ipc import rebased

_ROWS = 1 << 16
"""Rows whose blocks are made at once."""


def blocks_of(changes: pa.RecordBatch) -> Iterator[bytes]:
    """Changes as blocks of at most 256 KiB, or one row; none where there are no changes."""
    for at in range(0, changes.num_rows, _ROWS):
        yield from _worker.encode_changes(rebased(changes.slice(at, _ROWS)))


def rows_of(blocks: _worker.Batches) -> _worker.Batches:
    """The rows of the blocks in the first column; a null or empty one has none."""
    for batch in blocks:
        for block in batch.column(0):
            held = block.as_py()
            if held:
                yield _worker.decode_changes(held)
