"""A query that was checked, as plain data: what is computed, and from which columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import pyarrow as pa

from windrow._aggregates.call import AggregateCall
from windrow._aggregates.evaluation import Finish
from windrow._aggregates.user_function import Accumulation, Reduction
from windrow._arguments.duration import Microseconds
from windrow._folds.fold import Fold
from windrow._plan.length_unit import in_one_unit
from windrow._plan.spec import SHARDS, LeftOutLayout, Spec
from windrow._windows.session import InvalidValue, SessionWindows
from windrow._windows.sliding import SlidingWindows

Emit = Literal["close", "update"]
"""When a window gives a row: once, when it is final, or whenever it changes."""

Late = Literal["drop", "emit"]
"""What happens to a late record: it is counted and left out, or it also becomes a row."""

LeftOutPolicy = Literal["drop", "emit"]
"""What happens to a record in no window: it is counted, or it also becomes a row."""

Overflow = Literal["error", "null"]
"""What happens to a result that does not fit its type: the query fails, or the result is null and counted."""

Callback = Callable[[str, int, int | None], object]
"""Called with the step, the records that are done in it, and all records, None if their number is unknown."""


@dataclass(frozen=True)
class Options:
    """The choices of the methods of `WindowedData`, with their defaults.

    Attributes:
        emit: when windows give rows.
        every_record: whether each change of a window gives a row, not only the last one of a batch.
        every: how far stream time moves between two updates of a window, in microseconds; None without a pace.
        sequence: whether a column orders the rows of each window.
        late: what happens to late records.
        left_out: the columns of records in no window, which come back as separate rows; None for no such rows, empty
            for rows without columns of records.
        overflow: what happens to results that do not fit their type.
        shards: how many ranges of key hashes the work is cut into.
        threads: how many threads an in-process query uses; None for one for each core.
        observation: where Spark reports the counters, if anywhere; on a stream the name that they have.
        max_ahead: on a stream, how far ahead of the wall clock a record may be, in microseconds; None for any.
        progress: whether an in-process query shows a bar; or the function that is called with its progress.
        flat: whether the bounds of windows are two columns in place of a struct.
        start: the open windows with which a stream begins, if any: a Spark DataFrame, or a `Reading` of another table.
    """

    emit: Emit = "close"
    every_record: bool = False
    every: Microseconds | None = None
    sequence: bool = False
    late: Late = "drop"
    left_out: tuple[str, ...] | None = None
    overflow: Overflow = "error"
    shards: int = SHARDS
    threads: int | None = None
    observation: object | None = None
    max_ahead: int | None = None
    flat: bool = False
    progress: Callback | bool = False
    start: Any = field(default=None, repr=False, compare=False)

    @property
    def op(self) -> bool:
        """Whether the result ends with an `op` column."""
        return self.emit == "update" or self.late == "emit" or self.left_out is not None


StreamTime = Literal["source", "slowest"]
"""How stream time is kept over several sources."""

_OF_OPTIONS = ("op", "emit", "every_record", "every", "late", "overflow", "shards")
"""The options that the core knows."""

SERIES = "windrow.series"
"""The one key of a query without keys: a constant."""

INPUT = "input"
"""The column that names the input of each record, where those of a cogroup come back."""


def left_out_columns(of_cogroup: bool, record: Collection[object] | None) -> tuple[str, ...]:
    """The columns that `left_out("emit")` adds before `op`; the last one if records come back with columns.

    None for `record` if records do not come back.
    """
    last = ("record",) if record else ()
    columns = ("time", "reason", "late_by", "stream_time", *((INPUT,) if of_cogroup else ()), *last)
    return () if record is None else columns


BATCH_COUNTERS = (
    *("records", "null_keys", "null_times", "null_ties", "bad_gaps", "bad_ends", "clamped_gaps"),
    *("ticks", "overflows"),
)
"""What a batch counts, except `windows`. All but `overflows` are counted where records are read."""


@dataclass(frozen=True)
class Origins:
    """The inputs of a cogroup, whose records a plan reads as rows of one schema.

    Attributes:
        names: the names of the inputs, in order.
        column: the column of the schema that holds the number of each row's input.
        columns: for each input, the columns of the schema that it has, and its own names for them; it has null in all
            others.
        returned: if records come back, the columns of the schema that do; all others are the plan's own.
    """

    names: tuple[str, ...]
    column: str
    columns: tuple[Mapping[str, str], ...]
    returned: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stream:
    """How the records of a stream are ordered, and whose time they move.

    Attributes:
        source: the columns that name a record's source partition.
        order: the column that orders the records of a source.
        stream_time: how stream time is kept over several sources.
        fields: these columns, in the order of their names.
    """

    source: tuple[str, ...]
    order: str | None
    stream_time: StreamTime
    fields: tuple[pa.Field[pa.DataType], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The source columns, then the order."""
        return (*self.source, *(() if self.order is None else (self.order,)))


@dataclass(frozen=True)
class Plan:
    """One query over one input, or over the inputs of a cogroup.

    Attributes:
        keys: the key columns, in the order of the result.
        key_names: what the result calls them; empty for a query without keys, whose one key is a constant.
        time: the timestamp column.
        tick: the boolean column of ticks, if there is one.
        windows: the windows and their durations.
        aggregates: the result columns and what they hold.
        options: when windows give rows, what happens to late records, how the work is cut.
        schema: the columns that are read, and no others.
        origins: the inputs of a cogroup; None where there is one input.
        stream: what a stream reads in addition to the schema, and how it keeps time; no effect in a batch.
        finish: what is computed from finished aggregates; None if the core's columns are the result.
        tie: the integer column that orders records of one time, if there is one.
        end: the column of the ends of records, of the type of `time`, if there is one.
        invalid_end: what happens to a record whose end is null or before its time.
        left_out: how the query returns records that are in no window; None if it does not.
    """

    keys: tuple[str, ...]
    key_names: tuple[str, ...]
    time: str
    tick: str | None
    windows: SessionWindows | SlidingWindows
    aggregates: tuple[tuple[str, AggregateCall], ...]
    options: Options
    schema: pa.Schema
    origins: Origins | None
    stream: Stream
    finish: Finish | None = None
    tie: str | None = None
    end: str | None = None
    invalid_end: InvalidValue = "drop"
    left_out: LeftOutLayout | None = None

    @property
    def of_windows(self) -> Plan:
        """The plan over the columns that its windows need, without those that only records left out return."""
        if self.left_out is None:
            return self
        return replace(self, schema=pa.schema(list(self.schema)[: self.left_out["columns"]]))

    @property
    def times(self) -> tuple[str, ...]:
        """The columns of the times of records, and of their ends."""
        return (self.time,) if self.end is None else (self.time, self.end)

    @property
    def functions(self) -> dict[str, Reduction | Accumulation]:
        """The aggregates of Python functions, which are called record by record, in the order of their columns."""
        return {
            name: aggregate for name, aggregate in self.aggregates if isinstance(aggregate, Reduction | Accumulation)
        }

    def folds(self, *, kafka: bool = False) -> list[Fold]:
        """The folds of the Python functions; with `kafka`, nulls mean what they mean in Kafka."""
        return [function.fold(self.schema, kafka=kafka) for function in self.functions.values()]

    def renamed(self, names: Mapping[str, str]) -> Plan:
        """The plan with other names of columns: `names` instead of its own."""

        def new(name: Any) -> str:
            return names.get(name, name)

        sources, order, aggregates = tuple(map(new, self.stream.source)), self.stream.order, self.aggregates
        fields = tuple(field.with_name(new(field.name)) for field in self.stream.fields)
        return replace(
            self,
            keys=tuple(map(new, self.keys)),
            time=new(self.time),
            tick=None if self.tick is None else new(self.tick),
            tie=None if self.tie is None else new(self.tie),
            end=None if self.end is None else new(self.end),
            windows=self.windows._renamed(lambda _, column: new(column)),
            aggregates=tuple((name, call.renamed(lambda _, read: (new(read), new(read)))) for name, call in aggregates),
            schema=pa.schema([field.with_name(new(field.name)) for field in self.schema]),
            stream=replace(self.stream, source=sources, order=None if order is None else new(order), fields=fields),
        )

    @cached_property
    def spec(self) -> Spec:
        """What the core computes."""
        fields = {name: getattr(self.options, name) for name in _OF_OPTIONS}
        fields |= {name: getattr(self, name) for name in ("keys", "time", "end", "tick", "tie", "left_out")}
        fields["invalid_end"] = None if self.invalid_end == "drop" else self.invalid_end
        fields |= {"windows": self.windows._plan(), "grace": self.windows.grace, "until": self.windows.retention}
        fields["aggregates"] = [aggregate.plan(name) for name, aggregate in self.aggregates]
        if self.origins is not None:
            fields["inputs"] = {"column": self.origins.column, "count": len(self.origins.names), "one_time": False}
        return Spec(**in_one_unit(fields))
