"""A producer, its wrapper, a broker and a clock, in virtual time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from windrow.kafka import ControlMessage, ProgressError, ProgressProducer

from ..harness.virtual_kafka import Entry, VirtualBroker, VirtualCluster, VirtualProducer, VirtualTimer

START, BACKOFF, END = 10_000, 1_000, 13_000
NINE = 1_767_258_000_000  # 2026-01-01 09:00
DEADLINE = 60  # seconds
CONFIG = {
    "progress.control.start.ms": START,
    "progress.control.backoff.ms": BACKOFF,
    "progress.control.end.ms": END,
}


def wait_for(holds: Callable[[], bool]) -> None:
    """Waits until something holds, and fails when it does not in time."""
    end, never = time.monotonic() + DEADLINE, threading.Event()
    while not holds():
        assert time.monotonic() < end, "waited for in vain"
        never.wait(0.01)


class Scene:
    """A producer, its wrapper, a broker and a clock. Beside a transactional producer there is a plain one."""

    def __init__(self, config: dict[str, Any] | None = None, *, latency: int = 0, **given: Any) -> None:
        self.timer = VirtualTimer()
        self.broker = VirtualBroker(self.timer)
        self.cluster = VirtualCluster(self.broker)
        self.inner = VirtualProducer(self.broker, latency=latency)
        self.plain = VirtualProducer(self.broker, "plain")
        self.errors: list[ProgressError] = []
        settings = CONFIG if config is None else config
        given = {"cluster": self.cluster, "timer": self.timer, "on_error": self.errors.append} | given
        if "transactional.id" in settings:
            given["control_producer"] = self.plain
        self.producer = ProgressProducer(self.inner, settings, **given)

    def write(self, time: int, partition: int = 0, **given: Any) -> None:
        """A record of this producer, acknowledged at once."""
        self.producer.produce("events", b"v", b"k", partition, timestamp=time, **given)
        self.producer.flush()

    def neighbour(self, partition: int = 0, **given: Any) -> None:
        """A record of somebody else."""
        self.broker.append(("events", partition), "neighbour", **given)

    def messages(self, partition: int = 0) -> list[ControlMessage]:
        """The control messages of a partition."""
        sent = [one for one in self.entries(partition) if one.writer != "neighbour" and one.value is None]
        read = [ControlMessage.read(one.value, one.headers) for one in sent if not one.is_marker]
        return [message for message in read if message is not None]

    def entries(self, partition: int = 0) -> list[Entry]:
        return self.broker.log("events", partition)

    def times(self, partition: int = 0) -> list[int]:
        """Their event times, as milliseconds after nine."""
        return [message.event_time - NINE for message in self.messages(partition)]
