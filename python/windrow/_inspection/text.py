"""Formats times, lengths, windows and keys as text."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.duration import TIME_UNITS, words
from windrow._folds.python_values import value_text
from windrow._inspection.keys import Key
from windrow._inspection.trace import Window
from windrow._plan.plan import SERIES


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


def key_text(key: Key) -> str:
    """The columns and values of a key.

    >>> key_text(pa.RecordBatch.from_pydict({"user": ["ann"], "shop": [3]}))
    "user 'ann', shop 3"
    """
    if key.schema.names == [SERIES]:
        return "the series"
    return ", ".join(
        f"{name} {value_text(cell, repr)}" for name, cell in zip(key.schema.names, key.columns, strict=True)
    )


def counted(count: int, noun: str) -> str:
    """A count with its noun.

    >>> counted(1, "record"), counted(1200, "record")
    ('1 record', '1,200 records')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
