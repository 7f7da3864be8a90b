"""Counters go to an observation, whatever the kind of the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyspark.sql import Observation as OfSpark

import windrow as wr

from ..scenes import all_at

ROWS: dict[str, list[Any]] = {"user": ["ann", None, "ann", "bob"], "ts": [*all_at(0, 1), None, *all_at(90)]}
COUNTED = {"records": 4, "null_keys": 1, "null_times": 1, "windows": 2}
COUNTED |= dict.fromkeys(("null_ties", "bad_gaps", "bad_ends", "clamped_gaps", "ticks", "overflows"), 0)
LIBRARIES: dict[str, Callable[[], Any]] = {
    "pyarrow": lambda: pa.table(ROWS),
    "reader": lambda: pa.table(ROWS).to_reader(),
    "pandas": lambda: pd.DataFrame(ROWS),
    "polars": lambda: pl.DataFrame(ROWS),
    "lazy": lambda: pl.LazyFrame(ROWS),
    "duckdb": lambda: duckdb.from_arrow(pa.table(ROWS)),
}
CALLS: dict[str, Callable[[Any], Any]] = {
    "count": lambda query: query.count(),
    "agg": lambda query: query.agg(last=wr.last("ts")),
    "functions": lambda query: query.agg(last=wr.reduce("ts", max)),
    "lists": lambda query: query.agg(n=wr.collect_list("ts").then(lambda each: each.value_lengths())),
    "with_columns": lambda query: query.with_columns(n=wr.count()),
}


def sessions(data: Any) -> Any:
    return wr.group_by(data, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))


@pytest.mark.parametrize("kind", [wr.Observation, OfSpark], ids=["windrow", "pyspark"])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_every_call_over_every_kind_of_data_is_observed(library: str, call: str, kind: Any) -> None:
    seen = kind("visits")
    CALLS[call](sessions(LIBRARIES[library]()).observe(seen))
    assert seen.get == COUNTED
    assert isinstance(seen, kind)


@pytest.mark.parametrize("kind", [wr.Observation, OfSpark], ids=["windrow", "pyspark"])
def test_a_reader_and_a_cogroup_are_observed(kind: Any) -> None:
    seen = kind()
    reader = sessions(pl.DataFrame(ROWS)).observe(seen).to_reader(n=wr.count())
    assert seen.get == {name: count for name, count in COUNTED.items() if name not in ("overflows", "windows")}
    assert reader.read_all().num_rows == 2
    grouped = wr.group_by(pl.DataFrame(ROWS), "user", time="ts")
    wr.cogroup(a=grouped, b=grouped).windowed_by(wr.SessionWindows.with_gap("1 hour")).observe(seen).count()
    assert seen.get["records"] == 8


def test_each_call_is_observed_again() -> None:
    seen = wr.Observation()
    with pytest.raises(ValueError, match="observation: got no counters yet"):
        _ = seen.get
    query = sessions(pd.DataFrame(ROWS)).observe(seen)
    query.count()
    seen.get.clear()
    assert seen.get == COUNTED
    sliding = wr.SlidingWindows.with_time_difference("1 hour")
    query.grouped.windowed_by(sliding).observe(seen).count()
    assert seen.get["windows"] == 2
    sessions(pl.DataFrame(ROWS).clear()).observe(seen).count()
    assert set(seen.get.values()) == {0}


def test_what_is_no_observation_is_refused() -> None:
    for wrong in ("visits", {}, None, wr.Observation):
        with pytest.raises(TypeError, match=r"observation: got .*; allowed: a windrow.Observation"):
            sessions(pa.table(ROWS)).observe(wrong)
    for name in ("", 5):
        with pytest.raises(TypeError, match="name: got .*; allowed: a name of at least one character"):
            wr.Observation(name)  # type: ignore[arg-type]


def test_a_notebook_shows_what_was_chosen() -> None:
    query = sessions(pl.DataFrame(ROWS).rename({"user": "<user>"}).rename({"<user>": "user"})).emit("update")
    html = query._repr_html_()
    for cell in ("<th>keys</th><td>user</td>", "<th>time</th><td>ts</td>", "<th>emit</th><td>update</td>"):
        assert cell in html
    assert "SessionWindows.with_gap(&#x27;1 hour&#x27;)" in html
    assert "shards" not in html
    grouped = wr.group_by(pa.table({"<k>": [1], "t": all_at(0)}), "<k>", time="t")
    assert "<td>&lt;k&gt;</td>" in grouped._repr_html_()
    both = wr.cogroup(a=grouped, b=grouped)._repr_html_()
    assert "<th>inputs</th><td>a, b</td>" in both
