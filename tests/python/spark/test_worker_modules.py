"""A worker of Spark does not look through its modules for garbage after each task."""

from __future__ import annotations

import gc

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import windrow as wr

pytestmark = pytest.mark.spark


def frozen(keys: pa.Array) -> pa.Array:
    """How many objects the collector of this process leaves alone."""
    return pa.array([gc.get_freeze_count()] * len(keys))


def test_a_worker_leaves_its_modules_alone(spark: SparkSession) -> None:
    events = spark.sql("select 1 as k, timestamp'2026-01-01' as ts")
    sessions = wr.group_by(events, "k", time="ts").windowed_by(wr.SessionWindows.with_gap("1 day"))
    kept = wr.apply(frozen, "k", schema="long")
    row = sessions.agg(kept=kept).collect()[0]
    assert row["kept"] > 10_000
    assert gc.get_freeze_count() == 0  # of the driver
