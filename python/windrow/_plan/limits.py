"""What does not go together. Each call checks the rows whose features it knows, so that an error points to its line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windrow._aggregates.call import AggregateCall
from windrow._aggregates.user_function import Accumulation, Reduction
from windrow._arguments.duration import words
from windrow._arguments.errors import aggregate_argument, bad_value
from windrow._plan.plan import Options, Plan
from windrow._windows.session import SessionWindows
from windrow._windows.sliding import SlidingWindows

LIMITS: dict[tuple[str, ...], str] = {
    ("every_record", "emit=close"): "False with emit('close'), which gives each window once",
    ("sequence", "emit=close"): "False with emit('close'), which gives each window once",
    ("every", "emit=close"): "None with emit('close'), which gives each window once",
    ("every", "every_record"): "None with every_record=True, which gives each change at once",
    ("columns", "left_out=drop"): "none with left_out('drop'), which returns no records",
    ("invalid_end=error", "end=None"): "'drop' without end=, which names the column of ends",
    ("order", "stream_time=slowest"): 'None with stream_time="slowest", where sources have no common order',
    ("count", "spark"): (
        "threads for data in this process, not for a Spark DataFrame (Spark runs as many tasks at once as it has cores)"
    ),
    ("show", "spark"): (
        "the progress of data in this process, not of a Spark DataFrame (Spark shows that of its jobs in its console "
        "and its UI: spark.ui.showConsoleProgress)"
    ),
    ("end", "sliding"): "None with sliding windows, which hold records by their times; sessions hold records with ends",
    ("tie", "python", "sliding"): "None, or sessions: {0} is a Python function, which has no ties over sliding windows",
    ("cut_on", "cogroup"): "None for a cogroup: a record has no values of other inputs",
    ("source", "start", "stream_time=source"): (
        "None with start_from: open windows hold the records of all sources together, and their clock row has one "
        "time, so neither the windows nor the time of a source can be derived; without source= all records share both"
    ),
    ("windows", "rules", "start"): "windows without rules in start_from: a stream with rules begins without a history",
    ("emit=update", "advance"): (
        "emit('close') in advance: a run gives each window once, when it is closed, and has no earlier rows to "
        "replace; still_open has the windows that are not closed, as they are now"
    ),
    ("left_out=emit", "advance"): (
        "'drop' in advance: open windows travel from run to run without the columns of their records"
    ),
    ("grace=None", "stream"): (
        "a grace on a stream: how long windows wait for records out of order, such as grace='1 hour'; later records "
        "are late; '0 seconds' for records in order"
    ),
    ("emit=update", "rules", "stream"): (
        "emit('close') for sessions with rules: until a session is final, an earlier record may still arrive and move "
        "its end"
    ),
    ("retention", "rules", "stream"): (
        "None with rules that end sessions: a session that a rule has ended takes no further record"
    ),
    ("every_record", "order=None", "stream"): (
        "False, or group_by(order=...) with the column that orders records, such as 'offset'"
    ),
    ("with_columns", "op"): ("none of emit('update'), late('emit') and left_out('emit'): each record comes back once"),
    ("with_columns", "start"): "agg(...), as open windows hold no records to return",
    ("windows", "rules", "rows", "stream"): (
        "agg(...), or a batch: with_columns on a stream takes sessions without rules"
    ),
    ("windows", "retention", "rows", "stream"): (
        "windows without retention= for with_columns on a stream: each record comes back once"
    ),
    ("aggregate", "position()", "agg"): "with_columns(...): agg gives one row for each window",
    ("aggregate", "session_number()", "agg"): "with_columns(...): agg gives one row for each window",
    ("aggregate", "session_number()", "sliding"): "session windows: sliding windows overlap; or position()",
    ("aggregate", "session_number()", "stream"): (
        "a batch: a stream would have to remember for ever how many sessions each key had"
    ),
    ("aggregate", "ended_by()", "sliding"): "session windows: all sliding windows have the same length",
    ("aggregate", "ended_by()", "rules=None", "closing"): (
        "sessions with a rule, such as max_records=: on a stream and in advance, sessions without rules always end by "
        "their gap"
    ),
    ("aggregate", "active_time()", "sliding"): "session windows: runs are parts of a session",
    ("aggregate", "active_runs()", "sliding"): "session windows: runs are parts of a session",
    ("aggregate", "python", "rows"): "built-in aggregates; Python functions go into agg",
    ("aggregate", "merge=None", "sliding=False"): (
        "aggregate(init, add, merge, ...), not one without merge: sessions are merged"
    ),
}
"""What is allowed in place of a feature, and why, by the feature and those that it does not go with, all together.

A feature is an argument that is set, or one with a value. `closing` is a stream or `advance`.
"""

_FEATURES = {feature for row in LIMITS for feature in row}
_WITH_VALUES = {feature.partition("=")[0] for feature in _FEATURES if "=" in feature}


def check(used: Mapping[str, Any], argument: str = "aggregate") -> None:
    """Raises `ValueError` for the first row of the table whose features are all used. `argument` names an aggregate."""
    features = {name for name, value in used.items() if value is not None and value is not False}
    features |= {f"{name}={used[name]}" for name in _WITH_VALUES & used.keys()}
    for row, allowed in LIMITS.items():
        if features.issuperset(row):
            name = row[0].partition("=")[0]
            got = repr(used[name]) if name == "windows" else used[name]
            raise bad_value(argument if name == "aggregate" else name, got, allowed.format(argument))


def check_call(argument: str, call: AggregateCall, used: Mapping[str, Any]) -> None:
    """As `check`, for an aggregate of a query with these features."""
    is_python, function = isinstance(call, Reduction | Accumulation), f"{call.function}()"
    if not is_python and function not in _FEATURES:
        return
    merge = call.merge if isinstance(call, Accumulation) else True
    own = {"aggregate": f"{call.maker}(...)" if is_python else repr(call), "python": is_python, "merge": merge}
    check({**used, **own, function: True}, argument)


def check_plan(plan: Plan, **where: bool) -> None:
    """As `check`, for a query and all its aggregates."""
    used = {**of_query(plan.windows, plan.options), "tie": plan.tie, "order": plan.stream.order, **where}
    check(used)
    for name, call in plan.aggregates:
        check_call(aggregate_argument(name), call, used)


def of_query(windows: SessionWindows | SlidingWindows, options: Options) -> dict[str, Any]:
    """The features of windows and options."""
    left_out = "drop" if options.left_out is None else "emit"
    return {**vars(options), "op": options.op, "left_out": left_out, "grace": windows.grace, **of_windows(windows)}


def of_windows(windows: SessionWindows | SlidingWindows) -> dict[str, Any]:
    """The features of windows, except their grace."""
    rules = windows.rules if isinstance(windows, SessionWindows) and windows.rules else None
    return {
        "windows": windows,
        "sliding": isinstance(windows, SlidingWindows),
        "retention": None if windows.retention is None else words(windows.retention),
        "rules": rules,
        "cut_on": None if rules is None or not rules.cut_on else list(rules.cut_on),
    }
