"""A small timeline for each rule that ends a session. windrow computes the sessions and why each of them ended."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pyarrow as pa
from canvas import NARROW, at, bar, clock, diagram, stretch, text

import windrow as wr
from windrow.plot import Timeline
from windrow.plot._style import CLOSE, EVENT, LINE

GAP = "30 minutes"
STEP = timedelta(minutes=10)
FIVE = [at("09:00") + number * STEP for number in range(5)]
AROUND_MIDNIGHT = [at("23:35") + number * STEP for number in range(5)]
NO_RULE: dict[str, Any] = {}
RULES: dict[str, tuple[dict[str, Any], list[datetime], tuple[str, list[Any]]]] = {
    "end-when": ({"end_when": "logout"}, FIVE, ("logout", [False, False, True, False, False])),
    "max-records": ({"max_records": 3}, FIVE, ("number", ["1", "2", "3", "4", "5"])),
    "gap": (NO_RULE, [*FIVE[:3], at("09:51"), at("10:01")], ("", [])),
    "start-when": ({"start_when": "login"}, FIVE, ("login", [False, False, False, True, False])),
    "cut-on": ({"cut_on": ["campaign"]}, FIVE, ("campaign", ["may", "may", "may", "june", "june"])),
    "cut-at": ({"cut_at": "00:00"}, AROUND_MIDNIGHT, ("", [])),
    "max-duration": ({"max_duration": "20 minutes"}, FIVE, ("", [])),
}
"""By name: the rule, the times of the clicks, and a column with the values that the rule looks at."""


def rule(name: str) -> Timeline:
    """Five clicks of one user in the sessions that a rule makes, and why each ended."""
    options, times, (column, values) = RULES[name]
    clicks = pa.table({"user": ["ann"] * len(times), "ts": times, **({column: values} if column else {})})
    windows = wr.SessionWindows.with_gap(GAP, **options)
    sessions = wr.group_by(clicks, "user", time="ts").windowed_by(windows).flat()
    rows = sessions.agg(n=wr.count(), why=wr.ended_by()).sort_by("window_start").to_pylist()
    made, axes = diagram(str(windows).removeprefix("SessionWindows."), 1.62, NARROW)

    def x(time: datetime) -> float:
        return 0.4 + 4.6 * ((time - times[0]) / (times[-1] - times[0]))

    axes.plot([0.12, NARROW - 0.12], [0.82, 0.82], color=LINE, linewidth=0.8, zorder=1)
    for time, value in zip(times, values or [None] * len(times), strict=True):
        is_mark = value is True
        axes.plot(x(time), 0.82, "D" if is_mark else "o", color=CLOSE if is_mark else EVENT, zorder=5)
        text(axes, x(time), 0.99, clock(time), ha="center")
        if value:
            words, color = (column, CLOSE) if is_mark else (value, EVENT)
            text(axes, x(time), 1.17, words, ha="center", color=color)
    for row in rows:
        right = bar(axes, x(row["window_start"]), x(row["window_end"]), 0.48, f"{row['n']} clicks")
        text(axes, x(row["window_start"]) - 0.03, 0.2, f"ended by: {row['why']}")
        if name == "gap" and row is rows[0]:
            stretch(axes, right, x(row["window_end"] + timedelta(minutes=30)), 0.48, GAP)
    if name == "cut-at":
        midnight = x(times[0].replace(hour=0, minute=0) + timedelta(days=1))
        axes.vlines(midnight, 0.3, 1.1, CLOSE, "dotted")
        text(axes, midnight, 1.17, "0:00", ha="center", color=CLOSE)
    if name == "max-duration":
        axes.plot([x(times[0]), x(times[0] + timedelta(minutes=20))], [1.17, 1.17], color=CLOSE, marker="|", zorder=1)
        text(axes, x(times[0] + timedelta(minutes=20)) + 0.08, 1.17, "20 minutes", color=CLOSE)
    return made


PICTURES = {f"rule-{name}.svg": partial(rule, name) for name in RULES}
