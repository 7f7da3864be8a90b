"""The Spark settings that matter for windrow."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from windrow._arguments.errors import bad_type, calls_to_user
from windrow._spark.environment import check_pyspark
from windrow._spark.release import has_setting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_PAGES = "spark.sql.execution.arrow.transformWithStateInPySpark.maxStateRecordsPerBatch"
_PAGES_OF_4_0 = "spark.sql.execution.arrow.transformWithStateInPandas.maxRecordsPerBatch"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

SETTINGS = {
    # With a smaller limit, Spark measures the whole Arrow batch again for every row that it writes.
    _BYTES: "2147483647",
    # Without a byte limit, only this bounds a batch, including batches of packed blocks of about 24 KiB each.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    # Streaming state goes to RocksDB, where a micro-batch writes only its changes.
    "spark.sql.streaming.stateStore.providerClass": _ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Counting rows would read each page before writing it.
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    # How many pages travel to Python at once. A page has at most about 256 KiB.
    _PAGES: "64",
}
"""The settings of `configure`."""

_PARTITIONS = "spark.sql.shuffle.partitions"
_PARTITIONS_A_SHARD = 4
"""A stream with more tasks per shard warns that most tasks are idle."""

_warned: WeakSet[Any] = WeakSet()
_warned_of_partitions: WeakSet[Any] = WeakSet()


def configure(spark: SparkSession) -> dict[str, str]:
    """Sets the runtime configuration that windrow needs in a Spark session.

    Call it before a query runs. The settings belong to the session, so they also affect other code. The Arrow settings
    apply to every function over Arrow data (`mapInArrow`, pandas UDFs and so on). Without them a query returns the same
    rows, but takes about three times as long and warns once. The state store settings apply to every streaming query
    that starts with a new checkpoint. Without RocksDB, windrow refuses a streaming query. Works on Spark classic and
    Spark Connect.

    Returns:
        Each configuration key with its new value.

    Raises:
        TypeError: not a SparkSession.
        ImportError: PySpark is older than 3.5.

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
    settings = dict(SETTINGS)
    if not has_setting(spark, _PAGES):
        settings[_PAGES_OF_4_0] = settings[_PAGES]
    settings = {key: value for key, value in settings.items() if "arrow" not in key or has_setting(spark, key)}
    for key, value in settings.items():
        spark.conf.set(key, value)
    return settings


def warn_unless_configured(spark: SparkSession) -> None:
    """Warns the user, once per session, if a query will be slow because `configure` was not called."""
    if spark in _warned:
        return
    if spark.conf.get(_BYTES, None) != SETTINGS[_BYTES] and has_setting(spark, _BYTES):
        _warned.add(spark)
        warnings.warn(
            f"{_BYTES} is not {SETTINGS[_BYTES]}, so Spark spends most of its time on measuring Arrow batches; "
            "windrow.configure(spark) sets it",
            stacklevel=calls_to_user(),
        )


def warn_of_idle_partitions(spark: SparkSession, shards: int) -> None:
    """Warns the user, once per session, if most tasks of a micro-batch will have no shard."""
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
