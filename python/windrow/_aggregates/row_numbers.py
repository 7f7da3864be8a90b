"""Numbers of records: `position` in its window, `session_number` of its session among those of the key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Never

from windrow._aggregates.aggregate import Aggregate
from windrow._aggregates.call import AggregateCall
from windrow._arguments.errors import bad_value

if TYPE_CHECKING:
    from windrow._arguments.expression import ColumnName


def position() -> Aggregate:
    """The position of the record in its window, from 1, for `with_columns` only.

    An int64 (in Spark a bigint), never null in a window. Records are counted by event time, and records of one time by
    tie or arrival, as in `first`. The window of a record is the one that `with_columns` gives it: its session, or the
    sliding window that ends at it.

    >>> from datetime import datetime
    >>> import pyarrow as pa
    >>> import windrow as wr
    >>> clicks = pa.table({"user": ["ann"] * 4, "ts": [datetime(2026, 1, 1, hour) for hour in (9, 8, 14, 15)]})
    >>> sessions = wr.group_by(clicks, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
    >>> numbered = sessions.with_columns(position=wr.position(), session_number=wr.session_number())
    >>> for row in numbered.to_pylist():
    ...     print(row["ts"].hour, row["position"], row["session_number"])
    9 2 1
    8 1 1
    14 1 2
    15 2 2
    """
    return Aggregate(RowNumber("position"))


def session_number() -> Aggregate:
    """The number of the session among the sessions of its key, from 1 in the order of time, for `with_columns` only.

    An int64 (in Spark a bigint), never null in a session. Sliding windows have none: they overlap. A stream refuses it,
    because it would have to remember every key for ever; `window_id` works there.

    >>> from datetime import datetime
    >>> import pyarrow as pa
    >>> import windrow as wr
    >>> clicks = pa.table({"user": ["ann"] * 3, "ts": [datetime(2026, 1, 1, hour) for hour in (14, 8, 9)]})
    >>> sessions = wr.group_by(clicks, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
    >>> numbered = sessions.with_columns(session_number=wr.session_number())
    >>> [(row["ts"].hour, row["session_number"]) for row in numbered.to_pylist()]
    [(14, 2), (8, 1), (9, 1)]
    """
    return Aggregate(RowNumber("session_number"))


@dataclass(frozen=True, repr=False)
class RowNumber(AggregateCall):
    """The call that `position` and `session_number` make."""

    def where(self, column: ColumnName) -> Never:
        """Raises `ValueError`: a number does not depend on single records."""
        raise bad_value(f"{self.function}().where(column=)", column, f"no condition: {self.whole}")

    @property
    def whole(self) -> str:
        """Why it has neither `over` nor `min_samples`."""
        is_position = self.function == "position"
        return "it is the position of a record in its window" if is_position else "it is the number of a session"
