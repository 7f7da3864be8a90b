"""Each record with its window, in Spark: as in this process, and as Spark's own window functions have it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Observation, SparkSession, Window
from pyspark.sql import functions as F

import windrow as wr

from ..harness.scenes import events

ASKED = {"n": wr.count(), "spend": wr.sum("items"), "most": wr.max("items"), "window_id": wr.window_id()}
SESSIONS = wr.SessionWindows.with_gap("10 minutes")
SLIDING = wr.SlidingWindows.with_time_difference("30 minutes")


def windowed(data: Any, windows: Any) -> Any:
    return wr.group_by(data, "user_id", time="ts").windowed_by(windows)


def numbered(spark: SparkSession) -> DataFrame:
    """Events with an id and columns of many types, some rows without a key or a time, in several partitions."""
    wide = events(spark).selectExpr(
        "*",
        "monotonically_increasing_id() AS id",
        "map(user_id, array(items)) AS nested",
        "named_struct('a', cast(items AS decimal(12, 2)), 'b', make_dt_interval(0, 0, 5)) AS pair",
        "cast(user_id AS char(12)) AS padded",
        "if(items % 2 = 0, null, current_date()) AS `a.day`",
    )
    key, time = F.when(F.col("id") % 11 != 0, F.col("user_id")), F.when(F.col("id") % 13 != 0, F.col("ts"))
    return wide.withColumns({"user_id": key, "ts": time}).repartition(5).cache()


def in_order(frame: DataFrame) -> pa.Table:
    return frame.orderBy("id").toArrow()


@pytest.mark.parametrize("windows", [SESSIONS, SLIDING], ids=["sessions", "sliding"])
def test_rows_come_back_as_they_were_with_what_this_process_gives(spark: SparkSession, windows: Any) -> None:
    data = numbered(spark)
    before = in_order(data)
    answer = windowed(data, windows).shards(3).with_columns(**ASKED)
    assert answer.columns == [*data.columns, "window", *ASKED]
    assert [field.dataType for field in answer.schema][: len(data.columns)] == [
        field.dataType if field.name != "padded" else answer.schema["padded"].dataType for field in data.schema
    ]
    after = in_order(answer)
    assert after.select(data.columns).to_pylist() == before.to_pylist()
    here = windowed(before.select(["user_id", "ts", "items", "id"]), windows).with_columns(**ASKED)
    assert after.select(["window", *ASKED]).to_pylist() == here.select(["window", *ASKED]).to_pylist()
    assert here["window"].null_count > 0  # some have no key, or no time


def test_sliding_windows_are_sparks_range_between(spark: SparkSession) -> None:
    data = numbered(spark).where("user_id IS NOT NULL AND ts IS NOT NULL")
    order = Window.partitionBy("user_id").orderBy(F.unix_micros("ts"))
    over = order.rangeBetween(-30 * 60 * 10**6, Window.currentRow)
    theirs = data.select("id", F.count("*").over(over), F.sum("items").over(over), F.max("items").over(over))
    ours = windowed(data, SLIDING).with_columns(**ASKED).select("id", "n", "spend", "most")
    assert [tuple(row) for row in ours.orderBy("id").collect()] == [
        tuple(row) for row in theirs.orderBy("id").collect()
    ]


def test_sessions_are_those_of_lag_and_cumulative_sum(spark: SparkSession) -> None:
    data = numbered(spark).where("user_id IS NOT NULL AND ts IS NOT NULL")
    order = Window.partitionBy("user_id").orderBy("ts")
    late = F.unix_micros("ts") - F.unix_micros(F.lag("ts").over(order)) > 10 * 60 * 10**6
    numbers = data.withColumn("session", F.sum(F.coalesce(late, F.lit(True)).cast("int")).over(order))
    over = Window.partitionBy("user_id", "session")
    theirs = numbers.select("id", F.min("ts").over(over), F.max("ts").over(over), F.count("*").over(over))
    ours = windowed(data, SESSIONS).with_columns(**ASKED).select("id", "window.start", "window.end", "n")
    assert [tuple(row) for row in ours.orderBy("id").collect()] == [
        tuple(row) for row in theirs.orderBy("id").collect()
    ]


def test_counters_are_observed_and_no_row_is_lost_to_them(spark: SparkSession) -> None:
    data, seen = numbered(spark), Observation("rows")
    answer = windowed(data, SESSIONS).observe(seen).with_columns(n=wr.count())
    rows = answer.collect()
    left_out = data.where("user_id IS NULL OR ts IS NULL").count()
    assert len(rows) == data.count() == seen.get["records"]
    assert seen.get["null_keys"] + seen.get["null_times"] == left_out == sum(row["window"] is None for row in rows) > 0


def test_what_spark_cannot_do_is_refused_at_the_call(spark: SparkSession) -> None:
    data = numbered(spark)
    with pytest.raises(TypeError, match=r"with_columns: column 'months'.*interval"):
        windowed(data.selectExpr("*", "make_ym_interval(1) AS months"), SESSIONS).with_columns()
    with pytest.raises(ValueError, match="with_columns: got 'items'"):
        windowed(data.selectExpr("*", "1 AS items"), SESSIONS).with_columns()
