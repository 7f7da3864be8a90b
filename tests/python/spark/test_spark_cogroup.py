"""Cogroups in Spark: what the same query gives in this process, types, plans and counters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType

import windrow as wr

from ..harness.spark_scenes import START, rows, typed
from ..harness.spark_tables import frame_of
from ..harness.tables import assert_same, rows_of

SIZES = {"clicks": 500, "orders": 120, "visits": 0}
AGGREGATES: dict[str, Any] = {
    "all": wr.count(),
    **{f"n_{name}": wr.count(f"{name}.*") for name in SIZES},
    "sum": wr.sum("orders.x"),
    "least": wr.min("orders.a.b"),
    "seen": wr.first("orders.x", ignore_nulls=True),
    "any": wr.any_value("visits.x"),
    "set": wr.collect_set("clicks.a.b"),
    "by": wr.min_by("orders.x", "orders.a.b"),
}


def tables() -> dict[str, pa.Table]:
    """Inputs of different sizes, one without rows. A row follows from its time, so that ties do not matter."""
    made = {}
    for seed, (name, size) in enumerate(SIZES.items()):
        random = np.random.default_rng(seed)
        seconds = random.integers(0, 20_000, size)
        seconds[::10] = seconds[1::10][: len(seconds[::10])] if size else seconds
        frame = pd.DataFrame(
            {
                "user": pd.array([f"u{n}" if n else None for n in random.integers(0, 12, size) + 3 * seed], "string"),
                "ts": START + pd.to_timedelta(seconds, unit="s"),
                "x": pd.array([int(at) if at % 7 else None for at in seconds], "Int64"),
                "a.b": pd.array([f"{at % 13}" if at % 5 else None for at in seconds], "string"),
            }
        )
        schema = pa.schema({"user": pa.string(), "ts": pa.timestamp("us"), "x": pa.int64(), "a.b": pa.string()})
        made[name] = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
    return made


def frames(spark: SparkSession, made: dict[str, pa.Table], partitions: int = 3) -> dict[str, DataFrame]:
    """The same in Spark; `ts` is a TIMESTAMP, rows are dealt out to partitions."""
    return {
        name: frame_of(spark, table).withColumn("ts", F.col("ts").cast("timestamp")).repartition(partitions)
        for name, table in made.items()
    }


def windowed(data: dict[str, Any], windows: Any, shards: int = 32) -> Any:
    inputs = {name: wr.group_by(each, "user", time="ts") for name, each in data.items()}
    return wr.cogroup(**inputs).windowed_by(windows).shards(shards)


SESSIONS = wr.SessionWindows.with_gap("5 minutes")
SLIDING = wr.SlidingWindows.with_time_difference("4 minutes")


@pytest.mark.parametrize(("windows", "partitions", "shards"), [(SESSIONS, 7, 3), (SLIDING, 1, 32)])
def test_a_cogroup_in_spark_is_that_of_this_process(
    spark: SparkSession, windows: Any, partitions: int, shards: int
) -> None:
    made = tables()
    got = rows(windowed(frames(spark, made, partitions), windows, shards).agg(**AGGREGATES), ["user"])
    assert_same(got, rows_of(windowed(made, windows).agg(**AGGREGATES), ["user"]), ["set"])
    assert len(got) > 100


def test_the_query_is_lazy_and_shuffles_once(spark: SparkSession) -> None:
    data = frames(spark, tables(), 1)
    tracker = spark.sparkContext.statusTracker()
    before = tracker.getJobIdsForGroup(None)
    result = windowed(data, SESSIONS).agg(n=wr.count("clicks.*"), x=wr.sum("orders.x"))
    assert tracker.getJobIdsForGroup(None) == before
    plan = result._jdf.queryExecution().optimizedPlan().toString()
    assert (plan.count("RepartitionByExpression"), plan.count("Union")) == (1, 1)
    projects = [line for line in plan.splitlines() if "Project" in line]
    assert not any("a.b" in line for line in projects), "columns that nothing names are not read"


def test_columns_keep_their_spark_types(spark: SparkSession) -> None:
    data = frames(spark, tables())
    odd = data["orders"].select(
        "user", "ts", F.make_dt_interval(F.col("x") % 3).alias("Pause"), F.lit(1).alias("pause ")
    )
    inputs = {"clicks": data["clicks"], "orders": odd}
    result = windowed(inputs, SESSIONS).agg(
        longest=wr.max("orders.Pause"), word=wr.first("clicks.a.b"), ones=wr.sum("orders.pause "), n=wr.count()
    )
    types = typed(result)
    assert types["longest"] == odd.schema["Pause"].dataType
    assert (types["word"], types["ones"], types["n"]) == (StringType(), LongType(), LongType())
    assert types["window"]["start"].dataType == data["clicks"].schema["ts"].dataType
    counted = result.agg(F.sum("ones"), F.sum("n")).collect()[0]
    keyed = {name: frame.where("user is not null").count() for name, frame in inputs.items()}
    assert tuple(counted) == (keyed["orders"], sum(keyed.values()))


def test_python_functions_see_their_input_in_the_order_of_time(spark: SparkSession) -> None:
    def appended(held: str, row: Any) -> str:
        return f"{held} {row[0]}"

    def joined(held: Any, *columns: str) -> Any:
        return wr.aggregate(str, held, lambda one, other: one + other, schema="string", columns=list(columns))

    functions = {
        "clicks": joined(appended, "clicks.x"),
        "both": joined({"orders": appended, "clicks": appended}, "orders.x", "clicks.a.b"),
        "sum": wr.reduce("orders.x", lambda one, other: one + other),
        "n": wr.count(),
        "list": wr.collect_list("clicks.x"),
    }
    made, windows = tables(), SESSIONS
    got = rows(windowed(frames(spark, made), windows).agg(**functions), ["user"])
    assert_same(got, rows_of(windowed(made, windows).agg(**functions), ["user"]))
    for row in got.values():
        values = [word for word in row["clicks"].split() if word != "None"]
        assert values == [str(value) for value in row["list"]]
        assert len(row["both"].split()) == row["n"]


def test_counters_are_those_of_all_inputs(spark: SparkSession) -> None:
    made, seen = tables(), Observation("cogroup")
    data = frames(spark, made)
    ticking = data["orders"].withColumn("tick", F.col("x") % 2 == 0)
    inputs = {
        "clicks": wr.group_by(data["clicks"], "user", time="ts"),
        "orders": wr.group_by(ticking, "user", time="ts", tick="tick"),
    }
    kept = wr.cogroup(**inputs).windowed_by(SESSIONS)
    kept.observe(seen).agg(n=wr.count()).collect()
    ticks = ticking.where("tick").count()
    lost = sum(made[name]["user"].null_count for name in ("clicks", "orders"))
    lost -= ticking.where("tick and user is null").count()
    assert seen.get["records"] == made["clicks"].num_rows + made["orders"].num_rows - ticks
    assert (seen.get["ticks"], seen.get["null_keys"]) == (ticks, lost)


def test_one_frame_may_be_two_inputs(spark: SparkSession) -> None:
    data = frames(spark, tables())["clicks"]
    inputs = {"even": data.where("x % 2 = 0"), "odd": data.where("x % 2 = 1")}
    result = windowed(inputs, SESSIONS).agg(even=wr.count("even.*"), odd=wr.count("odd.x"), n=wr.count())
    even, odd, n = result.agg(F.sum("even"), F.sum("odd"), F.sum("n")).collect()[0]
    counted = [each.where("user is not null").count() for each in inputs.values()]
    assert ([even, odd], n) == (counted, sum(counted))


def test_spark_with_data_in_this_process_is_refused(spark: SparkSession) -> None:
    made = tables()
    inputs = {"clicks": frames(spark, made)["clicks"], "orders": made["orders"]}
    with pytest.raises(TypeError, match="orders: got another kind of data than clicks"):
        windowed(inputs, SESSIONS)


def test_ties_order_the_records_of_all_inputs(spark: SparkSession) -> None:
    random, made = np.random.default_rng(5), dict[str, Any]()
    for place, name in enumerate(("clicks", "orders")):
        ties = [int(tie) if tie % 17 else None for tie in random.permutation(200) * 2 + place]
        seconds = pd.to_timedelta(random.integers(0, 600, 200) * 10, unit="s")
        made[name] = pa.table(
            {
                "user": [f"u{n}" for n in random.integers(0, 3, 200)],
                "ts": pa.array(START + seconds, pa.timestamp("us")),
                f"tie_{name}": pa.array(ties, pa.int64()),
                "out": random.integers(0, 10, 200) == 0,
                "x": pa.array(range(200), pa.int64()),
            }
        )
    windows = wr.SessionWindows.with_gap("30 seconds", end_when="clicks.out", max_records=5)
    aggregates: dict[str, Any] = {
        "n": wr.count(),
        "clicks": wr.collect_list("clicks.x"),
        "last": wr.last("orders.x"),
        "why": wr.ended_by(),
    }

    def tied(data: dict[str, Any]) -> Any:
        inputs = {name: wr.group_by(each, "user", time="ts", tie=f"tie_{name}") for name, each in data.items()}
        return wr.cogroup(**inputs).windowed_by(windows).shards(3)

    def shown(rows: list[Any]) -> list[str]:
        return sorted(repr((row["user"], row["n"], list(row["clicks"]), row["last"], row["why"])) for row in rows)

    expected = shown(tied(made).agg(**aggregates).to_pylist())
    assert shown(tied(frames(spark, made, 4)).agg(**aggregates).collect()) == expected
    assert len(expected) > 50
    places = {"place": wr.position(), "number": wr.session_number()}
    back = tied(frames(spark, made, 4)).with_columns(**places).select("input", "x", *places).collect()
    here = tied(made).with_columns(**places).select(["input", "x", *places]).to_pylist()
    assert sorted(map(str, map(tuple, back))) == sorted(str(tuple(row.values())) for row in here)
