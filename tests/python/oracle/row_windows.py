"""The window of each record: of sessions the one that it is in, of sliding windows the one that ends at it."""

from __future__ import annotations

from collections.abc import Callable

from .records import Record
from .sessions import GapOf, dynamic_sessions, sessions

Member = tuple[int, int, list[int]]
"""The bounds of a window, both inclusive, and the arrivals of the records in it, ascending."""

RowWindows = Callable[[list[Record]], dict[int, Member]]
"""From the records of one key to the window of each, by its arrival; a record that is left out has none."""


def of_sessions(gap: int) -> RowWindows:
    """Sessions of one gap."""
    return lambda records: _members(sessions(records, gap))


def of_dynamic_sessions(gap_of: GapOf, longest: int) -> RowWindows:
    """Sessions of records that bring their gaps."""
    return lambda records: _members(dynamic_sessions(records, gap_of, longest))


def of_sliding(difference: int, resolution: int) -> RowWindows:
    """`[t - difference, t]`, of times that are floored to the resolution."""

    def windows(records: list[Record]) -> dict[int, Member]:
        timed = [
            (record.time // resolution * resolution, record.arrival) for record in records if record.time is not None
        ]
        return {
            row: (time - difference, time, sorted(other for at, other in timed if time - difference <= at <= time))
            for time, row in timed
        }

    return windows


def _members(found: list[tuple[int, int, list[Record]]]) -> dict[int, Member]:
    return {
        member.arrival: (start, end, sorted(other.arrival for other in members))
        for start, end, members in found
        for member in members
    }
