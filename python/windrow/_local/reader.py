"""A result in batches. Packed blocks wait on disk, and the reader computes windows on demand.

```text
 batches ─▶ pack ─▶ blocks, most of them in a file ─▶ one shard at a time, in order of time ─▶ merge ─▶ batches
 └───────────── the call of to_reader ───────────┘    └──────────────── as the reader is read ───────────────┘
```

These are the steps of a Spark query, in one process. Memory holds the rows that a packer gathers and the open windows
of one shard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pyarrow as pa

from windrow._aggregates.evaluation import Tally
from windrow._arguments.nested import no_rows
from windrow._executor.batch import folded, merged, query_of
from windrow._executor.batches import rebased
from windrow._executor.blocks import Blocks, pushed
from windrow._local.counters import metadata
from windrow._local.left_out import LeftOutRecords
from windrow._local.progress import Progress
from windrow._local.results import Kinds, pyarrow_table
from windrow._native import Query
from windrow._plan.flat import shown, shown_schema
from windrow._plan.plan import Plan
from windrow._plan.sequence import FIELD, sequenced

_ROWS = 1 << 16
"""Rows that are packed at once, and the approximate number of rows in a result batch."""

_BYTES = 64 << 20
"""Approximate number of bytes in a result batch, if rows are wide."""


def packed(plan: Plan, batches: Iterable[pa.RecordBatch]) -> tuple[Blocks, dict[str, int]]:
    """All records as blocks, and the counters."""
    made, spec = (Query.of_rows, plan.spec.in_order) if plan.functions else (Query, plan.spec)
    packer = made(spec.text, plan.schema).packer(0)
    starts = ((batch, start) for batch in batches for start in range(0, batch.num_rows, _ROWS))
    blocks = Blocks.of(pushed(packer, (rebased(batch.slice(start, _ROWS)) for batch, start in starts)))
    return blocks, packer.counters()


def reader_of(
    plan: Plan, read: tuple[Blocks, dict[str, int]], progress: Progress | None, tally: Tally, left_out: LeftOutRecords
) -> pa.RecordBatchReader:
    """The result of blocks, with the counters in its schema metadata. Warns if records were left out.

    `tally` counts results that do not fit their type while the reader is read. `left_out` are the records in no window.
    """
    blocks, counters = read
    left_out.warn(counters)
    query = query_of(plan)
    core = schema = left_out.output(query.output_schema)
    finish = None if plan.finish is None else replace(plan.finish.typed(schema), tally=tally)
    schema = schema if finish is None else finish.schema(schema)
    schema = schema.append(FIELD) if plan.options.sequence else schema
    output = shown_schema(plan, schema).with_metadata(metadata(counters))

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            in_order = blocks.in_order() if progress is None else progress.merging(blocks.in_order(), len(blocks))
            if isinstance(query, Query):
                made = merged(query, in_order, tally)
            else:
                made = folded(plan.spec.in_order, plan.schema, plan.folds(), in_order, tally)
            windows = _joined(left_out.joined(made, core))
            for batch in windows if finish is None else finish.batches(windows):
                numbered = sequenced(batch) if plan.options.sequence else batch
                yield shown(plan, numbered).replace_schema_metadata(output.metadata)
            if progress is not None:
                progress.end()
        finally:
            blocks.close()
            if progress is not None:
                progress.close()

    return pa.RecordBatchReader.from_batches(output, batches())


def typed_reader(reader: pa.RecordBatchReader, kinds: Kinds) -> pa.RecordBatchReader:
    """A reader whose columns have the types of the data, as `pyarrow_table` gives them."""
    schema = pyarrow_table(pa.Table.from_batches([no_rows(reader.schema)]), kinds).schema.with_metadata(
        reader.schema.metadata
    )
    if schema.equals(reader.schema):
        return reader
    tables = (pyarrow_table(pa.Table.from_batches([batch]), kinds).combine_chunks() for batch in reader)
    batches = (batch for table in tables for batch in pa.Table.from_arrays(table.columns, schema=schema).to_batches())
    return pa.RecordBatchReader.from_batches(schema, batches)


def _joined(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Merges short batches into longer ones, so that a file of them has no tiny row groups."""
    short, rows, size = list[pa.RecordBatch](), 0, 0
    for batch in batches:
        if short and (rows + batch.num_rows > _ROWS or size + batch.nbytes > _BYTES):
            yield from _as_one(short)
            short, rows, size = [], 0, 0
        if batch.num_rows:
            short.append(batch)
            rows, size = rows + batch.num_rows, size + batch.nbytes
    if short:
        yield from _as_one(short)


def _as_one(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """The batches as one, or as they are if pyarrow cannot join their types, such as runs of extension types."""
    try:
        return pa.Table.from_batches(batches).combine_chunks().to_batches()
    except pa.ArrowNotImplementedError:
        return batches


def hands_lists(plan: Plan, query: Query) -> bool:
    """Whether lists of overlapping windows go only to functions, not into the result. All together may be too large."""
    return plan.finish is not None and set() < set(query.overlapping_lists) <= set(plan.finish.parts)
