"""Sessions over Parquet files: windrow's scan compared with windrow over `spark.read` and Spark's `session_window`.

    python benches/python/scan.py                              10 M events in 8 files
    python benches/python/scan.py --events 200000 --repeats 1

The queries take turns over the same files in one Spark session, after a first run of each. Prints events per second
(medians), and how many times as fast as `session_window` a query is. Exit 1 when two answers differ.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import events
import local_spark
import pyarrow as pa
import pyarrow.parquet as pq
from peers import GAP
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from sessions import canonical, differs

import windrow as wr

FILES = 8
ROW_GROUPS = 4
PEER = "session_window"


def write(folder: Path, count: int) -> None:
    """The events, in order of time, in files of several row groups."""
    rows = events.table(count, "in order", "i64")
    size = -(-count // FILES)
    for number in range(FILES):
        name = folder / f"part-{number}.parquet"
        pq.write_table(rows.slice(number * size, size), name, row_group_size=-(-size // ROW_GROUPS))


def windowed(data: object) -> DataFrame:
    """windrow's sessions."""
    grouped = wr.group_by(data, "user", time="ts").windowed_by(wr.SessionWindows.with_gap(GAP))
    values = {"spend": wr.sum("amount"), "low": wr.min("amount"), "high": wr.max("amount")}
    return grouped.agg(clicks=wr.count(), **values).select("user", "window.start", "window.end", "clicks", *values)


def session_window(data: DataFrame) -> DataFrame:
    """The same sessions by Spark."""
    values = {"spend": F.sum("amount"), "low": F.min("amount"), "high": F.max("amount")}
    counted = data.groupBy("user", F.session_window("ts", GAP).alias("w")).agg(
        F.count("*").alias("clicks"), *(column.alias(name) for name, column in values.items())
    )
    end = (F.col("w.end") - F.expr(f"INTERVAL {GAP}")).alias("end")
    return counted.select("user", "w.start", end, "clicks", *values)


def queries(spark: SparkSession, folder: str) -> dict[str, Callable[[], DataFrame]]:
    """Every query from the call that opens the files on."""
    return {
        PEER: lambda: session_window(spark.read.parquet(folder)),
        "windrow over spark.read": lambda: windowed(spark.read.parquet(folder)),
        "windrow.scan_parquet": lambda: windowed(wr.scan_parquet(spark, folder)),
    }


def main() -> int:
    """Measures all queries in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    print(f"{datetime.date.today()}, {platform.machine()}, {os.cpu_count()} cores, medians of {args.repeats}")
    agree = True
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), args.events)
        asked = queries(local_spark.start(), folder)
        answers: dict[str, pa.Table] = {name: canonical(query().toArrow()) for name, query in asked.items()}
        seconds: dict[str, list[float]] = {name: [] for name in asked}
        for _ in range(args.repeats):
            for name, query in asked.items():
                begin = time.perf_counter()
                query().write.format("noop").mode("overwrite").save()
                seconds[name].append(time.perf_counter() - begin)
        speed = {name: args.events / statistics.median(taken) for name, taken in seconds.items()}
        print(f"\nsessions, {args.events:,} events in {FILES} Parquet files, in order, i64 key")
        for name, answer in answers.items():
            difference = differs(answers[PEER], answer)
            agree = agree and difference is None
            ratio = "" if name == PEER else f"{speed[name] / speed[PEER]:.2f} times as fast"
            print(f"  {name:<24} {speed[name] / 1e6:7.2f} M events/s  {ratio}  {difference or ''}".rstrip())
        print(f"  {answers[PEER].num_rows:,} sessions, {'all answers agree' if agree else 'ANSWERS DIFFER'}")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
