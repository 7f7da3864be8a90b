"""`ended_by`: why a session ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Never

from windrow._aggregates.aggregate import Aggregate
from windrow._aggregates.call import AggregateCall
from windrow._arguments.errors import bad_value

if TYPE_CHECKING:
    from windrow._arguments.expression import ColumnName


def ended_by() -> Aggregate:
    """Why the session ended, as a string: the first row of this table that holds.

    | value | the session ended because |
    |---|---|
    | `end_when` | `end_when` is true in one of its last records |
    | `max_records` | it has that many records |
    | `gap` | no record came for longer than the gap |
    | `start_when` | the next record begins a session |
    | `cut_on` | the next record has another value |
    | `cut_at` | a day ended before the next record |
    | `max_duration` | the next record is too far from its start |
    | `open` | it has not ended: the key has no next record |

    In a batch, the last session of a key is `open` unless one of the first two rows holds. On a stream that session is
    `gap` once it is final. The result is null for a late record that `late("emit")` gives. Sliding windows refuse
    `ended_by`.

    >>> from datetime import datetime
    >>> import pyarrow as pa
    >>> import windrow as wr
    >>> clicks = pa.table({"user": ["ann"] * 4, "ts": [datetime(2026, 1, 1, hour) for hour in (8, 9, 10, 14)]})
    >>> windows = wr.SessionWindows.with_gap("1 hour", max_records=2)
    >>> sessions = wr.group_by(clicks, "user", time="ts").windowed_by(windows).agg(n=wr.count(), why=wr.ended_by())
    >>> [(row["n"], row["why"]) for row in sessions.sort_by([("window", "ascending")]).to_pylist()]
    [(2, 'max_records'), (1, 'gap'), (1, 'open')]
    """
    return Aggregate(EndedBy("ended_by"))


@dataclass(frozen=True, repr=False)
class EndedBy(AggregateCall):
    """The call that `ended_by` makes."""

    def where(self, column: ColumnName) -> Never:
        """Raises `ValueError`: the end of a session depends on all of its records."""
        raise bad_value("ended_by().where(column=)", column, "no condition: all records decide why a session ended")

    whole = "it says why the whole session ended"
