"""The windows of a batch over the rows of some keys, computed by the core."""

from __future__ import annotations

import warnings
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._aggregates import builtin
from windrow._arguments.column import Names
from windrow._inspection.lengths import Lengths
from windrow._inspection.rows import Rows
from windrow._inspection.trace import Window
from windrow._query.grouped import group_by
from windrow._query.grouping import Grouping
from windrow._windows.session import SessionWindows
from windrow._windows.sliding import SlidingWindows


def windows_of_batch(
    rows: Rows, grouped: Grouping[Any], windows: SessionWindows | SlidingWindows, lengths: Lengths
) -> list[Window]:
    """The windows of the picked rows, each with its records."""
    further = (name for name in (grouped.end, grouped.tie, rows.gaps, rows.ends) if name is not None)
    needed = dict.fromkeys([grouped.time, *further])
    picked = rows.table.select(list(needed)).take(pa.array(rows.picked, pa.int64()))
    held, number, key = (Names(picked.column_names).unused(name) for name in ("rows", "row", "key"))
    numbered = picked.append_column(number, pa.array(rows.picked, pa.int64()))
    numbered = numbered.append_column(key, pa.array([record.key for record in rows.records], pa.int64()))
    with warnings.catch_warnings():  # the trace shows records left out
        warnings.simplefilter("ignore")
        tied = group_by(numbered, key, time=grouped.time, end=grouped.end, tie=grouped.tie)
        result = tied.windowed_by(windows).agg(**{held: builtin.collect_list(number)})
    bounds = [pc.struct_field(result["window"], bound).cast("int64").to_pylist() for bound in ("start", "end")]
    records, found = {record.row: record for record in rows.records}, list[Window]()
    for of, start, end, members in zip(result[key].to_pylist(), *bounds, result[held].to_pylist(), strict=True):
        reach = max((records[row].reach for row in members), default=end)
        found.append(Window(of, start, end, frozenset(members), lengths.closes(end, reach)))
    return found
