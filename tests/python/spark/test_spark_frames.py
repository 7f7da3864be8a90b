"""A result is a DataFrame like any other: lazy, composable, observable, with any column names."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import PySparkValueError
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

import windrow as wr

from ..harness.spark_scenes import SetConf, events, quoted, rows, spark_sessions, typed
from ..harness.tables import Rows, assert_same

GAP = wr.SessionWindows.with_gap("10 minutes")


def sessions(data: DataFrame) -> DataFrame:
    """Sessions with two aggregates."""
    result: DataFrame = (
        wr.group_by(data, "user_id", time="ts").windowed_by(GAP).agg(n=wr.count(), spend=wr.sum("amount"))
    )
    return result


def theirs(data: DataFrame) -> DataFrame:
    """The same by Spark."""
    return spark_sessions(data, ["user_id"], "10 minutes", n=F.count("*"), spend=F.sum("amount"))


def jobs(spark: SparkSession, group: str, work: Any) -> int:
    """How many jobs the work runs."""
    spark.sparkContext.setJobGroup(group, group)
    try:
        work()
        return len(spark.sparkContext.statusTracker().getJobIdsForGroup(group))
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]


def test_no_job_runs_before_an_action(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    data = events(spark, rows=200)

    def plan() -> None:
        result = sessions(data)
        _ = result.schema
        result.explain(mode="formatted")
        wr.group_by(data, "user_id", time="ts").windowed_by(GAP).emit("update").observe(Observation("lazy")).count()

    assert jobs(spark, "planned", plan) == 0
    assert "MapInArrow" in capsys.readouterr().out
    assert jobs(spark, "collected", lambda: sessions(data).collect()) > 0


def test_the_plan_shuffles_once(spark: SparkSession) -> None:
    plan = sessions(events(spark, rows=200, partitions=2).coalesce(2))._jdf.queryExecution().executedPlan().toString()
    assert plan.count("MapInArrow") == 2
    source = events(spark, rows=200, partitions=2).coalesce(2)._jdf.queryExecution().executedPlan().toString()
    assert plan.count("Exchange hashpartitioning") - source.count("Exchange hashpartitioning") == 1


def test_a_cached_result_stays_the_same(spark: SparkSession) -> None:
    data = events(spark)
    cached = sessions(data).cache()
    try:
        assert cached.count() == theirs(data).count()
        assert_same(rows(cached, ["user_id"]), rows(theirs(data), ["user_id"]))
    finally:
        cached.unpersist()


def test_a_cached_input_gives_the_same(spark: SparkSession) -> None:
    data = events(spark).cache()
    try:
        assert_same(rows(sessions(data), ["user_id"]), rows(theirs(data), ["user_id"]))
    finally:
        data.unpersist()


def test_results_can_be_unioned_joined_and_filtered(spark: SparkSession) -> None:
    data = events(spark)
    mine, other = sessions(data), theirs(data)
    assert mine.union(mine).groupBy("user_id", "window").count().where("count != 2").count() == 0
    joined = mine.alias("a").join(other.alias("b"), ["user_id", "window"])
    assert joined.where("a.n = b.n").count() == other.count()
    large = mine.where("n > 3 AND window.start > TIMESTAMP '2024-03-31 00:00:00'").select("user_id", "window.end", "n")
    assert large.count() == other.where("n > 3 AND window.start > TIMESTAMP '2024-03-31 00:00:00'").count() > 0


def test_a_result_is_a_view_for_sql(spark: SparkSession) -> None:
    data = events(spark)
    sessions(data).createOrReplaceTempView("windrow_sessions")
    try:
        sql = (
            "SELECT count(*) AS sessions, sum(n) AS events, max(unix_micros(window.end)) AS last FROM windrow_sessions"
        )
        [row] = spark.sql(sql).collect()
        assert (row.sessions, row.events) == (theirs(data).count(), data.count())
        assert row.last == data.agg(F.max(F.unix_micros("ts"))).collect()[0][0]
    finally:
        spark.catalog.dropTempView("windrow_sessions")


def test_windows_of_windows(spark: SparkSession) -> None:
    # the sessions of the starts of sessions: a result is an input again
    data = events(spark)
    starts = sessions(data).select("user_id", F.col("window.start").alias("ts"))
    again = (
        wr.group_by(starts, "user_id", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour")).agg(n=wr.count())
    )
    expected_starts = theirs(data).select("user_id", F.col("window.start").alias("ts"))
    expected = spark_sessions(expected_starts, ["user_id"], "1 hour", n=F.count("*"))
    assert_same(rows(again, ["user_id"]), rows(expected, ["user_id"]))


@pytest.fixture(scope="module")
def expected(spark: SparkSession) -> Rows:
    """The sessions of some events, by Spark."""
    return rows(theirs(events(spark, rows=1_500, partitions=5)), ["user_id"])


@pytest.mark.parametrize(
    "conf",
    [
        {"spark.sql.adaptive.enabled": "false"},
        {"spark.sql.adaptive.enabled": "true", "spark.sql.adaptive.coalescePartitions.enabled": "true"},
        {"spark.sql.adaptive.enabled": "true", "spark.sql.adaptive.advisoryPartitionSizeInBytes": "1KB"},
        {"spark.sql.shuffle.partitions": "1"},
        {"spark.sql.shuffle.partitions": "13"},
        {"spark.sql.execution.arrow.maxRecordsPerBatch": "7"},
        {"spark.sql.ansi.enabled": "false"},
        {"spark.sql.execution.pyspark.udf.faulthandler.enabled": "true"},
    ],
    ids=lambda conf: ",".join(
        f"{name.rsplit('.', 2)[-2]}.{name.rsplit('.', 1)[-1]}={value}" for name, value in conf.items()
    ),
)
def test_settings_of_spark_do_not_change_the_answer(
    spark: SparkSession, set_conf: SetConf, conf: dict[str, str], expected: Rows
) -> None:
    data = events(spark, rows=1_500, partitions=5)
    for name, value in conf.items():
        set_conf(name, value)
    assert_same(rows(sessions(data), ["user_id"]), expected)


@pytest.mark.parametrize("kind", [Observation, wr.Observation], ids=["pyspark", "windrow"])
def test_an_observation_gets_the_counters(spark: SparkSession, kind: type) -> None:
    data = events(spark, rows=1_000)
    data = data.withColumn("user_id", F.when(F.col("items") != 5, F.col("user_id")))
    data = data.withColumn("ts", F.when(F.col("items") != -5, F.col("ts")))
    observation = kind(f"sessions of {kind.__module__}")
    result = wr.group_by(data, "user_id", time="ts").windowed_by(GAP).observe(observation).agg(n=wr.count())
    assert result.columns == ["user_id", "window", "n"]
    windows = len(result.collect())
    null_keys = data.where("user_id IS NULL").count()
    null_times = data.where("user_id IS NOT NULL AND ts IS NULL").count()
    assert min(null_keys, null_times) > 0
    got = observation.get
    assert got["windows"] == windows
    assert (got["null_keys"], got["null_times"]) == (null_keys, null_times)
    assert got["records"] == 1_000
    assert_same(
        rows(result, ["user_id"]), rows(spark_sessions(data, ["user_id"], "10 minutes", n=F.count("*")), ["user_id"])
    )


def test_an_observation_of_nothing_is_zero(spark: SparkSession) -> None:
    observation = Observation("nothing")
    data = events(spark, rows=10).where("1 = 0")
    wr.group_by(data, "user_id", time="ts").windowed_by(GAP).observe(observation).count().collect()
    assert {name: observation.get[name] for name in ("records", "null_keys", "null_times", "windows")} == {
        "records": 0,
        "null_keys": 0,
        "null_times": 0,
        "windows": 0,
    }


@pytest.mark.parametrize("action", ["count", "collect", "toPandas", "write"])
def test_an_action_that_reads_the_whole_result_reports_all(spark: SparkSession, action: str, expected: Rows) -> None:
    observation = Observation()
    data = events(spark, rows=1_500, partitions=5)
    result = wr.group_by(data, "user_id", time="ts").windowed_by(GAP).observe(observation).count()
    if action == "write":
        result.write.format("noop").mode("overwrite").save()
    else:
        getattr(result, action)()
    assert (observation.get["records"], observation.get["windows"]) == (1_500, len(expected))


@pytest.mark.parametrize("action", ["first", "isEmpty", "show"])
def test_an_action_that_stops_early_reports_what_ran(spark: SparkSession, action: str, expected: Rows) -> None:
    observation = Observation()
    data = events(spark, rows=1_500, partitions=5)
    result = wr.group_by(data, "user_id", time="ts").windowed_by(GAP).observe(observation).count()
    getattr(result, action)()
    assert 0 < observation.get["windows"] < len(expected)


class GroupedFrame:
    """Like the grouped frame of pandas on Spark, which takes the name of an attribute for a column."""

    __module__ = "pyspark.pandas.groupby"

    def __getattr__(self, name: str) -> Any:
        raise KeyError(name)


def test_what_is_no_dataframe_is_refused(spark: SparkSession) -> None:
    data = events(spark, rows=5)
    for other in (GroupedFrame(), data.groupBy("user_id"), data["user_id"], data.write, data.first(), spark):
        with pytest.raises(TypeError, match="^data: got .*; allowed: a DataFrame that is not grouped"):
            wr.group_by(other, "user_id", time="ts")


def test_keys_that_differ_in_case_only_can_be_observed(spark: SparkSession) -> None:
    observation = Observation()
    data = spark.range(2).selectExpr("1 AS k", "id AS K", "timestamp_seconds(0) AS t")
    result = wr.group_by(data, "k", "K", time="t").windowed_by(GAP).observe(observation).count()
    assert result.columns == ["k", "K", "window", "count"]
    assert sorted((row[0], row[1], row[3]) for row in result.collect()) == [(1, 0, 1), (1, 1, 1)]
    assert (observation.get["records"], observation.get["windows"]) == (2, 2)


def test_ticks_are_no_data(spark: SparkSession) -> None:
    data = events(spark, rows=600).withColumn("tick", F.when(F.col("items") > 3, F.lit(True)))
    grouped = wr.group_by(data, "user_id", time="ts", tick="tick").windowed_by(GAP)
    expected = spark_sessions(data.where("tick IS NULL"), ["user_id"], "10 minutes", n=F.count("*"))
    assert_same(rows(grouped.agg(n=wr.count()), ["user_id"]), rows(expected, ["user_id"]))


def test_update_mode_adds_op_and_nothing_else(spark: SparkSession) -> None:
    data = events(spark)
    windowed = wr.group_by(data, "user_id", time="ts").windowed_by(GAP)
    updates = windowed.emit("update").agg(n=wr.count(), spend=wr.sum("amount"))
    assert updates.columns == ["user_id", "window", "n", "spend", "op"]
    assert {row.op for row in updates.select("op").distinct().collect()} == {"upsert"}
    assert_same(rows(updates, ["user_id"], skip=["op"]), rows(theirs(data), ["user_id"]))
    assert windowed.emit("close").count().columns == ["user_id", "window", "count"]


@pytest.mark.parametrize("name", ["user.id", "user id", "us`er", "größe", "用户", "SELECT", "a,b", "window_", "1st"])
def test_columns_may_have_any_name(spark: SparkSession, name: str) -> None:
    data = events(spark, rows=400).select(
        F.col("user_id").alias(name), F.col("ts").alias(f"{name} t"), F.col("amount").alias(f"{name} x")
    )
    windowed = wr.group_by(data, name, time=f"{name} t").windowed_by(GAP)
    result = windowed.agg(**{f"{name} sum": wr.sum(f"{name} x")})
    assert result.columns == [name, "window", f"{name} sum"]
    expected = spark_sessions(data, [name], "10 minutes", f"{name} t", **{f"{name} sum": F.sum(quoted(f"{name} x"))})
    assert_same(rows(result, [name]), rows(expected, [name]))


def test_columns_that_are_not_asked_for_may_have_any_type(spark: SparkSession) -> None:
    data = events(spark, rows=300).withColumn("odd", F.expr("map('a', INTERVAL '1' MONTH)"))
    assert_same(rows(sessions(data), ["user_id"]), rows(theirs(data), ["user_id"]))


def test_integer_keys_without_nulls_and_with_nulls_have_one_type(spark: SparkSession) -> None:
    data = events(spark, rows=300)
    with_null = data.withColumn("user_id", F.when(F.col("items") > -2, F.col("user_id")))
    assert typed(sessions(data)) == typed(sessions(with_null))
    assert_same(rows(sessions(with_null), ["user_id"]), rows(theirs(with_null), ["user_id"]))


@pytest.mark.parametrize(
    ("windows", "functions"), [(GAP, False), (wr.SlidingWindows.with_time_difference("10 minutes"), True)]
)
def test_a_flat_result_has_the_bounds_as_columns(spark: SparkSession, windows: Any, functions: bool) -> None:
    data = events(spark, rows=300)
    spend = wr.reduce("amount", lambda one, other: one + other) if functions else wr.sum("amount")
    seen = Observation("flat")
    odd = data.withColumnRenamed("user_id", "user.id `x`")
    windowed = wr.group_by(odd, "user.id `x`", time="ts").windowed_by(windows).observe(seen).emit("update")
    flat = windowed.flat().agg(**{"a.b `c`": spend})
    assert flat.columns == ["user.id `x`", "window_start", "window_end", "a.b `c`", "op"]
    assert [field.dataType for field in flat.schema][1:3] == [data.schema["ts"].dataType] * 2
    nested = wr.group_by(data, "user_id", time="ts").windowed_by(windows).emit("update").agg(spend=spend)
    wanted = nested.select("user_id", "window.start", "window.end", "spend", "op")
    got = sorted(map(tuple, flat.collect()), key=repr)
    assert len(got) > 20
    assert got == sorted(map(tuple, wanted.collect()), key=repr)
    assert seen.get["windows"] == len(got)


def test_the_progress_and_the_batches_of_a_result_are_sparks_own(spark: SparkSession) -> None:
    windowed = wr.group_by(events(spark, rows=10), "user_id", time="ts").windowed_by(GAP)
    assert windowed.progress(False).count().columns == ["user_id", "window", "count"]
    with pytest.raises(ValueError, match=r"show: got True; allowed: .*showConsoleProgress"):
        windowed.progress()
    with pytest.raises(TypeError, match=r"to_reader: got data that is not in this process; allowed: .*write"):
        windowed.to_reader(n=wr.count())
    with pytest.raises(TypeError, match=r"result: got DataFrame.*allowed: a result of data in this process .*observe"):
        wr.counters(windowed.count())


def test_a_type_that_pyspark_cannot_read_is_refused_with_its_name(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As PySpark 3.5 does for a calendar interval."""
    data = events(spark, rows=1)

    def schema(frame: DataFrame) -> StructType:
        raise PySparkValueError("[CANNOT_PARSE_DATATYPE] Unable to parse datatype. interval.")

    monkeypatch.setattr(type(data), "schema", property(schema))
    with pytest.raises(TypeError, match=r"^data: got .* Unable to parse datatype. interval.*; allowed: .*drop or cast"):
        wr.group_by(data, "user_id", time="ts")
