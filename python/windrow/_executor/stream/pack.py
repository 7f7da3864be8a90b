"""The first step of a streaming query: packs the rows of one split into blocks and control rows.

```text
  rows ─┬─ ticks, records too far ahead ──────────────▶ control: a row for every shard
        └─ records, by source ─▶ one packer a source ─▶ blocks: rows of (shard, source, first, block)
```
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute

from windrow._arguments.errors import bad_value
from windrow._executor.batches import Batches, conformed, micro_batch, partition
from windrow._executor.stream import returned_records
from windrow._executor.stream.change_block import blocks_of
from windrow._executor.stream.control import Control
from windrow._executor.stream.order import by_arrival, in_order
from windrow._executor.stream.query import Shipment, StreamQuery
from windrow._executor.stream.ticks import by_source, observe_ticks
from windrow._executor.tasks import Source

if TYPE_CHECKING:
    from windrow._native import Packer

pc: Any = pyarrow.compute  # its stubs know no column of any type
_FIELDS: list[pa.Field[Any]] = [
    pa.field("shard", pa.int32(), nullable=False),
    pa.field("source", pa.string(), nullable=False),
    pa.field("first", pa.int64(), nullable=False),
    pa.field("block", pa.binary()),
    pa.field("control", pa.string()),
]
PACKED = pa.schema(_FIELDS)
"""A row on its way to a shard: a block or a control."""

NO_SOURCE = "null"
"""The source of a block of records that are left out. Such a block does not reach the state."""

_ARRIVAL_BITS = 40
"""The low bits of a record's number are its place in its split. The higher bits number the split."""


def pack(batches: Batches, shipment: Shipment, declared: bool = False) -> Batches:
    """Packs the rows of a split into blocks and control rows, both in the schema `PACKED`.

    `declared` says that only the user calls the data a stream. Over a batch the windows that are still open at its end
    would be lost.
    """
    if declared and micro_batch() is None:
        raise bad_value("streaming", True, "False, as the data is a batch DataFrame")
    split = Split(StreamQuery(shipment))
    seen = False
    for batch in batches:
        seen = seen or batch.num_rows > 0
        yield from split.push(batch)
    yield from split.finish()
    if seen:
        yield split.controls()


class Split:
    """The rows of one split."""

    def __init__(self, query: StreamQuery) -> None:
        """No rows yet."""
        self._query = query
        self._packers = dict[Source, "Packer"]()
        self._control = Control()
        self._held = list[pa.RecordBatch]()
        self._arrived = partition() << _ARRIVAL_BITS
        """The number of the next record."""

    def push(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Takes rows. Yields blocks once there are enough rows."""
        query = self._query
        batch = conformed(batch, query.read)
        if query.shipment["clock"] is not None:
            ahead = self._ahead(batch, query.shipment["clock"])
            is_tick = returned_records.is_tick(query, batch)
            if query.record_names:
                yield from self._records_left_out(batch.filter(pc.and_not(ahead, is_tick)))
            yield from self._marked_left_out(batch, pc.and_not(ahead, is_tick), "ahead")
            yield from self._marked_left_out(batch, pc.and_(ahead, is_tick), "bad_tick")
            batch = batch.filter(pc.invert(ahead))
        if query.left_out is not None:
            yield from self._left_out(query.left_out.blocks(batch))
            timeless = pc.and_(returned_records.is_tick(query, batch), pc.is_null(batch.column(query.spec.time)))
            yield from self._marked_left_out(batch, timeless, "bad_tick")
        if query.record_names:
            yield from self._records_left_out(batch.filter(query.faults(batch).is_valid()))
            batch = returned_records.with_row(query, batch)
        if query.shipment["order"] is not None:
            self._held.append(batch)
            return
        if query.spec.tick is not None:
            batch = self._records(batch, query.spec.tick)
        if query.by_arrival:
            for source, records in by_arrival(query, batch, self._arrived, self._control):
                yield from self._packed(source, records)
            self._arrived += batch.num_rows
            return
        for source, records in by_source(batch, query.shipment["source"]):
            yield from self._packed(source, records.select(query.schema.names))

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Yields the blocks of all remaining rows."""
        query = self._query
        if self._held:
            for source, records in in_order(query, self._held, self._control):
                yield from self._packed(source, records)
        for source, packer in self._packers.items():
            for packed in packer.finish():
                yield _of_source(packed, source)
            if query.shipment["order"] is None and not query.by_arrival:
                for number, time in enumerate(packer.latest()):
                    self._control.observe(source, number, time)
            counters = packer.counters()
            del counters["records"], counters["ticks"]  # shards count records, control rows ticks
            self._control.count(counters.items())

    def controls(self) -> pa.RecordBatch:
        """One row for every shard. Only the first has the counters."""
        keys = self._query.shard_keys
        texts = [self._control.write(counted=True)] + [self._control.write(counted=False)] * (len(keys) - 1)
        columns: list[pa.Array[Any]] = [
            pa.array(keys, pa.int32()),
            pa.array(["[]"] * len(keys), pa.string()),
            pa.array([0] * len(keys), pa.int64()),
            pa.nulls(len(keys), pa.binary()),
            pa.array(texts, pa.string()),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=PACKED)

    def _packed(self, source: Source, records: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        packer = self._packers.get(source)
        if packer is None:
            packer = self._packers[source] = self._query.block_query.packer(partition())
        for packed in packer.push(records, len(self._packers)):
            yield _of_source(packed, source)

    def _records_left_out(self, records: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Blocks of records that return without a window."""
        return self._left_out(returned_records.left_out(self._query, records))

    def _marked_left_out(self, batch: pa.RecordBatch, which: Any, reason: str) -> Iterator[pa.RecordBatch]:
        """Blocks of the marked rows, if the query returns records in no window."""
        if self._query.left_out is not None and pc.any(which).as_py():
            yield from self._left_out(blocks_of(self._query.left_out.rows(batch.filter(which), reason)))

    def _left_out(self, blocks: Iterator[bytes]) -> Iterator[pa.RecordBatch]:
        """Blocks on their way past the state, to any shard."""
        query = self._query
        shard = query.shard_keys[partition() % len(query.shard_keys)]
        for block in blocks:
            row = {"shard": shard, "source": NO_SOURCE, "first": 0, "block": block, "control": None}
            yield pa.RecordBatch.from_pylist([row], schema=PACKED)

    def _ahead(self, batch: pa.RecordBatch, clock: str) -> Any:
        """Marks and counts rows that are too far ahead of the wall clock."""
        query = self._query
        latest = pc.add(batch.column(clock).cast(pa.int64()), query.shipment["max_ahead"])
        ahead = pc.fill_null(pc.greater(batch.column(query.spec.time).cast(pa.int64()), latest), False)
        is_tick = returned_records.is_tick(query, batch)
        if query.spec.end is not None:
            ends_ahead = pc.fill_null(pc.greater(batch.column(query.spec.end).cast(pa.int64()), latest), False)
            ahead = pc.or_(ahead, pc.and_not(ends_ahead, is_tick))
        count = pc.sum(ahead).as_py() or 0
        if count:
            ticks = pc.sum(pc.and_(ahead, is_tick)).as_py()
            self._control.count([("ahead", count - ticks), ("bad_ticks", ticks)])
        return ahead

    def _records(self, batch: pa.RecordBatch, tick: str) -> pa.RecordBatch:
        """The records among the rows. Ticks move time."""
        is_tick = pc.fill_null(batch.column(tick), False)
        if not pc.any(is_tick).as_py():
            return batch
        observe_ticks(self._query, batch.filter(is_tick), self._control)
        return batch.filter(pc.invert(is_tick))


def _of_source(packed: pa.RecordBatch, source: Source) -> pa.RecordBatch:
    count = packed.num_rows
    columns: list[pa.Array[Any]] = [
        packed.column(0),
        pa.array([json.dumps(source)] * count, pa.string()),
        packed.column(1),
        packed.column(2),
        pa.nulls(count, pa.string()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=PACKED)
