"""The rooms of the Python package and of the crate, in the order that the guard checks."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import python_rooms
import rust_rooms
from canvas import NARROW, diagram, text
from matplotlib.patches import Rectangle

from windrow.plot import Timeline
from windrow.plot._style import BAR, EVENT, LINE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RUST = Path(__file__).resolve().parent.parent / "rust"
HIGH = 0.27
"""The height of a row of rooms."""


def rooms() -> Timeline:
    """The rooms of Python and Rust, the highest first. A room uses only the rooms below it."""
    tables = {"lib": RUST / "lib.rs", "core": RUST / "core" / "mod.rs"}
    ranks = rust_rooms.ranks({name: ("", path.read_text(encoding="utf-8")) for name, path in tables.items()})
    rust = [[room for room, _ in row] for _, row in groupby(ranks.items(), lambda item: item[1])]
    python = [sorted(row) for row in python_rooms.ORDER]
    height = HIGH * max(len(python), len(rust)) + 1.2
    made, axes = diagram("A room uses only the rooms below it", height, NARROW)
    middle = NARROW / 2
    top = height - 0.75
    text(axes, 0.12, top + 0.2, "python/windrow", fontweight="bold")
    text(axes, middle + 0.2, top + 0.2, "rust", fontweight="bold")
    places = column(axes, 0.12, middle - 0.2, top, [[room or "windrow" for room in row] for row in reversed(python)])
    column(axes, middle + 0.2, NARROW - 0.12, top, list(reversed(rust)))
    native = places[python_rooms.NATIVE]
    ways = [(middle - 0.2, native), (middle, native), (middle, top - HIGH / 2), (middle + 0.2, top - HIGH / 2)]
    axes.plot(*zip(*ways, strict=True), color=EVENT)
    axes.plot(*ways[-1], ">", color=EVENT)
    text(axes, 0.12, 0.16, "blue: what you import; green: the core, which knows no Arrow")
    return made


def column(axes: Axes, left: float, right: float, top: float, rows: list[list[str]]) -> dict[str, float]:
    """Rows of rooms. Returns the middle of each room's row."""
    places = {}
    for row in rows:
        is_core = row[0].startswith("core")
        is_public = not is_core and left < 1 and not row[0].startswith("_")
        color = BAR if is_core else EVENT if is_public else LINE
        axes.add_patch(
            Rectangle((left, top - HIGH + 0.05), right - left, HIGH - 0.05, fill=False, edgecolor=color, linewidth=1.2)
        )
        text(axes, left + 0.08, top - HIGH / 2 + 0.015, ", ".join(room.removeprefix("core::") for room in row))
        places |= dict.fromkeys(row, top - HIGH / 2)
        top -= HIGH
    return places


PICTURES = {"rooms.svg": rooms}
