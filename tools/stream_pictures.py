"""Diagrams of streams: how records move stream time, when windows close, and which rows come out.

`StreamDriver` and the trace of `windrow.plot` compute the windows, the times at which they close, and the rows.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from canvas import NARROW, at, bar, clock, diagram, events, span, stretch, text

import windrow as wr
from windrow._inspection.query import trace
from windrow._inspection.trace import Window
from windrow.plot import Timeline
from windrow.plot._style import CLOSE, EVENT, LATE, LINE
from windrow.testing import StreamDriver

EPOCH = datetime(1970, 1, 1)
SCHEMA = pa.schema({"user": pa.string(), "ts": pa.timestamp("us"), "offset": pa.int64()})


def windowed(rows: Any, windows: Any) -> Any:
    """The query of all pictures, without its aggregates."""
    return wr.group_by(rows, "user", time="ts").windowed_by(windows)


def traced(rows: pa.Table, windows: Any, keys: list[str]) -> list[Window]:
    """The windows of some keys on a stream of these rows."""
    return list(trace(rows, windowed(rows, windows), keys, True, 100, argument="keys").windows)


def time_of(ticks: int) -> datetime:
    """The time of a trace."""
    return EPOCH + timedelta(microseconds=ticks)


def arrivals() -> Timeline:
    """Records and a tick in the order in which they arrive, stream time after each, and the sessions."""
    rows = events(("ann", "09:00"), ("bob", "09:14"), ("ann", "09:04"))
    sessions = wr.SessionWindows.with_gap("5 minutes", grace="10 minutes")
    driver = StreamDriver(lambda clicks: windowed(clicks, sessions).count(), rows.schema)
    made, axes = diagram("Records move stream time, and so does a tick", 3.5, NARROW)

    def x(time: datetime) -> float:
        return 1.3 + (time - at("09:00")) / timedelta(minutes=7.2)

    steps, y = [], 2.86
    for user, time in [*zip(*rows.to_pydict().values(), strict=True), ("tick", at("09:20"))]:
        if user == "tick":
            driver.tick(time)
            axes.plot(x(time), y, "D", color=CLOSE, zorder=5)
        else:
            driver.pipe(user=user, ts=time)
            axes.plot(x(time), y, "o", color=EVENT, zorder=5)
        text(axes, 0.12, y, f"{user} {clock(time)}")
        axes.plot([1.3, NARROW - 0.12], [y, y], color=LINE, linewidth=0.8, zorder=1)
        steps += [(x(driver.stream_time), y + 0.12), (x(driver.stream_time), y - 0.23)]
        y -= 0.35
    axes.plot(*zip(*steps, (steps[-1][0], 0.3), strict=True), color=CLOSE, zorder=2)
    text(axes, steps[-1][0] + 0.08, 2.3, "stream time ↓", color=CLOSE)
    text(axes, NARROW - 0.12, 0.16, "event time →", ha="right")
    for window, y in zip(traced(rows, sessions, ["ann", "bob"]), (1.2, 0.6), strict=True):
        user, start, end = ("ann", "bob")[window.key], time_of(window.start), time_of(window.end)
        is_open = driver.stream_time <= time_of(window.closes)
        text(axes, 0.12, y, f"{user}: {'open' if is_open else 'closed'}")
        right = bar(axes, x(start), x(end), y, is_open=is_open)
        stretch(axes, right, x(end) + 5 / 7.2, y, "gap")
        if not is_open:
            stretch(axes, x(end) + 5 / 7.2, x(time_of(window.closes)), y, "grace 10 minutes", is_grace=True)
            text(axes, x(time_of(window.closes)), y - 0.22, clock(time_of(window.closes)), ha="right", color=CLOSE)
        else:
            axes.plot([x(end) + 5 / 7.2, NARROW], [y, y], color=CLOSE, linestyle=(0, (3, 2)))
    return made


def closing() -> Timeline:
    """The last window of the same two records: as a session, with dynamic gaps, and as a sliding window."""
    rows = events(("ann", "09:00"), ("ann", "09:04"))
    rows = rows.append_column("pause", pa.array([timedelta(minutes=8), timedelta(minutes=2)]))
    kinds: Any = {
        "session: end + gap + grace": (wr.SessionWindows.with_gap("5 minutes", grace="1 minute"), 5),
        "dynamic gaps: reach + grace": (wr.SessionWindows.with_dynamic_gap("pause", grace="1 minute"), 4),
        "sliding window: end + grace": (wr.SlidingWindows.with_time_difference("4 minutes", grace="1 minute"), 0),
    }
    made, axes = diagram("A window closes when stream time passes the mark", 4.85, NARROW)

    def x(time: datetime) -> float:
        return 0.3 + 0.42 * ((time - at("09:00")) / timedelta(minutes=1))

    y = 4.3
    for name, (windows, minutes) in kinds.items():
        (window,) = [each for each in traced(rows, windows, ["ann"]) if time_of(each.end) == at("09:04")]
        start, end, closes = map(time_of, (window.start, window.end, window.closes))
        text(axes, 0.12, y, name, fontweight="bold")
        y -= 0.48
        axes.plot([0.12, NARROW - 0.12], [y, y], color=LINE, linewidth=0.8, zorder=1)
        for row in rows.to_pylist():
            axes.plot(x(row["ts"]), y, "o", color=EVENT, zorder=5)
            text(axes, x(row["ts"]), y + 0.2, clock(row["ts"]), ha="center")
        for row in rows.to_pylist() if "dynamic" in name else []:
            y -= 0.19
            axes.plot([x(row["ts"]), x(row["ts"] + row["pause"])], [y, y], color=LINE, marker="|")
            text(axes, x(row["ts"] + row["pause"]) + 0.1, y, f"gap of {clock(row['ts'])}")
        y -= 0.38
        reach = end + timedelta(minutes=minutes)
        right = bar(axes, x(start), x(end), y, span(start, end))
        if minutes:
            stretch(axes, right, x(reach), y, "reach" if "dynamic" in name else "gap 5 minutes")
        stretch(axes, x(reach), x(closes), y, "grace", is_grace=True)
        text(axes, x(closes) + 0.1, y, clock(closes), color=CLOSE)
        y -= 0.4
    text(axes, NARROW - 0.12, 0.12, "event time →", ha="right")
    return made


MODES = ("close", "update", "every_record")
BATCHES = (("09:00", "09:03"), ("09:09",), ("09:06",))
SIGNS = {"upsert": "+", "delete": "-", "final": "="}


def changes() -> Timeline:
    """What three micro-batches and a tick give, by mode of `emit`."""

    def driver(mode: str) -> StreamDriver:
        def query(clicks: Any) -> Any:
            sessions = wr.SessionWindows.with_gap("5 minutes", grace="1 minute")
            emitted = wr.group_by(clicks, "user", time="ts", order="offset").windowed_by(sessions)
            when: Any = "close" if mode == "close" else "update"
            return emitted.emit(when, every_record=mode == "every_record").count()

        return StreamDriver(query, SCHEMA)

    drivers = {mode: driver(mode) for mode in MODES}
    made, axes = diagram("ann: gap 5 minutes, grace 1 minute", 3.2, 6)
    columns = (0.12, 0.9, 2.2, 3.45, 4.75)
    for x, name in zip(columns, ("records", "sessions", *MODES), strict=True):
        text(axes, x, 2.7, name, fontweight="bold")
    y, offset = 2.38, 0
    for times in (*BATCHES, ()):
        axes.plot([0.12, 5.88], [y + 0.16] * 2, color=LINE, linewidth=0.8)
        rows = [{"user": "ann", "ts": at(time), "offset": offset + number} for number, time in enumerate(times)]
        offset += len(rows)
        most = max(1, len(rows))
        for x, each in zip(columns[2:], drivers.values(), strict=True):
            found = each.pipe_batch(pa.Table.from_pylist(rows, SCHEMA)) if rows else each.tick(at("09:20"))
            most = max(most, len(found))
            for place, change in enumerate(found):
                color = {"color": LATE} if change.kind == "delete" else {}
                text(axes, x, y - 0.2 * place, f"{SIGNS[change.kind]} {span(*change.window)}", **color)
        for place, row in enumerate(rows):
            text(axes, columns[0], y - 0.2 * place, clock(row["ts"]))
        if not rows:
            text(axes, columns[0], y, "tick 9:20", color=CLOSE)
        for session in drivers["update"].sessions.fetch("ann").to_pylist():
            start, end = (0.93 + (bound - at("09:00")) / timedelta(minutes=8.5) for bound in session["window"].values())
            bar(axes, start, end, y - 0.1 * (most - 1))
        y -= 0.2 * most + 0.15
    text(axes, 0.12, 0.16, "+ upsert, - delete, = final")
    text(axes, 5.88, 0.16, "a micro-batch between two lines", ha="right")
    return made


PICTURES = {"arrivals.svg": arrivals, "closing.svg": closing, "changes.svg": changes}
