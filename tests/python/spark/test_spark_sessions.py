"""Sessions in Spark are Spark's own `session_window` to the letter; sliding windows are the oracle's."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, TimestampNTZType, TimestampType

import windrow as wr

from ..harness.spark_scenes import SetConf, events, frame, rows, spark_sessions, typed
from ..harness.spark_tables import table_of
from ..harness.tables import Call, alike, assert_same, assert_windows, by_sliding, records, rows_of
from ..oracle.records import by_key
from ..oracle.sessions import sessions

SECOND = 10**6


def ours(
    data: DataFrame, gap: str = "10 minutes", keys: tuple[str, ...] = ("user_id",), shards: int | None = None
) -> DataFrame:
    """Sessions with a few aggregates."""
    windowed = wr.group_by(data, *keys, time="ts").windowed_by(wr.SessionWindows.with_gap(gap))
    windowed = windowed if shards is None else windowed.shards(shards)
    return windowed.agg(n=wr.count(), spend=wr.sum("amount"), most=wr.max("items"), mean=wr.mean("items"))


def theirs(data: DataFrame, gap: str = "10 minutes", keys: tuple[str, ...] = ("user_id",)) -> DataFrame:
    """The same by Spark."""
    aggregates = {"n": F.count("*"), "spend": F.sum("amount"), "most": F.max("items"), "mean": F.avg("items")}
    return spark_sessions(data, keys, gap, **aggregates)


@pytest.mark.parametrize(
    ("gap", "partitions", "shards"), [("1 second", 1, 32), ("10 minutes", 7, 3), ("3 hours", 40, 200)]
)
def test_sessions_equal_sparks_in_any_partitions_and_shards(
    spark: SparkSession, gap: str, partitions: int, shards: int
) -> None:
    data = events(spark, partitions=partitions)
    expected = rows(theirs(data, gap), ["user_id"])
    assert_same(rows(ours(data, gap, shards=shards), ["user_id"]), expected)
    assert len(expected) >= 60


def test_a_day_is_24_hours_where_the_clocks_change(spark: SparkSession, set_conf: SetConf) -> None:
    # Berlin: 24.5 hours of the clock are 23.5 in March, 24 are 25 in October; Spark's "1 day" goes by the clock
    set_conf("spark.sql.session.timeZone", "Europe/Berlin")
    times = ("2026-03-28 12:00", "2026-03-29 12:30", "2026-10-24 12:00", "2026-10-25 12:00")
    data = spark.createDataFrame([("ann", time) for time in times], "k string, ts string")
    data = data.withColumn("ts", F.to_timestamp("ts"))
    day = wr.group_by(data, "k", time="ts").windowed_by(wr.SessionWindows.with_gap("1 day")).count()
    got = {tuple(row) for row in day.selectExpr("unix_micros(window.start)", "unix_micros(window.end)").collect()}
    by_spark = {}
    for gap in ("24 hours", "1 day"):
        sessions = data.groupBy("k", F.session_window("ts", gap).alias("w")).count()
        bounds = sessions.selectExpr("unix_micros(w.start)", f"unix_micros(w.end) - {24 * 3600 * SECOND}")
        by_spark[gap] = {tuple(row) for row in bounds.collect()}
    assert got == by_spark["24 hours"] != by_spark["1 day"]
    assert sorted((end - start) / SECOND / 3600 for start, end in got) == [0, 0, 23.5]


def test_two_keys_and_partly_null_keys_equal_sparks(spark: SparkSession) -> None:
    data = events(spark, keys=20)
    data = data.withColumn("user_id", F.when(F.col("items") > -4, F.col("user_id")))
    data = data.withColumn("word", F.when(F.col("word") != "", F.col("word")))
    keys = ("user_id", "word")
    expected = rows(theirs(data, keys=keys), keys)
    assert_same(rows(ours(data, keys=keys), keys), expected)
    assert any(None in key for key, _, _ in expected)


def test_one_hot_key_with_half_of_all_events(spark: SparkSession) -> None:
    hot = frame(20_000, 2_000, seed=5)
    hot.loc[hot.index % 2 == 0, "user_id"] = -1
    data = spark.createDataFrame(hot).withColumn("ts", F.col("ts").cast("timestamp")).repartition(5)
    expected = rows(theirs(data), ["user_id"])
    assert_same(rows(ours(data), ["user_id"]), expected)
    assert sum(row["n"] for (key, _, _), row in expected.items() if key == (-1,)) == 10_000


@pytest.mark.parametrize(
    ("zone", "kind", "type"),
    [("Asia/Kathmandu", "timestamp_ntz", TimestampNTZType()), ("Europe/Berlin", "timestamp", TimestampType())],
)
def test_sessions_do_not_mind_the_zone_and_bounds_have_the_type_of_the_time(
    spark: SparkSession, set_conf: SetConf, zone: str, kind: str, type: Any
) -> None:
    # Berlin moves its clocks within these events: a gap is a length of time, not of the clock
    data = events(spark, rows=1_000, keys=10).withColumn("ts", F.col("ts").cast(kind))
    set_conf("spark.sql.session.timeZone", zone)
    result = ours(data, "1 hour")
    assert_same(rows(result, ["user_id"]), rows(theirs(data, "1 hour"), ["user_id"]))
    bounds = [("start", type), ("end", type)]
    assert [(field.name, field.dataType) for field in typed(result)["window"].fields] == bounds
    assert result.columns == ["user_id", "window", "n", "spend", "most", "mean"]
    assert (typed(result)["user_id"], typed(result)["n"]) == (LongType(), LongType())


def test_times_before_1970_and_far_away_make_the_same_sessions(spark: SparkSession) -> None:
    times = ("0001-01-01 00:00:00", "1582-10-04 23:59:59", "1969-12-31 23:59:58", "1970-01-01 00:00:01", "9999-12-31")
    data = spark.createDataFrame([("a", at) for at in times], "k string, at string")
    data = data.select("k", F.col("at").cast("timestamp_ntz").alias("ts"))
    got = wr.group_by(data, "k", time="ts").windowed_by(wr.SessionWindows.with_gap("5 seconds")).agg(n=wr.count())
    expected = spark_sessions(data, ["k"], "5 seconds", n=F.count("*"))
    assert_same(rows(got, ["k"]), rows(expected, ["k"]))


def test_empty_frames_and_empty_partitions_give_no_windows_and_the_same_types(spark: SparkSession) -> None:
    full = events(spark, rows=100)
    expected = typed(ours(full))
    for empty in (full.limit(0), full.where("amount > 1e9"), spark.createDataFrame([], full.schema)):
        assert typed(ours(empty)) == expected
        assert ours(empty).collect() == []
    holes = full.where("user_id = 3").union(full.where("1 = 0")).repartition(9)
    assert_same(rows(ours(holes), ["user_id"]), rows(theirs(holes), ["user_id"]))


def test_sliding_windows_equal_the_oracle(spark: SparkSession) -> None:
    data = events(spark, rows=1_000, keys=12, partitions=6)
    specs = {"n": Call("count"), "spend": Call("sum", ("amount",)), "words": Call("collect_set", ("word",))}
    windows = wr.SlidingWindows.with_time_difference("1 hour", resolution="1 second")
    aggregates = {name: aggregate.build(wr) for name, aggregate in specs.items()}
    result = wr.group_by(data, "user_id", time="ts").windowed_by(windows).agg(**aggregates)
    got = rows_of(table_of(result), ["user_id"])
    assert_windows(got, table_of(data), ["user_id"], by_sliding(3600 * SECOND, SECOND), specs)
    assert len(got) > 1_500


def test_the_oracles_sessions_are_sparks(spark: SparkSession) -> None:
    """A third witness for the rule at exactly the gap, ties and order."""
    data = events(spark, rows=1_500, keys=40).withColumn("ts", F.date_trunc("minute", "ts"))
    expected = rows(spark_sessions(data, ["user_id"], "30 minutes", n=F.count("*")), ["user_id"])
    found = {
        (key, start, end): {"n": len(members)}
        for key, of_key in by_key(records(table_of(data), ["user_id"])).items()
        for start, end, members in sessions(of_key, 30 * 60 * SECOND)
    }
    assert found == expected
    assert len(found) > 300


def test_the_comparison_itself_finds_a_difference() -> None:
    assert [alike(1.0, 1.0 + 1e-12), alike(1.0, 1.001), alike(1, 1.0), alike(None, 0)] == [True, False, False, False]
    one = {(("a",), 0, 1): {"n": 1}}
    for other in ({}, {(("a",), 0, 2): {"n": 1}}, {(("a",), 0, 1): {"n": 2}}):
        with pytest.raises(AssertionError):
            assert_same(other, one)
