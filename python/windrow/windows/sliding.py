"""Sliding windows (Kafka's `SlidingWindows`, KIP-450)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Never, Self

from windrow.duration import LONGEST, Duration, microseconds, words
from windrow.errors import bad_value, positional_options
from windrow.windows.windows import Windows


@dataclass(frozen=True, init=False, repr=False)
class SlidingWindows(Windows):
    """Sliding windows: one window for each distinct set of records within `difference` (KIP-450).

    For each record at `t` there is the window `[t - difference, t]`, and, where it holds a record, the one that starts
    one `resolution` after `t`. Both ends are inclusive, and no two windows of a key have the same start.

    Attributes:
        difference: distance from the start to the end of a window, in microseconds.
        resolution: one tick, in microseconds; times are floored to it for windowing.
    """

    difference: int
    resolution: int

    @classmethod
    def with_time_difference(
        cls,
        difference: Duration,
        *_by_position: Never,
        grace: Duration | None = None,
        resolution: Duration = "1 millisecond",
    ) -> Self:
        """Windows over records that are at most `difference` apart (Kafka's `SlidingWindows`).

        Raises:
            ValueError: `difference` or `resolution` not longer than zero, `grace` negative, `difference` or `grace`
                not a multiple of `resolution`, or 2 x difference + grace beyond 2**63 - 1 microseconds.
            TypeError: not a duration (a bare number has no unit), or options by position.

        >>> SlidingWindows.with_time_difference("10 minutes", grace="1 minute")
        SlidingWindows.with_time_difference('10 minutes', grace='1 minute')
        """
        if _by_position:
            raise positional_options("SlidingWindows.with_time_difference", _by_position, ["grace", "resolution"])
        tick = microseconds("resolution", resolution)
        width = microseconds("difference", difference)
        late = None if grace is None else microseconds("grace", grace, zero=True)
        for argument, value, length in (("difference", difference, width), ("grace", grace, late or 0)):
            if length % tick:
                raise bad_value(argument, value, f"a multiple of the resolution, {words(tick)}")
        if 2 * width > LONGEST:
            raise bad_value("difference", difference, f"2 x difference of at most {LONGEST} microseconds")
        if 2 * width + (late or 0) > LONGEST:
            raise bad_value("grace", grace, f"2 x difference + grace of at most {LONGEST} microseconds")
        return cls._of(grace=late, retention=None, difference=width, resolution=tick)

    def until(self, retention: Duration) -> Self:
        """The same windows, kept visible for `retention` after they start. A batch query does not need it.

        Raises:
            ValueError: shorter than 2 x difference + grace.
            TypeError: not a duration.

        >>> SlidingWindows.with_time_difference("10 minutes").until("1 day")
        SlidingWindows.with_time_difference('10 minutes').until('1 day')
        """
        return self._kept(retention, 2 * self.difference + (self.grace or 0), "2 x difference + grace")

    def _lengths(self) -> dict[str, tuple[int, str]]:
        own = {"difference": (self.difference, "ticks"), "resolution": (self.resolution, "ticks")}
        return {**own, **super()._lengths()}

    def plan(self) -> dict[str, int | str]:
        """What the core needs to know of these windows."""
        return {"kind": "sliding", "difference": self.difference, "resolution": self.resolution}

    def __repr__(self) -> str:
        """The call that makes these windows."""
        tick = "" if self.resolution == 1_000 else f", resolution={words(self.resolution)!r}"
        made = f"SlidingWindows.with_time_difference({words(self.difference)!r}{self._shown_grace()}{tick})"
        return f"{made}{self._shown_until()}"
