"""From data to a query: `group_by`, then `windowed_by`. Options and aggregates follow in `windowed`.

Every step checks its arguments and returns a new frozen object. Nothing is computed before `agg`, and on Spark nothing
before an action.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Never, TypeVar, get_args, overload

import pyarrow as pa

from windrow._arguments.duration import TIME_UNITS
from windrow._arguments.errors import bad_column_type, bad_type, bad_value, no_attribute, unknown_word
from windrow._arguments.expression import Reference, column_reference, column_references, stands_for
from windrow._arguments.type_names import is_text
from windrow._executor.empty_arrays import decoded
from windrow._native import groupable
from windrow._plan.input import Input, Result
from windrow._plan.limits import check, of_windows
from windrow._plan.plan import Stream, StreamTime
from windrow._query.detect import open_input
from windrow._query.grouping import Grouping, boolean_field, integer_field
from windrow._query.missing_methods import windows_hint
from windrow._query.projection import Projection, checked_keys
from windrow._query.scans import Scan
from windrow._query.windowed import WindowedData
from windrow._windows.session import DynamicGap, InvalidValue, SessionWindows
from windrow._windows.sliding import SlidingWindows

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from windrow._arguments.expression import ColumnName

Frame = TypeVar("Frame", "DataFrame", "pl.DataFrame", "pl.LazyFrame", "pd.DataFrame", "duckdb.DuckDBPyRelation")
"""Data whose results have its own type."""


@overload
def group_by(  # type: ignore[overload-overlap]
    data: Frame,
    *keys: ColumnName | Sequence[ColumnName],
    time: ColumnName,
    end: ColumnName | None = None,
    invalid_end: InvalidValue = "drop",
    tie: ColumnName | None = None,
    tick: ColumnName | None = None,
    source: ColumnName | Sequence[ColumnName] | None = None,
    order: ColumnName | None = None,
    stream_time: StreamTime = "source",
    schema: str | StructType | None = None,
    streaming: bool | None = None,
) -> GroupedData[Frame]: ...


@overload
def group_by(  # type: ignore[overload-overlap]
    data: Scan,
    *keys: ColumnName | Sequence[ColumnName],
    time: ColumnName,
    end: ColumnName | None = None,
    invalid_end: InvalidValue = "drop",
    tie: ColumnName | None = None,
    tick: ColumnName | None = None,
    source: ColumnName | Sequence[ColumnName] | None = None,
    order: ColumnName | None = None,
    stream_time: StreamTime = "source",
    schema: str | StructType | None = None,
    streaming: bool | None = None,
) -> GroupedData[DataFrame]: ...


@overload
def group_by(
    data: object,
    *keys: ColumnName | Sequence[ColumnName],
    time: ColumnName,
    end: ColumnName | None = None,
    invalid_end: InvalidValue = "drop",
    tie: ColumnName | None = None,
    tick: ColumnName | None = None,
    source: ColumnName | Sequence[ColumnName] | None = None,
    order: ColumnName | None = None,
    stream_time: StreamTime = "source",
    schema: str | StructType | None = None,
    streaming: bool | None = None,
) -> GroupedData[pa.Table]: ...


def group_by(
    data: object,
    *keys: ColumnName | Sequence[ColumnName],
    time: ColumnName,
    end: ColumnName | None = None,
    invalid_end: InvalidValue = "drop",
    tie: ColumnName | None = None,
    tick: ColumnName | None = None,
    source: ColumnName | Sequence[ColumnName] | None = None,
    order: ColumnName | None = None,
    stream_time: StreamTime = "source",
    schema: str | StructType | None = None,
    streaming: bool | None = None,
) -> GroupedData[Any]:
    """Groups records by key columns (Kafka's `KStream.groupBy`). `windowed_by` follows.

    Args:
        data: a DataFrame of Spark, classic or Connect, batch or streaming; a `Scan`; or, in-process, a pyarrow Table,
            RecordBatch or RecordBatchReader, a list of Tables or RecordBatches, a Polars frame, a DuckDB relation, a
            pandas frame, any Arrow stream, or the path of a Parquet file of this machine, of a folder of them, or a
            pattern such as `"days/*.parquet"`: its columns are read at each query. The NaNs of a pandas frame are
            nulls, and the names of its index are columns. Results have the kind of the data: see `WindowedData.agg`. A
            watermark of a streaming DataFrame has no effect here: Spark drops the rows behind it in operators before
            this one, and windrow keeps its own stream time.
        keys: columns, or all of them in one list. A record whose keys are all null is left out and counted
            (`null_keys`). Without keys all records are one series, and the result has no key column. A column is a
            name, here and below, `"window.start"` for a field of a struct, or an expression in the language of the
            data: `F.lower("user")`, `pl.col("user").str.to_lowercase()`, `pc.utf8_lower(pc.field("user"))`. The result
            calls a key by its alias, or by the name that the library gives it.
        time: the timestamp column, in any order. A record without a time is left out and counted (`null_times`).
        end: the column with the end of each record, for records that last, such as calls or stays. It is inclusive and
            of the type of `time`. A record joins a session if it starts at most a gap after the latest end so far, and
            `window.end` is the latest end. It may be an expression, such as
            `F.coalesce("stopped", "started")` for calls that still run. Only sessions take ends.
            `docs/how-to/records-with-an-end.md` shows it.
        invalid_end: `"drop"` leaves out and counts records whose end is null or before their time (`bad_ends`);
            `"error"` fails the query with the key and time of such a record.
        tie: an integer column that orders records with the same time, such as an offset or a sequence number. It
            matters wherever the order of records counts: in `first`, `last`, `position`, `funnel`, `funnel_times`,
            `path`, `collect_list` and in rules for sessions. A record without a tie is left out and counted
            (`null_ties`). It need not be unique.
        tick: a boolean column. A row in which it is true is no record: on a stream it moves stream time, in a batch it
            is left out.
        source: the columns that name a record's source partition, such as Kafka's topic and partition: strings or
            integers. They have no effect in a batch.
        order: the integer column that orders the records of a source, such as Kafka's offset. It has no effect in a
            batch. A `StreamDriver` takes records in the order in which you feed them.
        stream_time: with `"source"` each source of a stream has its own time and its own windows, like a partition in
            Kafka. With `"slowest"` all sources share one time, that of the slowest; use it if sources share keys. It
            has no effect in a batch.
        schema: the columns of a Spark DataFrame and their types, in words or as a `StructType`, in any order; columns
            that the query does not read may be missing. Only a function of Spark's declarative pipelines needs it,
            because Spark gives no schema there (`docs/how-to/pipelines.md`). If a column has another type in the data,
            the query fails and names it.
        streaming: whether a Spark DataFrame is a stream. Needed with `schema` in a pipeline.

    Raises:
        ValueError: an empty list of keys, a key or a source column twice, a column that the data lacks or has twice, an
            expression that gives no single column, a name that begins with `windrow.`, on a stream an expression that
            is not deterministic, in a pipeline an expression whose type only Spark knows, an unknown word for
            `stream_time` or `invalid_end`, `invalid_end` without `end`, `order` with `stream_time="slowest"`, or a
            `schema` or `streaming` that differs from the
            data, is missing in a pipeline, or is given for in-process data.
        TypeError: data that cannot be read or is grouped already, a column that is neither a name nor an expression, an
            expression of another library than that of the data, a key type that cannot be grouped, a time column
            without timestamps, an end column of another type than the time column, a tick column without booleans, or a
            source or order column of another type.
        ImportError: a DataFrame of a PySpark older than 3.5.

    A path without Parquet files, or with a file that is none, is a `ValueError`. If a file is damaged or changes after
    this call, a query raises a `RuntimeError` that names it.

    >>> from datetime import datetime
    >>> import pyarrow as pa
    >>> clicks = pa.table({"user": ["ann", "ann", "bob"], "ts": [datetime(2026, 1, 1, 8, m) for m in (0, 4, 7)]})
    >>> sessions = group_by(clicks, "user", time="ts").windowed_by(SessionWindows.with_gap("5 minutes")).count()
    >>> sorted(zip(sessions["user"].to_pylist(), sessions["count"].to_pylist()))
    [('ann', 2), ('bob', 1)]
    """
    if isinstance(data, GroupedData | WindowedData):
        raise TypeError(f"data: got {type(data).__name__}, which is grouped already; allowed: data that is not grouped")
    projection = Projection(open_input(data, schema, streaming))
    references = column_references("keys", keys)
    if keys and not references:
        raise bad_value("keys", keys[0], "key columns; without any, group_by(data, time=...) makes one series")
    names, shown = checked_keys([projection.key(key) for key in references])
    names = names or (projection.series(),)
    times = projection.name("time", column_reference("time", time))
    ties = None if tie is None else projection.name("tie", column_reference("tie", tie))
    ends = None if end is None else projection.name("end", column_reference("end", end))
    ticks = None if tick is None else projection.name("tick", column_reference("tick", tick))
    sources = tuple(projection.name("source", column) for column in _sources(source))
    orders = None if order is None else projection.name("order", column_reference("order", order))
    opened = projection.input
    fields = [*(_key_field(opened, key) for key in names), _time_field("time", opened, times)]
    if ties is not None:
        fields.append(integer_field("tie", opened, ties, "such as offsets"))
    if ticks is not None:
        fields.append(boolean_field("tick", opened, ticks))
    if invalid_end not in get_args(InvalidValue):
        raise unknown_word("invalid_end", invalid_end, get_args(InvalidValue))
    if ends is not None:
        fields.append(_end_field(opened, ends, fields[len(names)]))
    if stream_time not in get_args(StreamTime):
        raise unknown_word("stream_time", stream_time, get_args(StreamTime))
    check({"end": ends, "invalid_end": invalid_end, "order": orders, "stream_time": stream_time})
    stream = _stream(opened, sources, orders, stream_time)
    return GroupedData(
        shown, times, ticks, opened, names, tuple(fields), stream, tie=ties, end=ends, invalid_end=invalid_end
    )


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
            TypeError: not windows of windrow, a dynamic gap whose column holds no durations, an `end_when` or
                `start_when` whose column holds no booleans, or a column of `cut_on` whose type cannot be compared.
            ValueError: sliding windows over records with an `end`; a column of a dynamic gap or of a rule that the data
                lacks or has twice; a length that the time column cannot count: beyond its range, or finer than its unit
                where that matters (sliding windows, `max_gap`, `max_duration`); a `cut_at` without a zone for a time
                column with one, or the reverse; or rules with `retention` over a streaming DataFrame.

        >>> import pyarrow as pa
        >>> empty = pa.table({"card": pa.array([], pa.int64()), "ts": pa.array([], pa.timestamp("us"))})
        >>> group_by(empty, "card", time="ts").windowed_by(SlidingWindows.with_time_difference("10 minutes"))
        WindowedData(grouped=GroupedData(keys=('card',), time='ts', tick=None), \
windows=SlidingWindows.with_time_difference('10 minutes'), options=Options(emit='close', every_record=False, \
every=None, sequence=False, late='drop', left_out=None, overflow='error', shards=32, threads=None, observation=None, \
max_ahead=None, flat=False, progress=False))
        """
        if not isinstance(windows, SessionWindows | SlidingWindows):
            ways = "SessionWindows.with_gap(...) or with_dynamic_gap(...), or SlidingWindows.with_time_difference(...)"
            raise bad_type("windows", windows, ways)
        of_records = {"end": self.end, "cogroup": self._origins(()) is not None, "stream": self.input.is_stream}
        check({**of_windows(windows), **of_records})
        windows._check_time(self.fields[len(self.key_columns)])
        grouped, named = self, dict[tuple[str, Reference], str]()
        if isinstance(windows, SessionWindows) and isinstance(windows.gap, DynamicGap):
            column = windows.gap.column
            grouped, named["column", column] = grouped._with_gap(column)
        if isinstance(windows, SessionWindows):
            for argument, column in windows.rules.columns:
                grouped, named[argument, column] = grouped._with_rule(argument, column)
        if named:
            windows = windows._renamed(lambda argument, column: named[argument, column])
        return WindowedData(grouped, windows)

    if not TYPE_CHECKING:  # to a type checker there is no such attribute

        def __getattr__(self, name: str) -> Never:
            raise no_attribute(self, name, None if name.startswith("_") else windows_hint(name, WindowedData))


_KEYS = (
    "booleans, numbers, decimals, strings, binary, dates, times, timestamps, day-time intervals (in Arrow: durations "
    "and intervals), dictionaries of these, and lists and structs of these with at least one field"
)


def _key_field(opened: Input[Result], key: str) -> pa.Field[pa.DataType]:
    field = opened.field("keys", key, compared="equality")
    if not groupable(field.type):
        if groupable(decoded(field.type)):
            return field.with_type(decoded(field.type))
        if opened.has_no_values(key):
            return field.with_type(pa.string())
        raise bad_column_type("keys", opened.shown(key), field.type, _KEYS)
    return field


def _time_field(argument: str, opened: Input[Result], time: str) -> pa.Field[pa.DataType]:
    field = opened.field(argument, time)
    if not pa.types.is_timestamp(field.type):
        if opened.has_no_values(time):
            return field.with_type(pa.timestamp("us"))
        written, casts = opened.written(time)
        dates = _dates(opened) if pa.types.is_time(field.type) else []
        date, _ = opened.written(dates[0] if dates else "date")
        cast = casts.of(written, field.type, opened.sample(time), date, dated=bool(dates))
        made = "" if cast is None else f": {cast}{stands_for(written)}"
        raise bad_column_type(argument, opened.shown(time), field.type, f"a timestamp, with or without a zone{made}")
    return field


def _end_field(opened: Input[Result], end: str, time: pa.Field[Any]) -> pa.Field[pa.DataType]:
    """The column of ends, of the type of the time column."""
    field = _time_field("end", opened, end)
    kind: Any = field.type
    if kind == time.type or opened.has_no_values(end) or opened.has_no_values(time.name):
        return field.with_type(time.type)
    units = list(TIME_UNITS)
    if units.index(kind.unit) > units.index(time.type.unit):  # a cast of ends would cut them
        cast = opened.cast(time.name, kind)
        allowed = f"{kind} in both columns, as the time column {opened.shown(time.name)!r} has {time.type}"
    else:
        cast = opened.cast(end, time.type)
        allowed = f"{time.type}, the type of the time column {opened.shown(time.name)!r}"
    raise bad_column_type("end", opened.shown(end), kind, allowed if cast is None else f"{allowed}: {cast}")


def _dates(opened: Input[Result]) -> list[str]:
    """The columns of dates."""
    dates = []
    for name in dict.fromkeys(opened.row_columns):
        with suppress(TypeError, ValueError):  # a column that is there twice, or has no type in Arrow
            dates += [name] if pa.types.is_date(opened.field("time", name).type) else []
    return dates


def _stream(opened: Input[Result], sources: tuple[str, ...], order: str | None, stream_time: StreamTime) -> Stream:
    for position, column in enumerate(sources):
        opened.field("source", column)
        if column in sources[:position]:
            raise bad_value("source", column, "each source column once")
    fields = [opened.field("source", column) for column in sources]
    for field in fields:
        is_source = _is_integer(field.type) or is_text(field.type)
        if not is_source and not opened.has_no_values(field.name):
            raise bad_column_type(
                "source", opened.shown(field.name), field.type, "strings or integers, such as a topic and a partition"
            )
    if order is not None:
        field = opened.field("order", order)
        if not _is_integer(field.type) and not opened.has_no_values(order):
            raise bad_column_type("order", opened.shown(order), field.type, "integers, as offsets are")
        fields.append(field)
    return Stream(sources, order, stream_time, tuple(fields))


def _is_integer(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) and not pa.types.is_uint64(kind)


def _sources(source: object) -> tuple[Reference, ...]:
    if source is None:
        return ()
    if isinstance(source, list | tuple):
        return column_references("source", source)
    return (column_reference("source", source, "the name of a column, or a list of names"),)
