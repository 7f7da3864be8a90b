"""The processes that a process has started, and the end of one of them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Process:
    """A process as it was seen, with its resident memory."""

    pid: int
    parent: int
    kib: int
    command: str

    def kill(self) -> bool:
        """Ends it at once; false where it is gone."""
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True


def all_processes() -> list[Process]:
    """What runs on this machine now, without what is dead and not yet waited for."""
    # Without ww a line has 80 characters where readline, which pytest loads, has set COLUMNS for all children.
    listed = subprocess.run(
        ["ps", "-axwwo", "pid=,ppid=,rss=,stat=,args="], check=True, capture_output=True, text=True
    ).stdout
    found = []
    for line in listed.splitlines():
        pid, parent, kib, state, *words = line.split(maxsplit=4)
        if not state.startswith("Z"):
            found.append(Process(int(pid), int(parent), int(kib), " ".join(words)))
    return found


def descendants(pid: int) -> list[Process]:
    """The children of a process, and theirs."""
    children: dict[int, list[Process]] = {}
    for process in all_processes():
        children.setdefault(process.parent, []).append(process)
    found, left = list[Process](), [pid]
    while left:
        own = children.get(left.pop(), [])
        found += own
        left += [process.pid for process in own]
    return found


def python_workers(pid: int) -> list[Process]:
    """The Python workers below a driver: what its daemons have forked."""
    below = descendants(pid)
    daemons = {process.pid for process in below if "pyspark.daemon" in process.command}
    return [process for process in below if process.pid in daemons and process.parent in daemons]


def python_daemons(pid: int) -> list[Process]:
    """The daemons that fork Python workers."""
    below = descendants(pid)
    daemons = {process.pid for process in below if "pyspark.daemon" in process.command}
    return [process for process in below if process.pid in daemons and process.parent not in daemons]


def executors(pid: int) -> list[Process]:
    """The JVMs of executors below a driver."""
    return [process for process in descendants(pid) if "CoarseGrainedExecutorBackend" in process.command]


def end(before: list[Process], seconds: float = 20) -> None:
    """Waits until processes that were seen are gone, and ends those that do not go."""
    limit = time.monotonic() + seconds
    seen = {(process.pid, process.command) for process in before}  # orphans have another parent by now
    while left := [process for process in all_processes() if (process.pid, process.command) in seen]:
        if time.monotonic() > limit:
            for process in left:
                process.kill()
        time.sleep(0.05)
