"""The pictures of README and docs that `windrow.plot` makes: `make pictures` writes them to docs/pictures.

    python tools/pictures.py [FOLDER]

A test compares them with what is there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa

import windrow as wr
from windrow.plot import Timeline, timeline

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "pictures"


def at(text: str) -> datetime:
    """A time of the day that all pictures show."""
    return datetime.fromisoformat(f"2026-05-04 {text}")


def events(*rows: tuple[str, str]) -> pa.Table:
    """Events as (user, time), in the order in which they come."""
    return pa.table({"user": [user for user, _ in rows], "ts": pa.array([at(time) for _, time in rows])})


CLICKS = events(("ann", "09:00"), ("ann", "09:11"), ("ann", "09:05"), ("bob", "09:03"))
STREAM = events(
    ("ann", "09:00"), ("ann", "09:05"), ("bob", "09:03"), ("bob", "09:14"), ("ann", "09:07"), ("ann", "09:16")
)


def sessions() -> Timeline:
    """The example of README."""
    return picture(CLICKS, wr.SessionWindows.with_gap("5 minutes"), ["ann", "bob"])


def sliding() -> Timeline:
    """The same events in sliding windows."""
    return picture(CLICKS, wr.SlidingWindows.with_time_difference("10 minutes"), ["ann"])


def dynamic() -> Timeline:
    """Gaps of the records' own, of docs/explanation/windows.md."""
    pauses = pa.array([timedelta(minutes=minutes) for minutes in (2, 2, 2, 20)])
    rows = events(("ann", "09:25"), ("ann", "09:05"), ("ann", "09:20"), ("ann", "09:00"))
    return picture(rows.append_column("pause", pauses), wr.SessionWindows.with_dynamic_gap("pause"), ["ann"])


def late() -> Timeline:
    """A stream: a late record, and when sessions close."""
    return picture(STREAM, wr.SessionWindows.with_gap("5 minutes", grace="1 minute"), ["ann", "bob"])


def refused() -> Timeline:
    """Sliding windows of a stream, one of which refuses a record: docs/explanation/late-data.md."""
    rows = events(("ann", "09:40"), ("ann", "09:52"), ("ann", "09:44"), ("ann", "09:30"))
    windows = wr.SlidingWindows.with_time_difference("10 minutes", grace="2 minutes", resolution="1 minute")
    return picture(rows, windows, ["ann"])


def picture(rows: pa.Table, windows: wr.SessionWindows | wr.SlidingWindows, keys: list[str]) -> Timeline:
    """The picture of some keys."""
    return timeline(rows, wr.group_by(rows, "user", time="ts").windowed_by(windows), keys)


PICTURES: dict[str, Callable[[], Timeline]] = {
    "sessions.svg": sessions,
    "sliding.svg": sliding,
    "dynamic-gaps.svg": dynamic,
    "late.svg": late,
    "refused.svg": refused,
}


def main(folder: Path = FOLDER) -> None:
    """Writes all pictures."""
    for name, made in PICTURES.items():
        made().save(folder / name)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
