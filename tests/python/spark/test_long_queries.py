"""A long streaming query: state, the memory of workers and the time of a micro-batch stay as they were.

Only `make soak` runs it, for this many seconds (WINDROW_QUERY_SECONDS), or longer, until there is enough to compare.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.listener import StreamingQueryProgress

import windrow as wr

from ..faults.processes import python_workers
from ..harness.spark_scenes import SetConf

SECONDS = int(os.environ.get("WINDROW_QUERY_SECONDS", "600"))
WARM, PART = 10, 6
LEAST = WARM + 4 * PART
"""So many micro-batches leave two parts to compare, whatever else the machine does."""
START = 1_767_225_600_000
"""1 January 2026, in milliseconds."""


def query(spark: SparkSession) -> Any:
    """A minute of 300 records a micro-batch: users who stay, users who come once, some records late."""
    rate = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 300).option("numPartitions", 2)
    rate = rate.option("advanceMillisPerBatch", 60_000).option("startTimestamp", START).load()
    seconds = F.when(F.col("value") % 20 == 0, 3600).otherwise(F.col("value") % 97)
    stays = F.concat(F.lit("user "), F.col("value") % 41)
    data = rate.select(
        F.when(F.col("value") % 3 == 0, F.concat(F.lit("visit "), F.col("value"))).otherwise(stays).alias("user"),
        F.timestamp_seconds(F.col("timestamp").cast("double") - seconds).alias("ts"),
        F.col("value").alias("amount"),
    )
    windows = wr.SessionWindows.with_gap("5 minutes", grace="3 minutes")
    grouped = wr.group_by(data, "user", time="ts").windowed_by(windows).shards(2)
    return grouped.emit("update").agg(n=wr.count(), spend=wr.sum("amount"))


def counted(started: StreamingQuery) -> list[tuple[StreamingQueryProgress, dict[str, int]]]:
    """The micro-batches so far, with their counters."""
    return [(each, counters) for each in started.recentProgress if (counters := wr.counters(each))]


@pytest.mark.soak
def test_a_long_query_stays_as_it_was(
    spark: SparkSession, set_conf: SetConf, tmp_path: Path, soaked: Callable[[str], None]
) -> None:
    set_conf("spark.sql.streaming.numRecentProgressUpdates", "1000000")
    writer = query(spark).writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint"))
    started = writer.outputMode("append").start()
    memory, limit = list[int](), time.monotonic() + SECONDS
    while started.isActive and (time.monotonic() < limit or len(counted(started)) < LEAST):
        assert time.monotonic() < limit + 9 * SECONDS, "waited in vain"
        time.sleep(SECONDS / 100)
        memory.append(max((process.kib for process in python_workers(os.getpid())), default=0))
    assert started.exception() is None
    started.stop()
    progress = counted(started)
    size = [counters["state_bytes"] for _, counters in progress]
    millis = [each.durationMs["triggerExecution"] for each, _ in progress]
    part = min(100, (len(progress) - WARM) // 4)
    assert part >= PART
    early, late = slice(WARM, WARM + part), slice(len(progress) - part, None)
    state = statistics.median(size[early]), statistics.median(size[late])
    took = statistics.median(millis[early]), statistics.median(millis[late])
    tenth = len(memory) // 10
    held = max(memory[tenth : 4 * tenth]), max(memory[-3 * tenth :])
    soaked(
        f"{len(progress)} micro-batches of a query: state {state[0]:.0f} then {state[1]:.0f} bytes, the "
        f"largest worker {held[0]} then {held[1]} KiB, a micro-batch {took[0]:.0f} then {took[1]:.0f} ms ({part} after "
        f"{WARM}, last {part})"
    )
    assert sum(counters["late"] for _, counters in progress) > len(progress)
    assert state[1] < 1.2 * state[0]
    assert held[1] < 1.2 * held[0]
    assert took[1] < 3 * took[0]
