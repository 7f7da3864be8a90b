"""A Spark on two local cores with its Kafka connector, whose workers run this very Python."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import windrow as wr

from .maven import built

PROJECT = Path(__file__).resolve().parent / "connector"
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
"""Options of a JVM that runs most plans once."""


def start(name: str, memory: str = "1g", **settings: str) -> SparkSession:
    """Starts it; dots of settings are underlines."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    jars = sorted((built(PROJECT) / "jars").glob("*.jar"))
    chosen = {
        "spark.jars": ",".join(map(str, jars)),
        "spark.driver.memory": memory,
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
    } | {setting.replace("_", "."): value for setting, value in settings.items()}
    builder = SparkSession.builder.master("local[2]").appName(name)
    for setting, value in chosen.items():
        builder = builder.config(setting, value)
    spark = builder.getOrCreate()
    wr.configure(spark)
    return spark
