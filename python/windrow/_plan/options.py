"""The options of a query: when windows give rows, what becomes of late records, how the work is cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Emit = Literal["close", "update"]
"""When a window gives a row: once, when it is final, or whenever it changes."""

Late = Literal["drop", "emit"]
"""What becomes of a late record: it is counted and left out, or also a row of its own."""

Callback = Callable[[str, int, int | None], object]
"""Is told the step, how many records are done in it, and how many there are in all, None where that is not known."""

SHARDS = 32
"""Ranges of key hashes, unless `shards` says otherwise."""


@dataclass(frozen=True)
class Options:
    """What the methods of `WindowedData` choose; the defaults are those of a query that chooses nothing.

    Attributes:
        emit: when windows give rows.
        every_record: whether each change of a window gives a row, not only the last one of a batch.
        late: what becomes of late records.
        shards: how many ranges of key hashes the work is cut into.
        threads: how many threads a query in this process uses; None for one a core.
        observation: where Spark reports the counters, if anywhere; on a stream the name that they have.
        max_ahead: on a stream, how far ahead of the wall clock a record may be, in microseconds; None for any.
        progress: whether a query in this process shows a bar; or the function that is told how far it has come.
        flat: whether the bounds of windows are two columns in place of a struct.
    """

    emit: Emit = "close"
    every_record: bool = False
    late: Late = "drop"
    shards: int = SHARDS
    threads: int | None = None
    observation: object | None = None
    max_ahead: int | None = None
    flat: bool = False
    progress: Callback | bool = False

    @property
    def op(self) -> bool:
        """Whether the result ends with an `op` column."""
        return self.emit == "update" or self.late == "emit"
