"""Sessions of a stream merged into a table of Delta or Iceberg, in a process with a Spark of its own.

    python -m tests.python.spark.lake_client delta|iceberg JARS FOLDER

Prints the table's rows as JSON: user, first and last time in microseconds, clicks, spend.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pyspark.sql import SparkSession

import windrow as wr

from .recipe import events, program, run

CATALOGS = {
    "delta": {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    },
    "iceberg": {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
    },
}
TABLES = {"delta": "sessions", "iceberg": "lake.db.sessions"}


def main(kind: str, jars: str, place: Path) -> None:
    """Runs the stream, and prints the table."""
    builder = SparkSession.builder.master("local[2]").config("spark.jars", jars)
    settings = {
        **CATALOGS[kind],
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(place / "warehouse"),
        "spark.log.level": "ERROR",
    }
    settings |= {"spark.sql.catalog.lake.warehouse": str(place / "lake")} if kind == "iceberg" else {}
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    wr.configure(spark)
    columns = "user string, window_start timestamp, window_end timestamp, clicks bigint, spend double"
    spark.sql(f"CREATE TABLE {TABLES[kind]} ({columns}) USING {kind}")
    run(spark, place, events(2), program()["merge_into"](TABLES[kind]), "update")
    rows = spark.table(TABLES[kind]).toArrow().to_pylist()
    epoch, tick = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
    times = ("window_start", "window_end")
    shown = [
        [row["user"], *((row[name] - epoch) // tick for name in times), row["clicks"], row["spend"]] for row in rows
    ]
    print(json.dumps(shown))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
