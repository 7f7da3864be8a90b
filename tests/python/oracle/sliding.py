"""Sliding windows by the letter of rules 4.1 and 4.2: the windows of every record, their contents by scanning."""

from __future__ import annotations

from .records import Record, in_order

Bounds = tuple[int, int]
Sliding = tuple[int, int, list[Record]]


def floored(time: int, resolution: int) -> int:
    """The time floored to the resolution, toward minus infinity."""
    return time // resolution * resolution


def world(times: list[int], difference: int, resolution: int) -> set[Bounds]:
    """The distinct windows of one world's floored times.

    ```text
        early [0, d] for 0 <= t < d         left [t-d, t]           right [t+u, t+u+d], where it holds a record
        ├──x───────┤                        ├─────────x                        x├─────────┤
        0  t       d                        t-d       t                        t t+u      t+u+d
    ```
    """
    bounds: set[Bounds] = set()
    for time in times:
        if 0 <= time < difference:
            bounds.add((0, difference))
        else:
            bounds.add((time - difference, time))
        start, end = time + resolution, time + resolution + difference
        if any(start <= other <= end for other in times):
            bounds.add((start, end))
    return bounds


def sliding(records: list[Record], difference: int, resolution: int) -> list[Sliding]:
    """The sliding windows of one key's records, bounds inclusive. Records before time 0 are a world of their own."""
    windows: list[Sliding] = []
    timed = [(floored(record.time, resolution), record) for record in records if record.time is not None]
    for members in ([pair for pair in timed if pair[0] < 0], [pair for pair in timed if pair[0] >= 0]):
        for start, end in sorted(world([time for time, _ in members], difference, resolution)):
            windows.append((start, end, in_order(record for time, record in members if start <= time <= end)))
    return windows
