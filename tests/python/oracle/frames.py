"""The frame of each record: the records from `t - delay - difference` to `t - delay`, looked for among all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .records import Record, in_order


@dataclass(frozen=True)
class Frame:
    """Lengths in ticks; `closed` has pandas' words for the bounds that belong to the frame."""

    difference: int
    closed: str = "both"
    delay: int = 0

    def has(self, time: int, other: int, resolution: int) -> bool:
        """Whether a record at `other` is in the frame of a record at `time`."""
        end = time // resolution * resolution - self.delay
        start, place = end - self.difference, other // resolution * resolution
        is_after = start < place or (place == start and self.closed in ("both", "left"))
        is_before = place < end or (place == end and self.closed in ("both", "right"))
        return is_after and is_before

    def members(self, time: int, records: Iterable[Record], resolution: int) -> list[Record]:
        """The records of one key in the frame of a record at `time`, by time and arrival."""
        return in_order(other for other in records if other.time is not None and self.has(time, other.time, resolution))
