"""A result has the kind of its data: frames of pandas with index and dtypes, Polars, relations of DuckDB, pyarrow."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow as wr

from ..harness.tables import arrow
from ..scenes import all_at, at

GAP = wr.SessionWindows.with_gap("5 minutes")
LARGE = 1582218195625938945
"""An integer that no float64 holds."""

#   ann   0    4         20       bob   1     no key   2       minutes
#         ├────┤         ┤              ┤
ROWS: dict[str, list[Any]] = {
    "user": ["ann", "bob", None, "ann", "ann"],
    "ts": all_at(0, 1, 2, 4, 20),
    "id": [LARGE, None, 5, LARGE + 2, 7],
}
COUNTS = [2, 1, None, 2, 1]
"""The number of records in the session of each row."""


def sessions(data: Any, *keys: str, time: str = "ts") -> Any:
    return wr.group_by(data, *(keys or ("user",)), time=time).windowed_by(GAP)


def frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame(ROWS | {"id": pd.array(ROWS["id"], dtype="Int64")} | columns)


def plain(column: Any) -> list[Any]:
    """Values of a Series, with None for every kind of null."""
    return [None if value is pd.NA or value is pd.NaT or value != value else value for value in column]


# Every way to a result

LIBRARIES: dict[str, tuple[Callable[[], Any], type]] = {
    "pandas": (frame, pd.DataFrame),
    "polars": (lambda: pl.DataFrame(ROWS), pl.DataFrame),
    "lazy": (lambda: pl.LazyFrame(ROWS), pl.LazyFrame),
    "duckdb": (lambda: duckdb.from_arrow(pa.table(ROWS)), duckdb.DuckDBPyRelation),
    "table": (lambda: pa.table(ROWS), pa.Table),
    "batch": (lambda: pa.table(ROWS).to_batches()[0], pa.Table),
    "reader": (lambda: pa.table(ROWS).to_reader(), pa.Table),
    "batches": (lambda: pa.table(ROWS).to_batches(), pa.Table),
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "count": lambda asked: asked.count(),
    "agg": lambda asked: asked.agg(count=wr.count()),
    "flat": lambda asked: asked.flat().agg(count=wr.count()),
    "update": lambda asked: asked.emit("update").agg(count=wr.count()),
    "late": lambda asked: asked.late("emit").agg(count=wr.count()),
    "sliding": lambda asked: asked.grouped.windowed_by(wr.SlidingWindows.with_time_difference("5 minutes")).count(),
    "computed": lambda asked: asked.agg(count=wr.count().then(lambda n: n), r=wr.sum("id") / wr.count()),
    "lists for functions": lambda asked: asked.agg(
        count=wr.collect_list("ts").then(lambda lists: lists.value_lengths())
    ),
    "reduce": lambda asked: asked.agg(count=wr.count(), r=wr.reduce("id", lambda one, _: one)),
    "aggregate": lambda asked: asked.agg(
        count=wr.aggregate(int, lambda n, _: n + 1, lambda m, n: m + n, schema="bigint", columns=["id"])
    ),
    "with_columns": lambda asked: asked.with_columns(count=wr.count()),
    "flat with_columns": lambda asked: asked.flat().with_columns(count=wr.count()),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_every_way_gives_the_kind_that_went_in(library: str, way: str) -> None:
    data, kind = LIBRARIES[library]
    result = WAYS[way](sessions(data()))
    assert isinstance(result, kind)
    counts = arrow(result)["count"].to_pylist()
    if "with_columns" in way:
        assert counts == COUNTS
    else:
        assert sorted(counts) == ([1, 1, 1, 1, 2] if way == "sliding" else [1, 1, 2])


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_reader_is_asked_for_by_name(library: str) -> None:
    reader = sessions(LIBRARIES[library][0]()).to_reader(count=wr.count(), user_of=wr.first("user"))
    assert isinstance(reader, pa.RecordBatchReader)
    assert reader.schema.field("user").type in (pa.string(), pa.large_string())
    assert sorted(reader.read_all()["count"].to_pylist()) == [1, 1, 2]


def test_a_cogroup_has_the_kind_of_its_first_input() -> None:
    micros = {"pandas": (lambda: frame().astype({"ts": "datetime64[us]"}), pd.DataFrame)}
    for first, (data, kind) in (LIBRARIES | micros).items():
        for second, (other, _) in (LIBRARIES | micros).items():
            inputs = {"a": wr.group_by(data(), "user", time="ts"), "b": wr.group_by(other(), "user", time="ts")}
            result = wr.cogroup(**inputs).windowed_by(GAP).agg(a=wr.count("a.*"), b=wr.count("b.*"))
            assert isinstance(result, kind), (first, second)
            rows = arrow(result)
            assert sorted(rows["a"].to_pylist()) == sorted(rows["b"].to_pylist()) == [1, 1, 2]


def test_rows_of_a_cogroup_have_the_kind_of_its_first_input_and_the_types_that_all_share() -> None:
    enum, other = pl.Enum(["bob", "ann"]), pl.Enum(["bob", "ann", "cid"])
    one = pl.DataFrame(ROWS).with_columns(pl.col("user").cast(enum))
    for second, kind in ((one, enum), (one.with_columns(pl.col("user").cast(other)), pl.Categorical)):
        pair = wr.cogroup(a=wr.group_by(one, "user", time="ts"), b=wr.group_by(second, "user", time="ts"))
        rows = pair.windowed_by(GAP).with_columns(n=wr.count())
        assert isinstance(rows, pl.DataFrame)
        assert rows["user"].dtype == kind
        assert rows["user"].cast(pl.String).to_list() == ROWS["user"] * 2
        assert rows["n"].to_list() == [n and 2 * n for n in COUNTS] * 2
        keys = pair.windowed_by(GAP).count()["user"]
        assert sorted(keys.cast(pl.String)) == ["ann", "ann", "bob"]


# pandas


def test_a_column_of_the_result_can_be_assigned_back_to_a_filtered_frame() -> None:
    data = frame()
    data = data[data["user"] == "ann"].copy()
    data["n"] = sessions(data).with_columns(n=wr.count())["n"]
    assert data["n"].tolist() == [2, 2, 1]
    assert data.index.tolist() == [0, 3, 4]


def test_rows_come_back_with_their_index_and_dtypes() -> None:
    data = frame(
        string=pd.array(["a", None, "b", "c", "d"], dtype="string"),
        flag=pd.array([True, None, False, True, True], dtype="boolean"),
        size=pd.Categorical(["s", "l", None, "s", "l"], categories=["xs", "l", "s"], ordered=True),
        zoned=pd.Series(pd.to_datetime(ROWS["ts"])).dt.tz_localize("Europe/Madrid"),
        fixed=pd.Series(pd.to_datetime(ROWS["ts"])).dt.tz_localize("+02:00"),
        period=pd.period_range("2026-01", periods=5, freq="M"),
        interval=pd.interval_range(0, 5),
        sparse=pd.arrays.SparseArray([0, 0, 1, 0, 0]),
        mixed=[1, "x", None, {}, ()],
        backed=pd.array([1, None, 3, 4, 5], dtype=pd.ArrowDtype(pa.int16())),
        nested=[{"a": [1]}, None, {"a": []}, {"a": [2, None]}, {}],
    )
    for index in (
        pd.Index([9, 9, 3, 1, 0]),
        pd.MultiIndex.from_product([["x"], range(5)], names=["one", None]),
        pd.date_range("2026-01-01", periods=5, tz="UTC", name="day"),
    ):
        data.index = index
        before = data.copy()
        answer = sessions(data).with_columns(n=wr.count(), i=wr.window_id())
        pd.testing.assert_frame_equal(answer[list(data.columns)], before)
        pd.testing.assert_frame_equal(data, before)
        assert answer.index.equals(index)
        assert plain(answer["n"]) == COUNTS
        answer.loc[answer.index[0], "string"] = "changed"
        assert data["string"].iloc[0] == "a"


def test_large_integers_stay_what_they_are_next_to_rows_that_are_left_out() -> None:
    data = frame()
    table = sessions(pa.table(ROWS)).with_columns(i=wr.window_id(), m=wr.max("id"))
    exact = {"i": table["i"].to_pylist(), "m": table["m"].to_pylist()}
    assert exact["m"] == [LARGE + 2, None, None, LARGE + 2, 7]
    assert len({i for i in exact["i"] if i is not None and i != int(float(i))}) > 0
    answer = sessions(data).with_columns(i=wr.window_id(), m=wr.max("id"))
    for result in (answer, table.to_pandas()):
        for name, values in exact.items():
            assert str(result[name].dtype) == "Int64"
            assert plain(result[name]) == values
    assert str(sessions(data[data["user"] == "ann"]).with_columns(i=wr.window_id())["i"].dtype) == "int64"
    small = frame(v=pd.array([200, 1, 1, 3, 4], dtype="uint8"), f=[True, False, False, True, True])
    kept = sessions(small).with_columns(top=wr.max("v"), flag=wr.first("f"))
    assert (str(kept["top"].dtype), plain(kept["top"])) == ("UInt8", [200, 1, None, 200, 4])
    assert (str(kept["flag"].dtype), plain(kept["flag"])) == ("boolean", [True, False, None, True, True])


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Madrid", "+02:00"])
def test_windows_of_pandas_have_timestamps_of_any_unit_and_zone(unit: str, zone: str | None) -> None:
    times = pd.Series(pd.to_datetime(ROWS["ts"])).dt.tz_localize(zone).dt.as_unit(unit)
    result = sessions(frame(ts=times)).count()
    assert result["window"].iloc[0].keys() == {"start", "end"}
    assert all(isinstance(window["start"], pd.Timestamp) for window in result["window"])
    found = result.join(pd.json_normalize(result.pop("window")))
    lengths = (found["end"] - found["start"]).dt.total_seconds()
    assert sorted(zip(found["user"], lengths, strict=True)) == [("ann", 0.0), ("ann", 240.0), ("bob", 0.0)]
    assert found["start"].min() == times[0]
    assert str(found["start"].min()) == str(times[0])
    flat = sessions(frame(ts=times)).flat().with_columns()
    assert flat["window_start"].dtype == flat["window_end"].dtype == times.dtype
    assert plain(flat["window_start"]) == [times[0], times[1], None, times[0], times[4]]


def test_keys_and_chosen_values_have_the_dtype_of_their_column() -> None:
    data = frame(
        user=pd.Categorical(ROWS["user"], categories=["zoe", "bob", "ann"]),
        string=pd.array(["a", None, "b", "c", "d"], dtype="string"),
        level=pd.Categorical([1, 2, 2, 3, 3], ordered=True),
    )
    result = sessions(data, "user", "string").agg(
        low=wr.min("id"), first=wr.first("level"), by=wr.min_by("string", "id"), n=wr.count("level"), d=wr.count()
    )
    dtypes = {"user": "user", "string": "string", "low": "id", "first": "level", "by": "string"}
    for name, column in dtypes.items():
        assert result[name].dtype == data[column].dtype, name
    assert result["user"].cat.categories.tolist() == ["zoe", "bob", "ann"]
    assert result["n"].sum() == 5
    index = data.set_index(["user", "string"])
    assert sessions(index, "string").count()["string"].dtype == data["string"].dtype


def test_arrow_backed_frames_give_arrow_backed_results() -> None:
    kinds = {"user": pa.string(), "ts": pa.timestamp("ns", "UTC"), "id": pa.int64()}
    data = pd.DataFrame({name: pd.array(ROWS[name], dtype=pd.ArrowDtype(kind)) for name, kind in kinds.items()})
    answer = sessions(data).agg(n=wr.count(), m=wr.max("id"), all=wr.collect_list("id"))
    assert all(isinstance(dtype, pd.ArrowDtype) for dtype in answer.dtypes)
    assert (answer["m"].dtype, answer["user"].dtype) == (data["id"].dtype, data["user"].dtype)
    rows = sessions(data).with_columns(i=wr.window_id())
    pd.testing.assert_frame_equal(rows[list(data.columns)], data)
    assert str(rows["i"].dtype) == "int64[pyarrow]"


def test_lists_and_structs_of_pandas_hold_exact_values() -> None:
    data = frame(ts=pd.Series(pd.to_datetime(ROWS["ts"])).dt.tz_localize("Europe/Madrid"))
    result = sessions(data).agg(
        ids=wr.collect_list("id", ignore_nulls=False), times=wr.collect_list("ts"), top=wr.top_k("ts", 1)
    )
    found = {(user, len(ids)): ids for user, ids in zip(result["user"], result["ids"], strict=True)}
    assert found == {("ann", 2): [LARGE, LARGE + 2], ("ann", 1): [7], ("bob", 1): [None]}
    assert {times[0] for times in result["times"]} == {data["ts"][0], data["ts"][1], data["ts"][4]}
    assert {top[0]["item"] for top in result["top"]} <= set(data["ts"])


def test_labels_that_are_no_strings_stay() -> None:
    data = pd.DataFrame({0: ["a", "a"], ("x", 1): all_at(0, 1), 2: [1, 2]})
    asked = wr.group_by(data, "0", time="('x', 1)").windowed_by(GAP)
    assert list(asked.agg(n=wr.sum("2")).columns) == [0, "window", "n"]
    assert list(asked.with_columns(n=wr.sum("2")).columns) == [0, ("x", 1), 2, "window", "n"]
    levels = data.set_axis(pd.MultiIndex.from_tuples([("k", ""), ("t", ""), ("v", "x")]), axis=1)
    two = wr.group_by(levels, "('k', '')", time="('t', '')").windowed_by(GAP).with_columns(n=wr.count())
    assert two["n"].tolist() == [2, 2]


def test_the_metadata_of_pandas_stays_in_a_table_of_pyarrow() -> None:
    data = frame(string=pd.array(list("abcde"), dtype="string")).set_index(pd.Index(list("vwxyz"), name="row"))
    table = pa.Table.from_pandas(data).replace_schema_metadata(
        {**pa.Table.from_pandas(data).schema.metadata, b"mine": b"kept"}
    )
    answer = sessions(table).with_columns(n=wr.count())
    assert answer.schema.metadata[b"mine"] == b"kept"
    assert wr.counters(answer)["null_keys"] == 1
    back = answer.to_pandas()
    pd.testing.assert_frame_equal(back[list(data.columns)], data)
    assert plain(back["n"]) == COUNTS
    assert sessions(table, "string").count().to_pandas()["string"].dtype == data["string"].dtype


# Polars


POLARS: dict[str, Any] = {
    "enum": pl.Series(["b", None, "a", "a", "b"], dtype=pl.Enum(["z", "b", "a"])),
    "categorical": pl.Series(["b", None, "a", "a", "b"], dtype=pl.Categorical),
    "decimal": pl.Series([Decimal("1.50"), None, Decimal(2), Decimal(3), Decimal(4)], dtype=pl.Decimal(12, 2)),
    "duration": pl.Series([timedelta(days=1)] * 5, dtype=pl.Duration("ms")),
    "time": pl.Series([moment.time() for moment in ROWS["ts"]]),
    "date": pl.Series([moment.date() for moment in ROWS["ts"]]),
    "zoned": pl.Series(ROWS["ts"], dtype=pl.Datetime("ns")).dt.replace_time_zone("Europe/Madrid"),
    "struct": pl.Series([{"a": 1, "b": ["x"]}] * 5),
    "array": pl.Series([[1, 2]] * 5, dtype=pl.Array(pl.Int16, 2)),
    "nothing": pl.Series([None] * 5, dtype=pl.Null),
    "binary": pl.Series([b"x"] * 5),
    "float": pl.Series([1.5] * 5, dtype=pl.Float32),
    "small": pl.Series([1] * 5, dtype=pl.UInt8),
}


@pytest.mark.parametrize("kind", POLARS)
def test_types_of_polars_come_back(kind: str) -> None:
    data = pl.DataFrame(ROWS).with_columns(POLARS[kind].alias("v"))
    rows = sessions(data).with_columns(n=wr.count(), first=wr.first("v"))
    assert rows.select(data.columns).equals(data)
    assert rows.schema["v"] == rows.schema["first"] == data.schema["v"]
    values = data["v"].to_list()
    assert rows["first"].to_list() == [None if place is None else values[place] for place in (0, 1, None, 0, 4)]
    result = sessions(data).agg(any=wr.any_value("v"))
    assert result.schema["any"] == data.schema["v"]
    if kind not in ("array", "nothing"):
        keyed = sessions(data, "user", "v").count()
        assert keyed.schema["v"] == data.schema["v"]
        assert keyed["v"].null_count() == data.filter(pl.col("user").is_not_null())["v"].null_count()


def test_objects_and_wide_integers_of_polars_come_back() -> None:
    data = pl.DataFrame(ROWS).with_columns(
        wide=pl.Series([2**100] * 5, dtype=pl.Int128), thing=pl.Series([object()] * 5, dtype=pl.Object)
    )
    rows = sessions(data).with_columns(n=wr.count())
    assert rows.schema["wide"] == pl.Int128
    assert rows["thing"].to_list() == data["thing"].to_list()
    assert rows["n"].to_list() == COUNTS
    lazy = sessions(data.lazy()).with_columns(n=wr.count())
    assert lazy.collect()["n"].to_list() == COUNTS


# DuckDB

DUCKDB = {
    "enum": "'x'::ENUM ('y', 'x')",
    "hugeint": "170141183460469231731687303715884105727::HUGEINT",
    "uuid": f"'{UUID(int=7)}'::UUID",
    "bit": "'101'::BIT",
    "json": """'{"a": 1}'::JSON""",
    "decimal": "1.50::DECIMAL(9, 2)",
    "interval": "INTERVAL 2 DAY",
    "blob": "'x'::BLOB",
    "time": "TIME '10:00'",
    "timestamp_s": "TIMESTAMP_S '2026-01-01'",
    "timestamp_ns": "TIMESTAMP_NS '2026-01-01'",
    "timestamptz": "TIMESTAMPTZ '2026-01-01 10:00:00+01'",
    "array": "[1, 2]::INTEGER[2]",
    "struct": "{'a': 'x'::ENUM ('y', 'x')}",
    "map": "MAP {'a': 1}",
    "null": "NULL",
    "small": "5::UTINYINT",
}


@pytest.mark.parametrize("kind", DUCKDB)
def test_types_of_duckdb_come_back(kind: str) -> None:
    connection = duckdb.connect()
    data = connection.sql(f"SELECT 'ann' AS user, TIMESTAMP '2026-01-01' AS ts, {DUCKDB[kind]} AS v")
    (value,) = data.project("v").fetchall()
    rows = sessions(data).with_columns(n=wr.count(), first=wr.first("v"))
    assert rows.columns == ["user", "ts", "v", "window", "n", "first"]
    assert rows.types[:3] == data.types
    assert rows.types[5] == data.types[2]
    assert rows.project("v").fetchall() == rows.project("first").fetchall() == [value]
    if kind not in ("map", "null", "array"):
        keyed = sessions(data, "user", "v").count()
        assert keyed.types[1] == data.types[2]
        assert keyed.project("v").fetchall() == [value]


def test_a_relation_stays_on_the_connection_of_the_caller() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE clicks AS SELECT 'ann' AS user, TIMESTAMP '2026-01-01' AS ts")
    connection.execute("CREATE TABLE names AS SELECT 'ann' AS user, 'Ann Lee' AS name")
    visits = sessions(connection.table("clicks")).flat().count()
    assert connection.sql("SELECT name, count FROM visits JOIN names USING (user)").fetchall() == [("Ann Lee", 1)]
    assert visits.fetchall() == visits.fetchall()
    assert connection.sql("SHOW TABLES").fetchall() == [("clicks",), ("names",)]


def test_a_connection_that_reads_no_tables_of_python_is_told() -> None:
    connection = duckdb.connect()
    data = connection.sql("SELECT 'ann' AS user, TIMESTAMP '2026-01-01' AS ts")
    connection.execute("SET python_enable_replacements = false")
    with pytest.raises(TypeError, match="^data: got a DuckDBPyRelation, .*python_enable_replacements = true"):
        sessions(data).count()
    assert sessions(data.to_arrow_table()).count().num_rows == 1


# pyarrow


def test_text_of_polars_is_text_that_pyarrow_sorts_writes_and_joins() -> None:
    views = pa.table(pl.DataFrame(ROWS).with_columns(page=pl.lit("/"), kind=pl.lit("x", pl.Categorical)))
    assert str(views.schema.field("user").type) == "string_view"
    for result in (
        sessions(views).agg(first=wr.first("page"), all=wr.collect_set("page"), k=wr.first("kind")),
        sessions(views).to_reader(first=wr.first("page"), all=wr.collect_set("page")).read_all(),
        sessions(views).with_columns(first=wr.first("page"), s=wr.top_k("page", 1)),
    ):
        assert "view" not in str(result.schema.types)
        assert result.schema.field("user").type == pa.large_string()
        assert result.sort_by("user")["user"].to_pylist()[:3] == ["ann", "ann", "bob" if len(result) == 3 else "ann"]
        assert result.take([0]).num_rows == 1
        flat = result.select(["user", "first"])
        assert flat.join(flat, "user", right_suffix="_2").num_rows >= 3
        pq.write_table(result, io.BytesIO())


def test_dictionaries_of_keys_come_back() -> None:
    for index in (pa.int8(), pa.int32()):
        kind = pa.dictionary(index, pa.string())
        table = pa.table(ROWS | {"user": pa.array(ROWS["user"]).dictionary_encode().cast(kind)})
        result = sessions(table).agg(last=wr.last("user"), n=wr.count("user"))
        assert result.schema.field("user").type == result.schema.field("last").type == kind
        assert sorted(result["user"].to_pylist()) == ["ann", "ann", "bob"]
        assert result.schema.field("n").type == pa.int64()


def test_the_times_of_a_key_at_scale_are_the_same_in_all_libraries() -> None:
    many = range(10_000)
    table = pa.table(
        {
            "user": [f"u{row % 97}" for row in many],
            "ts": [at(row // 50) for row in many],
            "id": [1] * 10_000,
        }
    )
    expected: dict[str, list[int]] = {}
    last: dict[str, Any] = {}
    for user, moment in zip(table["user"].to_pylist(), table["ts"].to_pylist(), strict=True):
        runs = expected.setdefault(user, [])
        if user not in last or moment - last[user] > timedelta(minutes=5):
            runs.append(0)
        runs[-1] += 1
        last[user] = moment
    for data in (table, table.to_pandas(), pl.from_arrow(table), duckdb.from_arrow(table)):
        found: dict[str, list[int]] = {}
        counted = arrow(sessions(data).flat().count()).sort_by("window_start")
        for user, n in zip(counted["user"].to_pylist(), counted["count"].to_pylist(), strict=True):
            found.setdefault(user, []).append(n)
        assert found == expected
