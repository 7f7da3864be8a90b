"""One run of a daily job: from the open windows of the last run and the records of a day to the rows of this run.

```text
 open windows ─▶ pack_open ─┐
 records ──────▶ pack_day ──┼▶ (shuffle by shard) ─▶ advance ─▶ (the clock parts to one task) ─▶ rows_of_run
 nothing ──────▶ heads ─────┘                        one operator a shard
```

Every shard has a head, so that each one takes part, and a control row of each split of the open windows: the clock row,
and the count and the checksum of the split's rows. So every shard checks the whole table before it gives a row.
"""

from __future__ import annotations

import itertools
import json
import pickle
from collections.abc import Generator, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.instant import shown
from windrow._executor.batch import _EARLIEST, sorted_rows
from windrow._executor.batches import Batches, conformed, ipc_stream, no_rows, partition, read_schema
from windrow._executor.empty_arrays import rebuilt
from windrow._executor.opened import END, START, Opened
from windrow._native import Operator, Query, join_clocks, shard_keys
from windrow._plan.flat import WINDOW
from windrow._plan.open_table import STATE, STATUS, STREAM_TIME
from windrow._windows.session_rules import has_rules

HEAD, CONTROL, OPEN, RECORDS = range(4)
"""The kinds of packed rows before the shuffle, in the order in which a shard reads them."""

ROWS, CLOCK, COUNTERS = range(3)
"""The kinds of packed rows after it."""

Rows = Generator[pa.RecordBatch, None, bytes]
"""The rows of a run; its result is the clock row of these rows."""

_TIME = "windrow.time"
"""The time of open windows as records of a packer."""

_KINDS = {"kind": pa.int32(), "shard": pa.int32(), "first": pa.int64(), "block": pa.binary()}
_PACKED = pa.schema([pa.field(name, kind) for name, kind in _KINDS.items()])


def run(operator: Operator, opened: Opened | None, records: pa.RecordBatch, to: int, plan: Mapping[str, Any]) -> Rows:
    """Takes the records of a run into a new operator. Yields its rows, without the clock row, in `run_schema`.

    Returns the part of the clock row.
    """
    core = operator.output_schema
    kind: Any = core.field(WINDOW).type.field(0).type
    number, earlier = 0, None
    if opened is not None:
        earlier, last = opened.load(operator, kind)
        number = last + 1
        if to < earlier:
            allowed = f"{shown(earlier, kind)}, which the earlier call reached, or later"
            raise ValueError(f"to: got {shown(to, kind)}; allowed: {allowed}")
    _check_cuts(records, earlier, to, kind, plan)
    schema = run_schema(core)
    for changes in operator.push_micro_batch(records, [(0, 0, to)]):
        yield _row_batch(changes.columns[: len(core)], None, "closed", schema)
    batches, clock = operator.open_windows(to, number)
    for batch in batches:
        columns: list[Any] = batch.columns[:-1]
        op = [pa.nulls(batch.num_rows, pa.string())] if "op" in core.names else []
        yield _row_batch([*columns, *op], batch.columns[-1], "open", schema)
    return clock


def _check_cuts(records: pa.RecordBatch, earlier: int | None, to: int, kind: Any, plan: Mapping[str, Any]) -> None:
    """Raises `ValueError` for a record that would move the cuts of sessions that have other records already."""
    if not has_rules(plan["windows"]) or not records.num_rows:
        return
    times = records.column(plan["time"]).cast(pa.int64())
    bounds: Any = pc.min_max(times)
    for wrong, of_run in ((bounds["min"].as_py(), "before"), (bounds["max"].as_py(), "after")):
        is_wrong = earlier is not None and wrong < earlier if of_run == "before" else wrong >= to
        if is_wrong:
            row = pc.index(times, pa.scalar(wrong, pa.int64())).as_py()
            key = ", ".join(f"{name} = {records.column(name)[row].as_py()}" for name in plan["keys"])
            bound = (
                f"the earlier `to`, {shown(earlier or 0, kind)}" if of_run == "before" else f"`to`, {shown(to, kind)}"
            )
            place = "is before" if of_run == "before" else "is not before"
            raise ValueError(
                f"column {plan['time']!r}: the record of {key} at {shown(wrong, kind)} {place} {bound}; allowed with "
                "rules that end sessions: records from the earlier `to` up to this one, as others would move the cuts "
                "of sessions: leave them out with a filter"
            )


def run_schema(core: pa.Schema) -> pa.Schema:
    """The rows of a run, before computed aggregates: the core's columns, `stream_time`, `state`, `status`."""
    kind: Any = core.field(WINDOW).type.field(0).type
    added = [pa.field(STREAM_TIME, kind), pa.field(STATE, pa.binary()), pa.field(STATUS, pa.string())]
    bounds = pa.struct([("start", kind), ("end", kind)])
    typed = (each.with_type(bounds) if each.name == WINDOW else each for each in core)
    return pa.schema([*(each.with_nullable(True) for each in typed), *added])


def _row_batch(columns: list[Any], states: Any, status: str, schema: pa.Schema) -> pa.RecordBatch:
    rows = len(columns[0])
    added = [
        pa.nulls(rows, schema.field(STREAM_TIME).type),
        pa.nulls(rows, pa.binary()) if states is None else states,
        pa.array([status] * rows, pa.string()),
    ]
    typed = [rebuilt(column, each.type) for column, each in zip(columns, schema, strict=False)]
    return pa.RecordBatch.from_arrays([*typed, *added], schema=schema)


def clock_row(clock: bytes, to: int, schema: pa.Schema) -> pa.RecordBatch:
    """The clock row: null in all columns but `stream_time`, `state` and `status`."""
    values = {
        STREAM_TIME: pa.array([to], pa.int64()).cast(schema.field(STREAM_TIME).type),
        STATE: pa.array([clock], pa.binary()),
        STATUS: pa.array(["open"], pa.string()),
    }
    columns = [values[each.name] if each.name in values else pa.nulls(1, each.type) for each in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def joined(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    """Sorted batches as one, which the operator judges together."""
    parts = pa.Table.from_batches(batches).combine_chunks().to_batches() if batches else []
    if len(parts) > 1:
        raise OverflowError(
            "advance: the records of one shard have more than 2 GiB of strings in a column; allowed: more shards, or "
            "several calls with the records of shorter spans"
        )
    return parts[0] if parts else no_rows(schema)


def heads(batches: Batches, shards: int) -> Batches:
    """A head for every shard, in place of one row."""
    for batch in batches:
        keys = shard_keys(shards) if batch.num_rows else []
        yield _packed([(HEAD, shard, b"") for shard in keys])


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
    yield _packed([(CONTROL, shard_keys(json.loads(spec)["shards"])[0], counted)])


def pack_open(batches: Batches, spec: str, schema: bytes, shards: int) -> Batches:
    """Packs the rows of open windows by shard. A control row for every shard follows."""
    columns = read_schema(schema)
    packer = Query.of_rows(spec, packed_schema(columns)).packer(partition())
    opened = Opened(len(json.loads(spec)["keys"]))
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
    yield _packed([(CONTROL, shard, text) for shard in shard_keys(shards)])


def packed_schema(columns: pa.Schema) -> pa.Schema:
    """The columns of open windows as records that a packer takes: with a time, which is constant."""
    kept = [each.with_type(pa.int64()) if each.name in (START, END) else each for each in columns]
    return pa.schema([*(each for each in kept if each.name != STREAM_TIME), pa.field(_TIME, pa.timestamp("us"))])


def _in_ticks(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Rows of open windows with their times in ticks."""
    named = zip(batch.schema.names, batch.columns, strict=True)
    columns = [each.cast(pa.int64()) if name in (START, END, STREAM_TIME) else each for name, each in named]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _with_time(batch: pa.RecordBatch, columns: pa.Schema) -> pa.RecordBatch:
    schema = packed_schema(columns)
    times = pa.array([0] * batch.num_rows, pa.int64()).cast(pa.timestamp("us"))
    return pa.RecordBatch.from_arrays([*batch.columns, times], schema=schema)


def _packed(rows: list[tuple[int, int, bytes]]) -> pa.RecordBatch:
    kinds, shards, blocks = zip(*rows, strict=True) if rows else ((), (), ())
    columns = [kinds, shards, [_EARLIEST] * len(rows), blocks]
    arrays = [pa.array(list(each), of.type) for each, of in zip(columns, _PACKED, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_PACKED)


def _of_kind(kind: int, packed: pa.RecordBatch) -> pa.RecordBatch:
    kinds = pa.array([kind] * packed.num_rows, pa.int32())
    return pa.RecordBatch.from_arrays([kinds, *packed.columns], schema=_PACKED)


def advance(
    batches: Batches, specs: Mapping[str, str], schemas: Mapping[str, bytes], functions: tuple[bytes, ...], to: int
) -> Batches:
    """Computes whole shards. Yields packed rows: of the run, of the clock, of counters.

    `specs` are the plans of the run, of the records to sort and, unless it is the first run, of the open windows.
    """
    columns, is_first = read_schema(schemas["records"]), "open" not in specs
    folds = [pickle.loads(function).fold(columns, kafka=False) for function in functions]
    plan = json.loads(specs["run"])
    for shard, parts in shards_of(batches):
        operator = Operator(specs["run"], columns, folds)
        opened, counted = Opened(len(plan["keys"])), dict[str, int]()
        for control in _blocks(parts[CONTROL]):
            for name, count in json.loads(control).get("counters", {}).items():
                counted[name] = counted.get(name, 0) + count
        if not is_first:
            opened = opened_of_shard(parts, specs["open"], schemas["open"])
        sorter = Query.of_rows(specs["records"], columns).sorter()
        records = joined([rows for _, rows in sorted_rows(sorter, iter(parts[RECORDS]))], columns)
        rows = run(operator, None if is_first else opened, records, to, plan)
        clock = yield from _sent(rows, shard)
        counted |= operator_counters(operator)
        yield _packed([(CLOCK, 0, clock), (COUNTERS, shard, json.dumps(counted).encode())])


def opened_of_shard(parts: list[list[pa.RecordBatch]], spec: str, schema: bytes) -> Opened:
    """The part of a table of open windows that a shard has, with the counts of the whole table."""
    opened = Opened(len(json.loads(spec)["keys"]))
    for control in _blocks(parts[CONTROL]):
        said = json.loads(control)
        if "clocks" in said:
            opened.clocks += [(bytes.fromhex(clock), time) for clock, time in said["clocks"]]
            opened.rows += said["rows"]
            opened.checksum = (opened.checksum + said["checksum"]) % 2**64
    kept = packed_schema(read_schema(schema))
    sorter = Query.of_rows(spec, kept).sorter()
    opened.batches = [rows.select(kept.names[:-1]) for _, rows in sorted_rows(sorter, iter(parts[OPEN]))]
    return opened


def operator_counters(operator: Operator) -> dict[str, int]:
    """What an operator counts that a reader of records does not."""
    names = ("late", "windows_refused", "late_emitted", "windows_open", "overflows")
    counted = operator.counters()
    return {name: counted[name] for name in names} | {"windows": counted["windows_closed"]}


def _sent(rows: Rows, shard: int) -> Rows:
    """The rows of a run as packed ones. Returns what `rows` returns."""
    while True:
        try:
            batch = next(rows)
        except StopIteration as end:
            clock: bytes = end.value
            return clock
        for start in range(0, batch.num_rows, 1 << 14):
            block = ipc_stream(batch.slice(start, 1 << 14)).to_pybytes()
            yield _packed([(ROWS, shard, block)])


def shards_of(batches: Batches) -> Iterator[tuple[int, list[list[pa.RecordBatch]]]]:
    """The blocks of one shard after the other, by kind."""
    shard: int | None = None
    parts: list[list[pa.RecordBatch]] = [[] for _ in range(4)]
    for batch in batches:
        for number, kind, rows in _runs(batch):
            if number != shard:
                if shard is not None:
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


def _blocks(batches: list[pa.RecordBatch]) -> Iterator[bytes]:
    for batch in batches:
        blocks: list[Any] = batch.column("block").to_pylist()
        yield from blocks


def rows_of_run(batches: Batches, schema: bytes, shards: int, to: int, observed: Mapping[str, str]) -> Batches:
    """Unpacks the rows of a run, and joins the parts of the clock row. Rows of the counters `observed` follow."""
    columns, clocks, counted = read_schema(schema), list[bytes](), list[dict[str, int]]()
    blank = [pa.field(name, pa.int64()) for name in observed.values()]
    whole = pa.schema([*columns, *blank])

    def shown_rows(rows: pa.RecordBatch) -> pa.RecordBatch:
        nulls = [pa.nulls(rows.num_rows, pa.int64()) for _ in blank]
        return pa.RecordBatch.from_arrays([*rows.columns, *nulls], schema=whole)

    for batch in batches:
        for kind, packed in zip(batch.column("kind").to_pylist(), batch.column("block"), strict=True):
            block: Any = packed
            if kind == ROWS:
                yield from map(shown_rows, pa.ipc.open_stream(block.as_buffer()))
            elif kind == CLOCK:
                clocks.append(block.as_py())
            else:
                counted.append(json.loads(block.as_py()))
    if clocks:
        if len(clocks) != shards:
            raise RuntimeError(f"advance: {len(clocks)} of {shards} shards are in one task; this is a bug of windrow")
        yield shown_rows(clock_row(*join_clocks(clocks), columns))
    if observed and counted:
        totals = {name: sum(each.get(name, 0) for each in counted) for name in observed}
        values = [pa.nulls(1, each.type) for each in columns]
        counts = [pa.array([total], pa.int64()) for total in totals.values()]
        yield pa.RecordBatch.from_arrays([*values, *counts], schema=whole)
