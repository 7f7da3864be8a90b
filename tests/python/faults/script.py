"""A script in its own process, which reports what it does in lines that begin with `job:`."""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from .processes import descendants, end


class Script:
    """A script that runs at `place`, with its log and a temporary folder there; Python, and any JVM that it starts.

    What Spark has in the temporary folder stays when its JVM is killed, so the folder goes with the process.

    Attributes:
        pid: of its first process.
        reports: what it has reported, without `job:`; `gone` at the end.
        temporary: its temporary folder.
    """

    def __init__(self, command: Sequence[str], place: Path, folder: Path, **environment: str) -> None:
        """Starts Python with the words of `command` in `folder`."""
        self.reports: queue.Queue[str] = queue.Queue()
        self.temporary = place / "temporary"
        self.temporary.mkdir(exist_ok=True)
        self._log = place / "log"
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                [sys.executable, *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={
                    **os.environ,
                    "TMPDIR": str(self.temporary),
                    "JAVA_TOOL_OPTIONS": f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} -Djava.io.tmpdir={self.temporary}",
                    **environment,
                },
                cwd=folder,
                start_new_session=True,
            )
        self.pid = self._process.pid
        threading.Thread(target=self._listen, daemon=True).start()

    def say(self, line: str) -> None:
        """A line on its standard input."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def wait(self, seconds: float) -> None:
        """Waits until it has ended by itself."""
        self._process.wait(seconds)
        self._clear()

    def kill(self, seconds: float = 20) -> None:
        """`kill -9`: the process, its JVM, and all below, which have this many seconds to go by themselves."""
        below = descendants(self.pid) if self._process.poll() is None else []
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        end(below, seconds)
        self._clear()

    def tail(self) -> str:
        """The last lines of its log."""
        return "\n".join(self._log.read_text().splitlines()[-40:])

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("job: "):
                self.reports.put(line.removeprefix("job: ").strip())
        self.reports.put("gone")

    def _clear(self) -> None:
        shutil.rmtree(self.temporary, ignore_errors=True)
