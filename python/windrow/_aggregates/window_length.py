"""`window_length`: the end of a window less its start."""

from __future__ import annotations

from windrow._aggregates import arithmetic
from windrow._aggregates.aggregate import Aggregate
from windrow._aggregates.call import Computed
from windrow._aggregates.evaluation import Named, Operation


def window_length() -> Aggregate:
    """The end of the window less its start.

    A duration in the unit of the time column, in Spark a day-time interval. For a session it is the time from its first
    to its last record, zero for one record. All sliding windows of a query have the same length.

    >>> from datetime import datetime
    >>> import pyarrow as pa
    >>> import windrow as wr
    >>> clicks = pa.table({"user": ["ann"] * 3, "ts": [datetime(2026, 1, 1, hour) for hour in (8, 9, 10)]})
    >>> sessions = wr.group_by(clicks, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
    >>> sessions.agg(length=wr.window_length())["length"].to_pylist()
    [datetime.timedelta(seconds=7200)]
    """
    return Aggregate(Computed("window_length", steps=(Named("window"),), last=Operation(arithmetic.length, operands=1)))
