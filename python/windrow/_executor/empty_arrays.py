"""Arrays without values, whose offsets have no buffer or one without bytes. Spark up to 4.1 sends such lists.

Arrow's format allows it, but pyarrow and the core read the first offset of every array.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

_LISTS = (pa.ListType, pa.LargeListType, pa.MapType, pa.FixedSizeListType)


def has_lists(kind: Any) -> bool:
    """Whether a list or a map is in the type, which may have values while its elements have none."""
    if isinstance(kind, _LISTS):
        return True
    return pa.types.is_struct(kind) and any(has_lists(kind.field(i).type) for i in range(kind.num_fields))


def with_offsets(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch, with new buffers for each array without values, at any depth.

    >>> nothing = pa.Array.from_buffers(pa.string(), 0, [None, pa.py_buffer(b""), pa.py_buffer(b"")])
    >>> lists = pa.Array.from_buffers(pa.list_(pa.string()), 1, [None, pa.py_buffer(bytes(8))], children=[nothing])
    >>> with_offsets(pa.record_batch({"v": lists}))["v"].values.buffers()[1] == nothing.buffers()[1]
    False
    """
    if batch.num_rows and not any(has_lists(field.type) for field in batch.schema):
        return batch
    return pa.RecordBatch.from_arrays([_mended(column) for column in batch.columns], schema=batch.schema)


def _mended(array: Any) -> Any:
    kind = array.type
    if len(array) == 0:
        return pa.nulls(0, kind)
    if not has_lists(kind):
        return array
    if pa.types.is_struct(kind):
        parts = [_mended(array.field(position)) for position in range(kind.num_fields)]
        # The entries of a map may have no mask, not even one without nulls.
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=mask)
    own = array.buffers()[: 1 if isinstance(kind, pa.FixedSizeListType) else 2]
    return pa.Array.from_buffers(kind, len(array), own, array.null_count, array.offset, [_mended(array.values)])
