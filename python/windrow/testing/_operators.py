"""The operators of a driver: one for all records, or one for each source (rules 1.4).

| `source=` | `stream_time=` | operators |
|---|---|---|
| none | | one, one stream time |
| columns | `"source"` | one for each source, independent of the others |
| columns | `"slowest"` | one that knows its sources and keeps the time of the slowest |
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.column import Names
from windrow._executor.left_out import LeftOutRows
from windrow._executor.open_windows import BEGINS_ANEW, OpenWindows, shown_aggregates
from windrow._executor.result_rows import of_records, of_windows
from windrow._executor.tasks import Source, Tasks
from windrow._native import Operator, read_clock, sort_keys
from windrow._plan.earlier_types import refused
from windrow._plan.plan import Plan
from windrow.testing._feed import SourcedRows, taken
from windrow.testing._pages import task_page

OP = "windrow.op"
"""The column with what a change is, if the result has none: a key or an aggregate may be called `op`."""

TIME = "windrow.time"
"""The column with the time of a change: a key, an aggregate or a column of left out records may be called `time`."""

Make = Callable[[], "Operator"]
"""Makes an operator that has seen no record."""


class Operators(ABC):
    """The operations of a driver on its operators."""

    def __init__(self, blank: Operator, left_out: LeftOutRows | None) -> None:
        """`blank` is any operator of the plan; its state does not matter."""
        self.output_schema = blank.output_schema
        self._left_out = left_out
        *columns, time = blank.change_schema
        if len(columns) > len(self.output_schema):
            columns[-1] = columns[-1].with_name(OP)
        changes = pa.schema(columns)
        if left_out is not None:
            self.output_schema = left_out.output(self.output_schema)
            changes, time = left_out.output(changes), time.with_nullable(True)
        self.change_schema = changes.append(time.with_name(TIME))

    def left_out(self, sourced: SourcedRows, reason: str) -> list[pa.RecordBatch]:
        """The rows of records that are left out, if the query returns them."""
        if self._left_out is None or not sourced.batch.num_rows:
            return []
        return [self._of_records(self._left_out.rows(sourced.batch, reason))]

    def _pushed(self, operator: Operator, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        """The changes that rows make, and the rows of records in no window if the query returns them."""
        changes = self._changes(operator.push(batch))
        left_out = [] if self._left_out is None else self._left_out.judged(batch, operator)
        return [*changes, *map(self._of_records, left_out)]

    def _changes(self, changes: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
        if self._left_out is None:
            return [pa.RecordBatch.from_arrays(batch.columns, schema=self.change_schema) for batch in changes]
        return [of_windows(batch, self.change_schema, after=2) for batch in changes]

    def _of_records(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        timed = pa.RecordBatch.from_arrays([*rows.columns, rows.column("time")], names=[*rows.schema.names, TIME])
        return of_records(timed, self.change_schema)

    @abstractmethod
    def push(self, sourced: SourcedRows) -> list[pa.RecordBatch]:
        """The changes that rows make, taken in their order."""

    @abstractmethod
    def finish(self) -> list[pa.RecordBatch]:
        """The changes that make all windows final."""

    @abstractmethod
    def counters(self) -> dict[str, int]:
        """The counters."""

    @abstractmethod
    def select(
        self,
        first: pa.RecordBatch | None,
        last: pa.RecordBatch | None,
        start: int | None,
        end: int | None,
        *,
        by: str = "bounds",
        backward: bool = False,
    ) -> list[pa.RecordBatch]:
        """Visible windows, as `Operator.select` gives them."""

    @property
    @abstractmethod
    def stream_time(self) -> int | None:
        """Stream time, in units of the time column."""

    @property
    @abstractmethod
    def stream_times(self) -> dict[Source, int | None]:
        """How far each source has come."""

    @property
    @abstractmethod
    def sources(self) -> Sequence[Source]:
        """The sources that are known, by their numbers."""

    @abstractmethod
    def pages(self) -> list[bytes]:
        """The whole state, but for the sources themselves."""

    @abstractmethod
    def changed_pages(self) -> dict[str, bytes | None]:
        """The changed pages."""

    @abstractmethod
    def restore(self, sources: Sequence[Source], pages: Iterable[tuple[int | None, bytes]]) -> None:
        """Reads a state into operators that have seen nothing."""


class SharedOperator(Operators):
    """One operator for all records."""

    def __init__(self, make: Make, left_out: LeftOutRows | None, column: str | None) -> None:
        """`column` is the column with the number of each row's source, if the operator needs it."""
        self._operator = make()
        self._column = column
        self._numbers: dict[Source, int] = {}
        super().__init__(self._operator, left_out)

    def start(self, plan: Plan) -> str:
        """Begins with the open windows of a plan. Returns their name."""
        rows: pa.Table = plan.options.start(plan, shown_aggregates(plan, self.output_schema))
        opened = OpenWindows(len(plan.keys))
        for batch in rows.to_batches():
            opened.add(batch)
        kind: Any = plan.schema.field(plan.time).type
        if self._column is not None:
            sources = opened.sources(kind, plan.stream.source)
            self._numbers = {source: number for number, source in enumerate(sources)}
        try:
            opened.load(self._operator, kind, by_source=self._column is not None)
        except ValueError as error:  # a schema of records has no casts
            before = read_clock(opened.clock(kind)[0])
            raise refused(error, before, plan.schema, plan.time, lambda *_: None, anew=BEGINS_ANEW) from error
        return opened.name(kind)

    def push(self, sourced: SourcedRows) -> list[pa.RecordBatch]:
        """The changes that rows make, taken in their order."""
        if self._column is None:
            return self._pushed(self._operator, sourced.batch)
        numbers = self._numbers
        source_numbers = [
            None if source is None else numbers.setdefault(source, len(numbers)) for source in sourced.sources
        ]
        schema = sourced.batch.schema.append(pa.field(self._column, pa.int32()))
        columns = [*sourced.batch.columns, pa.array(source_numbers, pa.int32())]
        return self._pushed(self._operator, pa.RecordBatch.from_arrays(columns, schema=schema))

    def finish(self) -> list[pa.RecordBatch]:
        """The changes that make all windows final."""
        return self._changes(self._operator.finish())

    def counters(self) -> dict[str, int]:
        """The counters."""
        return self._operator.counters()

    def select(self, *bounds: Any, **how: Any) -> list[pa.RecordBatch]:
        """Visible windows, as `Operator.select` gives them."""
        return self._operator.select(*bounds, **how)

    @property
    def stream_time(self) -> int | None:
        """Stream time, in units of the time column: that of the slowest source."""
        return self._operator.stream_time

    @property
    def stream_times(self) -> dict[Source, int | None]:
        """How far each source has come; of a cogroup, the smallest over the inputs that have the source."""
        if self._column is None:
            return {(): self._operator.stream_time}
        times: dict[int, int] = {}
        for _, number, time in self._operator.source_times:
            times[number] = min(time, times.get(number, time))
        return {source: times.get(number) for source, number in self._numbers.items()}

    @property
    def sources(self) -> Sequence[Source]:
        """The sources that are known, by their numbers."""
        return list(self._numbers)

    def pages(self) -> list[bytes]:
        """The whole state, but for the sources themselves."""
        return self._operator.pages()

    def changed_pages(self) -> dict[str, bytes | None]:
        """The changed pages."""
        return dict(self._operator.changed_pages())

    def restore(self, sources: Sequence[Source], pages: Iterable[tuple[int | None, bytes]]) -> None:
        """Reads a state into an operator that has seen nothing."""
        self._operator.restore([page for _, page in pages])
        self._numbers = {source: number for number, source in enumerate(sources)}


class SourceOperators(Operators):
    """One operator for each source."""

    def __init__(self, make: Make, left_out: LeftOutRows | None, keys: int, *, in_order: bool) -> None:
        """Without sources. `keys` is the number of key columns.

        With `in_order`, changes are in the order of the rows, so a batch is cut wherever its source changes. Otherwise
        each source takes its rows of a batch at once, and the updates of a batch are coalesced.
        """
        self._blank = make()
        self._tasks = Tasks(make)
        self._keys = keys
        self._in_order = in_order
        self._failed: Operator | None = None
        super().__init__(self._blank, left_out)

    def push(self, sourced: SourcedRows) -> list[pa.RecordBatch]:
        """The changes that rows make, taken in their order."""
        self._check()
        changes: list[pa.RecordBatch] = []
        for source, rows in self._parts(sourced.sources):
            whole = len(rows) == sourced.batch.num_rows
            batch = sourced.batch if whole else taken(sourced.batch, rows)
            with self._working(self._tasks.of(source)) as operator:
                changes += self._pushed(operator, batch)
        return changes

    def finish(self) -> list[pa.RecordBatch]:
        """The changes that make all windows final, one source after the other."""
        self._check()
        changes: list[pa.RecordBatch] = []
        for operator in self._tasks.values():
            with self._working(operator):
                changes += self._changes(operator.finish())
        return changes

    def counters(self) -> dict[str, int]:
        """The counters of all sources together."""
        return self._blank.counters() | self._tasks.counters()

    def select(
        self,
        first: pa.RecordBatch | None,
        last: pa.RecordBatch | None,
        start: int | None,
        end: int | None,
        *,
        by: str = "bounds",
        backward: bool = False,
    ) -> list[pa.RecordBatch]:
        """The visible windows of all sources, in the order of rules 6.9."""
        self._check()
        operators = [*self._tasks.values()] or [self._blank]
        batches = [batch for operator in operators for batch in operator.select(first, last, start, end, by=by)]
        table = pa.Table.from_batches(batches)
        whole = pa.RecordBatch.from_arrays([column.combine_chunks() for column in table.columns], schema=table.schema)
        names = sort_keys(whole.select(range(self._keys)))
        starts, ends = (
            pc.struct_field(whole.column(self._keys), bound).cast(pa.int64()).to_pylist() for bound in ("start", "end")
        )

        def place(row: int) -> tuple[Any, ...]:
            bounds = (ends[row], starts[row])
            return (*bounds, names[row]) if by == "due" else (names[row], *bounds)

        order = sorted(range(whole.num_rows), key=place)
        return [taken(whole, order[::-1] if backward else order)]

    @property
    def stream_time(self) -> int | None:
        """Stream time, in units of the time column: the smallest over the sources that have one."""
        return self._tasks.stream_time

    @property
    def stream_times(self) -> dict[Source, int | None]:
        """How far each source has come."""
        return {source: operator.stream_time for source, operator in self._tasks.items()}

    @property
    def sources(self) -> Sequence[Source]:
        """The sources that are known, by their numbers."""
        return list(self._tasks)

    def pages(self) -> list[bytes]:
        """The whole state, but for the sources themselves."""
        self._check()
        numbered = enumerate(self._tasks.values())
        return [task_page(number, page) for number, operator in numbered for page in operator.pages()]

    def changed_pages(self) -> dict[str, bytes | None]:
        """The changed pages. Their names begin with the number of the source."""
        self._check()
        return {
            f"{number}/{name}": None if page is None else task_page(number, page)
            for number, operator in enumerate(self._tasks.values())
            for name, page in operator.changed_pages()
        }

    def restore(self, sources: Sequence[Source], pages: Iterable[tuple[int | None, bytes]]) -> None:
        """Reads a state into operators that have seen nothing."""
        pages_of_sources: list[list[bytes]] = [[] for _ in sources]
        for number, page in pages:
            if number is None or not 0 <= number < len(pages_of_sources):
                raise ValueError(f"page: it is of source {number}, of {len(pages_of_sources)} in this state")
            pages_of_sources[number].append(page)
        for source, pages_of_source in zip(sources, pages_of_sources, strict=True):
            self._tasks.of(source).restore(pages_of_source)

    def _parts(self, sources: Sequence[Source | None]) -> Iterable[tuple[Source, list[int]]]:
        """The rows of each source that go to its operator together; a tick without a source goes to every known one."""
        by_place = dict.fromkeys(self._tasks)
        runs: list[tuple[Source, list[int]]] = []
        whole: dict[Source, list[int]] = {}
        for row, named in enumerate(sources):
            if named is not None:
                by_place[named] = None
            for source in (named,) if named is not None else by_place:
                whole.setdefault(source, []).append(row)
                if not runs or runs[-1][0] != source:
                    runs.append((source, []))
                runs[-1][1].append(row)
        return runs if self._in_order else whole.items()

    @contextmanager
    def _working(self, operator: Operator) -> Iterator[Operator]:
        """If one of the operators fails, none continues."""
        try:
            yield operator
        except BaseException:
            self._failed = operator
            raise

    def _check(self) -> None:
        """Raises the error of the operator that failed."""
        if self._failed is not None:
            self._failed.pages()


def operators_of(plan: Plan, schema: pa.Schema, tick: str, value: str | None) -> Operators:
    """New operators of a plan, for rows of `schema` with ticks in the column `tick`.

    `value` is the column that is the record's value in Kafka; with it, nulls mean what they mean in Kafka.
    """
    stream, number = plan.stream, None
    if stream.source and stream.stream_time == "slowest":
        number = Names(schema.names).unused("windrow.source")
        schema = schema.append(pa.field(number, pa.int32()))
    spec, folds = plan.spec.of_driver(tick, value, number), plan.folds(kafka=value is not None)
    left_out = LeftOutRows.of(spec, plan.schema)

    def made() -> Operator:
        return Operator(spec.text, schema, folds)

    if stream.source and number is None:
        in_order = plan.options.emit == "close" or plan.options.every_record
        return SourceOperators(made, left_out, len(plan.keys), in_order=in_order)
    return SharedOperator(made, left_out, number)
