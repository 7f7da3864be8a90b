"""Explains why a record is in its session, or late."""

from __future__ import annotations

from collections.abc import Sequence

from windrow._inspection.text import Text, counted
from windrow._inspection.trace import Record, Trace, Window
from windrow._windows.session import SessionWindows


def session_lines(trace: Trace, record: Record, text: Text) -> list[str]:
    """Lines about the record, its neighbours, and when its session closes."""
    sessions = [window for window in trace.windows if record.row in window.rows]
    lines = _judged(trace, record, text)
    if not sessions:
        return lines + _missed(trace, record, text)
    for window in sessions:
        count = counted(len(window.rows), "record")
        lines.append(f"in the session {text.window(window)}, which has {count}")
        taken = _taken(trace)
        members = [each for each in taken if each.row in window.rows]
        lines.append(_before(trace, record, members, taken, text))
        lines.append(_behind(trace, record, members, taken, text))
        lines += _closing(trace, window, text)
    return lines


def _judged(trace: Trace, record: Record, text: Text) -> list[str]:
    """The stream time that judged the record. Empty for a batch."""
    judgement = trace.judgements.get(record.row)
    lengths = trace.lengths
    if judgement is None or judgement.stream_time is None:
        return []
    grace = lengths.grace or 0
    closed = judgement.stream_time - (lengths.gap or 0) - grace
    less = "" if lengths.gap is None else f" - gap ({text.length(lengths.gap)})"
    what = f"what {'ends before' if lengths.gap is not None else 'reaches less far than'} {text.time(closed)}"
    how = f"stream time{less} - grace ({text.length(grace)})"
    if not judgement.late:
        return [
            f"in time: stream time was {text.time(judgement.stream_time)}, and {what} is closed ({how})",
            *_behind_grace(trace, record, judgement.stream_time - grace, text),
        ]
    end = record.last if lengths.gap is not None else record.reach
    verb = "ends at" if lengths.gap is not None else "reaches to"
    return [
        f"late: stream time was {text.time(judgement.stream_time)}, and {what} is closed ({how})",
        f"no open session takes it, and alone it {verb} {text.time(end)}: {text.length(closed - end)} too late",
    ]


def _behind_grace(trace: Trace, record: Record, least: int, text: Text) -> list[str]:
    """That a record with an end came later than the grace covers. Empty for any other record."""
    if not trace.ends or record.time >= least:
        return []
    how = f"it starts before {text.time(least)} (stream time - grace)"
    return [f"behind: {how}, so it may miss sessions that closed while it ran"]


def _missed(trace: Trace, record: Record, text: Text) -> list[str]:
    """The closed sessions that a late record would have joined."""
    lines = []
    for window in trace.windows:
        reach = window.closes - (trace.lengths.grace or 0)
        if window.start <= trace.reach(record) and record.time <= reach and window.closed is not None:
            lines.append(
                f"near it: the session {text.window(window)}, closed since stream time {text.time(window.closed)}"
            )
    return lines


def _taken(trace: Trace) -> list[Record]:
    rows = {row for window in trace.windows for row in window.rows}
    return [record for record in trace.records if record.row in rows]


def _before(trace: Trace, record: Record, members: Sequence[Record], taken: Sequence[Record], text: Text) -> str:
    inside = [each for each in members if each.place < record.place]
    outside = [each for each in taken if each not in members and each.place < record.place]
    fixed = trace.lengths.gap
    if fixed is None or trace.ends:  # records join by how far they reach, not by the distance of neighbours
        if inside:
            far = max(inside, key=trace.reach)
            return f"previous record: {_reaching(far, trace, text)}, which is not before this record: one session"
        if not outside:
            return "previous record: none: the session starts here"
        far = max(outside, key=trace.reach)
        why = "which is before this record" if trace.reach(far) < record.time else _between(far, trace, text)
        return f"previous record: {_reaching(far, trace, text)}, {why}: the session starts here"
    if inside:
        near = inside[-1]
        return f"previous record: {_distance(near, record, fixed, text)}: one session"
    if not outside:
        return "previous record: none: the session starts here"
    near = outside[-1]
    away = f"{_distance(near, record, fixed, text)}{_why_apart(near, record, near, trace, text)}"
    return f"previous record: {away}: the session starts here"


def _behind(trace: Trace, record: Record, members: Sequence[Record], taken: Sequence[Record], text: Text) -> str:
    inside = [each for each in members if each.place > record.place]
    outside = [each for each in taken if each not in members and each.place > record.place]
    fixed = trace.lengths.gap
    if fixed is None or trace.ends:
        far = max((each for each in members if each.place <= record.place), key=trace.reach)
        gap = text.length(trace.reach(record) - record.last)
        own = "its own gap" if trace.lengths.gap is None else "the gap"
        alone = f"its end with {own} of {gap}" if trace.ends else f"{own} of {gap}"
        reach = (
            _reaching(far, trace, text) if far is not record else f"{alone} reaches to {text.time(trace.reach(record))}"
        )
        if inside:
            return f"next record: {text.time(inside[0].time)}; {reach}: one session"
        if not outside:
            return f"next record: none; {reach}: the session ends here"
        near = outside[0]
        why = "which is before it" if trace.reach(far) < near.time else _between(record, trace, text)
        return f"next record: {text.time(near.time)}; {reach}, {why}: the session ends here"
    if inside:
        return f"next record: {_distance(inside[0], record, fixed, text)}: one session"
    if not outside:
        return "next record: none: the session ends here"
    near = outside[0]
    away = f"{_distance(near, record, fixed, text)}{_why_apart(near, record, record, trace, text)}"
    return f"next record: {away}: the session ends here"


def _distance(other: Record, record: Record, gap: int, text: Text) -> str:
    """The distance of a neighbour, compared with the gap."""
    away = abs(record.time - other.time)
    than = "at most" if away <= gap else "more than"
    return f"{text.time(other.time)}, {text.length(away)} away, {than} the gap of {text.length(gap)}"


def _why_apart(other: Record, record: Record, earlier: Record, trace: Trace, text: Text) -> str:
    """Why a record within the gap is in another session. `earlier` is the earlier of the two."""
    if abs(record.time - other.time) > (trace.lengths.gap or 0):
        return ""
    if trace.stream:
        return ", but one of them came when the session of the other was closed"
    return f", {_between(earlier, trace, text)}"


def _between(earlier: Record, trace: Trace, text: Text) -> str:
    """Why the session of a record ended before the next record, although its gap reaches it."""
    if trace.stream:
        return "but its session was closed when the other record came"
    ends = trace.windows_of.rules.end_when if isinstance(trace.windows_of, SessionWindows) else None
    session = next(window for window in trace.windows if earlier.row in window.rows)
    times = [record.time for record in trace.records if record.row in session.rows and record.ends]
    if times:
        return f"but {ends!r} is true at {text.time(max(times))}, which ends its session"
    return f"but its session would be longer than {text.length(trace.lengths.session or 0)}"


def _reaching(record: Record, trace: Trace, text: Text) -> str:
    """The time, the end and the reach of a record, as text."""
    reach = trace.reach(record)
    until = f" to {text.time(record.last)}" if record.last != record.time else ""
    gap = f"{'its' if trace.lengths.gap is None else 'the'} gap of {text.length(reach - record.last)}"
    return f"that of {text.time(record.time)}{until} with {gap} reaches to {text.time(reach)}"


def _closing(trace: Trace, window: Window, text: Text) -> list[str]:
    """When the session closes on a stream. Empty without a grace."""
    lengths = trace.lengths
    if lengths.grace is None:
        return []
    since = (
        "the farthest reach of its records" if lengths.gap is None else f"its end + gap ({text.length(lengths.gap)})"
    )
    how = f"{text.time(window.closes)}: {since} + grace ({text.length(lengths.grace)})"
    if window.closed is not None:
        return [f"closed by stream time {text.time(window.closed)}, past {how}"]
    return [f"{'still open: it' if trace.stream else 'on a stream it'} closes when stream time passes {how}"]
