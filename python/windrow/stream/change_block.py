"""Changes on their way from a shard to the last step, as blocks: Arrow IPC streams of columns in few bytes.

What Spark copies from process to process costs by the byte, and by the block.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from windrow import _worker
from windrow.ipc import rebased


def blocks_of(changes: pa.RecordBatch) -> Iterator[bytes]:
    """Changes as blocks of at most 256 KiB, or of so many bytes of values, or of one row."""
    yield from _worker.encode_changes(rebased(changes))


def rows_of(blocks: _worker.Batches) -> _worker.Batches:
    """The rows of the blocks in the first column; a null or empty one has none."""
    for batch in blocks:
        for block in batch.column(0):
            held = block.as_py()
            if held:
                yield _worker.decode_changes(held)
