"""The pace of updates (rules 6.12): what a sink has of each stored window, and which windows leave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .contents import Contents
from .stream import Window

Name = tuple[str, int, int]
Rows = Iterator[tuple[str, Window]]


@dataclass(frozen=True)
class Emission:
    """The last row of a window.

    Attributes:
        time: stream time then; none if there was none.
        shown: the windows that a sink has in its place.
        waits: whether the window has changed since.
    """

    time: int | None
    shown: frozenset[Name]
    waits: bool


class Pace:
    """Keeps the last emission of every window, and finds it by looking at all of them."""

    def __init__(self, *, sliding: bool) -> None:
        self.sliding = sliding
        self.emissions: list[tuple[Window, Emission]] = []

    def rows(self, before: Sequence[Window], stored: Sequence[Window], now: int | None, every: int) -> Rows:
        """What leaves after a micro-batch: deletes, then upserts. Windows that closed in it are marked as closed."""
        gone = [window for window in before if not any(window is other for other in stored)]
        emissions, deletes, upserts = [], set[Name](), dict[Name, Window]()
        for window in stored:
            last = self.last(window, gone)
            if last is None or (last.waits and (window.closed or is_due(last.time, now, every))):
                deletes |= last.shown if last else set()
                upserts[window.name] = window
                last = Emission(now, frozenset([window.name]), waits=False)
            emissions.append((window, last))
        self.emissions = emissions
        for key, start, end in sorted(deletes - set(upserts)):
            yield "delete", Window(key, start, end, end, Contents((), None))
        yield from (("upsert", window) for window in upserts.values())

    def last(self, window: Window, gone: Sequence[Window]) -> Emission | None:
        """The last emission of a window: its own, or those of the windows that it was before the micro-batch."""
        own = [emission for known, emission in self.emissions if known is window]
        if own:
            return own[0]
        parts = [emission for known, emission in self.emissions if known in gone and self.is_part(known, window)]
        if not parts:
            return None
        times = [part.time for part in parts if part.time is not None]
        return Emission(max(times, default=None), frozenset().union(*(part.shown for part in parts)), waits=True)

    def is_part(self, part: Window, window: Window) -> bool:
        if self.sliding:
            return part.name == window.name
        numbers = {number for _, number, _ in window.held.members}
        return part.key == window.key and numbers.issuperset(number for _, number, _ in part.held.members)


def is_due(last: int | None, now: int | None, every: int) -> bool:
    """Whether stream time has moved on far enough. It has from none to any time."""
    return now is not None and (last is None or now - last >= every)
