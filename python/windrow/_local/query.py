"""Queries without Spark: Arrow data in, one call of the core, a `pyarrow.Table` out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any, Self, TypeVar

import pyarrow as pa

from windrow._aggregates.evaluation import Finish, Tally
from windrow._executor.batch import finals, folds_in_order
from windrow._executor.batches import Batches, no_rows, rebased, rebased_stream
from windrow._executor.free_memory import free_memory
from windrow._local.counters import counters, metadata, warn_left_out
from windrow._local.progress import Progress
from windrow._local.reader import packed, reader_of
from windrow._local.sources import Columns, Union, columns_of
from windrow._native import Query, RowColumns
from windrow._plan.flat import flat
from windrow._plan.input import Input, TimeCasts
from windrow._plan.plan import INPUT, Origins, Plan

Read = TypeVar("Read")
"""The result of reading an input."""


class LocalInput(Input[pa.Table]):
    """Arrow data in this process."""

    def __init__(self, table: Columns) -> None:
        """Reads the columns of a table."""
        self._table = table

    @classmethod
    def of(cls, data: object, libraries: set[str]) -> Self:
        """Opens any Arrow data. Raises `TypeError` for anything else."""
        return cls(columns_of(data, libraries))

    @property
    def columns(self) -> Sequence[str]:
        """The names of all columns, in order."""
        return self._table.names

    def check_observation(self, observation: object) -> None:
        """Raises `TypeError`: an in-process query has its counters in the metadata of its result."""
        raise TypeError(
            f"observation: got {observation!r} for data in this process; allowed: an Observation for a Spark "
            "DataFrame (here windrow.counters(result) has the counters)"
        )

    @property
    def time_casts(self) -> TimeCasts:
        """How the library of the data makes timestamps."""
        return self._table.time_casts

    def check_threads(self, count: int) -> None:
        """Accepts any number."""

    def union(self, inputs: Sequence[Self], schema: pa.Schema, origins: Origins) -> LocalInput:
        """The rows of several tables, one table after the other."""
        return LocalInput(Union([opened._table for opened in inputs], schema, origins))

    def check_progress(self, show: object) -> None:
        """Accepts any value."""

    def run(self, plan: Plan) -> pa.Table:
        """The result. Its schema metadata has an entry for each counter, such as `b"windrow.records": b"123"`."""
        if _hands_lists(plan):
            tally = Tally()
            windows = self._reader(plan, tally).read_all()
            counted = {**counters(windows), "overflows": tally.overflows, "windows": windows.num_rows}
            return windows.replace_schema_metadata(metadata(counted))
        return _told(plan, self._record_by_record if plan.functions else self._all_at_once)

    @property
    def in_order(self) -> bool:
        """True: rows in this process have an order."""
        return True

    def rows(self, schema: pa.Schema, keys: Sequence[str], wanted: Sequence[tuple[Any, ...]]) -> pa.Table:
        """These columns of all rows."""
        del keys, wanted  # rows of other keys move time
        stream = self._table.stream([self.columns.index(name) for name in schema.names])
        reader = pa.RecordBatchReader.from_stream(rebased_stream(stream, schema))
        # pyarrow's `take` fails on an empty batch with an offset into its buffers.
        return pa.Table.from_batches([batch for batch in reader if batch.num_rows], reader.schema)

    def reader(self, plan: Plan) -> pa.RecordBatchReader:
        """The result in batches. Its schema metadata has the counters of records."""
        return self._reader(plan, Tally())

    def _reader(self, plan: Plan, tally: Tally) -> pa.RecordBatchReader:
        with ExitStack() as failed:
            progress = failed.enter_context(_progress(plan))
            stream = pa.RecordBatchReader.from_stream(self._stream(plan, progress))
            blocks, counters = self._read(progress, lambda: packed(plan, stream))
            reader = reader_of(plan, blocks, counters, progress, tally)
            failed.pop_all()  # the bar stays while the reader is read
            return reader

    def _all_at_once(self, plan: Plan, progress: Progress | None) -> pa.Table:
        query = Query(plan.spec, plan.schema, free_memory())
        finish = _finish(plan, query.output_schema)
        parts = None if progress is None else progress.parts
        stream = self._stream(plan, progress)
        batches, counters = self._read(progress, lambda: query.run(stream, plan.options.threads, parts))
        windows = _table(finish, iter(batches), query.output_schema)
        return _counted(plan, windows, counters | _overflows(query.overflows, finish), windows.num_rows)

    def _record_by_record(self, plan: Plan, progress: Progress | None) -> pa.Table:
        folds = folds_in_order(plan.spec_in_order, plan.schema, plan.folds())
        finish = _finish(plan, folds.output_schema)
        query = Query.of_rows(plan.spec_in_order, plan.schema)
        stream = self._stream(plan, progress)
        rows, counters = self._read(progress, lambda: query.run(stream))
        fed = rows if progress is None else progress.making(rows)
        windows = _table(finish, finals(folds, fed), folds.output_schema)
        return _counted(plan, windows, counters | _overflows(folds.overflows, finish), windows.num_rows)

    def with_windows(self, plan: Plan) -> pa.Table:
        """All rows in their order, with `window` and the aggregates. Counters as in `run`."""
        return _told(plan, self._with_windows)

    def _with_windows(self, plan: Plan, progress: Progress | None) -> pa.Table:
        stream = self._all_columns()
        table = self._read(progress, lambda: pa.RecordBatchReader.from_stream(stream).read_all())
        query = Query.with_rows(plan.spec, plan.schema, free_memory())
        core = query.output_schema.remove(len(query.output_schema) - 1)
        finish = _finish(plan, core)
        named = table.select([self.columns.index(name) for name in plan.schema.names])
        table = _shown(plan, table)
        counted_rows = named if progress is None else progress.reading(named, table.num_rows)
        read = rebased_stream(counted_rows, plan.schema)
        parts = None if progress is None else progress.parts
        batches, of_row, counters = self._read(progress, lambda: query.run_over(read, plan.options.threads, parts))
        windows = _table(finish, iter(batches), core)
        added = windows.drop_columns(list(plan.keys))
        batches_of_windows = added.to_batches() or [no_rows(added.schema)]
        threads = plan.options.threads
        of_rows = RowColumns([*map(rebased, batches_of_windows)], of_row, free_memory(), threads).read_all(threads)
        for field in added.schema:
            column = pa.chunked_array([batch.column(field.name) for batch in of_rows], field.type)
            table = table.append_column(field.name, column)
        return _counted(plan, table, counters | _overflows(query.overflows, finish), windows.num_rows)

    def _read(self, progress: Progress | None, work: Callable[[], Read]) -> Read:
        """Runs `work`, which reads the rows. If Python code raises while producing rows, raises that error itself."""
        try:
            return work()
        except Exception as error:
            failed = error
        raised = self._table.raised or (progress.raised if progress is not None else None)
        raise failed if raised is None else raised

    def _stream(self, plan: Plan, progress: Progress | None) -> Any:
        stream = self._table.stream([self.columns.index(name) for name in plan.schema.names])
        counted = stream if progress is None else progress.reading(stream, self._table.rows)
        return rebased_stream(counted, plan.schema)

    def _all_columns(self) -> Any:
        """All columns as a stream. Raises a `TypeError` that names a column without Arrow data."""
        try:
            return self._table.stream(range(len(self.columns)))
        except (pa.ArrowException, TypeError, ValueError):
            for column in self.columns:
                self.field("with_columns", column)
            raise

    def _field_at(self, argument: str, position: int, compared: bool) -> pa.Field[Any]:
        del compared  # Arrow strings have only one order
        try:
            return self._table.schema([position]).field(0)
        except (pa.ArrowException, TypeError) as error:
            raise TypeError(
                f"{argument}: column {self.columns[position]!r} cannot be read as Arrow data ({error}); allowed: a "
                "column of one type that Arrow has"
            ) from error


def _finish(plan: Plan, core: pa.Schema) -> Finish | None:
    """The last step of a plan, typed for the columns `core`. Raises its errors before the query runs."""
    return None if plan.finish is None else plan.finish.typed(core)


def _table(finish: Finish | None, batches: Batches, core: pa.Schema) -> pa.Table:
    if finish is None:
        return pa.Table.from_batches(batches, schema=core)
    return pa.Table.from_batches(finish.batches(batches), schema=finish.schema(core))


def _progress(plan: Plan) -> AbstractContextManager[Progress | None]:
    show = plan.options.progress
    return Progress(show) if show else nullcontext()


def _shown(plan: Plan, table: pa.Table) -> pa.Table:
    """The columns of returned rows. A cogroup drops the plan's own columns and adds the name of the input."""
    origins = plan.origins
    if origins is None:
        return table
    names = pa.array(origins.names)
    of_input = pa.chunked_array([names.take(numbers) for numbers in table[origins.column].chunks], names.type)
    return table.select(list(origins.shown)).append_column(INPUT, of_input)


def _told(plan: Plan, work: Callable[[Plan, Progress | None], pa.Table]) -> pa.Table:
    """The result of `work`, with its progress reported to the end."""
    with _progress(plan) as progress:
        made = work(plan, progress)
        if progress is not None:
            progress.end()
        return made


def _hands_lists(plan: Plan) -> bool:
    """Whether lists of overlapping windows go only to functions, not into the result. All together may be too large."""
    if plan.finish is None or plan.functions:  # with Python functions, windows come a few at a time
        return False
    lists = Query(plan.spec, plan.schema).overlapping_lists
    return bool(lists) and set(lists) <= set(plan.finish.parts)


def _overflows(of_core: int, finish: Finish | None) -> dict[str, int]:
    """The counter of results that do not fit their type: those of the core and those that are computed."""
    return {"overflows": of_core + (0 if finish is None else finish.tally.overflows)}


def _counted(plan: Plan, table: pa.Table, counters: Mapping[str, int], windows: int) -> pa.Table:
    """A result with its counters. Warns if records were left out."""
    warn_left_out(counters)
    shown = flat(table) if plan.options.flat else table
    return shown.replace_schema_metadata(metadata({**counters, "windows": windows}))
