"""Each aggregate has Spark's own result type and value, over every type that Spark defines it for."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import windrow as wr

from ..harness.spark_scenes import rows, spark_sessions, typed
from ..harness.tables import assert_same

TYPES = {
    "byte": "CAST(id % 100 - 50 AS TINYINT)",
    "short": "CAST(id * 7 % 1000 - 500 AS SMALLINT)",
    "int": "CAST(id * 7919 % 100003 - 50000 AS INT)",
    "long": "id * 1000000007 % 1000000000039 - 500000000000",
    "float": "CAST(sin(id) * 1000 AS FLOAT)",
    "double": "cos(id) * 1e6",
    "decimal": "CAST(sin(id) * 1000 AS DECIMAL(10, 2))",
    "wide": "CAST(cos(id) * 1000 AS DECIMAL(38, 18))",
    "tiny": "CAST(id % 10 AS DECIMAL(1, 0))",
    "boolean": "id % 3 = 0",
    "string": "concat('ä', id * 7 % 13)",
    "binary": "CAST(concat('b', id * 5 % 11) AS BINARY)",
    "date": "DATE '2024-02-28' + CAST(id % 5 AS INT)",
    "timestamp": "TIMESTAMP '2024-01-01 00:00:00' + make_dt_interval(0, 0, id * 7 % 61, 0.000001)",
    "ntz": "TIMESTAMP_NTZ '1969-12-31 23:00:00' + make_dt_interval(0, 0, id * 7 % 61, 0.000001)",
    "interval": "make_dt_interval(CAST(id % 3 AS INT), 0, CAST(id * 7 % 59 AS INT), id % 10 + 0.25)",
    "array": "array(id % 3, CAST(NULL AS BIGINT))",
    "struct": "named_struct('a', id % 3, 'b', concat('x', id % 2))",
}
INTEGERS = ["byte", "short", "int", "long"]
NUMBERS = ["byte", "short", "int", "long", "float", "double", "decimal", "wide", "tiny"]
ADDED = [*NUMBERS, "interval"]
ORDERED = [*ADDED, "boolean", "string", "binary", "date", "timestamp", "ntz"]
DEFINED: dict[str, list[str]] = {
    "count": list(TYPES),
    "sum": ADDED,
    "mean": ADDED,
    "min": ORDERED,
    "max": ORDERED,
    "stddev": NUMBERS,
    "stddev_pop": NUMBERS,
    "variance": NUMBERS,
    "var_pop": NUMBERS,
    "first": list(TYPES),
    "last": list(TYPES),
    "collect_list": list(TYPES),
    "collect_set": list(TYPES),
    "min_by": list(TYPES),
    "max_by": list(TYPES),
    "bool_and": ["boolean"],
    "bool_or": ["boolean"],
    "count_if": ["boolean"],
    "bit_and": INTEGERS,
    "bit_or": INTEGERS,
    "bit_xor": INTEGERS,
    "product": NUMBERS,
    "count_distinct": list(TYPES),
    "sum_distinct": ADDED,
    "median": NUMBERS,
    "percentile": NUMBERS,
    "percentiles": NUMBERS,
    "mode": ORDERED,
    "top_k": [name for name in ORDERED if name not in ("interval", "binary")],
    "histogram_numeric": [*ADDED, "date", "timestamp", "ntz"],
    "skewness": NUMBERS,
    "kurtosis": NUMBERS,
    "covar_pop": NUMBERS,
    "covar_samp": NUMBERS,
    "corr": NUMBERS,
}
SHARES = [0.0, 0.3, 0.99]
GAP = "40 seconds"
SESSIONS = wr.SessionWindows.with_gap(GAP)


def data(spark: SparkSession) -> DataFrame:
    """900 events of 12 keys, each time once for a key, every type as a column, every fifth value null."""
    at = "TIMESTAMP '2024-01-01 00:00:00' + make_dt_interval(0, 0, 0, id * 37 % 9001)"
    plain = spark.range(0, 900, 1, 3).selectExpr("CAST(id % 12 AS INT) AS k", f"{at} AS ts", "id")
    values = [F.when(F.col("id") % 5 != 2, F.expr(sql)).alias(name) for name, sql in TYPES.items()]
    return plain.select("k", "ts", "id", *values)


def theirs(function: str, column: str) -> Column:
    """Spark's aggregate; first and last by time, as windrow means them."""
    match function:
        case "first" | "last":
            return (F.min_by if function == "first" else F.max_by)(column, "ts")
        case "min_by" | "max_by":
            return (F.min_by if function == "min_by" else F.max_by)(column, F.col("id"))
        case "mean":
            return F.avg(column)
        case "variance":
            return F.var_samp(column)
        case "percentile" | "percentiles":
            return F.percentile(column, 0.3 if function == "percentile" else F.lit(SHARES))
        case "mode":
            return F.mode(column, True)
        case "top_k":
            return F.expr(f"approx_top_k({column}, 1000)")
        case "histogram_numeric":
            return F.histogram_numeric(column, F.lit(1000))
        case "covar_pop" | "covar_samp" | "corr":
            both: Column = getattr(F, function)(column, "id")
            return both
        case _:
            aggregate: Column = getattr(F, function)(column)
            return aggregate


def ours(function: str, column: str) -> Any:
    """The same by windrow."""
    if function in ("percentile", "percentiles"):
        return wr.percentile(column, 0.3 if function == "percentile" else SHARES)
    if function in ("covar_pop", "covar_samp", "corr"):
        return getattr(wr, function)(column, "id")
    if function in ("top_k", "histogram_numeric"):
        return getattr(wr, function)(column, 1000)
    return getattr(wr, function)(column, "id") if function.endswith("_by") else getattr(wr, function)(column)


MARKS = {"mode": [pytest.mark.needs("a mode that chooses among equals")]}


def together(most: int = 40) -> list[Any]:
    """The functions in groups that Spark computes at once; distinct values and choices among equals alone."""
    groups = [[function] for function in DEFINED if function in MARKS or function == "top_k" or "distinct" in function]
    columns = most
    for function in (function for function in DEFINED if [function] not in groups):
        columns += len(DEFINED[function])
        if columns > most:
            groups.append([])
            columns = len(DEFINED[function])
        groups[-1].append(function)
    return [pytest.param(group, marks=MARKS.get(group[0], ()), id=" ".join(group)) for group in groups]


@pytest.mark.parametrize("functions", together())
def test_types_and_values_are_sparks(spark: SparkSession, functions: list[str]) -> None:
    if functions == ["top_k"] and not spark.catalog.functionExists("approx_top_k"):
        pytest.skip("this Spark has no approx_top_k")
    events = data(spark)
    asked = {f"{function} {name}": (function, name) for function in functions for name in DEFINED[function]}
    expected = spark_sessions(events, ["k"], GAP, **{name: theirs(*of) for name, of in asked.items()})
    windowed = wr.group_by(events, "k", time="ts").windowed_by(SESSIONS)
    got = windowed.agg(**{name: ours(*of) for name, of in asked.items()})
    wanted, found = typed(expected), typed(got)
    assert {name: found[name] for name in asked} == {name: wanted[name] for name in asked}
    lists = [name for name, (function, _) in asked.items() if function.startswith("collect") or function == "top_k"]
    assert_same(rows(got, ["k"]), rows(expected, ["k"]), unordered=lists)


def test_approximate_aggregates_have_sparks_types_and_are_near(spark: SparkSession) -> None:
    events, names = data(spark), [*NUMBERS, "string"]
    shares = {"half": 0.5, "some": SHARES}
    theirs = {name: F.approx_count_distinct(name) for name in names}
    exact = {name: F.count_distinct(name) for name in names}
    ours = {name: wr.approx_count_distinct(name) for name in names}
    for name in NUMBERS:
        theirs |= {f"{name}_{at}": F.percentile_approx(name, share) for at, share in shares.items()}
        exact |= {f"{name}_{at}": F.percentile_approx(name, share, 1_000_000) for at, share in shares.items()}
        ours |= {f"{name}_{at}": wr.approx_percentile(name, share) for at, share in shares.items()}
    windowed = wr.group_by(events, "k", time="ts").windowed_by(SESSIONS)
    got = windowed.agg(**ours)
    wanted, found = typed(spark_sessions(events, ["k"], GAP, **theirs)), typed(got)
    assert {name: found[name] for name in ours} == {name: wanted[name] for name in ours}
    expected, compared = rows(spark_sessions(events, ["k"], GAP, **exact), ["k"]), 0
    for window, values in rows(got, ["k"]).items():
        for name, value in values.items():
            right = expected[window][name]
            for one, other in zip(
                *((each if isinstance(each, list) else [each]) for each in (value, right)), strict=True
            ):
                off = 0.15 if name in names else 1e-4
                assert one == other or abs(float(one) - float(other)) <= off * abs(float(other)), (window, name)
                compared += 1
    assert compared > 1000


FILTERED = {
    "n": ("count(*)", wr.count()),
    "longs": ("count(long)", wr.count("long")),
    "total": ("sum(long)", wr.sum("long")),
    "usual": ("avg(decimal)", wr.mean("decimal")),
    "high": ("max(string)", wr.max("string")),
    "last": ("max_by(string, ts)", wr.last("string")),
    "ids": ("sort_array(collect_list(id))", wr.collect_list("id")),
    "low": ("min_by(date, id)", wr.min_by("date", "id")),
    "kinds": ("count(DISTINCT short, date)", wr.count_distinct("short", "date")),
    "middle": ("median(int)", wr.median("int")),
    "both": ("corr(double, int)", wr.corr("double", "int")),
}


@pytest.mark.parametrize("kind", ["session", "sliding"])
def test_aggregates_of_some_records_are_sparks_with_a_filter(spark: SparkSession, kind: str) -> None:
    events = data(spark)
    given = {name: F.expr(f"{theirs} FILTER (WHERE boolean)") for name, (theirs, _) in FILTERED.items()}
    given["ids"] = F.expr("sort_array(collect_list(id) FILTER (WHERE boolean))")
    aggregates = {name: ours.where("boolean") for name, (_, ours) in FILTERED.items()}
    grouped = wr.group_by(events, "k", time="ts")
    if kind == "session":
        expected = spark_sessions(events, ["k"], GAP, **given)
        got = grouped.windowed_by(SESSIONS).agg(**aggregates)
    else:
        got = grouped.windowed_by(wr.SlidingWindows.with_time_difference("5 minutes")).agg(**aggregates)
        bounds = got.select("k", "window").withColumnRenamed("k", "key")
        inside = (F.col("k") == F.col("key")) & F.col("ts").between(F.col("window.start"), F.col("window.end"))
        expected = bounds.join(events, inside).groupBy("k", "window").agg(*(g.alias(n) for n, g in given.items()))
        expected = expected.select("k", "window", *given)
    found, wanted = rows(got, ["k"]), rows(expected, ["k"])
    assert any(row["n"] == 0 for row in found.values()), "no window without a record that is seen"
    assert_same(found, wanted, unordered=["ids"])


@pytest.mark.slow
def test_keys_of_every_type_are_grouped_as_spark_groups_them(spark: SparkSession) -> None:
    events = data(spark)
    for key in TYPES:
        expected = spark_sessions(events, [key], GAP, n=F.count("*"), total=F.sum("id"))
        windowed = wr.group_by(events, key, time="ts").windowed_by(SESSIONS)
        got = windowed.agg(n=wr.count(), total=wr.sum("id"))
        assert typed(got)[key] == typed(expected)[key]
        assert_same(rows(got, [key]), rows(expected, [key]))


def test_nan_and_negative_zero_are_one_key_each_as_in_spark(spark: SparkSession) -> None:
    floats = ["NaN", "-NaN", "0.0", "-0.0", "1.5", "Infinity"]
    events = spark.createDataFrame([(name, at) for at, name in enumerate(floats * 3)], "name string, at long")
    events = events.selectExpr("CAST(replace(name, '-NaN', 'NaN') AS DOUBLE) AS k", "timestamp_seconds(at) AS ts")
    expected = spark_sessions(events, ["k"], "10 seconds", n=F.count("*"))
    got = wr.group_by(events, "k", time="ts").windowed_by(wr.SessionWindows.with_gap("10 seconds")).agg(n=wr.count())
    assert_same(rows(got, ["k"]), rows(expected, ["k"]))
    assert len(rows(got, ["k"])) == 4


def test_extremes_of_floats_put_nan_last_as_spark_does(spark: SparkSession) -> None:
    nan, inf = math.nan, math.inf
    values = [[nan, 1.0], [inf, nan], [-0.0, 0.0], [-inf, inf], [None, None]]
    pairs = [(key, at, value) for key, pair in enumerate(values) for at, value in enumerate(pair)]
    events = spark.createDataFrame(pairs, "k int, at long, x double").selectExpr(
        "k", "timestamp_seconds(at) AS ts", "x"
    )
    names = ["min", "max", "sum", "mean", "stddev", "variance"]
    expected = spark_sessions(events, ["k"], "10 seconds", **{name: theirs(name, "x") for name in names})
    windowed = wr.group_by(events, "k", time="ts").windowed_by(wr.SessionWindows.with_gap("10 seconds"))
    assert_same(rows(windowed.agg(**{name: ours(name, "x") for name in names}), ["k"]), rows(expected, ["k"]))


def test_means_of_decimals_are_rounded_as_spark_rounds_them(spark: SparkSession) -> None:
    # 32 values of which one is a cent: its 32nd part ends in a half
    cent = "CAST(CASE WHEN id % 32 = 7 THEN 0.01 * sign(id - 32) ELSE 0 END AS DECIMAL(10, 2)) AS x"
    events = spark.range(64).selectExpr("id DIV 32 AS k", "timestamp_seconds(id) AS ts", cent)
    expected = rows(spark_sessions(events, ["k"], "1 minute", x=F.avg("x")), ["k"])
    windowed = wr.group_by(events, "k", time="ts").windowed_by(wr.SessionWindows.with_gap("1 minute"))
    assert_same(rows(windowed.agg(x=wr.mean("x")), ["k"]), expected)
    assert {str(row["x"]) for row in expected.values()} == {"0.000313", "-0.000313"}


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("bigint", "9223372036854775807"),
        ("decimal(38,0)", "9" * 38),
        ("interval day to second", "INTERVAL '106751991' DAY"),
    ],
)
def test_a_sum_that_overflows_fails_and_names_the_column(spark: SparkSession, type: str, value: str) -> None:
    events = spark.range(4).selectExpr("1 AS k", "timestamp_seconds(id) AS ts", f"CAST({value} AS {type}) AS amount")
    windowed = wr.group_by(events, "k", time="ts").windowed_by(wr.SessionWindows.with_gap("1 minute"))
    with pytest.raises(Exception, match=r"column \"total\": the sum does not fit") as failure:
        windowed.agg(total=wr.sum("amount")).collect()
    assert "panic" not in str(failure.value).lower()


def test_sums_that_overflow_on_the_way_only_are_right(spark: SparkSession) -> None:
    big = 2**63 - 1
    events = spark.createDataFrame(
        [(1, at, x) for at, x in enumerate([big, big, -big, -big, 5])], "k int, at long, x long"
    )
    events = events.selectExpr("k", "timestamp_seconds(at) AS ts", "x").repartition(3)
    windowed = wr.group_by(events, "k", time="ts").windowed_by(wr.SessionWindows.with_gap("1 minute"))
    assert [row.total for row in windowed.agg(total=wr.sum("x")).collect()] == [5]


def test_strings_that_are_no_text_fail_in_words(spark: SparkSession) -> None:
    cells = spark.sql("select cast(unhex(h) as string) k, timestamp'2026-01-01' ts from values ('41'), ('FF') t(h)")
    sessions = wr.group_by(cells, "k", time="ts").windowed_by(wr.SessionWindows.with_gap("5 minutes")).count()
    with pytest.raises(Exception, match='column "k": .*not UTF-8'):
        sessions.collect()


SPELLINGS = ["A", "a", "a ", "A  ", "\u00c4", "\u00e4", "a\u0308", "\u03a3", "\u03c3", "\u03c2", "\u0391\u03a3"]
SPELLINGS += ["\u03b1\u03c2", "\u0130", "i\u0307", "i", "\u00df", "SS", "\ufb01", "fi", " ", ""]
COLLATIONS = ["UTF8_LCASE", "UTF8_LCASE_RTRIM", "UTF8_BINARY_RTRIM", "UNICODE", "UNICODE_CI", "UNICODE_CI_AI"]


@pytest.mark.needs("PySpark 4.0 or later")
@pytest.mark.parametrize(
    ("collation", "name"), [("UNICODE_CI", "a key"), *((collation, "k") for collation in COLLATIONS)]
)
def test_the_error_for_a_collated_key_names_what_gives_the_groups_of_group_by(
    spark: SparkSession, collation: str, name: str
) -> None:
    spelled = spark.createDataFrame([(each,) for each in SPELLINGS], "spelling string")
    events = spelled.selectExpr(
        "spelling", f"spelling COLLATE {collation} AS `{name}`", "TIMESTAMP '2026-05-04 09:00:00' AS ts"
    )
    try:
        events.groupBy(name).count().collect()
    except Exception as error:
        if "COLLATION_INVALID_NAME" not in str(error):
            raise
        return  # RTRIM is later than 4.0
    with pytest.raises(TypeError, match="allowed: strings of the collation UTF8_BINARY") as raised:
        wr.group_by(events, name, time="ts")
    advice = re.findall(r'F.expr\("(.*?)"\)', str(raised.value))
    assert len(advice) == 1
    keyed = events.withColumn("key", F.expr(advice[0]))
    windowed = wr.group_by(keyed, "key", time="ts").windowed_by(wr.SessionWindows.with_gap("5 minutes"))
    found = windowed.agg(spellings=wr.collect_list("spelling"))
    wanted = events.groupBy(name).agg(F.collect_list("spelling").alias("spellings"))
    groups, of_spark = (sorted(sorted(row["spellings"]) for row in frame.collect()) for frame in (found, wanted))
    assert groups == of_spark
    assert len(groups) < len(SPELLINGS)
