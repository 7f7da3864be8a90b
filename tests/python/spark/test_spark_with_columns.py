"""Each record with its window, in Spark: as in this process, and as Spark's own window functions have it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, Observation, SparkSession, Window
from pyspark.sql import functions as F

import windrow as wr

from ..harness.spark_scenes import SetConf, events
from ..harness.spark_tables import table_of

AGGREGATES = {"n": wr.count(), "spend": wr.sum("items"), "most": wr.max("items"), "window_id": wr.window_id()}
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
    return table_of(frame.orderBy("id"))


@pytest.mark.parametrize("windows", [SESSIONS, SLIDING], ids=["sessions", "sliding"])
def test_rows_come_back_as_they_were_with_what_this_process_gives(spark: SparkSession, windows: Any) -> None:
    data = numbered(spark)
    before = in_order(data)
    aggregates = AGGREGATES | ({"number": wr.session_number()} if windows is SESSIONS else {})
    answer = windowed(data, windows).shards(3).with_columns(**aggregates, position=wr.position())
    assert answer.columns == [*data.columns, "window", *aggregates, "position"]
    assert [field.dataType for field in answer.schema][: len(data.columns)] == [
        field.dataType if field.name != "padded" else answer.schema["padded"].dataType for field in data.schema
    ]
    after = in_order(answer)
    assert after.select(data.columns).to_pylist() == before.to_pylist()
    local = windowed(before.select(["user_id", "ts", "items", "id"]), windows)
    here = local.with_columns(**aggregates, position=wr.position())
    assert after.select(["window", *aggregates]).to_pylist() == here.select(["window", *aggregates]).to_pylist()
    placed = [("window_id", "ascending"), ("ts", "ascending"), ("position", "ascending")]  # records of one time swap
    names = [name for name, _ in placed]
    assert after.select(names).sort_by(placed).to_pylist() == here.select(names).sort_by(placed).to_pylist()
    assert here["window"].null_count > 0  # some have no key, or no time


MINUTE = 60 * 10**6
FRAMES: dict[str, tuple[dict[str, Any], int, int]] = {
    "both": ({}, -30 * MINUTE, 0),
    "left": ({"closed": "left"}, -30 * MINUTE, -1),
    "right": ({"closed": "right"}, 1 - 30 * MINUTE, 0),
    "neither": ({"closed": "neither"}, 1 - 30 * MINUTE, -1),
    "before": ({"delay": "1 hour"}, -90 * MINUTE, -60 * MINUTE),
}
"""Options of `over("30 minutes")`, and the bounds of Spark's frame."""


def test_sliding_windows_and_frames_are_sparks_range_between(spark: SparkSession) -> None:
    data = numbered(spark).where("user_id IS NOT NULL AND ts IS NOT NULL")
    order = Window.partitionBy("user_id").orderBy(F.unix_micros("ts"))
    whole = {"n": wr.count(), "spend": wr.sum("items"), "most": wr.max("items"), "mean": wr.mean("items")}
    columns = {"n": F.count("*"), "spend": F.sum("items"), "most": F.max("items"), "mean": F.avg("items")}
    aggregates: dict[str, Any] = dict(whole)
    theirs = {name: column.over(order.rangeBetween(-120 * MINUTE, 0)) for name, column in columns.items()}
    for frame, (options, start, end) in FRAMES.items():
        rows = order.rangeBetween(start, end)
        theirs |= {f"{name}_{frame}": column.over(rows) for name, column in columns.items()}
        kinds = F.array_distinct(F.collect_list("items").over(rows))
        theirs[f"kinds_{frame}"] = F.size(kinds).cast("bigint")
        given = whole | {"kinds": wr.count_distinct("items")}
        aggregates |= {f"{name}_{frame}": each.over("30 minutes", **options) for name, each in given.items()}
    windows = wr.SlidingWindows.with_time_difference("2 hours")
    found = in_order(windowed(data, windows).with_columns(**aggregates).select("id", *aggregates)).to_pylist()
    expected = in_order(data.select("id", *(column.alias(name) for name, column in theirs.items()))).to_pylist()
    assert len(found) == len(expected) > 1_000
    for row, known in zip(found, expected, strict=True):
        assert row == pytest.approx(known)


def test_sessions_are_those_of_lag_and_cumulative_sum(spark: SparkSession) -> None:
    data = numbered(spark).where("user_id IS NOT NULL AND ts IS NOT NULL")
    order = Window.partitionBy("user_id").orderBy("ts")
    late = F.unix_micros("ts") - F.unix_micros(F.lag("ts").over(order)) > 10 * 60 * 10**6
    numbers = data.withColumn("session", F.sum(F.coalesce(late, F.lit(True)).cast("int")).over(order))
    over = Window.partitionBy("user_id", "session")
    theirs = numbers.select("id", F.min("ts").over(over), F.max("ts").over(over), F.count("*").over(over))
    ours = windowed(data, SESSIONS).with_columns(**AGGREGATES).select("id", "window.start", "window.end", "n")
    assert [*map(tuple, ours.orderBy("id").collect())] == [*map(tuple, theirs.orderBy("id").collect())]


def test_records_of_all_inputs_come_back_by_name_with_what_this_process_gives(spark: SparkSession) -> None:
    plain = numbered(spark)
    views = plain.where("id % 3 = 0").selectExpr(
        "user_id", "ts", "id", "items", "split(user_id, '') AS `a.list`", "items AS V"
    )
    buys = plain.where("id % 3 > 0").selectExpr(
        "array(cast(user_id AS string), null) AS `a.list`",
        "id % 7 = 0 AS tick",
        "ts AS paid",
        "id",
        "user_id",
        "items * 1.5 AS v",
    )
    aggregates = {"n": wr.count(), "n_views": wr.count("views.*"), "spent": wr.sum("buys.v"), "most": wr.max("views.V")}
    aggregates["before"] = wr.sum("buys.v").over("10 minutes", closed="left")

    def rows(views: Any, buys: Any) -> Any:
        grouped = wr.group_by(views, "user_id", time="ts"), wr.group_by(buys, "user_id", time="paid", tick="tick")
        return wr.cogroup(views=grouped[0], buys=grouped[1]).windowed_by(SLIDING).shards(3).with_columns(**aggregates)

    answer = rows(views, buys)
    here = rows(in_order(views), in_order(buys))
    assert answer.columns == here.column_names
    assert answer.columns[:9] == ["user_id", "ts", "id", "items", "a.list", "V", "tick", "paid", "v"]
    assert buys.where("tick").count() > 0
    assert pc.any(here["tick"]).as_py() is False  # ticks are no records
    records, there = here.sort_by("id"), table_of(answer).sort_by("id")
    assert there.select(records.column_names).to_pylist() == records.to_pylist()
    assert set(there["input"].to_pylist()) == {"views", "buys"}
    assert records["window"].null_count > 0


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


@pytest.mark.needs("streams")
def test_a_cogroup_of_streams_is_refused_at_the_call(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load().selectExpr("value AS user_id", "timestamp AS ts")
    grouped = wr.group_by(stream, "user_id", time="ts")
    said = r"with_columns: got 'a cogroup of streaming DataFrames'; allowed: one of batch"
    with pytest.raises(ValueError, match=said):
        wr.cogroup(a=grouped, b=grouped).windowed_by(SESSIONS).with_columns()


def test_rows_meet_where_one_of_their_keys_is_null(spark: SparkSession, set_conf: SetConf) -> None:
    minutes = "timestamp_seconds(id * 60) AS ts"
    keys = ["if(id % 2 = 0, NULL, 'a') AS a", "if(id % 3 = 0, NULL, 'b') AS b"]
    data = spark.range(60).selectExpr("id", minutes, *keys)
    set_conf("spark.sql.adaptive.enabled", "false")  # it would join small partitions
    set_conf("spark.sql.shuffle.partitions", "7")
    windows = wr.SessionWindows.with_gap("1 hour")
    answer = wr.group_by(data, "a", "b", time="ts").windowed_by(windows).with_columns(n=wr.count()).collect()
    assert sorted(row.id for row in answer) == list(range(60))
    for row in answer:  # of every six rows one has no key, one both keys
        assert row.n == {(None, None): None, ("a", None): 10, (None, "b"): 20, ("a", "b"): 20}[row.a, row.b]
