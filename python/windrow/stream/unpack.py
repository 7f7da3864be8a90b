"""The last step of a streaming query: changes as typed rows."""

from __future__ import annotations

import pyarrow as pa

from windrow import _worker
from windrow.stream.change_block import rows_of


def unpack(batches: _worker.Batches, schema: bytes) -> _worker.Batches:
    """The rows of the blocks in the first column, in columns as `schema` has them."""
    columns = pa.ipc.read_schema(pa.py_buffer(schema))
    for rows in rows_of(batches):
        yield pa.RecordBatch.from_arrays(rows.columns, schema=columns)
