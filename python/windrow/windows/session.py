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
_OPTIONS = ("grace", "longest", "ends")
_DYNAMIC_OPTIONS = ("grace", "longest_gap", "invalid_gap", "longest", "ends")
_NO_STREAM = (
    "None on a stream: sessions are cut in the order of time, and a record that comes behind others would move the "
    "cuts of sessions that have left; read the same data as a batch"
)


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
        longest: the longest distance from `window.start` to `window.end`, in microseconds; None for any.
        ends: the column that is true in the records that end their session; None where there is none.
    """

    gap: int | DynamicGap
    longest: int | None
    ends: str | None

    @classmethod
    def with_gap(
        cls,
        gap: Duration,
        *_by_position: Never,
        grace: Duration | None = None,
        longest: Duration | None = None,
        ends: ColumnName | None = None,
    ) -> Self:
        """Sessions that end where no record comes for longer than `gap`; with `longest` and `ends` also before.

        Two records exactly `gap` apart are in one session. Lengths count in ticks of the time column, rounded down;
        `windowed_by` refuses a `gap` or `longest` shorter than one tick.

        With `longest` or `ends` the records of a key are taken in the order of time, and each is in the session of
        those before it, or opens the next one: where it comes more than `gap` after the last record, more than
        `longest` after the first, or after one in which `ends` is true. So the cuts depend on the records alone, and
        not on the order of the rows: a session is as long as it may be from its first record on. Records of the same
        time are in one session, also where `ends` is true in one of them only: the session ends after all of them.

        Args:
            gap: the longest distance from one record of a session to the next.
            grace: how far behind stream time a record may be on a stream; a batch query has nothing late and does not
                need it.
            longest: the longest distance from the first record of a session to its last; one at exactly that distance
                is in it. In a batch only: a stream is refused (`windowed_by`), as there a record that comes behind
                others would move the cuts of sessions that have left.
            ends: a boolean column, true in the last record of a session, such as a logout; null is false. A record
                that is left out (without a key or a time) ends nothing. Of a cogroup a column of one input, such as
                `"clicks.logout"`. In a batch only, as `longest`.

        Raises:
            ValueError: `gap` or `longest` not longer than zero, `grace` negative, gap + grace beyond 2**63 - 1
                microseconds, or an empty name.
            TypeError: not a duration (a bare number has no unit), `ends` is no name, or options by position.

        >>> SessionWindows.with_gap("5 minutes", grace="1 hour")
        SessionWindows.with_gap('5 minutes', grace='1 hour')

        >>> from datetime import datetime
        >>> import pyarrow as pa
        >>> import windrow as wr
        >>> clicks = pa.table(
        ...     {
        ...         "user": ["ann"] * 5,
        ...         "ts": [datetime(2026, 1, 1, 8, minute) for minute in (0, 4, 8, 12, 13)],
        ...         "logout": [False, False, False, True, None],
        ...     }
        ... )
        >>> windows = SessionWindows.with_gap("5 minutes", longest="10 minutes", ends="logout")
        >>> sessions = wr.group_by(clicks, "user", time="ts").windowed_by(windows).count()
        >>> for row in sessions.sort_by([("window", "ascending")]).to_pylist():
        ...     print(row["window"]["start"].minute, row["window"]["end"].minute, row["count"])
        0 8 3
        12 12 1
        13 13 1
        """
        if _by_position:
            raise positional_options("SessionWindows.with_gap", _by_position, _OPTIONS)
        distance = microseconds("gap", gap)
        late = None if grace is None else microseconds("grace", grace, zero=True)
        if distance + (late or 0) > LONGEST:
            raise bad_value("grace", grace, f"gap + grace of at most {LONGEST} microseconds")
        return cls._of(grace=late, retention=None, gap=distance, **_cuts(longest, ends))

    @classmethod
    def with_dynamic_gap(
        cls,
        column: ColumnName,
        *_by_position: Never,
        grace: Duration | None = None,
        longest_gap: Duration | None = None,
        invalid_gap: InvalidGap = "drop",
        longest: Duration | None = None,
        ends: ColumnName | None = None,
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
            longest: the longest distance from the first record of a session to its last, as in `with_gap`; in a batch
                only. A record is in the session of those before it where one of these reaches it, and opens the next
                one elsewhere.
            ends: the column that is true in the last record of a session, as in `with_gap`; in a batch only. Such a
                record holds back none behind it, however long its gap is.

        Raises:
            ValueError: an empty name, `longest_gap` or `longest` not longer than zero, `grace` negative, longest_gap +
                grace beyond 2**63 - 1 microseconds, or another word.
            TypeError: `column` or `ends` is no name, not a duration (a bare number has no unit), or options by
                position.

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
        clamp = None if longest_gap is None else microseconds("longest_gap", longest_gap)
        if invalid_gap not in get_args(InvalidGap):
            raise unknown_word("invalid_gap", invalid_gap, get_args(InvalidGap))
        gap = DynamicGap(column, clamp, invalid_gap)
        if gap.longest_on_stream + (late or 0) > LONGEST:
            raise bad_value("grace", grace, f"longest_gap + grace of at most {LONGEST} microseconds")
        return cls._of(grace=late, retention=None, gap=gap, **_cuts(longest, ends))

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

    @property
    def is_cut(self) -> bool:
        """Whether sessions may end although the gap goes on."""
        return self.longest is not None or self.ends is not None

    def ending(self, column: str) -> Self:
        """These windows with another name of the column that ends sessions."""
        return self._of(**{**vars(self), "ends": column})

    def check_stream(self) -> None:
        """Raises `ValueError` where sessions are cut."""
        if self.longest is not None:
            raise bad_value("longest", words(self.longest), _NO_STREAM)
        if self.ends is not None:
            raise bad_value("ends", self.ends, _NO_STREAM)

    def on_stream(self, time: pa.Field[Any]) -> Self:
        """These windows with the longest gap of a stream."""
        if not isinstance(self.gap, DynamicGap):
            return self
        return self._of(**{**vars(self), "gap": replace(self.gap, longest=self.gap.longest_on_stream)})

    def _lengths(self) -> dict[str, tuple[int, str]]:
        own = {"longest_gap": self.gap.longest} if isinstance(self.gap, DynamicGap) else {"gap": self.gap}
        given = {**own, "longest": self.longest}
        ticks = {argument: (length, "one tick") for argument, length in given.items() if length is not None}
        return {**ticks, **super()._lengths()}

    def plan(self) -> dict[str, int | str]:
        """What the core needs to know of these windows."""
        given = {"longest": self.longest, "ends": self.ends}
        cuts = {name: value for name, value in given.items() if value is not None}
        if isinstance(self.gap, DynamicGap):
            # `retention` is KIP-362's word for it, and that of saved states.
            longest: dict[str, int | str] = {} if self.gap.longest is None else {"retention": self.gap.longest}
            return {
                "kind": "session",
                "gap_column": self.gap.column,
                **longest,
                "invalid_gap": self.gap.invalid,
                **cuts,
            }
        return {"kind": "session", "gap": self.gap, **cuts}

    def __repr__(self) -> str:
        """The call that makes these windows."""
        if isinstance(self.gap, DynamicGap):
            longest = "" if self.gap.longest is None else f", longest_gap={words(self.gap.longest)!r}"
            invalid = "" if self.gap.invalid == "drop" else f", invalid_gap={self.gap.invalid!r}"
            made = f"with_dynamic_gap({self.gap.column!r}{self._shown_grace()}{longest}{invalid}{self._shown_cuts()})"
        else:
            made = f"with_gap({words(self.gap)!r}{self._shown_grace()}{self._shown_cuts()})"
        return f"SessionWindows.{made}{self._shown_until()}"

    def _shown_cuts(self) -> str:
        longest = "" if self.longest is None else f", longest={words(self.longest)!r}"
        return f"{longest}{'' if self.ends is None else f', ends={self.ends!r}'}"


def _cuts(longest: Duration | None, ends: ColumnName | None) -> dict[str, int | str | None]:
    """Where sessions end before the gap, checked."""
    column = None if ends is None else column_name("ends", ends)
    if column == "":
        raise bad_value("ends", column, "the name of a column")
    return {"longest": None if longest is None else microseconds("longest", longest), "ends": column}


def _no_option(given: Mapping[str, object]) -> TypeError:
    """What `with_dynamic_gap` does not have; Kafka's proposal calls its longest gap `retention`."""
    if "retention" not in given:
        return unknown_option("SessionWindows.with_dynamic_gap", given, _DYNAMIC_OPTIONS)
    retention = given["retention"]
    kept = "until(...) says how long windows stay visible"
    return bad_type("retention", retention, f"longest_gap={retention!r}, which longer gaps are cut to; {kept}")
