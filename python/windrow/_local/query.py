"""Queries without Spark: Arrow data in, one call of the core, a result in the kind of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, Self, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from windrow._aggregates.evaluation import Finish, Tally
from windrow._aggregates.user_function import Accumulation, Reduction
from windrow._arguments.errors import aggregate_argument, bad_column_type, bad_type
from windrow._arguments.expression import ColumnExpression
from windrow._arguments.nested import no_rows
from windrow._executor.batch import final_windows, folds_in_order, query_of
from windrow._executor.batches import conformed, filtered, rebased, rebased_stream, stream_reader
from windrow._executor.empty_arrays import carried
from windrow._executor.free_memory import free_memory
from windrow._folds.python_shape import decoded
from windrow._local.advance import rows_of, specification_of, with_bounds
from windrow._local.columns import Columns, finite
from windrow._local.counters import counters, warn_left_out
from windrow._local.dictionaries import Dictionaries
from windrow._local.earlier_run import has_cast, holds_integers, refusal, with_earlier_types
from windrow._local.empty_columns import continued, fitted, passes, typed_stream
from windrow._local.expressions import output_name, with_expressions
from windrow._local.left_out import LeftOutRecords
from windrow._local.own_types import earlier_types, own_types, retyped_columns, source_columns
from windrow._local.progress import Progress, progress_of, with_progress
from windrow._local.reader import hands_lists, packed, reader_of, typed_reader
from windrow._local.results import is_null, pyarrow_table, table_of
from windrow._local.sources import Union, columns_of
from windrow._native import Operator, Query, RowColumns
from windrow._plan.casts import Casts
from windrow._plan.flat import flat, shown
from windrow._plan.input import Input, Need, Run
from windrow._plan.observation import is_observation, report
from windrow._plan.open_table import STATE, STATUS, STREAM_TIME
from windrow._plan.plan import Origins, Plan
from windrow._plan.sequence import sequenced

Read = TypeVar("Read")
"""The result of reading an input."""


class LocalInput(Input[Any]):
    """In-process Arrow data."""

    def __init__(self, table: Columns) -> None:
        """Reads the columns of a table."""
        self._table = self._source = table
        self.expressions = {}

    @classmethod
    def of(cls, data: object) -> Self:
        """Opens any Arrow data. Raises `TypeError` for anything else."""
        return cls(columns_of(data))

    @property
    def columns(self) -> Sequence[str]:
        """The names of all columns, in order."""
        return self._source.names

    def check_observation(self, observation: object) -> None:
        """Raises `TypeError` unless it is an `Observation`, of windrow or of PySpark."""
        if not is_observation(observation):
            raise bad_type("observation", observation, "a windrow.Observation, such as windrow.Observation()")

    def written(self, column: str) -> tuple[str, Casts]:
        """As a user of the library of the data writes it."""
        return self._table.written(self.reference(column))

    def cast(self, column: str, kind: pa.DataType) -> str | None:
        """In the words of the library of the data; None also if one of the values has no such cast."""
        return self._table.cast(self.reference(column), kind) if has_cast(self._source, column, kind) else None

    def output_name(self, argument: str, expression: ColumnExpression) -> str:
        """The library's name for the column."""
        return output_name(self._table, argument, expression, list(self.row_columns))

    def with_expressions(self, expressions: Mapping[str, ColumnExpression]) -> Self:
        """The same with columns that the library computes, or Arrow."""
        other = copy(self)
        other.expressions = {**self.expressions, **expressions}
        other._source = with_expressions(self._table, other.expressions)
        return other

    def sample(self, column: str) -> list[Any]:
        """Some texts or numbers of a column, without nulls; none of a stream that can be read once."""
        position = self.columns.index(column)
        kind = decoded(self._source.schema([position]).field(0).type)
        # Python does not have all times, and no hint needs them.
        if pa.types.is_temporal(kind) or pa.types.is_nested(kind):
            return []
        try:
            return self._source.sample(position)
        except IndexError:  # of codes beyond their dictionary
            return []

    def unnamed(self, argument: str) -> str | None:
        """How to name the index of a pandas frame, if it has the times and no name."""
        return self._table.unnamed_times if argument == "time" else None

    def union(self, inputs: Sequence[Self], schema: pa.Schema, origins: Origins) -> LocalInput:
        """The rows of several tables, one table after the other."""
        return LocalInput(Union([opened._source for opened in inputs], schema, origins))

    def run(self, plan: Plan) -> Any:
        """The result in the kind of the data. Warns if records were left out."""
        if plan.functions:  # with them, windows come a few at a time
            return with_progress(plan, self._record_by_record)
        query = Query(plan.spec.text, plan.of_windows.schema, free_memory())
        if hands_lists(plan, query):
            tally = Tally()
            left_out = LeftOutRecords(plan)
            windows = self._reader(plan, tally, left_out).read_all()
            of_windows = windows.num_rows - left_out.rows
            counts = {**counters(windows), "overflows": tally.overflows, "windows": of_windows}
            counted = _reported(plan, counts)
            return self._table.result(windows, own_types(plan, self._source, windows), counted)
        return with_progress(plan, partial(self._all_at_once, query))

    def has_no_values(self, column: str) -> bool:
        """Whether a column has no value: its type has none, or there are no rows."""
        position = self.columns.index(column)
        return is_null(self._source.schema([position]).field(0).type) or self._table.is_empty

    def fitted(self, plan: Plan, *, rows: bool, has_no_values: Callable[[str], bool]) -> Plan:
        """The plan with types that its aggregates allow for the columns that hold nothing."""
        check = (lambda each: Query.with_rows(each.spec.text, each.schema)) if rows else query_of
        made = fitted(plan, check, has_no_values)
        for name, call in made.aggregates:
            if isinstance(call, Reduction | Accumulation):  # of values of any type
                continue
            for column in set(call.columns).intersection(self.columns):
                allowed = self._instead(column, "number")
                if allowed is not None and not passes(replace(made, aggregates=((name, call),)), query_of):
                    argument = f"{aggregate_argument(name)}: {call.maker}"
                    kind = self._source.dtype(self.columns.index(column))
                    raise bad_column_type(argument, self.shown(column), kind, allowed)
        return made

    def continued(self, plan: Plan, opened: Any) -> Plan:
        """The plan of a daily job. Columns that hold nothing have the types of the run that left windows open."""
        own = self._source.schema([self.columns.index(name) for name in plan.schema.names])
        nothing = [
            name
            for name, kind in zip(plan.schema.names, own.types, strict=True)
            if not pa.types.is_timestamp(kind) and self.has_no_values(name)  # nobody makes timestamps by accident
        ]
        earlier = None if opened is None else specification_of(columns_of(opened, "open"))
        if earlier is None:
            return plan
        plan = continued(plan, earlier, query_of, nothing)
        return with_earlier_types(plan, earlier, self._source, self._table)

    def holds_integers(self, column: str) -> bool:
        """Whether a column of floats holds integers, as pandas has no integers beside nulls."""
        return holds_integers(self._source, self._table, column)

    def rows(self, schema: pa.Schema, keys: Sequence[str], wanted: Sequence[pa.RecordBatch]) -> pa.Table:
        """These columns of all rows."""
        del keys, wanted  # rows of other keys move time
        reader = stream_reader(rebased_stream(self._rows(self._source, schema), schema))
        # pyarrow's `take` fails on an empty batch with an offset into its buffers.
        rows = [conformed(batch, reader.schema) for batch in reader if batch.num_rows]
        return pa.Table.from_batches(rows, reader.schema)

    def reader(self, plan: Plan) -> pa.RecordBatchReader:
        """The result in batches. Its schema metadata has the counters of records."""
        dictionaries = Dictionaries()
        reader = self._reader(plan, Tally(), LeftOutRecords(plan), dictionaries)
        _reported(plan, counters(reader))
        columns = source_columns(plan, reader.schema.names)
        types = {
            name: self._source.schema([self.columns.index(column)]).field(0).type for name, column in columns.items()
        }
        kinds = {name: dictionaries.fitting(columns[name], kind) for name, kind in types.items()}
        places = {name: self.columns.index(column) for name, column in columns.items()}
        return typed_reader(reader, {name: self._source.in_order(places[name], kind) for name, kind in kinds.items()})

    def _reader(
        self, plan: Plan, tally: Tally, left_out: LeftOutRecords, dictionaries: Dictionaries | None = None
    ) -> pa.RecordBatchReader:
        with ExitStack() as failed:
            progress = failed.enter_context(progress_of(plan))
            stream: Iterable[pa.RecordBatch] = stream_reader(self._stream(plan, progress, left_out))
            stream = stream if dictionaries is None else dictionaries.reading(stream)
            read = self._read(progress, lambda: packed(plan.of_windows, stream))
            reader = reader_of(plan.of_windows, read, progress, tally, left_out)
            failed.pop_all()  # the bar stays while the reader is read
            return reader

    def _all_at_once(self, query: Query, plan: Plan, progress: Progress | None) -> Any:
        left_out = LeftOutRecords(plan)
        core = left_out.output(query.output_schema)
        finish = _finish(plan, core)
        parts = None if progress is None else progress.parts
        stream = self._stream(plan, progress, left_out)
        batches, counters = self._read(progress, lambda: query.run(stream, plan.options.threads, parts))
        windows = table_of(finish, left_out.joined(iter(batches), core), core)
        return self._finished(plan, windows, counters | _overflows(query.overflows, finish), left_out)

    def _record_by_record(self, plan: Plan, progress: Progress | None) -> Any:
        left_out, windows_plan = LeftOutRecords(plan), plan.of_windows
        folds = folds_in_order(windows_plan.spec.in_order, windows_plan.schema, windows_plan.folds())
        core = left_out.output(folds.output_schema)
        finish = _finish(plan, core)
        query = Query.of_rows(windows_plan.spec.in_order.text, windows_plan.schema)
        stream = self._stream(plan, progress, left_out)
        rows, counters = self._read(progress, lambda: query.run(stream))
        records = rows if progress is None else progress.making(rows)
        windows = table_of(finish, left_out.joined(final_windows(folds, records), core), core)
        return self._finished(plan, windows, counters | _overflows(folds.overflows, finish), left_out)

    def advance(self, plan: Plan, opened: Any, to: int) -> Run[Any]:
        """One run of a daily job, in the kind of the data."""
        before = None if opened is None else columns_of(opened, "open")
        retyped = retyped_columns(plan, self._source)
        if before is not None:
            keys = {name: key for name, key in zip(plan.key_names, plan.keys, strict=False) if key not in retyped}
            before.check_continued(self._table.dtypes(keys))
        query = Query.of_rows(plan.spec.in_order.text, plan.schema)
        operator = Operator(plan.spec.of_run.text, plan.schema, plan.folds())  # refuses columns before they are read
        records, read = self._read(None, lambda: query.run(self._stream(plan, None, LeftOutRecords(plan))))
        try:
            rows, of_run = rows_of(plan, operator, before, records, to)
        except ValueError as error:
            columns = {} if before is None else source_columns(plan, before.names)
            raise refusal(error, plan, before, self._source, self._table, columns=columns) from error
        warn_left_out(read)
        counted = _reported(plan, {**read, **of_run})
        rows = shown(plan, rows)
        rows = pyarrow_table(rows, {})  # pyarrow cannot filter views
        kinds = own_types(plan, self._source, rows, retyped)
        if before is not None:
            before.check_continued(kinds)
            if type(before) is type(self._table):  # columns without a value have the types of the run before
                kinds = {**kinds, **earlier_types(plan, before, retyped)}
        is_closed: Any = pc.equal(rows[STATUS], pa.scalar("closed"))
        closed = filtered(rows, is_closed).drop_columns([STREAM_TIME, STATE, STATUS])
        closed = closed if plan.options.flat else with_bounds(closed)
        still_open = filtered(rows, pc.invert(is_closed)).drop_columns([STATUS, *(["op"] if plan.options.op else [])])
        result = self._table.result
        return Run(result(closed, kinds, counted), result(still_open, kinds, counted), result(rows, kinds, counted))

    def with_windows(self, plan: Plan) -> Any:
        """All rows in their order, with `window` and the aggregates. Counters as in `run`."""
        return with_progress(plan, self._with_windows)

    def _with_windows(self, plan: Plan, progress: Progress | None) -> Any:
        held = self._read(progress, self._held)
        query = Query.with_rows(plan.spec.text, plan.schema, free_memory())
        core = query.output_schema.remove(len(query.output_schema) - 1)
        finish = _finish(plan, core)
        computed, ticks = self._computed(held), 0
        if plan.tick is not None:
            column = stream_reader(computed._source.stream([self.columns.index(plan.tick)])).read_all()
            marks: Any = column[0].combine_chunks()
            is_tick = pc.fill_null(marks, False)
            ticks = pc.sum(is_tick).as_py() or 0
            held = held.filtered(pc.invert(is_tick))
            computed = self._computed(held)
        stream = self._rows(computed._source, plan.schema, plan.times)
        counted_rows = stream if progress is None else progress.reading(stream, held.rows)
        read = rebased_stream(counted_rows, plan.schema)
        parts = None if progress is None else progress.parts
        batches, of_row, counters = computed._read(
            progress, lambda: query.run_with_rows(read, plan.options.threads, parts)
        )
        windows = table_of(finish, iter(batches), core)
        added = windows.drop_columns(list(plan.keys))
        batches_of_windows = added.to_batches() or [no_rows(added.schema)]
        threads = plan.options.threads
        positions = [name for name, call in plan.aggregates if call.function == "position"]
        of_rows = RowColumns([*map(rebased, batches_of_windows)], of_row, free_memory(), threads, positions)
        batches_of_rows = of_rows.read_all(threads)
        columns: list[Any] = [
            pa.chunked_array([batch.column(field.name) for batch in batches_of_rows], field.type)
            for field in added.schema
        ]
        # With the metadata of fields, which has extension types that pyarrow does not know.
        added = pa.Table.from_arrays(columns, schema=pa.schema([each.with_nullable(True) for each in added.schema]))
        warn_left_out(counters)
        counted = _reported(
            plan, {**counters, "ticks": ticks, **_overflows(query.overflows, finish), "windows": windows.num_rows}
        )
        further = flat(added) if plan.options.flat else added
        return held.with_columns(further, own_types(plan, self._source, further), counted)

    def _computed(self, held: Columns) -> Self:
        """The same over rows in memory."""
        other = copy(self)
        other._source = with_expressions(held, self.expressions) if self.expressions else held
        return other

    def _held(self) -> Columns:
        """All columns with their rows. Raises a `TypeError` that names a column without Arrow data."""
        try:
            return self._table.held()
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            for column in self.columns:
                self.field("with_columns", column)
            raise

    def _finished(self, plan: Plan, windows: pa.Table, counters: Mapping[str, int], left_out: LeftOutRecords) -> Any:
        """The result of windows, with their counters."""
        left_out.warn(counters)
        counted = _reported(plan, {**counters, "windows": windows.num_rows - left_out.rows})
        windows = sequenced(windows) if plan.options.sequence else windows
        result = shown(plan, windows)
        return self._table.result(result, own_types(plan, self._source, result), counted)

    def _read(self, progress: Progress | None, work: Callable[[], Read]) -> Read:
        """Runs `work`, which reads the rows. If Python code raises while producing rows, raises that error itself."""
        try:
            return work()
        except Exception as error:
            failed = error
        raised = self._source.raised or (progress.raised if progress is not None else None)
        raise self._source.explained(failed if raised is None else raised)

    def _stream(self, plan: Plan, progress: Progress | None, left_out: LeftOutRecords) -> Any:
        stream = self._rows(self._source, plan.schema, plan.times)
        counted = stream if progress is None else progress.reading(stream, self._table.rows)
        return rebased_stream(left_out.reading(counted, self._source._remember), plan.of_windows.schema)

    def _rows(self, source: Columns, schema: pa.Schema, times: Sequence[str] = ()) -> Any:
        """These columns of a source as a stream. An infinite time is null."""
        own = source.stream([self.columns.index(name) for name in schema.names])
        stream = typed_stream(own, schema, source._remembered)
        return finite(stream_reader(stream), times) if times and source.has_infinity else stream

    def duration_of(self, column: str) -> ColumnExpression | None:
        """The durations of a DuckDB INTERVAL."""
        columns = list(self.columns)
        return self._source.duration_of(columns.index(column)) if columns.count(column) == 1 else None

    def type_of(self, field: pa.Field[Any]) -> tuple[str, str | None]:
        """In the words of the library of the data."""
        return self._source.type_of(self.columns.index(field.name))

    def _instead(self, column: str, need: Need) -> str | None:
        """What is allowed in place of a column of the data that Arrow cannot compare as its library does."""
        return self._source.instead(self.columns.index(column), need, self.written(column)[0])

    def _field_at(self, argument: str, position: int, compared: Need | None) -> pa.Field[Any]:
        column = self.columns[position]
        allowed = None if compared is None else self._instead(column, compared)
        if allowed is not None:
            raise bad_column_type(argument, column, self._source.dtype(self.columns.index(column)), allowed)
        try:
            return carried(self._source.schema([position]).field(0))
        except (pa.ArrowException, TypeError, OverflowError) as error:
            raise TypeError(
                f"{argument}: column {self.columns[position]!r} cannot be read as Arrow data ({error}); allowed: a "
                "column of one type that Arrow has"
            ) from error


def _finish(plan: Plan, core: pa.Schema) -> Finish | None:
    """The last step of a plan, typed for the columns `core`. Raises its errors before the query runs."""
    return None if plan.finish is None else plan.finish.typed(core)


def _overflows(of_core: int, finish: Finish | None) -> dict[str, int]:
    """The counter of results that do not fit their type: those of the core and those that are computed."""
    return {"overflows": of_core + (0 if finish is None else finish.tally.overflows)}


def _reported(plan: Plan, counted: Mapping[str, int]) -> Mapping[str, int]:
    """The counters of a query. Gives them to its observation, if it has one."""
    if plan.options.observation is not None:
        report(plan.options.observation, counted)
    return counted
