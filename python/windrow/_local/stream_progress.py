"""The counters of windowed streams in the progress that Spark reports for each micro-batch."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from windrow._arguments.errors import bad_value, listed

_COLUMNS = {"records", "late", "windows_open", "state_bytes", "stream_time"}
"""Some of the counters: other metrics that a query observes do not have all of them."""


def is_progress(result: object) -> bool:
    """Whether this is a `StreamingQueryProgress`, or the dict of one."""
    return hasattr(result, "observedMetrics") or (isinstance(result, Mapping) and "runId" in result)


def counters_of_progress(progress: Any, name: str | None) -> dict[str, Any]:
    """The counters of the windowed stream of this name; without a name, of the only one. Empty if none ran.

    Raises:
        ValueError: the query has no windowed stream of this name, or several and no name is given; or the progress has
            counters in a form that windrow does not know.
    """
    observed = progress.get("observedMetrics") if isinstance(progress, Mapping) else progress.observedMetrics
    rows = {each: _named(each, row) for each, row in (observed or {}).items() if row is not None}
    counted = {each: row for each, row in rows.items() if row.keys() >= _COLUMNS}
    if name is None and len(counted) > 1:
        raise bad_value("name", name, f"the name of one of the windowed streams of this query: {listed([*counted])}")
    if name is not None and counted and name not in counted:
        raise bad_value("name", name, f"a windowed stream of this query: {listed([*counted])}")
    return counted.get(name, {}) if name is not None else next(iter(counted.values()), {})


def _named(name: str, row: Any) -> dict[str, Any]:
    """The metrics of a row by their names. `query.lastProgress` of Spark Connect has rows of values and a schema."""
    found: dict[str, Any] = dict(row.asDict() if hasattr(row, "asDict") else row)
    if found.keys() == {"values", "schema"}:
        try:
            pairs = zip(found["schema"]["fields"], found["values"], strict=True)
            return {field["name"]: _value(field["type"], value) for field, value in pairs}
        except (KeyError, TypeError, ValueError):
            pass
    # Names that are nowhere as columns, but in the text of the row, are ours in another form.
    if not found.keys() >= _COLUMNS and all(column in str(found) for column in _COLUMNS):
        raise ValueError(
            f"result: got a progress whose metrics {name!r} have the form {sorted(found)}; allowed: a row with a field "
            "for each counter, or its values and schema, as Spark 4.0 to 4.3 give them"
        )
    return found


def _value(kind: Any, value: Any) -> Any:
    """A value of Connect's rows: their timestamps are milliseconds. PySpark gives local times."""
    if kind != "timestamp" or not isinstance(value, int):
        return value
    return datetime.fromtimestamp(value // 1000) + timedelta(milliseconds=value % 1000)
