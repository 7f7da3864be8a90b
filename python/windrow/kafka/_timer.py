"""The clock of a producer's control messages, and the thread that sleeps until the next one is due."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

Step = Callable[[], int | None]
"""Does what is due; gives the milliseconds until it wants to be called again, None for when it is woken."""


class Timer(Protocol):
    """Calls a step when time has come. Tests have one whose time is virtual."""

    def now(self) -> int:
        """Milliseconds of a clock that never goes back."""

    def wall_clock(self) -> int:
        """Milliseconds since 1970."""

    def start(self, step: Step) -> None:
        """Calls the step now, and then whenever the time that it gave has passed or `wake` was called."""

    def wake(self) -> None:
        """The step is called soon."""

    def stop(self) -> None:
        """The step is not called any more; waits for the end of a call that is under way."""


class Deadline:
    """How much of a time is left, for calls one after the other: seconds, negative for no end."""

    def __init__(self, seconds: float) -> None:
        """From now on."""
        self._end = None if seconds < 0 else time.monotonic() + seconds

    def left(self) -> float:
        """Zero when it is past, and -1 where there is no end."""
        return -1 if self._end is None else max(self._end - time.monotonic(), 0)


class ThreadTimer:
    """A timer with a thread of its own, which sleeps on a condition and spends no time on waiting."""

    def __init__(self, name: str) -> None:
        """A timer that was not started; its thread has this name."""
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
        """Starts the thread. It is a daemon: a process that ends does not wait for it."""
        self._thread = threading.Thread(target=self._run, args=(step,), name=self._name, daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """The step is called soon."""
        with self._changed:
            self._woken = True
            self._changed.notify()

    def stop(self) -> None:
        """Ends the thread. From within the step it ends after it."""
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
                    # A thread can wait for at most some 292 years; the step is then asked again.
                    self._changed.wait(None if wait is None else min(wait / 1000, threading.TIMEOUT_MAX))
                self._woken = False
                if self._stopped:
                    return
