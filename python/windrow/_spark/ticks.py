"""A stream of ticks by the wall clock, for sources that say nothing about time while they are quiet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow._arguments.duration import Duration, microseconds
from windrow._arguments.errors import bad_type, bad_value
from windrow._spark.environment import check_pyspark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SECOND = 1_000_000


def ticks(
    spark: SparkSession, *, every: Duration, delay: Duration, time: str = "time", tick: str = "tick"
) -> DataFrame:
    """A streaming DataFrame of ticks by the wall clock, to be united with a stream that goes quiet.

    A tick is due once in each `every`, from the first start of the query on. Its time is that moment less `delay`.
    Spark's `rate` source records in the checkpoint when the query began and which seconds a micro-batch covers. So a
    micro-batch that runs again, also after a restart, has the same ticks. After a pause of the query the ticks of the
    pause follow.

    The wall clock is right if event time follows it: records arrive within `delay` of their time (and the grace of the
    windows), and their clocks are right. It is wrong when history is read again, when a source may lag, and while a
    query catches up. Then ticks are ahead of records and make them late. On Kafka use `windrow.kafka` instead, whose
    control messages are in the topic.

    Args:
        spark: the session.
        every: the time from one tick to the next, in whole seconds.
        delay: how far stream time stays behind the wall clock; zero or more.
        time: the name of the column of the time, a TIMESTAMP: the time column of the stream.
        tick: the name of the boolean column, which is always true; for `group_by(tick=)`.

    Returns:
        A streaming DataFrame of the two columns. After `unionByName(..., allowMissingColumns=True)` a tick has null in
        the source columns of the stream, which means every source, and a record has null in `tick`, which means no
        tick.

    Raises:
        TypeError: not a SparkSession, no durations, or names that are no text.
        ValueError: a time of less than a second or of fractions of one, a negative delay, or one name for both.
        ImportError: PySpark is older than 4.1.

    Source: Spark's `rate` source; Kafka Streams' wall-clock punctuation.

    >>> from pyspark.sql import SparkSession
    >>> spark = SparkSession.builder.getOrCreate()
    >>> ticks(spark, every="10 seconds", delay="1 minute", time="ts")
    DataFrame[ts: timestamp, tick: boolean]
    """
    if isinstance(spark, type) or not (hasattr(spark, "conf") and hasattr(spark, "readStream")):
        raise bad_type("spark", spark, "a SparkSession")
    check_pyspark("spark", "a session")
    period, behind = microseconds("every", every), microseconds("delay", delay, zero=True)
    if period % _SECOND:
        raise bad_value("every", every, "whole seconds, such as '10 seconds'")
    for argument, name in (("time", time), ("tick", tick)):
        if not isinstance(name, str):
            raise bad_type(argument, name, "the name of a column")
    if time.casefold() == tick.casefold():
        raise bad_value("tick", tick, f"another name than that of the time, which is {time!r}")

    from pyspark.sql import functions as F

    # A row for each second, numbered from the first start of the query on.
    rate = spark.readStream.format("rate").option("rowsPerSecond", 1).option("numPartitions", 1).load()
    due = rate.where(F.col("value") % F.lit(period // _SECOND) == 0)
    return due.select(
        F.timestamp_micros(F.unix_micros("timestamp") - F.lit(behind)).alias(time), F.lit(True).alias(tick)
    )
