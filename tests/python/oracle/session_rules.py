"""Sessions that rules end, by the letter of rules 2.7, on plain values."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Row:
    """A record: its key, its time in microseconds, and what the rules ask of it. Without a gap it has that of all."""

    key: Any
    time: int
    tie: int = 0
    ends: bool | None = None
    begins: bool | None = None
    values: tuple[Any, ...] = ()
    end: int | None = None
    gap: int | None = None

    @property
    def last(self) -> int:
        """Its end; its time without one."""
        return self.time if self.end is None else self.end


@dataclass(frozen=True)
class Rules:
    """The rules; lengths are in microseconds."""

    gap: int
    max_duration: int | None = None
    max_records: int | None = None
    cut_at: time | None = None
    zone: str | None = None


@dataclass
class Session:
    """A session: its rows in order, why it ended, and how many of its key with the same start come before it."""

    key: Any
    rows: list[Row] = field(default_factory=list)
    ended_by: str = "open"
    ordinal: int = 0

    @property
    def bounds(self) -> tuple[int, int]:
        """The time of the first row and the latest end."""
        return self.rows[0].time, max(row.last for row in self.rows)


def borders(rules: Rules, first: int, last: int) -> list[int]:
    """The borders of days around two times: each second at which the clock first shows the time, or passes it."""
    if rules.cut_at is None:
        return []
    clock = UTC if rules.zone is None else ZoneInfo(rules.zone)
    found = []
    day = (EPOCH + timedelta(microseconds=first)).astimezone(clock).date() - timedelta(days=2)
    while True:
        wanted = datetime.combine(day, rules.cut_at)
        at = wanted.replace(tzinfo=clock, fold=0).astimezone(UTC)
        if at.astimezone(clock).replace(tzinfo=None) != wanted:
            # The clock skips it: walk to the first second that shows a later time.
            at = wanted.replace(tzinfo=UTC) - timedelta(hours=16)
            while at.astimezone(clock).replace(tzinfo=None) < wanted:
                at += timedelta(minutes=15)
        found.append((at - EPOCH) // timedelta(microseconds=1))
        if found[-1] > last:
            return found
        day += timedelta(days=1)


def sessions(rows: Sequence[Row], rules: Rules, last: str = "open") -> list[Session]:
    """The sessions of all keys. `last` is the end of a key's last session that no rule ended."""
    found = []
    for key, own in itertools.groupby(sorted(rows, key=lambda row: str(row.key)), key=lambda row: row.key):
        found += _of_key(key, sorted(own, key=lambda row: (row.time, row.tie)), rules, last)
    return found


def _of_key(key: Any, rows: list[Row], rules: Rules, last: str) -> list[Session]:
    days = borders(rules, rows[0].time, rows[-1].time)
    made: list[Session] = []
    before: list[Row] = []
    for (at, _), same in itertools.groupby(rows, key=lambda row: (row.time, row.tie)):
        together = list(same)
        if made:
            session = made[-1]
            start, end = session.bounds
            values = [row.values for row in (*before, *together)]
            latest = max(end, *(row.last for row in together))
            reasons = {
                "end_when": any(row.ends for row in before),
                "max_records": rules.max_records is not None and len(session.rows) >= rules.max_records,
                "gap": all(at - row.last > (rules.gap if row.gap is None else row.gap) for row in session.rows),
                "start_when": any(row.begins for row in together),
                "cut_on": any(value != values[0] for value in values),
                "cut_at": any(before[0].time < day <= at for day in days),
                "max_duration": rules.max_duration is not None and latest - start > rules.max_duration,
            }
            session.ended_by = next((reason for reason, holds in reasons.items() if holds), "")
        if not made or made[-1].ended_by:
            twin = made[-1].ordinal + 1 if made and made[-1].rows[0].time == at else 0
            made.append(Session(key, ordinal=twin))
        made[-1].rows += together
        before = together
    full = rules.max_records is not None and len(made[-1].rows) >= rules.max_records
    made[-1].ended_by = "end_when" if any(row.ends for row in before) else "max_records" if full else last
    return made
