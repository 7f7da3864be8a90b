"""A partition that is hours behind: with its own stream time nothing is late; without, the loss is counted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import windrow as wr

from . import topics
from .broker import Broker
from .stream import Query, records_of

START = 1_700_000_000_000
HOUR = 3_600_000
BEHIND = 1
"""The partition that lags, by six hours."""
RECORDS = 300


@pytest.fixture(scope="module")
def topic(broker: Broker) -> str:
    name = topics.create(broker.address, "lag", 3)
    events = [
        (partition, b"%d-%d" % (partition, number % 7), b"", START + 1_000 * number - (partition == BEHIND) * 6 * HOUR)
        for number in range(RECORDS)
        for partition in range(3)
    ]
    topics.write(broker.address, name, events)
    return name


def sessions(spark: SparkSession, broker: Broker, topic: str, place: Path, source: list[str] | None) -> Query:
    records = records_of(spark, broker.address, topic, rows=300)
    windows = wr.SessionWindows.with_gap("6 seconds", grace="10 seconds")
    grouped = wr.group_by(records, "user", time="time", tick="tick", source=source)
    return Query(grouped.windowed_by(windows).shards(2).agg(n=wr.count()), place, once=True).wait()


def counted(query: Query) -> Counter[str]:
    """How many records of the finals are of the partition that lags, and of the others."""
    found: Counter[str] = Counter()
    for row in query.rows:
        found["behind" if row.user.startswith(f"{BEHIND}-") else "others"] += row.n
    return found


def test_with_its_own_stream_time_nothing_of_a_partition_that_lags_is_late(
    broker: Broker, spark: SparkSession, topic: str, tmp_path: Path
) -> None:
    query = sessions(spark, broker, topic, tmp_path, ["topic", "partition"])
    assert query.counters["late"] == 0
    assert query.counters["records"] == 3 * RECORDS
    found = counted(query)  # a user comes every 7 s, the gap is 6 s: what is of the last 16 s is still open
    assert found == {"behind": RECORDS - 17, "others": 2 * (RECORDS - 17)}
    assert query.counters["windows_open"] == 3 * 17


def test_with_one_stream_time_the_partition_that_lags_is_lost_and_counted(
    broker: Broker, spark: SparkSession, topic: str, tmp_path: Path
) -> None:
    query = sessions(spark, broker, topic, tmp_path, None)
    counters = query.counters
    assert counters["records"] == 3 * RECORDS
    # The first micro-batch is judged by no time yet; all after it are hours behind.
    late = counters["late"]
    assert late > RECORDS / 2
    found = counted(query)
    assert found["behind"] == RECORDS - late
    assert found["others"] == 2 * (RECORDS - 17)
