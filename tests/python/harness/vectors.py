"""Queries whose states and tables of open windows are in `tests/vectors`.

Their states are stored, so a query and its name never change. Add another one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import windrow as wr

GRACE = "5 minutes"


def appended(held: list[int], row: Any) -> list[int]:
    return sorted([*held, row.seq])


def joined(one: list[int], other: list[int]) -> list[int]:
    return sorted([*one, *other])


FEW: dict[str, Any] = {"rows": wr.count(), "total": wr.sum("n"), "last": wr.max("ts"), "words": wr.collect_list("word")}
ALL: dict[str, Any] = {
    **FEW,
    "any": wr.any_value("n").where("done"),
    "approx_distinct": wr.approx_count_distinct("word"),
    "approx_third": wr.approx_percentile("x", 0.3),
    "bits": wr.bit_xor("n"),
    "both": wr.bool_and("done"),
    "correlation": wr.corr("x", "n"),
    "covariance": wr.covar_pop("x", "n"),
    "distinct": wr.count_distinct("word"),
    "double": wr.sum("n") * 2 + wr.count(),
    "either": wr.bool_or("done"),
    "first": wr.first("word"),
    "frequent": wr.top_k("word", 2),
    "histogram": wr.histogram_numeric("x", 50),
    "latest": wr.last("word"),
    "length": wr.window_length(),
    "mean_price": wr.mean("price"),
    "mean_x": wr.mean("x"),
    "median": wr.median("x"),
    "newest": wr.max_by("word", "seq"),
    "path": wr.path("word"),
    "product": wr.product("x"),
    "set": wr.collect_set("n"),
    "shares": wr.percentile("x", [0.0, 0.7]),
    "skew": wr.skewness("x"),
    "spent": wr.sum("price"),
    "spread": wr.stddev("x"),
    "steps": wr.funnel(["a", "b", "c"], column="word", within="20 minutes"),
    "tail": wr.kurtosis("x"),
    "unique": wr.sum_distinct("n"),
    "usual": wr.mode("word"),
    "when": wr.min_by("ts", "seq"),
}
FUNCTIONS: dict[str, Any] = {
    "rows": wr.count(),
    "held": wr.aggregate(list, appended, joined, columns=["seq"], schema="array<bigint>"),
    "least": wr.reduce("n", min),
}
ACTIVE: dict[str, Any] = {
    "rows": wr.count(),
    "active": wr.active_time("1 minute"),
    "covered": wr.active_time("0 seconds", breaks="drop").where("starts"),
    "runs": wr.active_runs("1 minute"),
    "times": wr.funnel_times(["a", "b", "c"], column="word", within="20 minutes"),
    "few": wr.mean("x").min_samples(3),
}
INPUTS: dict[str, Any] = {"rows": wr.count(), "clicks": wr.count("clicks.*"), "spent": wr.sum("orders.price")}


def sessions(grace: str | None) -> wr.SessionWindows:
    return wr.SessionWindows.with_gap("6 minutes", grace=grace)


def gaps(grace: str | None) -> wr.SessionWindows:
    return wr.SessionWindows.with_dynamic_gap("pause", max_gap="9 minutes", grace=grace)


def rules(grace: str | None) -> wr.SessionWindows:
    return wr.SessionWindows.with_gap(
        "6 minutes",
        grace=grace,
        max_duration="25 minutes",
        start_when="starts",
        end_when="done",
        cut_on="word",
        cut_at="16:00",
        zone="Asia/Kolkata",
        max_records=5,
    )


def sliding(grace: str | None) -> wr.SlidingWindows:
    return wr.SlidingWindows.with_time_difference("6 minutes", grace=grace, resolution="1 millisecond")


@dataclass(frozen=True)
class Query:
    """A query.

    Attributes:
        windows: its windows, of a grace.
        aggregates: what it computes.
        keys: its key columns.
        time: its time column. `at` is in the order of arrival.
        end: the column of ends, if its records have any. `at` is never before `ts`, except in ticks.
        group: options of `group_by` for a stream.
        tie: the column that orders records of one time.
        emit: the arguments of `emit("update", ...)`; None for close mode.
        is_cogroup: whether it has two inputs.
        gives_records: whether it gives back records, each with its window.
        begins: whether it begins with the open windows of a history.
        is_run: whether a daily job runs it too.
    """

    windows: Callable[[str | None], Any]
    aggregates: Mapping[str, Any]
    keys: tuple[str, ...] = ("user",)
    time: str = "ts"
    end: str | None = None
    group: Mapping[str, Any] = field(default_factory=dict)
    tie: str | None = None
    emit: Mapping[str, Any] | None = None
    is_cogroup: bool = False
    gives_records: bool = False
    begins: bool = False
    is_run: bool = False

    @property
    def has_pace(self) -> bool:
        """Whether its updates have a pace."""
        return bool(self.emit)

    def windowed(self, data: Any, grace: str | None = GRACE, **group: Any) -> Any:
        """Its windows over records; for a cogroup over a list of inputs."""

        def grouped(records: Any) -> Any:
            return wr.group_by(records, *self.keys, time=self.time, end=self.end, tie=self.tie, **group)

        if not self.is_cogroup:
            return grouped(data).windowed_by(self.windows(grace)).shards(2)
        clicks, orders = map(grouped, data)
        return wr.cogroup(clicks=clicks, orders=orders).windowed_by(self.windows(grace)).shards(2)

    def stream(self, data: Any, opened: Any = None) -> Any:
        """The query over a stream. `opened` are the open windows of its history."""
        windowed = self.windowed(data, tick="tick", **self.group)
        windowed = windowed if self.emit is None else windowed.emit("update", **self.emit)
        windowed = windowed if opened is None else windowed.start_from(opened)
        return self.result(windowed)

    def result(self, windowed: Any) -> Any:
        """Its result."""
        return windowed.with_columns(**self.aggregates) if self.gives_records else windowed.agg(**self.aggregates)


QUERIES = {
    "close": Query(sessions, ALL, keys=("user", "device"), is_run=True),
    "update": Query(sessions, FEW, emit={}),
    "gaps": Query(gaps, FEW, keys=("part",), is_run=True),
    "sliding": Query(sliding, {**FEW, "first": wr.first("word"), "spread": wr.stddev("x")}, is_run=True),
    "cogroup": Query(sessions, INPUTS, is_cogroup=True, is_run=True),
    "rules": Query(rules, {**FEW, "why": wr.ended_by()}, tie="seq", is_run=True),
    "functions": Query(sessions, FUNCTIONS, is_run=True),
    "paced": Query(sessions, FEW, emit={"every": "7 minutes"}),
    "begun": Query(sessions, FEW, begins=True),
    "sources": Query(sessions, FEW, group={"source": "part", "stream_time": "slowest"}),
    "records": Query(sessions, {"rows": wr.count()}, gives_records=True),
    "features": Query(
        sliding, {"rows": wr.count(), "short": wr.sum("n").over("2 minutes")}, time="at", gives_records=True
    ),
    "ends": Query(sessions, ACTIVE, end="at", is_run=True),
    "ends_update": Query(sessions, ACTIVE, end="at", emit={}),
    "ends_rules": Query(rules, {**ACTIVE, "why": wr.ended_by()}, end="at", tie="seq", is_run=True),
}
