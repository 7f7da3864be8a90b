"""The clock row of a table of open windows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Self

import pyarrow as pa

from windrow._arguments.errors import bad_value, listed
from windrow._arguments.instant import time_text
from windrow._executor.open_windows import OpenWindows
from windrow._native import change_clock, read_clock
from windrow._plan.flat import BOUNDS, WINDOW
from windrow._plan.open_table import STATE, STREAM_TIME
from windrow._plan.plan import SERIES
from windrow._windows.session_rules import has_rules

ALLOWED = "a table of open windows: what windrow.state.open_windows or the still_open of advance returns"


@dataclass(frozen=True)
class Clock:
    """The time that a table of open windows has reached, and its micro-batch or run.

    Attributes:
        time: stream time, from the column `stream_time` of the clock row.
        batch: for the table of a streaming query, the number of its last micro-batch; for a table of `advance`, how
            many runs came before.
    """

    time: datetime
    batch: int


@dataclass(frozen=True)
class ClockRow:
    """The clock row.

    Attributes:
        state: its bytes.
    """

    state: bytes

    @classmethod
    def of(cls, opened: OpenWindows, kind: Any) -> Self:
        """The one clock row of a table, whose `stream_time` has the type `kind`. `ValueError` if it was changed."""
        state, ticks = opened.clock(kind)
        row, time = cls(state), pa.scalar(ticks, pa.int64()).cast(kind)
        if not time.is_valid or time.cast(row.time).cast(pa.int64()).as_py() != row.ticks:
            raise ValueError("open: the clock row cannot be read: its `stream_time` was changed")
        return row

    @cached_property
    def values(self) -> dict[str, Any]:
        """Its content. `ValueError` if it was changed."""
        values: dict[str, Any] = json.loads(read_clock(self.state))
        return values

    @property
    def ticks(self) -> int:
        """Stream time, in the unit of the query's time column."""
        ticks: int = self.values["to"]
        return ticks

    @cached_property
    def specification(self) -> dict[str, Any]:
        """The query of the table."""
        specification: dict[str, Any] = json.loads(self.values["specification"])
        return specification

    @property
    def time(self) -> Any:
        """The type of the query's time column."""
        unit = self.specification["time_type"].removeprefix("timestamp(").partition(",")[0]
        return pa.timestamp(unit, self.specification["time_zone"])

    def moved(self, to: int) -> bytes:
        """Its bytes at another stream time. `ValueError` for an earlier one of sessions with rules."""
        if to < self.ticks and has_rules(self.specification["windows"]):
            allowed = (
                f"{time_text(self.ticks, self.time)}, which the table has reached, or later: its sessions have rules, "
                "and earlier records would move the ends of these sessions"
            )
            raise ValueError(f"to: got {time_text(to, self.time)}; allowed: {allowed}")
        return change_clock(self.state, to)

    def keys(self, names: Sequence[str]) -> list[str]:
        """The key columns of a table with these columns."""
        keys: list[str] = self.specification["keys"]
        if keys == [SERIES]:
            return []
        if all(key in names for key in keys):
            return keys
        # A key may have the name of the other kind of bounds.
        places = [place for place, name in enumerate(names) if name in (WINDOW, BOUNDS[0]) and place >= len(keys)]
        return list(names[: min(places, default=0)])


def check_columns(names: Sequence[str]) -> None:
    """Raises `ValueError` unless these are columns of a table of open windows."""
    missing = [name for name in (STREAM_TIME, STATE) if list(names).count(name) != 1]
    if not missing and WINDOW not in names and BOUNDS[0] not in names:
        missing = [WINDOW]
    if missing:
        raise bad_value("open", f"a table with the columns {listed(names)}", f"one that has {missing[0]!r}: {ALLOWED}")
