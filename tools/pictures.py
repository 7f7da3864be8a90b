"""Draws the pictures of the README and the docs. `make pictures` writes them to docs/pictures.

    python tools/pictures.py [FOLDER]

`windrow.plot` draws the windows. This script draws the diagrams of stream time in the same style, and what the benches
have measured. `rule_pictures`, `stream_pictures`, `table_pictures` and `room_picture` draw the others. A test compares
all pictures with the stored files, and one compares the figures of speed with README.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import room_picture
import rule_pictures
import stream_pictures
import table_pictures
from canvas import NARROW, at, diagram, events, text
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

import windrow as wr
from windrow.plot import Timeline, timeline
from windrow.plot._style import BAR, CLOSE, DASHED, EVENT, INK, LATE, LINE, SMALL, styled

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "pictures"
GROWTH = ROOT / "benches" / "growth.json"
SPEED = ROOT / "benches" / "speed.json"
CONTRAST = f"""<style>
[style*="fill: {INK}"] {{ fill: #24292f !important }}
@media (prefers-color-scheme: dark) {{ [style*="fill: {INK}"] {{ fill: #e6edf3 !important }} }}
</style>"""
"""A style for better contrast: darker text on light pages and lighter text on dark pages."""


CLICKS = events(("ann", "09:00"), ("ann", "09:11"), ("ann", "09:05"), ("bob", "09:03"))
STREAM = events(
    ("ann", "09:00"), ("ann", "09:05"), ("bob", "09:03"), ("bob", "09:14"), ("ann", "09:07"), ("ann", "09:16")
)


def sessions() -> Timeline:
    """The README example: an event exactly one gap later joins the session."""
    return picture(CLICKS, wr.SessionWindows.with_gap("5 minutes"), ["ann", "bob"])


def tutorial() -> Timeline:
    """The clicks of the tutorials. The first one saves this picture."""
    return picture(STREAM, wr.SessionWindows.with_gap("5 minutes"), ["ann", "bob"])


def sliding() -> Timeline:
    """The same events in sliding windows."""
    return picture(CLICKS, wr.SlidingWindows.with_time_difference("10 minutes"), ["ann"])


def dynamic() -> Timeline:
    """Sessions with a gap for each record."""
    pauses = pa.array([timedelta(minutes=minutes) for minutes in (2, 2, 2, 20)])
    rows = events(("ann", "09:25"), ("ann", "09:05"), ("ann", "09:20"), ("ann", "09:00"))
    return picture(rows.append_column("pause", pauses), wr.SessionWindows.with_dynamic_gap("pause"), ["ann"])


def lasting() -> Timeline:
    """Calls that last until an end, one of them within another."""
    calls = events(("ann", "09:00"), ("ann", "09:05"), ("ann", "09:24"), ("ann", "10:00"), ("bob", "09:10"))
    stopped = pa.array([at(time) for time in ("09:20", "09:07", "09:24", "10:00", "09:12")])
    calls = calls.append_column("stopped", stopped)
    windows = wr.SessionWindows.with_gap("5 minutes")
    return timeline(calls, wr.group_by(calls, "user", time="ts", end="stopped").windowed_by(windows), ["ann", "bob"])


def late() -> Timeline:
    """A stream with a late record, and the times at which sessions close."""
    return picture(STREAM, wr.SessionWindows.with_gap("5 minutes", grace="1 minute"), ["ann", "bob"])


def refused() -> Timeline:
    """Sliding windows of a stream. One window refuses a record."""
    rows = events(("ann", "09:40"), ("ann", "09:52"), ("ann", "09:44"), ("ann", "09:30"))
    windows = wr.SlidingWindows.with_time_difference("10 minutes", grace="2 minutes", resolution="1 minute")
    return picture(rows, windows, ["ann"])


def picture(rows: pa.Table, windows: wr.SessionWindows | wr.SlidingWindows, keys: list[str]) -> Timeline:
    """The picture of some keys."""
    return timeline(rows, wr.group_by(rows, "user", time="ts").windowed_by(windows), keys)


def partitions() -> Timeline:
    """Two partitions, one hours behind: with one common stream time, and with one for each."""
    made, axes = diagram("Two partitions, one of them hours behind", 2.75)
    ahead, behind = (6.2, 6.5, 6.8), (1.5, 1.8, 2.1)
    for top, name in ((2.1, "One stream time for both"), (0.95, 'source=["topic", "partition"]: one for each')):
        axes.text(0.12, top, name, fontweight="bold")
        for y, number, times in ((top - 0.3, 0, ahead), (top - 0.65, 1, behind)):
            is_late = times is behind and top > 2
            axes.text(0.12, y - 0.04, f"partition {number}", fontsize=SMALL)
            axes.plot([1.1, 7.88], [y, y], color=LINE, linewidth=0.8, zorder=1)
            axes.plot(times, [y] * 3, "x" if is_late else "o", color=LATE if is_late else EVENT)
    axes.vlines([6.8, 6.8, 2.1], [1.35, 0.5, 0.15], [1.95, 0.8, 0.45], CLOSE)
    for x, y in ((6.9, 1.58), (6.9, 0.71), (2.2, 0.36)):
        axes.text(x, y, "stream time", fontsize=SMALL, color=CLOSE)
    axes.text(2.2, 1.51, "late, all of them: stream time is hours ahead", fontsize=SMALL, color=LATE)
    axes.text(7.88, 0.1, "event time →", fontsize=SMALL, ha="right")
    return made


def pace() -> Timeline:
    """A session whose updates have a pace: its records, how long they wait, and the rows that leave."""
    made, axes = diagram('ann: gap 5 minutes, grace 1 minute, emit("update", every="10 minutes")', 3.2)
    leaving: Any = {0: ("+ 9:00",), 12: ("- 9:00", "+ 9:00 to 9:12"), 21: ("- 9:00 to 9:12", "+ 9:00 to 9:14")}

    def x(minute: float) -> float:
        return 1.1 + 0.26 * minute

    for y, name in ((2.45, "records"), (1.9, "wait"), (0.95, "rows")):
        axes.text(0.12, y - 0.04, name, fontsize=SMALL)
    axes.plot([x(0), 7.88], [2.45, 2.45], color=LINE, linewidth=0.8, zorder=1)
    for minute in (0, 4, 8, 12, 14):
        axes.plot(x(minute), 2.45, "o", color=EVENT)
        axes.text(x(minute), 2.58, f"9:{minute:02}", fontsize=SMALL, ha="center")
    axes.plot(x(21), 2.45, "o", color=CLOSE)
    axes.text(x(21), 2.58, "9:21, of bob", fontsize=SMALL, ha="center", color=CLOSE)
    for first, last, until in ((4, 12, "at least until 9:10"), (14, 21, "until it closes")):
        axes.plot([x(first), x(last)], [1.9, 1.9], color=EVENT, linestyle=DASHED, marker="|")
        axes.text((x(first) + x(last)) / 2, 1.98, until, fontsize=SMALL, ha="center")
    for minute, rows in leaving.items():
        axes.plot([x(minute)] * 2, [1.2, 2.35], color=LINE, linestyle=":", zorder=1)
        axes.plot(x(minute), 1.2, "v", color=BAR)
        for place, row in enumerate(rows):
            axes.text(x(minute), 0.91 - 0.24 * place, row, fontsize=SMALL, ha="center")
    axes.plot([x(0), x(10)], [1.5, 1.5], color=LINE, marker="|")
    axes.text(x(5), 1.56, "every", fontsize=SMALL, ha="center")
    axes.text(0.12, 0.2, "+ upsert, - delete of the window that the upsert replaces", fontsize=SMALL)
    axes.text(7.88, 0.2, "stream time →", fontsize=SMALL, ha="right")
    return made


def quiet_partition() -> Timeline:
    """Stream time over the wall clock. Records move it first, then control messages."""
    made, axes = diagram("A partition goes quiet", 4.2)
    records, messages = ((0.5, 1.1), (0.9, 1.35), (1.25, 1.55), (1.65, 1.7), (2.0, 1.9)), (4.0, 4.8, 5.6, 6.4)
    ticks = [(x, 1.9 + (x - 2.0) * 0.45 - 0.25) for x in messages]
    steps: Any = {"drawstyle": "steps-post", "zorder": 2}
    axes.plot([0.3, 0.3, 7.88], [3.7, 0.95, 0.95], color=LINE)
    axes.plot([2.0, 7.88], [1.9, 1.9], color=LINE, linestyle=":")
    axes.plot([0.3, 7.88], [3.1, 3.1], color=BAR)
    axes.plot(*zip(*records, strict=True), color=EVENT, **steps)
    axes.plot(*zip(records[-1], *ticks, (7.0, ticks[-1][1]), strict=True), color=CLOSE, linestyle=DASHED, **steps)
    axes.plot(*zip(*records, (1.5, 1.25), (0.2, 0.15), strict=True), "o", color=EVENT)
    axes.plot(*zip(*ticks, (2.9, 0.15), strict=True), "D", color=CLOSE)
    for name, y, start, end in (("start", 0.78, 2.0, 4.0), ("backoff", 0.78, 4.0, 4.8), ("end", 0.5, 2.0, 6.4)):
        axes.plot([start, end], [y, y], color=LINE, marker="|")
        axes.text((start + end) / 2, y - 0.16, name, fontsize=SMALL, ha="center")
    for x, y, words, side in (
        (0.4, 3.62, "stream time ↑", "left"),
        (7.88, 0.76, "wall clock →", "right"),
        (0.4, 3.17, "last event + gap + grace", "left"),
        (5.7, 2.92, "the last window closes", "left"),
        (7.88, 1.74, "without control messages: it stands still", "right"),
        (0.32, 0.11, "record (one out of order)", "left"),
        (3.02, 0.11, "control message: last event + time since then - allowance", "left"),
    ):
        axes.text(x, y, words, fontsize=SMALL, ha=side)
    return made


def growth(name: str) -> Timeline:
    """What a curve of `make bench-grow` costs, by size. A level line is a cost that grows with the data alone."""
    curve: dict[str, Any] = json.loads(GROWTH.read_text(encoding="utf-8"))[name]
    figure = Figure((8, 3.4))
    axes = figure.add_axes((0.08, 0.19, 0.66, 0.68), xscale="log")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(f"{curve['title']}: {curve['cost']}")
    axes.set_xlabel(curve["sizes"])
    axes.tick_params("y", colors=INK, labelsize=SMALL)
    styles = zip((EVENT, BAR, CLOSE, LATE), "osD^", strict=True)
    lines = [(line, *zip(*points, strict=True)) for line, points in curve["lines"].items()]
    top = 1.05 * max(max(costs) for _, _, costs in lines)
    last = -top
    # From the lowest line up, so that each name has room above the one before it.
    for (line, sizes, costs), (color, marker) in zip(sorted(lines, key=lambda each: each[2][-1]), styles, strict=False):
        axes.plot(sizes, costs, marker, linestyle="-", color=color)
        last = max(costs[-1], last + 0.09 * top)
        axes.annotate(line, (sizes[-1], last), (9, 0), textcoords="offset points", va="center", color=color, size=SMALL)
    axes.set_ylim(0, top)
    axes.set_xticks(lines[0][1])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: short(size)))
    where = f"{curve['date']}, commit {curve['commit']}, {curve['machine']}"
    figure.text(0.08, 0.02, where, fontsize=SMALL)
    return Timeline(figure, curve["title"])


def speed() -> Timeline:
    """How many times as fast as others windrow is, in bars of one scale, with a line where both are as fast."""
    measured: list[dict[str, Any]] = json.loads(SPEED.read_text(encoding="utf-8"))
    made, axes = diagram("Sessions: windrow is … times as fast as", 4.85, NARROW)
    y, left, unit = 4.25, 2.15, 0.45
    for group in measured:
        text(axes, 0.12, y, f"{group['data']} ({group['date']}, {group['commit']})")
        lowest = y - 0.3 * len(group["ratios"]) - 0.16
        axes.plot([left + unit] * 2, [lowest, y - 0.14], color=LINE, linestyle=":", zorder=1)
        for peer, ratio in group["ratios"].items():
            y -= 0.3
            color = BAR if ratio >= 1 else LATE
            text(axes, 0.12, y, peer)
            axes.barh(y, unit * ratio, 0.2, left, color=color, zorder=2)
            text(axes, left + unit * ratio + 0.08, y, f"{ratio} \N{MULTIPLICATION SIGN}", fontweight="bold")
        y -= 0.38
    text(axes, left + unit, 0.28, "as fast as each", ha="center")
    text(axes, NARROW - 0.12, 0.28, "2 cores of a virtual machine", ha="right")
    return made


def short(size: float) -> str:
    """1,000,000 as 1 M."""
    for least, name in ((1e6, " M"), (1e3, " k")):
        if size >= least:
            return f"{size / least:g}{name}"
    return f"{size:g}"


PICTURES: dict[str, Callable[[], Timeline]] = {
    "sessions.svg": sessions,
    "sliding.svg": sliding,
    "dynamic-gaps.svg": dynamic,
    "records-with-an-end.svg": lasting,
    "late.svg": late,
    "refused.svg": refused,
    "partitions.svg": partitions,
    "pace.svg": pace,
    "quiet-partition.svg": quiet_partition,
    "tutorial.svg": tutorial,
    "speed.svg": speed,
    **stream_pictures.PICTURES,
    **rule_pictures.PICTURES,
    **table_pictures.PICTURES,
    **room_picture.PICTURES,
    **{f"growth-{name}.svg": partial(growth, name) for name in json.loads(GROWTH.read_text(encoding="utf-8"))},
}


def main(folder: Path = FOLDER) -> None:
    """Writes all pictures."""
    for name, made in PICTURES.items():
        with styled():
            svg = made().svg
        (folder / name).write_text(svg.replace("<defs>", f"{CONTRAST}\n <defs>", 1), encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
