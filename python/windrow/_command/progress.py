"""A progress bar in the terminal. Needs `tqdm`."""

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


def progress_bar(files: Sequence[File]) -> Bar:
    """A bar for these files. It shows nothing without a terminal or without `tqdm`."""
    if not sys.stderr.isatty():
        return Bar()
    try:
        from tqdm import tqdm
    except ImportError:
        return Bar()
    total = sum(file.path.stat().st_size for file in files)
    return TerminalBar(tqdm(total=total, desc="reading", unit="B", unit_scale=True, file=sys.stderr))
