"""A result has the kind of its data: frames of pandas with index and dtypes, Polars, relations of DuckDB, pyarrow."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import windrow as wr
from windrow._arguments.nested import LIST_TYPES

from ..harness.five_records import COUNTS, GAP, ROWS, frame, sessions
from ..harness.tables import arrow
from ..scenes import at

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
    "count": lambda query: query.count(),
    "agg": lambda query: query.agg(count=wr.count()),
    "flat": lambda query: query.flat().agg(count=wr.count()),
    "update": lambda query: query.emit("update").agg(count=wr.count()),
    "late": lambda query: query.late("emit").agg(count=wr.count()),
    "sliding": lambda query: query.grouped.windowed_by(wr.SlidingWindows.with_time_difference("5 minutes")).count(),
    "computed": lambda query: query.agg(count=wr.count().then(lambda n: n), r=wr.sum("id") / wr.count()),
    "lists for functions": lambda query: query.agg(
        count=wr.collect_list("ts").then(lambda lists: lists.value_lengths())
    ),
    "reduce": lambda query: query.agg(count=wr.count(), r=wr.reduce("id", lambda one, _: one)),
    "aggregate": lambda query: query.agg(
        count=wr.aggregate(int, lambda n, _: n + 1, lambda m, n: m + n, schema="bigint", columns=["id"])
    ),
    "with_columns": lambda query: query.with_columns(count=wr.count()),
    "flat with_columns": lambda query: query.flat().with_columns(count=wr.count()),
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
        left_out = sessions(data, "v").left_out("emit", columns=["v"]).agg(any=wr.any_value("v"))
        assert left_out.schema["v"] == left_out.schema["any"] == data.schema["v"]
        assert left_out["reason"].drop_nulls().to_list() == ["null_key"] * data["v"].null_count()
        assert sessions(data, pl.col("v").alias("w")).count().schema["w"] == data.schema["v"]


def test_a_column_without_a_name_comes_back() -> None:
    data = pl.DataFrame(ROWS).rename({"user": ""})  # such as the index that pandas writes to CSV
    assert sorted(sessions(data, "").count()[""]) == ["ann", "ann", "bob"]
    assert sessions(data, "").with_columns(n=wr.count())["n"].to_list() == COUNTS


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


@pytest.mark.parametrize("lazy", [False, True])
def test_polars_sends_what_a_pyarrow_without_views_reads(lazy: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """pyarrow 14 and 15 have no views: not of strings, and not of lists."""
    words = pl.Series([["a"], None, [], [], None])
    data = pl.DataFrame(ROWS).with_columns(words=words, kind=pl.col("user").cast(pl.Categorical))

    def answer() -> Any:
        asked = {"n": wr.count(), "words": wr.collect_list("words"), "kind": wr.last("kind")}
        return sessions(data.lazy() if lazy else data).agg(**asked).lazy().collect().to_dicts()

    expected = answer()
    monkeypatch.delattr(pa, "string_view", raising=False)
    assert answer() == expected
    assert len(expected) == 3


def test_the_types_of_lists_are_those_that_pyarrow_has() -> None:
    assert {pa.ListType, pa.LargeListType, pa.FixedSizeListType} <= set(LIST_TYPES)
    assert len(LIST_TYPES) == (5 if hasattr(pa, "ListViewType") else 3)


@pytest.mark.parametrize("kind", [pl.Int128, pl.UInt128], ids=str)
def test_wide_integers_of_polars_are_values_after_the_cast_of_the_error(kind: Any) -> None:
    data = pl.DataFrame(ROWS).with_columns(v=pl.Series([2**100] * 5, dtype=kind))
    for expression in ("v", pl.col("v") + 1):
        for polars_frame in (data, data.lazy()):
            with pytest.raises((TypeError, ValueError), match=r"Arrow has no integers of 128 bits: cast\(pl.String\)"):
                sessions(polars_frame).agg(x=wr.first(expression))
    cast = wr.first(pl.col("v").cast(pl.String))
    assert sessions(data).agg(x=cast)["x"].unique().to_list() == [str(2**100)]
    assert sessions(data, pl.col("v").cast(pl.Decimal(38, 0)).alias("w")).count()["w"].unique().to_list() == [2**100]


# DuckDB


def test_a_relation_stays_on_the_connection_of_the_caller() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE clicks AS SELECT 'ann' AS user, TIMESTAMP '2026-01-01' AS ts")
    connection.execute("CREATE TABLE names AS SELECT 'ann' AS user, 'Ann Lee' AS name")
    visits = sessions(connection.table("clicks")).flat().count()
    assert connection.sql("SELECT name, count FROM visits JOIN names USING (user)").fetchall() == [("Ann Lee", 1)]
    assert visits.fetchall() == visits.fetchall()
    assert connection.sql("SHOW TABLES").fetchall() == [("clicks",), ("names",)]


def test_a_connection_that_reads_no_tables_of_python_is_refused() -> None:
    connection = duckdb.connect()
    data = connection.sql("SELECT 'ann' AS user, TIMESTAMP '2026-01-01' AS ts")
    connection.execute("SET python_enable_replacements = false")
    with pytest.raises(TypeError, match="^data: got a DuckDBPyRelation, .*python_enable_replacements = true"):
        sessions(data).count()
    assert sessions(data.to_arrow_table()).count().num_rows == 1


# pyarrow


def test_text_of_polars_is_text_that_all_functions_of_pyarrow_take() -> None:
    views = pa.table(pl.DataFrame(ROWS).with_columns(page=pl.lit("/"), kind=pl.lit("x", pl.Categorical)))
    assert str(views.schema.field("user").type) == "string_view"
    for result in (
        sessions(views).agg(first=wr.first("page"), all=wr.collect_set("page"), k=wr.first("kind")),
        sessions(views).to_reader(first=wr.first("page"), all=wr.collect_set("page")).read_all(),
        sessions(views).with_columns(first=wr.first("page"), s=wr.top_k("page", 1)),
    ):
        assert "view" not in str(result.schema.types)
        assert result.schema.field("user").type == pa.large_string()


def test_dictionaries_of_keys_come_back() -> None:
    for index in (pa.int8(), pa.int32()):
        kind = pa.dictionary(index, pa.string())
        table = pa.table(ROWS | {"user": pa.array(ROWS["user"]).dictionary_encode().cast(kind)})
        result = sessions(table).agg(last=wr.last("user"), n=wr.count("user"))
        assert result.schema.field("user").type == result.schema.field("last").type == kind
        assert sorted(result["user"].to_pylist()) == ["ann", "ann", "bob"]
        assert result.schema.field("n").type == pa.int64()


@pytest.mark.parametrize("values", [[[1], [2, None]], [{"a": 1}, {"a": None}]])
def test_dictionaries_of_nested_values_come_back(values: list[Any]) -> None:
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0, 1]), pa.array(values))
    table = pa.table(ROWS | {"ts": pa.array(ROWS["ts"], pa.timestamp("us")), "v": coded})
    given = [None if place is None else values[place] for place in (0, 1, None, 0, 1)]
    rows = sessions(table).with_columns(first=wr.first("v"))
    assert rows.schema.field("v").type == rows.schema.field("first").type == coded.type
    assert rows["first"].to_pylist() == [given[0], given[1], None, given[0], given[4]]
    left_out = sessions(table, "v").left_out("emit", columns=["v"]).agg(n=wr.count())
    assert left_out["reason"].to_pylist().count("null_key") == 1
    first = sessions(table, "v").advance(None, to=at(22), n=wr.count())
    second = sessions(table.slice(0, 0), "v").advance(first.still_open, to=at(40), n=wr.count())
    assert second.closed.schema.field("v").type == coded.type
    keys = first.closed["v"].to_pylist() + second.closed["v"].to_pylist()
    assert sorted(keys, key=str) == sorted([given[0], given[1], given[4]], key=str)
