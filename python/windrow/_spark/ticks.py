"""A stream of ticks by the wall clock, for sources that send nothing while they are quiet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow._arguments.duration import Duration, of_clock
from windrow._arguments.errors import bad_type, bad_value
from windrow._spark.environment import check_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SECOND = 1_000_000


def ticks(
    spark: SparkSession, *, every: Duration, delay: Duration, time: str = "time", tick: str = "tick"
) -> DataFrame:
    """Returns a streaming DataFrame of ticks by the wall clock. Union it with a stream that may go quiet.

    A tick is due every `every` after the first start of the query. Its time is that moment minus `delay`.
    Spark's `rate` source records in the checkpoint when the query began and which seconds a micro-batch covers. So a
    repeated micro-batch, also after a restart, has the same ticks. After a pause of the query, the ticks of the pause
    follow.

    Use the wall clock only if event time follows it: records arrive within `delay` of their time (plus the grace of
    the windows), and their clocks are right. Do not use it to read history again, for a source that may lag, or for a
    query that has to catch up: ticks then run ahead of records and make them late. On Kafka use `windrow.kafka`
    instead. Its control messages are in the topic.

    Args:
        spark: the session.
        every: the time from one tick to the next, in whole seconds.
        delay: how far stream time stays behind the wall clock; zero or more.
        time: the name of the TIMESTAMP column; use the name of the stream's time column.
        tick: the name of the boolean column for `group_by(tick=)`; it is always true.

    Returns:
        A streaming DataFrame of the two columns. Combine it by `unionByName(..., allowMissingColumns=True)`. A tick
        then has null in the source columns, which means every source. A record has null in `tick`, which means that
        it is not a tick.

    Raises:
        TypeError: not a SparkSession, not a duration, or a name that is not text.
        ValueError: `every` is not a whole number of seconds, `delay` is negative, or both columns have one name.
        ImportError: PySpark is older than 3.5.

    Source: Spark's `rate` source; Kafka Streams' wall-clock punctuation.

    >>> from pyspark.sql import SparkSession
    >>> spark = SparkSession.builder.getOrCreate()
    >>> ticks(spark, every="10 seconds", delay="1 minute", time="ts")
    DataFrame[ts: timestamp, tick: boolean]
    """
    check_session(spark)
    period, behind = of_clock("every", every), of_clock("delay", delay, zero=True)
    if period % _SECOND:
        raise bad_value("every", every, "whole seconds, such as '10 seconds'")
    for argument, name in (("time", time), ("tick", tick)):
        if not isinstance(name, str):
            raise bad_type(argument, name, "the name of a column")
    if time.casefold() == tick.casefold():
        raise bad_value("tick", tick, f"a name other than that of the time column, {time!r}")

    from pyspark.sql import functions as F

    # One row per second, numbered from the first start of the query.
    rate = spark.readStream.format("rate").option("rowsPerSecond", 1).option("numPartitions", 1).load()
    due = rate.where(F.col("value") % F.lit(period // _SECOND) == 0)
    return due.select(
        F.timestamp_micros(F.unix_micros("timestamp") - F.lit(behind)).alias(time), F.lit(True).alias(tick)
    )
