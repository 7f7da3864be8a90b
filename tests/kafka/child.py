"""The queries of job.py in a process of its own, which can be killed with all below it."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from ..python.faults.processes import descendants, end
from .maven import ROOT

PATIENCE = 180


class Child:
    """A process that runs the queries at `place`."""

    def __init__(self, address: str, topic: str, updates: str, finals: str, place: Path) -> None:
        self._log = place / "log"
        self._told: queue.Queue[str] = queue.Queue()
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.kafka.job", address, topic, updates, finals, str(place)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=ROOT,
                start_new_session=True,
            )
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            self._expect("started")
        except BaseException:
            self.kill()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def kill(self) -> None:
        """`kill -9`: the driver, its JVM, and the Python workers."""
        if self._process.poll() is None:
            below = descendants(self._process.pid)
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            end(below, seconds=0)

    def finish(self) -> bool:
        """Lets the queries take what is there and end; false where one of them has failed."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        told = self._told.get(timeout=PATIENCE)
        self._process.wait(PATIENCE)
        return told == "ended"

    def _expect(self, word: str) -> None:
        told = self._told.get(timeout=PATIENCE)
        if told != word:
            said = "\n".join(self._log.read_text().splitlines()[-30:])
            raise AssertionError(f"waits for {word!r}, and is told {told!r}\n{said}")

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("job: "):
                self._told.put(line.removeprefix("job: ").strip())
        self._told.put("gone")
