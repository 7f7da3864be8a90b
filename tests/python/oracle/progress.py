"""How far one input has come: the times of its sources, its stream time and its close time (rules 1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass
class Progress:
    """Of one input.

    Attributes:
        sources: the largest time of each known source; with one source for all that is stream time.
        time: stream time, the smallest of them; none before the first one. It never goes back.
        close: the close time of this input. It never goes back, whatever grace a restart brings.
    """

    sources: dict[int, int] = field(default_factory=dict)
    time: int | None = None
    close: float | int = float("-inf")

    def observe(self, times: Iterable[tuple[int, int]], grace: int) -> None:
        """Sources and times that are seen together; only all of them make stream time."""
        for source, time in times:
            self.sources[source] = max(time, self.sources.get(source, time))
        if self.sources:
            slowest = min(self.sources.values())
            self.time = slowest if self.time is None else max(self.time, slowest)
        self.close_by(grace)

    def close_by(self, grace: int) -> None:
        if self.time is not None:
            self.close = max(self.close, self.time - grace)
