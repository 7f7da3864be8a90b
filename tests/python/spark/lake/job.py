"""A stream of sessions merged into a table as docs/how-to/sinks.md does it: `python -m ...lake.job SYSTEM JARS FOLDER`.

Prints what is in the table that is wrong, and the numbers of its rows and its versions.
"""

from __future__ import annotations

import re
import sys
from datetime import UTC
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

import windrow as wr

from ...test_docs import ROOT
from ..recipe import events, expected, program, run

TABLES = {"delta": "web.sessions", "iceberg": "lake.web.sessions"}
SETTING = re.compile(r"^(\w+)?\s+(spark\.[\w.]+)\s+(\S+)$", re.MULTILINE)


def documented(system: str) -> dict[str, str]:
    """The settings of a system as the page has them, but for the jars, which are there."""
    found, of = dict[str, str](), ""
    for named, setting, value in SETTING.findall((ROOT / "docs" / "how-to" / "sinks.md").read_text(encoding="utf-8")):
        of = named.lower() or of
        if of == system and setting != "spark.jars.packages":
            found[setting] = value
    return found


def session(system: str, jars: Path, place: Path) -> SparkSession:
    """A Spark with a catalog of the system, in a folder."""
    chosen = documented(system) | {
        "spark.jars": ",".join(map(str, sorted(jars.glob("*.jar")))),
        "spark.sql.warehouse.dir": str(place / "warehouse"),
        "spark.driver.memory": "2g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "2",
    }
    if system == "iceberg":
        chosen["spark.sql.catalog.lake.warehouse"] = str(place / "lake")
    builder = SparkSession.builder.master("local[2]")
    for setting, value in chosen.items():
        builder = builder.config(setting, value)
    return builder.getOrCreate()


def rows_of(spark: SparkSession, table: str) -> list[tuple[Any, ...]]:
    """The rows of the table."""
    rows = spark.table(table).select("user", "window_start", "window_end", "clicks", "spend").toArrow().to_pylist()
    times = ("window_start", "window_end")
    return [tuple(row[name].astimezone(UTC) if name in times else row[name] for name in row) for row in rows]


def main(system: str, jars: Path, place: Path) -> None:
    """Streams into the table, each micro-batch twice; then tells what is in it."""
    spark = session(system, jars, place)
    wr.configure(spark)
    recipes, files, table = program(), events(2), TABLES[system]
    spark.sql(f"CREATE SCHEMA {table.rpartition('.')[0]}")
    columns = "user string, window_start timestamp, window_end timestamp, clicks bigint, spend double"
    spark.sql(f"CREATE TABLE {table} ({columns}) USING {system}")
    run(spark, place, files, recipes["merge_into"](table), "update")
    rows = rows_of(spark, table)
    print(f"PySpark {pyspark.__version__}, {system}: {len(rows)} rows of {len(files)} micro-batches")
    print(f"twice: {len(rows) - len(set(rows))}")
    print(f"missing: {sorted(expected(files) - set(rows))}")
    print(f"more: {sorted(set(rows) - expected(files))}")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
