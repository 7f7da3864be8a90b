"""Reads the state of a streaming query: its open windows, from the last micro-batch that was committed.

Any process that can read the checkpoint may do this, even while the query runs. It writes nothing and does not disturb
the query. Spark's own source of states (`spark.read.format("statestore")`) reads the pages, and windrow opens them.

>>> import tempfile
>>> from datetime import datetime
>>> from pathlib import Path
>>> from pyspark.sql import SparkSession
>>> import windrow as wr
>>> spark = SparkSession.builder.getOrCreate()
>>> _ = wr.configure(spark)
>>> place = Path(tempfile.mkdtemp())
>>> rows = [("ann", datetime(2026, 1, 1, 8)), ("ann", datetime(2026, 1, 1, 8, 3)), ("bob", datetime(2026, 1, 1, 8, 1))]
>>> spark.createDataFrame(rows, "user string, ts timestamp_ntz").write.parquet(str(place / "visits"))
>>> visits = spark.readStream.schema("user string, ts timestamp_ntz").parquet(str(place / "visits"))
>>> windows = wr.SessionWindows.with_gap("5 minutes", grace="1 hour")
>>> sessions = wr.group_by(visits, "user", time="ts").windowed_by(windows).shards(2).count()
>>> checkpoint = str(place / "checkpoint")
>>> started = sessions.writeStream.option("checkpointLocation", checkpoint).format("noop").trigger(availableNow=True)
>>> _ = started.start().awaitTermination()

| file | what |
|---|---|
| `_checkpoint` | the entries of a checkpoint |
| `_stored_query` | the query, as its shards have written it |
| `_shard` | the open windows of whole shards, on executors |
| `_key` | those of one key, of the pages that may hold them |
| `_offsets` | the offsets of Kafka sources |
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow._arguments.errors import bad_type
from windrow._executor.shipping import shipped
from windrow._executor.stream.index import QUERY
from windrow.state._checkpoint import entries
from windrow.state._key import Shards, fetch_key
from windrow.state._offsets import kafka_offsets
from windrow.state._shard import NO_SHARDS, open_windows
from windrow.state._stored_query import StoredQuery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["fetch", "offsets", "read"]


def read(spark: SparkSession, checkpoint: str | os.PathLike[str], *, operator: int = 0) -> DataFrame:
    """The open windows of a streaming query at the time of this call.

    Args:
        spark: the session that reads.
        checkpoint: the `checkpointLocation` of the query.
        operator: the number of windrow's operator among the stateful operators of the query, as Spark numbers them.

    Returns:
        A row for each window that is stored and not closed, in no order: the keys, `window`, the aggregates so far, the
        source columns if each source has windows of its own, and `stream_time`, of the window's source or of all. The
        types are those of the query's result. An aggregate that does not fit its type is null, whatever `overflow`
        says. Spark keeps the states of the last micro-batches only (`spark.sql.streaming.minBatchesToRetain`), so an
        action long after this call fails. If it does, call `read` again.

    Raises:
        TypeError: arguments of other types.
        ValueError: no checkpoint with a committed micro-batch, no such operator, or one that is not windrow's; a state
            without records, or whose query is damaged. Damaged pages fail the action.

    Source: Kafka Streams' interactive queries (`ReadOnlySessionStore`, `ReadOnlyWindowStore`: `all`).

    >>> found = read(spark, checkpoint)
    >>> found.selectExpr("user", "window.end", "count", "stream_time").orderBy("user").show()
    +----+-------------------+-----+-------------------+
    |user|                end|count|        stream_time|
    +----+-------------------+-----+-------------------+
    | ann|2026-01-01 08:03:00|    2|2026-01-01 08:03:00|
    | bob|2026-01-01 08:01:00|    1|2026-01-01 08:03:00|
    +----+-------------------+-----+-------------------+
    <BLANKLINE>
    """
    from pyspark.sql.types import StructType

    stored = entries(spark, checkpoint, operator)
    stored_query = stored.where(stored["name"] == QUERY).head(1)
    if not stored_query:
        raise ValueError(NO_SHARDS)
    query = StoredQuery.open(stored_query[0]["page"])
    result = StructType.fromJson(json.loads(query.result))
    task = shipped(open_windows)
    return stored.sortWithinPartitions("shard").mapInArrow(task, result)


def fetch(
    spark: SparkSession,
    checkpoint: str | os.PathLike[str],
    key: Any,
    start: Any = None,
    end: Any = None,
    *,
    backward: bool = False,
    operator: int = 0,
) -> pa.Table:
    """The windows of one key now: open ones, and closed ones that are still kept, as in Kafka's stores.

    Sliding windows are kept for three times their difference plus the grace, sessions until they close, both for
    `retention=` if that is longer. `read` leaves closed ones out.

    It reads only the shard of the key, and only the pages whose bounds may include the key and the times. The index has
    the first and the last time of each page, and the first 16 bytes of its first and last key. Two jobs of Spark run:
    one for the indexes, one for the pages, which are collected into this process.

    Args:
        spark: the session that reads.
        checkpoint: the `checkpointLocation` of the query.
        key: the value of the key column; for several a tuple of their values, or a dict by name. A part may be None.
            None for a query without keys.
        start: sessions that end at this time or later; sliding windows that start at it or later. A value of the time
            column (a `datetime`, aware for a `TIMESTAMP`); None leaves the side open.
        end: windows that start at this time or earlier; None leaves the side open.
        backward: whether to reverse the order.
        operator: the number of windrow's operator among the stateful operators of the query, as Spark numbers them.

    Returns:
        The columns of `read`, by end, then start; if each source has windows of its own, source by source.

    Raises:
        TypeError: arguments of other types; a key or a time of another type than its column.
        ValueError: as `read`; a key of more or fewer columns; a damaged state.

    Source: Kafka Streams' interactive queries (`ReadOnlySessionStore.findSessions`, `ReadOnlyWindowStore.fetch`).

    >>> fetch(spark, checkpoint, "ann")["window"].to_pylist()
    [{'start': datetime.datetime(2026, 1, 1, 8, 0), 'end': datetime.datetime(2026, 1, 1, 8, 3)}]
    >>> fetch(spark, checkpoint, "ann", datetime(2026, 1, 1, 8, 4)).num_rows
    0
    """
    if not isinstance(backward, bool):
        raise bad_type("backward", backward, "True or False")
    stored = entries(spark, checkpoint, operator)

    def pages(shard: int | None, names: list[str]) -> Shards:
        wanted = stored.where(stored["name"].isin(names))
        if shard is not None:
            wanted = wanted.where(stored["shard"] == shard)
        shards: Shards = {}
        for row in wanted.collect():
            shards.setdefault(row["shard"], {})[row["name"]] = row["page"]
        return shards

    return fetch_key(pages, key, start, end, backward=backward)


def offsets(
    spark: SparkSession,
    checkpoint: str | os.PathLike[str],
    batch: int | None = None,
    *,
    source: int | str | None = None,
) -> str:
    r"""Where a stream of Kafka begins that continues another one: the value of Spark's option `startingOffsets`.

    The offsets are those after a micro-batch: the first record of each partition that it has not read. Partitions that
    the topic got later are missing; add them with -2, which is the earliest record.

    Args:
        spark: the session that reads.
        checkpoint: the `checkpointLocation` of any streaming query of Spark.
        batch: the number of a committed micro-batch; None for the last one. Spark keeps the log of the last 100 or so
            (`spark.sql.streaming.minBatchesToRetain`).
        source: which Kafka source, if the query has several: its number among all sources of the query, from 0 on, or
            the name that it has in a query with named sources.

    Returns:
        JSON such as `{"clicks": {"0": 17, "1": 4}}`, by topic and partition.

    Raises:
        TypeError: arguments of other types.
        ValueError: no checkpoint with a committed micro-batch, a micro-batch that is not committed or no longer in the
            log, a query without records of Kafka, or with several Kafka sources and no `source`.

    Source: Spark's option `startingOffsets` of the Kafka source.

    >>> log = place / "of_kafka"
    >>> lines = ["v1", '{"batchWatermarkMs":0}', '{"clicks":{"0":17,"1":4}}']
    >>> for name in ("offsets", "commits"):
    ...     (log / name).mkdir(parents=True)
    ...     _ = (log / name / "0").write_text("\n".join(lines))
    >>> offsets(spark, log)
    '{"clicks": {"0": 17, "1": 4}}'
    """
    return kafka_offsets(spark, checkpoint, batch, source)
