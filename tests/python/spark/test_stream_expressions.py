"""Streams of expressions: restarts, saved windows, returned records, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import windrow as wr
import windrow.state

from ..harness.spark_tables import frame_of
from ..harness.stream_scenes import DDL, table
from ..harness.streams import Run, play

pytestmark = [pytest.mark.needs("streams"), pytest.mark.slow]

GAP = wr.SessionWindows.with_gap("5 minutes", grace="1 hour")
STREAM = [
    table(("ann", 0, 1), ("Ann", 3, 5), ("bob", 1, 7)),
    table(("ANN", 5, 2), ("bob", 20, 3), ("cem", 180, 1)),
    table(("cem", 10_000, 1)),
]


def test_a_stream_of_expressions_continues_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    def query(given: DataFrame) -> Any:
        later = F.col("ts") + F.expr("INTERVAL 1 DAY")
        windowed = wr.group_by(given, F.lower("user").alias("who"), time=later).windowed_by(GAP)
        doubled = F.col("amount") * 2
        return windowed.agg(n=wr.count(), twice=wr.sum(doubled), large=wr.count().where("amount > 3"))

    run = Run()
    for pieces in (STREAM[:1], STREAM[1:]):
        play(spark, tmp_path, pieces, query, DDL, run=run)
    expected = [row.asDict(recursive=True) for row in query(frame_of(spark, pa.concat_tables(STREAM))).collect()]
    last = max(row["window"]["end"] for row in expected)  # the window that is still open
    closed = [row for row in expected if row["window"]["end"] != last]
    assert sorted(map(str, run.rows)) == sorted(map(str, closed))
    assert len(closed) >= 3
    names = ["who", "window", "n", "twice", "large", "stream_time"]
    assert windrow.state.read(spark, tmp_path / "checkpoint").columns == names
    fetched = windrow.state.fetch(spark, tmp_path / "checkpoint", "cem")
    assert fetched.column_names == names
    assert fetched.num_rows == 1


def test_another_expression_is_refused_at_a_restart_and_an_alias_is_not(spark: SparkSession, tmp_path: Path) -> None:
    def query(column: Column) -> Any:
        return lambda given: wr.group_by(given, "user", time="ts").windowed_by(GAP).agg(n=wr.sum(column))

    play(spark, tmp_path, STREAM[:1], query((F.col("amount") * 2).alias("paid")), DDL)
    play(spark, tmp_path, STREAM[1:2], query((F.col("amount") * 3).alias("paid")), DDL)
    with pytest.raises(Exception, match=r"paid.*amount \* 3"):
        play(spark, tmp_path, STREAM[2:], query(F.col("amount") * 3), DDL)


def test_a_stream_of_rows_comes_back_without_the_columns_of_expressions(spark: SparkSession, tmp_path: Path) -> None:
    def query(given: DataFrame) -> Any:
        windowed = wr.group_by(given, F.lower("user"), time="ts").windowed_by(GAP)
        return windowed.with_columns(n=wr.sum(F.col("amount") * 2))

    run = play(spark, tmp_path, STREAM, query, DDL)
    assert {tuple(row) for row in run.rows} == {(*STREAM[0].column_names, "window", "n")}
    assert sorted((row["user"], row["n"]) for row in run.rows)[:3] == [("ANN", 16), ("Ann", 16), ("ann", 16)]
    state: Any = windrow.state.read(spark, tmp_path / "checkpoint")
    assert state.schema["records"].dataType.elementType.names == STREAM[0].column_names


@pytest.mark.parametrize("sql", ["rand()", "uuid()", "monotonically_increasing_id()", "amount + rand(3)"])
def test_expressions_that_are_not_deterministic_are_refused_on_a_stream(spark: SparkSession, sql: str) -> None:
    stream = spark.readStream.format("rate").load().selectExpr("value AS amount", "timestamp AS ts")
    windowed = wr.group_by(stream, "amount", time="ts").windowed_by(GAP)
    with pytest.raises(ValueError, match="got .*; allowed: on a stream, an expression that gives the same value when"):
        windowed.agg(x=wr.max(F.expr(sql)))
    assert windowed.agg(x=wr.max(F.current_timestamp())).isStreaming


def test_sources_orders_and_ticks_are_expressions(spark: SparkSession, tmp_path: Path) -> None:
    of = {
        "side": F.col("amount") % 2,
        "place": F.col("amount") * 10,
        "is_tick": F.col("user").isNull(),
        "at": F.col("ts") + F.expr("INTERVAL 1 HOUR"),
    }

    def query(given: DataFrame, of: dict[str, Any]) -> DataFrame:
        grouped = wr.group_by(given, "user", time=of["at"], source=[of["side"]], order=of["place"], tick=of["is_tick"])
        return grouped.windowed_by(GAP).emit("update", every_record=True).agg(n=wr.count(), s=wr.sum("amount"))

    tables = [
        table(("ann", 0, 1), ("ann", 4, 3), ("bob", 1, 2)),
        table(("ann", 2, 5), ("ann", 3, 4), (None, 300, 7), ("bob", 6, 6)),
    ]
    run = play(spark, tmp_path / "a", tables, lambda given: query(given, dict(of)), DDL)
    names = {name: name for name in of}
    plain = play(spark, tmp_path / "b", tables, lambda given: query(given.withColumns(of), names), DDL)
    assert sorted(map(str, run.rows)) == sorted(map(str, plain.rows))
    assert {row["op"] for row in run.rows} == {"upsert", "delete"}
    assert run.total("ticks") == plain.total("ticks") > 0


def test_no_expression_takes_the_name_of_a_column_of_windrow(spark: SparkSession, tmp_path: Path) -> None:
    def query(given: DataFrame) -> DataFrame:
        named = given.select("*", F.struct((F.col("amount") * 10).alias("row")).alias("windrow"), F.lit(1).alias("row"))
        query = wr.group_by(named, "user", time="ts").windowed_by(GAP)
        aliased = wr.sum((F.col("amount") * 2).alias("windrow.row"))
        frame: DataFrame = query.with_columns(twice=aliased, tenfold=wr.sum("windrow.row"), n=wr.sum("row"))
        return frame.drop("windrow", "row")

    found = play(spark, tmp_path, STREAM, query, DDL).rows
    assert {(row["user"], row["amount"], row["twice"], row["tenfold"], row["n"]) for row in found} >= {
        ("ann", 1, 2, 10, 1),
        ("bob", 3, 6, 30, 1),
    }
