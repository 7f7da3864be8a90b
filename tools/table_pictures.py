"""Diagrams of tables: two runs of a daily job, and a sink that applies changes. windrow computes the rows in them."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from canvas import NARROW, arrow, at, bar, clock, diagram, span, stretch, text
from matplotlib.patches import Rectangle

import windrow as wr
from windrow.plot import Timeline
from windrow.plot._style import CLOSE, EVENT, LATE, LINE
from windrow.testing import StreamDriver

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DAYS = (
    [("ann", at("09:00")), ("bob", at("23:40")), ("bob", at("23:55"))],
    [("bob", at("00:10") + timedelta(days=1)), ("ann", at("08:00") + timedelta(days=1))],
)
ENDS = (at("00:00") + timedelta(days=1), at("00:00") + timedelta(days=2))
PLACES = (
    (at("09:00"), 0.95),
    (at("23:20"), 1.55),
    (at("00:45") + timedelta(days=1), 4.15),
    (at("08:00") + timedelta(days=1), 4.6),
    (ENDS[1], 5.3),
)
"""Where some times are, in inches. Between two of them time goes evenly, so it is slow around midnight."""


def place(time: datetime) -> float:
    """Where a time is."""
    for (start, left), (end, right) in pairwise(PLACES):
        if start <= time <= end:
            return left + (right - left) * ((time - start) / (end - start))
    raise ValueError(f"{time} is not in the picture")


def clicks_of(number: int) -> str:
    """1 click, 2 clicks."""
    return "1 click" if number == 1 else f"{number} clicks"


def daily_job() -> Timeline:
    """Two days of a daily job, with one session across midnight."""
    made, axes = diagram("Two runs, and a session across midnight", 3.6, NARROW)
    for name, left, right in (("Monday", 0.6, place(ENDS[0])), ("Tuesday", place(ENDS[0]), place(ENDS[1]))):
        text(axes, (left + right) / 2, 3.14, name, ha="center", fontweight="bold")
    axes.vlines([place(end) for end in ENDS], 0.32, 3.0, CLOSE, "dotted")
    for end, run in zip(ENDS, ("run 1", "run 2"), strict=True):
        text(axes, place(end), 0.16, f"to of {run}", ha="center" if run == "run 1" else "right", color=CLOSE)
    for y, user in ((2.65, "ann"), (2.2, "bob")):
        text(axes, 0.12, y, user)
        axes.plot([0.6, NARROW - 0.12], [y, y], color=LINE, linewidth=0.8, zorder=1)
        for _, time in (row for day in DAYS for row in day if row[0] == user):
            axes.plot(place(time), y, "o", color=EVENT, zorder=5)
            text(axes, place(time), y + 0.17, clock(time), ha="center")
    still_open: pa.Table | None = None
    for day, to, y in zip(DAYS, ENDS, (1.55, 0.75), strict=True):
        clicks = pa.table({"user": [user for user, _ in day], "ts": [time for _, time in day]})
        windowed = wr.group_by(clicks, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("30 minutes"))
        closed, still_open = windowed.advance(still_open, to=to, clicks=wr.count())
        text(axes, 0.12, y, f"run {ENDS.index(to) + 1}")
        for rows, is_open in ((closed, False), (still_open, True)):
            for row in rows.to_pylist():
                if row["user"] is None:  # the clock row
                    continue
                start, end = row["window"]["start"], row["window"]["end"]
                right = bar(
                    axes, place(start), place(end), y, "" if is_open else clicks_of(row["clicks"]), is_open=is_open
                )
                if is_open:
                    stretch(axes, right, place(end + timedelta(minutes=30)), y, "")
                    left_open = f"open: {clicks_of(row['clicks'])}"
                    text(axes, place(end + timedelta(minutes=30)) + 0.08, y, left_open)
                    arrow(axes, ((place(start) + right) / 2, y - 0.16), ((place(start) + right) / 2, 0.92))
    return made


def box(axes: Axes, left: float, right: float, top: float, lines: list[tuple[str, str | None]]) -> float:
    """A box with lines of text, some in a colour. Returns its bottom."""
    bottom = top - 0.21 * len(lines) - 0.14
    axes.add_patch(Rectangle((left, bottom), right - left, top - bottom, fill=False, edgecolor=LINE))
    for number, (words, color) in enumerate(lines):
        text(axes, left + 0.12, top - 0.18 - 0.21 * number, words, **({"color": color} if color else {}))
    return bottom


def sink() -> Timeline:
    """From records to a table: a record joins two sessions, and the sink deletes both and inserts the new one."""

    def query(clicks: Any) -> Any:
        windows = wr.SessionWindows.with_gap("5 minutes", grace="1 hour")
        return wr.group_by(clicks, "user", time="ts").windowed_by(windows).emit("update").agg(n=wr.count())

    driver = StreamDriver(query, pa.schema({"user": pa.string(), "ts": pa.timestamp("us")}))
    before = [
        change
        for user, time in (("ann", "9:00"), ("ann", "9:08"), ("bob", "9:03"))
        for change in driver.pipe(user=user, ts=at(f"0{time}"))
    ]
    changes = driver.pipe(user="ann", ts=at("09:04"))

    def row(change: Any) -> str:
        return f"{change.key['user']} {span(*change.window)}" + (
            f", {clicks_of(change.values['n'])}" if change.values else ""
        )

    deleted = {change.window for change in changes if change.kind == "delete"}
    table: list[tuple[str, str | None]] = [
        (f"- {row(change)}", LATE) if change.window in deleted else (f"   {row(change)}", None) for change in before
    ]
    table += [(f"+ {row(change)}", None) for change in changes if change.kind == "upsert"]
    made, axes = diagram("How a session gets into a table", 4.35, NARROW)
    middle, low, high = 1.6, 0.12, 3.3
    steps: list[tuple[str, list[tuple[str, str | None]], str]] = [
        ("a micro-batch of records", [("ann 9:04", EVENT)], 'emit("update") … agg(…)'),
        (
            "its changes, with op",
            [(f"{change.kind} {row(change)}", LATE if change.kind == "delete" else None) for change in changes],
            "foreachBatch(sink)",
        ),
        ("the table: key, start, end", table, ""),
    ]
    y = 3.72
    for number, (name, lines, then) in enumerate(steps):
        text(axes, low, y, name, fontweight="bold")
        bottom = box(axes, low, high, y - 0.14, lines)
        if number == 1:
            arrow(axes, (high + 0.35, y - 0.2), (high + 0.35, bottom - 0.3))
            text(axes, high + 0.5, bottom + 0.14, "after a failure Spark")
            text(axes, high + 0.5, bottom - 0.07, "sends them again")
        if then:
            arrow(axes, (middle, bottom - 0.02), (middle, bottom - 0.3))
            text(axes, middle + 0.12, bottom - 0.16, then)
        y = bottom - 0.45
    return made


PICTURES = {"daily-job.svg": daily_job, "sink.svg": sink}
