"""The second step of a streaming query: applies the blocks of one micro-batch to the state of a shard."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from windrow._executor.open_windows import check_start
from windrow._executor.stream import returned_records
from windrow._executor.stream.change_block import blocks_of
from windrow._executor.stream.control import Control
from windrow._executor.stream.order import judging_times
from windrow._executor.stream.pack import NO_SOURCE
from windrow._executor.stream.pages import Pages, PageState
from windrow._executor.stream.query import StreamQuery
from windrow._executor.tasks import Source
from windrow._native import Operator, ShardSessions

Progress = list[tuple[int, int, int]]
"""Progress of sources: the input, the source number and the largest time."""

_SPLIT = ("null_keys", "null_times", "null_ties", "bad_gaps", "bad_ends", "clamped_gaps", "ahead", "ticks", "bad_ticks")
_SHARD = ("records", "late", "windows_refused", "late_emitted", "overflows", "behind", "updates", "windows_closed")
_NOW = ("windows_open", "state_pages", "state_bytes", "pages_written")
SUMS = (*_SPLIT, *_SHARD, *_NOW)
"""Counters that are summed over all shards."""


def changes(rows: Iterable[Any], state: PageState, query: StreamQuery) -> Iterator[tuple[bytes, dict[str, int | None]]]:
    """The changes of a shard in one micro-batch, and the counters.

    Args:
        rows: the blocks and controls of the shard, in any order.
        state: the pages of the shard.
        query: the query.

    Returns:
        Blocks of changes. The last one comes with the counters of `SUMS` and `stream_time`.

    Raises:
        ValueError: the state is damaged or belongs to another query, or rows of one shard do not fit one batch.
    """
    shipment = query.shipment
    shard, blocks, left_out, control = _received(rows, query.shard_keys)
    pages = Pages(state, shard, shipment["source"], "slowest" if shipment["slowest"] else "source")
    check_start(pages.index.start, shipment["start"])
    work = Shard(query, pages)
    counters = dict.fromkeys(SUMS, 0)
    for name in _SPLIT:
        counters[name] = control.counters.get(name, 0)
    emitted: list[pa.RecordBatch] = []
    tasks = list(work.tasks(control, blocks))
    pages.operators = len(tasks)
    for number, rows_of_task, progress in tasks:
        changed = (
            work.join(number, rows_of_task, progress, control)
            if shipment["joins"]
            else work.push(number, rows_of_task, progress, control)
        )
        emitted += changed.rows
        left_out += [block for rows in changed.left_out for block in blocks_of(rows)]
        for name in _SHARD:
            counters[name] += changed.after[name] - changed.before[name]
        pages.index.gauges[str(number)] = (changed.stream_time, changed.after["windows_open"])
        pages.write(number, changed.pages)
    # Rows of all operators wait until every page that the micro-batch needs has been read: one may be damaged.
    yield from ((block, {}) for block in left_out)
    for batch in emitted:
        # The record operator adds columns: the time of the change, and `op` for final windows.
        needed = batch if query.at_once else batch.select(range(query.window_columns))
        yield from ((block, {}) for block in blocks_of(needed))
    pages.finish(query.stored)
    counters["windows_open"] = sum(count for _, count in pages.index.gauges.values())
    counters |= {"state_pages": pages.count, "state_bytes": pages.size, "pages_written": pages.written}
    times = [time for time, _ in pages.index.gauges.values() if time is not None]
    yield b"", {**counters, "stream_time": min(times, default=None)}


def _received(rows: Iterable[Any], shard_keys: list[int]) -> tuple[int, dict[Source, list[Any]], list[bytes], Control]:
    """The shard number, its blocks by source, blocks of records left out, and the merged controls."""
    shard, blocks, left_out, control = 0, dict[Source, list[Any]](), list[bytes](), Control()
    for row in rows:
        shard = shard_keys.index(row.shard)
        if row.control is not None:
            control.add(Control.read(row.control))
        elif row.source == NO_SOURCE:
            left_out.append(row.block)
        else:
            blocks.setdefault(tuple(json.loads(row.source)), []).append(row)
    return shard, blocks, sorted(left_out), control  # in one order, so that a repeated task gives the same bytes


class Effect(NamedTuple):
    """The effect of a micro-batch on an operator.

    Attributes:
        rows: the changes of windows.
        pages: the changed pages by name; None for a deleted one.
        before: the counters before it.
        after: the counters after it.
        stream_time: stream time after it.
        left_out: the records in no window, if they come back.
    """

    rows: list[pa.RecordBatch]
    pages: list[tuple[str, bytes | None]]
    before: dict[str, int]
    after: dict[str, int]
    stream_time: int | None
    left_out: Sequence[pa.RecordBatch] = ()


class Shard:
    """A shard of a streaming query."""

    def __init__(self, query: StreamQuery, pages: Pages) -> None:
        """Takes the query and the state of the shard."""
        self._query = query
        self._pages = pages

    def join(self, number: int, rows: list[Any], progress: Progress, control: Control) -> Effect:
        """Joins partial sessions or records in an operator. It loads only the pages that it needs."""
        query, pages = self._query, self._pages
        sessions = ShardSessions(query.spec.of_shard.text, query.schema, pages.index.shard)
        head = pages.head(number)
        if head is not None:
            sessions.restore(head)
        before, left_out = sessions.counters(), list[pa.RecordBatch]()
        if query.left_out is None:
            emitted, changed = sessions.finish(pages.some(number, sessions.push(_packed(rows), progress)))
        else:
            packed = _packed(rows)
            needed = sessions.push_records_in_time(packed, progress)
            if needed is not None:
                emitted, changed = sessions.finish(pages.some(number, needed))
            else:
                records, _ = self._records(packed, control)
                emitted, changed = sessions.finish(pages.some(number, sessions.push_records(records, progress)))
                left_out = query.left_out.judged(records, sessions)
        return Effect(emitted, changed, before, sessions.counters(), sessions.stream_time, left_out)

    def _operator(
        self, number: int, keys: pa.RecordBatch, progress: Progress, times: pa.RecordBatch | None = None
    ) -> Operator:
        """Operator `number` with the pages that the records need. Loads all pages if the query has changed."""
        query, pages = self._query, self._pages
        operator = query.operator()
        head = pages.head(number) if pages.is_of(query.stored) else None
        touched = None if head is None else operator.touched(head, keys, progress, times)
        if head is not None and touched is not None:
            if more := operator.restore_touched([head, *pages.some(number, touched)]):
                operator.restore_touched(pages.some(number, more))
        elif pages.knows(number):
            operator.restore(pages.of(number))
        return operator

    def tasks(self, control: Control, blocks: dict[Source, list[Any]]) -> Iterator[tuple[int, list[Any], Progress]]:
        """For each operator with work: its number, its blocks and the progress of its sources."""
        pages, is_slowest = self._pages, self._query.shipment["slowest"]
        for source, number in sorted(control.times, key=repr):
            pages.see(source, number)
        for source in sorted(blocks, key=repr):
            pages.see(source)
        sources = pages.index.sources
        progress = [(number, pages.numbers[source], time) for (source, number), time in control.times.items()]
        for number, time in control.ticks.items():
            # With the slowest source's time, an input moves only sources that it has seen. Otherwise each source has
            # its own time.
            seen = (each for each in range(len(sources)) if not is_slowest or number in pages.index.inputs[each])
            progress += [(number, each, time) for each in seen]
        # A restart with a smaller grace also closes windows of sources without new rows.
        every = not pages.is_of(self._query.stored)
        if is_slowest:
            rows = [row for of_source in blocks.values() for row in of_source]
            if rows or progress or (every and sources):
                yield 0, rows, progress
            return
        by_source: list[Progress] = [[] for _ in sources]
        for number, each, time in progress:
            by_source[each].append((number, 0, time))
        for each, source in enumerate(sources):
            if by_source[each] or source in blocks or every:
                yield each, blocks.get(source, []), by_source[each]

    def push(self, number: int, rows: list[Any], progress: Progress, control: Control) -> Effect:
        """Pushes the records of blocks to an operator with the pages that they need."""
        query = self._query
        records, times = self._records(_packed(rows), control)
        operator = self._operator(number, records.select(query.spec.keys), progress, times)
        before = operator.counters()
        if query.at_once:
            windows = operator.push_returned_records(records, progress, times)
            returned = records.select(query.record_names)
            changes = list(returned_records.with_windows(returned, windows))
        else:
            changes = operator.push_micro_batch(records, progress, times)
        left_out = [] if query.left_out is None else query.left_out.judged(records, operator)
        after = operator.counters()
        return Effect(changes, operator.changed_pages(), before, after, operator.stream_time, left_out)

    def _records(self, packed: pa.RecordBatch, control: Control) -> tuple[pa.RecordBatch, pa.RecordBatch | None]:
        """The records of blocks in order, and the times that judge each."""
        query = self._query
        merger = query.block_query.merger()
        batches = [batch for _, batch in [*merger.push(packed), *merger.finish()]]
        table = pa.Table.from_batches(batches, schema=query.rows_schema)
        batches = table.combine_chunks().to_batches()
        if len(batches) > 1:
            raise ValueError(
                f"micro-batch: {table.num_rows} records of one shard have more than 2 GiB in a column; allowed: less: "
                "more shards (.shards(...)), or smaller micro-batches (maxFilesPerTrigger, maxOffsetsPerTrigger)"
            )
        records = batches[0] if batches else pa.RecordBatch.from_pylist([], schema=query.rows_schema)
        times = judging_times(query, records, control) if query.shipment["order"] is not None else None
        return records.select(query.schema.names), times


def _packed(rows: list[Any]) -> pa.RecordBatch:
    """Blocks in the form the core takes, in the order of their first times."""
    rows = sorted(rows, key=lambda row: (row.first, row.block))
    columns: list[pa.Array[Any]] = [
        pa.array([0] * len(rows), pa.int32()),
        pa.array([row.first for row in rows], pa.int64()),
        pa.array([row.block for row in rows], pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, names=["shard", "first", "block"])
