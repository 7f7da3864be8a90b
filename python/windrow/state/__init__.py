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
| `_key` | the windows of one key, from the pages that may hold them |
| `_open_frame`, `_open_rows` | the table of open windows, which another query continues |
| `_clock_row`, `_wanted_keys`, `_changed_table`, `_changed_frame` | this table without some keys, or at another time |
| `_offsets` | the offsets of Kafka sources |
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow._arguments.errors import bad_type
from windrow._arguments.instant import Instant
from windrow._executor.shipping import shipped
from windrow._executor.stream.index import QUERY
from windrow._folds.python_values import values_of
from windrow._plan.input import check_table, libraries_of
from windrow._plan.open_table import NO_TABLE, STREAM_TIME, open_argument
from windrow._spark.session_zone import session_zone
from windrow.state._changed_frame import OpenFrame
from windrow.state._changed_table import OpenTable
from windrow.state._checkpoint import entries
from windrow.state._clock_row import ALLOWED, Clock
from windrow.state._key import Shards, fetch_key
from windrow.state._offsets import kafka_offsets
from windrow.state._open_frame import open_frame
from windrow.state._shard import NO_SHARDS
from windrow.state._shard import open_windows as open_windows_of_shards
from windrow.state._stored_query import StoredQuery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Clock", "clock", "fetch", "offsets", "open_windows", "read", "with_clock", "without_keys"]


def read(spark: SparkSession, checkpoint: str | os.PathLike[str], *, operator: int = 0) -> DataFrame:
    """The open windows of a streaming query at the time of this call.

    Args:
        spark: the session that reads.
        checkpoint: the `checkpointLocation` of the query.
        operator: the number of windrow's operator among the stateful operators of the query, as Spark numbers them.

    Returns:
        A row for each window that is stored and not closed, in no order: the keys, `window`, the aggregates so far, the
        source columns if each source has its own windows, and `stream_time`, of the window's source or of all. The
        types are those of the query's result. An aggregate that does not fit its type is null, with any `overflow`.
        Spark keeps the states of the last micro-batches only (`spark.sql.streaming.minBatchesToRetain`), so an action
        long after this call fails. If it does, call `read` again.

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

    from windrow._spark.step import mapped

    stored, _ = entries(spark, checkpoint, operator)
    stored_query = stored.where(stored["name"] == QUERY).head(1)
    if not stored_query:
        raise ValueError(NO_SHARDS)
    query = StoredQuery.open(stored_query[0]["page"])
    result = StructType.fromJson(json.loads(query.result))
    return mapped(stored.sortWithinPartitions("shard"), shipped(open_windows_of_shards), result)


def open_windows(spark: SparkSession, checkpoint: str | os.PathLike[str], *, operator: int = 0) -> DataFrame:
    """The table of open windows of a streaming query, which `advance` and `start_from` can continue.

    The table has the state after the last committed micro-batch. The query may run or be stopped. `advance` over the
    same records returns the same table as `still_open` (`docs/how-to/daily-job.md#the-table-of-open-windows`). So
    another query may continue the windows, with a new checkpoint (`docs/how-to/change-a-query.md`). A small job of
    Spark runs at the call.

    Args:
        spark: the session that reads.
        checkpoint: the `checkpointLocation` of the query.
        operator: the number of windrow's operator among the stateful operators of the query, as Spark numbers them.

    Returns:
        A row for each open window, in no order: the keys, `window`, the aggregates so far, `stream_time` (null), and
        `state`, bytes. For a computed result, the columns are its aggregates. For sliding windows there are also rows
        without a window, which hold what later windows need. One row, the clock row, has neither a key nor a window. It
        has stream time, and the number of the micro-batch (`windrow.state.clock`). Write the table before the query
        continues: Spark keeps only the states of the last micro-batches, so an action that runs much later fails.

    Raises:
        TypeError: arguments of other types.
        ValueError: as `read`; a query whose sources each have their own windows (`source=` without
            `stream_time="slowest"`); an input without a stream time; a key or an aggregate with a name that the table
            uses. Damaged pages fail the action.

    >>> opened = open_windows(spark, checkpoint)
    >>> opened.select("user", "count", "stream_time").orderBy("user", "stream_time").show()
    +----+-----+-------------------+
    |user|count|        stream_time|
    +----+-----+-------------------+
    |NULL| NULL|2026-01-01 08:03:00|
    | ann|    2|               NULL|
    | bob|    1|               NULL|
    +----+-----+-------------------+
    <BLANKLINE>
    """
    return open_frame(*entries(spark, checkpoint, operator))


def clock(open: Any) -> Clock:
    """The time that a table of open windows has reached, and its micro-batch or run.

    Args:
        open: the table, as a frame of any kind that `advance` takes. In Spark a small job reads it.

    Returns:
        Stream time, and the number of the micro-batch or the run after which the table was written.

    Raises:
        TypeError: no table.
        ValueError: a table without a clock row, with several, or with one that was changed.
        OverflowError: a stream time that Python does not have, such as one after the year 9999.

    >>> opened = open_windows(spark, checkpoint)
    >>> clock(opened)
    Clock(time=datetime.datetime(2026, 1, 1, 8, 3), batch=0)
    """
    table = _open_table(open)
    row = table.clock_row() if isinstance(table, OpenFrame) else table.clock
    (time,) = values_of(STREAM_TIME, pa.array([row.ticks], pa.int64()).cast(row.time))
    return Clock(time, row.values["batch"])


def without_keys(open: Any = NO_TABLE, /, **keys: Any) -> Any:
    """A table of open windows without the rows of some keys, for example when a user wants to be forgotten.

    Args:
        open: the table, as a frame of any kind that `advance` takes.
        keys: the value of a key column, or a list of values. None is the null key, and so are NaT and NA of pandas. A
            time may be anything that `with_clock` takes, in the same time zone. A struct is a `dict` or a `Row`. For a
            column of lists, give a list of lists. Values are equal as in `group_by`: 0.0 and -0.0, and all NaNs. With
            several columns, this removes the rows that match in all of them.

    Returns:
        A table of the kind of `open`, with a clock row for the rows that are left. It is the same table if no row has
        such a key. In Spark it is lazy, and two small jobs run at the call.

    Raises:
        TypeError: no table, or a value of another type than its column.
        ValueError: a column that is no key; a struct with other fields than its column; no point in time, or one with a
            zone for a column without one; a table without a clock row, with several, or with one that was changed.

    >>> opened = open_windows(spark, checkpoint)
    >>> without_keys(opened, user=["ann", "eve"]).select("user", "count").orderBy("user").show()
    +----+-----+
    |user|count|
    +----+-----+
    |NULL| NULL|
    | bob|    1|
    +----+-----+
    <BLANKLINE>
    """
    open = open_argument(open, keys, "a table of open windows, as in without_keys(still_open, user='ann')")
    return _open_table(open).without_keys(keys)


def with_clock(open: Any, to: Instant) -> Any:
    """A table of open windows at another stream time.

    One record with a wrong time may move stream time ahead by years, and then every record is late. To continue, set
    the clock back. The next query then accepts records from `to` less its grace on. Sessions that were closed too early
    do not come back, so such records begin new sessions. A sliding window may be final a second time. It may then lack
    older records, because the table has only what was needed at its own time. If you set the clock forward, the next
    run or micro-batch closes windows.

    Args:
        open: the table, as a frame of any kind that `advance` takes.
        to: the new stream time, as in `advance`. A time without a zone has the time zone of the column. In Spark it has
            the time zone of the Spark session.

    Returns:
        A table of the kind of `open`, with a new clock row. In Spark it is lazy, and a small job runs at the call.

    Raises:
        TypeError: no table, or no time.
        ValueError: no point in time, or an earlier one for sessions with rules; a table without a clock row, with
            several, or with one that was changed.

    >>> opened = open_windows(spark, checkpoint)
    >>> clock(with_clock(opened, "2026-01-01 08:02")).time.minute
    2
    """
    return _open_table(open).with_clock(to)


def _open_table(given: Any) -> OpenTable | OpenFrame:
    check_table(given)
    if "pyspark" not in libraries_of(given):
        return OpenTable(given)
    from windrow._spark.release import is_frame

    if not is_frame(given):
        raise bad_type("open", given, ALLOWED)
    return OpenFrame(given)


def fetch(
    spark: SparkSession,
    checkpoint: str | os.PathLike[str],
    key: Any,
    start: Instant | None = None,
    end: Instant | None = None,
    *,
    backward: bool = False,
    operator: int = 0,
) -> pa.Table:
    """The windows of one key now: open ones, and closed ones that are still kept, as in Kafka's stores.

    Sliding windows are kept for three times their difference plus the grace plus one resolution, and sessions until
    they close. If `retention=` is longer, both are kept for that time. `read` leaves closed ones out.

    It reads only the shard of the key, and only the pages whose bounds may include the key and the times. The index has
    the first and the last time of each page, and the first 16 bytes of its first and last key. Two jobs of Spark run:
    one for the indexes, one for the pages, which are collected into this process.

    Args:
        spark: the session that reads.
        checkpoint: the `checkpointLocation` of the query.
        key: the value of the key column; for several a tuple of their values, or a dict by name. A part may be None.
            None for a query without keys.
        start: sessions that end at this time or later; sliding windows that start at it or later. A `datetime`, a
            `date` or text such as "2026-05-05"; a time without a zone has the time zone of the Spark session. None
            leaves the side open.
        end: windows that start at this time or earlier; None leaves the side open.
        backward: whether to reverse the order.
        operator: the number of windrow's operator among the stateful operators of the query, as Spark numbers them.

    Returns:
        The columns of `read`, by end, then start; if each source has its own windows, source by source.

    Raises:
        TypeError: arguments of other types; a key of another type than its column.
        ValueError: as `read`; a key of more or fewer columns; a time with a zone for a column without one; a damaged
            state.

    Source: Kafka Streams' interactive queries (`ReadOnlySessionStore.findSessions`, `ReadOnlyWindowStore.fetch`).

    >>> fetch(spark, checkpoint, "ann")["window"].to_pylist()
    [{'start': datetime.datetime(2026, 1, 1, 8, 0), 'end': datetime.datetime(2026, 1, 1, 8, 3)}]
    >>> fetch(spark, checkpoint, "ann", datetime(2026, 1, 1, 8, 4)).num_rows
    0
    """
    if not isinstance(backward, bool):
        raise bad_type("backward", backward, "True or False")
    stored, _ = entries(spark, checkpoint, operator)

    def pages(shard: int | None, names: list[str]) -> Shards:
        wanted = stored.where(stored["name"].isin(names))
        if shard is not None:
            wanted = wanted.where(stored["shard"] == shard)
        shards: Shards = {}
        for row in wanted.collect():
            shards.setdefault(row["shard"], {})[row["name"]] = row["page"]
        return shards

    return fetch_key(pages, key, start, end, backward=backward, zone=session_zone(spark))


def offsets(
    spark: SparkSession,
    checkpoint: str | os.PathLike[str],
    batch: int | None = None,
    *,
    source: int | str | None = None,
) -> str:
    r"""Where one query of Kafka stopped and another may begin: a value for Spark's option `startingOffsets`.

    For each partition, this is the offset of the first record that the query had not read after a micro-batch.
    Partitions that the topic got later are missing. Add them with -2, which means the earliest record.

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
