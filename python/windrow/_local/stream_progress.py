"""The counters of windowed streams in the progress that Spark reports for each micro-batch."""

from __future__ import annotations

from collections.abc import Mapping
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
        ValueError: the query has no windowed stream of this name, or several and no name is given.
    """
    observed = progress.get("observedMetrics") if isinstance(progress, Mapping) else progress.observedMetrics
    rows = {each: row.asDict() if hasattr(row, "asDict") else row for each, row in (observed or {}).items()}
    counted = {each: dict(row) for each, row in rows.items() if row is not None and row.keys() >= _COLUMNS}
    if name is None and len(counted) > 1:
        raise bad_value("name", name, f"the name of one of the windowed streams of this query: {listed([*counted])}")
    if name is not None and counted and name not in counted:
        raise bad_value("name", name, f"a windowed stream of this query: {listed([*counted])}")
    return counted.get(name, {}) if name is not None else next(iter(counted.values()), {})
