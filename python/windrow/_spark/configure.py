"""The Spark settings that matter for windrow."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from windrow._arguments.errors import bad_value, calls_to_user
from windrow._spark.environment import check_session
from windrow._spark.release import has_setting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_STORE = "spark.sql.streaming.stateStore.providerClass"
_PAGES = "spark.sql.execution.arrow.transformWithStateInPySpark.maxStateRecordsPerBatch"
_PAGES_OF_4_0 = "spark.sql.execution.arrow.transformWithStateInPandas.maxRecordsPerBatch"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

SETTINGS = {
    # With a smaller limit, Spark measures the whole Arrow batch again for every row that it writes.
    _BYTES: "2147483647",
    # Without a byte limit, only this bounds a batch, including batches of packed blocks of about 24 KiB each.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    # Streaming state goes to RocksDB, where a micro-batch writes only its changes.
    _STORE: _ROCKSDB,
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


def configure(spark: SparkSession) -> dict[str, str]:
    """Sets the runtime configuration that windrow needs in a Spark session.

    Call it before a query runs. The settings belong to the session, so they also affect other code. The Arrow settings
    apply to every function over Arrow data (`mapInArrow`, pandas UDFs and so on). Without them a query returns the same
    rows, but takes about three times as long and warns once. The state store settings apply to every streaming query
    that starts with a new checkpoint. Without RocksDB, windrow refuses a streaming query. Works on Spark classic and
    Spark Connect.

    Some platforms refuse to set these (serverless ones, and Spark's pipelines). Then one warning names the settings
    that the session lacks and Spark's reason, and the program continues.

    Returns:
        Each configuration key that the session has now, with its value.

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
    check_session(spark)
    settings = dict(SETTINGS)
    if not has_setting(spark, _PAGES):
        settings[_PAGES_OF_4_0] = settings[_PAGES]
    settings = {key: value for key, value in settings.items() if "arrow" not in key or has_setting(spark, key)}
    refused = {key: reason for key, value in settings.items() if (reason := _refusal(spark, key, value)) is not None}
    if refused:
        is_store = _STORE in refused
        effect = "a stream fails unless RocksDB is the platform's own state store" if is_store else "queries are slower"
        warnings.warn(
            f"spark: this session does not let {' and '.join(refused)} be set ({next(iter(refused.values()))}); "
            f"{effect}; if the platform has another place for settings (of the cluster, the job or the pipeline), set "
            "them there",
            stacklevel=calls_to_user(),
        )
    return {key: value for key, value in settings.items() if key not in refused}


def _refusal(spark: SparkSession, key: str, value: str) -> str | None:
    """Sets a setting. If the session refuses, and has another value, its reason."""
    try:
        spark.conf.set(key, value)
    except Exception as error:  # each platform has an error of its own
        return None if setting(spark, key) == value else f"{error}".partition("\n")[0]
    return None


def setting(spark: SparkSession, key: str) -> str | None:
    """The value of a setting or its default; None if there is neither, or the session refuses to give it."""
    try:
        value = spark.conf.get(key)
    except Exception:  # each platform has an error of its own
        return None
    return value


def check_state_store(spark: SparkSession, *, pipeline: bool) -> None:
    """Raises `ValueError` if the state store of the session is not RocksDB.

    With `pipeline`, where `configure` can set nothing, the message has the lines for the pipeline's file.
    """
    provider = setting(spark, _STORE)
    if provider is not None and not provider.endswith("RocksDBStateStoreProvider"):
        raise bad_value(
            _STORE,
            provider,
            f"Spark's RocksDBStateStoreProvider, for a streaming query; {_cure(pipeline)}",
        )


def sentence_on_state_store(spark: SparkSession) -> str | None:
    """What to check if the stream fails because of its state store, and the session does not show which it has.

    As the name of a step it is in the plan, which is part of Spark's own error.
    """
    if setting(spark, _STORE) is not None:
        return None
    return (
        f"windrow: a stream needs the state store {_ROCKSDB}, and this session does not say whether it has it: set "
        f"{_STORE} where the platform keeps the settings of the cluster, the job or the pipeline"
    )


def _cure(pipeline: bool) -> str:
    if not pipeline:
        return "windrow.configure(spark) sets it"
    lines = "".join(f'\n  {key}: "{value}"' for key, value in SETTINGS.items())
    return f"in a pipeline its file does, such as spark-pipeline.yml:\nconfiguration:{lines}"


def warn_unless_configured(spark: SparkSession, *, pipeline: bool) -> None:
    """Warns the user, once per session, if a query will be slow because `configure` was not called."""
    if spark in _warned or setting(spark, _BYTES) in (None, SETTINGS[_BYTES]):
        return
    _warned.add(spark)
    warnings.warn(
        f"{_BYTES} is not {SETTINGS[_BYTES]}, so Spark spends most of its time on measuring Arrow batches; "
        f"{_cure(pipeline)}",
        stacklevel=calls_to_user(),
    )


def warn_of_idle_partitions(spark: SparkSession, shards: int) -> None:
    """Warns the user of a query if most tasks of its micro-batches will have no shard."""
    partitions = setting(spark, _PARTITIONS) or ""
    if not partitions.isdecimal() or int(partitions) <= _PARTITIONS_A_SHARD * shards:
        return
    warnings.warn(
        f"{_PARTITIONS} is {partitions}, so each micro-batch has {partitions} tasks and state stores, at most {shards} "
        "of which, one for each shard, have anything to do. Each costs time anyway, most of it in the first "
        "micro-batch. Set it to about the number of cores that work on the query, before the first start, as a "
        f'checkpoint keeps its number: spark.conf.set("{_PARTITIONS}", "4")',
        stacklevel=calls_to_user(),
    )
