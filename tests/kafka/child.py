"""The queries of job.py in its own process, which can be killed with all below it."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from ..python.faults.script import Script
from .maven import ROOT

PATIENCE = 180


class Child:
    """A process that runs the queries at `place`."""

    def __init__(self, address: str, topic: str, updates: str, finals: str, place: Path) -> None:
        command = ["-m", "tests.kafka.job", address, topic, updates, finals, str(place)]
        self._script = Script(command, place, ROOT)
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
        self._script.kill(seconds=0)

    def finish(self) -> bool:
        """Lets the queries take what is there and end; false where one of them has failed."""
        self._script.say("")
        report = self._script.reports.get(timeout=PATIENCE)
        self._script.wait(PATIENCE)
        return report == "ended"

    def _expect(self, word: str) -> None:
        report = self._script.reports.get(timeout=PATIENCE)
        if report != word:
            raise AssertionError(f"waits for {word!r}, and is report {report!r}\n{self._script.tail()}")
