"""One run of a daily job over one operator, and the columns of its rows."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.duration import TIME_UNITS
from windrow._arguments.instant import time_text
from windrow._arguments.nested import no_rows, nulls
from windrow._executor.empty_arrays import rebuilt
from windrow._executor.open_windows import OpenWindows
from windrow._folds.python_values import value_text
from windrow._native import Operator
from windrow._plan.flat import WINDOW
from windrow._plan.open_table import STATE, STATUS, STREAM_TIME
from windrow._plan.spec import Spec
from windrow._windows.session_rules import has_rules

Rows = Generator[pa.RecordBatch, None, bytes]
"""The rows of a run; its result is the clock row of these rows."""


def run(operator: Operator, opened: OpenWindows | None, records: pa.RecordBatch, to: int, spec: Spec) -> Rows:
    """Adds the records of a run to a new operator. Yields its rows, without the clock row, in `run_schema`.

    Returns the part of the clock row.
    """
    core = operator.output_schema
    kind: Any = core.field(WINDOW).type.field(0).type
    number, earlier = 0, None
    if opened is not None:
        earlier, last = opened.load(operator, kind)
        number = last + 1
        if to < earlier:
            allowed = f"{time_text(earlier, kind)}, which the earlier call reached, or later"
            raise ValueError(f"to: got {time_text(to, kind)}; allowed: {allowed}")
    _check_times(records, earlier, to, kind, spec)
    schema = run_schema(core)
    for changes in operator.push_micro_batch(records, [(0, 0, to)]):
        yield _row_batch(changes.columns[: len(core)], None, "closed", schema)
    batches, clock = operator.open_windows(to, number)
    for batch in batches:
        columns: list[Any] = batch.columns[:-1]
        op = [pa.nulls(batch.num_rows, pa.string())] * (len(core) - len(columns))  # open windows have none
        yield _row_batch([*columns, *op], batch.columns[-1], "open", schema)
    return clock


def _check_times(records: pa.RecordBatch, earlier: int | None, to: int, kind: Any, spec: Spec) -> None:
    """Raises `ValueError` for a record outside the run, if rules end sessions: it would move ends of closed ones."""
    if not has_rules(spec.windows) or not records.num_rows:
        return
    times = records.column(spec.time).cast(pa.int64())
    bounds: Any = pc.min_max(times)
    first, last = bounds["min"].as_py(), bounds["max"].as_py()
    unit = TIME_UNITS["us"] if spec.nanoseconds else TIME_UNITS[kind.unit]  # ticks are nanoseconds, too
    grace = unit.ticks(spec.grace or 0)
    if earlier is not None and first < earlier - grace:
        less = " by more than the grace" if grace else ""
        time, place = first, f"before the earlier `to`, {time_text(earlier, kind)}{less}"
    elif last >= to:
        time, place = last, f"not before `to`, {time_text(to, kind)}"
    else:
        return
    row = pc.index(times, pa.scalar(time, pa.int64())).as_py()
    key = ", ".join(f"{name} = {value_text(records.column(name).slice(row, 1))}" for name in spec.keys)
    raise ValueError(
        f"column {spec.time!r}: the record of {key} at {time_text(time, kind)} is {place}; allowed with rules "
        "that end sessions: records from the earlier `to` on, less the grace, and before this one, because any other "
        "record would move the ends of sessions that are closed: leave it out with a filter"
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
    columns = [values[each.name] if each.name in values else nulls(1, each.type) for each in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def joined(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    """Sorted batches as one batch, because the operator judges all records together."""
    parts = pa.Table.from_batches(batches).combine_chunks().to_batches() if batches else []
    if len(parts) > 1:
        raise OverflowError(
            "advance: the records of one shard have more than 2 GiB of strings in a column; allowed: more shards, or "
            "several calls with the records of shorter spans"
        )
    return parts[0] if parts else no_rows(schema)


def operator_counters(operator: Operator) -> dict[str, int]:
    """The counters of an operator that a reader of records does not have."""
    names = ("late", "windows_refused", "late_emitted", "behind", "windows_open", "overflows")
    counted = operator.counters()
    return {name: counted[name] for name in names} | {"windows": counted["windows_closed"]}
