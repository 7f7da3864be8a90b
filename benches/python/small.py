"""Small jobs: sessions of 10,000 to 1,000,000 events in Spark, windrow compared with session_window; answers compared.

    python benches/python/small.py
    python benches/python/small.py --rows 337000 --repeats 15

Both queries run in one Spark over the same cached DataFrame. They take turns after some runs that count for neither,
and each gives its sessions to the driver as an Arrow table. The first query is measured apart: each in a Spark of its
own that has done nothing before it. Prints medians, in seconds, and the fastest runs. Exit 1 when two answers differ.
"""

from __future__ import annotations

import argparse
import datetime
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
import local_spark
import pyarrow as pa
from peers import by_session_window, by_windrow, flat, flat_of_spark
from sessions import canonical, differs

QUERIES: dict[str, Callable[[Any], pa.Table]] = {
    "windrow": lambda frame: flat(by_windrow(frame).toArrow()),
    "session_window": lambda frame: flat_of_spark(by_session_window(frame)).toArrow(),
}


def timed(query: str, frame: Any) -> tuple[float, pa.Table]:
    """How many seconds a query takes, and its sessions."""
    begin = time.perf_counter()
    sessions = QUERIES[query](frame)
    return time.perf_counter() - begin, sessions


def first(query: str, path: Path) -> float:
    """The seconds of the first query of a Spark."""
    done = subprocess.run(
        [sys.executable, __file__, "--first", query, str(path)], check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{query} failed:\n{done.stderr}")
    return float(done.stdout.splitlines()[-1])


def compare(spark: Any, path: Path, args: argparse.Namespace) -> str | None:
    """Runs both queries over one file, and prints a line. What their answers differ in."""
    frame = spark.read.parquet(str(path)).cache()
    rows = frame.count()
    seconds: dict[str, list[float]] = {query: [] for query in QUERIES}
    for repeat in range(args.warm_ups + args.repeats):
        answers = {}
        for query, runs in seconds.items():
            run, answers[query] = timed(query, frame)
            if repeat >= args.warm_ups:
                runs.append(run)
    frame.unpersist()
    difference = differs(*map(canonical, answers.values()))
    ours, theirs = (statistics.median(runs) for runs in seconds.values())
    least_ours, least_theirs = map(min, seconds.values())
    print(
        f"  {rows:>9,} {answers['windrow'].num_rows:>9,} {ours:>9.3f} {theirs:>15.3f} {theirs / ours:>6.2f}"
        f" {least_ours:>9.3f} {least_theirs:>15.3f} {least_theirs / least_ours:>6.2f}"
        + ("" if difference is None else f"  DIFFERS: {difference}"),
        flush=True,
    )
    return difference


def main() -> int:
    """Measures one first query as the child, everything as the parent."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=[10_000, 30_000, 100_000, 300_000, 1_000_000])
    parser.add_argument("--key", choices=events.KEYS, default="i64")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--warm-ups", type=int, default=5)
    parser.add_argument("--firsts", type=int, default=3, help="first queries of each; a Spark starts for each")
    parser.add_argument("--first", nargs=2, metavar=("QUERY", "EVENTS"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.first:
        query, path = args.first
        print(timed(query, local_spark.start().read.parquet(path))[0])
        return 0
    print(f"{datetime.date.today()}, {platform.machine()}, {os.cpu_count()} cores, medians of {args.repeats}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.parquet"
        print(f"\n  {'events':>9} {'sessions':>9} {'windrow':>9} {'session_window':>15} {'ratio':>6}", end="")
        print(f" {'fastest':>9} {'session_window':>15} {'ratio':>6}")
        spark, agree = local_spark.start(), True
        for rows in args.rows:
            events.write(path, rows, "in order", args.key)
            agree = compare(spark, path, args) is None and agree
        spark.stop()
        events.write(path, min(args.rows), "in order", args.key)
        ours, theirs = (statistics.median(first(query, path) for _ in range(args.firsts)) for query in QUERIES)
        print(
            f"\nfirst query of a Spark, {min(args.rows):,} events: windrow {ours:.2f} s, session_window {theirs:.2f} s"
        )
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
