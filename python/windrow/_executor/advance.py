"""The steps of one run of a daily job: from the open windows of the last run and the records of a day to its rows.

```text
 open windows ─▶ pack_open ─┐
 records ──────▶ pack_day ──┼▶ (shuffle by shard) ─▶ advance ─▶ (the clock parts to one task) ─▶ rows_of_run
 nothing ──────▶ heads ─────┘                        one operator a shard
```
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from windrow._arguments.nested import nulls
from windrow._executor.batch import merged_by_shard
from windrow._executor.batches import Batches, ipc_stream, read_schema
from windrow._executor.open_windows import OpenWindows
from windrow._executor.run import Rows, clock_row, joined, operator_counters, run
from windrow._executor.run_blocks import (
    CLOCK,
    CONTROL,
    COUNTERS,
    RECORDS,
    ROWS,
    blocks_of,
    opened_of_shard,
    packed_rows,
    shards_of,
)
from windrow._executor.spark_casts import spark_cast, spark_names
from windrow._native import Operator, Query, join_clocks, read_clock
from windrow._plan.earlier_types import refused
from windrow._plan.spec import Spec


def advance(
    batches: Batches, specs: Mapping[str, str], schemas: Mapping[str, bytes], functions: tuple[bytes, ...], to: int
) -> Batches:
    """Computes whole shards. Yields packed rows: of the run, of the clock, of counters.

    `specs` are the plans of the run, of the records to sort and, unless it is the first run, of the open windows.
    """
    columns, is_first = read_schema(schemas["records"]), "open" not in specs
    folds = [pickle.loads(function).fold(columns, kafka=False) for function in functions]
    plan = Spec.of(specs["run"])
    for shard, parts in shards_of(batches):
        operator = Operator(specs["run"], columns, folds)
        opened, counted = OpenWindows(len(plan.keys)), dict[str, int]()
        for control in blocks_of(parts[CONTROL]):
            for name, count in json.loads(control).get("counters", {}).items():
                counted[name] = counted.get(name, 0) + count
        if not is_first:
            opened = opened_of_shard(parts, specs["open"], schemas["open"])
        merged = merged_by_shard(Query.of_rows(specs["records"], columns), iter(parts[RECORDS]))
        records = joined([rows for _, rows in merged], columns)
        rows = run(operator, None if is_first else opened, records, to, plan)
        try:
            clock = yield from _sent(rows, shard)
        except ValueError as error:
            before = read_clock(opened.clocks[0][0]) if len(opened.clocks) == 1 else None
            if before is None:
                raise
            raise refused(
                error, before, columns, plan.time, partial(spark_cast, columns), of_library=spark_names
            ) from error
        counted |= operator_counters(operator)
        yield packed_rows([(CLOCK, 0, clock), (COUNTERS, shard, json.dumps(counted).encode())])


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
            yield packed_rows([(ROWS, shard, block)])


def rows_of_run(batches: Batches, schema: bytes, shards: int, to: int, observed: Mapping[str, str]) -> Batches:
    """Unpacks the rows of a run, and joins the parts of the clock row. Rows of the counters `observed` follow."""
    columns, clocks, counted = read_schema(schema), list[bytes](), list[dict[str, int]]()
    blank = [pa.field(name, pa.int64()) for name in observed.values()]
    whole = pa.schema([*columns, *blank])

    def with_blanks(rows: pa.RecordBatch) -> pa.RecordBatch:
        blanks = [nulls(rows.num_rows, field.type) for field in blank]
        return pa.RecordBatch.from_arrays([*rows.columns, *blanks], schema=whole)

    for batch in batches:
        for kind, packed in zip(batch.column("kind").to_pylist(), batch.column("block"), strict=True):
            block: Any = packed
            if kind == ROWS:
                yield from map(with_blanks, pa.ipc.open_stream(block.as_buffer()))
            elif kind == CLOCK:
                clocks.append(block.as_py())
            else:
                counted.append(json.loads(block.as_py()))
    if clocks:
        if len(clocks) != shards:
            allowed = "all, which the repartition in front of mapInArrow brings together"
            raise RuntimeError(f"advance: got {len(clocks)} of {shards} shards in one task; allowed: {allowed}")
        yield with_blanks(clock_row(*join_clocks(clocks), columns))
    if observed and counted:
        totals = {name: sum(each.get(name, 0) for each in counted) for name in observed}
        values = [nulls(1, each.type) for each in columns]
        counts = [pa.array([total], pa.int64()) for total in totals.values()]
        yield pa.RecordBatch.from_arrays([*values, *counts], schema=whole)
