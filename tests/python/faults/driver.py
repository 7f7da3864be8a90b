"""A driver in its own process, and the faults that meet it."""

from __future__ import annotations

import random
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyspark

from . import job
from .checkpoint import Checkpoint
from .processes import Process, executors, python_daemons, python_workers
from .script import Script

PATIENCE = 180
"""How many seconds a query may take for its next micro-batch."""

WORK = Path(pyspark.__file__).parent / "work"
"""Where a local cluster has what its executors print."""

RUNNING: dict[str, Callable[[int], list[Process]]] = {
    "worker": python_workers,
    "daemon": python_daemons,
    "executor": executors,
}
"""What may be killed below a driver, which continues or fails."""


@dataclass(frozen=True)
class Fault:
    """One fault.

    Attributes:
        kind: `worker`, `daemon`, `executor`: such a process is killed; `driver`: the driver and its JVM are; `commit`:
            they are while a micro-batch, which the sink has, is committed; `stop`: the query is stopped.
        batches: how many micro-batches pass before it.
        seconds: how long after the start of the next one it comes; of `commit` after the sink; 0 is before the commit.
    """

    kind: str
    batches: int = 0
    seconds: float = 0.0


@dataclass
class Driver:
    """A driver of `query` at `place`."""

    place: Path
    master: str
    query: str
    injected: int = 0
    """How many faults have met the query since its start."""
    application: str = ""

    def __post_init__(self) -> None:
        self.checkpoint = Checkpoint(self.place)
        for held in (self.place / "hold").glob("*"):
            held.unlink()
        self._local = self.place / "local"
        self._script = Script(
            [job.__file__, str(self.place), self.master, self.query],
            self.place,
            self.place,
            PYSPARK_PYTHON=sys.executable,
            PYSPARK_DRIVER_PYTHON=sys.executable,
            SPARK_LOCAL_IP="127.0.0.1",
            SPARK_LOCAL_DIRS=str(self._local),
        )
        try:
            self.application = self.expect("ready")
            assert any(self._script.temporary.glob("spark-*")), "Spark has its folders elsewhere"
        except BaseException:
            self.end()
            raise

    def start(self, files: int) -> None:
        """Starts the query with this many files a micro-batch."""
        self.injected = 0
        self._script.say(str(files))
        self.expect("started")

    def expect(self, word: str) -> str:
        """Waits for a word of the driver; what it says after it."""
        self._until(lambda: False)
        report = self._script.reports.get()
        if report.partition(" ")[0] != word:
            raise AssertionError(f"waits for {word!r}, and is report {report!r}\n{self._script.tail()}")
        return report.partition(" ")[2]

    @property
    def ended(self) -> bool:
        """Whether the query has ended or failed."""
        return not self._script.reports.empty()

    def inject(self, fault: Fault) -> bool:
        """Waits for the moment of a fault, and for what it kills, and does it; false where the query ends before."""
        number = self._moment(fault)
        if number is None:
            return False
        if fault.kind in RUNNING:
            draw = random.Random(number)
            done = self._until(lambda: self._kill_one(RUNNING[fault.kind], draw))
        elif fault.kind == "stop":
            self._script.say("stop")
            done = True
        else:
            self.end()
            done = True
        self.injected += done
        return done

    def wait(self) -> bool:
        """Waits until the query ends; false where a fault has failed it."""
        self._until(lambda: False)
        report = self._script.reports.get()
        if report == "ended":
            return True
        if not report.startswith("failed") or not self.injected:
            raise AssertionError(f"without a fault: {report}\n{self._script.tail()}")
        return False

    def end(self) -> None:
        """Kills the driver, its JVM, and all below; removes the folders that they leave behind."""
        self._script.kill()
        shutil.rmtree(self._local, ignore_errors=True)
        if self.application:
            shutil.rmtree(WORK / self.application, ignore_errors=True)

    def _moment(self, fault: Fault) -> int | None:
        """The micro-batch that a fault meets, at its moment."""
        checkpoint = self.checkpoint
        if fault.kind == "commit":
            return self._commit(checkpoint.started + 1 + fault.batches, fault.seconds)
        first = checkpoint.committed + 1 + fault.batches
        if not self._until(lambda: checkpoint.started >= first and checkpoint.started > checkpoint.committed):
            return None
        time.sleep(fault.seconds)
        return None if self.ended else checkpoint.started

    def _commit(self, number: int, seconds: float) -> int | None:
        """Waits until the sink has a micro-batch; lets it be committed for some seconds, if any."""
        hold, out = self.place / "hold" / str(number), self.place / "out" / str(number)
        hold.touch()
        try:
            if not self._until(out.exists):
                return None
        finally:
            if seconds or not out.exists():
                hold.unlink()
        time.sleep(seconds)
        return number

    def _until(self, there: Callable[[], bool]) -> bool:
        """Waits for something; false where the query ends before, or the driver says something else."""
        done, limit = self.checkpoint.committed, time.monotonic() + PATIENCE
        while not there():
            if self.ended:
                return False
            if self.checkpoint.committed > done:
                done, limit = self.checkpoint.committed, time.monotonic() + PATIENCE
            if time.monotonic() > limit:
                raise AssertionError(f"{self.query}: no micro-batch for {PATIENCE} s\n{self._script.tail()}")
            time.sleep(0.002)
        return True

    def _kill_one(self, below: Callable[[int], list[Process]], draw: random.Random) -> bool:
        found = below(self._script.pid)
        return bool(found) and draw.choice(found).kill()
