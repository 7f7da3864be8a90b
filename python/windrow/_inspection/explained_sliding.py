"""Explains why a record is in its sliding windows, or late."""

from __future__ import annotations

from windrow._inspection.text import Text, counted
from windrow._inspection.trace import Record, Trace, Window

_SHOWN = 20
_NEAR = 5


def sliding_lines(trace: Trace, record: Record, text: Text) -> list[str]:
    """Lines about the record, its neighbours, and the windows that hold it."""
    lengths = trace.lengths
    difference, time = lengths.difference or 0, lengths.floored(record.time)
    lines = (
        []
        if time == record.time
        else [f"its time counts as {text.time(time)} (resolution {text.length(lengths.resolution)})"]
    )
    lines += _judged(trace, record, time, text)
    near = [
        each for each in trace.records if each is not record and abs(lengths.floored(each.time) - time) <= difference
    ]
    before = [each for each in near if each.place < record.place]
    behind = [each for each in near if each.place > record.place]
    for where, neighbours in (("before", before[::-1]), ("after", behind)):
        shown = ", ".join(text.time(each.time) for each in neighbours[:_NEAR]) or "no record"
        more = f" and {len(neighbours) - _NEAR:,} more" if len(neighbours) > _NEAR else ""
        lines.append(f"at most {text.length(difference)} {where} it: {shown}{more}")
    windows = [window for window in trace.windows if record.row in window.rows]
    if not windows:
        return [*lines, "in no window: every window that could hold it was closed" if trace.stream else "in no window"]
    lines.append(f"in {counted(len(windows), 'window')}, both ends inclusive:")
    lines += [f"  {_window(trace, record, window, text)}" for window in windows[:_SHOWN]]
    return lines + ([f"  and {len(windows) - _SHOWN:,} more"] if len(windows) > _SHOWN else [])


def _judged(trace: Trace, record: Record, time: int, text: Text) -> list[str]:
    """The stream time that judged the record, and the windows that refused it. Empty for a batch."""
    judgement, lengths = trace.judgements.get(record.row), trace.lengths
    if judgement is None or judgement.stream_time is None:
        return []
    grace = lengths.grace or 0
    closed = lengths.floored(judgement.stream_time) - grace
    what = f"what ends before {text.time(closed)} is closed (stream time - grace ({text.length(grace)}))"
    if judgement.late:
        last = text.time(time + (lengths.difference or 0))
        return [
            f"late: stream time was {text.time(judgement.stream_time)}, and {what}",
            f"even its last window ends at {last}: too late for every window",
        ]
    lines = [f"in time: stream time was {text.time(judgement.stream_time)}, and {what}"]
    refused = counted(judgement.refused, "window")
    return lines + ([f"{refused} that ended before that refused it (windows_refused)"] if judgement.refused else [])


def _window(trace: Trace, record: Record, window: Window, text: Text) -> str:
    """The bounds of a window, why it exists, its number of records, and when it closes."""
    lengths = trace.lengths
    difference = lengths.difference or 0
    times = {lengths.floored(each.time) for each in trace.records}
    reasons = []
    if window.start == 0 and window.end == difference and lengths.floored(record.time) < difference:
        reasons.append("the early window, as windows do not cross 1970")
    elif window.end in times:
        mine = window.end == lengths.floored(record.time)
        reasons.append("ends with it" if mine else f"ends with the record at {text.time(window.end)}")
    after = window.start - lengths.resolution
    if after in times:
        reasons.append(f"starts just after the record at {text.time(after)}")
    closes = ""
    if lengths.grace is not None:
        closes = f"; closes when stream time passes {text.time(window.closes)}"
        if window.closed is not None:
            closes = f"; closed by stream time {text.time(window.closed)}, past {text.time(window.closes)}"
    why = f": {' and '.join(reasons)}" if reasons else ""
    return f"{text.window(window)} of {counted(len(window.rows), 'record')}{why}{closes}"
