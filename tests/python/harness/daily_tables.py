"""Jobs that die: a history in days through a recipe of docs/how-to/daily-job-tables.md, against one query over it."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

import windrow as wr

from . import recipes

Run = Callable[[pa.Table, str | None, str], None]
"""A run of the job: the records of its day, the run before, and this one."""

START = datetime(2026, 5, 4)
NAMES = [f"2026-05-{5 + day:02d}" for day in range(4)]


class JobDiedError(Exception):
    """The job dies."""


def program() -> dict[str, Any]:
    """What the page defines, without what it runs."""
    return recipes.program("daily-job-tables.md", "delta_run", "iceberg_run")


def history() -> list[pa.Table]:
    """Records of four days; some sessions run over midnight."""
    draw = random.Random(4)
    rows = sorted((START + timedelta(minutes=draw.randrange(4 * 24 * 60)), draw.choice("abc")) for _ in range(400))
    days = []
    for day in range(4):
        own = [(at, user) for at, user in rows if (at - START).days == day]
        days.append(
            pa.table(
                {
                    "user": [user for _, user in own],
                    "ts": pa.array([at for at, _ in own], pa.timestamp("us")),
                    "amount": [float(at.minute) for at, _ in own],
                }
            )
        )
    return days


def check(run: Run, killed: Callable[[str], Any], rows: Callable[[], list[dict[str, Any]]]) -> None:
    """Runs each day until it is done. A run dies in the context `killed(place)`; `rows` are those of the table."""
    days, earlier = history(), None
    for day, to in zip(days, NAMES, strict=True):
        before = ordered(rows())
        for place in ("before the commit", "after the commit"):
            try:
                with killed(place):
                    run(day, earlier, to)
            except JobDiedError:
                pass
            else:
                raise AssertionError(f"the job did not die {place}")
            if place == "before the commit":
                assert ordered(rows()) == before
        after = ordered(rows())
        run(day, earlier, to)
        assert ordered(rows()) == after
        earlier = to
    closed = [row for row in rows() if row["status"] == "closed"]
    left = [row for row in rows() if row["status"] == "open" and row["to"] == earlier and row["user"] is not None]
    whole = wr.group_by(pa.concat_tables(days), "user", time="ts").windowed_by(wr.SessionWindows.with_gap("30 minutes"))
    expected = whole.flat().agg(clicks=wr.count(), spend=wr.sum("amount")).to_pylist()
    assert sorted(map(shown, [*closed, *left])) == sorted(map(shown, expected))
    assert len(closed) > 50


def shown(row: dict[str, Any]) -> tuple[Any, ...]:
    """A window as the user, its bounds and its aggregates."""
    start, end = (row["window"][bound] if row.get("window") else row[f"window_{bound}"] for bound in ("start", "end"))
    return row["user"], start, end, row["clicks"], row["spend"]


def ordered(rows: list[dict[str, Any]]) -> list[str]:
    """All values of rows, in an order that does not depend on that of the table."""
    return sorted(repr(sorted(row.items())) for row in rows)
