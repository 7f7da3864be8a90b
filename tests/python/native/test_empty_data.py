"""A day without events: data without rows, or without types, gives a result without rows, and with all columns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest

import windrow as wr

from ..harness.tables import arrow
from ..scenes import all_at

GAP = wr.SessionWindows.with_gap("5 minutes")
NAMES = ["k", "t", "x", "flag"]
NULLS = pa.schema([(name, pa.null()) for name in NAMES])
DAY: dict[str, list[Any]] = {"k": ["a", "b"], "t": all_at(0, 1), "x": [1, 2], "flag": [True, False]}


def header(folder: Path) -> Path:
    path = folder / "clicks.csv"
    path.write_text(",".join(NAMES) + "\n")
    return path


EMPTY: dict[str, Callable[[Path], Any]] = {
    "pandas, filtered": lambda _: pd.DataFrame(DAY)[[False, False]],
    "pandas, objects": lambda _: pd.DataFrame({name: [] for name in NAMES}, dtype=object),
    "pandas, csv": lambda folder: pd.read_csv(header(folder)),
    "pandas, backed": lambda folder: pd.read_csv(header(folder), dtype_backend="pyarrow"),
    "polars, untyped": lambda _: pl.DataFrame({name: [] for name in NAMES}),
    "polars, csv": lambda folder: pl.read_csv(header(folder)),
    "polars, scan": lambda folder: pl.scan_csv(header(folder)),
    "pyarrow, csv": lambda folder: pyarrow.csv.read_csv(header(folder)),
    "pyarrow, no batches": lambda _: pa.Table.from_batches([], NULLS),
    "pyarrow, reader": lambda _: pa.RecordBatchReader.from_batches(NULLS, []),
    "duckdb, csv": lambda folder: duckdb.sql(f"FROM read_csv('{header(folder)}', header = true)"),
    "duckdb, filtered": lambda _: duckdb.from_arrow(pa.table(DAY)).filter("x > 2"),
    "null keys": lambda _: pd.DataFrame(DAY | {"k": [None, None]}),
    "null times": lambda _: pl.DataFrame(DAY | {"t": [None, None]}),
    "nulls": lambda _: pl.DataFrame({name: [None, None] for name in NAMES}),
}
AGGREGATES: dict[str, Any] = {
    "n": wr.count(),
    "total": wr.sum("x"),
    "share": wr.sum("x") / wr.count(),
    "flags": wr.count_if("flag"),
    "all": wr.bool_and("flag"),
    "most": wr.max("x"),
    "bits": wr.bit_and("x"),
    "median": wr.median("x"),
    "by": wr.max_by("x", "t"),
    "list": wr.collect_list("x"),
    "where": wr.sum("x").where("flag"),
    "pair": wr.corr("x", "x"),
    "last": wr.max("t"),
    "fold": wr.reduce("x", lambda one, other: one + other),
}


@pytest.mark.parametrize("windows", [GAP, wr.SlidingWindows.with_time_difference("5 minutes")], ids=["gap", "sliding"])
@pytest.mark.parametrize("case", EMPTY)
def test_no_windows_and_all_columns(case: str, windows: Any, tmp_path: Path) -> None:
    seen = wr.Observation()
    query = wr.group_by(EMPTY[case](tmp_path), "k", time="t").windowed_by(windows).observe(seen)
    result = arrow(query.agg(**AGGREGATES))
    assert (result.num_rows, result.column_names) == (0, ["k", "window", *AGGREGATES])
    assert seen.get["windows"] == 0
    assert seen.get["records"] == (2 if "null" in case else 0)


@pytest.mark.parametrize("case", EMPTY)
def test_the_rows_come_back_with_all_columns(case: str, tmp_path: Path) -> None:
    data = EMPTY[case](tmp_path)
    query = wr.group_by(data, "k", time="t").windowed_by(GAP)
    result = arrow(query.with_columns(n=wr.count(), total=wr.sum("x")))
    assert result.column_names == [*NAMES, "window", "n", "total"]
    assert result["n"].to_pylist() == [None] * (2 if "null" in case else 0)
    assert result["total"].null_count == result.num_rows


@pytest.mark.parametrize("case", EMPTY)
def test_every_column_may_be_empty(case: str, tmp_path: Path) -> None:
    grouped = wr.group_by(EMPTY[case](tmp_path), "k", time="t", tick="flag", source="k", order="x")
    assert arrow(grouped.windowed_by(GAP).flat().count()).column_names == ["k", "window_start", "window_end", "count"]
    if "reader" in case or case in ("null keys", "null times"):  # a reader is read; the others have integers
        return
    gaps = wr.group_by(EMPTY[case](tmp_path), "k", time="t")
    ends = wr.SessionWindows.with_dynamic_gap("x", max_gap="1 day", end_when="flag")
    assert arrow(gaps.windowed_by(ends).count()).num_rows == 0


def test_types_are_those_of_the_data_where_it_has_some() -> None:
    empty = pl.DataFrame({name: [] for name in NAMES})
    result = wr.group_by(empty, "k", time="t").windowed_by(GAP).agg(n=wr.count(), x=wr.sum("x"), last=wr.last("x"))
    assert result.schema["k"] == result.schema["last"] == pl.Null
    assert result.schema["x"] == pl.Float64
    assert result.schema["window"] == pl.Struct({"start": pl.Datetime("us"), "end": pl.Datetime("us")})
    typed = pl.DataFrame(DAY).clear()
    whole = wr.group_by(pl.DataFrame(DAY), "k", time="t").windowed_by(GAP).agg(n=wr.count(), x=wr.sum("x"))
    nothing = wr.group_by(typed, "k", time="t").windowed_by(GAP).agg(n=wr.count(), x=wr.sum("x"))
    assert nothing.schema == whole.schema
    pd.testing.assert_index_equal(
        wr.group_by(pd.DataFrame(DAY)[:0], "k", time="t").windowed_by(GAP).count().columns,
        pd.Index(["k", "window", "count"]),
    )


def test_a_column_of_nulls_is_a_key_next_to_another() -> None:
    for data in (pl.DataFrame(DAY | {"shop": [None, None]}), pd.DataFrame(DAY | {"shop": [None, None]})):
        result = wr.group_by(data, "k", "shop", time="t").windowed_by(GAP).count()
        assert arrow(result)["count"].to_pylist() == [1, 1]
        assert arrow(result)["shop"].null_count == 2
    nulls = pa.nulls(2)
    categories = pa.DictionaryArray.from_arrays(pa.nulls(2, pa.int8()), pa.nulls(0))  # of pandas, from objects
    for shops in (nulls, categories):
        windowed = wr.group_by(pa.table(DAY | {"shop": shops, "v": shops}), "k", "shop", time="t").windowed_by(GAP)
        result = windowed.agg(n=wr.count("v"), total=wr.sum("v"))
        assert result.schema.field("shop").type == shops.type
        assert result.drop_columns(["k", "window"]).to_pylist() == [{"shop": None, "n": 0, "total": None}] * 2


def test_a_wrong_type_is_an_error_as_soon_as_there_is_one_row() -> None:
    for data in (pl.DataFrame(DAY | {"t": ["x", "y"]}), pl.LazyFrame(DAY | {"t": ["x", "y"]})):
        with pytest.raises(TypeError, match=r"^time: column 't' has type string_view|large_string"):
            wr.group_by(data, "k", time="t")
    with pytest.raises(TypeError, match="column 'x' has type int64; allowed: a duration"):
        wr.group_by(pa.table(DAY), "k", time="t").windowed_by(wr.SessionWindows.with_dynamic_gap("x"))
    texts = duckdb.from_arrow(pa.table(DAY | {"x": ["1", "2"]}))
    with pytest.raises(TypeError, match='sum: column "x" has type string'):
        wr.group_by(texts, "k", time="t").windowed_by(GAP).agg(x=wr.sum("x"))


@pytest.mark.parametrize("first", ["whole", "empty"])
def test_an_input_of_a_cogroup_may_be_empty(first: str) -> None:
    whole = pd.DataFrame(DAY).astype({"t": "datetime64[us]"})
    empties = (
        pd.DataFrame({name: [] for name in NAMES}, dtype=object),
        pl.DataFrame({name: [] for name in NAMES}),
        pl.DataFrame({name: [] for name in NAMES}, schema=dict.fromkeys(NAMES, pl.String)),
        pa.Table.from_batches([], NULLS),
    )
    for empty in empties:
        inputs = {"whole": wr.group_by(whole, "k", time="t"), "empty": wr.group_by(empty, "k", time="t")}
        inputs = dict(sorted(inputs.items(), key=lambda each: each[0] != first))
        query = wr.cogroup(**inputs).windowed_by(GAP)
        result = arrow(query.agg(n=wr.count(), one=wr.sum("whole.x"), other=wr.sum("empty.x"))).sort_by("k")
        assert result["k"].to_pylist() == ["a", "b"]
        assert (result["one"].to_pylist(), result["other"].null_count) == ([1, 2], 2)
        rows = arrow(query.with_columns(n=wr.count(), one=wr.sum("whole.x"), other=wr.max("empty.x")))
        assert (rows["k"].to_pylist(), rows["n"].to_pylist(), rows["one"].to_pylist()) == (["a", "b"], [1, 1], [1, 2])


def test_explained_data_may_have_columns_of_nulls() -> None:
    data = pl.DataFrame(DAY | {"shop": [None, None]})
    windowed = wr.group_by(data, "k", time="t", tick="shop").windowed_by(GAP)
    assert "in the session" in wr.explain_record(windowed, "a", DAY["t"][0])


DAYS: dict[str, dict[str, Any]] = {
    "rows": {"user": [7, 7], "ts": [0, 20], "page": ["x", "y"], "paid": [True, None], "price": [1.5, None]},
    "no value": {"user": [7], "ts": [40], "page": [None], "paid": [None], "price": [None]},
    "no row": {"user": [], "ts": [], "page": [], "paid": [], "price": []},
    "rows again": {"user": [7, 8], "ts": [60, 65], "page": ["z", "x"], "paid": [True, True], "price": [None, 2.0]},
}


@pytest.mark.parametrize("zone", [None, "Europe/Madrid"])
@pytest.mark.parametrize("kind", ["pandas", "arrow"])
def test_a_daily_job_goes_over_days_without_rows_and_without_values(kind: str, zone: str | None) -> None:
    start = pd.Timestamp("2026-05-04", tz=zone)

    def frame(*days: dict[str, Any]) -> Any:
        columns = {name: [value for day in days for value in day[name]] for name in DAYS["rows"]}
        columns["ts"] = [start + pd.Timedelta(minute, "min") for minute in columns["ts"]]
        if kind == "pandas":
            return pd.DataFrame(columns)
        return pa.table({name: values if values else pa.nulls(0) for name, values in columns.items()})

    def windowed(data: Any) -> Any:
        return wr.group_by(data, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("20 minutes")).flat()

    asked: dict[str, Any] = {
        "path": wr.path("page"),
        "last": wr.last("page", ignore_nulls=True),
        "paid": wr.count().where("paid"),
        "spent": wr.sum("price"),
        "pages": wr.count_distinct("page"),
    }
    before, found = None, list[Any]()
    for minute, day in zip((30, 50, 55, 90), DAYS.values(), strict=True):
        to = f"{start + pd.Timedelta(minute, 'min'):%Y-%m-%d %H:%M}"
        run = windowed(frame(day)).advance(before, to=to, **asked)
        before = run.still_open
        found += rows_of(run.closed)
    last = windowed(frame(DAYS["no row"])).advance(before, to="2026-05-05", **asked)
    assert sorted(found + rows_of(last.closed)) == sorted(rows_of(windowed(frame(*DAYS.values())).agg(**asked)))


def rows_of(result: Any) -> list[str]:
    """The rows as text."""
    return [str(row) for row in arrow(result).to_pylist()]
