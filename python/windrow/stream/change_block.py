"""Changes on their way from a shard to the last step: blocks of them, as compressed Arrow IPC streams.

A block has at most 256 KiB, compressed or before it is, or one row; before it is compressed it has at most 512 KiB. The
JVM holds it as an array of bytes, in buffers of up to twice its length, and copies it several times. Its G1 collector
keeps arrays apart that are larger than half a region (512 KiB, where regions have 1 MiB, the least), and may start to
mark the whole heap for each of them. Smaller blocks than these would cost more by their number.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from windrow import _worker
from windrow.ipc import ipc_stream

_BYTES = 1 << 18

# What Spark copies from process to process costs by the byte. A worker was forked: no threads.
_WRITE = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
_READ = pa.ipc.IpcReadOptions(use_threads=False)


def blocks_of(changes: pa.RecordBatch) -> Iterator[bytes]:
    """Changes as blocks, halved until they are small enough or one row.

    Of each column a part has to be smaller than the whole: not so are dictionaries and views, which Spark has none of.
    """
    rows = changes.num_rows
    if rows == 0:
        return
    if rows == 1 or changes.nbytes <= 2 * _BYTES:
        block = ipc_stream(changes, _WRITE)
        # The names of many columns are in each half, too: more halves do not help against them.
        if rows == 1 or min(block.size, changes.nbytes) <= _BYTES:
            yield block.to_pybytes()
            return
    yield from blocks_of(changes.slice(0, rows // 2))
    yield from blocks_of(changes.slice(rows // 2))


def rows_of(blocks: _worker.Batches) -> _worker.Batches:
    """The rows of the blocks in the first column; a null or empty one has none."""
    for batch in blocks:
        for block in batch.column(0):
            held = block.as_buffer()
            if held is not None and held.size:
                yield from pa.ipc.open_stream(held, options=_READ)
