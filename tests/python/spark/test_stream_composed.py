"""Windowed streams with other operators of Spark around them: other windowed streams, watermarks, joins."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import windrow as wr

from ..harness.stream_scenes import DDL, GAP, short, table, tick, windowed
from ..harness.streams import Folder, Run, play, source, start

pytestmark = [pytest.mark.needs("streams"), pytest.mark.slow]


def test_two_windowed_streams_in_one_query_have_counters_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    def query(data: DataFrame) -> DataFrame:
        all_users = windowed(data, tick="tick").agg(n=wr.count())
        large = windowed(data.where("amount > 1 OR tick"), tick="tick").observe("large").agg(n=wr.count())
        return all_users.union(large)

    # ann    ─1──2──────▶ minutes   large: ─────2──────▶
    tables = [table(("ann", 0, 1), ("ann", 3, 2)), tick(30)]
    run = play(spark, tmp_path, tables, query, DDL)
    assert short(run.rows) == [("ann", 0, 3, 2), ("ann", 3, 3, 1)]
    with pytest.raises(ValueError, match="name: got None; allowed: the name of one of the windowed streams .*'large'"):
        run.counters()
    (other,) = {name for progress in run.progress for name in progress.observedMetrics} - {"large"}
    assert other.startswith("windrow")
    totals = [sum(known["records"] for known in run.counters(name)) for name in (other, "large")]
    assert totals == [2, 1]
    with pytest.raises(ValueError, match="name: got 'small'; allowed: a windowed stream of this query: "):
        run.counters("small")


def test_windows_over_windows(spark: SparkSession, tmp_path: Path) -> None:
    def query(data: DataFrame) -> DataFrame:
        visits = windowed(data, tick="tick").agg(n=wr.count())
        ends = visits.select("user", F.col("window.end").alias("ts"), "n")
        days = wr.SessionWindows.with_gap("1 hour", grace="0 seconds")
        return wr.group_by(ends, "user", time="ts").windowed_by(days).shards(2).agg(n=wr.sum("n"), visits=wr.count())

    # ann  ─00,04──────30,31──────▶ two visits, 27 minutes apart, and one much later
    tables = [table(("ann", 0), ("ann", 4)), table(("ann", 30), ("ann", 31)), table(("ann", 300)), tick(400)]
    run = play(spark, tmp_path, tables, query, DDL)
    assert [(*known[:4], row["visits"]) for known, row in zip(short(run.rows), run.rows, strict=True)] == [
        ("ann", 4, 31, 4, 2)
    ]
    names = {name for progress in run.progress for name in progress.observedMetrics}
    assert len(names) == 2
    assert sorted(sum(known["records"] for known in run.counters(name)) for name in names) == [3, 5]


def test_two_windowed_streams_are_joined(spark: SparkSession, tmp_path: Path) -> None:
    def query(data: DataFrame) -> DataFrame:
        left = windowed(data, tick="tick").agg(n=wr.count())
        right = windowed(data, tick="tick").agg(total=wr.sum("amount"))
        return left.join(right, ["user", "window"])

    run = play(spark, tmp_path, [table(("ann", 0, 3), ("ann", 4, 5)), tick(30)], query, DDL)
    assert [(row["user"], row["n"], row["total"]) for row in run.rows] == [("ann", 2, 8)]


def test_a_watermark_before_windrow_drops_nothing_by_itself(spark: SparkSession, tmp_path: Path) -> None:
    def query(data: DataFrame) -> DataFrame:
        return windowed(data.withWatermark("ts", "1 minute")).emit("update").agg(n=wr.count())

    # The watermark is 59 when the others arrive. 54 is in time: its window closes at 54 + 5 + 1. That of 40 has closed.
    tables = [table(("ann", 0), ("bob", 60)), table(("bob", 54)), table(("bob", 40))]
    run = play(spark, tmp_path, tables, query, DDL)
    assert run.total("late") == 1
    assert ("bob", 54, 54, 1, "upsert") in short(run.rows)


def test_duplicates_are_dropped_before_windrow(spark: SparkSession, tmp_path: Path) -> None:
    def query(data: DataFrame) -> DataFrame:
        once = data.withWatermark("ts", "2 minutes").dropDuplicatesWithinWatermark(["user", "amount"])
        return windowed(once).agg(n=wr.count())

    # The second 1 of ann is a duplicate. 20 moves the watermark to 18. Spark drops 17, which windrow would take.
    tables = [
        table(("ann", 0, 1), ("ann", 1, 1), ("ann", 2, 2)),
        table(("bob", 20, 1)),
        table(("bob", 20.5, 9)),
        table(("bob", 17, 2), ("bob", 19, 3)),
        table(("bob", 60, 4)),
    ]
    run = play(spark, tmp_path, tables, query, DDL)
    assert short(run.rows) == [("ann", 0, 2, 2), ("bob", 19, 20.5, 3)]
    assert run.total("late") == 0  # Spark dropped the record of 17 before windrow saw it


def test_joined_streams_are_windowed(spark: SparkSession, tmp_path: Path) -> None:
    folder, run = Folder(tmp_path / "in"), Run()
    stream = source(spark, folder, DDL)
    clicks = stream.where("amount = 1").withWatermark("ts", "10 minutes")
    orders = stream.where("amount = 2").withWatermark("ts", "10 minutes")
    orders = orders.select(F.col("user").alias("buyer"), F.col("ts").alias("paid"))
    within = F.expr("user = buyer AND paid BETWEEN ts AND ts + INTERVAL 5 MINUTES")
    joined = clicks.join(orders, within).select("user", F.col("paid").alias("ts"), "ts")
    joined = joined.toDF("user", "paid", "ts").select("user", F.col("paid").alias("time"))
    for each in (table(("ann", 0, 1), ("ann", 2, 2)), table(("ann", 3, 2), ("bob", 30, 1)), table(("bob", 31, 2))):
        folder.add(each)
    query = start(wr.group_by(joined, "user", time="time").windowed_by(GAP).agg(n=wr.count()), run, tmp_path / "c")
    query.awaitTermination()
    assert short(run.rows) == [("ann", 2, 3, 2)]


def test_a_watermark_is_no_time_of_the_result(spark: SparkSession, tmp_path: Path) -> None:
    stream = source(spark, Folder(tmp_path / "none"), DDL).withWatermark("ts", "1 minute")
    for result in (windowed(stream).agg(last=wr.max("ts")), windowed(stream).with_columns(n=wr.count())):
        assert all("spark.watermarkDelayMs" not in field.metadata for field in result.schema.fields)
