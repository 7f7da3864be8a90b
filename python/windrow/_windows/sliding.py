"""Sliding windows (Kafka's `SlidingWindows`, KIP-450)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Never, Self

import pyarrow as pa

from windrow._arguments.duration import LONGEST, TIME_UNITS, Duration, Microseconds, microseconds, words
from windrow._arguments.errors import bad_value, positional_options
from windrow._windows.specification import Windows

_HOPPING = "; windows of a length that start at every step are hopping windows, Spark's window(...)"
_STREAM_TICK = 1_000
"""The unit of Kafka's time, and the default resolution of a stream: a millisecond."""


@dataclass(frozen=True, init=False, repr=False)
class SlidingWindows(Windows):
    """Sliding windows: windows of one length that end at a record or start just after one (KIP-450).

    Each record at `t` has the window `[t - difference, t]`. It also has the window that starts one `resolution` after
    `t`, if that window holds a record. Both ends are inclusive, and no two windows of a key have the same start.

    Attributes:
        difference: distance from the start to the end of a window, in microseconds.
        resolution: the step to which windowing floors times, in microseconds; None for one unit of the time column.
    """

    difference: Microseconds
    resolution: Microseconds | None

    @classmethod
    def with_time_difference(
        cls,
        difference: Duration,
        *_by_position: Never,
        grace: Duration | None = None,
        resolution: Duration | None = None,
        retention: Duration | None = None,
    ) -> Self:
        """Windows over records that are at most `difference` apart (Kafka's `SlidingWindows`).

        Args:
            difference: distance from the start to the end of a window.
            grace: how long a stream keeps a window open for records out of order; a batch query does not need it.
            resolution: times are floored to it for windowing, and the right window of a record starts this long after
                it. None means one unit of the time column, in Spark a microsecond. On a column finer than milliseconds,
                `"1 millisecond"` gives Kafka's windows. A `StreamDriver` uses at least 1 millisecond by default.
            retention: how long a window stays visible after it starts. A batch query does not need it.

        Raises:
            ValueError: `difference` or `resolution` not longer than zero, `grace` negative, `difference` or `grace`
                not a multiple of `resolution`, `retention` shorter than 2 x difference + grace, or that sum beyond
                2**63 - 1 microseconds.
            TypeError: not a duration (a bare number has no unit), or options by position.

        >>> SlidingWindows.with_time_difference("10 minutes", grace="1 minute")
        SlidingWindows.with_time_difference('10 minutes', grace='1 minute')
        >>> SlidingWindows.with_time_difference("10 minutes", retention="1 day")
        SlidingWindows.with_time_difference('10 minutes', retention='1 day')
        """
        if _by_position:
            raise positional_options(
                "SlidingWindows.with_time_difference",
                _by_position,
                ["grace", "resolution", "retention"],
                "" if _by_position[0] is None else _HOPPING,
            )
        tick = None if resolution is None else microseconds("resolution", resolution)
        width = microseconds("difference", difference)
        late = None if grace is None else microseconds("grace", grace, zero=True)
        for argument, value, length in (("difference", difference, width), ("grace", grace, late or 0)):
            if tick is not None and length % tick:
                raise bad_value(argument, value, f"a multiple of the resolution, {words(tick)}")
        if 2 * width > LONGEST:
            raise bad_value("difference", difference, f"2 x difference of at most {LONGEST} microseconds")
        if 2 * width + (late or 0) > LONGEST:
            raise bad_value("grace", grace, f"2 x difference + grace of at most {LONGEST} microseconds")
        return cls._of(grace=late, retention=None, difference=width, resolution=tick)._with_retention(retention)

    @property
    def _least_retention(self) -> tuple[Microseconds, str]:
        return 2 * self.difference + (self.grace or 0), "2 x difference + grace"

    def _lengths(self) -> dict[str, tuple[Microseconds, str]]:
        lengths = {"difference": self.difference, "resolution": self.resolution, "grace": self.grace}
        ticks = {argument: (length, "ticks") for argument, length in lengths.items() if length is not None}
        return {**super()._lengths(), **ticks}

    def _on_stream(self, time: pa.Field[Any]) -> Self:
        """These windows with the resolution of a stream: 1 millisecond, or one unit where the column is coarser.

        Raises `ValueError` if `difference` or `grace` is not a multiple of it.
        """
        if self.resolution is not None:
            return self
        tick = max(_STREAM_TICK, TIME_UNITS[time.type.unit].microseconds)
        for argument, length in (("difference", self.difference), ("grace", self.grace or 0)):
            if length % tick:
                allowed = f"a multiple of {words(tick)}, the resolution on a stream where none is given"
                raise bad_value(argument, words(length), allowed)
        return self._of(**{**vars(self), "resolution": tick})

    def _plan(self) -> dict[str, Microseconds | str]:
        """The plan of these windows for the core."""
        tick: dict[str, Microseconds | str] = {} if self.resolution is None else {"resolution": self.resolution}
        return {"kind": "sliding", "difference": self.difference, **tick}

    def __repr__(self) -> str:
        """The call that makes these windows."""
        tick = "" if self.resolution is None else f", resolution={words(self.resolution)!r}"
        made = f"with_time_difference({words(self.difference)!r}{self._shown_grace()}{tick}{self._shown_retention()})"
        return f"SlidingWindows.{made}"
