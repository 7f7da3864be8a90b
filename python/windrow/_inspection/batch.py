"""The windows of a batch over the rows of some keys, computed by the core."""

from __future__ import annotations

import bisect
import warnings
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._aggregates import builtin
from windrow._inspection.lengths import Lengths
from windrow._inspection.rows import Rows
from windrow._inspection.trace import Record, Window, same
from windrow._query.grouped import group_by
from windrow._query.grouping import Grouping
from windrow._windows.session import SessionWindows
from windrow._windows.sliding import SlidingWindows


def windows_of_batch(
    rows: Rows, grouped: Grouping[Any], windows: SessionWindows | SlidingWindows, lengths: Lengths
) -> list[Window]:
    """The windows of the picked rows, each with its records. A sliding window from before 1970 has no later records."""
    name = "windows" if "windows" not in grouped._keys else "windows_"
    picked = rows.table.take(pa.array(rows.picked, pa.int64())).select(list(dict.fromkeys(_needed(rows, grouped))))
    with warnings.catch_warnings():  # the trace shows records left out
        warnings.simplefilter("ignore")
        result = group_by(picked, *grouped._keys, time=grouped.time).windowed_by(windows).agg(**{name: builtin.count()})
    bounds = [pc.struct_field(result["window"], bound).cast("int64").to_pylist() for bound in ("start", "end")]
    keys = zip(*(result[key].to_pylist() for key in grouped._keys), strict=True)
    windows_found = []
    by_key: dict[tuple[object, ...], tuple[list[Record], list[int]]] = {}
    for key, start, end in zip(keys, *bounds, strict=True):
        shown = tuple(repr(value) for value in key)
        if shown not in by_key:
            of_key = [record for record in rows.records if same(record.key, key) and not record.bad_gap]
            of_key.sort(key=lambda record: record.time)
            by_key[shown] = of_key, [lengths.floored(record.time) for record in of_key]
        last = min(end, -1) if start < 0 and lengths.difference is not None else end
        members = _members(*by_key[shown], start, last)
        reach = max((record.time + (record.gap or 0) for record in members), default=end)
        row_numbers = frozenset(record.row for record in members)
        windows_found.append(Window(key, start, end, row_numbers, lengths.closes(end, reach)))
    return windows_found


def _needed(rows: Rows, grouped: Grouping[Any]) -> list[str]:
    return [*grouped._keys, grouped.time, *(name for name in (rows.gaps, rows.ends) if name is not None)]


def _members(records: Sequence[Record], times: Sequence[int], start: int, end: int) -> Sequence[Record]:
    """The records with times from `start` to `end`."""
    return records[bisect.bisect_left(times, start) : bisect.bisect_right(times, end)]
