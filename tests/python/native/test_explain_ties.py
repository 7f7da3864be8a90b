"""`explain_record` where ties order the records of one time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

import windrow as wr


def minute(*minutes: float) -> list[datetime]:
    return [datetime(2026, 1, 1, 9) + timedelta(minutes=each) for each in minutes]


def tied(ties: list[int | None], ends: list[bool], **rules: Any) -> Any:
    table = pa.table({"user": ["ann"] * len(ties), "ts": minute(*[0] * len(ties)), "seq": ties, "out": ends})
    return wr.group_by(table, "user", time="ts", tie="seq").windowed_by(
        wr.SessionWindows.with_gap("5 minutes", **rules)
    )


def test_ties_part_sessions_of_one_time() -> None:
    """The logout has the tie 2, so the records with the ties 1 and 2 are a session, and 3 and 4 the next."""
    windows = tied([4, 2, None, 1, 3], [False, True, False, False, False], end_when="out")
    own = "in the session [2026-01-01 09:00:00, 2026-01-01 09:00:00], which has 2 records"
    split = (
        "0 seconds away, at most the gap of 5 minutes, but 'out' is true at 2026-01-01 09:00:00, which ends its session"
    )
    same = "2026-01-01 09:00:00, 0 seconds away, at most the gap of 5 minutes: one session"
    head = "user 'ann' at 2026-01-01 09:00:00"
    assert wr.explain_record(windows, "ann", minute(0)[0]).split("\n\n") == [
        "\n  ".join(
            [
                f"{head} (2 records of this time)",
                own,
                "previous record: none: the session starts here",
                f"next record: {same}",
            ]
        ),
        "\n  ".join(
            [
                f"{head} (2 records of this time)",
                own,
                f"previous record: 2026-01-01 09:00:00, {split}: the session starts here",
                f"next record: {same}",
            ]
        ),
        f"{head}\n  left out: its tie is null (null_ties)",
    ]


def test_a_stream_reads_ties_and_leaves_out_records_without_one() -> None:
    windows = tied([-7, None, 8], [False] * 3, grace="1 minute")
    first, second, third = wr.explain_record(windows, "ann", minute(0)[0]).split("\n\n")
    assert second == "user 'ann' at 2026-01-01 09:00:00, row 1\n  left out: its tie is null (null_ties)"
    assert "which has 2 records" in first
    assert "which has 2 records" in third
    table = pa.table({"user": ["bob", "ann"], "ts": minute(60, 0), "seq": [None, 1]})
    windows = wr.group_by(table, "user", time="ts", tie="seq").windowed_by(windows.windows)
    assert "  in time: " in wr.explain_record(windows, "ann", minute(0)[0]), "without a tie a record moves no time"
