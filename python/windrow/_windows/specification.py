"""What session windows and sliding windows have in common: lengths, grace, and how long they stay visible."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import pyarrow as pa

from windrow._arguments.duration import TIME_UNITS, Duration, Microseconds, check_counted, microseconds, words
from windrow._arguments.errors import bad_value


@dataclass(frozen=True, init=False, repr=False)
class Windows(ABC):
    """What both kinds of windows have. Durations are in microseconds.

    Attributes:
        grace: how long a stream keeps windows open for records out of order; None where none was given.
        retention: how long windows stay visible, in microseconds; None for as long as the rules need.
    """

    grace: Microseconds | None
    retention: Microseconds | None

    def __init__(self, *_args: object, **_fields: object) -> None:
        """Refuses: windows are made by the class methods, which take durations."""
        kind = type(self)
        sessions = "SessionWindows.with_gap(...) or SessionWindows.with_dynamic_gap(...)"
        ways = {"SessionWindows": sessions, "SlidingWindows": "SlidingWindows.with_time_difference(...)"}
        raise TypeError(f"{kind.__name__}: calling the class makes no windows; allowed: {ways[kind.__name__]}")

    @classmethod
    def _of(cls, **fields: object) -> Self:
        windows = object.__new__(cls)
        for name, value in fields.items():
            object.__setattr__(windows, name, value)
        return windows

    def _with_retention(self, retention: Duration | None) -> Self:
        """These windows, visible for `retention`; `ValueError` if the rules need a longer one."""
        if retention is None:
            return self
        length, (least, least_is) = microseconds("retention", retention), self._least_retention
        if length < least:
            raise bad_value("retention", retention, f"at least {words(least)}, which is {least_is}")
        return self._of(**{**vars(self), "retention": length})

    @property
    @abstractmethod
    def _least_retention(self) -> tuple[Microseconds, str]:
        """The shortest retention, in microseconds, and its terms in words."""

    def _check_time(self, time: pa.Field[Any]) -> None:
        """Raises `ValueError` for a length that the time column cannot count."""
        unit = TIME_UNITS[time.type.unit]
        counts = f"as the time column {time.name!r} counts in {unit.name}s"
        for argument, (length, kind) in self._lengths().items():
            check_counted(argument, length, time)
            if kind == "ticks" and length % unit.tick:
                way = f': resolution="1 {unit.name}"' if argument == "resolution" else ""
                raise bad_value(argument, words(length), f"a multiple of 1 {unit.name}, {counts}{way}")
            if kind == "one tick" and 0 < length < unit.tick:
                raise bad_value(argument, words(length), f"at least 1 {unit.name}, {counts}")

    def _renamed(self, named: Callable[[str, Any], Any]) -> Self:
        """These windows over names of columns; only sessions have any."""
        del named
        return self

    def _on_stream(self, time: pa.Field[Any]) -> Self:
        """These windows with a stream's defaults; `time` is the time column."""
        return self

    def _lengths(self) -> dict[str, tuple[Microseconds, str]]:
        """The lengths of time, by argument, and whether each is whole ticks, at least one tick, or any."""
        lengths = {"grace": self.grace, "retention": self.retention}
        return {argument: (length, "any") for argument, length in lengths.items() if length is not None}

    def _shown_grace(self) -> str:
        return "" if self.grace is None else f", grace={words(self.grace)!r}"

    def _shown_retention(self) -> str:
        return "" if self.retention is None else f", retention={words(self.retention)!r}"
