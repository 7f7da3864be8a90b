"""Session windows and sliding windows, as Kafka Streams defines them.

```text
session, gap 5           sliding, difference 5
──x─x──x───────x──x──    ──x─x──x───────x──x──
  [    ]       [  ]      [  ]                     one window ends at each record,
  both ends are events     [    ]                 and one starts just after it
```
Both ends of both kinds are inclusive. Sliding windows are not hopping windows: they start and end at records, not at
steps of the clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from windrow.duration import LONGEST, Duration, microseconds, words
from windrow.errors import bad_value


@dataclass(frozen=True, init=False, repr=False)
class Windows:
    """What both kinds of windows have. Durations are whole microseconds.

    Attributes:
        grace: how far behind stream time a record may be; None where none was given.
        retention: how long windows stay visible, as given to `until`; None for as long as the rules need.
    """

    grace: int | None
    retention: int | None

    def __init__(self, *_args: object, **_fields: object) -> None:
        """Refuses: windows are made by the class methods, which take durations."""
        kind = type(self)
        ways = {"SessionWindows": "with_gap", "SlidingWindows": "with_time_difference"}
        way = f"{kind.__name__}.{ways[kind.__name__]}(...)" if kind.__name__ in ways else "a kind of windows"
        raise TypeError(f"{kind.__name__}: a call of the class makes no windows; allowed: {way}")

    @classmethod
    def _of(cls, **fields: int | None) -> Self:
        windows = object.__new__(cls)
        for name, value in fields.items():
            object.__setattr__(windows, name, value)
        return windows

    def until(self, retention: Duration) -> Self:
        """The same windows, kept visible for `retention` after they close.

        On a stream a later record may then still join a window that is already closed, as in Kafka
        (`SessionWindows.until`, before KIP-616; rules for both in `docs/semantics.md`). A batch query does not need it.

        Raises:
            ValueError: shorter than gap + grace for sessions, 2 x difference + grace for sliding windows.
            TypeError: not a duration.

        >>> SessionWindows.with_gap("5 minutes").until("1 day")
        SessionWindows.with_gap('5 minutes').until('1 day')
        """
        kept = microseconds("retention", retention)
        if kept < self._least():
            raise bad_value("retention", retention, f"at least {words(self._least())}, which is {self._least_is()}")
        return self._of(**{**vars(self), "retention": kept})

    def plan(self) -> dict[str, int | str]:
        """What the core needs to know of these windows."""
        raise NotImplementedError

    def _least(self) -> int:
        raise NotImplementedError

    def _least_is(self) -> str:
        raise NotImplementedError

    def _shown_grace(self) -> str:
        return "" if self.grace is None else f", grace={words(self.grace)!r}"

    def _shown_until(self) -> str:
        return "" if self.retention is None else f".until({words(self.retention)!r})"


@dataclass(frozen=True, init=False, repr=False)
class SessionWindows(Windows):
    """Sessions: records of a key that are at most `gap` apart (Kafka's `SessionWindows`, KIP-94).

    `window.start` is the first record of the session and `window.end` its last one; both are inclusive.

    Attributes:
        gap: the longest distance inside a session, in microseconds.
    """

    gap: int

    @classmethod
    def with_gap(cls, gap: Duration, grace: Duration | None = None) -> Self:
        """Sessions that end where no record comes for longer than `gap`.

        Two records exactly `gap` apart are in one session. `grace` is how far behind stream time a record may be on
        a stream; a batch query has nothing late and does not need it.

        Raises:
            ValueError: `gap` not longer than zero, `grace` negative, or their sum beyond 2**63 - 1 microseconds.
            TypeError: not a duration; a bare number has no unit.

        >>> SessionWindows.with_gap("5 minutes", grace="1 hour")
        SessionWindows.with_gap('5 minutes', grace='1 hour')
        """
        distance = microseconds("gap", gap)
        late = None if grace is None else microseconds("grace", grace, zero=True)
        if distance + (late or 0) > LONGEST:
            raise bad_value("grace", grace, f"gap + grace of at most {LONGEST} microseconds")
        return cls._of(grace=late, retention=None, gap=distance)

    def plan(self) -> dict[str, int | str]:
        """What the core needs to know of these windows."""
        return {"kind": "session", "gap": self.gap}

    def _least(self) -> int:
        return self.gap + (self.grace or 0)

    def _least_is(self) -> str:
        return "gap + grace"

    def __repr__(self) -> str:
        """The call that makes these windows."""
        return f"SessionWindows.with_gap({words(self.gap)!r}{self._shown_grace()}){self._shown_until()}"


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
        cls, difference: Duration, grace: Duration | None = None, resolution: Duration = "1 millisecond"
    ) -> Self:
        """Windows over records that are at most `difference` apart (Kafka's `SlidingWindows`).

        Raises:
            ValueError: `difference` or `resolution` not longer than zero, `grace` negative, `difference` or `grace`
                not a multiple of `resolution`, or 2 x difference + grace beyond 2**63 - 1 microseconds.
            TypeError: not a duration; a bare number has no unit.

        >>> SlidingWindows.with_time_difference("10 minutes", grace="1 minute")
        SlidingWindows.with_time_difference('10 minutes', grace='1 minute')
        """
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

    def plan(self) -> dict[str, int | str]:
        """What the core needs to know of these windows."""
        return {"kind": "sliding", "difference": self.difference, "resolution": self.resolution}

    def _least(self) -> int:
        return 2 * self.difference + (self.grace or 0)

    def _least_is(self) -> str:
        return "2 x difference + grace"

    def __repr__(self) -> str:
        """The call that makes these windows."""
        tick = "" if self.resolution == 1_000 else f", resolution={words(self.resolution)!r}"
        made = f"SlidingWindows.with_time_difference({words(self.difference)!r}{self._shown_grace()}{tick})"
        return f"{made}{self._shown_until()}"
