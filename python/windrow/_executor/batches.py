"""Record batches: as Arrow IPC streams, in the form the core takes, and with counters in their rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.nested import no_rows, nulls
from windrow._executor.empty_arrays import column_of, may_lack_buffers, with_offsets
from windrow._native import RowColumns

Batches = Iterator[pa.RecordBatch]
"""The input and output of Spark's `mapInArrow`."""


def ipc_stream(batch: pa.RecordBatch) -> pa.Buffer:
    """An IPC stream with this one batch and its schema metadata."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def ipc_streams(batches: Batches, schema: bytes) -> Batches:
    """Each batch from Spark as one row with an IPC stream, in the columns of `schema`."""
    columns = read_schema(schema)
    for batch in batches:
        stream = ipc_stream(conformed(batch, columns)).to_pybytes()
        yield pa.RecordBatch.from_arrays([pa.array([stream], pa.binary())], names=["stream"])


def rebased(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch `with_offsets`; if it nests structs or unions in such, a copy whose buffers start at its values.

    A sliced struct starts inside its buffers. The core applies its offset to the children, but pyarrow has already
    applied it to them. A copy through Arrow IPC has no offsets.

    >>> nested = pa.array([{"a": {"b": 1}}, {"a": {"b": 2}}])
    >>> rebased(pa.record_batch({"v": nested.slice(1)}))["v"].offset
    0
    """
    batch = with_offsets(batch)
    if not any(_cuts_twice(field.type) for field in batch.schema):
        return batch
    return pa.ipc.open_stream(ipc_stream(batch)).read_next_batch()


def rebased_stream(stream: Any, schema: pa.Schema) -> Any:
    """A stream with `rebased` batches. Returns the stream itself if no column needs it."""
    if not any(_cuts_twice(field.type) or may_lack_buffers(field.type) for field in schema):
        return stream
    reader = stream_reader(stream)
    copied = pa.ipc.read_schema(reader.schema.serialize())  # an unregistered extension type becomes its storage type
    return pa.RecordBatchReader.from_batches(copied, (rebased(batch) for batch in reader))


def stream_reader(stream: Any) -> pa.RecordBatchReader:
    """Reads any object with `__arrow_c_stream__`. Data of pyarrow comes as it is."""
    if isinstance(stream, pa.RecordBatchReader):
        return stream
    if isinstance(stream, pa.Table):
        return stream.to_reader()
    if hasattr(pa.RecordBatchReader, "from_stream"):
        return pa.RecordBatchReader.from_stream(stream)
    of_capsule: Any = pa.RecordBatchReader
    reader: pa.RecordBatchReader = of_capsule._import_from_c_capsule(stream.__arrow_c_stream__())  # pyarrow 14
    return reader


def _cuts_twice(kind: Any, cut: bool = False) -> bool:
    """Whether the type nests a struct or a union in a struct, a fixed-size list or a union."""
    if isinstance(kind, pa.BaseExtensionType):
        return _cuts_twice(kind.storage_type, cut)
    if pa.types.is_dictionary(kind):
        return _cuts_twice(kind.value_type, cut)
    is_cut = pa.types.is_struct(kind) or pa.types.is_union(kind)
    if is_cut and cut:
        return True
    cut = cut or is_cut or pa.types.is_fixed_size_list(kind)
    return any(_cuts_twice(kind.field(i).type, cut) for i in range(kind.num_fields))


def partition() -> int:
    """The partition number of the current Spark task; 0 outside a task."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.partitionId() if context is not None else 0


def micro_batch() -> int | None:
    """The number of the micro-batch of the current Spark task; None in a batch query and outside a task."""
    from pyspark import TaskContext

    context = TaskContext.get()
    number = context.getLocalProperty("streaming.sql.batchId") if context is not None else None
    return None if number is None else int(number)


def read_schema(serialized: bytes) -> pa.Schema:
    """Reads a serialized schema."""
    return pa.ipc.read_schema(pa.py_buffer(serialized))


def conformed(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch from Spark, cast to the columns of a plan."""
    # Spark sends the session's time zone and, if configured, large strings. The plan knows one form of each type.
    pairs = zip(batch.schema.names, batch.columns, schema, strict=True)
    columns = [column_of(name, column, field.type) for name, column, field in pairs]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def picked(batch: pa.RecordBatch, rows: pa.Array[Any]) -> pa.RecordBatch:
    """These rows, in this order."""
    # pyarrow can take single rows of some types only, the core of all types.
    places = pa.RecordBatch.from_pydict({"row": rows.cast(pa.int64())})
    batches = RowColumns([rebased(batch)], places, None, 1).read_all()
    columns = []
    for number, (name, column) in enumerate(zip(batch.schema.names, batch.columns, strict=True)):
        found = [column_of(name, rows_of.column(number), column.type) for rows_of in batches]
        columns.append(pa.concat_arrays(found or [column.slice(0, 0)]))
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def filtered(rows: pa.Table, mask: pa.Array[Any]) -> pa.Table:
    """The rows that a mask marks, with columns of any type. Like `picked`."""
    places: Any = pc.indices_nonzero(mask)
    batches = [rebased(batch) for batch in rows.to_batches()] or [no_rows(rows.schema)]
    found = RowColumns(batches, pa.RecordBatch.from_pydict({"row": places.cast(pa.int64())}), None, 1).read_all()
    return pa.Table.from_batches(
        [pa.RecordBatch.from_arrays(each.columns, schema=rows.schema) for each in found], rows.schema
    )


def with_counters(batch: pa.RecordBatch, counters: Mapping[str, int | None]) -> pa.RecordBatch:
    """The batch, with these counters in each row."""
    if not counters:
        return batch
    added = [pa.array([value] * batch.num_rows, pa.int64()) for value in counters.values()]
    return pa.RecordBatch.from_arrays([*batch.columns, *added], names=[*batch.schema.names, *counters])


def counters_alone(counters: pa.RecordBatch, output: pa.Schema, names: Iterable[str]) -> pa.RecordBatch:
    """Rows of counters under these names. The columns of the result are null in them."""
    blank = [nulls(counters.num_rows, field.type) for field in output]
    return pa.RecordBatch.from_arrays([*blank, *counters.columns], names=[*output.names, *names])
