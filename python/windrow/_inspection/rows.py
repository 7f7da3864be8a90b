"""Reads the rows of the data in order, with the columns that windowing needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.duration import TIME_UNITS
from windrow._arguments.errors import bad_value
from windrow._inspection.keys import Key, numbers
from windrow._inspection.lengths import Lengths
from windrow._inspection.trace import Record
from windrow._local.results import schema_without_views
from windrow._plan.input import Input
from windrow._query.grouping import Grouping
from windrow._windows.session import DynamicGap, SessionWindows
from windrow._windows.sliding import SlidingWindows

_KEY = "windrow.key"
"""The column with the place of each row's key; no column of the data has such a name."""


@dataclass(frozen=True)
class Rows:
    """The rows of a data set. For Spark data, only the rows of the keys.

    Attributes:
        table: the columns that windowing needs.
        gaps: the gap column, if there is one.
        ends: the column that ends sessions, if there is one.
        picked: the positions of the keys' rows, without ticks and rows without a time.
        records: the records at these positions, in the same order.
    """

    table: pa.Table
    gaps: str | None
    ends: str | None
    picked: Sequence[int]
    records: Sequence[Record]


def rows_of(
    opened: Input[Any],
    grouped: Grouping[Any],
    windows: SessionWindows | SlidingWindows,
    lengths: Lengths,
    keys: Sequence[Key],
    *,
    most: int,
) -> Rows:
    """The rows of the keys. For in-process data, together with all other rows.

    Raises:
        ValueError: the keys have more than `most` rows, or the data lacks a column.
        TypeError: a streaming DataFrame, or the inputs of a cogroup.
    """
    gaps = windows.gap.column if isinstance(windows, SessionWindows) and isinstance(windows.gap, DynamicGap) else None
    ends = windows.rules.end_when if isinstance(windows, SessionWindows) else None
    extra = [name for name in (grouped.end, grouped.tie, grouped.tick, gaps, ends) if name is not None]
    names = list(dict.fromkeys([*grouped.key_columns, grouped.time, *extra, *grouped.stream.columns]))
    known = {field.name: field for field in grouped.fields}
    fields = [known.get(name) or opened.field("events", name) for name in names]
    table = opened.rows(pa.schema(fields), grouped.key_columns, keys)
    table = table.cast(schema_without_views(table.schema))  # pyarrow's `take` does not support views
    if grouped.stream.order is not None:
        table = table.take(pc.sort_indices(table, sort_keys=[(grouped.stream.order, "ascending")]))
    field: Any = pc.is_valid(table[grouped.time])
    if grouped.tick is not None:
        ticking: Any = table[grouped.tick].cast(pa.bool_())
        field = pc.and_not(field, pc.fill_null(ticking, False))
    numbered = numbers(keys, [table[key] for key in grouped.key_columns])
    picked: list[Any] = pc.indices_nonzero(pc.and_(pc.is_valid(numbered), field)).to_pylist()
    if len(picked) > most:
        allowed = f"keys with at most {most:,} records together: filter the events by time, or ask for fewer keys"
        raise bad_value("keys", f"keys with {len(picked):,} records", allowed)
    records = _records(table.append_column(_KEY, numbered), grouped, gaps, lengths, picked)
    if ends is not None:
        true = table[ends].take(pa.array(picked, pa.int64())).to_pylist()
        records = [replace(record, ends=value is True) for record, value in zip(records, true, strict=True)]
    if grouped.tie is not None:
        ties: list[int | None] = table[grouped.tie].take(pa.array(picked, pa.int64())).to_pylist()
        records = [_tied(record, tie) for record, tie in zip(records, ties, strict=True)]
    return Rows(table, gaps, ends, picked, records)


def _tied(record: Record, tie: int | None) -> Record:
    return replace(record, left_out="null_ties") if tie is None else replace(record, tie=tie)


def _records(
    table: pa.Table, grouped: Grouping[Any], gaps: str | None, lengths: Lengths, picked: Sequence[int]
) -> list[Record]:
    rows = table.take(pa.array(picked, pa.int64()))
    keys: list[Any] = rows[_KEY].to_pylist()
    times: list[Any] = rows[grouped.time].cast(pa.int64()).to_pylist()
    lasts: list[Any] = times if grouped.end is None else rows[grouped.end].cast(pa.int64()).to_pylist()
    records = []
    for row, key, time, last in zip(picked, keys, times, lasts, strict=True):
        is_bad = last is None or last < time
        records.append(Record(row, key, time, time if is_bad else last, left_out="bad_ends" if is_bad else None))
    if gaps is None:
        return records
    lengths_of = gap_ticks(rows[gaps], rows[grouped.time].type.unit, zero=grouped.end is not None)
    return [_gapped(record, gap, lengths.longest) for record, gap in zip(records, lengths_of, strict=True)]


def _gapped(record: Record, gap: int | None, longest: int | None) -> Record:
    if gap is None:
        return replace(record, left_out="bad_gaps")
    return replace(record, gap=gap if longest is None else min(gap, longest))


def gap_ticks(gaps: Any, unit: str, *, zero: bool) -> list[int | None]:
    """Gaps in ticks of a time column, rounded down. None for null and negative gaps, and for zero unless allowed."""
    have, want = TIME_UNITS[gaps.type.unit].per_second, TIME_UNITS[unit].per_second
    counts = (None if count is None else count * want // have for count in gaps.cast(pa.int64()).to_pylist())
    least = 0 if zero else 1
    return [None if count is None or count < least else count for count in counts]
