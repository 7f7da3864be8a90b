"""Sessions by the letter of rules 2.1: any two whose distance is at most the gap are one."""

from __future__ import annotations

from oracle.records import Record, in_order

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
