"""The signals that end a command: SIGINT and SIGTERM, noticed while it waits and between steps."""

from __future__ import annotations

import select
import signal
import socket
from types import FrameType
from typing import Any, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopSignals:
    """In this context, the signals interrupt nothing but end `wait`. For the main thread only."""

    def __init__(self) -> None:
        """Starts without a signal."""
        self._before: dict[int, Any] = {}
        self._came: signal.Signals | None = None

    def __enter__(self) -> Self:
        """Installs the signal handlers."""
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        # Python writes a byte to the socket for each signal, so it ends a current or later wait.
        self._wakes = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, self._take) for number in SIGNALS}
        return self

    def __exit__(self, *raised: object) -> None:
        """Restores the signal handlers."""
        for number, before in self._before.items():
            signal.signal(number, before)
        signal.set_wakeup_fd(self._wakes)
        self._reader.close()
        self._writer.close()

    def wait(self, seconds: float) -> signal.Signals | None:
        """Waits until a signal arrives or the time is up. Returns the signal, if any."""
        if self._came is None:
            select.select([self._reader], [], [], seconds)
        return self._came

    def _take(self, number: int, _frame: FrameType | None) -> None:
        self._came = signal.Signals(number)
