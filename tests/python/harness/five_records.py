"""Five records of two users, with an integer that no float64 holds, and their sessions."""

from __future__ import annotations

from typing import Any

import pandas as pd

import windrow as wr

from ..scenes import all_at

GAP = wr.SessionWindows.with_gap("5 minutes")
LARGE = 1582218195625938945
"""An integer that no float64 holds."""

#   ann   0    4         20       bob   1     no key   2       minutes
#         ├────┤         ┤              ┤
ROWS: dict[str, list[Any]] = {
    "user": ["ann", "bob", None, "ann", "ann"],
    "ts": all_at(0, 1, 2, 4, 20),
    "id": [LARGE, None, 5, LARGE + 2, 7],
}
COUNTS = [2, 1, None, 2, 1]
"""The number of records in the session of each row."""


def sessions(data: Any, *keys: str, time: str = "ts") -> Any:
    return wr.group_by(data, *(keys or ("user",)), time=time).windowed_by(GAP)


def frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame(ROWS | {"id": pd.array(ROWS["id"], dtype="Int64")} | columns)
