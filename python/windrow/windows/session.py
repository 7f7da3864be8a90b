"""Session windows (Kafka's `SessionWindows`, KIP-94), with one gap or with each record's own (KIP-362)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, Never, Self, get_args

import pyarrow as pa

from windrow.column import column_name
from windrow.duration import LONGEST, Duration, microseconds, words
from windrow.errors import bad_type, bad_value, positional_options, unknown_option, unknown_word
from windrow.windows.specification import Windows

if TYPE_CHECKING:
    from windrow.column import ColumnName

InvalidGap = Literal["drop", "error"]
"""What becomes of a record whose own gap is null, zero or negative: it is counted and left out, or the query fails."""

_DAY = 86_400_000_000
_DYNAMIC_OPTIONS = ("grace", "longest_gap", "invalid_gap")


@dataclass(frozen=True)
class DynamicGap:
    """A gap that each record brings along.

    Attributes:
        column: the column of the gaps.
        longest: the longest gap, in microseconds, longer ones are cut to it; None where no gap is cut.
        invalid: what becomes of a record whose gap is null, zero or negative.
    """

    column: str
    longest: int | None
    invalid: InvalidGap

    @property
    def longest_on_stream(self) -> int:
        """The longest gap on a stream, which has to know when a session ends: one day where none is given."""
        return _DAY if self.longest is None else self.longest


@dataclass(frozen=True, init=False, repr=False)
class SessionWindows(Windows):
    """Sessions: records of a key that are at most a gap apart (Kafka's `SessionWindows`, KIP-94).

    `window.start` is the first record of the session and `window.end` its last one; both are inclusive.

    Attributes:
        gap: the longest distance inside a session, in microseconds; or where each record has its own.
    """

    gap: int | DynamicGap

    @classmethod
    def with_gap(cls, gap: Duration, *_by_position: Never, grace: Duration | None = None) -> Self:
        """Sessions that end where no record comes for longer than `gap`.

        Two records exactly `gap` apart are in one session. `grace` is how far behind stream time a record may be on
        a stream; a batch query has nothing late and does not need it. Both count in ticks of the time column, rounded
        down; `windowed_by` refuses a `gap` shorter than one tick.

        Raises:
            ValueError: `gap` not longer than zero, `grace` negative, or their sum beyond 2**63 - 1 microseconds.
            TypeError: not a duration (a bare number has no unit), or `grace` by position.

        >>> SessionWindows.with_gap("5 minutes", grace="1 hour")
        SessionWindows.with_gap('5 minutes', grace='1 hour')
        """
        if _by_position:
            raise positional_options("SessionWindows.with_gap", _by_position, ["grace"])
        distance = microseconds("gap", gap)
        late = None if grace is None else microseconds("grace", grace, zero=True)
        if distance + (late or 0) > LONGEST:
            raise bad_value("grace", grace, f"gap + grace of at most {LONGEST} microseconds")
        return cls._of(grace=late, retention=None, gap=distance)

    @classmethod
    def with_dynamic_gap(
        cls,
        column: ColumnName,
        *_by_position: Never,
        grace: Duration | None = None,
        longest_gap: Duration | None = None,
        invalid_gap: InvalidGap = "drop",
        **_unknown: Never,
    ) -> Self:
        """Sessions of records that each bring their own gap (KIP-362).

        A record at `t` with the gap `g` reaches from `t` to `t + g`, both inclusive, and records that reach one
        another, directly or by others between them, are one session. The order of records does not matter, and where
        all gaps are equal, the sessions are those of `with_gap`.

        Args:
            column: the column of the gaps: a day-time interval in Spark, a duration in Arrow. Gaps count in ticks of
                the time column, rounded down.
            grace: as in `with_gap`.
            longest_gap: longer gaps are cut to it and counted (`clamped_gaps`). None cuts none; on a stream it is one
                day (KIP-362's retention).
            invalid_gap: what becomes of a record whose gap is null, zero or negative: `"drop"` leaves it out and
                counts it (`bad_gaps`), `"error"` fails the query with its key and time.

        Raises:
            ValueError: an empty name, `longest_gap` not longer than zero, `grace` negative, their sum beyond 2**63 - 1
                microseconds, or another word.
            TypeError: `column` is no name, not a duration (a bare number has no unit), or options by position.

        >>> SessionWindows.with_dynamic_gap("pause", grace="1 hour")
        SessionWindows.with_dynamic_gap('pause', grace='1 hour')

        >>> from datetime import datetime, timedelta
        >>> import pyarrow as pa
        >>> import windrow as wr
        >>> visits = pa.table(
        ...     {
        ...         "user": ["ann", "ann", "ann"],
        ...         "ts": [datetime(2026, 1, 1, 8, minute) for minute in (0, 20, 30)],
        ...         "pause": [timedelta(minutes=minutes) for minutes in (5, 15, 2)],
        ...     }
        ... )
        >>> sessions = wr.group_by(visits, "user", time="ts").windowed_by(SessionWindows.with_dynamic_gap("pause"))
        >>> for row in sessions.count().sort_by("count").to_pylist():
        ...     print(row["window"]["start"].minute, row["window"]["end"].minute, row["count"])
        0 0 1
        20 30 2
        """
        if _by_position:
            raise positional_options("SessionWindows.with_dynamic_gap", _by_position, _DYNAMIC_OPTIONS)
        if _unknown:
            raise _no_option(_unknown)
        if isinstance(column, timedelta):
            raise bad_type("column", column, "the name of a column; with_gap(...) has one gap for all records")
        column = column_name("column", column)
        if not column:
            raise bad_value("column", column, "the name of a column")
        late = None if grace is None else microseconds("grace", grace, zero=True)
        longest = None if longest_gap is None else microseconds("longest_gap", longest_gap)
        if invalid_gap not in get_args(InvalidGap):
            raise unknown_word("invalid_gap", invalid_gap, get_args(InvalidGap))
        gap = DynamicGap(column, longest, invalid_gap)
        if gap.longest_on_stream + (late or 0) > LONGEST:
            raise bad_value("grace", grace, f"longest_gap + grace of at most {LONGEST} microseconds")
        return cls._of(grace=late, retention=None, gap=gap)

    def until(self, retention: Duration) -> Self:
        """The same windows, kept visible for `retention` after they close.

        On a stream a later record may then still join a session that is already closed, as in Kafka
        (`SessionWindows.until`, before KIP-616). A batch query does not need it.

        Raises:
            ValueError: shorter than gap + grace; of dynamic gaps, than longest_gap + grace.
            TypeError: not a duration.

        >>> SessionWindows.with_gap("5 minutes").until("1 day")
        SessionWindows.with_gap('5 minutes').until('1 day')
        """
        if isinstance(self.gap, DynamicGap):
            return self._kept(retention, self.gap.longest_on_stream + (self.grace or 0), "longest_gap + grace")
        return self._kept(retention, self.gap + (self.grace or 0), "gap + grace")

    def on_stream(self, time: pa.Field[Any]) -> Self:
        """These windows with the longest gap of a stream."""
        if not isinstance(self.gap, DynamicGap):
            return self
        return self._of(**{**vars(self), "gap": replace(self.gap, longest=self.gap.longest_on_stream)})

    def _lengths(self) -> dict[str, tuple[int, str]]:
        if isinstance(self.gap, DynamicGap):
            longest = self.gap.longest
            return {**({} if longest is None else {"longest_gap": (longest, "one tick")}), **super()._lengths()}
        return {"gap": (self.gap, "one tick"), **super()._lengths()}

    def plan(self) -> dict[str, int | str]:
        """What the core needs to know of these windows."""
        if isinstance(self.gap, DynamicGap):
            # `retention` is KIP-362's word for it, and that of saved states.
            longest: dict[str, int | str] = {} if self.gap.longest is None else {"retention": self.gap.longest}
            return {"kind": "session", "gap_column": self.gap.column, **longest, "invalid_gap": self.gap.invalid}
        return {"kind": "session", "gap": self.gap}

    def __repr__(self) -> str:
        """The call that makes these windows."""
        if isinstance(self.gap, DynamicGap):
            longest = "" if self.gap.longest is None else f", longest_gap={words(self.gap.longest)!r}"
            invalid = "" if self.gap.invalid == "drop" else f", invalid_gap={self.gap.invalid!r}"
            made = f"with_dynamic_gap({self.gap.column!r}{self._shown_grace()}{longest}{invalid})"
        else:
            made = f"with_gap({words(self.gap)!r}{self._shown_grace()})"
        return f"SessionWindows.{made}{self._shown_until()}"


def _no_option(given: Mapping[str, object]) -> TypeError:
    """What `with_dynamic_gap` does not have; Kafka's proposal calls its longest gap `retention`."""
    if "retention" not in given:
        return unknown_option("SessionWindows.with_dynamic_gap", given, _DYNAMIC_OPTIONS)
    retention = given["retention"]
    kept = "until(...) says how long windows stay visible"
    return bad_type("retention", retention, f"longest_gap={retention!r}, which longer gaps are cut to; {kept}")
