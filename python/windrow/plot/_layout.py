"""Which window is drawn in which lane, so that none covers another, and how far a picture goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from windrow._inspection.trace import Record, Trace, Window
from windrow._windows.session import SessionWindows

FEW = 40
"""The most records of a key that are large, and have lines down to their windows."""
_STAIRCASE = 12
"""The most sliding windows of a key that get a lane each."""


@dataclass(frozen=True)
class Band:
    """The drawn parts of one key.

    Attributes:
        key: the place of the key among the keys of the trace.
        records: its records.
        windows: its windows, each with its lane; 0 is the first below the records. A window that would already have
            been closed was not made, and has no rows.
        refusals: the records that came after a window closed, by the bounds of the window.
        lanes: how many lanes they take, at least one.
    """

    key: int
    records: Sequence[Record]
    windows: Sequence[tuple[Window, int]]
    refusals: Mapping[tuple[int, int], Sequence[Record]]
    lanes: int


def bands(trace: Trace, apart: int) -> list[Band]:
    """One band for each key, in the order of the keys; windows of a lane are at least `apart` ticks apart.

    Where there are many records, sessions take one lane, and sliding windows are closer.
    """
    result = []
    for key in range(len(trace.keys)):
        records, windows = trace.of(key)
        refusals = _refusals(trace, records, windows)
        made = {(window.start, window.end) for window in windows}
        windows += [
            Window(key, start, end, frozenset(), trace.lengths.closes(end, end))
            for start, end in refusals
            if (start, end) not in made
        ]
        between = apart
        if len(records) > FEW:
            between = 0 if trace.lengths.difference is None else apart // 2
        is_staircase = trace.lengths.difference is not None and len(windows) <= _STAIRCASE
        ends: list[int] = []
        placed = []
        for window in sorted(windows, key=lambda window: (window.start, window.end)):
            free = (lane for lane, end in enumerate(ends) if end + between < window.start and not is_staircase)
            lane = next(free, len(ends))
            ends[lane : lane + 1] = [far_end(trace, window)]
            placed.append((window, lane))
        result.append(Band(key, records, placed, refusals, max(len(ends), 1)))
    return result


def _refusals(
    trace: Trace, records: Sequence[Record], windows: Sequence[Window]
) -> dict[tuple[int, int], list[Record]]:
    """The records that sliding windows lack because they came after the window closed, by the bounds of the window.

    A record that is not late as a whole would also make its left window, and the right window of the record before.
    """
    lengths = trace.lengths
    accepted = {row for window in windows for row in window.rows}
    refusals: dict[tuple[int, int], list[Record]] = {}
    for record in records:
        judgement = trace.judgements.get(record.row)
        if judgement is None or judgement.stream_time is None or lengths.difference is None:
            continue
        time = lengths.floored(record.time)
        closed = lengths.floored(judgement.stream_time) - (lengths.grace or 0)
        starts = [window.start for window in windows]
        if not judgement.late:
            times = {lengths.floored(each.time) for each in records if each.row < record.row and each.row in accepted}
            starts += [time - lengths.difference if time < 0 else max(time - lengths.difference, 0)]
            starts += [each + lengths.resolution for each in sorted(times) if each < time][-1:]
        for start in dict.fromkeys(starts):
            end = start + lengths.difference
            if start <= time <= end < closed:
                refusals.setdefault((start, end), []).append(record)
    return refusals


def gap_end(trace: Trace, window: Window) -> int:
    """How far the gap after a session reaches: a record up to there joins it. The end of other windows."""
    is_cut = isinstance(trace.windows_of, SessionWindows) and bool(trace.windows_of.rules)
    return window.end + (0 if is_cut else trace.lengths.gap or 0)


def far_end(trace: Trace, window: Window) -> int:
    """How far the picture of a window goes: over its gap, and to its close time where there is one."""
    end = gap_end(trace, window)
    return max(end, window.closes) if trace.lengths.grace is not None else end


def bounds(trace: Trace, drawn: Sequence[Band]) -> tuple[int, int]:
    """The first and the last time of a picture."""
    times = [record.time for record in trace.records]
    times += [time for band in drawn for window, _ in band.windows for time in (window.start, far_end(trace, window))]
    times += [record.reach for record in trace.records]
    judged = (judgement for judgement in trace.judgements.values() if judgement.late or judgement.refused)
    times += [judgement.stream_time for judgement in judged if judgement.stream_time is not None]
    return min(times), max(times)
