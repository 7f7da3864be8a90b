"""Progress of reading: a bar in a terminal, which needs `tqdm`, or lines."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Self

from windrow._command.file import File


class Bar:
    """Counts the bytes read from the input. This base class shows nothing."""

    def add(self, count: float) -> None:
        """Adds bytes that were read."""

    def finish(self) -> None:
        """Marks the end of reading. Windows are still being computed."""

    def __enter__(self) -> Self:
        """Opens nothing."""
        return self

    def __exit__(self, *_raised: object) -> None:
        """Closes nothing."""


class TerminalBar(Bar):
    """A bar on standard error."""

    def __init__(self, bar: Any) -> None:
        """Wraps a `tqdm` bar."""
        self._bar = bar

    def add(self, count: float) -> None:
        """Adds bytes that were read."""
        self._bar.update(count)

    def finish(self) -> None:
        """Shows the step that follows reading."""
        self._bar.set_description("windows")

    def __exit__(self, *raised: object) -> None:
        """Keeps the finished bar on screen. Removes it after an error."""
        self._bar.leave = raised[0] is None
        self._bar.close()


class Lines(Bar):
    """A line on standard error for each tenth of the input."""

    def __init__(self, total: int) -> None:
        """Takes the bytes of the input."""
        self._total = max(total, 1)
        self._done, self._next = 0.0, 10

    def add(self, count: float) -> None:
        """Adds bytes that were read."""
        self._done += count
        percent = int(self._done / self._total * 10) * 10
        if percent >= self._next:
            print(f"windrow: {min(percent, 100)} % read", file=sys.stderr, flush=True)
            self._next = percent + 10

    def finish(self) -> None:
        """Names the step that follows reading."""
        print("windrow: all read, windows follow", file=sys.stderr, flush=True)


def progress_bar(files: Sequence[File], *, always: bool = False) -> Bar:
    """A bar for these files. Without a terminal or without `tqdm`, it shows lines with `always`, else nothing."""
    total = sum(file.path.stat().st_size for file in files)
    if sys.stderr.isatty():
        try:
            from tqdm import tqdm
        except ImportError:
            pass
        else:
            return TerminalBar(tqdm(total=total, desc="reading", unit="B", unit_scale=True, file=sys.stderr))
    return Lines(total) if always else Bar()
