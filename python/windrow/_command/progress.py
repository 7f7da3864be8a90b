"""A bar in a terminal, of `tqdm`, where it is installed."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import Any, BinaryIO, Self

from windrow._command.file import File


class Bar:
    """How many bytes of the input have been read. This one shows nothing."""

    def add(self, count: float) -> None:
        """So many bytes more."""

    def reading(self, raw: BinaryIO) -> BinaryIO:
        """The same file, which tells the bar what is read of it."""
        return raw

    def finish(self) -> None:
        """Everything is read; the windows are still being made."""

    def __enter__(self) -> Self:
        """Nothing is there to be opened."""
        return self

    def __exit__(self, *_raised: object) -> None:
        """Nothing is there to be closed."""


class TerminalBar(Bar):
    """A bar on the standard error output."""

    def __init__(self, bar: Any) -> None:
        """Over a bar of `tqdm`."""
        self._bar = bar

    def add(self, count: float) -> None:
        """So many bytes more."""
        self._bar.update(count)

    def reading(self, raw: BinaryIO) -> BinaryIO:
        """The same file, read through the bar."""
        return _Told(raw, self)  # type: ignore[return-value]

    def finish(self) -> None:
        """Says what comes behind the reading."""
        self._bar.set_description("windows")

    def __exit__(self, *raised: object) -> None:
        """Leaves the bar, or after an error takes it away."""
        self._bar.leave = raised[0] is None
        self._bar.close()


class _Told(io.RawIOBase):
    def __init__(self, raw: BinaryIO, bar: TerminalBar) -> None:
        super().__init__()
        self._raw = raw
        self._bar = bar

    def read(self, size: int = -1) -> bytes:
        data = self._raw.read(size)
        self._bar.add(len(data))
        return data

    def readable(self) -> bool:
        return True


def bar_over(files: Sequence[File]) -> Bar:
    """A bar for these files; one that shows nothing where there is no terminal, or no `tqdm`."""
    if not sys.stderr.isatty():
        return Bar()
    try:
        from tqdm import tqdm
    except ImportError:
        return Bar()
    total = sum(file.path.stat().st_size for file in files)
    return TerminalBar(tqdm(total=total, desc="reading", unit="B", unit_scale=True, file=sys.stderr))
