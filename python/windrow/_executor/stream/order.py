"""The records of a split in the order of their source, each with the times that judge it (rules 1.3), or as they come.

All records of a source are in one split. So this step knows, for each input, the largest time of all records and ticks
up to a record. That time travels with the record, and no shard needs the records of another shard.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute

from windrow._executor.stream import returned_records
from windrow._executor.stream.control import Control
from windrow._executor.stream.query import ORDER, StreamQuery
from windrow._executor.stream.ticks import by_source, observe_ticks
from windrow._executor.tasks import Source
from windrow._folds.python_values import value_text

pc: Any = pyarrow.compute  # its stubs know no column of any type
Column = Any
"""A `pyarrow.ChunkedArray` of any type."""

_TIME, _INPUT, _TICK, _FAULT = (f"windrow.mark.{name}" for name in ("time", "input", "tick", "fault"))


def in_order(
    query: StreamQuery, batches: list[pa.RecordBatch], control: Control
) -> Iterator[tuple[Source, pa.RecordBatch]]:
    """The records of each source, in the columns of blocks. Adds the progress of sources to `control`.

    Raises:
        ValueError: a record has no order.
    """
    rows = _marked(query, pa.Table.from_batches(batches, schema=query.taken), control)
    _check_order(query, rows)
    if query.spec.tick is not None and pc.any(rows[_TICK]).as_py():
        observe_ticks(query, rows.filter(rows[_TICK]), control)
        rows = rows.filter(pc.invert(pc.and_(rows[_TICK], _after_all(query, rows))))
    for source, of_source in by_source(rows, query.shipment["source"]):
        yield from ((source, batch) for batch in _judged(query, source, of_source, control).to_batches())


def by_arrival(
    query: StreamQuery, batch: pa.RecordBatch, first: int, control: Control
) -> Iterator[tuple[Source, pa.RecordBatch]]:
    """The records of each source, in the columns of blocks. Their numbers begin at `first`.

    The batch has no ticks. Adds the progress of sources to `control`.
    """
    rows = _marked(query, pa.Table.from_batches([batch]), control)
    numbers = pa.array(range(first, first + rows.num_rows), pa.int64()).cast(pa.timestamp("us"))
    rows = rows.append_column(ORDER, numbers)
    for source, of_source in by_source(rows, query.shipment["source"]):
        moving = of_source.filter(pc.is_null(of_source[_FAULT]))
        for number in range(query.spec.input_count):
            of_input = moving.filter(pc.equal(moving[_INPUT], number))
            control.observe(source, number, pc.max(of_input[_TIME]).as_py())
        yield from ((source, records) for records in of_source.select(query.rows_schema.names).to_batches())


def judging_times(query: StreamQuery, records: pa.RecordBatch, control: Control) -> pa.RecordBatch:
    """The times that judge records of blocks: from their own source, and from earlier ticks for all sources."""
    columns = [records.column(name) for name in query.seen]
    order = records.column(ORDER).cast(pa.int64())
    for number, place, time in control.ordered:
        later = pc.max_element_wise(columns[number], pa.scalar(time, pa.int64()), skip_nulls=True)
        columns[number] = pc.if_else(pc.greater_equal(order, place), later, columns[number])
    return pa.RecordBatch.from_arrays(columns, names=query.seen)


def _marked(query: StreamQuery, rows: pa.Table, control: Control) -> pa.Table:
    """Adds the columns that decide whether a row moves time. Counts and drops records without a time, tie or valid end.

    The packer of these rows goes by order and not by time, so it cannot find such records itself.
    """
    is_tick = returned_records.is_tick(query, rows)
    number = rows[query.spec.input].cast(pa.int64()) if query.spec.input is not None else _constant(0, rows)
    time = rows[query.spec.time].cast(pa.int64())
    faults = pa.chunked_array(map(query.faults, rows.to_batches()), pa.string())
    for name, column in ((_TICK, is_tick), (_FAULT, faults), (_TIME, time), (_INPUT, number)):
        rows = rows.append_column(name, column)
    rows = _without(rows, "null_time", control)
    rows = _without(rows, "null_tie", control)
    if query.spec.invalid_end == "error":  # the operator raises it
        return rows
    return _without(rows, "bad_end", control)


def _without(rows: pa.Table, fault: str, control: Control) -> pa.Table:
    """The rows without the records of this fault, which are counted."""
    which = pc.fill_null(pc.equal(rows[_FAULT], fault), False)
    count = pc.sum(which).as_py() or 0
    if not count:
        return rows
    control.count([(f"{fault}s", count)])
    return rows.filter(pc.invert(which))


def _check_order(query: StreamQuery, rows: pa.Table) -> None:
    """Raises `ValueError` for a record without an order."""
    order = query.shipment["order"] or ""
    unordered = pc.and_(pc.is_null(rows[order]), pc.invert(rows[_TICK]))
    if pc.any(unordered).as_py():
        first = rows.filter(unordered).select([*query.spec.keys, query.spec.time]).slice(0, 1).to_struct_array()
        shown = value_text(first.combine_chunks())
        raise ValueError(f"order: column {order!r} is null in the record {shown}; allowed: an integer in every record")


def _after_all(query: StreamQuery, ticks: pa.Table) -> Column:
    """Marks ticks that count after all records: they lack an order, a time or, if there are sources, a source."""
    nowhere = pc.is_null(ticks[query.shipment["order"] or ""])
    nowhere = pc.or_(nowhere, pc.is_null(ticks[_TIME]))
    if query.shipment["source"]:
        sourceless = _constant(True, ticks)
        for column in query.shipment["source"]:
            sourceless = pc.and_(sourceless, pc.is_null(ticks[column]))
        nowhere = pc.or_(nowhere, sourceless)
    return nowhere


def _judged(query: StreamQuery, source: Source, rows: pa.Table, control: Control) -> pa.Table:
    """The records of one source in order. Equal orders sort by input, then latest first."""
    order = query.shipment["order"] or ""
    by = [(order, "ascending"), (_INPUT, "ascending"), (_TIME, "descending")]
    rows = rows.take(pc.sort_indices(rows, sort_keys=by)).combine_chunks()
    is_tick, moves = rows[_TICK], pc.and_not(pc.is_null(rows[_FAULT]), rows[_TICK])
    seen = []
    for number in range(query.spec.input_count):
        of_input = pc.fill_null(pc.equal(rows[_INPUT], number), False)
        of_all = pc.and_(is_tick, pc.is_null(rows[_INPUT]))
        counts = pc.or_(pc.and_(pc.or_(moves, is_tick), of_input), of_all)
        times = pc.if_else(counts, rows[_TIME], pa.scalar(None, pa.int64()))
        latest = pc.fill_null_forward(pc.cumulative_max(times, skip_nulls=True))
        control.observe(source, number, pc.max(times).as_py())
        seen.append(latest)
    position = pc.cast(rows[order], pa.int64()).cast(pa.timestamp("us"))
    columns = [*(rows[name] for name in query.schema.names), position, *seen]
    return pa.table(columns, schema=query.rows_schema).filter(pc.invert(is_tick))


def _constant(value: object, rows: pa.Table) -> Column:
    constant: Any = value
    return pa.chunked_array([pa.repeat(constant, rows.num_rows)])
