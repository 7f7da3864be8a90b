"""The lengths of windows in ticks of the time column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow._arguments.duration import TIME_UNITS
from windrow._windows.session import DynamicGap, SessionWindows
from windrow._windows.sliding import SlidingWindows


@dataclass(frozen=True)
class Lengths:
    """Ticks of the time column; rounded down, as windows count.

    Attributes:
        gap: of sessions; None where records have their own, and of sliding windows.
        longest: what the records' own gaps are cut to, if to anything.
        session: the longest session; None where any will do, and of sliding windows.
        difference: of sliding windows; None of sessions.
        resolution: what times are floored to; 1 of sessions.
        grace: how far behind stream time a record may be; None where none was given, and where sessions are cut, as
            no stream does.
    """

    gap: int | None
    longest: int | None
    session: int | None
    difference: int | None
    resolution: int
    grace: int | None

    @classmethod
    def of(cls, windows: SessionWindows | SlidingWindows, time: pa.Field[Any]) -> Lengths:
        """Of windows over a time column."""

        def ticks(microseconds: int | None) -> int | None:
            return None if microseconds is None else ticks_of(time.type.unit, microseconds)

        if isinstance(windows, SlidingWindows):
            resolution = max(ticks(windows.resolution) or 1, 1)
            return cls(None, None, None, ticks(windows.difference), resolution, ticks(windows.grace))
        longest = windows.gap.max_gap if isinstance(windows.gap, DynamicGap) else None
        gap = None if isinstance(windows.gap, DynamicGap) else ticks(windows.gap)
        grace = None if windows._is_cut else ticks(windows.grace)
        return cls(gap, ticks(longest), ticks(windows.max_duration), None, 1, grace)

    def floored(self, time: int) -> int:
        """A time as sliding windows see it."""
        return time // self.resolution * self.resolution

    def closes(self, end: int, reach: int) -> int:
        """What stream time has to pass for a window to close; `reach` is the farthest of its records' own gaps."""
        grace = self.grace or 0
        if self.difference is not None:
            return end + grace
        return (reach if self.gap is None else end + self.gap) + grace


def ticks_of(unit: str, microseconds: int) -> int:
    """Microseconds in ticks of a time column, rounded down."""
    return microseconds * 1_000 if unit == "ns" else microseconds // TIME_UNITS[unit].microseconds
