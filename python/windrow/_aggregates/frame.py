"""`Frame`: the times before a record that an aggregate covers, as in SQL's `RANGE BETWEEN`. Made by `over`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import pyarrow as pa

from windrow._arguments.duration import TIME_UNITS, Duration, Microseconds, microseconds, words
from windrow._arguments.errors import bad_value, unknown_word
from windrow._windows.session import SessionWindows
from windrow._windows.sliding import SlidingWindows

Closed = Literal["both", "left", "right", "neither"]
"""Which of its two bounds a frame includes, in the words of pandas."""


@dataclass(frozen=True, repr=False)
class Frame:
    """The times from `t - delay - difference` to `t - delay` of a record at `t`. Its repr is what a user writes.

    Attributes:
        difference: the distance between its bounds, in microseconds.
        closed: the bounds that belong to it.
        delay: the distance from its later bound to the record, in microseconds.
    """

    difference: Microseconds
    closed: Closed
    delay: Microseconds

    @classmethod
    def of(cls, difference: Duration, closed: Closed, delay: Duration | None) -> Frame:
        """A frame from the arguments of a user; `TypeError` or `ValueError` for anything else."""
        length = microseconds("over(difference=)", difference)
        if closed not in get_args(Closed):
            raise unknown_word("over(closed=)", closed, get_args(Closed))
        return cls(length, closed, 0 if delay is None else microseconds("over(delay=)", delay, zero=True))

    def check(self, argument: str, windows: SessionWindows | SlidingWindows, rows: bool, time: pa.Field[Any]) -> None:
        """Raises `ValueError` unless the frame is a part of these windows.

        Args:
            argument: the aggregate.
            windows: the windows of the query.
            rows: whether the query gives the records back.
            time: the time column.
        """
        over = f"{argument}: over"
        if not rows:
            raise bad_value(over, self, "with_columns(...), which returns each record; agg(...) returns windows")
        if not isinstance(windows, SlidingWindows):
            allowed = "SlidingWindows.with_time_difference(...) with the longest length of an aggregate"
            raise bad_value(over, windows, allowed)
        unit = windows.resolution or TIME_UNITS[time.type.unit].tick
        for name, length in (("difference", self.difference), ("delay", self.delay)):
            if length % unit:
                raise bad_value(f"{over}({name}=)", words(length), f"a multiple of the resolution, {words(unit)}")
        if self.difference + self.delay > windows.difference:
            sum_of = "difference + delay of " if self.delay else ""
            allowed = f"{sum_of}at most {words(windows.difference)}, the time difference of the windows"
            raise bad_value(f"{over}(difference=)", self, allowed)

    def plan(self) -> dict[str, object]:
        """Its plan for the core."""
        return {"difference": self.difference, "closed": self.closed, "delay": self.delay}

    def __repr__(self) -> str:
        """The arguments of `over`."""
        closed = "" if self.closed == "both" else f", closed={self.closed!r}"
        delay = f", delay={words(self.delay)!r}" if self.delay else ""
        return f"{words(self.difference)!r}{closed}{delay}"
