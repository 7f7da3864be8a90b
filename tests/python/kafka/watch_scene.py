"""A watch over the partitions of a topic, in virtual time."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from windrow.kafka._cluster import TopicPartition
from windrow.kafka._control import ControlMessage, event_time
from windrow.kafka._options import ProgressOptions
from windrow.kafka._watch import Watch

from ..harness.virtual_kafka import VirtualBroker, VirtualCluster, VirtualTimer
from .scene import CONFIG, NINE

INTERVAL = 500
ID = UUID(int=7)


class Scene:
    """A watch over the partitions of a topic, with a clock."""

    def __init__(self, config: dict[str, Any] | None = None, *, dry_run: bool = False, tail: int = 1_000) -> None:
        self.timer = VirtualTimer()
        self.broker = VirtualBroker(self.timer)
        self.cluster = VirtualCluster(self.broker, committed=True)
        self.config, self.tail = CONFIG if config is None else config, tail
        self.lines: list[str] = []
        self.fails: list[Exception] = []
        self.watch = self.another(dry_run=dry_run)

    def another(self, *, dry_run: bool = False) -> Watch:
        """A watch that has just begun."""
        send = None if dry_run else self._send
        return Watch(ProgressOptions.of(self.config), self.cluster, send, self.lines.append, self.tail)  # type: ignore[arg-type]

    def _send(self, partition: TopicPartition, time: int, sequence: int) -> int:
        if self.fails:
            raise self.fails.pop(0)
        headers = ControlMessage(time, sequence, ID).headers()
        return self.broker.append(tuple(partition), "ticker", timestamp=time, value=None, headers=headers).offset

    def data(self, time: int, partition: int = 0, **given: Any) -> None:
        self.broker.append(("events", partition), "others", timestamp=time, **given)

    def look(self, *watches: Watch) -> None:
        for watch in watches or (self.watch,):
            watch.look([TopicPartition("events", number) for number in range(3)], self.timer.now())

    def advance(self, milliseconds: int, *watches: Watch) -> None:
        for _ in range(milliseconds // INTERVAL):
            self.timer.time += INTERVAL
            self.look(*watches)

    def times(self, partition: int = 0) -> list[int]:
        """What was sent, as milliseconds after nine."""
        log = [one for one in self.broker.log("events", partition) if one.writer == "ticker"]
        found = [event_time(one.key, one.value, one.headers) for one in log]
        return [time - NINE for time in found if time is not None]

    def written(self, partition: int = 0) -> list[int]:
        """When it was sent."""
        return [one.written for one in self.broker.log("events", partition) if one.writer == "ticker"]
