"""One run of a daily job over in-process data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.errors import bad_column_type, bad_value, listed
from windrow._arguments.type_names import meanings
from windrow._executor.batches import rebased, stream_reader
from windrow._executor.empty_arrays import decoded, rebuilt
from windrow._executor.open_windows import END, START, OpenWindows, shown_aggregates
from windrow._executor.run import clock_row, joined, operator_counters, run, run_schema
from windrow._folds.python_shape import plain
from windrow._local.columns import Columns
from windrow._local.own_types import list_columns, source_columns
from windrow._local.results import of_type, table_of, without_views
from windrow._native import Operator, join_clocks, read_clock, tally_open
from windrow._plan.earlier_types import other_type, query_of, types_of
from windrow._plan.flat import BOUNDS, WINDOW
from windrow._plan.open_table import STATE, STREAM_TIME, bounds_of
from windrow._plan.plan import Plan

_BINARY = ("binary", "large_binary", "binary_view", "null")
_ALLOWED = "the open windows that the earlier advance returned, or None on the first day"


def rows_of(
    plan: Plan, operator: Operator, opened: Columns | None, records: list[pa.RecordBatch], to: int
) -> tuple[pa.Table, Mapping[str, int]]:
    """The rows of a run of a new operator, and its counters except those of reading. `records` are sorted by time."""
    schema = run_schema(operator.output_schema)
    finish = None if plan.finish is None else plan.finish.typed(schema)
    before = None if opened is None else opened_of(plan, opened, shown_aggregates(plan, operator.output_schema))
    batches = _with_clock(operator, before, joined(records, plan.schema), to, plan)
    rows = table_of(finish, batches, schema)
    counted = operator_counters(operator)
    if finish is not None:
        counted["overflows"] += finish.tally.overflows
    return rows, counted


def _with_clock(
    operator: Operator, opened: OpenWindows | None, records: pa.RecordBatch, to: int, plan: Plan
) -> Iterator[pa.RecordBatch]:
    clock = yield from run(operator, opened, rebased(records), to, plan.spec)
    yield clock_row(*join_clocks([clock]), run_schema(operator.output_schema))


def with_bounds(closed: pa.Table) -> pa.Table:
    """Closed windows in the types of `agg`, where no window and no bound is null."""
    place, column = closed.column_names.index(WINDOW), closed[WINDOW]
    kind: Any = column.type
    bounds = pa.struct([each.with_nullable(False) for each in kind])
    chunks: Any = [rebuilt(chunk, bounds) for chunk in column.chunks]
    typed: Any = bounds
    windows: Any = pa.chunked_array(chunks, type=typed)
    return closed.set_column(place, pa.field(WINDOW, bounds, nullable=False), windows)


def specification_of(table: Columns) -> Mapping[str, Any] | None:
    """The query that left the windows of a table open; None if it cannot be read before the run."""
    clock = clock_of(table)
    return None if clock is None else query_of(clock)


def clock_of(table: Columns) -> str | None:
    """The clock row of a table, JSON; None if it cannot be read before the run."""
    if table.is_read_once or list(table.names).count(STATE) != 1:
        return None
    try:
        states = stream_reader(table.stream([list(table.names).index(STATE)])).read_all()
        batches = pa.table({STATE: binary_states(states[0])}).to_batches()
        clocks = [batch[0][place].as_py() for batch in batches for place in tally_open(batch)[0]]
        return read_clock(*clocks)
    except (TypeError, ValueError, pa.ArrowException):  # the run says what is wrong with the table
        return None


def opened_of(plan: Plan, table: Columns, aggregates: list[pa.Field[Any]]) -> OpenWindows:
    """A table of open windows, with those of these aggregates that it has."""
    opened = OpenWindows(len(plan.keys))
    for batch in open_rows(table, plan, aggregates).to_batches():
        opened.add(batch)
    return opened


def open_rows(
    table: Columns, plan: Plan, aggregates: list[pa.Field[Any]], *, anew: str = "None to begin anew"
) -> pa.Table:
    """A table of open windows in the columns that the core reads, with those of these aggregates that it has."""
    names = list(table.names)
    bounds = bounds_of(plan, names)
    wanted = [*plan.key_names, *bounds, STREAM_TIME, STATE]
    for name in wanted:
        if names.count(name) != 1:
            raise bad_value("open", f"a table with the columns {listed(names)}", f"one that has {name!r}: {_ALLOWED}")
    _check_meanings(table, plan, anew)
    aggregates = [each for each in aggregates if names.count(each.name) == 1]
    wanted += [each.name for each in aggregates]
    places = sorted(names.index(name) for name in wanted)
    rows = stream_reader(table.stream(places)).read_all()
    named = {names[place]: column for place, column in zip(places, rows.columns, strict=True)}
    columns = _columns(plan, table, named, bounds, rows.num_rows)
    for each in aggregates:
        try:
            columns[each.name] = _cast(each.name, named[each.name], without_views(each.type))
        except TypeError:  # a library without this type, and nothing that a run reads
            continue
    columns[STREAM_TIME] = columns.pop(STREAM_TIME)
    columns[STATE] = columns.pop(STATE)
    return pa.table(columns)


def _check_meanings(table: Columns, plan: Plan, anew: str) -> None:
    """Raises `ValueError` if an extension type has become another one. The core knows the storage of both only."""
    fields: dict[str, Any] = {}
    for name, column in list_columns(plan, table.names).items():
        item: Any = plan.schema.field(column)
        fields[name] = pa.field(name, pa.list_(item))
    fields |= {name: plan.schema.field(column) for name, column in source_columns(plan, table.names).items()}
    for place, name in enumerate(table.names):
        if name not in fields or not isinstance(table.dtype(place), pa.DataType):  # other libraries have other types
            continue
        before, after = meanings(table.schema([place]).field(0)), meanings(fields[name])
        for part in before.keys() & after.keys():
            (one, parameters), (other, others) = before[part], after[part]
            if one != other or (parameters and others and parameters != others):
                was, now = f"extension<{one}{parameters:.200}>", f"extension<{other}{others:.200}>"
                raise other_type(name, was, now, was, anew)


def _columns(plan: Plan, table: Columns, named: Mapping[str, Any], shown: tuple[str, ...], rows: int) -> dict[str, Any]:
    """The columns that a run reads, in the types of the core: keys, bounds and `stream_time` as int64, `state`."""
    time: Any = plan.schema.field(plan.time).type
    columns = dict[str, Any]()
    for place, key in enumerate(plan.keys):
        kind: Any = plain(plan.schema.field(key).type)
        name = plan.key_names[place] if plan.key_names else None
        if name is None:
            columns[key] = pa.chunked_array([pa.array([0] * rows, kind)])
            continue
        try:
            columns[key] = _cast(name, named[name], kind)
        except TypeError:
            earlier = specification_of(table)
            if earlier is None or types_of(earlier).get(name) in (None, kind):
                raise
            columns[key] = pa.nulls(rows, kind)  # the core refuses it, as it compares the queries first
    if shown == BOUNDS:
        bounds = [named[name] for name in BOUNDS]
    else:
        window: Any = named[WINDOW]
        if pa.types.is_null(window.type):  # no window is open
            bounds = [window, window]
        elif pa.types.is_struct(window.type) and min(map(window.type.get_field_index, ("start", "end"))) >= 0:
            bounds = [pc.struct_field(window, name) for name in ("start", "end")]
        else:
            raise bad_column_type("open", WINDOW, window.type, "a struct of `start` and `end`")
    shown = shown if shown == BOUNDS else ("window.start", "window.end")
    times = zip((START, END, STREAM_TIME), (*shown, STREAM_TIME), (*bounds, named[STREAM_TIME]), strict=True)
    for name, column, values in times:
        if values.null_count == rows:
            columns[name] = pa.chunked_array([pa.nulls(rows, pa.int64())])
            continue
        if not pa.types.is_timestamp(values.type):
            raise bad_column_type("open", column, values.type, f"{time}, as in the query")
        # Another unit may lose digits. The core refuses it, as it compares the queries first.
        columns[name] = values.cast(time, safe=False).cast(pa.int64())
    columns[STATE] = binary_states(named[STATE])
    return columns


def binary_states(column: Any) -> Any:
    """The column `state`. Raises `TypeError` for text, because some formats store bytes as text."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if str(kind) not in _BINARY:
        raise bad_column_type("open", STATE, kind, "binary")
    return _cast(STATE, column, pa.binary())


def _cast(name: str, column: Any, kind: pa.DataType) -> Any:
    # pyarrow cannot cast runs, nor dictionaries of views or within other types.
    column = of_type(column, plain(decoded(column.type)))
    try:
        return column if column.type == kind else column.cast(kind)
    except pa.ArrowException as error:
        raise bad_column_type("open", name, column.type, f"{kind}, as in the query ({error})") from error
