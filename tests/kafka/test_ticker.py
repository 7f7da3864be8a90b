"""The ticker in its own process on a broker: quiet partitions are ticked, empty and busy ones are not."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from . import topics
from .broker import Broker
from .control_message import sequences, time_of
from .deadline import until
from .topics import Record

START = 1_700_000_000_000
QUIET, END = 1_000, 2_500
OPTIONS = [
    *("--interval-ms", "50"),
    *("--progress.control.start.ms", str(QUIET)),
    *("--progress.control.backoff.ms", "300"),
    *("--progress.control.end.ms", str(END)),
    *("--progress.control.allowance.ms", "100"),
]


class Ticker:
    """A ticker that runs, and what it has logged."""

    def __init__(self, address: str, topic: str, log: Path) -> None:
        command = [sys.executable, "-m", "windrow.kafka.ticker", "--bootstrap", address, "--topics", topic]
        self._log = log
        with log.open("w") as out:
            self.process = subprocess.Popen([*command, *OPTIONS], stdout=out, stderr=out)

    @property
    def lines(self) -> list[str]:
        """Its lines without their times."""
        return [line.partition(" ")[2] for line in self._log.read_text().splitlines()]

    def has(self, word: str) -> bool:
        return any(word in line for line in self.lines)


@contextmanager
def running(address: str, topic: str, log: Path) -> Iterator[Ticker]:
    ticker = Ticker(address, topic, log)
    try:
        yield ticker
    finally:
        ticker.process.kill()
        ticker.process.wait()


def ticks(broker: Broker, topic: str) -> list[tuple[Record, int]]:
    """Control messages and their times."""
    return [(record, sent) for record in topics.read(broker.address, topic) if (sent := time_of(record)) is not None]


def test_a_ticker_moves_quiet_partitions_alone_and_ends_with_a_signal(broker: Broker, tmp_path: Path) -> None:
    topic = topics.create(broker.address, "foreign", 3)
    begin = time.monotonic()
    topics.write(broker.address, topic, [(0, b"ann", b"", START + 5_000), (0, b"bob", b"", START)])
    busy = Producer({"bootstrap.servers": broker.address})
    with running(broker.address, topic, tmp_path / "log") as ticker:
        arrivals = [time.monotonic()]

        def quiet_is_told_and_busy_is_busy() -> bool:
            busy.produce(topic, partition=1, key=b"eva", timestamp=START + len(arrivals))  # many times in `QUIET`
            assert busy.flush(30) == 0
            arrivals.append(time.monotonic())
            return ticker.has("that was the last tick")

        until(quiet_is_told_and_busy_is_busy, 30, "the last tick of the quiet partition")
        ticker.process.send_signal(signal.SIGTERM)
        assert ticker.process.wait(20) == 0
        assert ticker.lines[-1].startswith("SIGTERM: ends; sent ")
        assert ticker.has(f"{topic}-2 empty")
    passed = 1000 * (time.monotonic() - begin)
    read = topics.read(broker.address, topic)
    last = max(record.offset for record in read if record.partition == 1 and time_of(record) is None)
    found = ticks(broker, topic)
    quiet = [(record, sent) for record, sent in found if record.partition == 0]
    # Its event time is the largest one, not the last one. A tick adds the time for which no record came.
    times = [sent for _, sent in quiet]
    assert times == sorted(set(times))
    assert times[0] >= START + 5_000 + QUIET - 100
    assert START + 5_000 + END - 100 <= times[-1] <= START + 5_000 + passed
    pause = 1000 * max(after - before for before, after in pairwise(arrivals))  # long on a machine that stalls
    ticked = any(record.offset < last for record, _ in found if record.partition == 1)
    assert not ticked or pause > QUIET / 2, "a busy partition is ticked"
    assert not any(record.partition == 2 for record, _ in found)
    (numbered,) = sequences(record for record, _ in quiet).values()
    assert numbered == list(range(len(quiet)))


def test_a_topic_that_is_absent_ends_the_ticker_before_it_begins(broker: Broker, tmp_path: Path) -> None:
    with running(broker.address, "absent", tmp_path / "log") as ticker:
        assert ticker.process.wait(30) == 2
        assert (tmp_path / "log").read_text() == "ticker: topic 'absent': it is absent\n"
    admin = AdminClient({"bootstrap.servers": broker.address, "log_level": 0})
    assert "absent" not in admin.list_topics(timeout=30).topics
