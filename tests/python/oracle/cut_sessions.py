"""Sessions of records that bring their gaps and end before these: rules 2.7, as `session_rules` has them."""

from __future__ import annotations

from collections.abc import Callable

from .records import Record, in_order
from .session_rules import Row, Rules
from .session_rules import sessions as sessions_of_rules
from .sessions import GapOf, Session


def cut_sessions(
    records: list[Record],
    gap_of: GapOf,
    longest: int | None,
    ends: Callable[[Record], bool | None],
    end_of: GapOf | None = None,
) -> list[Session]:
    """The sessions of one key's records, both bounds inclusive; records with a bad gap or end are left out.

    `longest` is the longest distance between the bounds, in ticks, and `ends` tells which records end their session.
    With `end_of` records last, and a gap may be zero.
    """
    rows = []
    for record in records:
        gap, end = gap_of(record), record.time if end_of is None else end_of(record)
        if None not in (record.time, gap, end) and gap >= (end_of is None) and end >= record.time:
            rows.append((Row(None, record.time, ends=ends(record), end=end, gap=gap), record))
    record_of = {id(row): record for row, record in rows}
    found = sessions_of_rules([row for row, _ in rows], Rules(0, max_duration=longest))
    return [(*session.bounds, in_order(record_of[id(row)] for row in session.rows)) for session in found]
