"""A daily job: windrow's `advance` compared with Spark's session_window over the whole history, day by day.

    python benches/python/daily.py                        20 days of 500,000 events
    python benches/python/daily.py --days 5 --events 50000

Every day both give all sessions of the history so far: `advance` reads the day's events and the open windows of the
day before, session_window reads all days again. Prints the seconds of each day. Exit 1 when the sessions differ.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

import events
import local_spark
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import windrow as wr

DAY = 86_400_000_000
GAP = "5 minutes"


def write_day(folder: Path, day: int, count: int) -> None:
    """The events of a day: 100 a user on average, in no order."""
    random = np.random.default_rng([events.SEED, day])
    table = pa.table(
        {
            "user": pa.array(random.integers(0, max(1, count // events.EVENTS_OF_A_USER), count)),
            "ts": pa.array(events.EPOCH + day * DAY + random.integers(0, DAY, count), pa.timestamp("us", "UTC")),
            "amount": random.integers(1, 10_000, count),
        }
    )
    pq.write_table(table, folder / f"day={day:03d}.parquet", row_group_size=max(1, count // 4))


def session_window(spark: SparkSession, files: list[str]) -> DataFrame:
    """All sessions of these days by Spark's own window, with the inclusive end."""
    grouped = spark.read.parquet(*files).groupBy("user", F.session_window("ts", GAP).alias("w"))
    totals = grouped.agg(F.count("*").alias("clicks"), F.sum("amount").alias("spend"))
    end = F.col("w.end") - F.expr(f"INTERVAL {GAP}")
    return totals.select("user", F.col("w.start").alias("start"), end.alias("end"), "clicks", "spend")


def advance(spark: SparkSession, file: str, runs: Path, day: int) -> None:
    """A run of the day: writes the closed windows and those that are still open."""
    opened = None if day == 0 else spark.read.parquet(str(runs / f"{day - 1:03d}" / "status=open"))
    windowed = wr.group_by(spark.read.parquet(file), "user", time="ts").windowed_by(wr.SessionWindows.with_gap(GAP))
    to = datetime.datetime.fromtimestamp((events.EPOCH + (day + 1) * DAY) / 1e6, datetime.UTC)
    run = windowed.advance(opened, to=to, clicks=wr.count(), spend=wr.sum("amount"))
    run.rows.write.partitionBy("status").parquet(str(runs / f"{day:03d}"))


def closed_and_open(spark: SparkSession, runs: Path, day: int) -> DataFrame:
    """All sessions up to a day."""
    closed = spark.read.parquet(*(str(runs / f"{each:03d}" / "status=closed") for each in range(day + 1)))
    still_open = spark.read.parquet(str(runs / f"{day:03d}" / "status=open")).where("window IS NOT NULL")
    columns = ("user", "window.start", "window.end", "clicks", "spend")
    return closed.select(*columns).union(still_open.select(*columns))


def differences(one: DataFrame, other: DataFrame) -> int:
    """Sessions that are in one answer only."""
    return one.exceptAll(other).count() + other.exceptAll(one).count()


def main() -> int:
    """Both ways, day by day."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=20)
    parser.add_argument("--events", type=int, default=500_000, help="of a day")
    args = parser.parse_args()
    print(f"{datetime.date.today()}, {platform.machine()}, {os.cpu_count()} cores, {args.events:,} events a day")
    spark = local_spark.start()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files: list[str] = []
        for day in range(args.days):
            write_day(folder, day, args.events)
            files.append(str(folder / f"day={day:03d}.parquet"))
        print("  day   advance   session_window   ratio")
        for day in range(args.days):
            begin = time.perf_counter()
            advance(spark, files[day], folder / "runs", day)
            ours = time.perf_counter() - begin
            begin = time.perf_counter()
            session_window(spark, files[: day + 1]).write.mode("overwrite").parquet(str(folder / "theirs"))
            theirs = time.perf_counter() - begin
            print(f"  {day + 1:3}  {ours:6.2f} s         {theirs:6.2f} s   {theirs / ours:5.1f}", flush=True)
        last = args.days - 1
        wrong = differences(closed_and_open(spark, folder / "runs", last), session_window(spark, files))
        print(f"  {'all sessions agree' if not wrong else f'{wrong} SESSIONS DIFFER'}")
    spark.stop()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
