"""One Spark on the local cores, quiet, whose workers run this very Python."""

from __future__ import annotations

import os
import sys
import warnings

from pyspark.sql import SparkSession

import windrow as wr


def start(cores: int = 2, driver_memory: str = "6g") -> SparkSession:
    """Starts it with the runtime settings that `windrow.configure` advises; all peers in Spark run under them."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    spark = (
        SparkSession.builder.master(f"local[{cores}]")
        .appName("windrow bench")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", driver_memory)
        .config("spark.log.level", "ERROR")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", str(2 * cores))
        .getOrCreate()
    )
    wr.configure(spark)
    return spark
