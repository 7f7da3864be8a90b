"""Packed rows of a daily run: the rows that a shard reads, and the rows that it returns.

Every shard has a head, so that each one takes part, and a control row of each split of the open windows: the clock row,
and the count and the checksum of the split's rows. So every shard checks the whole table before it gives a row.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from windrow._executor.batch import EARLIEST, merged_by_shard
from windrow._executor.batches import Batches, conformed, partition, read_schema
from windrow._executor.open_windows import END, START, OpenWindows
from windrow._native import Query, shard_keys
from windrow._plan.open_table import STREAM_TIME
from windrow._plan.spec import Spec

HEAD, CONTROL, OPEN, RECORDS = range(4)
"""The kinds of packed rows before the shuffle, in the order in which a shard reads them."""

ROWS, CLOCK, COUNTERS = range(3)
"""The kinds of packed rows after it."""

_TIME = "windrow.time"
"""The time that open windows have as records of a packer."""

_KINDS = {"kind": pa.int32(), "shard": pa.int32(), "first": pa.int64(), "block": pa.binary()}
_PACKED = pa.schema([pa.field(name, kind) for name, kind in _KINDS.items()])


def heads(batches: Batches, shards: int) -> Batches:
    """One head for each shard. One input row gives all of them."""
    for batch in batches:
        keys = shard_keys(shards) if batch.num_rows else []
        yield packed_rows([(HEAD, shard, b"") for shard in keys])


def pack_day(batches: Batches, spec: str, schema: bytes) -> Batches:
    """Packs the records of a day. The counters of the split follow for the first shard."""
    columns = read_schema(schema)
    packer = Query.of_rows(spec, columns).packer(partition())
    for batch in batches:
        for packed in packer.push(conformed(batch, columns)):
            yield _of_kind(RECORDS, packed)
    for packed in packer.finish():
        yield _of_kind(RECORDS, packed)
    counted = json.dumps({"counters": packer.counters()}).encode()
    yield packed_rows([(CONTROL, shard_keys(Spec.of(spec).shards)[0], counted)])


def pack_open(batches: Batches, spec: str, schema: bytes, shards: int) -> Batches:
    """Packs the rows of open windows by shard. A control row for every shard follows."""
    columns = read_schema(schema)
    packer = Query.of_rows(spec, packed_schema(columns)).packer(partition())
    opened = OpenWindows(len(Spec.of(spec).keys))
    for batch in batches:
        opened.add(_in_ticks(conformed(batch, columns)))
        for each in opened.batches:
            for packed in packer.push(_with_time(each, columns)):
                yield _of_kind(OPEN, packed)
        opened.batches.clear()
    for packed in packer.finish():
        yield _of_kind(OPEN, packed)
    clocks = [(clock.hex(), time) for clock, time in opened.clocks]
    control = {"clocks": clocks, "rows": opened.rows, "checksum": opened.checksum}
    text = json.dumps(control).encode()
    yield packed_rows([(CONTROL, shard, text) for shard in shard_keys(shards)])


def packed_schema(columns: pa.Schema) -> pa.Schema:
    """The columns of open windows as records that a packer takes: with a time, which is constant."""
    kept = [each.with_type(pa.int64()) if each.name in (START, END) else each for each in columns]
    return pa.schema([*(each for each in kept if each.name != STREAM_TIME), pa.field(_TIME, pa.timestamp("us"))])


def _in_ticks(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Rows of open windows with their times as int64."""
    named = zip(batch.schema.names, batch.columns, strict=True)
    columns = [each.cast(pa.int64()) if name in (START, END, STREAM_TIME) else each for name, each in named]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _with_time(batch: pa.RecordBatch, columns: pa.Schema) -> pa.RecordBatch:
    schema = packed_schema(columns)
    times = pa.array([0] * batch.num_rows, pa.int64()).cast(pa.timestamp("us"))
    return pa.RecordBatch.from_arrays([*batch.columns, times], schema=schema)


def packed_rows(rows: list[tuple[int, int, bytes]]) -> pa.RecordBatch:
    """Rows of these kinds, shards and blocks."""
    kinds, shards, blocks = zip(*rows, strict=True) if rows else ((), (), ())
    columns = [kinds, shards, [EARLIEST] * len(rows), blocks]
    arrays = [pa.array(list(each), of.type) for each, of in zip(columns, _PACKED, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_PACKED)


def _of_kind(kind: int, packed: pa.RecordBatch) -> pa.RecordBatch:
    kinds = pa.array([kind] * packed.num_rows, pa.int32())
    return pa.RecordBatch.from_arrays([kinds, *packed.columns], schema=_PACKED)


def opened_of_shard(parts: list[list[pa.RecordBatch]], spec: str, schema: bytes) -> OpenWindows:
    """The part of a table of open windows that a shard has, with the counts of the whole table."""
    opened = OpenWindows(len(Spec.of(spec).keys))
    for control in blocks_of(parts[CONTROL]):
        said = json.loads(control)
        if "clocks" in said:
            opened.clocks += [(bytes.fromhex(clock), time) for clock, time in said["clocks"]]
            opened.rows += said["rows"]
            opened.checksum = (opened.checksum + said["checksum"]) % 2**64
    kept = packed_schema(read_schema(schema))
    merged = merged_by_shard(Query.of_rows(spec, kept), iter(parts[OPEN]))
    opened.batches = [rows.select(kept.names[:-1]) for _, rows in merged]
    return opened


def shards_of(batches: Batches) -> Iterator[tuple[int, list[list[pa.RecordBatch]]]]:
    """The blocks of one shard after the other, by kind. `ValueError` for shards out of order."""
    shard: int | None = None
    parts: list[list[pa.RecordBatch]] = [[] for _ in range(4)]
    for batch in batches:
        for number, kind, rows in _runs(batch):
            if number != shard:
                if shard is not None:
                    if number < shard:
                        raise ValueError(f"packed rows: shard {number} comes out of order: sort them by shard")
                    yield shard, parts
                shard, parts = number, [[] for _ in range(4)]
            parts[kind].append(rows.select(["shard", "first", "block"]))
    if shard is not None:
        yield shard, parts


def _runs(batch: pa.RecordBatch) -> Iterator[tuple[int, int, pa.RecordBatch]]:
    """The runs of rows of one shard and kind."""
    shards: list[Any] = batch.column("shard").to_pylist()
    kinds: list[Any] = batch.column("kind").to_pylist()
    start = 0
    for (shard, kind), same in itertools.groupby(zip(shards, kinds, strict=True)):
        length = sum(1 for _ in same)
        yield shard, kind, batch.slice(start, length)
        start += length


def blocks_of(batches: list[pa.RecordBatch]) -> Iterator[bytes]:
    """The blocks in packed rows."""
    for batch in batches:
        blocks: list[Any] = batch.column("block").to_pylist()
        yield from blocks
