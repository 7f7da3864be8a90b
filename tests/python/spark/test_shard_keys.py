"""Shards go to Spark's partitions in turn, for any number of both."""

from __future__ import annotations

from collections import Counter

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from windrow._native import shard_keys

pytestmark = pytest.mark.spark


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
