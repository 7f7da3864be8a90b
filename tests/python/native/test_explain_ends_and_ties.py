"""`explain_record` and `timeline` of records that last, and of records of one time with ties."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from matplotlib.colors import to_rgb

import windrow as wr
from windrow.plot import _style as style
from windrow.plot import timeline

from ..scenes import all_at, at
from .test_plot import boxes, minutes, texts

NINE = datetime(2026, 5, 4, 9)
GAP = wr.SessionWindows.with_gap("5 minutes")


def calls(*rows: tuple[float, float | None]) -> pa.Table:
    def moment(minute: float | None) -> datetime | None:
        return None if minute is None else NINE + timedelta(minutes=minute)

    kind = pa.timestamp("us")
    started, stopped = (pa.array([moment(row[place]) for row in rows], kind) for place in (0, 1))
    return pa.table({"user": ["ann"] * len(rows), "started": started, "stopped": stopped})


def sessions(rows: pa.Table, windows: Any = GAP) -> Any:
    return wr.group_by(rows, "user", time="started", end="stopped").windowed_by(windows)


def test_a_text_says_how_far_a_record_reaches() -> None:
    """Calls of 9:00 to 9:20, 9:05 to 9:07, 9:24, and 9:30 to 9:31."""
    rows = calls((0, 20), (5, 7), (24, 24), (30, 31), (40, None))
    assert wr.explain_record(sessions(rows), "ann", NINE + timedelta(minutes=5)).splitlines() == [
        "user 'ann' at 2026-05-04 09:05:00 to 2026-05-04 09:07:00",
        "  in the session [2026-05-04 09:00:00, 2026-05-04 09:24:00], which has 3 records",
        "  previous record: that of 2026-05-04 09:00:00 to 2026-05-04 09:20:00 with the gap of 5 minutes reaches to "
        "2026-05-04 09:25:00, which is not before this record: one session",
        "  next record: 2026-05-04 09:24:00; that of 2026-05-04 09:00:00 to 2026-05-04 09:20:00 with the gap of 5 "
        "minutes reaches to 2026-05-04 09:25:00: one session",
    ]
    assert wr.explain_record(sessions(rows), "ann", NINE + timedelta(minutes=24)).splitlines()[-1] == (
        "  next record: 2026-05-04 09:30:00; its end with the gap of 5 minutes reaches to 2026-05-04 09:29:00, which "
        "is before it: the session ends here"
    )
    assert wr.explain_record(sessions(rows), "ann", NINE + timedelta(minutes=40)).splitlines() == [
        "user 'ann' at 2026-05-04 09:40:00",
        "  left out: its end is null or before its time (bad_ends)",
    ]


def test_a_text_says_that_a_record_came_behind_the_grace() -> None:
    """The call of 9:05 to 9:25 comes when the session of 9:00 is closed."""
    short = wr.SessionWindows.with_gap("5 minutes", grace="1 minute")
    text = wr.explain_record(sessions(calls((0, 0), (20, 20), (5, 25)), short), "ann", NINE + timedelta(minutes=5))
    lines = text.splitlines()
    assert lines[1].startswith("  in time: stream time was 2026-05-04 09:20:00")
    assert lines[2] == (
        "  behind: it starts before 2026-05-04 09:19:00 (stream time - grace), so it may miss sessions that closed "
        "while it ran"
    )
    assert lines[3] == "  in the session [2026-05-04 09:05:00, 2026-05-04 09:25:00], which has 2 records"


def test_a_picture_has_a_bar_for_each_record_that_lasts() -> None:
    rows = calls((0, 20), (5, 7), (24, 24), (30, 31), (40, None))
    picture = timeline(rows, sessions(rows[:0]), ["ann"])
    (axes,) = picture.figure.axes
    lines = [
        line for line in axes.lines if line.get_linewidth() == 3.5 and to_rgb(line.get_color()) == to_rgb(style.EVENT)
    ]
    spans = {tuple(minutes(float(x)) for x in line.get_xdata()): line.get_ydata()[0] for line in lines}
    assert set(spans) == {(0, 20), (5, 7), (30, 31)}
    assert spans[0, 20] != spans[5, 7], "one covers the other"
    assert sorted((minutes(box.x0), minutes(box.x1)) for box in boxes(picture))[0] == (0, 24)
    assert "how long an event lasts" in texts(picture)
    assert "event left out: bad end" in texts(picture)
    apart = calls((0, 10), (2, 4), (32, 32))
    assert "22 minutes: split" in texts(timeline(apart, sessions(apart), ["ann"])), "from the latest end"


def tied(ties: list[int | None], ends: list[bool], **rules: Any) -> Any:
    table = pa.table({"user": ["ann"] * len(ties), "ts": all_at(*[0] * len(ties)), "seq": ties, "out": ends})
    return wr.group_by(table, "user", time="ts", tie="seq").windowed_by(
        wr.SessionWindows.with_gap("5 minutes", **rules)
    )


def test_ties_part_sessions_of_one_time() -> None:
    """The logout has the tie 2, so the records with the ties 1 and 2 are a session, and 3 and 4 the next."""
    windows = tied([4, 2, None, 1, 3], [False, True, False, False, False], end_when="out")
    own = "in the session [2026-01-01 08:00:00, 2026-01-01 08:00:00], which has 2 records"
    split = (
        "0 seconds away, at most the gap of 5 minutes, but 'out' is true at 2026-01-01 08:00:00, which ends its session"
    )
    same = "2026-01-01 08:00:00, 0 seconds away, at most the gap of 5 minutes: one session"
    head = "user 'ann' at 2026-01-01 08:00:00"
    first = [f"{head} (2 records of this time)", own, "previous record: none: the session starts here"]
    later = [f"{head} (2 records of this time)", own]
    later += [f"previous record: 2026-01-01 08:00:00, {split}: the session starts here"]
    both = ["\n  ".join([*lines, f"next record: {same}"]) for lines in (first, later)]
    left_out = f"{head}\n  left out: its tie is null (null_ties)"
    assert wr.explain_record(windows, "ann", at(0)).split("\n\n") == [*both, left_out]


def test_a_stream_reads_ties_and_leaves_out_records_without_one() -> None:
    windows = tied([-7, None, 8], [False] * 3, grace="1 minute")
    first, second, third = wr.explain_record(windows, "ann", at(0)).split("\n\n")
    assert second == "user 'ann' at 2026-01-01 08:00:00, row 1\n  left out: its tie is null (null_ties)"
    assert "which has 2 records" in first
    assert "which has 2 records" in third
    table = pa.table({"user": ["bob", "ann"], "ts": all_at(60, 0), "seq": [None, 1]})
    windows = wr.group_by(table, "user", time="ts", tie="seq").windowed_by(windows.windows)
    assert "  in time: " in wr.explain_record(windows, "ann", at(0)), "without a tie a record moves no time"
