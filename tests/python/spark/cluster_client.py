"""A driver of some cluster: one batch query and one streaming query over the same files.

    python cluster_client.py MASTER FOLDER      MASTER: local-cluster[2,1,1024], spark://127.0.0.1:7077

Prints one line of JSON: the rows of both queries. A script of its own, since a process is of one Spark.
"""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import windrow as wr

MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)
DDL = "user string, ts timestamp, amount bigint"
FILES = 3


def events() -> pa.Table:
    """Records of five users, an hour of them a file, and at last one that closes all sessions."""
    rows = [
        {"user": f"user {n * 31 % 5}", "ts": MIDNIGHT + timedelta(minutes=n), "amount": n} for n in range(FILES * 60)
    ]
    rows.append({"user": "last", "ts": MIDNIGHT + timedelta(days=1), "amount": 0})
    schema = pa.schema({"user": pa.string(), "ts": pa.timestamp("us", "UTC"), "amount": pa.int64()})
    return pa.Table.from_pylist(rows, schema)


def sessions(data: Any) -> Any:
    """The query."""
    windows = wr.SessionWindows.with_gap("4 minutes", grace="1 minute")
    return wr.group_by(data, "user", time="ts").windowed_by(windows).shards(4).agg(n=wr.count(), total=wr.sum("amount"))


def json_rows(rows: Any) -> list[list[Any]]:
    """Rows as JSON has them, in one order."""
    found = [
        [row["user"], *(round(row["window"][bound].timestamp()) for bound in ("start", "end")), row["n"], row["total"]]
        for row in rows
    ]
    return sorted(found)


def write(folder: Path) -> None:
    """The files."""
    table = events()
    for number in range(FILES + 1):
        path = folder / f"{number}.parquet"
        pq.write_table(table.slice(number * 60, 60), path)
        os.utime(path, (1_600_000_000 + 10 * number,) * 2)


def main(master: str, place: Path) -> None:
    """Runs both."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.executor.memory": "1g",
        "spark.executorEnv.PYSPARK_PYTHON": sys.executable,
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.master(master).getOrCreate()
    wr.configure(spark)
    source = str(place / "in")
    batch = sessions(spark.read.schema(DDL).parquet(source)).collect()
    stream = sessions(spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(source))
    writer = stream.writeStream.format("parquet").option("path", str(place / "out"))
    writer = writer.option("checkpointLocation", str(place / "checkpoint")).trigger(availableNow=True)
    query = writer.start()
    query.awaitTermination()
    closed = spark.read.parquet(str(place / "out")).collect()
    print(json.dumps({"batch": json_rows(batch), "stream": json_rows(closed)}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
