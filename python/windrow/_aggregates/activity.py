"""How long a session was active: `active_time` and `active_runs`.

The examples of this module share these lines:

>>> from datetime import datetime
>>> import pyarrow as pa
>>> import windrow as wr
>>> at = [datetime(2026, 1, 1, 9, minute) for minute in (0, 3, 5, 25, 26)]
>>> calls = pa.table({"user": ["ann"] * 5, "ts": at})
>>> sessions = wr.group_by(calls, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("30 minutes"))
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from windrow._aggregates.aggregate import Aggregate
from windrow._aggregates.call import AggregateCall
from windrow._arguments.duration import TIME_UNITS, Duration, Microseconds, check_counted, microseconds, words
from windrow._arguments.errors import bad_value, unknown_word

Breaks = Literal["cut", "drop"]
"""How a break between runs counts: as long as the limit, or not at all."""


def active_time(limit: Duration, breaks: Breaks = "cut") -> Aggregate:
    """How long a session was active: its length with each break cut to a limit, or dropped.

    A duration in the unit of the time column, in Spark a day-time interval, as `window_length` gives. The records that
    pass `where` make runs. A record is active from its time to its end, with `group_by(end=)`, or else at its time. A
    run ends where the next record begins more than `limit` after the latest end so far. With `breaks="cut"` each break
    between two runs counts as long as `limit`, with `breaks="drop"` it does not count. Without records the result is
    zero.

    The state of a window holds the start and the end of each run.

    Args:
        limit: the longest break within a run, inclusive: zero or more, and a multiple of the unit of the time column.
        breaks: `"cut"` or `"drop"`.

    Raises:
        TypeError: `limit` is not a duration.
        ValueError: a negative `limit`, or another word in `breaks`; from `agg`, a `limit` that the time column cannot
            count, or sliding windows; from `over` and `min_samples`, always.

    >>> active = sessions.agg(
    ...     length=wr.window_length(),
    ...     cut=wr.active_time("5 minutes"),
    ...     drop=wr.active_time("5 minutes", breaks="drop"),
    ... )
    >>> [str(active[name][0].as_py()) for name in ("length", "cut", "drop")]
    ['0:26:00', '0:11:00', '0:06:00']
    """
    if breaks not in get_args(Breaks):
        raise unknown_word("active_time(breaks=)", breaks, get_args(Breaks))
    return Aggregate(Active("active_time", limit=_limit("active_time", limit), breaks=breaks))


def active_runs(limit: Duration) -> Aggregate:
    """How many runs a session has, as an int64 (in Spark a bigint): see `active_time`. 0 without records.

    Args:
        limit: the longest break within a run, as in `active_time`.

    Raises:
        TypeError: `limit` is not a duration.
        ValueError: a negative `limit`; from `agg`, a `limit` that the time column cannot count, or sliding windows;
            from `over` and `min_samples`, always.

    >>> sessions.agg(runs=wr.active_runs("5 minutes"))["runs"].to_pylist()
    [2]
    """
    return Aggregate(Active("active_runs", limit=_limit("active_runs", limit)))


def _limit(maker: str, limit: Duration) -> Microseconds:
    return microseconds(f"{maker}(limit=)", limit, zero=True)


@dataclass(frozen=True, repr=False)
class Active(AggregateCall):
    """The call that `active_time` and `active_runs` make.

    Attributes:
        limit: the longest break within a run, in microseconds.
        breaks: how a break counts; None for `active_runs`.
    """

    limit: Microseconds = field(kw_only=True)
    breaks: Breaks | None = field(default=None, kw_only=True)

    whole = "runs are parts of a whole session"

    def check_limit(self, argument: str, time: Any) -> None:
        """Raises `ValueError` for a limit that the time column cannot count."""
        limit, unit = f"{argument}: {self.maker}(limit=)", TIME_UNITS[time.type.unit]
        check_counted(limit, self.limit, time)
        if self.limit % unit.tick:
            counts = f"as the time column {time.name!r} counts in {unit.name}s"
            raise bad_value(limit, words(self.limit), f"a multiple of 1 {unit.name}, {counts}")

    def plan(self, name: str) -> dict[str, object]:
        """Its plan for the core."""
        breaks = {} if self.breaks is None else {"breaks": self.breaks}
        return super().plan(name) | {"limit": self.limit} | breaks

    def _arguments(self) -> Iterator[str]:
        yield repr(words(self.limit))
        if self.breaks == "drop":
            yield "breaks='drop'"
