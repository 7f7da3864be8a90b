"""Rolling features of each event: four lengths (3, 7, 14 and 21 days) of five aggregates in one query.

By windrow, Spark, Polars and DuckDB, in one run, one process each; answers compared.

    python benches/python/rolling.py                         10,000,000 events
    python benches/python/rolling.py --events 200000 --users 2000 --repeats 1

Prints the median time of the repeats after a first run, how many times as fast windrow is, and the time of four lengths
as a multiple of that of one length. Spark also runs with `spark.sql.window.segmentTree.enabled`, if its version has
it. That takes minutes, so it runs only once. Exit 1 when two answers differ.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import events
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rows import measured, spark_frame

DAYS = (3, 7, 14, 21)
HISTORY = 90
"""The days in which all events lie."""
DAY = 86_400_000_000
SEGMENT_TREE = "spark.sql.window.segmentTree.enabled"
Query = tuple[Callable[[], Any], Callable[[], list[float]]]


def write(path: Path, count: int, users: int) -> None:
    """Events of users at random times of 90 days, in no order."""
    random = np.random.default_rng(events.SEED)
    ts = events.EPOCH + random.integers(0, HISTORY * DAY, count)
    columns = {
        "id": pa.array(range(count), pa.int64()),
        "user": pa.array(random.integers(0, users, count)),
        "ts": pa.array(ts, pa.timestamp("us")),
        "amount": pa.array(random.integers(1, 10_000, count)),
        "score": pa.array(random.random(count)),
    }
    pq.write_table(pa.table(columns), path, row_group_size=max(1, count // 8))


def windowed(data: Any, lengths: tuple[int, ...]) -> Any:
    """The features by windrow."""
    import windrow as wr

    windows = wr.SlidingWindows.with_time_difference(f"{max(lengths)} days")
    asked = {
        f"{name}_{days}": aggregate.over(f"{days} days")
        for days in lengths
        for name, aggregate in {
            "n": wr.count(),
            "spend": wr.sum("amount"),
            "low": wr.min("amount"),
            "high": wr.max("amount"),
            "score": wr.mean("score"),
        }.items()
    }
    return wr.group_by(data, "user", time="ts").windowed_by(windows).with_columns(**asked)


def names(lengths: tuple[int, ...]) -> list[str]:
    """The columns of the features."""
    return [f"{name}_{days}" for days in lengths for name in ("n", "spend", "low", "high", "score")]


def summed(frame: Any, lengths: tuple[int, ...]) -> Query:
    """What runs a frame of Spark, and what adds its columns up."""
    totals = [f"sum({name} * (id % 1009)) AS {name}" for name in names(lengths)]
    added = frame.selectExpr(*totals)
    return (lambda: frame.write.format("noop").mode("overwrite").save(), lambda: list(added.collect()[0]))


def windrow_in_spark(path: Path, lengths: tuple[int, ...]) -> Query:
    """windrow over a cached DataFrame."""
    return summed(windowed(spark_frame(path), lengths), lengths)


def spark(path: Path, lengths: tuple[int, ...]) -> Query:
    """`rangeBetween` over one order, so that Spark sorts once."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    frame, columns = spark_frame(path), {}
    order = Window.partitionBy("user").orderBy(F.unix_micros("ts"))
    for days in lengths:
        over = order.rangeBetween(-days * DAY, Window.currentRow)
        columns[f"n_{days}"] = F.count("*").over(over)
        columns[f"spend_{days}"] = F.sum("amount").over(over)
        columns[f"low_{days}"] = F.min("amount").over(over)
        columns[f"high_{days}"] = F.max("amount").over(over)
        columns[f"score_{days}"] = F.avg("score").over(over)
    return summed(frame.withColumns(columns), lengths)


def spark_segment_tree(path: Path, lengths: tuple[int, ...]) -> Query:
    """The same with trees in place of the rows of each frame."""
    from pyspark.sql import SparkSession

    query = spark(path, lengths)
    session = SparkSession.active()
    session.conf.get(SEGMENT_TREE)  # raises where this Spark has no such option
    session.conf.set(SEGMENT_TREE, "true")
    return query


def windrow_in_process(path: Path, lengths: tuple[int, ...]) -> Query:
    """windrow over an Arrow table."""
    table = pq.read_table(path)
    return (lambda: windowed(table, lengths), lambda: added_up(windowed(table, lengths), lengths))


def polars(path: Path, lengths: tuple[int, ...]) -> Query:
    """`rolling` for each length over one order."""
    import polars as pl

    frame = pl.read_parquet(path)

    def query() -> Any:
        ordered = frame.sort("user", "ts")
        parts = [ordered]
        for days in lengths:
            amount, score = pl.col("amount"), pl.col("score")
            made = {"n": pl.len(), "spend": amount.sum(), "low": amount.min(), "high": amount.max()}
            columns = {f"{name}_{days}": column for name, column in {**made, "score": score.mean()}.items()}
            rolled = ordered.lazy().rolling("ts", period=f"{days * DAY + 1}us", group_by="user").agg(**columns)
            parts.append(rolled.select(*columns).collect())
        return pl.concat(parts, how="horizontal")

    return (query, lambda: added_up(query().to_arrow(), lengths))


def duckdb(path: Path, lengths: tuple[int, ...]) -> Query:
    """Range frames in SQL."""
    import duckdb

    connection = duckdb.connect()
    connection.register("events", pq.read_table(path))
    columns = ", ".join(
        f"count(*) OVER w{days} AS n_{days}, sum(amount) OVER w{days} AS spend_{days}, min(amount) OVER w{days} AS "
        f"low_{days}, max(amount) OVER w{days} AS high_{days}, avg(score) OVER w{days} AS score_{days}"
        for days in lengths
    )
    frames = ", ".join(
        f'w{days} AS (PARTITION BY "user" ORDER BY ts RANGE BETWEEN INTERVAL {days} DAYS PRECEDING AND CURRENT ROW)'
        for days in lengths
    )
    sql = f"SELECT *, {columns} FROM events WINDOW {frames}"
    return (
        lambda: connection.sql(sql).to_arrow_table(),
        lambda: added_up(connection.sql(sql).to_arrow_table(), lengths),
    )


def added_up(table: pa.Table, lengths: tuple[int, ...]) -> list[float]:
    """Each feature, weighted by the event, added up."""
    weight = pc.subtract(table["id"], pc.multiply(pc.divide(table["id"], 1009), 1009)).cast("float64")
    weighted = (pc.multiply(table[name].cast("float64"), weight) for name in names(lengths))
    return [pc.sum(column).as_py() for column in weighted]


PEERS: dict[str, Callable[[Path, tuple[int, ...]], Query]] = {
    "windrow in Spark": windrow_in_spark,
    "Spark": spark,
    "Spark, segment tree": spark_segment_tree,
    "windrow in-process": windrow_in_process,
    "Polars": polars,
    "DuckDB": duckdb,
}
OURS = ("windrow in Spark", "windrow in-process")
SLOW = "Spark, segment tree"
"""It runs only once, without a warm-up."""
AGAINST = {"Spark": OURS[0], "Spark, segment tree": OURS[0], "Polars": OURS[1], "DuckDB": OURS[1]}


def main() -> int:
    """All peers, each in its own process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peer", choices=PEERS, action="append")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--days", type=int, action="append", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(measured(*PEERS[args.peer[0]](args.child, tuple(args.days)), args.repeats)))
        return 0
    print(f"{datetime.date.today()}, {platform.machine()}, {os.cpu_count()} cores, medians of {args.repeats}")
    held = args.events / args.users * max(DAYS) / HISTORY
    print(f"{args.events:,} events of {args.users:,} users, {held:.0f} in {max(DAYS)} days\n")
    agree, found, one = True, dict[str, dict[str, Any]](), dict[str, float]()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.parquet"
        write(path, args.events, args.users)
        for peer in args.peer or PEERS:
            for lengths in ((max(DAYS),), DAYS) if peer in OURS else (DAYS,):
                call = [sys.executable, __file__, "--child", str(path), "--peer", peer]
                call += [part for days in lengths for part in ("--days", str(days))]
                repeats = 0 if peer == SLOW else args.repeats
                done = subprocess.run([*call, "--repeats", str(repeats)], capture_output=True, text=True)
                if done.returncode and SEGMENT_TREE in done.stderr:
                    print(f"  {peer:<20}      this Spark has none")
                    continue
                if done.returncode:
                    raise SystemExit(f"{peer} failed:\n{done.stderr}")
                known = json.loads(done.stdout.splitlines()[-1])
                if lengths != DAYS:
                    one[peer] = known["seconds"]
                    print(f"  {peer:<20}{known['seconds']:7.2f} s  one length", flush=True)
                    continue
                found[peer] = known
                first, ours = next(iter(found.values()))["totals"], found.get(AGAINST.get(peer, ""))
                same = all(abs(a - b) <= 1e-9 * abs(a) for a, b in zip(first, known["totals"], strict=True))
                agree = agree and same
                note = f"{known['seconds'] / one[peer]:.2f} times one length" if peer in one else ""
                if ours:
                    note = f"{AGAINST[peer]} is {known['seconds'] / ours['seconds']:.1f} times as fast"
                print(f"  {peer:<20}{known['seconds']:7.2f} s  {note}{'' if same else '  DIFFERS'}", flush=True)
    print("\nall answers agree" if agree else "\nANSWERS DIFFER")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
