"""The rows of one Spark partition, each with its window. All rows of a key are in one partition.

```text
 batches ─┬─ few ──▶ in memory: windows, and the position of each row's window ─▶ batches, in the order of the rows
          └─ many ─▶ pack ─▶ blocks in a file ─▶ one shard at a time, in order of time ─▶ merge ─▶ batches
```
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._aggregates.evaluation import Tally
from windrow._arguments.nested import no_rows
from windrow._executor.batch import merged
from windrow._executor.batches import Batches, conformed, counters_alone, read_schema, with_counters
from windrow._executor.blocks import Blocks, pushed
from windrow._executor.free_memory import free_memory
from windrow._native import Query, RowColumns
from windrow._plan.flat import WINDOW
from windrow._plan.spec import Spec

MOST = 128 << 20
"""Above this many bytes of Arrow data, a partition waits on disk."""

_MOST_ROWS = 1 << 21
"""Above this many rows, too. Each row takes about 100 bytes more than its Arrow data."""


def with_windows(batches: Batches, spec: str, schema: bytes, observed: dict[str, str], most: int = MOST) -> Batches:
    """Rows with their windows, then a row of the counters `observed`.

    A partition of more than `most` bytes, or with very many rows, waits in the temporary folder of this process.
    """
    columns, blank = read_schema(schema), dict.fromkeys(observed.values())
    query = Query.rows_with_windows(spec, columns)
    incoming = (conformed(batch, columns) for batch in batches)
    first, size, count = list[pa.RecordBatch](), 0, 0
    while (fits := size <= most and count <= _MOST_ROWS) and (batch := next(incoming, None)) is not None:
        first.append(batch)
        size, count = size + batch.nbytes, count + batch.num_rows
    tally = Tally()
    if fits:
        rows, counters = _at_once(first, spec, columns, query.output_schema, tally)
    else:
        rows, counters = _from_disk(chain(_taken_from(first), incoming), query, tally)
    for batch in rows:
        yield with_counters(_null_bounds(batch), blank)
    if observed:
        counters = {**counters, "overflows": tally.overflows}
        counted = pa.RecordBatch.from_pylist([{counter: counters[counter] for counter in observed}])
        yield counters_alone(counted, query.output_schema, observed.values())


def _at_once(
    batches: list[pa.RecordBatch], spec: str, schema: pa.Schema, output: pa.Schema, tally: Tally
) -> tuple[Batches, dict[str, int]]:
    """The rows in their order, and the counters."""
    query = Query.with_rows(spec, schema, free_memory())
    windows, of_row, counters = query.run_with_rows(pa.RecordBatchReader.from_batches(schema, batches), 1)
    tally.overflows += query.overflows
    names = output.names[len(schema) :]
    some = windows or [no_rows(query.output_schema)]
    added = [batch.select(names) for batch in some]
    rows = pa.Table.from_batches(batches, schema)
    plan = Spec.of(spec)
    positions = [each["name"] for each in plan.aggregates if each["function"] == "position"]
    shown = _beside(rows, RowColumns(added, of_row, free_memory(), 1, positions), output)
    return (_records(batch, plan.tick) for batch in shown), counters


def _null_bounds(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The rows, with null bounds in a window that is null. Sail reads `window.start` without looking at `window`."""
    place = rows.schema.get_field_index(WINDOW)
    windows: Any = rows.column(place)
    if not windows.null_count:
        return rows
    columns: list[Any] = rows.columns
    columns[place] = pa.StructArray.from_arrays(windows.flatten(), fields=list(windows.type), mask=windows.is_null())
    return pa.RecordBatch.from_arrays(columns, schema=rows.schema)


def _records(rows: pa.RecordBatch, tick: str | None) -> pa.RecordBatch:
    """The rows that are not ticks."""
    if tick is None:
        return rows
    column: Any = rows.column(tick)
    return rows.filter(pc.invert(pc.fill_null(column, False)))


def _beside(rows: pa.Table, columns: Batches, output: pa.Schema) -> Batches:
    """The rows with more columns, which come in batches."""
    start = 0
    for added in columns:
        for of_rows in rows.slice(start, added.num_rows).combine_chunks().to_batches():
            yield pa.RecordBatch.from_arrays([*of_rows.columns, *added.columns], schema=output)
        start += added.num_rows


def _from_disk(batches: Iterable[pa.RecordBatch], query: Query, tally: Tally) -> tuple[Batches, dict[str, int]]:
    """The rows as their windows become final, and the counters."""
    packer = query.packer(0)
    blocks = Blocks.of(pushed(packer, batches))

    def rows() -> Batches:
        try:
            yield from merged(query, blocks.in_order(), tally)
        finally:
            blocks.close()

    return rows(), packer.counters()


def _taken_from(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches in their order, each removed from the list to free its memory."""
    while batches:
        yield batches.pop(0)
