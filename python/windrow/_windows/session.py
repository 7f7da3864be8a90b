"""Session windows (Kafka's `SessionWindows`, KIP-94), with one gap or with each record's own (KIP-362)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import time, timedelta
from typing import TYPE_CHECKING, Any, Literal, Never, Self, get_args

import pyarrow as pa

from windrow._arguments.duration import LONGEST, Duration, Microseconds, microseconds, words
from windrow._arguments.errors import bad_type, bad_value, positional_options, unknown_option, unknown_word
from windrow._arguments.expression import column_reference
from windrow._windows.session_rules import RuleArguments, SessionRules
from windrow._windows.specification import Windows

if TYPE_CHECKING:
    from windrow._arguments.expression import ColumnName

InvalidValue = Literal["drop", "error"]
"""A record whose own gap or end is bad is left out and counted, or fails the query."""

_DAY = 86_400_000_000
_OPTIONS = ("grace", *RuleArguments.__annotations__, "retention")
_DYNAMIC_OPTIONS = ("grace", "max_gap", "invalid_gap", *_OPTIONS[1:])


@dataclass(frozen=True)
class DynamicGap:
    """A gap that each record brings along.

    Attributes:
        column: the column of the gaps; an expression until it meets the data.
        max_gap: the longest gap, in microseconds; longer ones are cut to it. None cuts none.
        invalid: `"drop"` leaves out a record whose gap is null, negative, or zero without ends; `"error"` fails the
            query.
    """

    column: Any
    max_gap: Microseconds | None
    invalid: InvalidValue

    @property
    def max_gap_on_stream(self) -> Microseconds:
        """The longest gap on a stream, one day by default. A stream needs it to know when a session ends."""
        return _DAY if self.max_gap is None else self.max_gap


@dataclass(frozen=True, init=False, repr=False)
class SessionWindows(Windows):
    """Sessions: records of a key that are at most a gap apart (Kafka's `SessionWindows`, KIP-94).

    `window.start` is the first record of the session and `window.end` its last one; both are inclusive. With
    `group_by(end=)` the distance counts from the latest end so far, and `window.end` is the latest end.

    Attributes:
        gap: the longest distance inside a session, in microseconds; or the column of dynamic gaps.
        rules: where sessions end before their gap has passed.
    """

    gap: Microseconds | DynamicGap
    rules: SessionRules

    @classmethod
    def with_gap(
        cls,
        gap: Duration,
        *_by_position: Never,
        grace: Duration | None = None,
        max_duration: Duration | None = None,
        end_when: ColumnName | None = None,
        start_when: ColumnName | None = None,
        cut_on: ColumnName | Sequence[ColumnName] | None = None,
        cut_at: str | time | None = None,
        zone: str | None = None,
        max_records: int | None = None,
        retention: Duration | None = None,
    ) -> Self:
        """Sessions that end when no record comes for longer than `gap`; rules end them earlier.

        Two records exactly `gap` apart are in one session. Lengths count in units of the time column, rounded down;
        `windowed_by` refuses a `gap` or `max_duration` shorter than one unit, except a `gap` of zero.

        With rules, windrow takes the records of a key in the order of time, then of `group_by(tie=)`. A record begins a
        new session if the gap or a rule ends the session before it. The sessions depend only on the records, not on the
        order of the rows. Records of the same time (and tie) stay together: if `end_when` is true in one of them, the
        session ends after all of them. `windrow.ended_by()` says why a session ended. On a stream such sessions need
        `emit("close")`, and a record further behind stream time than `grace` is late.

        Args:
            gap: the longest distance from one record of a session to the next. With a gap of zero, a session is the
                records of one time; with `group_by(end=)`, records that touch or overlap.
            grace: how long a stream keeps a session open after its gap, for records out of order. In a batch query
                nothing is late, so it needs no grace.
            max_duration: the longest distance from the first record of a session to its last, inclusive. It may be
                shorter than the gap. With `group_by(end=)` it is the distance to the latest end; a first record
                that is longer by itself is not cut.
            end_when: a boolean column or expression, true in the last record of a session, such as a logout; null is
                false. A record without a key or a time ends nothing. For a cogroup it is a column of one input, such as
                `"clicks.logout"`.
            start_when: as `end_when`, but true in the first record of a session, such as a login.
            cut_on: a column or a list of columns. A session ends where one of their values changes; two nulls are
                equal. Not for a cogroup.
            cut_at: a time of day that ends sessions, such as `"00:00"` or `datetime.time(4)`, in whole seconds.
            zone: the time zone of `cut_at`, such as `"Europe/Madrid"`. Needed if the time column has a zone (in Spark
                TIMESTAMP); otherwise leave it out.
            max_records: the largest number of records. Without `tie=`, a session may have more, because records of one
                time stay together.
            retention: how long a session stays visible after it closes. On a stream a later record may then still join
                a closed session, as in Kafka (`SessionWindows.until`, before KIP-616). A batch query does not need it,
                and a stream with rules refuses it.

        Raises:
            ValueError: `gap` or `grace` negative, `max_duration` not longer than zero, `retention` shorter than gap +
                grace, gap + grace beyond 2**63 - 1 microseconds, an empty name, a column twice in `cut_on`, no time of
                day, an unknown zone or one without `cut_at`, or `max_records` below 1.
            TypeError: not a duration (a bare number has no unit), a column is not a name, or options by position.

        >>> SessionWindows.with_gap("5 minutes", grace="1 hour")
        SessionWindows.with_gap('5 minutes', grace='1 hour')
        >>> SessionWindows.with_gap("5 minutes", grace="1 hour", retention="1 day")
        SessionWindows.with_gap('5 minutes', grace='1 hour', retention='1 day')

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
        >>> windows = SessionWindows.with_gap("5 minutes", max_duration="10 minutes", end_when="logout")
        >>> sessions = wr.group_by(clicks, "user", time="ts").windowed_by(windows).count()
        >>> for row in sessions.sort_by([("window", "ascending")]).to_pylist():
        ...     print(row["window"]["start"].minute, row["window"]["end"].minute, row["count"])
        0 8 3
        12 12 1
        13 13 1
        """
        if _by_position:
            raise positional_options("SessionWindows.with_gap", _by_position, _OPTIONS)
        distance = microseconds("gap", gap, zero=True)
        late = None if grace is None else microseconds("grace", grace, zero=True)
        if distance + (late or 0) > LONGEST:
            raise bad_value("grace", grace, f"gap + grace of at most {LONGEST} microseconds")
        rules = SessionRules.of(
            {
                "max_duration": max_duration,
                "end_when": end_when,
                "start_when": start_when,
                "cut_on": cut_on,
                "cut_at": cut_at,
                "zone": zone,
                "max_records": max_records,
            }
        )
        return cls._of(grace=late, retention=None, gap=distance, rules=rules)._with_retention(retention)

    @classmethod
    def with_dynamic_gap(
        cls,
        column: ColumnName,
        *_by_position: Never,
        grace: Duration | None = None,
        max_gap: Duration | None = None,
        invalid_gap: InvalidValue = "drop",
        max_duration: Duration | None = None,
        end_when: ColumnName | None = None,
        start_when: ColumnName | None = None,
        cut_on: ColumnName | Sequence[ColumnName] | None = None,
        cut_at: str | time | None = None,
        zone: str | None = None,
        max_records: int | None = None,
        retention: Duration | None = None,
        **_unknown: Never,
    ) -> Self:
        """Sessions of records that each bring their own gap (KIP-362).

        A record at `t` with the gap `g` reaches from `t` to `t + g`, both inclusive. Records that reach one another,
        directly or through others, are one session. The order of records does not matter. If all gaps are equal, the
        sessions are those of `with_gap`.

        Args:
            column: the column of the gaps, or an expression: a day-time interval in Spark, a duration in Arrow, an
                INTERVAL without months in DuckDB. Gaps count in units of the time column, rounded down.
            grace: as in `with_gap`.
            max_gap: longer gaps are cut to it and counted (`clamped_gaps`). None cuts no gap; on a stream it means one
                day (KIP-362's retention).
            invalid_gap: `"drop"` leaves out and counts records whose gap is null, negative, or zero without
                `group_by(end=)` (`bad_gaps`); `"error"` fails the query with the key and time of such a record.
            max_duration: the longest distance from the first record of a session to its last, as in `with_gap`. With
                rules, a record joins the session before it if a record of that session reaches it.
            end_when: the column that is true in the last record of a session, as in `with_gap`. The session ends with
                such a record, however long its gap is.
            start_when: as in `with_gap`.
            cut_on: as in `with_gap`.
            cut_at: as in `with_gap`.
            zone: as in `with_gap`.
            max_records: as in `with_gap`.
            retention: how long a session stays visible after it closes, as in `with_gap`.

        Raises:
            ValueError: an empty name, `max_gap` or `max_duration` not longer than zero, `grace` negative, `retention`
                shorter than max_gap + grace, max_gap + grace beyond 2**63 - 1 microseconds, another word for
                `invalid_gap`, or a wrong rule, as in `with_gap`.
            TypeError: `column` or that of a rule is not a name, not a duration (a bare number has no unit), or options
                by position.

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
            raise unknown_option("SessionWindows.with_dynamic_gap", _unknown, _DYNAMIC_OPTIONS)
        if isinstance(column, timedelta):
            raise bad_type("column", column, "the name of a column; with_gap(...) has one gap for all records")
        gaps = column_reference("column", column)
        if not gaps:
            raise bad_value("column", column, "the name of a column")
        late = None if grace is None else microseconds("grace", grace, zero=True)
        clamp = None if max_gap is None else microseconds("max_gap", max_gap)
        if invalid_gap not in get_args(InvalidValue):
            raise unknown_word("invalid_gap", invalid_gap, get_args(InvalidValue))
        gap = DynamicGap(gaps, clamp, invalid_gap)
        if gap.max_gap_on_stream + (late or 0) > LONGEST:
            raise bad_value("grace", grace, f"max_gap + grace of at most {LONGEST} microseconds")
        rules = SessionRules.of(
            {
                "max_duration": max_duration,
                "end_when": end_when,
                "start_when": start_when,
                "cut_on": cut_on,
                "cut_at": cut_at,
                "zone": zone,
                "max_records": max_records,
            }
        )
        return cls._of(grace=late, retention=None, gap=gap, rules=rules)._with_retention(retention)

    def _renamed(self, named: Callable[[str, Any], Any]) -> Self:
        """These windows over names of columns: `named` gives a name for an argument and its column."""
        gap = self.gap
        if isinstance(gap, DynamicGap):
            gap = replace(gap, column=named("column", gap.column))
        return self._of(**{**vars(self), "gap": gap, "rules": self.rules.renamed(named)})

    def _check_time(self, time: pa.Field[Any]) -> None:
        """Also raises `ValueError` for a zone that does not fit the time column."""
        super()._check_time(time)
        self.rules.check_zone(time)

    def _on_stream(self, time: pa.Field[Any]) -> Self:
        """These windows with the longest gap of a stream."""
        if not isinstance(self.gap, DynamicGap):
            return self
        return self._of(**{**vars(self), "gap": replace(self.gap, max_gap=self.gap.max_gap_on_stream)})

    @property
    def _least_retention(self) -> tuple[Microseconds, str]:
        if isinstance(self.gap, DynamicGap):
            return self.gap.max_gap_on_stream + (self.grace or 0), "max_gap + grace"
        return self.gap + (self.grace or 0), "gap + grace"

    def _lengths(self) -> dict[str, tuple[Microseconds, str]]:
        gap = {"max_gap": self.gap.max_gap} if isinstance(self.gap, DynamicGap) else {"gap": self.gap}
        lengths = {**gap, "max_duration": self.rules.max_duration}
        ticks = {argument: (length, "one tick") for argument, length in lengths.items() if length is not None}
        return {**ticks, **super()._lengths()}

    def _plan(self) -> dict[str, Any]:
        """The plan of these windows for the core."""
        # The keys are those of saved states.
        if isinstance(self.gap, DynamicGap):
            gap = {"gap_column": self.gap.column, "longest_gap": self.gap.max_gap, "invalid_gap": self.gap.invalid}
        else:
            gap = {"gap": self.gap}
        return {"kind": "session"} | {
            name: value for name, value in {**gap, **self.rules.plan}.items() if value is not None
        }

    def __repr__(self) -> str:
        """The call that makes these windows."""
        if isinstance(self.gap, DynamicGap):
            most = "" if self.gap.max_gap is None else f", max_gap={words(self.gap.max_gap)!r}"
            invalid = "" if self.gap.invalid == "drop" else f", invalid_gap={self.gap.invalid!r}"
            made = f"with_dynamic_gap({self.gap.column!r}{self._shown_grace()}{most}{invalid}"
        else:
            made = f"with_gap({words(self.gap)!r}{self._shown_grace()}"
        return f"SessionWindows.{made}{self.rules}{self._shown_retention()})"
