"""A result is a DataFrame like any other: lazy, composable, observable, with any column names."""

from __future__ import annotations

from collections.abc import Callable
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


def windowed(data: DataFrame, **options: Any) -> Any:
    return wr.group_by(data, "user_id", time="ts", **options).windowed_by(GAP)


def sessions(data: DataFrame) -> Any:
    """Sessions with two aggregates."""
    return windowed(data).agg(n=wr.count(), spend=wr.sum("amount"))


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
        windowed(data).emit("update").observe(Observation("lazy")).count()

    assert jobs(spark, "planned", plan) == 0
    assert "MapInArrow" in capsys.readouterr().out
    assert jobs(spark, "collected", lambda: sessions(data).collect()) > 0


def test_the_plan_shuffles_once(spark: SparkSession) -> None:
    plan = sessions(events(spark, rows=200, partitions=2).coalesce(2))._jdf.queryExecution().executedPlan().toString()
    assert plan.count("MapInArrow") == 2
    source = events(spark, rows=200, partitions=2).coalesce(2)._jdf.queryExecution().executedPlan().toString()
    assert plan.count("Exchange hashpartitioning") - source.count("Exchange hashpartitioning") == 1


def test_a_result_is_cached_unioned_joined_and_filtered(spark: SparkSession) -> None:
    data = events(spark).cache()
    mine, other = sessions(data).cache(), theirs(data)
    try:
        assert mine.count() == other.count()
        assert mine.union(mine).groupBy("user_id", "window").count().where("count != 2").count() == 0
        joined = mine.alias("a").join(other.alias("b"), ["user_id", "window"])
        assert joined.where("a.n = b.n").count() == other.count()
        late = "n > 3 AND window.start > TIMESTAMP '2024-03-31 00:00:00'"
        assert mine.where(late).select("user_id", "window.end").count() == other.where(late).count() > 0
    finally:
        mine.unpersist()
        data.unpersist()


@pytest.fixture(scope="module")
def expected(spark: SparkSession) -> Rows:
    """The sessions of some events, by Spark."""
    return rows(theirs(events(spark, rows=1_500, partitions=5)), ["user_id"])


ADAPTIVE = "spark.sql.adaptive."
SETTINGS: dict[str, dict[str, str]] = {
    "small batches, many partitions": {
        f"{ADAPTIVE}enabled": "false",
        "spark.sql.shuffle.partitions": "13",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "7",
    },
    "small partitions": {
        f"{ADAPTIVE}enabled": "true",
        f"{ADAPTIVE}coalescePartitions.enabled": "true",
        f"{ADAPTIVE}advisoryPartitionSizeInBytes": "1KB",
    },
    "one partition": {
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
    },
}


@pytest.mark.parametrize("conf", SETTINGS)
def test_settings_of_spark_do_not_change_the_answer(
    spark: SparkSession, set_conf: SetConf, conf: str, expected: Rows
) -> None:
    data = events(spark, rows=1_500, partitions=5)
    for name, value in SETTINGS[conf].items():
        set_conf(name, value)
    assert_same(rows(sessions(data), ["user_id"]), expected)


@pytest.mark.parametrize("kind", [Observation, wr.Observation], ids=["pyspark", "windrow"])
def test_an_observation_gets_the_counters(spark: SparkSession, kind: type) -> None:
    data = events(spark, rows=1_000)
    data = data.withColumn("user_id", F.when(F.col("items") != 5, F.col("user_id")))
    data = data.withColumn("ts", F.when(F.col("items") != -5, F.col("ts")))
    observation = kind(f"sessions of {kind.__module__}")
    result = windowed(data).observe(observation).agg(n=wr.count())
    assert result.columns == ["user_id", "window", "n"]
    found = rows(result, ["user_id"])
    null_keys = data.where("user_id IS NULL").count()
    null_times = data.where("user_id IS NOT NULL AND ts IS NULL").count()
    assert min(null_keys, null_times) > 0
    names = ("windows", "null_keys", "null_times", "records")
    assert [observation.get[name] for name in names] == [len(found), null_keys, null_times, 1_000]
    assert_same(found, rows(spark_sessions(data, ["user_id"], "10 minutes", n=F.count("*")), ["user_id"]))


def test_an_observation_of_nothing_is_zero(spark: SparkSession) -> None:
    observation = Observation("nothing")
    data = events(spark, rows=10).where("1 = 0")
    windowed(data).observe(observation).count().collect()
    assert set(observation.get.values()) == {0}


ACTIONS: dict[str, Callable[[DataFrame], Any]] = {
    "collect": DataFrame.collect,
    "write": lambda frame: frame.write.format("noop").mode("overwrite").save(),
    "first": DataFrame.first,
    "show": DataFrame.show,
}


@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_reports_what_ran(spark: SparkSession, action: str, expected: Rows) -> None:
    """All, unless it stops early."""
    observation, data = Observation(), events(spark, rows=1_500, partitions=5)
    ACTIONS[action](windowed(data).observe(observation).count())
    if action in ("first", "show"):
        assert 0 < observation.get["windows"] < len(expected)
    else:
        assert (observation.get["records"], observation.get["windows"]) == (1_500, len(expected))


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
    expected = spark_sessions(data.where("tick IS NULL"), ["user_id"], "10 minutes", n=F.count("*"))
    assert_same(rows(windowed(data, tick="tick").agg(n=wr.count()), ["user_id"]), rows(expected, ["user_id"]))


def test_update_mode_adds_op_and_nothing_else(spark: SparkSession) -> None:
    data = events(spark)
    updates = windowed(data).emit("update").agg(n=wr.count(), spend=wr.sum("amount"))
    assert updates.columns == ["user_id", "window", "n", "spend", "op"]
    assert {row.op for row in updates.select("op").distinct().collect()} == {"upsert"}
    assert_same(rows(updates, ["user_id"], skip=["op"]), rows(theirs(data), ["user_id"]))


def test_columns_may_have_any_name(spark: SparkSession) -> None:
    names = ["user.id", "user id", "us`er", "größe", "用户", "SELECT", "a,b", "window_", "1st"]
    key, time = F.col("user_id"), F.col("ts").alias("the `t.")
    columns = [column.alias(each) for name in names for each, column in ((name, key), (f"{name} x", F.col("amount")))]
    data = events(spark, rows=400).select(time, *columns)
    query = wr.group_by(data, names, time="the `t.").windowed_by(GAP)
    result = query.agg(**{f"{name} sum": wr.sum(f"{name} x") for name in names})
    assert result.columns == [*names, "window", *(f"{name} sum" for name in names)]
    sums = {f"{name} sum": F.sum(quoted(f"{name} x")) for name in names}
    expected = spark_sessions(data, names, "10 minutes", "the `t.", **sums)
    assert_same(rows(result, names), rows(expected, names))


def test_columns_that_are_not_asked_for_may_have_any_type(spark: SparkSession) -> None:
    data = events(spark, rows=300).withColumn("odd", F.expr("map('a', INTERVAL '1' MONTH)"))
    assert_same(rows(sessions(data), ["user_id"]), rows(theirs(data), ["user_id"]))


def test_integer_keys_without_nulls_and_with_nulls_have_one_type(spark: SparkSession) -> None:
    data = events(spark, rows=300)
    with_null = data.withColumn("user_id", F.when(F.col("items") > -2, F.col("user_id")))
    assert typed(sessions(data)) == typed(sessions(with_null))
    assert_same(rows(sessions(with_null), ["user_id"]), rows(theirs(with_null), ["user_id"]))


@pytest.mark.parametrize("functions", [False, True])
def test_a_flat_result_has_the_bounds_as_columns(spark: SparkSession, functions: bool) -> None:
    data, seen = events(spark, rows=300).withColumnRenamed("user_id", "user.id `x`"), Observation("flat")
    spend = wr.reduce("amount", lambda one, other: one + other) if functions else wr.sum("amount")
    query = wr.group_by(data, "user.id `x`", time="ts").windowed_by(GAP).emit("update")
    flat = query.flat().observe(seen).agg(**{"a.b `c`": spend})
    assert flat.columns == ["user.id `x`", "window_start", "window_end", "a.b `c`", "op"]
    assert [field.dataType for field in flat.schema][1:3] == [data.schema["ts"].dataType] * 2
    nested = query.agg(spend=spend).select(quoted("user.id `x`"), "window.start", "window.end", "spend", "op")
    got = sorted(map(tuple, flat.collect()), key=repr)
    assert seen.get["windows"] == len(got) > 20
    assert got == sorted(map(tuple, nested.collect()), key=repr)


def test_the_progress_and_the_batches_of_a_result_are_sparks_own(spark: SparkSession) -> None:
    ours = windowed(events(spark, rows=10))
    assert ours.progress(False).count().columns == ["user_id", "window", "count"]
    with pytest.raises(ValueError, match=r"show: got True; allowed: .*showConsoleProgress"):
        ours.progress()
    with pytest.raises(TypeError, match=r"to_reader: got data that is not in this process; allowed: .*write"):
        ours.to_reader(n=wr.count())
    with pytest.raises(TypeError, match=r"result: got DataFrame.*allowed: a result of data in this process .*observe"):
        wr.counters(ours.count())


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
