"""Each record with its window: sessions, own gaps and sliding windows equal the oracle; no row is lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow._executor.row_windows import MOST, with_windows
from windrow._native import Query

from ..harness.examples import usually
from ..harness.families import often, some
from ..harness.tables import in_batches, ticks, window_bounds
from ..oracle.records import Record, by_key
from ..oracle.row_windows import RowWindows, of_dynamic_sessions, of_sessions, of_sliding
from ..scenes import all_at, keyed

TICK = timedelta(microseconds=1)
LONGEST = 9
AGGREGATES = {"n": wr.count(), "ids": wr.collect_list("id"), "total": wr.sum("v"), "window_id": wr.window_id()}
ON_DISK = st.sampled_from([MOST, 500, -1])
Row = tuple[int | None, int | None, int | None]


def table_of(rows: list[Row], cuts: list[int]) -> pa.Table:
    """Records of a key, a time and a gap in ticks; their arrival is the id, and the value its square."""
    keys, times, gaps = ([row[place] for row in rows] for place in range(3))
    squares = pa.array([row * row for row in range(len(rows))], pa.int64())
    texts = pa.array([f"row {row}" for row in range(len(rows))], pa.string())
    return in_batches(keyed(keys, times, gaps=gaps, v=squares, text=texts), cuts)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    around = draw(st.sampled_from([0, 0, 10**6, -(10**6)]))
    time = st.integers(around - 20, around + 60)
    row = st.tuples(often(st.integers(1, 3)), often(time), often(st.integers(-1, 15)))
    return table_of(draw(some(row, 40)), draw(st.lists(st.integers(0, 40), max_size=4)))


def expected(table: pa.Table, windows: RowWindows) -> dict[int, Any]:
    records = [
        Record((key,), time, arrival, {"gap": gap})
        for arrival, (key, time, gap) in enumerate(
            zip(table["k"].to_pylist(), ticks(table["ts"]), ticks(table["gap"]), strict=True)
        )
    ]
    return {row: window for group in by_key(records).values() for row, window in windows(group).items()}


def check_windows(
    answer: pa.Table, keys: Sequence[Any], known: Mapping[int, Any], values: Callable[[list[int]], dict[str, Any]]
) -> None:
    """Each row has its window, the values over the records in it, lists in any order, and one id for one window."""
    ids: dict[Any, int] = {}
    for row, (bounds, got) in enumerate(zip(window_bounds(answer), answer.to_pylist(), strict=True)):
        start, end, members = known.get(row, (None, None, None))
        assert bounds == (start, end)
        expected_values = values(members or [])
        found = {name: sorted(got[name]) if isinstance(got[name], list) else got[name] for name in expected_values}
        assert found == (expected_values if members else dict.fromkeys(expected_values))
        assert (got["window_id"] is None) == (members is None)
        if members:
            assert ids.setdefault((keys[row], start), got["window_id"]) == got["window_id"]
    assert len(set(ids.values())) == len(ids)


def check(table: pa.Table, answer: pa.Table, windows: RowWindows) -> None:
    """The rows as they were, with their windows."""
    assert answer.select(table.column_names).replace_schema_metadata(None).equals(table)

    def values(members: list[int]) -> dict[str, Any]:
        return {"n": len(members), "ids": members, "total": sum(member * member for member in members)}

    check_windows(answer, table["k"].to_pylist(), expected(table, windows), values)


def windowed(table: Any, windows: Any) -> Any:
    return wr.group_by(table, "k", time="ts").windowed_by(windows)


def after_a_shuffle(
    table: pa.Table, windows: Any, most: int, tasks: int, aggregates: Mapping[str, wr.Aggregate] = AGGREGATES
) -> pa.Table:
    """What tasks of Spark give, in the order of the ids; more than `most` bytes of one wait on disk."""
    spec = windowed(table, windows).shards(2)._plan(aggregates, rows=True).spec.text
    observed, answer = {"records": "_1", "null_keys": "_2"}, []
    keys = [key or 0 for key in table["k"].to_pylist()]
    schema = table.schema.serialize().to_pybytes()
    for task in range(tasks):
        own = table.filter(pa.array([key % tasks == task for key in keys], pa.bool_()))
        answer += with_windows(iter(own.to_batches()), spec, schema, observed, most)
    rows = pa.Table.from_batches(answer)
    counters = rows.filter(rows["_1"].is_valid()).select(["_1", "_2"])
    assert [pc.sum(column).as_py() for column in counters.columns] == [len(table), table["k"].null_count]
    return rows.filter(rows["_1"].is_null()).drop_columns(["_1", "_2"]).sort_by("id")


@st.composite
def kinds(draw: st.DrawFn) -> tuple[Any, RowWindows]:
    """Windows of each kind, and the oracle's."""
    kind, steps, resolution = draw(st.integers(0, 2)), draw(st.integers(1, 12)), draw(st.integers(1, 4))
    if kind == 0:
        return wr.SessionWindows.with_gap(steps * TICK), of_sessions(steps)
    if kind == 1:
        own = of_dynamic_sessions(lambda record: record.values["gap"], LONGEST)
        return wr.SessionWindows.with_dynamic_gap("gap", max_gap=LONGEST * TICK), own
    length = steps * resolution
    windows = wr.SlidingWindows.with_time_difference(length * TICK, resolution=resolution * TICK)
    return windows, of_sliding(length, resolution)


@usually(180)
@given(tables(), kinds(), ON_DISK)
def test_each_record_has_the_window_of_the_oracle(table: pa.Table, kind: tuple[Any, RowWindows], most: int) -> None:
    windows, oracle = kind
    check(table, windowed(table, windows).with_columns(**AGGREGATES), oracle)
    check(table, after_a_shuffle(table, windows, most, 2), oracle)


@pytest.mark.parametrize("aggregates", [{}, {"n": wr.count()}], ids=["no aggregate", "a count"])
@pytest.mark.parametrize("most", [MOST, -1], ids=["memory", "disk"])
def test_no_row_is_lost_where_no_aggregate_asks_for_the_order_of_rows(most: int, aggregates: dict[str, Any]) -> None:
    rows = [(1, 5, None), (None, 5, None), (2, None, None), (1, 6, -1), (2, 9, None)]
    table = table_of(rows, [])  # of dynamic gaps all are left out but one
    for windows in (wr.SessionWindows.with_gap(2 * TICK), wr.SlidingWindows.with_time_difference(2 * TICK)):
        answer = after_a_shuffle(table, windows, most, 2, aggregates)
        assert answer.select(table.column_names).equals(table)
        is_known = answer["window"].is_valid().to_pylist()
        assert is_known == [True, False, False, True, True]
    own = wr.SessionWindows.with_dynamic_gap("gap", max_gap=LONGEST * TICK)
    assert after_a_shuffle(table, own, most, 2, aggregates)["id"].to_pylist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "windows",
    [wr.SessionWindows.with_gap("50 milliseconds"), wr.SlidingWindows.with_time_difference("50 milliseconds")],
    ids=["sessions", "sliding"],
)
def test_many_rows_on_any_number_of_threads_and_through_a_shuffle_are_alike(windows: Any) -> None:
    rows, random = 300_000, np.random.default_rng(7)
    times = np.sort(random.integers(0, 10**9, rows)) + random.integers(0, 10**6, rows)
    table = pa.table(
        {
            "k": np.minimum(random.geometric(0.02, rows), 300),
            "ts": pa.array(times, pa.int64()).cast(pa.timestamp("us")),
            "id": np.arange(rows),
            "text": pa.array(["x" * 100] * rows),
        }
    )
    aggregates = {"n": wr.count(), "first": wr.min("id"), "total": wr.sum("id"), "window_id": wr.window_id()}
    if isinstance(windows, wr.SlidingWindows):
        aggregates["near"] = wr.sum("id").over("30 milliseconds", closed="left", delay="10 milliseconds")
        aggregates["kinds"] = wr.count_distinct("id").over("5 milliseconds")
    one = windowed(table, windows).threads(1).with_columns(**aggregates)
    assert one.equals(windowed(table, windows).threads(3).with_columns(**aggregates))
    ids = windowed(table, windows).agg(id=wr.window_id())["id"].to_pylist()
    assert set(one["window_id"].unique().to_pylist()) <= set(ids)
    shown = ["id", "window", *aggregates]
    for most in (MOST, -1):
        shuffled = after_a_shuffle(table, windows, most, 3, aggregates)
        assert shuffled.select(shown).equals(one.select(shown).replace_schema_metadata(None))


def test_long_lists_come_back_in_several_batches() -> None:
    rows = 3_000  # 72 MB of values
    table = table_of([(1, row, None) for row in range(rows)], [])
    windows, aggregates = wr.SessionWindows.with_gap(TICK), {"ids": wr.collect_list("id")}
    here = windowed(table, windows).with_columns(**aggregates)
    plan = Query.rows_with_windows(windowed(table, windows)._plan(aggregates, rows=True).spec.text, table.schema)
    packer, merger = plan.packer(0), plan.merger()
    packed = [*packer.push(table.combine_chunks().to_batches()[0]), *packer.finish()]
    there = [one for batch in packed for one in merger.push(batch)] + merger.finish()
    for lists in (here["ids"].chunks, [rows["ids"] for _, rows in there]):
        assert len(lists) == 2
        assert [len(one) for one in lists] == [len(lists[0]), rows - len(lists[0])]
        assert all(one.values.equals(pa.array(list(range(rows)) * len(one), pa.int64())) for one in lists)


CLICKS = pa.table({"user": ["ann", "bob", "ann", None], "ts": all_at(0, 1, 3, 4), "url": ["/", "/a", "/b", "/c"]})
SESSIONS = wr.SessionWindows.with_gap("5 minutes")


def visits(data: Any) -> Any:
    return wr.group_by(data, "user", time="ts").windowed_by(SESSIONS)


def test_without_aggregates_there_is_just_the_window_and_the_counters() -> None:
    answer = visits(CLICKS).with_columns()
    assert answer.column_names == ["user", "ts", "url", "window"]
    assert answer["window"].is_null().to_pylist() == [False, False, False, True]
    counters = wr.counters(answer)
    assert (counters["records"], counters["null_keys"], counters["windows"]) == (4, 1, 2)


def test_bounds_as_columns_computed_columns_and_progress_go_along() -> None:
    steps: list[str] = []
    grouped = visits(CLICKS)
    flat = grouped.flat().progress(lambda step, done, total: steps.append(step))
    with pytest.warns(wr.LeftOut, match="1 of 4 records"):
        answer = flat.with_columns(share=wr.count("url") / wr.count(), later=wr.count().then(lambda n: pc.add(n, 1)))
    assert answer.column_names == ["user", "ts", "url", "window_start", "window_end", "share", "later"]
    assert answer["window_end"].to_pylist() == [*all_at(3, 1, 3), None]
    assert answer["share"].to_pylist() == [1.0, 1.0, 1.0, None]
    assert answer["later"].to_pylist() == [3, 2, 3, None]
    assert wr.counters(answer)["windows"] == 2
    assert set(steps) == {"records", "windows"}


def test_results_of_any_type_of_arrow_come_back() -> None:
    views = pa.table(
        {
            "user": pa.array(["ann", "ann", None], pa.string_view()),
            "ts": all_at(0, 1, 2),
            "text": pa.array(["a", "b", "c"], pa.string_view()),
            "bytes": pa.array([b"a", b"b", b"c"], pa.binary_view()),
            "nested": pa.array([{"t": ["a"]}, {"t": ["b"]}, None], pa.struct([("t", pa.list_(pa.string_view()))])),
        }
    )
    aggregates = {name: wr.first(name) for name in ("text", "bytes", "nested")} | {"all": wr.collect_list("text")}
    renamed = {f"{name}_of": aggregate for name, aggregate in aggregates.items()}
    answer = visits(views).with_columns(**renamed)
    assert answer["text_of"].to_pylist() == ["a", "a", None]
    assert answer["bytes_of"].to_pylist() == [b"a", b"a", None]
    assert answer["nested_of"].to_pylist() == [{"t": ["a"]}, {"t": ["a"]}, None]
    assert answer["all_of"].to_pylist() == [["a", "b"], ["a", "b"], None]
    polars = pl.DataFrame({"user": ["ann"] * 2, "ts": all_at(0, 1), "page": ["/", "/a"]})
    landing = visits(polars).with_columns(landing=wr.first("page"))
    assert landing["landing"].to_list() == ["/", "/"]


def test_the_id_of_a_window_is_what_it_is_documented_to_be_and_minds_no_unit() -> None:
    ids = set()
    for unit in ("us", "ns"):
        table = CLICKS.set_column(1, "ts", CLICKS["ts"].cast(pa.timestamp(unit)))
        answer = visits(table).with_columns(i=wr.window_id())
        ids.add(tuple(answer["i"].to_pylist()))
    (only,) = ids
    assert only[0] == only[2] != only[1]
    assert only[3] is None
    # xxh3_64, seed 0, of the key's hash and the start in nanoseconds: by the xxhash of Python
    assert only[:2] == (ANN, BOB)


ANN, BOB = -5012652230740339635, 1086960454828648205


def refused(call: Any, error: type[Exception], *words: str) -> None:
    with pytest.raises(error) as raised:
        call()
    for word in words:
        assert word in str(raised.value)


def test_what_cannot_be_is_refused_with_the_reason() -> None:
    grouped = visits(CLICKS)
    refused(lambda: grouped.with_columns(url=wr.count()), ValueError, "'url'", "a column of the data")
    refused(lambda: grouped.with_columns(window=wr.count()), ValueError, "'window'")
    refused(lambda: grouped.with_columns(wr.count()), TypeError, "with_columns(count=windrow.count())")
    refused(lambda: grouped.with_columns(n=3), TypeError, "an aggregate of windrow")
    refused(lambda: grouped.emit("update").with_columns(), ValueError, "got \"emit('update')\"", "comes back once")
    refused(lambda: grouped.with_columns(u=wr.reduce("url", max)), ValueError, "reduce(...)", "built-in")
    refused(lambda: grouped.with_columns(i=wr.window_id().where("url")), ValueError, "no condition")
    named = CLICKS.rename_columns(["user", "ts", "Window"])
    refused(lambda: visits(named).with_columns(), ValueError, "'Window'")
    far = pa.table({"user": ["ann"], "ts": pa.array([-(2**63) + 1], pa.timestamp("us"))})
    sliding = wr.group_by(far, "user", time="ts").windowed_by(wr.SlidingWindows.with_time_difference("1 second"))
    refused(sliding.with_columns, OverflowError, "ts")


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (pd.Series([1, "a"], dtype=object), "Could not convert 'a'"),
        (pl.Series([1, 2], dtype=pl.Int128), "Arrow has no integers of 128 bits"),
        (pl.Series([object(), None], dtype=pl.Object), "addresses of Python objects"),
    ],
    ids=["mixed", "int128", "object"],
)
def test_a_column_that_is_no_arrow_data_comes_back_and_is_named_in_a_cogroup(column: Any, reason: str) -> None:
    library = pl if isinstance(column, pl.Series) else pd
    data = library.DataFrame({"user": ["ann"] * 2, "ts": all_at(0, 1), "odd": column})
    grouped = visits(data)
    assert list(grouped.agg(n=wr.count())["n"]) == [2]
    answer = grouped.with_columns(n=wr.count())
    assert list(answer["n"]) == [2, 2]
    assert list(answer["odd"]) == list(data["odd"])
    assert answer["odd"].dtype == data["odd"].dtype
    other = wr.group_by(data[["user", "ts"]], "user", time="ts")
    both = wr.cogroup(a=other, b=wr.group_by(data, "user", time="ts")).windowed_by(SESSIONS)
    refused(both.with_columns, TypeError, "with_columns: b: column 'odd' cannot be read as Arrow data", reason)


def test_a_sparse_column_of_one_input_of_a_cogroup_is_null_for_the_others() -> None:
    for values in ([0, 1], [False, True], [0.5, 1.0]):
        data = pd.DataFrame({"user": ["ann"] * 2, "ts": all_at(0, 1), "odd": pd.arrays.SparseArray(values)})
        inputs = {"a": wr.group_by(data[["user", "ts"]], "user", time="ts"), "b": wr.group_by(data, "user", time="ts")}
        odd = wr.cogroup(**inputs).windowed_by(SESSIONS).with_columns()["odd"]
        assert (odd.isna().tolist(), odd.dropna().tolist()) == ([True, True, False, False], values)


def test_two_columns_of_one_name_come_back() -> None:
    data = pd.DataFrame([["ann", all_at(0)[0], 1, 2]], columns=["user", "ts", "x", "x"])
    answer = visits(data).with_columns(n=wr.count())
    assert list(answer.columns) == ["user", "ts", "x", "x", "window", "n"]
    assert answer.iloc[0, [2, 3, 5]].tolist() == [1, 2, 1]
    table = pa.Table.from_arrays([*CLICKS.columns, CLICKS["url"]], names=[*CLICKS.column_names, "url"])
    again = visits(table).with_columns(n=wr.count())
    assert again.column_names == ["user", "ts", "url", "url", "window", "n"]
    relation = duckdb.sql("SELECT 'ann' AS user, TIMESTAMP '2026-01-01' AS ts, 1 AS x, 2 AS x")
    both = visits(relation).with_columns(n=wr.count())
    assert both.columns == ["user", "ts", "x", "x", "window", "n"]
    assert both.fetchall()[0][2:4] == (1, 2)


@pytest.mark.parametrize("kept", [2, 0], ids=["some are left out", "all are"])
def test_rows_that_are_left_out_go_to_parquet_and_come_back(kept: int, tmp_path: Path) -> None:
    name = pa.struct([pa.field("first", pa.string(), nullable=False)])
    people = pa.array([{"first": str(row)} for row in range(4)], name)
    clicks = CLICKS.append_column("who", people).slice(2 if kept == 0 else 0)
    clicks = clicks.filter(clicks["user"].is_null()) if kept == 0 else clicks
    answer = visits(clicks).with_columns(who_first=wr.first("who"))
    pq.write_table(answer, tmp_path / "answer.parquet")
    back = pq.read_table(tmp_path / "answer.parquet")
    assert back.to_pylist() == answer.to_pylist()
    assert back["window"].null_count == back["who_first"].null_count == 1


NAME = pa.struct([pa.field("first", pa.string(), nullable=False)])
ODD = {
    "structs in structs": pa.array(
        [{"name": {"first": str(row)}} for row in range(4)], pa.struct([pa.field("name", NAME, nullable=False)])
    ),
    "lists of one length": pa.array(
        [[float(row)] * 2 for row in range(4)], pa.list_(pa.field("item", pa.float32(), nullable=False), 2)
    ),
    "runs": pa.RunEndEncodedArray.from_arrays([2, 4], ["a", "b"]),
    "a union": pa.UnionArray.from_sparse(pa.array([0] * 4, pa.int8()), [pa.array(range(4))]),
}


@pytest.mark.parametrize("values", ODD.values(), ids=ODD)
@pytest.mark.parametrize("rows", [4, 1, 0])
def test_values_of_odd_types_are_null_in_rows_that_are_left_out(values: Any, rows: int) -> None:
    clicks = CLICKS.append_column("value", values).slice(4 - rows)  # the last one has no user
    answer = visits(clicks).with_columns(known=wr.any_value("value"))
    known = values.to_pylist()
    assert answer["known"].to_pylist() == [known[0], known[1], known[0], None][4 - rows :]
