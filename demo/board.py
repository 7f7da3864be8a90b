"""The display of the Kafka demo: stream time, open windows and closed windows of each airport."""

from __future__ import annotations

import sys
import threading
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from pyspark.sql import Row

from windrow.kafka._control import event_time

Window = tuple[str, float, float]
"""Airline, first and last departure in milliseconds."""
SHOWN = 6


@dataclass
class Airport:
    """The state of a partition."""

    name: str
    time: int | None = None
    ticked: bool = False
    ticks: int = 0
    open: dict[Window, int] = field(default_factory=dict)
    closed: deque[str] = field(default_factory=lambda: deque(maxlen=SHOWN))


class Board:
    """Draws the rows of the queries and the messages of the topic. Any thread may pass them in.

    Attributes:
        clock: converts an event time in milliseconds into the time of that evening.
        finals: flights in closed windows.
        closed: closed windows.
        closed_by_ticks: closed windows in partitions that a tick moved last.
    """

    def __init__(self, names: Sequence[str]) -> None:
        """An empty board for partitions with these names."""
        self.clock: Callable[[float], datetime] = lambda milliseconds: datetime.fromtimestamp(milliseconds / 1000)
        self.finals = self.closed = self.closed_by_ticks = 0
        self._airports = [Airport(name) for name in names]
        self._done: set[tuple[int, Window]] = set()
        self._lock = threading.Lock()
        self._lines: list[str] = []
        self._screen = sys.stdout.isatty()

    @property
    def ticks(self) -> int:
        """The number of control messages, over all partitions."""
        return sum(airport.ticks for airport in self._airports)

    def take_update(self, row: Row) -> None:
        """Takes a row of the query that emits updates."""
        with self._lock:
            window, airport = _window(row), self._airports[row.partition]
            if row.op == "delete":
                airport.open.pop(window, None)
            elif (row.partition, window) not in self._done:  # the other query may be ahead of this one
                airport.open[window] = row.flights

    def take_final(self, row: Row) -> None:
        """Takes a row of the query that emits closed windows."""
        with self._lock:
            window, airport = _window(row), self._airports[row.partition]
            self._done.add((row.partition, window))
            airport.open.pop(window, None)
            self.finals += row.flights
            self.closed += 1
            self.closed_by_ticks += airport.ticked
            told = self._told(window, row.flights)
            airport.closed.append(told)
            by = "a tick" if airport.ticked else "a departure"
            self._lines.append(f"{airport.name}  closed by {by}: {told}")

    def follow(self, address: str, topic: str, ended: threading.Event) -> None:
        """Reads the topic until the end of the demo, as a consumer that understands control messages."""
        consumer = Consumer({"bootstrap.servers": address, "group.id": f"board-{uuid.uuid4()}"})
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(len(self._airports))])
        try:
            while not ended.is_set():
                for message in consumer.consume(100, timeout=0.2):
                    if message.error() is not None:
                        continue
                    tick = event_time(message.key(), message.value(), message.headers())
                    self._reach(message.partition(), message.timestamp()[1] if tick is None else tick, tick is not None)
        finally:
            consumer.close()

    def _reach(self, partition: int, time: int, ticked: bool) -> None:
        with self._lock:
            airport = self._airports[partition]
            airport.ticks += ticked
            if airport.time is None or time > airport.time:
                airport.time, airport.ticked = time, ticked

    def show(self) -> None:
        """Draws everything on a terminal. Otherwise prints the windows closed since the last call."""
        with self._lock:
            if self._screen:
                print("\x1b[H\x1b[2J" + "\n".join(self._picture()), flush=True)
            elif self._lines:
                print("\n".join(self._lines), flush=True)
            self._lines.clear()

    def _picture(self) -> list[str]:
        lines = ["Departures of an airline at most 30 minutes apart, 19 July 2013; an hour takes ten seconds.", ""]
        for airport in self._airports:
            by = "by a tick" if airport.ticked else "by a departure"
            reached = "none yet" if airport.time is None else f"{self.clock(airport.time):%H:%M} {by}"
            lines.append(f"{airport.name}   stream time {reached}, {airport.ticks} ticks")
            opened = [self._told(window, flights) for window, flights in sorted(airport.open.items())]
            lines.append("   open    " + ("   ".join(opened[:SHOWN]) or "-") + ("   …" if len(opened) > SHOWN else ""))
            lines.append("   closed  " + ("   ".join(reversed(airport.closed)) or "-"))
            lines.append("")
        return lines

    def _told(self, window: Window, flights: int) -> str:
        carrier, start, end = window
        return f"{carrier} {self.clock(start):%H:%M}-{self.clock(end):%H:%M} ({flights})"


def _window(row: Row) -> Window:
    return row.carrier, row.window.start.timestamp() * 1000, row.window.end.timestamp() * 1000
