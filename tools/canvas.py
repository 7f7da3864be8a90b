"""What all diagrams of the docs are drawn with: an empty picture in inches, bars of windows, arrows."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle

from windrow.plot import Timeline
from windrow.plot._style import BAR, CLOSE, DASHED, LINE, ON_BAR, SMALL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NARROW = 5.6
"""The width of a picture whose text can be read on a phone."""
TALL = 0.22
LEAST = 0.07
"""The height of a bar, and its least width."""


def at(text: str) -> datetime:
    """A time on the day of all pictures."""
    return datetime.fromisoformat(f"2026-05-04 {text}")


def events(*rows: tuple[str, str]) -> pa.Table:
    """Events as (user, time), in order of arrival."""
    return pa.table({"user": [user for user, _ in rows], "ts": pa.array([at(time) for _, time in rows])})


def clock(time: datetime) -> str:
    """9:05 as the text of a picture."""
    return f"{time.hour}:{time:%M}"


def span(start: datetime, end: datetime) -> str:
    """The bounds of a window as the text of a picture; one time where they are the same."""
    return clock(start) if start == end else f"{clock(start)} to {clock(end)}"


def diagram(title: str, height: float, width: float = 8) -> tuple[Timeline, Axes]:
    """An empty picture. Its units are inches."""
    figure = Figure((width, height))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(0, height))
    axes.set_axis_off()
    axes.text(0.12, height - 0.2, title, fontsize=12, va="center")
    return Timeline(figure, title), axes


def text(axes: Axes, x: float, y: float, words: str, **how: Any) -> None:
    """Small text."""
    axes.text(x, y, words, **{"fontsize": SMALL, "va": "center_baseline", **how})


def bar(axes: Axes, left: float, right: float, y: float, words: str = "", *, is_open: bool = False) -> float:
    """A window, hollow if it is open. Its text is behind it if it has no room. Returns the right end of the bar."""
    if right - left < LEAST:
        left, right = (left + right - LEAST) / 2, (left + right + LEAST) / 2
    face, style = ("none", DASHED) if is_open else (BAR, "solid")
    place = (left, y - TALL / 2)
    axes.add_patch(
        Rectangle(place, right - left, TALL, facecolor=face, edgecolor=BAR, linestyle=style, linewidth=1.2, zorder=3)
    )
    if right - left > 0.085 * len(words) + 0.05:
        text(axes, (left + right) / 2, y, words, ha="center", color=BAR if is_open else ON_BAR, zorder=4)
    elif words:
        text(axes, right + 0.06, y, words, zorder=4)
    return right


def stretch(axes: Axes, left: float, right: float, y: float, words: str, *, is_grace: bool = False) -> None:
    """What follows the end of a window, with its name above: a gap or a grace."""
    color, style, size = (CLOSE, DASHED, 9) if is_grace else (LINE, "solid", 6)
    axes.plot([left, right], [y, y], color=color, linestyle=style, solid_capstyle="butt", zorder=2)
    axes.plot([right], [y], "|", color=color, markersize=size, zorder=2)
    if is_grace:
        text(axes, left + 0.05, y + 0.14, words)
    else:
        text(axes, (left + right) / 2, y + 0.13, words, ha="center")


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    """An arrow."""
    axes.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=11, color=LINE, shrinkA=0, shrinkB=0))
