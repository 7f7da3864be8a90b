"""Sessions of records that bring their gaps and end before these: rules 2.7, as `session_rules` has them."""

from __future__ import annotations

from collections.abc import Callable

from .records import Record, in_order
from .session_rules import Row, Rules
from .session_rules import sessions as sessions_of_rules
from .sessions import GapOf, Session


def cut_sessions(
    records: list[Record], gap_of: GapOf, longest: int | None, ends: Callable[[Record], bool | None]
) -> list[Session]:
    """The sessions of one key's records, both bounds inclusive; records with a bad gap are left out.

    `longest` is the longest distance between the bounds, in ticks, and `ends` tells which records end their session.
    """
    rows = [
        (Row(None, record.time, ends=ends(record), gap=gap), record)
        for record in records
        if record.time is not None and (gap := gap_of(record) or 0) > 0
    ]
    record_of = {id(row): record for row, record in rows}
    found = sessions_of_rules([row for row, _ in rows], Rules(0, max_duration=longest))
    return [(*session.bounds, in_order(record_of[id(row)] for row in session.rows)) for session in found]
