"""Records of a stream that `with_columns` returns, each with its window.

| | in the state | returned |
|---|---|---|
| a record of a session | whole, in a list among the aggregates of its session | when the session closes |
| a record of sliding windows | the columns that aggregates read | in its own micro-batch |
| a record left out: no key or time, a bad gap or end, or ahead | nothing | in its own micro-batch, without a window |

For the core, the list is an ordinary aggregate: `collect_list` over a struct of all columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute

from windrow._aggregates.call import AggregateCall
from windrow._arguments.errors import bad_column_type
from windrow._arguments.nested import nulls
from windrow._executor.batches import Batches
from windrow._executor.stream.change_block import blocks_of, counted, rows_of
from windrow._executor.stream.query import ROW, ROWS, Shipment, StreamQuery
from windrow._native import Query
from windrow._plan.plan import Plan
from windrow._windows.session import SessionWindows

pc: Any = pyarrow.compute  # its stubs know no column of any type

Rows = pa.RecordBatch | pa.Table

_WITHOUT_WINDOW = {b"windrow.records": b"without a window"}
"""The metadata of records without a window."""


def core_plan(plan: Plan, records: pa.Schema) -> Plan:
    """The core's plan for a plan that returns records. `records` are the columns of those records.

    Raises:
        TypeError: for sessions, if the state cannot store the values of a column.
    """
    if not isinstance(plan.windows, SessionWindows):
        return replace(plan, schema=pa.schema({field.name: field for field in (*records, *plan.schema)}.values()))
    core = replace(
        plan,
        aggregates=(*plan.aggregates, (ROWS, AggregateCall("collect_list", (ROW,)))),
        schema=plan.schema.append(pa.field(ROW, pa.struct(list(records)))),
    )
    try:
        Query(core.spec.text, core.schema)
    except TypeError:
        for field in records:
            _check_waits(plan, field)
        raise
    return core


def _check_waits(plan: Plan, field: pa.Field[Any]) -> None:
    spec = plan.spec.with_only(AggregateCall("collect_list", (field.name,)).plan(ROWS))
    schema = pa.schema({each.name: each for each in (*plan.schema, field)}.values())
    try:
        Query(spec.text, schema)
    except TypeError:
        allowed = "types that collect_list takes, because a record waits until its session closes"
        raise bad_column_type("with_columns", field.name, field.type, allowed) from None


def is_tick(query: StreamQuery, rows: Rows) -> Any:
    """Marks ticks."""
    if query.spec.tick is None:
        return pa.repeat(False, rows.num_rows)
    return pc.fill_null(rows.column(query.spec.tick), False)


def left_out(query: StreamQuery, rows: pa.RecordBatch) -> Iterator[bytes]:
    """Blocks of records that are left out."""
    records = rows.select(query.record_names)
    return blocks_of(records.replace_schema_metadata(_WITHOUT_WINDOW))


def with_row(query: StreamQuery, rows: pa.RecordBatch) -> pa.RecordBatch:
    """The rows. If records wait for their sessions, with an added column of whole records."""
    if not query.waits:
        return rows
    fields = list(query.row_type)
    row = pa.StructArray.from_arrays([rows.column(name) for name in query.record_names], fields=fields)
    return pa.RecordBatch.from_arrays([*rows.columns, row], schema=query.taken)


def with_windows(records: pa.RecordBatch, windows: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Records with the columns of their windows. `windows` may have several batches."""
    at = 0
    for batch in windows:
        of_records = records.slice(at, batch.num_rows)
        schema = pa.schema([*records.schema, *batch.schema])
        yield pa.RecordBatch.from_arrays([*of_records.columns, *batch.columns], schema=schema)
        at += batch.num_rows


def unpack_records(batches: Batches, shipment: Shipment, observed: Mapping[str, str]) -> Batches:
    """The last step: reads records with their windows from the blocks in the first column. Counters as in `counted`."""
    query = StreamQuery(shipment)

    def read(blocks: Batches) -> Batches:
        return (_of_records(query, rows) for rows in rows_of(blocks))

    yield from counted(batches, read, query.record_result, observed)


def _of_records(query: StreamQuery, rows: pa.RecordBatch) -> pa.RecordBatch:
    schema, columns_of_records = query.record_result, len(query.record_names)
    if rows.schema.metadata == _WITHOUT_WINDOW:
        blank = [nulls(rows.num_rows, field.type) for field in list(schema)[columns_of_records:]]
        return pa.RecordBatch.from_arrays([*rows.columns, *blank], schema=schema)
    if not query.waits:
        return pa.RecordBatch.from_arrays(rows.columns, schema=schema)
    # The columns of a session: the keys, `window`, the aggregates and the list of its records.
    window = len(query.spec.keys)
    last = window + len(schema) - columns_of_records
    lists: Any = rows.column(last)
    of_session = pc.list_parent_indices(lists)
    columns = [rows.column(place).take(of_session) for place in range(window, last)]
    for place, call in enumerate(query.spec.aggregates[:-1], 1):
        if call["function"] == "position":  # the number of records in the session
            columns[place] = pc.subtract(columns[place], _records_after(lists, of_session))
    return pa.RecordBatch.from_arrays([*lists.flatten().flatten(), *columns], schema=schema)


def _records_after(lists: Any, of_session: Any) -> Any:
    """For each record of sessions how many records of its session come after it."""
    ends = pc.cumulative_sum(pc.cast(pc.list_value_length(lists), pa.int64())).take(of_session)
    return pc.subtract(ends, pa.array(range(1, len(of_session) + 1), pa.int64()))
