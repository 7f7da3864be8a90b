"""A funnel of each session: windrow compared with Spark SQL, Polars and DuckDB, in one run, one process each.

    python benches/python/funnel.py                            10 M events
    python benches/python/funnel.py --events 200000 --repeats 1 --order shuffled

Sessions of 5 minutes, and how many of the steps view, cart and pay each got through within 10 minutes. `funnel_times`
gives the times of these steps. The others first number the sessions, then carry the start of the latest chain of each
length from event to event (`SQL`). Spark also folds sorted lists; the faster way counts. Prints the median time of the
repeats after a first run, and how many times as fast windrow is. Exit 1 when two answers differ.
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
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

GAP, WITHIN = "5 minutes", "10 minutes"
WITHIN_MICROSECONDS = 600_000_000
STEPS = ("view", "cart", "pay")
AGAINST = {
    "Spark SQL": "windrow in Spark",
    "Polars": "windrow in-process",
    "DuckDB": "windrow in-process",
    "funnel_times": "windrow in-process",
}

SQL = f"""
WITH timed AS (
  SELECT user, {{micros}} AS t, CASE event WHEN 'view' THEN 1 WHEN 'cart' THEN 2 WHEN 'pay' THEN 3 ELSE 0 END AS step
  FROM events),
apart AS (SELECT *, coalesce(t - lag(t) OVER (PARTITION BY user ORDER BY t) > {events.GAP_MICROSECONDS}, true) AS begins
  FROM timed),
numbered AS (SELECT *, sum(CASE WHEN begins THEN 1 ELSE 0 END) OVER (PARTITION BY user ORDER BY t) AS session
  FROM apart),
one AS (SELECT *, last_value(CASE WHEN step = 1 THEN t END{{inside}}){{after}} OVER chain AS start_1 FROM numbered
  WINDOW chain AS (PARTITION BY user, session ORDER BY t, step ROWS UNBOUNDED PRECEDING)),
two AS (SELECT *,
  last_value(CASE WHEN step = 2 AND t <= start_1 + {WITHIN_MICROSECONDS} THEN start_1 END{{inside}}){{after}}
  OVER chain AS start_2 FROM one
  WINDOW chain AS (PARTITION BY user, session ORDER BY t, step ROWS UNBOUNDED PRECEDING))
SELECT user, min(t) AS start, CASE WHEN max(CASE WHEN step = 3 AND t <= start_2 + {WITHIN_MICROSECONDS} THEN 1 END) = 1
    THEN 3 WHEN count(start_2) > 0 THEN 2 WHEN count(start_1) > 0 THEN 1 ELSE 0 END AS steps
FROM two GROUP BY user, session"""

Query = Callable[[], Callable[[], pa.Table]]
"""Computes all sessions (timed), and returns what gives them as a table of user, start in microseconds and steps."""


def write(path: Path, count: int, order: str) -> None:
    """The events of the other benches, each with a name."""
    table = events.table(count, order, "i64")
    kinds = np.random.default_rng(events.SEED).choice(4, count, p=[0.5, 0.2, 0.1, 0.2])
    names = pa.array([*STEPS, "search"]).take(pa.array(kinds))
    pq.write_table(table.append_column("event", names), path, row_group_size=max(1, count // 8))


def windowed(data: Any, maker: str = "funnel") -> Any:
    """The funnel of each session, by windrow."""
    import windrow as wr

    sessions = wr.group_by(data, "user", time="ts").windowed_by(wr.SessionWindows.with_gap(GAP))
    return sessions.agg(steps=getattr(wr, maker)(list(STEPS), column="event", within=WITHIN))


def flat(sessions: pa.Table) -> pa.Table:
    """The answer of windrow in the columns of the others."""
    start = pc.struct_field(sessions["window"], "start").cast(pa.timestamp("us")).cast(pa.int64())
    return pa.table({"user": sessions["user"], "start": start, "steps": sessions["steps"]})


def spark_frame(path: Path) -> Any:
    """The events in Spark's cache."""
    import local_spark

    frame = local_spark.start().read.parquet(str(path)).cache()
    frame.count()
    return frame


def of_spark(frame: Any, table: Callable[[pa.Table], pa.Table] = lambda table: table) -> Query:
    """Runs a Spark query and keeps no row."""

    def run() -> Callable[[], pa.Table]:
        frame.write.format("noop").mode("overwrite").save()
        return lambda: table(frame.toArrow())

    return run


def windrow_in_spark(path: Path) -> dict[str, Query]:
    """windrow over a cached DataFrame."""
    return {"windrow": of_spark(windowed(spark_frame(path)), flat)}


def spark(path: Path) -> dict[str, Query]:
    """Spark SQL over the same: window functions, and a fold over the sorted events of `session_window`."""
    frame = spark_frame(path)
    frame.createOrReplaceTempView("events")
    within = f"CAST({WITHIN_MICROSECONDS} AS BIGINT)"
    fold = f"""
      SELECT user, unix_micros(w.start) AS start, aggregate(sorted,
        named_struct('one', CAST(NULL AS BIGINT), 'two', CAST(NULL AS BIGINT), 'steps', 0),
        (held, e) -> CASE
          WHEN e.step = 1 THEN named_struct('one', e.t, 'two', held.two, 'steps', greatest(held.steps, 1))
          WHEN e.step = 2 AND e.t <= held.one + {within}
            THEN named_struct('one', held.one, 'two', held.one, 'steps', greatest(held.steps, 2))
          WHEN e.step = 3 AND e.t <= held.two + {within}
            THEN named_struct('one', held.one, 'two', held.two, 'steps', 3)
          ELSE held END).steps AS steps
      FROM (SELECT user, session_window(ts, '{GAP}') AS w, sort_array(collect_list(named_struct('t', unix_micros(ts),
              'step', CASE event WHEN 'view' THEN 1 WHEN 'cart' THEN 2 WHEN 'pay' THEN 3 ELSE 0 END))) AS sorted
            FROM events GROUP BY user, session_window(ts, '{GAP}'))"""
    queries = {
        "window functions": SQL.format(micros="unix_micros(ts)", inside="", after=" IGNORE NULLS"),
        "lists": fold,
    }
    return {name: of_spark(frame.sparkSession.sql(query)) for name, query in queries.items()}


def windrow_in_process(path: Path) -> dict[str, Query]:
    """windrow over an Arrow table."""
    table = pq.read_table(path)

    def run() -> Callable[[], pa.Table]:
        sessions = windowed(table)
        return lambda: flat(sessions)

    return {"windrow": run}


def funnel_times(path: Path) -> dict[str, Query]:
    """windrow over an Arrow table: the times of the steps."""
    table = pq.read_table(path)

    def run() -> Callable[[], pa.Table]:
        sessions = windowed(table, "funnel_times")
        return lambda: flat(sessions.set_column(2, "steps", pc.list_value_length(sessions["steps"])))

    return {"windrow": run}


def polars(path: Path) -> dict[str, Query]:
    """Polars over a DataFrame in memory: the steps of `SQL` as expressions."""
    import polars as pl

    frame = pl.read_parquet(path)
    t, step = pl.col("t"), pl.col("step")
    numbers = {name: number for number, name in enumerate(STEPS, 1)}
    timed = frame.lazy().select(
        "user",
        pl.col("ts").dt.epoch("us").alias("t"),
        pl.col("event").replace_strict(numbers, default=0, return_dtype=pl.Int8).alias("step"),
    )
    begins = (pl.col("user") != pl.col("user").shift()) | (t.diff() > events.GAP_MICROSECONDS)
    ordered = timed.sort("user", "t", "step").with_columns(session=begins.fill_null(True).cum_sum())
    one = pl.when(step == 1).then(t).forward_fill().over("session")
    two = pl.when((step == 2) & (t <= pl.col("start_1") + WITHIN_MICROSECONDS)).then(pl.col("start_1"))
    is_three = (step == 3) & (t <= pl.col("start_2") + WITHIN_MICROSECONDS)
    reached = pl.when(is_three).then(3).when(pl.col("start_2").is_not_null()).then(2)
    reached = reached.when(pl.col("start_1").is_not_null()).then(1).otherwise(0)
    plan = (
        ordered.with_columns(start_1=one)
        .with_columns(start_2=two.forward_fill().over("session"))
        .group_by("session")
        .agg(pl.col("user").first(), t.min().alias("start"), reached.max().alias("steps"))
    )

    def runner(engine: Any) -> Query:
        def run() -> Callable[[], pa.Table]:
            sessions = plan.collect(engine=engine)
            return lambda: sessions.select("user", "start", "steps").to_arrow()

        return run

    return {engine: runner(engine) for engine in ("in-memory", "streaming")}


def duckdb(path: Path) -> dict[str, Query]:
    """DuckDB over its own table in memory."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE events AS FROM read_parquet('{path}')")

    def run() -> Callable[[], pa.Table]:
        sessions = connection.sql(SQL.format(micros="epoch_us(ts)", inside=" IGNORE NULLS", after="")).to_arrow_table()
        return lambda: sessions

    return {"window functions": run}


PEERS: dict[str, Callable[[Path], dict[str, Query]]] = {
    "windrow in Spark": windrow_in_spark,
    "Spark SQL": spark,
    "windrow in-process": windrow_in_process,
    "funnel_times": funnel_times,
    "Polars": polars,
    "DuckDB": duckdb,
}


def measure(peer: str, path: Path, repeats: int, answer: Path) -> dict[str, Any]:
    """Times one peer in this process: every way once, then the fastest."""
    ways, first = PEERS[peer](path), dict[str, float]()
    for name, query in ways.items():
        begin = time.perf_counter()
        query()
        first[name] = time.perf_counter() - begin
    fastest = min(first, key=first.__getitem__)
    seconds, rows = list[float](), ways[fastest]
    for _ in range(repeats):
        begin = time.perf_counter()
        rows_of = rows()
        seconds.append(time.perf_counter() - begin)
    table = rows_of()
    table = pa.table({name: table[name].cast(pa.int64()) for name in ("user", "start", "steps")})
    pq.write_table(table.sort_by([("user", "ascending"), ("start", "ascending")]), answer)
    return {"seconds": statistics.median(seconds), "way": fastest}


def main() -> int:
    """All peers, each in its own process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--order", choices=events.ORDERS, default="in order")
    parser.add_argument("--peer", choices=PEERS, action="append")
    parser.add_argument("--child", nargs=2, type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        path, answer = args.child
        print(json.dumps(measure(args.peer[0], path, args.repeats, answer)))
        return 0
    print(f"{datetime.date.today()}, {platform.machine()}, {os.cpu_count()} cores, medians of {args.repeats}")
    print(f"\nfunnel of {len(STEPS)} steps, {args.events:,} events, {args.order}")
    agree, reference, speed = True, None, dict[str, float]()
    with tempfile.TemporaryDirectory() as folder:
        path, answer = Path(folder) / "events.parquet", Path(folder) / "answer.parquet"
        write(path, args.events, args.order)
        for peer in args.peer or PEERS:
            call = [sys.executable, __file__, "--child", str(path), str(answer), "--peer", peer]
            done = subprocess.run([*call, "--repeats", str(args.repeats)], capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{peer} failed:\n{done.stderr}")
            found, rows = json.loads(done.stdout.splitlines()[-1]), pq.read_table(answer)
            speed[peer] = found["seconds"]
            reference = rows if reference is None else reference
            same = rows.equals(reference)
            agree = agree and same
            ours = speed.get(AGAINST.get(peer, ""))
            ratio = f"{AGAINST[peer]} is {speed[peer] / ours:.1f} times as fast" if ours else ""
            wrong = "" if same else "  DIFFERS"
            print(f"  {peer:<20}{speed[peer]:7.2f} s  {ratio:<44}{found['way']}{wrong}", flush=True)
    if reference is not None:
        counts = {row["values"]: row["counts"] for row in pc.value_counts(reference["steps"]).to_pylist()}
        shown = ", ".join(f"{counts.get(steps, 0):,} with {steps}" for steps in range(len(STEPS) + 1))
        print(f"  {len(reference):,} sessions: {shown} steps")
        agree = agree and all(counts.get(steps, 0) > 0 for steps in range(len(STEPS) + 1))
    print("\nall answers agree" if agree else "\nANSWERS DIFFER")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
