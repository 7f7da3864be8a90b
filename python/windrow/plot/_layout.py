"""Which window is drawn in which lane, so that none covers another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windrow._inspection.trace import Key, Record, Trace, Window


@dataclass(frozen=True)
class Band:
    """What is drawn of one key.

    Attributes:
        key: the key.
        records: its records.
        windows: its windows, each with its lane; 0 is the first below the records.
        lanes: how many lanes they take, one at least.
    """

    key: Key
    records: Sequence[Record]
    windows: Sequence[tuple[Window, int]]
    lanes: int


def bands(trace: Trace, keys: Sequence[Key], apart: int) -> list[Band]:
    """One band for each key, in the order of the keys; windows of a lane are at least `apart` ticks apart."""
    lanes = []
    for key in keys:
        records, windows = trace.of(key)
        ends: list[int] = []
        placed = []
        for window in sorted(windows, key=lambda window: (window.start, window.end)):
            free = (lane for lane, end in enumerate(ends) if end + apart < window.start)
            lane = next(free, len(ends))
            ends[lane : lane + 1] = [far_end(trace, window)]
            placed.append((window, lane))
        lanes.append(Band(key, records, placed, max(len(ends), 1)))
    return lanes


def far_end(trace: Trace, window: Window) -> int:
    """How far the picture of a window goes: to its close time where there is one."""
    return max(window.end, window.closes) if trace.lengths.grace is not None else window.end


def bounds(trace: Trace) -> tuple[int, int]:
    """The first and the last time of a picture."""
    times = [record.time for record in trace.records]
    times += [bound for window in trace.windows for bound in (window.start, far_end(trace, window))]
    times += [record.time + record.gap for record in trace.records if record.gap is not None]
    judged = (trace.judgements[row].stream_time for row in trace.judgements if trace.judgements[row].late)
    times += [time for time in judged if time is not None]
    return min(times), max(times)
