"""Spark's settings that matter for windrow."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from windrow._arguments.errors import bad_type, calls_to_user
from windrow._spark.environment import check_pyspark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

SETTINGS = {
    # At any smaller limit Spark measures the whole Arrow batch again for every row that it writes.
    _BYTES: "2147483647",
    # With no limit of bytes, this alone bounds a batch: also one of packed blocks, of about 24 KiB each.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    # Of streaming queries: state in RocksDB, of which a micro-batch writes what changed.
    "spark.sql.streaming.stateStore.providerClass": _ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Counting rows would read each page again before it is written.
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    # Pages of at most some 256 KiB that travel to Python at once.
    "spark.sql.execution.arrow.transformWithStateInPySpark.maxStateRecordsPerBatch": "64",
}
"""What `configure` sets."""

_PARTITIONS = "spark.sql.shuffle.partitions"
_PARTITIONS_A_SHARD = 4
"""More tasks than this for each shard of a stream warn that most of them are idle."""

_warned: WeakSet[Any] = WeakSet()
_warned_of_partitions: WeakSet[Any] = WeakSet()


def configure(spark: SparkSession) -> dict[str, str]:
    """Sets the runtime configuration of a Spark session that windrow needs.

    Call it before a query runs. The settings belong to the session, so they affect other code, too. Those of Arrow
    batches apply to every function over Arrow data (`mapInArrow`, pandas UDFs and the like). Without them a query gives
    the same rows, about three times slower, and warns once. Those of the state store apply to every streaming query
    that starts with a new checkpoint. Without RocksDB a streaming query is refused. Works on Spark classic and on Spark
    Connect.

    Returns:
        Each configuration key with its new value.

    Raises:
        TypeError: not a SparkSession.
        ImportError: PySpark is older than 4.1.

    >>> from pyspark.sql import SparkSession
    >>> for key, value in configure(SparkSession.builder.getOrCreate()).items():
    ...     print(key, value.rpartition(".")[2])
    spark.sql.execution.arrow.maxBytesPerBatch 2147483647
    spark.sql.execution.arrow.maxRecordsPerBatch 10000
    spark.sql.streaming.stateStore.providerClass RocksDBStateStoreProvider
    spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled true
    spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows false
    spark.sql.execution.arrow.transformWithStateInPySpark.maxStateRecordsPerBatch 64
    """
    if not (hasattr(spark, "conf") and hasattr(spark, "createDataFrame")):
        raise bad_type("spark", spark, "a SparkSession")
    check_pyspark("spark", "a session")
    for key, value in SETTINGS.items():
        spark.conf.set(key, value)
    return dict(SETTINGS)


def warn_unless_configured(spark: SparkSession) -> None:
    """Warns the user, once for each session, when a query is going to be slow for want of `configure`."""
    if spark in _warned:
        return
    if spark.conf.get(_BYTES, None) != SETTINGS[_BYTES]:
        _warned.add(spark)
        warnings.warn(
            f"{_BYTES} is not {SETTINGS[_BYTES]}, so Spark spends most of its time on measuring Arrow batches; "
            "windrow.configure(spark) sets it",
            stacklevel=calls_to_user(),
        )


def warn_of_idle_partitions(spark: SparkSession, shards: int) -> None:
    """Warns the user, once for each session, when most tasks of each micro-batch of a stream will have no shard."""
    partitions = spark.conf.get(_PARTITIONS, "") or ""
    if spark in _warned_of_partitions or not partitions.isdecimal() or int(partitions) <= _PARTITIONS_A_SHARD * shards:
        return
    _warned_of_partitions.add(spark)
    warnings.warn(
        f"{_PARTITIONS} is {partitions}, and the stream has {shards} shards, so most tasks of a micro-batch have "
        "nothing to do; set it to about the number of cores that work on the query, before its first start (a "
        "checkpoint keeps what it began with)",
        stacklevel=calls_to_user(),
    )
