"""The rooms of the code, in the order that the guard checks, and the way of a record through its files."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import python_rooms
import rust_rooms
from canvas import NARROW, arrow, diagram, text
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
    text(axes, 0.12, 0.16, "blue: what you import; green: the core, where only aggregates know Arrow")
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


WAY: dict[str, dict[str, str]] = {
    "the task of its split": {
        "_executor/stream/pack.py": "takes out ticks",
        "batch/sessions.rs": "numbers keys",
        "batch/session_groups.rs": "joins records of the split",
        "batch/packer.rs": "makes blocks",
    },
    "the task of its shard": {
        "_spark/processor.py": "has the states of the shard",
        "_executor/stream/shard.py": "collects the blocks",
        "shard/incoming.rs": "reads them",
        "shard/clock.rs": "moves stream time",
        "_executor/stream/pages.py": "reads pages, stores new ones",
        "shard/touched_sessions.rs": "picks sessions that may join",
        "shard/lateness.rs": "finds late records",
        "core/session/coalesce.rs": "joins sessions",
        "shard/session_changes.rs": "orders deletes and upserts",
        "record/change_batch.rs": "writes them as rows",
        "shard/layout_ranges.rs": "chooses the runs to rewrite",
        "state/run_writer.rs": "writes them as pages",
        "_executor/stream/change_block.py": "makes typed rows",
    },
}
"""The tasks and main files that a record of an updating stream of sessions passes, and what each file does."""


def record_way() -> Timeline:
    """The way of a record of an updating stream of sessions, from top to bottom."""
    rows = sum(map(len, WAY.values())) + len(WAY)
    top = HIGH * rows + 0.55
    made, axes = diagram("The way of a record of an updating stream", top + 0.4, NARROW)
    words = 0.2 + NARROW / 2
    for task, files in WAY.items():
        if task != next(iter(WAY)):
            arrow(axes, (0.3, top + 0.02), (0.3, top - HIGH + 0.08))
        text(axes, 0.42, top - HIGH / 2, task, fontweight="bold")
        top -= HIGH
        for file, does in files.items():
            color = EVENT if file.endswith(".py") else BAR
            middle = top - HIGH / 2
            axes.add_patch(
                Rectangle(
                    (0.12, top - HIGH + 0.05), words - 0.24, HIGH - 0.05, fill=False, edgecolor=color, linewidth=1.2
                )
            )
            text(axes, 0.2, middle + 0.015, file)
            text(axes, words, middle + 0.015, does)
            top -= HIGH
    text(axes, 0.12, 0.16, "blue: Python, in python/windrow; green: the core, in rust")
    return made


PICTURES = {"rooms.svg": rooms, "record-way.svg": record_way}
