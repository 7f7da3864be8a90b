"""Spark's settings that matter for windrow."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from windrow.errors import bad_type, calls_to_user
from windrow.spark.version import check_pyspark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

SETTINGS = {
    # At any smaller limit Spark measures the whole Arrow batch again for every row that it writes.
    _BYTES: "2147483647",
    # With no limit of bytes, this alone bounds a batch: also one of packed blocks, of about 16 KiB each.
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

_warned: WeakSet[Any] = WeakSet()


def configure(spark: SparkSession) -> dict[str, str]:
    """Sets the runtime configuration of a Spark session that windrow needs.

    To be called before a query runs. The settings are the session's, not windrow's alone. Those of Arrow batches hold
    for every function that works on such (`mapInArrow`, pandas UDFs and the like): without them a query gives the same
    rows, about three times slower, and warns once. Those of the state store hold for every streaming query that starts
    with a new checkpoint: without RocksDB a streaming query is refused. Works on Spark classic and on Spark Connect.

    Returns:
        What was set: each configuration key and its value.

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
