"""A history in files up to some offset of each partition, and a stream that takes the rest of the topic."""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import windrow as wr
import windrow.state

from . import topics
from .broker import Broker
from .stream import Query, records_of

START = 1_700_000_000_000
FIRST, REST = 600, 400
"""Records of each partition in the history and after it."""
PARTITIONS = 3
AGGREGATES = {"n": wr.count(), "first": wr.min("offset"), "last": wr.max("offset")}


def events(first: int, count: int) -> list[tuple[int, bytes, bytes, int]]:
    """Records of some users, out of order by some seconds; a user stays in one partition."""
    draw = random.Random(first)
    return [
        (partition, b"%d-%d" % (partition, draw.randint(0, 9)), b"", START + 500 * number - draw.randint(0, 4_000))
        for number in range(first, first + count)
        for partition in range(PARTITIONS)
    ]


def windowed(records: DataFrame) -> Any:
    windows = wr.SessionWindows.with_gap("6 seconds", grace="5 seconds")
    return wr.group_by(records, "user", time="time", tick="tick").windowed_by(windows).shards(2)


def counted(rows: Any) -> Counter[tuple[Any, ...]]:
    return Counter((row.user, *row.window, row.n, row.first, row.last) for row in rows)


def test_no_record_is_lost_or_counted_twice(broker: Broker, spark: SparkSession, tmp_path: Path) -> None:
    topic = topics.create(broker.address, "history", PARTITIONS)
    topics.write(broker.address, topic, events(0, FIRST))

    # A stream writes the topic into files, as jobs of archives do.
    archive = records_of(spark, broker.address, topic, rows=700).writeStream.format("parquet")
    archive = archive.option("checkpointLocation", str(tmp_path / "archive")).trigger(availableNow=True)
    archive.start(str(tmp_path / "files")).awaitTermination()
    topics.write(broker.address, topic, events(FIRST, REST))
    offsets = windrow.state.offsets(spark, tmp_path / "archive")
    assert json.loads(offsets) == {topic: {str(partition): FIRST for partition in range(PARTITIONS)}}
    read = sum(json.loads(windrow.state.offsets(spark, tmp_path / "archive", 0))[topic].values())
    assert 0 < read <= 700

    history = spark.read.parquet(str(tmp_path / "files"))
    to = datetime.fromtimestamp((START + 500 * FIRST) / 1000, UTC)
    run = windowed(history).advance(None, to=to, **AGGREGATES)
    run.rows.write.partitionBy("status").parquet(str(tmp_path / "runs"))
    runs = spark.read.parquet(str(tmp_path / "runs"))

    def stream(once: bool) -> Query:
        records = records_of(spark, broker.address, topic, rows=500, starting=offsets)
        opened = runs.where("status = 'open'")
        return Query(windowed(records).start_from(opened).agg(**AGGREGATES), tmp_path / "checkpoint", once=once)

    query = stream(once=True).wait()
    assert query.counters["records"] == REST * PARTITIONS
    assert query.counters["late"] == 0
    # The same script again; a record far ahead closes what is left.
    topics.write(broker.address, topic, [(0, b"later", b"", START + 10_000_000)])
    again = stream(once=True).wait()
    got = [*runs.where("status = 'closed'").collect(), *query.rows, *again.rows]
    everything = records_in(spark, broker, topic)
    expected = windowed(everything).agg(**AGGREGATES).where("user != 'later'").collect()
    assert counted(got) == counted(expected)
    assert any(row.first < FIRST <= row.last for row in expected), "no session runs over the end of the history"


def records_in(spark: SparkSession, broker: Broker, topic: str) -> DataFrame:
    """The whole topic as a batch."""
    rows = [
        (record.key.decode(), datetime.fromtimestamp(record.time / 1000, UTC), False, record.offset)
        for record in topics.read(broker.address, topic)
        if record.key is not None
    ]
    return spark.createDataFrame(rows, "user string, time timestamp, tick boolean, offset bigint")
