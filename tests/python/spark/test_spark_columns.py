"""Columns of types that few have: what comes back is Spark's type and value, or a refusal at the call."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, IntegerType, NullType, StringType, StructType
from pyspark.testing.objects import ExamplePoint, ExamplePointUDT

import windrow as wr

from ..harness.spark_scenes import SetConf, rows, spark_sessions, typed
from ..harness.tables import assert_same


def of_one_session(spark: SparkSession, *columns: str) -> DataFrame:
    """Three records of one key within a minute, with these columns."""
    return spark.range(3).selectExpr("1 AS k", "timestamp_seconds(id) AS ts", *columns)


def sessions(data: DataFrame, key: str = "k") -> Any:
    return wr.group_by(data, key, time="ts").windowed_by(wr.SessionWindows.with_gap("1 minute"))


UNITS = ["day", "hour", "minute", "second"]
INTERVALS = [
    f"{unit} to {finest}" if unit != finest else unit for place, unit in enumerate(UNITS) for finest in UNITS[place:]
]


def test_intervals_of_every_kind_have_sparks_types_and_values(spark: SparkSession) -> None:
    assert len(INTERVALS) == 10
    functions = ["sum", "mean", "min", "max", "first", "last", "any_value", "collect_list"]
    asked = {f"{function} {kind}": (function, kind) for function in functions for kind in INTERVALS}
    spans = "make_dt_interval(CAST(id AS INT), 2, 3, 4.5)"
    data = of_one_session(spark, *[f"CAST({spans} AS INTERVAL {kind}) AS `{kind}`" for kind in INTERVALS])
    theirs = {name: getattr(F, function)(f"`{kind}`") for name, (function, kind) in asked.items()}
    expected = spark_sessions(data, ["k"], "1 minute", **theirs)
    got = sessions(data).agg(**{name: getattr(wr, function)(kind) for name, (function, kind) in asked.items()})
    wanted, found = typed(expected), typed(got)
    assert {name: found[name] for name in asked} == {name: wanted[name] for name in asked}
    assert_same(rows(got, ["k"]), rows(expected, ["k"]))


def test_void_is_a_value_like_any_other(spark: SparkSession) -> None:
    names = ["z", "empty", "inside"]
    data = of_one_session(
        spark, "null AS z", "array() AS empty", "named_struct('a', array_compact(array(null))) AS inside"
    )
    lists = {f"{name} {kind}": getattr(wr, f"collect_{kind}")(name) for name in names for kind in ("list", "set")}
    got = sessions(data).agg(**lists, **{name: wr.first(name) for name in names}, n=wr.count("z"))
    assert typed(got)["z list"] == typed(got)["z set"] == ArrayType(NullType())
    [row] = got.collect()
    assert (row["z list"], row["z set"], row["z"], row["n"]) == ([], [], None, 0)
    assert (row["empty list"], row["empty set"], row["empty"]) == ([[]] * 3, [[]], [])
    assert (row["inside list"], row["inside set"], row["inside"]) == ([([],)] * 3, [([],)], ([],))


def test_char_and_varchar_come_back_as_strings(spark: SparkSession, set_conf: SetConf) -> None:
    set_conf("spark.sql.preserveCharVarcharTypeInfo", "true")
    data = of_one_session(
        spark, "CAST('ab' AS CHAR(4)) AS c", "CAST('xy' AS VARCHAR(3)) AS v", "array(CAST('z' AS CHAR(2))) AS a"
    )
    if data.schema["c"].dataType == StringType():
        pytest.skip("this Spark has no spark.sql.preserveCharVarcharTypeInfo")
    assert [data.schema[name].dataType.simpleString() for name in "cva"] == [
        "char(4)",
        "varchar(3)",
        "array<char(2)>",
    ]
    got = sessions(data, "c").agg(least=wr.min("v"), all=wr.collect_list("v"), first=wr.first("a"))
    text = StringType()
    assert [typed(got)[name] for name in ("c", "least")] == [text, text]
    assert [typed(got)[name] for name in ("all", "first")] == [ArrayType(text, containsNull=False)] * 2
    assert [(row.c, row.least, row.all, row.first) for row in got.collect()] == [("ab  ", "xy", ["xy"] * 3, ["z "])]
    inputs = {"a": wr.group_by(data, "c", time="ts"), "b": wr.group_by(data.drop("v"), "c", time="ts")}
    both = wr.cogroup(**inputs).windowed_by(wr.SessionWindows.with_gap("1 minute")).agg(v=wr.first("a.v"), n=wr.count())
    assert [(row.c, row.v, row.n) for row in both.collect()] == [("ab  ", "xy", 6)]


@pytest.mark.parametrize("column", ["named_struct('a', 1, 'a', 2)", "map('m', array(named_struct('a', 1, 'a', 2)))"])
def test_a_struct_with_a_field_name_twice_is_refused_at_the_call(spark: SparkSession, column: str) -> None:
    data = of_one_session(spark, f"{column} AS s", "named_struct('a', 1, 'A', 2) AS cased")
    with pytest.raises(TypeError, match="keys: column 's' has type .*; allowed: structs with distinct field names"):
        wr.group_by(data, "s", time="ts")
    with pytest.raises(TypeError, match="first: column 's' has type .*; allowed: structs with distinct field names"):
        sessions(data).agg(x=wr.first("s"))
    assert sessions(data, "cased").agg(x=wr.first("cased")).collect()[0].x == (1, 2)


@pytest.mark.needs("variants")
def test_variants_are_values_that_cannot_be_compared(spark: SparkSession) -> None:
    data = of_one_session(spark, "parse_json(concat('{\"a\": ', id, '}')) AS v")
    got = sessions(data).agg(n=wr.count("v"), first=wr.first("v"), all=wr.collect_list("v"), most=wr.max_by("v", "ts"))
    assert typed(got)["first"] == data.schema["v"].dataType
    [row] = got.selectExpr("n", "to_json(first)", "to_json(all)", "variant_get(most, '$.a', 'int')").collect()
    assert tuple(row) == (3, '{"a":0}', '[{"a":0},{"a":1},{"a":2}]', 2)
    for argument, call in {
        "keys": lambda: sessions(data, "v"),
        "aggregate .x.: min": lambda: sessions(data).agg(x=wr.min("v")),
        "aggregate .y.: collect_set": lambda: sessions(data).agg(y=wr.collect_set("v")),
        "aggregate .z.: max_by": lambda: sessions(data).agg(z=wr.max_by("ts", "v")),
    }.items():
        with pytest.raises(TypeError, match=f"{argument}: column 'v' has type variant; allowed: types with an order"):
            call()


def test_user_defined_types_are_what_they_store(spark: SparkSession) -> None:
    schema = StructType().add("k", IntegerType()).add("at", IntegerType()).add("p", ExamplePointUDT())
    points = [ExamplePoint(2.0, 1.0), ExamplePoint(1.0, 2.0), None]
    data = spark.createDataFrame([(1, at, point) for at, point in enumerate(points)], schema)
    data = data.withColumn("ts", F.timestamp_seconds("at"))
    got = sessions(data).agg(n=wr.count("p"), first=wr.first("p"), least=wr.min("p"), all=wr.collect_list("p"))
    assert typed(got)["first"] == typed(got)["least"] == ExamplePointUDT()
    assert [row[2:] for row in got.collect()] == [(2, points[0], points[1], points[:2])]


@pytest.mark.needs("calendar intervals in schemas")
def test_intervals_of_months_are_refused_for_every_aggregate(spark: SparkSession) -> None:
    data = of_one_session(spark, "INTERVAL '1-1' YEAR TO MONTH AS m", "make_interval(0, 1) AS c")
    for column in ("m", "c"):
        for aggregate in (wr.count(column), wr.first(column), wr.sum(column)):
            with pytest.raises(TypeError, match=f"column '{column}' has type interval.*; allowed: .*day-time ones"):
                sessions(data).agg(x=aggregate)
    months = data.selectExpr("k", "ts", "CAST(CAST(m AS INTERVAL MONTH) AS INT) AS m")
    total = (
        sessions(months).agg(m=wr.sum("m")).selectExpr("CAST(CAST(m AS INTERVAL MONTH) AS INTERVAL YEAR TO MONTH) m")
    )
    assert total.selectExpr("CAST(m AS STRING)").collect()[0][0] == "INTERVAL '3-3' YEAR TO MONTH"


@pytest.mark.parametrize("column", ["'1'", "null", "TIMESTAMP '2026-01-01 00:00:00'"])
@pytest.mark.parametrize("function", ["sum", "mean", "stddev"])
def test_nothing_is_cast_to_a_number(spark: SparkSession, function: str, column: str) -> None:
    with pytest.raises(
        TypeError, match=f'aggregate "x": {function}: column "v" has type .*; allowed: integers, floats'
    ):
        sessions(of_one_session(spark, f"{column} AS v")).agg(x=getattr(wr, function)("v"))


def test_a_plain_column_means_its_name(spark: SparkSession) -> None:
    data = of_one_session(spark, "id AS amount")
    windows = wr.SessionWindows.with_gap("1 minute")
    for key, time, amount in [(F.col("k"), F.col("ts"), F.col("amount")), (data.k, data["ts"], F.column("amount"))]:
        windowed = wr.group_by(data, [key], time=time).windowed_by(windows)
        [row] = windowed.agg(total=wr.sum(amount), n=wr.count(amount)).collect()
        assert (row["k"], row["total"], row["n"]) == (1, 3, 3)


def test_a_time_of_another_type_names_the_cast_and_the_cast_works(spark: SparkSession) -> None:
    data = of_one_session(
        spark,
        "CAST(timestamp_seconds(id) AS STRING) AS text",
        "date_format(timestamp_seconds(id), 'MM/dd/yyyy h:mm a') AS `us date`",
        "id AS s",
        "1000 * id AS ms",
        "id + 0.25D AS float",
        "CAST(id + 0.25D AS DECIMAL(20, 6)) AS decimal",
        "DATE '1970-01-01' AS date",
        "1000000 * id AS us",
        "date_format(timestamp_seconds(id), \"yyyyMMdd'T'HHmmss'Z'\") AS compact",
        "'19700101' AS day",
        "id AS `s.at`",
    )
    # Spark shows no values before an action, so there are several casts.
    places = {"us date": 1, "compact": 2, "day": 2, "ms": 1, "us": 2}
    for column in ("text", "us date", "compact", "day", "s", "ms", "us", "float", "decimal", "date", "s.at"):
        with pytest.raises(TypeError, match=f"^time: column '{column}' has type .*; allowed: a timestamp") as raised:
            wr.group_by(data, "k", time=column)
        _, _, cast = str(raised.value).partition("with or without a zone: ")
        chosen = re.split(", or ", cast)[places.get(column, 0)]
        made = eval(re.split(" if it counts | of ", chosen)[0], {"F": F})
        [row] = sessions(data.withColumn("ts", made)).count().collect()
        assert row["count"] == 3
    data = data.withColumn("in struct", F.struct(F.struct("text").alias("a b")))
    for given in (F.col("s") + 1, F.to_date("text"), F.trim("text"), "in struct.a b.text"):
        with pytest.raises(TypeError, match=r"^time: column .* with or without a zone: F?.") as raised:
            wr.group_by(data, "k", time=given)
        cast = re.split(" if it counts | of |; ", str(raised.value).partition("with or without a zone: ")[2])[0]
        times = eval(cast, {"F": F, "expression": given}).alias("ts")
        query = wr.group_by(data, "k", time=times).windowed_by(wr.SessionWindows.with_gap("5 minutes"))
        [row] = query.count().collect()
        assert row["count"] == 3
