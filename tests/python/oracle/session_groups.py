"""Sessions of a micro-batch that is judged at once (rules 1.2): groups are connected components, found by brute force.

```text
    gap 5        stored        batch           batch
                 ├────┤·····                            reaches meet: one group, late or not as a whole
                           x·····     x·····
                 start end  t          t    reach
```
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .scenario import Row
from .stream import Window


@dataclass(frozen=True)
class Arrival:
    """A record with a key, a time, a good gap and a good end: its gap in effect, its source, the number of its arrival,
    and its end."""

    row: Row
    gap: int
    source: int
    number: int
    last: int

    @property
    def reach(self) -> int:
        return self.last + self.gap

    @property
    def time(self) -> int:
        assert self.row.time is not None
        return self.row.time

    @property
    def input(self) -> int:
        assert self.row.input is not None
        return self.row.input


@dataclass(frozen=True)
class Group:
    """Records of a micro-batch and stored sessions that are joined."""

    records: tuple[Arrival, ...]
    sessions: tuple[Window, ...]

    @property
    def start(self) -> int:
        return min([*(record.time for record in self.records), *(session.start for session in self.sessions)])

    @property
    def end(self) -> int:
        return max([*(record.last for record in self.records), *(session.end for session in self.sessions)])

    @property
    def reach(self) -> int:
        reaches = [record.reach for record in self.records]
        return max([*reaches, *(session.reach for session in self.sessions)])


def linked(record: Arrival, other: Arrival | Window) -> bool:
    """Whether a record joins a session, or the session that another record alone is (rules 2.1, 3.2)."""
    start, reach = (other.start, other.reach) if isinstance(other, Window) else (other.time, other.reach)
    return record.time <= reach and start <= record.reach


def groups(records: Sequence[Arrival], sessions: Sequence[Window]) -> list[Group]:
    """The connected components of one key's records and visible sessions; sessions are joined by records only."""
    nodes: list[Arrival | Window] = [*records, *sessions]
    component = list(range(len(nodes)))
    for place, record in enumerate(records):
        for other, node in enumerate(nodes):
            if linked(record, node) and component[place] != component[other]:
                old, new = component[other], component[place]
                component = [new if each == old else each for each in component]
    found = []
    for each in sorted(set(component)):
        members = [node for node, own in zip(nodes, component, strict=True) if own == each]
        own_records = tuple(node for node in members if isinstance(node, Arrival))
        found.append(Group(own_records, tuple(node for node in members if isinstance(node, Window))))
    return found


def accepted(
    records: Sequence[Arrival], sessions: Sequence[Window], close_of: Callable[[int], float | int]
) -> list[Group]:
    """The groups that are not late, with what is not late of them.

    A record is late whose group's reach is before the close time of the record's input. Of one input that is all of a
    group or none. Of several inputs the others remain, in groups without it: what is accepted is the largest set of
    records each of which is in a group that is not late by the record's own input.
    """
    kept = list(records)
    while True:
        found = groups(kept, sessions)
        timely = [record for group in found for record in group.records if group.reach >= close_of(record.input)]
        if len(timely) == len(kept):
            return [group for group in found if group.records]
        kept = timely
