"""A history in days, and the runs of a daily job over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import windrow as wr

from ..scenes import at

Windowed = Callable[[Any], Any]
"""The windows over the records of a day."""

Trip = Callable[[Any], Any]
"""What happens to the open windows between two runs."""


def days(history: pa.Table, ends: Sequence[int]) -> list[pa.Table]:
    """The records of each day; the last one has no end. A record without a time is of the first day."""
    ticks: Any = history["ts"].cast(pa.int64()).fill_null(-(2**62))
    found, start = [], -(2**63)
    for end in [*ends, 2**63 - 1]:
        is_of_day: Any = pc.and_(pc.greater_equal(ticks, start), pc.less(ticks, end))
        found.append(picked(history, pc.indices_nonzero(is_of_day).to_pylist()))
        start = end
    return found


def picked(table: pa.Table, rows: Sequence[int]) -> pa.Table:
    """Some rows, also of views, which pyarrow cannot take."""
    values = {name: table[name].to_pylist() for name in table.column_names}
    columns = [pa.array([values[field.name][row] for row in rows], field.type) for field in table.schema]
    return pa.Table.from_arrays(columns, schema=table.schema)


def instant(ticks: int, kind: pa.DataType) -> Any:
    """A point in time of the type of a time column."""
    return pa.scalar(ticks, kind).as_py()


def shown_windows(still_open: pa.Table) -> pa.Table:
    """The open windows in the columns of `agg`: without the clock row, and with bounds that are never null."""
    rows: Any = pc.indices_nonzero(still_open["window"].is_valid()).to_pylist()
    shown = picked(still_open.drop_columns(["stream_time", "state"]), rows)
    kind: Any = shown.schema.field("window").type
    bounds = pa.struct([field.with_nullable(False) for field in kind])
    window = pa.array(shown["window"].to_pylist(), bounds)
    return shown.set_column(shown.column_names.index("window"), pa.field("window", bounds, nullable=False), window)


def same(opened: Any) -> Any:
    """No round trip."""
    return opened


def played(
    days_of: Sequence[Any], ends: Sequence[int], windowed: Windowed, aggregates: Any, trip: Trip = same
) -> tuple[list[pa.Table], pa.Table]:
    """The closed windows of each run, and the windows that the last one leaves open, as tables."""
    opened, closed = None, []
    for records, end in zip(days_of, ends, strict=True):
        kind = records.schema.field("ts").type
        run = windowed(records).advance(opened, to=instant(end, kind), **aggregates)
        closed.append(run.closed)
        opened = trip(run.still_open)
    assert opened is not None
    return closed, shown_windows(run.still_open)


def pairs(*rows: tuple[str, float]) -> pa.Table:
    """Records of users, some minutes after 08:00."""
    return pa.table({"user": [user for user, _ in rows], "ts": pa.array([at(m) for _, m in rows], pa.timestamp("us"))})


def half_hours(day: Any, **options: Any) -> Any:
    """Sessions with a gap of half an hour."""
    return wr.group_by(day, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("30 minutes", **options))
