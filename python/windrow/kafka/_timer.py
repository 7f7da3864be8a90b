"""The clock for a producer's control messages, and the thread that sleeps until the next one is due."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

Step = Callable[[], int | None]
"""Does the due work. Returns the milliseconds until its next call, or None to wait for a wake-up."""


class Timer(Protocol):
    """Calls a step when it is due. Tests use one with virtual time."""

    def now(self) -> int:
        """Milliseconds of a monotonic clock."""

    def wall_clock(self) -> int:
        """Milliseconds since 1970."""

    def start(self, step: Step) -> None:
        """Calls the step now, and again whenever its returned time has passed or `wake` was called."""

    def wake(self) -> None:
        """Calls the step soon."""

    def stop(self) -> None:
        """Stops calling the step. Waits for a running call to end."""


class Deadline:
    """The time left for a series of calls, in seconds. Negative means no limit."""

    def __init__(self, seconds: float) -> None:
        """Starts now."""
        self._end = None if seconds < 0 else time.monotonic() + seconds

    def left(self) -> float:
        """The seconds left: zero after the deadline, -1 for no limit."""
        return -1 if self._end is None else max(self._end - time.monotonic(), 0)


class ThreadTimer:
    """A timer with its own thread, which sleeps on a condition between steps."""

    def __init__(self, name: str) -> None:
        """Creates the timer without starting it. `name` is the name of the thread."""
        self._name = name
        self._changed = threading.Condition()
        self._woken = False
        self._stopped = False
        self._thread: threading.Thread | None = None

    def now(self) -> int:
        """Milliseconds of the system's monotonic clock."""
        return time.monotonic_ns() // 1_000_000

    def wall_clock(self) -> int:
        """Milliseconds since 1970."""
        return time.time_ns() // 1_000_000

    def start(self, step: Step) -> None:
        """Starts the thread. It is a daemon, so the process can end without it."""
        self._thread = threading.Thread(target=self._run, args=(step,), name=self._name, daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Calls the step soon."""
        with self._changed:
            self._woken = True
            self._changed.notify()

    def stop(self) -> None:
        """Ends the thread. If the step itself calls this, the thread ends after the step."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self, step: Step) -> None:
        while True:
            wait = step()
            with self._changed:
                if not self._woken and not self._stopped:
                    # A thread can wait for at most about 292 years. The step is then called again.
                    self._changed.wait(None if wait is None else min(wait / 1000, threading.TIMEOUT_MAX))
                self._woken = False
                if self._stopped:
                    return
