"""`window_id`: a number for a window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Never

from windrow._aggregates.aggregate import Aggregate
from windrow._aggregates.call import AggregateCall
from windrow._arguments.errors import bad_value

if TYPE_CHECKING:
    from windrow._arguments.expression import ColumnName


def window_id() -> Aggregate:
    """A number for the window: the same in every run, in Spark and in-process.

    An int64 (in Spark a bigint), never null in a window. Two windows have the same number with a probability of one in
    10^19.

    The number is the hash `xxh3_64` (seed 0) of these bytes, little-endian:

    * 8 bytes: the hash of the key, as section 4 of the page on design says. It depends on the type of a key but not on
      its width: an int32 and an int64 with the same value have the same hash.
    * 16 bytes: the start of the window in nanoseconds since 1970. So time columns with different units give the same
      numbers.
    * 4 bytes, for a session with earlier sessions of its key at the same start: how many these are. Only sessions with
      rules and `group_by(tie=)` may share a start.

    >>> from datetime import datetime
    >>> import pyarrow as pa
    >>> import windrow as wr
    >>> clicks = pa.table({"user": ["ann"] * 3, "ts": [datetime(2026, 1, 1, hour) for hour in (8, 10, 10)]})
    >>> sessions = wr.group_by(clicks, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
    >>> ids = sessions.with_columns(session_id=wr.window_id())["session_id"].to_pylist()
    >>> ids[0] != ids[1], ids[1] == ids[2]
    (True, True)
    """
    return Aggregate(WindowId("window_id"))


@dataclass(frozen=True, repr=False)
class WindowId(AggregateCall):
    """The call that `window_id` makes."""

    def where(self, column: ColumnName) -> Never:
        """Raises `ValueError`: the number of a window does not depend on single records."""
        raise bad_value("window_id().where(column=)", column, "no condition: every window has a number")

    whole = "it is the number of the window"
