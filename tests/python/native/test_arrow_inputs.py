"""What Arrow data may hold next to plain columns: types without an order, extension types, objects that are no data."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyspark.sql as spark
import pytest

import windrow as wr

from ..harness.tables import arrow

TIMES = [datetime(2026, 1, 1, 8, minute) for minute in (0, 1, 2)]
GAP = wr.SessionWindows.with_gap("5 minutes")
DAY = 24 * 3600 * 10**9


def rows(**columns: Any) -> pa.Table:
    """One session of one user."""
    return pa.table({"user": [1] * len(TIMES), "ts": TIMES, **columns})


def sessions(data: object) -> wr.WindowedData[pa.Table]:
    return wr.group_by(data, "user", time="ts").windowed_by(GAP)


RANKED = {
    "min": wr.min("v"),
    "max": wr.max("v"),
    "min_by": wr.min_by("user", "v"),
    "max_by": wr.max_by("user", "v"),
}


# Types without an order


@pytest.mark.parametrize("shape", ["plain", "struct", "list", "list_view"])
def test_intervals_of_months_and_days_are_not_compared(shape: str) -> None:
    plain = pa.array([(0, 40, 0), (1, 0, 0), (0, 0, 45 * DAY)], pa.month_day_nano_interval())
    offsets = pa.array([0, 1, 2, 3], pa.int32())
    column = {
        "plain": plain,
        "struct": pa.StructArray.from_arrays([plain], ["length"]),
        "list": pa.ListArray.from_arrays(offsets, plain),
        "list_view": pa.ListViewArray.from_arrays(offsets[:3], pa.array([1, 1, 1], pa.int32()), plain),
    }[shape]
    for aggregate in (*RANKED.values(), wr.collect_set("v")):
        with pytest.raises(TypeError, match='column "v" has type .*month_day_nano_interval.*; allowed: .*durations'):
            sessions(rows(v=column)).agg(v=aggregate)
    kept = sessions(rows(v=column)).agg(first=wr.first("v"), all=wr.collect_list("v"))
    assert kept["all"].to_pylist() == [column.to_pylist()]
    durations = pa.array([timedelta(days=40), timedelta(days=31), timedelta(days=40)], pa.duration("us"))
    assert sessions(rows(v=durations)).agg(v=wr.max("v"))["v"].to_pylist() == [timedelta(days=40)]


CATEGORIES = ["small", "large"]  # not the order of their letters


def categories() -> dict[str, Any]:
    """A column of ordered categories, as each library has it."""
    columns: dict[str, Any] = {"user": [1, 1, 1], "ts": TIMES}
    codes = pa.array([0, 1, 0], pa.int8())
    return {
        "pyarrow": rows(v=pa.DictionaryArray.from_arrays(codes, CATEGORIES, ordered=True)),
        "pandas": pd.DataFrame({**columns, "v": pd.Categorical.from_codes([0, 1, 0], CATEGORIES, ordered=True)}),
        "polars": pl.DataFrame({**columns, "v": pl.Series([*CATEGORIES, "small"], dtype=pl.Enum(CATEGORIES))}),
    }


@pytest.mark.parametrize("library", ["pyarrow", "pandas", "polars"])
def test_ordered_categories_are_values_that_have_no_rank(library: str) -> None:
    windowed = sessions(categories()[library])
    for aggregate in RANKED.values():
        with pytest.raises(TypeError, match='column "v" has type dictionary<.*, ordered=1>; .*cast ordered categories'):
            windowed.agg(v=aggregate)
    (row,) = arrow(windowed.agg(first=wr.first("v"), set=wr.collect_set("v"), n=wr.count("v"))).to_pylist()
    assert (row["first"], sorted(row["set"]), row["n"]) == ("small", ["large", "small"], 3)
    if library == "pyarrow":
        ordered = categories()[library]["v"].combine_chunks()
        with pytest.raises(TypeError, match="struct<size: dictionary<.*, ordered=1>>; .*ordered categories"):
            sessions(rows(v=pa.StructArray.from_arrays([ordered], ["size"]))).agg(v=wr.min("v"))


def test_categories_without_the_flag_are_compared_by_their_values() -> None:
    frame = duckdb.sql(
        "SELECT 1 AS user, TIMESTAMP '2026-01-01 08:00:00' AS ts, unnest(['small', 'large'])::ENUM ('small', 'large') v"
    )
    with pytest.raises(TypeError, match=r"has type ENUM\('small', 'large'\); allowed: a type with order: enum_code"):
        sessions(frame).agg(v=wr.min("v"))
    assert arrow(sessions(frame.to_arrow_table()).agg(v=wr.min("v")))["v"].to_pylist() == ["large"]
    categorical = pl.DataFrame({"user": [1, 1], "ts": TIMES[:2], "v": pl.Series(CATEGORIES, dtype=pl.Categorical)})
    assert arrow(sessions(categorical).agg(v=wr.min("v")))["v"].to_pylist() == ["large"]


def test_rules_for_a_dictionary_do_not_apply_to_its_values() -> None:
    described = pa.table(categories()["polars"])
    assert described.schema.field("v").metadata
    grouped = wr.group_by(described, "v", time="ts").windowed_by(GAP).count()
    assert grouped.schema.field("v").metadata is None
    assert sorted(grouped["v"].to_pylist()) == ["large", "small"]


def test_wide_decimals_are_refused_in_true_words() -> None:
    wide = sessions(rows(v=pa.array([1, 2, 3], pa.decimal256(40, 2))))
    for function in (wr.sum, wr.mean, wr.stddev, wr.var_pop):
        with pytest.raises(TypeError, match=r"has type decimal256\(40, 2\); allowed: .*decimals of up to 38 digits"):
            wide.agg(v=function("v"))


KINDS = [
    *(pa.bool_(), pa.binary(), pa.string(), pa.large_string(), pa.string_view(), pa.large_binary(), pa.binary_view()),
    *(pa.binary(4), pa.date32(), pa.date64(), pa.time32("s"), pa.time64("ns"), pa.timestamp("ms")),
    *(pa.timestamp("us", "UTC"), pa.month_day_nano_interval()),
    pa.list_(pa.field("value", pa.int8())),
    *(pa.large_list(pa.float16()), pa.list_view(pa.uint64()), pa.list_(pa.float32(), 3)),
    pa.struct({"a": pa.float64(), "b": pa.duration("s")}),
    pa.map_(pa.string(), pa.decimal256(50, 3)),
    pa.sparse_union([pa.field("a", pa.int32())]),
    pa.dense_union([pa.field("a", pa.decimal128(5, 2))]),
    pa.run_end_encoded(pa.int32(), pa.string()),
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_types_have_the_names_of_pyarrow(kind: pa.DataType) -> None:
    schema = pa.schema({"user": pa.int64(), "ts": pa.timestamp("us"), "v": kind})
    windowed = sessions(pa.RecordBatchReader.from_batches(schema, []))
    with pytest.raises(TypeError) as raised:
        windowed.agg(v=wr.sum("v"))
    assert f'column "v" has type {kind}; allowed' in str(raised.value)


# Columns of Polars, DuckDB and pandas


@pytest.mark.parametrize("value", [None, {"a": None}, [None], {"a": [None]}], ids=str)
def test_polars_columns_of_nulls_are_read(value: object) -> None:
    frame = pl.DataFrame({"user": [1, 1, 2], "ts": TIMES, "v": [value] * 3})
    result = arrow(sessions(frame).agg(n=wr.count("v"), first=wr.first("v"), all=wr.collect_list("v"))).sort_by("user")
    counts = [0, 0] if value is None else [2, 1]
    assert result["n"].to_pylist() == counts
    assert result["first"].to_pylist() == [value, value]
    assert result["all"].to_pylist() == [[value] * n for n in counts]
    assert sessions(frame.head(0)).agg(n=wr.count("v")).height == 0


@pytest.mark.parametrize("lazy", [False, True])
def test_objects_of_polars_are_no_data(lazy: bool) -> None:
    frame = pl.DataFrame({"user": [1, 1, 1], "ts": TIMES, "v": pl.Series([object()] * 3, dtype=pl.Object)})
    data = frame.lazy() if lazy else frame
    with pytest.raises(TypeError, match="first: column 'v' cannot be read as Arrow data .*type Object holds addresses"):
        sessions(data).agg(first=wr.first("v"))
    with pytest.raises(TypeError, match="keys: column 'v' cannot be read as Arrow data .*type Object holds addresses"):
        wr.group_by(data, "v", time="ts")
    assert arrow(sessions(data).count())["count"].to_pylist() == [3]


@pytest.mark.parametrize("mode", ["sparse", "dense"])
def test_unions_are_collected(mode: str) -> None:
    kinds, members = pa.array([0, 1, 0], pa.int8()), [pa.array([7, None, None]), pa.array([None, "b", None])]
    union = (
        pa.UnionArray.from_sparse(kinds, members)
        if mode == "sparse"
        else pa.UnionArray.from_dense(kinds, pa.array([0, 1, 1], pa.int32()), members)
    )
    result = sessions(rows(v=union)).agg(all=wr.collect_list("v"), first=wr.first("v"))
    result.validate(full=True)
    assert result["all"].to_pylist() == [[7, "b"]]
    assert result["first"].to_pylist() == [7]


@pytest.mark.parametrize("codes", [(0, 2), (5, 7)])
def test_a_dense_union_with_large_codes_is_refused_and_a_sparse_one_is_not(codes: tuple[int, int]) -> None:
    chosen = pa.array([codes[0], codes[1], codes[0]], pa.int8())
    members = [pa.array([1, 2, 3]), pa.array(["a", "b", "c"])]
    dense = pa.UnionArray.from_dense(chosen, pa.array([0, 1, 2], pa.int32()), members, ["n", "s"], list(codes))
    sparse = pa.UnionArray.from_sparse(chosen, members, ["n", "s"], list(codes))
    assert sessions(rows(v=sparse)).agg(all=wr.collect_list("v"))["all"].to_pylist() == [[1, "b", 3]]
    for union in (dense, pa.StructArray.from_arrays([dense], ["u"])):
        with pytest.raises(
            TypeError, match=r'"v" has type .*dense_union<.*; allowed: dense unions with the codes 0, 1'
        ):
            sessions(rows(v=union)).agg(all=wr.collect_list("v"))


def test_sparse_columns_of_pandas_are_numbers() -> None:
    frame = pd.DataFrame({"user": [1, 1, 1], "ts": TIMES, "v": pd.arrays.SparseArray([1, 0, 2])})
    assert sessions(frame).agg(v=wr.sum("v"))["v"].tolist() == [3]


class Stream:
    """Gives an Arrow stream, as an object."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return rows().__arrow_c_stream__(requested_schema)


CLASSES = [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.Table, pa.RecordBatchReader, spark.DataFrame, Stream]


@pytest.mark.parametrize("kind", CLASSES)
def test_a_class_is_no_data(kind: type) -> None:
    with pytest.raises(
        TypeError, match=r"^data: got \w+, a class; allowed: a Spark DataFrame, the path of Parquet files"
    ):
        wr.group_by(kind, "user", time="ts")


# Extension types

UUIDS = [UUID(int=number) for number in (2, 3, 1)]


def test_results_of_a_columns_type_are_of_its_extension_type() -> None:
    column = pa.array([uuid.bytes for uuid in UUIDS], pa.uuid())
    result = sessions(rows(v=column)).agg(
        min=wr.min("v"),
        max=wr.max("v"),
        first=wr.first("v"),
        last=wr.last("v"),
        any=wr.any_value("v"),
        by=wr.min_by("v", "v"),
        fold=wr.reduce("v", lambda held, _value: held),
        all=wr.collect_list("v"),
        set=wr.collect_set("v"),
        n=wr.count("v"),
    )
    (row,) = result.to_pylist()
    singles = ("min", "max", "first", "last", "by", "fold")
    assert [row[name] for name in singles] == [UUIDS[i] for i in (2, 1, 0, 2, 2, 0)]
    assert row["any"] in UUIDS
    assert (row["all"], sorted(row["set"]), row["n"]) == (UUIDS, sorted(UUIDS), 3)
    assert result.schema.field("all").type == pa.list_(pa.field("item", pa.uuid(), nullable=False))
    assert result.schema.field("n").metadata is None


def test_periods_of_pandas_stay_periods() -> None:
    periods = pd.period_range("2026-01", periods=3, freq="M")
    frame = pd.DataFrame({"user": [1, 1, 1], "ts": TIMES, "v": periods[::-1]})
    result = sessions(frame).agg(min=wr.min("v"), first=wr.first("v"))
    assert result["min"].dtype == frame["v"].dtype
    assert list(result["min"]) == [periods[0]]
    assert list(result["first"]) == [periods[2]]


def test_extension_types_of_unknown_order_are_not_ranked() -> None:
    relation = duckdb.sql("SELECT 1 AS user, TIMESTAMP '2026-01-01 08:00:00' AS ts, (-5)::BIGNUM AS v")
    table = relation.to_arrow_table()
    for aggregate in RANKED.values():
        with pytest.raises(TypeError, match='column "v" has type extension<arrow.opaque> over binary; allowed: .*stor'):
            sessions(table).agg(v=aggregate)
    kept = sessions(table).agg(first=wr.first("v"), all=wr.collect_set("v"))
    kind = kept.schema.field("first").type
    assert isinstance(kind, pa.OpaqueType)
    assert kept.schema.field("all").type.value_type == kind


class Size(pa.ExtensionType):
    """Categories as an extension type."""

    def __init__(self) -> None:
        super().__init__(pa.dictionary(pa.int8(), pa.string()), "windrow.tests.size")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, _serialized: bytes) -> Size:
        assert storage == pa.dictionary(pa.int8(), pa.string())
        return cls()


def test_an_extension_type_over_a_dictionary_gives_its_values() -> None:
    storage = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int8()), CATEGORIES)
    table = rows(v=pa.ExtensionArray.from_storage(Size(), storage))
    pa.register_extension_type(Size())
    try:
        assert sessions(table).agg(v=wr.first("v"))["v"].to_pylist() == ["small"]
        grouped = wr.group_by(table, "v", time="ts").windowed_by(GAP).count()
        assert sorted(grouped["v"].to_pylist()) == ["large", "small"]
    finally:
        pa.unregister_extension_type("windrow.tests.size")
