"""Sessions that end before their gap does, by the letter of rules 2.7: the records of a key in the order of time, those
of one time together, each in the session of those before it or in the next one."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from .records import Record, in_order
from .sessions import GapOf, Session


def cut_sessions(
    records: list[Record], gap_of: GapOf, longest: int | None, ends: Callable[[Record], bool | None]
) -> list[Session]:
    """The sessions of one key's records, both bounds inclusive; records with a bad gap are left out.

    `longest` is the longest distance between the bounds, in ticks, and `ends` tells which records end their session.
    """
    gaps = {record.arrival: gap_of(record) for record in records}
    kept = [record for record in records if record.time is not None and (gaps[record.arrival] or 0) > 0]
    found: list[list[Record]] = []
    for time, same in itertools.groupby(in_order(kept), key=lambda record: record.time or 0):
        together = list(same)
        if not found or not goes_on(found[-1], time, gaps, longest, ends):
            found.append([])
        found[-1] += together
    return [(session[0].time or 0, session[-1].time or 0, session) for session in found]


def goes_on(
    session: list[Record],
    time: int,
    gaps: dict[int, int | None],
    longest: int | None,
    ends: Callable[[Record], bool | None],
) -> bool:
    """Whether a session takes what comes at a time after all of its records."""
    if any(ends(record) is True for record in session):
        return False
    if longest is not None and time - (session[0].time or 0) > longest:
        return False
    return any(time <= (record.time or 0) + (gaps[record.arrival] or 0) for record in session)
