"""How far sources have come in a split, and what was counted there: sent by a split to every shard."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from windrow._executor.tasks import Source


@dataclass
class Control:
    """What the splits of a micro-batch have seen.

    Attributes:
        times: the largest time of the records and ticks of each source and input, in ticks of the time column.
        ticks: the largest time of the ticks of all known sources, by input.
        ordered: those of them that have an order: the input, the order, the time.
        counters: what was counted.
    """

    times: dict[tuple[Source, int], int] = field(default_factory=dict)
    ticks: dict[int, int] = field(default_factory=dict)
    ordered: list[tuple[int, int, int]] = field(default_factory=list)
    counters: dict[str, int] = field(default_factory=dict)

    def observe(self, source: Source, number: int, time: int | None) -> None:
        """A record or a tick of a source and an input; no time changes nothing."""
        if time is not None:
            self.times[source, number] = max(time, self.times.get((source, number), time))

    def observe_all(self, number: int, time: int, order: int | None = None) -> None:
        """A tick of an input for all sources; one with an order counts for the records after it."""
        self.ticks[number] = max(time, self.ticks.get(number, time))
        if order is not None:
            self.ordered.append((number, order, time))

    def count(self, counters: Iterable[tuple[str, int]]) -> None:
        """Adds to the counters."""
        for name, count in counters:
            self.counters[name] = self.counters.get(name, 0) + count

    def add(self, other: Control) -> None:
        """What another split has seen."""
        for (source, number), time in other.times.items():
            self.observe(source, number, time)
        for number, time in other.ticks.items():
            self.observe_all(number, time)
        self.ordered += other.ordered
        self.count(other.counters.items())

    @property
    def sources(self) -> Iterator[Source]:
        """The sources that were seen, some of them twice."""
        return (source for source, _ in self.times)

    def write(self, *, counted: bool) -> str:
        """As JSON; the counters only where they are to be counted."""
        times = [[list(source), number, time] for (source, number), time in self.times.items()]
        counters = self.counters if counted else {}
        ticks = list(self.ticks.items())
        return json.dumps({"times": times, "ticks": ticks, "ordered": self.ordered, "counters": counters})

    @classmethod
    def read(cls, text: str) -> Control:
        """Of what `write` wrote."""
        fields = json.loads(text)
        ordered = [tuple(tick) for tick in fields["ordered"]]
        times = {(tuple(source), number): time for source, number, time in fields["times"]}
        return cls(times, dict(fields["ticks"]), ordered, fields["counters"])
