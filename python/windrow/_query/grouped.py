"""From data to a query: `group_by`, then `windowed_by`. Options and aggregates follow in `windowed`.

Every step checks its arguments and returns a new frozen object. Nothing is computed before `agg`, and on Spark nothing
before an action.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Never, get_args, overload

import pyarrow as pa

from windrow import functions
from windrow._arguments.column import column_name, column_names
from windrow._arguments.errors import bad_column_type, bad_type, bad_value, no_attribute, unknown_word
from windrow._native import groupable
from windrow._plan.input import Input, Result
from windrow._plan.plan import Stream, StreamTime
from windrow._query.detect import open_input
from windrow._query.grouping import Grouping, boolean_field
from windrow._query.windowed import WindowedData
from windrow._windows.session import DynamicGap, SessionWindows
from windrow._windows.sliding import SlidingWindows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from windrow._arguments.column import ColumnName


@overload
def group_by(  # type: ignore[overload-overlap]
    data: DataFrame,
    *keys: ColumnName | Sequence[ColumnName],
    time: ColumnName,
    tick: ColumnName | None = None,
    source: ColumnName | Sequence[ColumnName] | None = None,
    order: ColumnName | None = None,
    stream_time: StreamTime = "source",
) -> GroupedData[DataFrame]: ...


@overload
def group_by(
    data: object,
    *keys: ColumnName | Sequence[ColumnName],
    time: ColumnName,
    tick: ColumnName | None = None,
    source: ColumnName | Sequence[ColumnName] | None = None,
    order: ColumnName | None = None,
    stream_time: StreamTime = "source",
) -> GroupedData[pa.Table]: ...


def group_by(
    data: object,
    *keys: ColumnName | Sequence[ColumnName],
    time: ColumnName,
    tick: ColumnName | None = None,
    source: ColumnName | Sequence[ColumnName] | None = None,
    order: ColumnName | None = None,
    stream_time: StreamTime = "source",
) -> GroupedData[DataFrame] | GroupedData[pa.Table]:
    """Groups records by key columns (Kafka's `KStream.groupBy`). `windowed_by` follows.

    Args:
        data: a DataFrame of Spark, classic or Connect, batch or streaming; or, in this process, a pyarrow Table,
            RecordBatch or RecordBatchReader, a list of Tables or RecordBatches, a Polars frame, a DuckDB relation, a
            pandas frame, or any Arrow stream. The NaNs of a pandas frame are nulls, and the names of its index are
            columns.
        keys: one or more columns, by their exact names, or all of them in one list. A record whose keys are all null is
            left out and counted (`null_keys`). A plain column of Spark or Polars works as a name, here and below:
            `F.col("user")`, `pl.col("user")`.
        time: the timestamp column, in any order. A record without a time is left out and counted (`null_times`).
        tick: a boolean column. A row in which it is true is no record: on a stream it moves stream time, in a batch it
            is left out.
        source: the columns that name a record's source partition, such as Kafka's topic and partition: strings or
            integers. They have no effect in a batch.
        order: the integer column that orders the records of a source, such as Kafka's offset. It has no effect in a
            batch. A `StreamDriver` takes records in the order in which you feed them.
        stream_time: with `"source"` each source of a stream has its own time and its own windows, like a partition in
            Kafka. With `"slowest"` all have one time, that of the slowest, for sources that share keys. It has no
            effect in a batch.

    Raises:
        ValueError: no key, a key or a source column twice, a column that the data lacks or has twice, an unknown word,
            `order` with `stream_time="slowest"`, or a streaming DataFrame with a watermark.
        TypeError: data that cannot be read or is grouped already, a source that is no name, a key type that cannot be
            grouped, a time column without timestamps, a tick column without booleans, or a source or order column of
            another type.
        ImportError: a DataFrame of a PySpark older than 4.1.

    >>> from datetime import datetime
    >>> import pyarrow as pa
    >>> clicks = pa.table({"user": ["ann", "ann", "bob"], "ts": [datetime(2026, 1, 1, 8, m) for m in (0, 4, 7)]})
    >>> sessions = group_by(clicks, "user", time="ts").windowed_by(SessionWindows.with_gap("5 minutes")).count()
    >>> sorted(zip(sessions["user"].to_pylist(), sessions["count"].to_pylist()))
    [('ann', 2), ('bob', 1)]
    """
    if isinstance(data, GroupedData | WindowedData):
        raise TypeError(f"data: got {type(data).__name__}, which is grouped already; allowed: data that is not grouped")
    opened = open_input(data)
    names = column_names("keys", keys)
    if not names:
        raise bad_value("keys", keys, "one or more key columns")
    fields = [_key_field(opened, key) for key in names]
    for position, key in enumerate(names):
        if key in names[:position]:
            raise bad_value("keys", key, "each key column once")
    fields.append(_time_field(opened, column_name("time", time)))
    ticks = None if tick is None else column_name("tick", tick)
    if ticks is not None:
        fields.append(boolean_field("tick", opened, ticks))
    if stream_time not in get_args(StreamTime):
        raise unknown_word("stream_time", stream_time, get_args(StreamTime))
    stream = _stream(opened, source, order, stream_time)
    return GroupedData(names, fields[len(names)].name, ticks, opened, tuple(fields), stream)


@dataclass(frozen=True)
class GroupedData(Grouping[Result]):
    """Records grouped by key, without windows yet. Made by `group_by`.

    Attributes:
        keys: the key columns.
        time: the timestamp column.
        tick: the boolean column of ticks, if there is one.
    """

    def windowed_by(self, windows: SessionWindows | SlidingWindows) -> WindowedData[Result]:
        """Windows the records of each key (Kafka's `KGroupedStream.windowedBy`).

        Raises:
            TypeError: not windows of windrow, a dynamic gap whose column holds no durations, or an `end_when` whose
                column holds no booleans.
            ValueError: a key column with the name `window`; a column of a dynamic gap or of `end_when` that the data
                lacks or has twice; a length that the time column cannot count: beyond its range, or finer than its unit
                where that matters (sliding windows, `max_gap`, `max_duration`); or `max_duration` or `end_when` over a
                streaming DataFrame.

        >>> import pyarrow as pa
        >>> empty = pa.table({"card": pa.array([], pa.int64()), "ts": pa.array([], pa.timestamp("us"))})
        >>> group_by(empty, "card", time="ts").windowed_by(SlidingWindows.with_time_difference("10 minutes"))
        WindowedData(grouped=GroupedData(keys=('card',), time='ts', tick=None), \
windows=SlidingWindows.with_time_difference('10 minutes'), options=Options(emit='close', every_record=False, \
late='drop', shards=32, threads=None, observation=None, max_ahead=None, \
flat=False, progress=False))
        """
        if not isinstance(windows, SessionWindows | SlidingWindows):
            ways = "SessionWindows.with_gap(...) or with_dynamic_gap(...), or SlidingWindows.with_time_difference(...)"
            raise bad_type("windows", windows, ways)
        for key in self.keys:
            if key.casefold() == "window":
                raise bad_value("keys", key, "any name but 'window', the result's column of windows: rename the column")
        windows._check_time(self._fields[len(self.keys)])
        self._input.check_windows(windows)
        grouped = self
        if isinstance(windows, SessionWindows) and isinstance(windows.gap, DynamicGap):
            grouped = grouped._with_gap(windows.gap.column)
        if isinstance(windows, SessionWindows) and windows.end_when is not None:
            grouped = grouped._with_end_when(windows.end_when)
        return WindowedData(grouped, windows)

    if not TYPE_CHECKING:  # to a type checker there is no such attribute

        def __getattr__(self, name: str) -> Never:
            raise no_attribute(self, name, None if name.startswith("_") else _to_windows(name))


def _to_windows(name: str) -> str | None:
    """What to write for a method that comes behind `windowed_by`, or that PySpark's `GroupedData` has."""
    windowed = 'windowed_by comes first: .windowed_by(windrow.SessionWindows.with_gap("5 minutes"))'
    if name in ("agg", "aggregate"):
        return f"{windowed}.agg(n=windrow.count())"
    if hasattr(WindowedData, name):
        return f"{windowed}.{name}({'' if name == 'count' else '...'})"
    if name in functions.__all__:
        return f'{windowed}.agg(result=windrow.{name}("column"))'
    return None


_KEYS = (
    "booleans, numbers, decimals, strings, binary, dates, times, timestamps, day-time intervals (in Arrow: durations "
    "and intervals), dictionaries of these, and lists and structs of these with one field at least"
)


def _key_field(opened: Input[Result], key: str) -> pa.Field[pa.DataType]:
    field = opened.field("keys", key, compared=True)
    if not groupable(field.type):
        if opened.holds_nothing(key):
            return field.with_type(pa.string())
        raise bad_column_type("keys", key, field.type, _KEYS)
    return field


def _time_field(opened: Input[Result], time: str) -> pa.Field[pa.DataType]:
    field = opened.field("time", time)
    if not pa.types.is_timestamp(field.type):
        if opened.holds_nothing(time):
            return field.with_type(pa.timestamp("us"))
        cast = opened.time_casts.of(time, field.type, opened.sample(time))
        made = "" if cast is None else f": {cast}"
        raise bad_column_type("time", time, field.type, f"a timestamp, with or without a zone{made}")
    return field


def _stream(opened: Input[Result], source: object, order: ColumnName | None, stream_time: StreamTime) -> Stream:
    sources = _sources(opened, source)
    fields = [opened.field("source", column) for column in sources]
    for field in fields:
        if (
            not _is_integer(field.type)
            and not pa.types.is_string(field.type)
            and not pa.types.is_large_string(field.type)
            and not opened.holds_nothing(field.name)
        ):
            raise bad_column_type(
                "source", field.name, field.type, "strings or integers, as a topic and a partition are"
            )
    offsets = None if order is None else column_name("order", order)
    if offsets is not None:
        field = opened.field("order", offsets)
        if not _is_integer(field.type) and not opened.holds_nothing(offsets):
            raise bad_column_type("order", offsets, field.type, "integers, as offsets are")
        if stream_time == "slowest":
            raise bad_value("order", offsets, 'None with stream_time="slowest", where sources have no common order')
        fields.append(field)
    return Stream(sources, offsets, stream_time, tuple(fields))


def _is_integer(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) and not pa.types.is_uint64(kind)


def _sources(opened: Input[Result], source: object) -> tuple[str, ...]:
    if source is None:
        return ()
    columns = column_names("source", source) if isinstance(source, list | tuple) else (_source(source),)
    for position, column in enumerate(columns):
        opened.field("source", column)
        if column in columns[:position]:
            raise bad_value("source", column, "each source column once")
    return columns


def _source(source: object) -> str:
    return column_name("source", source, "the name of a column, or a list of names")
