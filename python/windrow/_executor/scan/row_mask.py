"""Rows that a table has deleted from a Parquet file. Their numbers count from the start of the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa


def kept(
    batches: Iterable[pa.RecordBatch], keep: pa.BooleanArray | None, metadata: Any, row_groups: Sequence[int]
) -> Iterator[pa.RecordBatch]:
    """The rows of some row groups that a mask over the file keeps. Without a mask, and after its end, all rows stay."""
    if keep is None:
        yield from batches
        return
    sizes = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    rest: Any = pa.repeat(pa.scalar(True), max(sum(sizes) - len(keep), 0))
    whole = pa.concat_arrays([keep, rest])
    starts = list(accumulate(sizes, initial=0))
    mask: Any = pa.concat_arrays([whole.slice(starts[number], sizes[number]) for number in row_groups])
    first = 0
    for batch in batches:
        yield batch.filter(mask.slice(first, batch.num_rows))
        first += batch.num_rows


def mask_without(deleted: Iterable[int], size: int) -> Any:
    """A mask over `size` rows that keeps all but those with these numbers.

    >>> mask_without([1, 3], 4).to_pylist()
    [True, False, True, False]
    """
    mask = bytearray(b"\x01") * size
    for number in deleted:
        if number < size:
            mask[number] = 0
    return pa.Array.from_buffers(pa.uint8(), size, [None, pa.py_buffer(mask)]).cast(pa.bool_())
