"""Blocks of changes from a shard, and the last step, which reads them.

Blocks are compact Arrow IPC streams, because Spark's copies between processes cost time per byte and per block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa

from windrow._executor.batches import Batches, counters_alone, micro_batch, read_schema, rebased, with_counters
from windrow._executor.result_rows import of_either
from windrow._native import decode_changes, encode_changes
from windrow._plan.sequence import FIELD, sequenced

_PLACES = 32
"""Bits of a sequence that number the rows of a micro-batch; the bits above number the micro-batch."""


def blocks_of(changes: pa.RecordBatch) -> Iterator[bytes]:
    """Changes as blocks: at most 256 KiB encoded, or 256 KiB of values, or a single row."""
    yield from encode_changes(rebased(changes))


def rows_of(blocks: Batches) -> Batches:
    """The rows of the blocks in the first column. Null and empty blocks have none."""
    for batch in blocks:
        for block in batch.column(0):
            if data := block.as_py():
                yield decode_changes(data)


def unpack(batches: Batches, schema: bytes, observed: Mapping[str, str], sequence: bool = False) -> Batches:
    """The last step: reads the blocks in the first column into the columns of `schema`, perhaps with their sequence.

    All rows of a key come from one task, in the order of their changes. A repeated micro-batch gives the same rows.
    `observed` as in `counted`.
    """
    columns = read_schema(schema)
    place = (micro_batch() or 0) << _PLACES

    def read(blocks: Batches) -> Batches:
        nonlocal place
        for rows in rows_of(blocks):
            changes = of_either(rows, columns)
            yield sequenced(changes, place, 1) if sequence else changes
            place += rows.num_rows

    yield from counted(batches, read, columns.append(FIELD) if sequence else columns, observed)


def counted(
    batches: Batches, read: Callable[[Batches], Batches], output: pa.Schema, observed: Mapping[str, str]
) -> Batches:
    """The rows that `read` makes of blocks, then rows of the counters `observed`, which come with the blocks."""
    blank = dict.fromkeys(observed.values())
    for batch in batches:
        for rows in read(iter([batch])):
            yield with_counters(rows, blank)
        if observed:
            counters = batch.select([*observed])
            yield counters_alone(counters.filter(counters.column(0).is_valid()), output, observed.values())
