"""Records of some keys and their windows. Times are ticks of the time column since 1970."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow._inspection.lengths import Lengths
from windrow._windows.session import SessionWindows
from windrow._windows.sliding import SlidingWindows

Key = tuple[Any, ...]
"""The values of the key columns."""


@dataclass(frozen=True)
class Record:
    """A record of one of the keys.

    Attributes:
        row: its place among the rows of the data, from 0 on.
        key: its key.
        time: its time.
        gap: its own gap, cut to the longest; None where gaps are not the records' own, or where it is bad.
        bad_gap: whether its own gap is null, zero or negative, so that it was left out.
        ends: whether its session ends with it.
    """

    row: int
    key: Key
    time: int
    gap: int | None = None
    bad_gap: bool = False
    ends: bool = False


@dataclass(frozen=True)
class Judgement:
    """How a stream judged a record.

    Attributes:
        stream_time: the stream time by which it was judged, its own time included; None where it moved none.
        before: the stream time before it came; None before the first record.
        late: whether it was late as a whole.
        refused: how many sliding windows refused it, though it was not late as a whole.
    """

    stream_time: int | None
    before: int | None
    late: bool
    refused: int


@dataclass(frozen=True)
class Window:
    """A window of one of the keys; both ends are inclusive.

    Attributes:
        key: its key.
        start: its first time.
        end: its last time.
        rows: the rows of its records.
        closes: the stream time that has to be passed for it to close, without the grace where there is none.
        closed: the stream time by which a stream closed it; None where the data ended before, and of a batch.
    """

    key: Key
    start: int
    end: int
    rows: frozenset[int]
    closes: int
    closed: int | None = None


@dataclass(frozen=True)
class Trace:
    """What became of the records of some keys.

    Attributes:
        keys: the names of the key columns.
        time: the time column.
        windows_of: the windows that were asked for.
        lengths: their lengths in ticks.
        records: the records of the keys, by key and time.
        windows: their windows, by key and start.
        judgements: of a stream, by row; empty of a batch.
        stream: whether the rows came as a stream.
        stream_time: of a stream, the time that it came to; None without a record.
    """

    keys: tuple[str, ...]
    time: pa.Field[Any]
    windows_of: SessionWindows | SlidingWindows
    lengths: Lengths
    records: Sequence[Record]
    windows: Sequence[Window]
    judgements: dict[int, Judgement]
    stream: bool
    stream_time: int | None = None

    def of(self, key: Key) -> tuple[list[Record], list[Window]]:
        """The records and the windows of one key."""
        records = [record for record in self.records if same(record.key, key)]
        return records, [window for window in self.windows if same(window.key, key)]


def same(one: Key, other: Key) -> bool:
    """Whether two keys are one; NaN is itself."""
    return all(a == b or (a != a and b != b) for a, b in zip(one, other, strict=True))  # noqa: PLR0124
