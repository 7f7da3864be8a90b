"""The lengths of windows in units of the time column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow._arguments.duration import TIME_UNITS, Microseconds
from windrow._windows.session import DynamicGap, SessionWindows
from windrow._windows.sliding import SlidingWindows


@dataclass(frozen=True)
class Lengths:
    """Lengths in units of the time column, rounded down as in windows.

    Attributes:
        gap: the gap of sessions; None for dynamic gaps and for sliding windows.
        longest: the limit for dynamic gaps; None for no limit.
        session: the longest session; None for no limit and for sliding windows.
        difference: the time difference of sliding windows; None for sessions.
        resolution: times are floored to multiples of it; 1 for sessions.
        grace: how long a stream keeps windows open for records out of order; None without a grace, and for sessions
            with rules, which are read as a batch.
    """

    gap: int | None
    longest: int | None
    session: int | None
    difference: int | None
    resolution: int
    grace: int | None

    @classmethod
    def of(cls, windows: SessionWindows | SlidingWindows, time: pa.Field[Any]) -> Lengths:
        """The lengths of windows over a time column."""

        def ticks(microseconds: Microseconds | None) -> int | None:
            return None if microseconds is None else TIME_UNITS[time.type.unit].ticks(microseconds)

        if isinstance(windows, SlidingWindows):
            resolution = max(ticks(windows.resolution) or 1, 1)
            return cls(None, None, None, ticks(windows.difference), resolution, ticks(windows.grace))
        longest = windows.gap.max_gap if isinstance(windows.gap, DynamicGap) else None
        gap = None if isinstance(windows.gap, DynamicGap) else ticks(windows.gap)
        grace = None if windows.rules else ticks(windows.grace)
        return cls(gap, ticks(longest), ticks(windows.rules.max_duration), None, 1, grace)

    def floored(self, time: int) -> int:
        """A time rounded down to the resolution."""
        return time // self.resolution * self.resolution

    def closes(self, end: int, reach: int) -> int:
        """The time that stream time must pass to close a window. `reach` is the farthest time that its gaps reach."""
        grace = self.grace or 0
        if self.difference is not None:
            return end + grace
        return (reach if self.gap is None else end + self.gap) + grace
