"""The signals that end a command: SIGINT and SIGTERM, seen while it waits and between two pieces of its work."""

from __future__ import annotations

import select
import signal
import socket
from types import FrameType
from typing import Any, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopSignals:
    """Within its `with` these signals interrupt nothing, but end `wait`. To be used by the main thread."""

    def __init__(self) -> None:
        """Nothing has come yet."""
        self._before: dict[int, Any] = {}
        self._came: signal.Signals | None = None

    def __enter__(self) -> Self:
        """Takes the signals over."""
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        # Python writes a byte there for each signal: a wait that has begun sees it, and so does one that has not.
        self._wakes = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, self._take) for number in SIGNALS}
        return self

    def __exit__(self, *raised: object) -> None:
        """Gives the signals back."""
        for number, before in self._before.items():
            signal.signal(number, before)
        signal.set_wakeup_fd(self._wakes)
        self._reader.close()
        self._writer.close()

    def wait(self, seconds: float) -> signal.Signals | None:
        """Waits as long, or until one of the signals comes; which one came."""
        if self._came is None:
            select.select([self._reader], [], [], seconds)
        return self._came

    def _take(self, number: int, _frame: FrameType | None) -> None:
        self._came = signal.Signals(number)
