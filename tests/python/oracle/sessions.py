"""Sessions by the letter of rules 2.1 and 3.2 for sets: each record is the interval from its time to its end and gap.

```text
    record      ├─────┤·····            intervals that share a point are one session
               time  end  reach
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations

from .records import Record, in_order

Session = tuple[int, int, list[Record]]

GapOf = Callable[[Record], int | None]
"""The gap that a record brings along, in ticks; none where it is null. Or its end."""


def lasting_sessions(records: Iterable[Record], gap_of: GapOf, end_of: GapOf) -> list[Session]:
    """The sessions of one key's records that last from their time to an end; those with a bad gap or end are left out.

    Both bounds are inclusive; the end of a session is the latest end. Starts with one session a record and merges any
    two that share a point until no two do.
    """
    found: list[tuple[int, int, int, list[Record]]] = []
    for record in records:
        gap, end = gap_of(record), end_of(record)
        if record.time is not None and gap is not None and gap >= 0 and end is not None and end >= record.time:
            found.append((record.time, end, end + gap, [record]))
    while True:
        pairs = combinations(range(len(found)), 2)
        pair = next((p for p in pairs if all(found[a][0] <= found[b][2] for a, b in (p, p[::-1]))), None)
        if pair is None:
            return sorted(((start, end, in_order(own)) for start, end, _, own in found), key=lambda s: s[:2])
        right, left = found.pop(pair[1]), found.pop(pair[0])
        bounds = min(left[0], right[0]), max(left[1], right[1]), max(left[2], right[2])
        found.append((*bounds, left[3] + right[3]))


def sessions(records: Iterable[Record], gap: int) -> list[Session]:
    """The sessions of one key's records with one gap."""
    return lasting_sessions(records, lambda _: gap, lambda record: record.time)


def dynamic_sessions(records: Iterable[Record], gap_of: GapOf, longest: int) -> list[Session]:
    """The sessions of one key's records that each bring a gap, cut to `longest`; those with a bad one are left out."""

    def cut(record: Record) -> int | None:
        own = gap_of(record)
        return None if own is None or own <= 0 else min(own, longest)

    return lasting_sessions(records, cut, lambda record: record.time)


def bad_gaps(records: Iterable[Record], gap_of: GapOf) -> int:
    """How many records have a key and a time, and a gap that is null, zero or negative."""
    return sum(gap is None or gap <= 0 for gap in map(gap_of, _with_key_and_time(records)))


def clamped_gaps(records: Iterable[Record], gap_of: GapOf, longest: int) -> int:
    """How many records have a key and a time, and a gap that is longer than the longest."""
    return sum(gap is not None and gap > longest for gap in map(gap_of, _with_key_and_time(records)))


def _with_key_and_time(records: Iterable[Record]) -> Iterable[Record]:
    return (record for record in records if record.time is not None and any(part is not None for part in record.key))
