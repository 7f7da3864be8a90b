"""The wall clock of a driver: it does not move by itself, and finds times that are too far ahead of it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

from windrow._arguments.duration import LONGEST, TIME_UNITS, Duration, of_clock
from windrow._arguments.errors import bad_value
from windrow.testing._feed import SourcedRows, taken
from windrow.testing._values import cell_of

_NEEDED = "the time that the clock shows, as the time column shows it: StreamDriver(..., wall_clock=datetime(...))"


class WallClock:
    """A wall clock, and the rows that `max_ahead` sets aside (rules 1.1 and 1.5)."""

    def __init__(self, now: Any, max_ahead: int | None, time: pa.Field[Any], end: str | None, tick: str) -> None:
        """Starts at `now`, a value of the column `time`. Without it there is no clock and no `max_ahead`.

        `end` is the column of ends, if there is one.
        """
        self._kind = pa.timestamp("us", time.type.tz)
        self._unit = time.type.unit
        self._time, self._end, self._tick = time.name, end, tick
        self._max_ahead = max_ahead
        self._now = self._ticks("wall_clock", now) if now is not None else None
        if now is None and max_ahead is not None:
            raise bad_value("wall_clock", None, f"{_NEEDED}; the definition has max_ahead(...)")

    def advance(self, by: Duration | datetime) -> None:
        """Moves the clock on by a duration, or to a time."""
        if self._now is None:
            raise bad_value("wall_clock", None, _NEEDED)
        if isinstance(by, str | timedelta):
            to = self._now + of_clock("duration_or_time", by, zero=True)
        else:
            to = self._ticks("duration_or_time", by)
        if not self._now <= to <= LONGEST:
            raise bad_value("duration_or_time", by, "a duration, or a time that is not before that of the clock")
        self._now = to

    def admitted(self, sourced: SourcedRows) -> tuple[SourcedRows, SourcedRows, SourcedRows]:
        """The rows that are not too far ahead, then the records whose time or end is, and the ticks whose time is."""
        latest, none = self._latest, SourcedRows(sourced.batch.slice(0, 0), [])
        if latest is None:
            return sourced, none, none
        ticks = sourced.batch.column(self._tick).to_pylist()
        ahead = self._beyond(latest, sourced.batch, self._time)
        if self._end is not None:
            ends = self._beyond(latest, sourced.batch, self._end)
            ahead = [begins or (ends and not tick) for begins, ends, tick in zip(ahead, ends, ticks, strict=True)]
        if not any(ahead):
            return sourced, none, none
        parts: tuple[list[int], list[int], list[int]] = ([], [], [])
        for row, (early, tick) in enumerate(zip(ahead, ticks, strict=True)):
            parts[0 if not early else 2 if tick else 1].append(row)
        kept, records, bad_ticks = (
            SourcedRows(taken(sourced.batch, rows), [sourced.sources[row] for row in rows]) if rows else none
            for rows in parts
        )
        return kept, records, bad_ticks

    def _beyond(self, latest: int, batch: pa.RecordBatch, column: str) -> list[bool]:
        """Whether each time of a column is later than the latest one."""
        times: list[int | None] = batch.column(column).cast(pa.int64()).to_pylist()
        return [time is not None and time > latest for time in times]

    @property
    def _latest(self) -> int | None:
        """The latest time that is not too far ahead, in units of the time column; None for any."""
        if self._now is None or self._max_ahead is None:
            return None
        return min(TIME_UNITS[self._unit].ticks(self._now + self._max_ahead), LONGEST)

    def _ticks(self, argument: str, time: Any) -> int:
        ticks: int | None = cell_of(argument, time, self._kind).cast(pa.int64())[0].as_py()
        if ticks is None:
            raise bad_value(argument, None, "a time")
        return ticks
