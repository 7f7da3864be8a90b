"""Computes a trace from a windowed query and some keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from windrow._arguments.errors import bad_type, bad_value
from windrow._arguments.expression import FIELD, ColumnExpression
from windrow._arguments.instant import is_zone
from windrow._inspection.batch import windows_of_batch
from windrow._inspection.keys import distinct, key_of
from windrow._inspection.lengths import Lengths
from windrow._inspection.rows import rows_of
from windrow._inspection.stream import Stream
from windrow._inspection.text import key_text
from windrow._inspection.trace import Trace
from windrow._plan.input import Input
from windrow._query.cogrouped import CogroupedData
from windrow._query.detect import open_input
from windrow._query.grouped import GroupedData, group_by
from windrow._query.grouping import Grouping
from windrow._query.windowed import WindowedData
from windrow._windows.session import SessionWindows
from windrow._windows.sliding import SlidingWindows


def trace(
    events: object | None, windowed: object, keys: Sequence[object], stream: bool | None, most: int, *, argument: str
) -> Trace:
    """The trace of the records of some keys.

    Args:
        events: the data; None for the query's own.
        windowed: the result of `windowed_by`.
        keys: the keys as the user wrote them.
        stream: whether to read the rows as a stream, in order; None means yes if the windows have a grace, the rows
            have an order (only in-process data has one), and sessions have no `max_duration` or `end_when`.
        most: how many records the keys may have.
        argument: the caller's argument name for the keys, for error messages.

    Raises:
        TypeError: not windowed, a cogroup, a streaming DataFrame, or a key that does not fit its column.
        ValueError: too many records, a key with a wrong number of values, or a stream without a grace, over a Spark
            DataFrame, or of sessions with `max_duration` or `end_when`.
    """
    if not isinstance(windowed, WindowedData):
        raise bad_type("windowed", windowed, "what windowed_by(...) returned, before agg(...) or count()")
    if stream is not None and not isinstance(stream, bool):
        raise bad_type("stream", stream, "True, False or None")
    grouped, windows = windowed.grouped, windowed.windows
    if isinstance(grouped, CogroupedData):
        raise TypeError("windowed: got the inputs of a cogroup; allowed: a query of one input")
    opened: Input[Any] = grouped.input if events is None else open_input(events)
    if events is not None:
        references = grouped.input.reference
        again = _grouped(opened, grouped).windowed_by(windows._renamed(lambda _, column: references(column)))
        grouped, windows = again.grouped, again.windows
        opened = grouped.input
    if stream and windows.grace is None:
        raise bad_value("stream", stream, "windows with a grace, which says how long a stream waits for late records")
    if stream and opened.in_spark:
        raise bad_value("stream", stream, "data in this process, whose rows have an order: frame.toArrow()")
    is_cut = isinstance(windows, SessionWindows) and bool(windows.rules)
    _check_rules(windows)
    if stream and is_cut:
        raise bad_value("stream", stream, "False or None for sessions with rules: they are shown as in a batch")
    streamed = (windows.grace is not None and not opened.in_spark and not is_cut) if stream is None else stream
    fields = grouped.fields[: len(grouped.key_columns)]
    wanted = distinct(key_of(argument, key, fields, opened.zone) for key in keys)
    texts = tuple(map(key_text, wanted))
    time: pa.Field[Any] = grouped.fields[len(grouped.key_columns)]
    zone = opened.zone
    if zone is not None and time.type.tz is not None and is_zone(zone):
        time = time.with_type(pa.timestamp(time.type.unit, zone))
    windows = windows._on_stream(time) if streamed else windows
    lengths = Lengths.of(windows, time)
    rows = rows_of(opened, grouped, windows, lengths, wanted, most=most)
    records = sorted(rows.records, key=lambda record: record.place)
    ends = grouped.end is not None
    if not streamed:
        traced_windows = _sorted(windows_of_batch(rows, grouped, windows, lengths))
        return Trace(texts, time, windows, lengths, records, traced_windows, {}, stream=False, ends=ends)
    run = Stream(rows, grouped, windows, lengths)
    traced_windows = _sorted(run.run())
    traced = (texts, time, windows, lengths, records, traced_windows, run.judgements)
    return Trace(*traced, stream=True, stream_time=run.stream_time, ends=ends)


def _grouped(opened: Input[Any], grouped: Grouping[Any]) -> GroupedData[Any]:
    """Groups other data in the same way. Checks its columns."""
    stream = grouped.stream

    def reference_of(column: str) -> Any:
        reference = grouped.input.reference(column)
        if not isinstance(reference, ColumnExpression):
            return reference
        return str(reference) if reference.language == FIELD else reference.value

    return group_by(
        opened,
        *map(reference_of, grouped.key_columns if grouped.keys else ()),
        time=reference_of(grouped.time),
        end=None if grouped.end is None else reference_of(grouped.end),
        invalid_end=grouped.invalid_end,
        tie=None if grouped.tie is None else reference_of(grouped.tie),
        tick=None if grouped.tick is None else reference_of(grouped.tick),
        source=list(map(reference_of, stream.source)) or None,
        order=None if stream.order is None else reference_of(stream.order),
        stream_time=stream.stream_time,
    )


def _sorted(windows: list[Any]) -> list[Any]:
    return sorted(windows, key=lambda window: (window.start, window.end))


def _check_rules(windows: SessionWindows | SlidingWindows) -> None:
    """Raises `ValueError` for the rules for sessions that a trace does not know."""
    if not isinstance(windows, SessionWindows):
        return
    for rule in ("start_when", "cut_on", "cut_at", "max_records"):
        value = getattr(windows.rules, rule)
        if value not in (None, ()):
            raise bad_value(f"windowed: {rule}", value, "sessions with no rules but max_duration and end_when")
