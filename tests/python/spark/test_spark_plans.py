"""The steps of windrow in Spark: their names in plans, which the UI shows, the shards of partitions, and workers."""

from __future__ import annotations

import contextlib
import gc
import io
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import windrow as wr
from windrow._native import shard_keys

from ..harness.spark_tables import frame_of
from ..harness.stream_scenes import DDL, table, windowed
from ..harness.streams import Folder, source


def plan(frame: DataFrame) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        frame.explain()
    return shown.getvalue()


FOLD = wr.reduce("amount", lambda before, value: before + value)
QUERIES: dict[str, tuple[Any, list[str], str]] = {
    "windows": (
        lambda selected: selected.agg(n=wr.count()),
        ["windrow_pack", "windrow_merge"],
        "windrow_unpack",
    ),
    "Python functions": (
        lambda selected: selected.agg(x=FOLD),
        ["windrow_pack_rows", "windrow_fold"],
        "windrow_unpack",
    ),
    "rows": (
        lambda selected: selected.with_columns(n=wr.count()),
        ["windrow_with_windows"],
        "windrow_unpack_records",
    ),
}


@pytest.mark.parametrize("name", QUERIES)
def test_steps_of_a_batch_have_names(spark: SparkSession, name: str) -> None:
    query, steps, _ = QUERIES[name]
    shown = plan(query(windowed(frame_of(spark, table(("ann", 0))))))
    assert [step for step in steps if f"{step}(" not in shown] == []


@pytest.mark.parametrize("name", ["windows", "rows"])
@pytest.mark.needs("streams")
def test_steps_of_a_stream_have_names(spark: SparkSession, tmp_path: Path, name: str) -> None:
    query, _, last = QUERIES[name]
    shown = plan(query(windowed(source(spark, Folder(tmp_path / "none"), DDL))))
    assert "windrow_pack(" in shown
    assert f"{last}(" in shown


def test_each_partition_gets_as_many_shards_as_any_other_one(spark: SparkSession) -> None:
    keys = shard_keys(4_000)
    assert len(set(keys)) == len(keys)
    frame = spark.createDataFrame([(key,) for key in keys], "shard int")
    assert [row[0] for row in frame.select(F.hash("shard")).collect()] == list(range(len(keys)))
    for partitions in (2, 3, 7):
        dealt = frame.limit(32).repartition(partitions, "shard").select(F.spark_partition_id()).collect()
        counts = Counter(row[0] for row in dealt).values()
        assert len(counts) == partitions
        assert max(counts) - min(counts) <= 1


def frozen(keys: pa.Array) -> pa.Array:
    """How many objects the collector of this process leaves alone."""
    return pa.array([gc.get_freeze_count()] * len(keys))


def test_a_worker_does_not_look_through_its_modules_for_garbage(spark: SparkSession) -> None:
    kept = wr.apply(frozen, "user", schema="long")
    (row,) = windowed(frame_of(spark, table(("ann", 0)))).agg(kept=kept).collect()
    assert row["kept"] > 10_000
    assert gc.get_freeze_count() == 0  # of the driver
