"""Sessions by the letter of rules 2.1: any two whose distance is at most the gap are one; of rules 3 with own gaps."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .records import Record, in_order

Session = tuple[int, int, list[Record]]


def distance(left: Session, right: Session) -> int:
    """Ticks between two sessions; zero or less where they touch or overlap."""
    return max(left[0], right[0]) - min(left[1], right[1])


def sessions(records: list[Record], gap: int) -> list[Session]:
    """The sessions of one key's records, both bounds inclusive: starts with one session a record and merges any two
    within the gap until no two are."""
    found: list[Session] = [(record.time, record.time, [record]) for record in records if record.time is not None]
    while True:
        pair = next(
            (
                (i, j)
                for i in range(len(found))
                for j in range(i + 1, len(found))
                if distance(found[i], found[j]) <= gap
            ),
            None,
        )
        if pair is None:
            return sorted(((start, end, in_order(members)) for start, end, members in found), key=lambda s: s[:2])
        right, left = found.pop(pair[1]), found.pop(pair[0])
        found.append((min(left[0], right[0]), max(left[1], right[1]), left[2] + right[2]))


GapOf = Callable[[Record], int | None]
"""The gap that a record brings along, in ticks; none where it is null. Or its end."""


def lasting_sessions(records: list[Record], gap_of: GapOf, end_of: GapOf) -> list[Session]:
    """The sessions of one key's records that last from their time to an end; those with a bad gap or end are left out.

    By the letter of rules 2.1 and 3.2 for sets: each record is the interval from its time to end + gap, and intervals
    that share a point are one session. Both bounds are inclusive; the end of a session is the latest end.
    """
    good: list[tuple[int, int, int, Record]] = []
    for record in records:
        gap, end = gap_of(record), end_of(record)
        if record.time is not None and gap is not None and gap >= 0 and end is not None and end >= record.time:
            good.append((record.time, end, end + gap, record))
    found: list[Session] = []
    left = list(good)
    while left:
        together = [left.pop()]
        while more := [one for one in left if any(one[0] <= two[2] and two[0] <= one[2] for two in together)]:
            together += more
            left = [one for one in left if one not in more]
        members = in_order([record for *_, record in together])
        found.append((min(one[0] for one in together), max(one[1] for one in together), members))
    return sorted(found, key=lambda session: session[:2])


def dynamic_sessions(records: list[Record], gap_of: GapOf, longest: int) -> list[Session]:
    """The sessions of one key's records that each bring a gap, cut to `longest`; those with a bad one are left out.

    Record by record as rules 3.2 say it: a session keeps the greatest time + gap of its records as its reach, and a
    record joins every session with `time <= reach` and `start <= time + gap`.
    """
    found: list[tuple[int, list[Record]]] = []
    for record in records:
        own = gap_of(record)
        if record.time is None or own is None or own <= 0:
            continue
        reach, members, apart = record.time + min(own, longest), [record], []
        for session in found:
            start = min(member.time for member in session[1] if member.time is not None)
            if record.time <= session[0] and start <= record.time + min(own, longest):
                reach, members = max(reach, session[0]), session[1] + members
            else:
                apart.append(session)
        found = [*apart, (reach, members)]
    ordered = [in_order(members) for _, members in found]
    return sorted(((rows[0].time or 0, rows[-1].time or 0, rows) for rows in ordered), key=lambda s: s[:2])


def bad_gaps(records: Iterable[Record], gap_of: GapOf) -> int:
    """How many records have a key and a time, and a gap that is null, zero or negative."""
    return sum(gap is None or gap <= 0 for gap in map(gap_of, _with_key_and_time(records)))


def clamped_gaps(records: Iterable[Record], gap_of: GapOf, longest: int) -> int:
    """How many records have a key and a time, and a gap that is longer than the longest."""
    return sum(gap is not None and gap > longest for gap in map(gap_of, _with_key_and_time(records)))


def _with_key_and_time(records: Iterable[Record]) -> Iterable[Record]:
    return (record for record in records if record.time is not None and any(part is not None for part in record.key))
