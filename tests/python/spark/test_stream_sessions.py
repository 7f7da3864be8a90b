"""Streaming queries: the windows of a batch with Python functions, and Kafka's sequence of updates."""

from __future__ import annotations

import operator
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import windrow as wr
from windrow.testing import StreamDriver

from ..harness.spark_tables import frame_of
from ..harness.stream_scenes import DDL, KINDS, SCHEMA, USERS, batch, closing, records, windowed
from ..harness.streams import play

pytestmark = pytest.mark.needs("streams")


def test_finals_equal_the_batch_query(spark: SparkSession, tmp_path: Path) -> None:
    rows = records(7, 240, [*USERS, None])
    end = closing(rows)
    tables = [batch(rows[:60]), batch([]), batch(rows[60:200]), batch(rows[200:]), batch([end])]

    def query(data: Any) -> Any:
        return windowed(data, KINDS["sliding"]).agg(n=wr.count(), spend=wr.reduce("amount", operator.add))

    run = play(spark, tmp_path, tables, query, DDL)
    found = sorted(map(repr, run.rows))
    whole = query(frame_of(spark, batch([*rows, end]))).where("user != 'end'")
    assert found == sorted(repr(row.asDict(recursive=True)) for row in whole.collect())
    assert len(found) > 30
    assert run.total("late") == 0
    assert run.total("null_keys") == sum(row["user"] is None for row in rows) > 0
    assert run.total("records") == len(rows) + 1 - run.total("null_keys")
    assert run.total("windows_closed") == len(found)


def test_each_record_in_order_is_the_drivers_sequence(spark: SparkSession, tmp_path: Path) -> None:
    rows = [{**row, "ts": row["ts"] - row["pause"] * (row["amount"] % 3)} for row in records(9, 240)]

    def query(data: Any) -> Any:
        updates = windowed(data, KINDS["dynamic gaps"], order="offset").shards(32).emit("update", every_record=True)
        return updates.agg(n=wr.count(), spend=wr.sum("amount"))

    run = play(spark, tmp_path, [batch(rows[:50]), batch(rows[50:60]), batch(rows[60:])], query, DDL, files=2)
    driver = StreamDriver(query, SCHEMA)
    driver.pipe_batch(batch(rows), rows=1)
    driven = driver.read_table().to_pylist()
    assert len(driven) > 150

    def of_user(user: str, rows: list[dict[str, Any]]) -> list[Any]:
        own = [row for row in rows if row["user"] == user]
        return [{**row, "window": [bound.replace(tzinfo=UTC) for bound in row["window"].values()]} for row in own]

    for user in USERS:
        assert of_user(user, run.rows) == of_user(user, driven)
    assert run.total("late") == driver.counters["late"] > 0
