"""Formats times, lengths, windows and keys as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.duration import TIME_UNITS, words
from windrow._inspection.trace import Key, Window


class Text:
    """Formats ticks of a time column."""

    def __init__(self, time: pa.Field[Any]) -> None:
        """Takes the time column."""
        self._type = time.type

    def time(self, ticks: int) -> str:
        """A time in the format and zone of the time column."""
        shown: Any = pa.scalar(ticks, pa.int64()).cast(self._type)
        if self._type.tz is not None:
            shown = pc.local_timestamp(shown)
        text: str = shown.cast(pa.string()).as_py()
        return text.rstrip("0").removesuffix(".") if "." in text else text

    def length(self, ticks: int) -> str:
        """A length in words."""
        one = TIME_UNITS[self._type.unit].per_second
        microseconds, rest = divmod(ticks * 1_000_000, one)
        return words(microseconds) if not rest else f"{ticks} nanoseconds"

    def window(self, window: Window) -> str:
        """The bounds of a window."""
        return f"[{self.time(window.start)}, {self.time(window.end)}]"


def key_text(names: Sequence[str], key: Key) -> str:
    """The columns and values of a key.

    >>> key_text(["user", "shop"], ("ann", 3))
    "user 'ann', shop 3"
    """
    return ", ".join(f"{name} {value!r}" for name, value in zip(names, key, strict=True)) if names else "the series"


def counted(count: int, noun: str) -> str:
    """A count with its noun.

    >>> counted(1, "record"), counted(1200, "record")
    ('1 record', '1,200 records')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
