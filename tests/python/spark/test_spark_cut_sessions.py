"""Sessions with a longest duration and ending events in Spark: the oracle's windows, also by Python functions."""

from __future__ import annotations

import operator
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import windrow as wr

from ..harness.spark_scenes import events, rows
from ..harness.spark_tables import table_of
from ..harness.tables import Call, assert_windows, gap_of
from ..oracle.cut_sessions import cut_sessions
from ..oracle.records import Record

LONGEST = 45 * 60 * 10**6
WINDOWS = wr.SessionWindows.with_dynamic_gap("pause", max_duration="45 minutes", end_when="out")
AGGREGATES = {"n": Call("count"), "spend": Call("sum", ("items",)), "words": Call("collect_set", ("word",))}


def longer(held: int, row: Any) -> int:
    return held + row["items"]


def test_oracle_sessions_in_spark(spark: SparkSession) -> None:
    """Some records end their session, some have no key; pauses are 0 to 19 minutes."""
    pause = F.expr("make_dt_interval(0, 0, abs(hash(word, ts)) % 20)")
    out = F.when(F.col("items") == 5, F.lit(True)).when(F.col("items") == 4, F.lit(None)).otherwise(F.lit(False))
    key = F.when(F.col("user_id") % 13 != 0, F.col("user_id"))
    data = events(spark).withColumns({"pause": pause, "out": out, "user_id": key}).cache()
    table = table_of(data)
    table = table.set_column(1, "ts", table["ts"].cast(pa.timestamp("us", "UTC")))

    def sessions(members: list[Record]) -> Any:
        return cut_sessions(members, gap_of("pause"), LONGEST, lambda record: record.values["out"])

    windowed = wr.group_by(data, "user_id", time="ts").windowed_by(WINDOWS).shards(3)
    answer = rows(windowed.agg(**{name: aggregate.build(wr) for name, aggregate in AGGREGATES.items()}), ["user_id"])
    assert_windows(answer, table, ["user_id"], sessions, AGGREGATES)
    assert len(answer) > 1_000
    spend: Any = wr.aggregate(lambda: 0, longer, operator.add, schema="bigint", columns=["items"])
    folded = rows(windowed.agg(n=wr.count(), spend=spend), ["user_id"])
    assert folded == {window: {name: row[name] for name in ("n", "spend")} for window, row in answer.items()}
    names = ["user_id", "ts", "items", "word", "n", "session"]
    order = [(name, "ascending") for name in names]
    of_rows = {"n": wr.count(), "session": wr.window_id()}
    there = table_of(windowed.with_columns(**of_rows)).select(names).sort_by(order)
    here = wr.group_by(table, "user_id", time="ts").windowed_by(WINDOWS).with_columns(**of_rows)
    assert there.to_pylist() == here.select(names).sort_by(order).to_pylist()


def test_a_column_of_nulls_alone_is_never_true(spark: SparkSession) -> None:
    void = wr.group_by(events(spark).withColumn("out", F.lit(None)), "user_id", time="ts")
    ended, plain = (
        rows(void.windowed_by(windows).agg(n=wr.count(), true=wr.count_if("out")), ["user_id"])
        for windows in (
            wr.SessionWindows.with_gap("20 minutes", end_when="out"),
            wr.SessionWindows.with_gap("20 minutes"),
        )
    )
    assert ended == plain
    assert {row["true"] for row in ended.values()} == {0}
