"""Sessions with `longest` and `ends`, in Spark: the oracle's windows, what this process gives, and no stream."""

from __future__ import annotations

import operator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import windrow as wr

from ..harness.spark_scenes import events, rows
from ..harness.spark_tables import table_of
from ..harness.tables import Call, assert_windows, gap_of, records, rows_of
from ..oracle.cut_sessions import cut_sessions
from ..oracle.records import Record

MINUTE = 60 * 10**6
AGGREGATES = {"n": Call("count"), "spend": Call("sum", ("items",)), "words": Call("collect_set", ("word",))}
GAP, LONGEST = 20 * MINUTE, 45 * MINUTE
FIXED = wr.SessionWindows.with_gap("20 minutes", max_duration="45 minutes", end_when="out")
OWN = wr.SessionWindows.with_dynamic_gap("pause", max_duration="45 minutes", end_when="out")


def longer(held: int, row: Any) -> int:
    return held + row["items"]


@pytest.fixture(scope="module")
def data(spark: SparkSession) -> DataFrame:
    """Events, some of which end their session, some without a key; pauses of 0 to 19 minutes."""
    pause = F.expr("make_dt_interval(0, 0, abs(hash(word, ts)) % 20)")
    out = F.when(F.col("items") == 5, F.lit(True)).when(F.col("items") == 4, F.lit(None)).otherwise(F.lit(False))
    key = F.when(F.col("user_id") % 13 != 0, F.col("user_id"))
    return events(spark).withColumns({"pause": pause, "out": out, "user_id": key}).cache()


@pytest.fixture(scope="module")
def table(data: DataFrame) -> pa.Table:
    collected = table_of(data)
    return collected.set_column(1, "ts", collected["ts"].cast(pa.timestamp("us", "UTC")))


@pytest.mark.parametrize("windows", [FIXED, OWN], ids=["one gap", "own gaps"])
def test_oracle_sessions_in_spark(data: DataFrame, table: pa.Table, windows: Any) -> None:
    own = gap_of("pause")

    def sessions(members: list[Record]) -> Any:
        gaps = (lambda _: GAP) if windows is FIXED else own
        return cut_sessions(members, gaps, LONGEST, lambda record: record.values["out"])

    aggregates = {name: aggregate.build(wr) for name, aggregate in AGGREGATES.items()}
    answer = wr.group_by(data, "user_id", time="ts").windowed_by(windows).shards(3).agg(**aggregates)
    assert_windows(rows(answer, ["user_id"]), table, ["user_id"], sessions, AGGREGATES)
    uncut = wr.group_by(table, "user_id", time="ts").windowed_by(wr.SessionWindows.with_gap("20 minutes")).count()
    assert answer.count() > uncut.num_rows > 100


def test_python_functions_and_rows_with_their_session_are_those_of_this_process(
    data: DataFrame, table: pa.Table
) -> None:
    def windowed(of: Any) -> Any:
        return wr.group_by(of, "user_id", time="ts").windowed_by(FIXED)

    folded = {
        "n": wr.count(),
        "spend": wr.aggregate(lambda: 0, longer, operator.add, schema="bigint", columns=["items"]),
    }
    here = rows_of(windowed(table).agg(**folded), ["user_id"])
    assert rows(windowed(data).agg(**folded), ["user_id"]) == here
    aggregates = {"n": wr.count(), "session": wr.window_id()}
    names = ["user_id", "ts", "items", "word", "n", "session"]
    order = [(name, "ascending") for name in names]
    there = table_of(windowed(data).with_columns(**aggregates)).select(names).sort_by(order)
    assert there.to_pylist() == windowed(table).with_columns(**aggregates).select(names).sort_by(order).to_pylist()
    assert len(records(table, ["user_id"])) == there.num_rows == 4_000


def test_a_column_of_nulls_alone_is_never_true(data: DataFrame) -> None:
    void = data.withColumn("out", F.lit(None))
    whole, none = (
        wr.group_by(void, "user_id", time="ts").windowed_by(windows).agg(n=wr.count(), none=condition)
        for windows, condition in (
            (wr.SessionWindows.with_gap("20 minutes", end_when="out"), wr.count_if("out")),
            (wr.SessionWindows.with_gap("20 minutes"), wr.count() - wr.count()),
        )
    )
    assert rows(whole, ["user_id"]) == rows(none, ["user_id"])


def test_a_column_of_another_type_is_refused_at_the_call(data: DataFrame) -> None:
    with pytest.raises(TypeError, match="end_when: column 'word' has type string; allowed: a boolean"):
        wr.group_by(data, "user_id", time="ts").windowed_by(wr.SessionWindows.with_gap("1 minute", end_when="word"))
