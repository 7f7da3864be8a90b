"""The records of some keys and their windows. Times count units of the time column since 1970."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow._inspection.lengths import Lengths
from windrow._windows.session import SessionWindows
from windrow._windows.sliding import SlidingWindows


@dataclass(frozen=True)
class Record:
    """A record of one of the keys.

    Attributes:
        row: its position among the rows of the data, from 0.
        key: the place of its key among the keys of the trace.
        time: its time.
        last: its end; its time if it has no end or a bad one.
        gap: its dynamic gap, cut to the longest; None for a bad gap or without dynamic gaps.
        ends: whether it ends its session.
        tie: what orders it among records of its time; None if the query has no ties.
        left_out: the counter of a record that was left out, for its tie, its gap or its end; None for any other.
    """

    row: int
    key: int
    time: int
    last: int
    gap: int | None = None
    ends: bool = False
    tie: int | None = None
    left_out: str | None = None

    @property
    def place(self) -> tuple[int, int, int]:
        """Its place among the records of its key."""
        return (self.time, self.tie or 0, self.row)

    @property
    def reach(self) -> int:
        """The last time that its own gap reaches; its end without one."""
        return self.last + (self.gap or 0)


@dataclass(frozen=True)
class Judgement:
    """How a stream judged a record.

    Attributes:
        stream_time: the stream time that judged it, including its own time; None if there was none.
        before: the stream time before it; None before the first record.
        late: whether it was late for all windows.
        refused: how many sliding windows refused it, although it was not late for all.
    """

    stream_time: int | None
    before: int | None
    late: bool
    refused: int


@dataclass(frozen=True)
class Window:
    """A window of one of the keys. Both ends are inclusive.

    Attributes:
        key: the place of its key among the keys of the trace.
        start: its first time.
        end: its last time.
        rows: the rows of its records.
        closes: it closes when stream time passes this time. Includes the grace, if there is one.
        closed: the stream time that closed it; None for a batch, or if the data ended before.
    """

    key: int
    start: int
    end: int
    rows: frozenset[int]
    closes: int
    closed: int | None = None


@dataclass(frozen=True)
class Trace:
    """The records of some keys, their windows and how a stream judged them.

    Attributes:
        keys: the keys, as text.
        time: the time column.
        windows_of: the definition of the windows.
        lengths: its lengths, in units of the time column.
        records: the records of the keys, by time, tie and row.
        windows: their windows, by start and end.
        judgements: judgements by row for a stream; empty for a batch.
        stream: whether the rows were read as a stream.
        stream_time: the final stream time; None for a batch or without a record.
        ends: whether records have an end beside their time.
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
    ends: bool = False

    def reach(self, record: Record) -> int:
        """The last time at which another record joins this one: its end plus the gap."""
        return record.reach if self.lengths.gap is None else record.last + self.lengths.gap

    def of(self, key: int) -> tuple[list[Record], list[Window]]:
        """The records and the windows of one key."""
        records = [record for record in self.records if record.key == key]
        return records, [window for window in self.windows if window.key == key]
