"""Each event with its session, or with the window that ends at it: windrow, Spark's window functions, Polars and
DuckDB, in one run, one process each; answers compared.

    python benches/python/rows.py                            3,250,000 events, both kinds of windows
    python benches/python/rows.py --events 200000 --repeats 1 --kind sliding

Count, sum and max of the window for each event. Prints the median time of the repeats after a first run, and how many
times as fast windrow is. Exit 1 when two answers differ.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import events
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

GAP, DIFFERENCE = "5 minutes", "10 minutes"
KINDS = ("sessions", "sliding")
AGAINST = {"Spark": "windrow in Spark", "Polars": "windrow in-process", "DuckDB": "windrow in-process"}
TOTALS = "sum(n) AS n, sum(n * (id % 1009)) AS placed, sum(spend) AS spend, sum(high) AS high"


def windowed(data: Any, kind: str) -> Any:
    """Each event with its window, by windrow."""
    import windrow as wr

    windows = {
        "sessions": wr.SessionWindows.with_gap(GAP),
        "sliding": wr.SlidingWindows.with_time_difference(DIFFERENCE),
    }[kind]
    grouped = wr.group_by(data, "user", time="ts").windowed_by(windows)
    return grouped.with_columns(n=wr.count(), spend=wr.sum("amount"), high=wr.max("amount"))


def spark_frame(path: Path) -> Any:
    import local_spark

    frame = local_spark.start().read.parquet(str(path)).cache()
    frame.count()
    return frame


def of_spark(frame: Any) -> tuple[Callable[[], Any], Callable[[], list[float]]]:
    """What runs a frame, and what adds its rows up."""
    totals = frame.selectExpr(*TOTALS.split(", "))
    return (lambda: frame.write.format("noop").mode("overwrite").save(), lambda: list(totals.collect()[0]))


def windrow_in_spark(path: Path, kind: str) -> Any:
    """windrow over a cached DataFrame."""
    return of_spark(windowed(spark_frame(path), kind))


def spark(path: Path, kind: str) -> Any:
    """`lag` and a cumulative sum, or `rangeBetween`."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    frame = spark_frame(path)
    columns = {"n": F.count("*"), "spend": F.sum("amount"), "high": F.max("amount")}
    if kind == "sessions":
        order = Window.partitionBy("user").orderBy("ts")
        apart = F.unix_micros("ts") - F.unix_micros(F.lag("ts").over(order)) > events.GAP_MICROSECONDS
        frame = frame.withColumn("session", F.sum(F.coalesce(apart, F.lit(True)).cast("int")).over(order))
        over = Window.partitionBy("user", "session")
        columns |= {"start": F.min("ts"), "end": F.max("ts")}
    else:
        order = Window.partitionBy("user").orderBy(F.unix_micros("ts"))
        over = order.rangeBetween(-2 * events.GAP_MICROSECONDS, Window.currentRow)
    return of_spark(frame.withColumns({name: column.over(over) for name, column in columns.items()}))


def windrow_in_process(path: Path, kind: str) -> Any:
    """windrow over an Arrow table."""
    table = pq.read_table(path)
    return (lambda: windowed(table, kind), lambda: totals(windowed(table, kind)))


def polars(path: Path, kind: str) -> Any:
    """`over` for sessions, `rolling` for windows that end at events."""
    import polars as pl

    frame = pl.read_parquet(path)
    columns = {"n": pl.len(), "spend": pl.col("amount").sum(), "high": pl.col("amount").max()}

    def query() -> Any:
        ordered = frame.lazy().sort("user", "ts")
        if kind == "sessions":
            apart = (pl.col("ts").diff() > pl.duration(microseconds=events.GAP_MICROSECONDS)) | (
                pl.col("user") != pl.col("user").shift()
            )
            numbered = ordered.with_columns(session=apart.fill_null(True).cum_sum())
            added = {name: column.over("session") for name, column in columns.items()}
            times = {"start": pl.col("ts").min().over("session"), "end": pl.col("ts").max().over("session")}
            return numbered.with_columns(**added, **times).drop("session").collect()
        rolled = ordered.rolling("ts", period="600000001us", group_by="user").agg(**columns)
        return pl.concat([ordered.collect(), rolled.select(*columns).collect()], how="horizontal")

    return (query, lambda: totals(query().to_arrow()))


def duckdb(path: Path, kind: str) -> Any:
    """The same in SQL."""
    import duckdb

    table = pq.read_table(path)
    connection = duckdb.connect()
    connection.register("events", table)
    if kind == "sessions":
        sql = f"""
            WITH apart AS (SELECT *, coalesce(epoch_us(ts) - epoch_us(lag(ts) OVER w) > {events.GAP_MICROSECONDS}, true)
                             AS begins FROM events WINDOW w AS (PARTITION BY user ORDER BY ts)),
            numbered AS (SELECT *, sum(begins::INT) OVER (PARTITION BY user ORDER BY ts) AS session FROM apart)
            SELECT * EXCLUDE (begins, session), min(ts) OVER w AS start, max(ts) OVER w AS "end", count(*) OVER w AS n,
                   sum(amount) OVER w AS spend, max(amount) OVER w AS high
            FROM numbered WINDOW w AS (PARTITION BY user, session)"""
    else:
        sql = """
            SELECT *, count(*) OVER w AS n, sum(amount) OVER w AS spend, max(amount) OVER w AS high FROM events
            WINDOW w AS (PARTITION BY user ORDER BY ts RANGE BETWEEN INTERVAL 10 MINUTES PRECEDING AND CURRENT ROW)"""
    return (lambda: connection.sql(sql).to_arrow_table(), lambda: totals(connection.sql(sql).to_arrow_table()))


PEERS: dict[str, Callable[[Path, str], Any]] = {
    "windrow in Spark": windrow_in_spark,
    "Spark": spark,
    "windrow in-process": windrow_in_process,
    "Polars": polars,
    "DuckDB": duckdb,
}


def totals(table: pa.Table) -> list[float]:
    """The columns added up, as `TOTALS` does."""
    residue = pc.subtract(table["id"], pc.multiply(pc.divide(table["id"], 1009), 1009))
    placed = pc.multiply(table["n"].cast("int64"), residue)
    return [pc.sum(column).as_py() for column in (table["n"], placed, table["spend"], table["high"])]


def measured(query: Callable[[], Any], totals: Callable[[], list[float]], repeats: int) -> dict[str, Any]:
    """Times one peer in this process: the median of the repeats after a first run. Without repeats, the first run."""
    seconds = []
    for _ in range(1 + repeats):
        begin = time.perf_counter()
        query()
        seconds.append(time.perf_counter() - begin)
    return {"seconds": statistics.median(seconds[1:] or seconds), "totals": [float(total) for total in totals()]}


def main() -> int:
    """All peers, each in its own process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=3_250_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--peer", choices=PEERS, action="append")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(measured(*PEERS[args.peer[0]](args.child, args.kind[0]), args.repeats)))
        return 0
    print(f"{datetime.date.today()}, {platform.machine()}, {os.cpu_count()} cores, medians of {args.repeats}")
    agree = True
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.parquet"
        events.write(path, args.events, "shuffled", "i64")
        table = pq.read_table(path)
        pq.write_table(table.append_column("id", pa.array(range(len(table)), pa.int64())), path)
        for kind in args.kind or KINDS:
            print(f"\n{kind}, {args.events:,} events")
            found: dict[str, dict[str, Any]] = {}
            for peer in args.peer or PEERS:
                call = [sys.executable, __file__, "--child", str(path), "--peer", peer, "--kind", kind]
                done = subprocess.run([*call, "--repeats", str(args.repeats)], capture_output=True, text=True)
                if done.returncode:
                    raise SystemExit(f"{peer} failed:\n{done.stderr}")
                found[peer] = json.loads(done.stdout.splitlines()[-1])
                ours = found.get(AGAINST.get(peer, ""))
                first = next(iter(found.values()))["totals"]
                same = all(abs(a - b) <= 1e-9 * abs(a) for a, b in zip(first, found[peer]["totals"], strict=True))
                agree = agree and same
                ratio = (
                    f"{AGAINST[peer]} is {found[peer]['seconds'] / ours['seconds']:.1f} times as fast" if ours else ""
                )
                print(f"  {peer:<20}{found[peer]['seconds']:7.2f} s  {ratio}{'' if same else '  DIFFERS'}", flush=True)
    print("\nall answers agree" if agree else "\nANSWERS DIFFER")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
