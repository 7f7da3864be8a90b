"""Types that only their library tells apart, on two days of a job: no value changes, and a day may have none."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest

import windrow as wr

from .test_nested_days import ENDS, TIMES, windowed


@pytest.mark.parametrize(
    ("before", "after", "is_kept"),
    [
        ("'007'", "7::UHUGEINT", False),
        ("'7'", "7::UHUGEINT", True),
        ("'FFFFFFFF-ffff-ffff-ffff-ffffffffffff'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'::UUID", False),
        ("'ffffffff-ffff-ffff-ffff-ffffffffffff'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'::UUID", True),
        ("'{'", "'{}'::JSON", False),
        ("'{}'", "'{}'::JSON", True),
        ("'zz'", "'a'::ENUM('a')", True),
        ("'x'::BLOB", "'POINT(1 2)'::GEOMETRY", False),
        ("'POINT(1 2)'::GEOMETRY", "'x'::BLOB", False),
        ("'POINT(1 2)'::GEOMETRY", "'POINT (1 2)'", False),
        ("'POINT(1 2)'::GEOMETRY", "'POINT(1 2)'::GEOMETRY", True),
    ],
)
@pytest.mark.parametrize("saved", [False, True])
def test_text_and_bytes_of_an_earlier_day_keep_their_value(
    before: str, after: str, is_kept: bool, saved: bool, tmp_path: Any
) -> None:
    connection = duckdb.connect()
    one, other = (
        connection.sql(f"SELECT 1 AS user, TIMESTAMP '{time}' AS ts, {value} AS x")
        for value, time in zip((before, after), TIMES, strict=True)
    )
    for key, aggregates in (("x", {"n": wr.count()}), ("user", {"v": wr.first("x")})):
        opened = windowed(one, key).advance(None, to=ENDS[0], **aggregates).still_open
        if saved:
            opened.write_parquet(str(tmp_path / "open.parquet"))
            opened = connection.read_parquet(str(tmp_path / "open.parquet"))
        if not is_kept:
            with pytest.raises(
                ValueError, match=r"^open: column '[xv]' .* in the run before.*; or None to begin anew$"
            ):
                windowed(other, key).advance(opened, to=ENDS[1], **aggregates)
            continue
        closed = windowed(other, key).advance(opened, to=ENDS[1], **aggregates).closed
        columns = [name for name in ("x", "v") if name in closed.columns]
        found = {str(value) for (value,) in closed.project(f"{columns[0]}::VARCHAR").fetchall()}
        values = [data.project("x::VARCHAR").fetchall()[0][0] for data in (one, other)]
        assert found == set(values if key == "x" else values[:1])


ENUM = pl.Series(["a"], dtype=pl.Enum(["b", "a"]))
DUCKDB: tuple[str, ...] = (
    "'01'::BIT",
    "9::UHUGEINT",
    "INTERVAL '1 month'",
    "'a'::ENUM('b', 'a')",
    "{'e': ['01'::BIT]}",
)


@pytest.mark.parametrize("column", [*DUCKDB, ENUM, pd.Period("2026-01", "M"), pd.Interval(0.0, 1.0)], ids=str)
def test_a_day_without_values_keeps_the_types_of_the_day_before(column: Any) -> None:
    connection = duckdb.connect()

    def made(value: Any, time: datetime) -> Any:
        if isinstance(column, str):
            return connection.sql(f"SELECT 1 AS user, TIMESTAMP '{time}' AS ts, {value} AS x")
        library: Any = pl if isinstance(column, pl.Series) else pd
        return library.DataFrame({"user": [1], "ts": [time], "x": value})

    def shown(result: Any) -> list[Any]:
        names = [name for name in ("x", "v", "values") if name in result.columns]
        if isinstance(column, str):
            return [result.project(name).fetchall() for name in names] + [str(kind) for kind in result.types]
        return [result[name].to_list() for name in names] + [str(result[name].dtype) for name in names[:1]]

    nothing = "NULL" if isinstance(column, str) else [None]
    first, second = (made(value, time) for value, time in zip((column, nothing), TIMES, strict=True))
    if not isinstance(column, str | pl.Series):
        first = first.assign(x=pd.Series([column]))
    aggregates: Mapping[str, Any] = {"v": wr.first("x"), "values": wr.collect_list("x")}
    for key, calls in (("user", aggregates), ("x", {"n": wr.count()})):
        if key == "x" and "INTERVAL" in str(column):
            continue  # it has no equality
        opened = windowed(first, key).advance(None, to=ENDS[0], **calls).still_open
        closed = windowed(second, key).advance(opened, to=ENDS[1], **calls).closed
        expected = shown(windowed(first, key).agg(**calls))
        assert shown(closed) == expected


def test_lists_of_periods_have_one_unit_on_all_days() -> None:
    days = [
        pd.DataFrame({"user": 1, "ts": [time], "x": pd.period_range("2026-01", periods=1, freq=unit)})
        for time, unit in zip(TIMES, "MD", strict=True)
    ]
    for call in (wr.collect_list("x"), wr.top_k("x", 1)):
        opened = windowed(days[0]).advance(None, to=ENDS[0], v=call).still_open
        with pytest.raises(
            ValueError, match=r"^open: column 'v' was period\[M\] in the run before, and is period\[D\]"
        ):
            windowed(days[1]).advance(opened, to=ENDS[1], v=call)
        (values,) = windowed(days[0].assign(ts=TIMES[1:])).advance(opened, to=ENDS[1], v=call).closed["v"]
        january = pd.Period("2026-01", "M")
        assert values == [january, january] or values == [{"item": january, "count": 2}]
