"""The progress of sources in a split, and its counters. A split sends them to every shard."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from windrow._executor.tasks import Source


@dataclass
class Control:
    """The merged progress and counters of splits in a micro-batch.

    Attributes:
        times: the largest time of records and ticks, by source and input, in units of the time column.
        ticks: the largest time of ticks for all known sources, by input.
        ordered: such ticks with an order: input, order and time.
        counters: counters by name.
    """

    times: dict[tuple[Source, int], int] = field(default_factory=dict)
    ticks: dict[int, int] = field(default_factory=dict)
    ordered: list[tuple[int, int, int]] = field(default_factory=list)
    counters: dict[str, int] = field(default_factory=dict)

    def observe(self, source: Source, number: int, time: int | None) -> None:
        """Notes a record or tick of a source and an input. None has no effect."""
        if time is not None:
            self.times[source, number] = max(time, self.times.get((source, number), time))

    def observe_all(self, number: int, time: int, order: int | None = None) -> None:
        """Notes a tick of an input for all sources. With an order, it counts for later records."""
        self.ticks[number] = max(time, self.ticks.get(number, time))
        if order is not None:
            self.ordered.append((number, order, time))

    def count(self, counters: Iterable[tuple[str, int]]) -> None:
        """Adds to the counters."""
        for name, count in counters:
            self.counters[name] = self.counters.get(name, 0) + count

    def add(self, other: Control) -> None:
        """Adds the progress and counters of another split."""
        for (source, number), time in other.times.items():
            self.observe(source, number, time)
        for number, time in other.ticks.items():
            self.observe_all(number, time)
        self.ordered += other.ordered
        self.count(other.counters.items())

    @property
    def sources(self) -> Iterator[Source]:
        """The sources seen. A source may repeat."""
        return (source for source, _ in self.times)

    def write(self, *, counted: bool) -> str:
        """Writes JSON, with the counters only if `counted`."""
        times = [[list(source), number, time] for (source, number), time in self.times.items()]
        counters = self.counters if counted else {}
        ticks = list(self.ticks.items())
        return json.dumps({"times": times, "ticks": ticks, "ordered": self.ordered, "counters": counters})

    @classmethod
    def read(cls, text: str) -> Control:
        """Reads the result of `write`."""
        fields = json.loads(text)
        ordered = [tuple(tick) for tick in fields["ordered"]]
        times = {(tuple(source), number): time for source, number, time in fields["times"]}
        return cls(times, dict(fields["ticks"]), ordered, fields["counters"])
