"""Records that last until an end: in this process on every way, and what `end=` refuses at the call.

Streams, restarts and days are those of `conformance/test_streams.py`, `test_start_from.py` and the simulation.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import windrow as wr
from windrow.testing import StreamDriver

from ..harness.tables import arrow
from ..scenes import at, keyed
from .test_time_casts import of_library

TICK = timedelta(microseconds=1)
CALLS = pa.table(
    {
        "user": ["ann", "ann", "ann", "bob"],
        "started": [at(0), at(5), at(40), at(3)],
        "stopped": [at(20), at(7), None, at(3)],
    }
)
"""Ann has a call from 0 to 20 minutes, one from 5 to 7 within it, and one at 40 that still runs."""
GAP = wr.SessionWindows.with_gap("10 minutes")


def windows_of(gap: int | None, **options: Any) -> wr.SessionWindows:
    if gap is None:
        return wr.SessionWindows.with_dynamic_gap("gap", **options)
    return wr.SessionWindows.with_gap(gap * TICK, **options)


def grouped(table: Any) -> Any:
    return wr.group_by(table, "k", time="ts", end="end")


@pytest.mark.parametrize("rows", [0, 1])
def test_few_records_or_none(rows: int) -> None:
    table = CALLS.slice(0, rows)
    answer = wr.group_by(table, "user", time="started", end="stopped").windowed_by(GAP).count()
    assert [tuple(row["window"].values()) for row in answer.to_pylist()] == [(at(0), at(20))][:rows]


def shown(result: Any) -> list[tuple[Any, ...]]:
    """The sessions of a result: user, bounds in minutes after 08:00 UTC, and count."""
    table = arrow(result)
    window = table["window"].combine_chunks()
    bounds = (pc.struct_field(window, name) for name in ("start", "end"))
    moments = [each.cast(pa.timestamp("us", each.type.tz)).cast(pa.int64()).to_pylist() for each in bounds]
    minutes = [
        [(datetime(1970, 1, 1) + moment * TICK - at(0)) // (60 * 10**6 * TICK) for moment in each] for each in moments
    ]
    return sorted(zip(table["user"].to_pylist(), *minutes, table["count"].to_pylist(), strict=True))


SESSIONS = [("ann", 0, 20, 2), ("bob", 3, 3, 1)]
STILL_RUNNING = [*SESSIONS[:1], ("ann", 40, 40, 1), SESSIONS[1]]
SQL: Callable[[str], Any] = duckdb.SQLExpression  # type: ignore[attr-defined]
COALESCED: dict[str, Any] = {
    "pyarrow": pc.coalesce(pc.field("stopped"), pc.field("started")),
    "polars": pl.coalesce("stopped", "started"),
    "duckdb": SQL("coalesce(stopped, started)"),
}


@pytest.mark.parametrize("library", ["pyarrow", "polars", "pandas", "duckdb", "a file", "a reader"])
def test_ends_of_any_library_and_a_call_that_still_runs_as_an_expression(library: str, tmp_path: Path) -> None:
    def data() -> Any:
        if library == "a reader":
            return CALLS.to_reader()
        if library == "a file":
            pq.write_table(CALLS, tmp_path / "calls.parquet")
            return str(tmp_path / "calls.parquet")
        return of_library(library, CALLS)

    with pytest.warns(wr.LeftOut, match=r"1 of 4 records are left out \(bad_ends 1\)"):
        assert shown(wr.group_by(data(), "user", time="started", end="stopped").windowed_by(GAP).count()) == SESSIONS
    if library == "pandas":
        return  # pandas has no expressions
    end = COALESCED.get(library, COALESCED["pyarrow"])
    assert shown(wr.group_by(data(), "user", time="started", end=end).windowed_by(GAP).count()) == STILL_RUNNING


def test_an_infinite_end_of_duckdb_is_no_end() -> None:
    calls = duckdb.sql("SELECT 'ann' AS u, TIMESTAMP '2026-01-01' AS a, TIMESTAMP 'infinity' AS b")
    with pytest.warns(wr.LeftOut, match="bad_ends 1"):
        assert len(wr.group_by(calls, "u", time="a", end="b").windowed_by(GAP).count()) == 0


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("end", [None, -1])
def test_a_bad_end_is_an_error_that_names_key_and_time_where_that_was_asked(end: int | None, threads: int) -> None:
    ends = pa.array([5, end, end], pa.int64()).cast(pa.timestamp("us"))
    good = keyed([7, None, 7], [0, 1, None], end=ends)
    strict = {"time": "ts", "end": "end", "invalid_end": "error"}
    windowed = wr.group_by(good, "k", **strict).windowed_by(GAP).threads(threads)
    assert windowed.count()["count"].to_pylist() == [1]
    bad = pa.concat_tables([good, keyed([7], [10**6], end=pa.array([end], pa.int64()).cast(pa.timestamp("us")))])
    message = 'column "end": the end of key 7 at 1970-01-01T00:00:01 is null or before'
    windowed = wr.group_by(bad, "k", **strict).windowed_by(GAP).threads(threads)
    with pytest.raises(ValueError, match=message):
        windowed.count()
    with pytest.raises(ValueError, match=message):
        windowed.agg(total=wr.reduce("id", lambda one, other: one + other))
    driver = StreamDriver(
        lambda data: wr.group_by(data, "k", **strict).windowed_by(windows_of(5, grace=TICK)).count(), bad.schema
    )
    with pytest.raises(ValueError, match=message):
        driver.pipe_batch(bad)


@pytest.mark.parametrize(("gap", "goes_on"), [(5, True), (0, False)])
def test_a_table_goes_on_with_ends_unless_the_gap_is_zero_and_a_checkpoint_does_not(gap: int, goes_on: bool) -> None:
    table = keyed([1], [100], end=pa.array([100], pa.int64()).cast(pa.timestamp("us")))

    def points(data: Any) -> Any:
        return wr.group_by(data, "k", time="ts").windowed_by(windows_of(gap, grace=TICK))

    opened = points(table).advance(None, to=datetime(1970, 1, 1) + 100 * TICK, n=wr.count()).still_open
    later = grouped(table).windowed_by(windows_of(gap, grace=TICK))
    if goes_on:
        assert later.advance(opened, to="1970-01-02", n=wr.count()).closed["n"].to_pylist() == [2]
    else:
        with pytest.raises(ValueError, match="of another query: end was none, is there; allowed"):
            later.advance(opened, to="1970-01-02", n=wr.count())
    driver = StreamDriver(lambda data: points(data).count(), table.schema)
    driver.pipe_batch(table)
    lasting_driver = StreamDriver(
        lambda data: grouped(data).windowed_by(windows_of(gap, grace=TICK)).count(), table.schema
    )
    with pytest.raises(ValueError, match="another query\nend was none, is there"):
        lasting_driver.restore(driver.snapshot())


def test_records_of_a_cogroup_without_an_end_end_at_their_time() -> None:
    orders = pa.table({"user": ["ann", "ann"], "paid": [at(30), at(31)], "stopped": [1, 2]})
    visits = wr.cogroup(
        calls=wr.group_by(CALLS, "user", time="started", end="stopped"), orders=wr.group_by(orders, "user", time="paid")
    ).windowed_by(GAP)
    assert shown(visits.agg(count=wr.count())) == [("ann", 0, 31, 4), ("bob", 3, 3, 1)]
    rows = visits.agg(calls=wr.count("calls.*"), longest=wr.max("calls.stopped")).sort_by("user").to_pylist()
    assert [(row["calls"], row["longest"]) for row in rows] == [(2, at(20)), (1, at(3))]
    joined = wr.cogroup(
        calls=wr.group_by(CALLS, "user", time="started", end="stopped"),
        orders=wr.group_by(orders.drop_columns("stopped"), "user", time="paid"),
    ).windowed_by(GAP)
    each = joined.with_columns(n=wr.count()).to_pylist()
    assert [(row["input"], row["started"], row["paid"], row["n"]) for row in each if row["user"] == "ann"] == [
        ("calls", at(0), None, 4),
        ("calls", at(5), None, 4),
        ("calls", at(40), None, None),
        ("orders", None, at(30), 4),
        ("orders", None, at(31), 4),
    ]
