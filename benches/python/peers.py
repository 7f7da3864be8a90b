"""The same question in five ways: sessions of each user, with their clicks, spend, smallest and largest amount.

A peer is prepared with the events (not timed) and gives its queries by name: each is a call that computes every
session (timed), and returns a call that gives them as an Arrow table (not timed). A peer "from Parquet" reads the file
in each call. Where a peer has several good formulations all are tried once, and the fastest is the one that counts.

The answer's columns: user, start and end (both inclusive), clicks, spend, low, high.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from events import GAP_MICROSECONDS

Answer = Callable[[], pa.Table]
Queries = dict[str, Callable[[], Answer]]
GAP = "5 minutes"


def windrow_in_spark(path: Path, order: str, *, left_out: bool = False) -> Queries:
    """windrow over a cached DataFrame."""
    import local_spark

    frame = _cached(local_spark.start(), path)
    sessions = by_windrow(frame, left_out=left_out)

    def answer() -> pa.Table:
        return flat(_collected(sessions))

    return {"windrow": lambda: _run(sessions, answer)}


def spark_session_window(path: Path, order: str) -> Queries:
    """Spark's own operator over the same cached DataFrame; its end is the last event plus the gap."""
    import local_spark

    sessions = by_session_window(_cached(local_spark.start(), path))

    def answer() -> pa.Table:
        return _collected(flat_of_spark(sessions))

    return {"session_window": lambda: _run(sessions, answer)}


def by_session_window(frame: Any) -> Any:
    """The sessions of a DataFrame by Spark's own operator."""
    from pyspark.sql import functions as F

    return frame.groupBy("user", F.session_window("ts", GAP).alias("w")).agg(
        F.count("*").alias("clicks"),
        F.sum("amount").alias("spend"),
        F.min("amount").alias("low"),
        F.max("amount").alias("high"),
    )


def flat_of_spark(sessions: Any) -> Any:
    """Sessions by `session_window` with the columns of an answer."""
    from pyspark.sql import functions as F

    last = (F.col("w.end") - F.expr(f"INTERVAL {GAP}")).alias("end")
    return sessions.select("user", "w.start", last, "clicks", "spend", "low", "high")


def windrow_in_process(path: Path, order: str, *, left_out: bool = False) -> Queries:
    """windrow over an Arrow table, without Spark."""
    events = pq.read_table(path)
    return {"windrow": _in_process(lambda: events, left_out=left_out)}


def windrow_from_parquet(path: Path, order: str) -> Queries:
    """windrow over the path of the Parquet file, and over the table that pyarrow reads from it."""
    return {"path": _in_process(lambda: path), "read_table": _in_process(lambda: pq.read_table(path))}


def _in_process(events: Callable[[], Any], *, left_out: bool = False) -> Callable[[], Answer]:
    def run() -> Answer:
        sessions = by_windrow(events(), left_out=left_out)
        return lambda: flat(sessions)

    return run


def polars(path: Path, order: str, *, from_file: bool = False) -> Queries:
    """Polars over a DataFrame in memory, or over the Parquet file; all cores, both engines."""
    import polars as pl

    frame = pl.scan_parquet(path) if from_file else pl.read_parquet(path).lazy()
    gap = pl.duration(minutes=5)
    values = [
        pl.len().alias("clicks"),
        pl.col("amount").sum().alias("spend"),
        pl.col("amount").min().alias("low"),
        pl.col("amount").max().alias("high"),
    ]
    new_user = pl.col("user") != pl.col("user").shift()
    far = pl.col("ts").diff() > gap
    number = (new_user | far).fill_null(True).cum_sum().set_sorted().alias("session")
    ends = [pl.col("ts").first().alias("start"), pl.col("ts").last().alias("end")]
    by_time = frame if order == "in order" else frame.sort("ts")

    queries = {
        # one sort by (user, ts), then a running number of sessions
        "sort": frame.sort("user", "ts").with_columns(number).group_by("session"),
        # as "sort", by two sorts, the first of which is not needed where events come in order
        "stable sort": by_time.sort("user", maintain_order=True).with_columns(number).group_by("session"),
    }
    plans = {name: grouped.agg(pl.col("user").first(), *ends, *values) for name, grouped in queries.items()}
    # a window expression for each user
    inside = far.fill_null(False).cum_sum().over("user").alias("session")
    plans["over"] = by_time.with_columns(inside).group_by("user", "session").agg(*ends_of(pl), *values)

    def runner(plan: pl.LazyFrame, engine: str) -> Callable[[], Answer]:
        def run() -> Answer:
            sessions = plan.collect(engine=engine)
            return lambda: sessions.select("user", "start", "end", "clicks", "spend", "low", "high").to_arrow()

        return run

    engines = ("in-memory", "streaming")
    return {f"{name}, {engine}": runner(plan, engine) for name, plan in plans.items() for engine in engines}


def ends_of(pl: object) -> list[object]:
    """First and last event of a session whose events are in any order."""
    ts = pl.col("ts")
    return [ts.min().alias("start"), ts.max().alias("end")]


def duckdb(path: Path, order: str, *, from_file: bool = False) -> Queries:
    """DuckDB over its own table in memory, or over the Parquet file; all cores."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"CREATE {'VIEW' if from_file else 'TABLE'} events AS FROM read_parquet('{path}')")
    gap = f'epoch_us(ts) - lag(epoch_us(ts)) OVER (PARTITION BY "user" ORDER BY ts) > {GAP_MICROSECONDS}'
    values = "count(*) AS clicks, sum(amount) AS spend, min(amount) AS low, max(amount) AS high"
    queries = {
        # the usual lag and running sum: the number of boundaries so far
        "running count": f"""
            SELECT "user", min(ts) AS start, max(ts) AS "end", {values} FROM (
                SELECT *, count(far) OVER (PARTITION BY "user" ORDER BY ts ROWS UNBOUNDED PRECEDING) AS session FROM (
                    SELECT *, CASE WHEN {gap} THEN 1 END AS far FROM events))
            GROUP BY "user", session""",
        # the start of a session is its number
        "last start": f"""
            SELECT "user", start, max(ts) AS "end", {values} FROM (
                SELECT *, last_value(first IGNORE NULLS) OVER
                    (PARTITION BY "user" ORDER BY ts ROWS UNBOUNDED PRECEDING) AS start FROM (
                    SELECT *, CASE WHEN coalesce({gap}, true) THEN ts END AS first FROM events))
            GROUP BY "user", start""",
    }

    def runner(query: str) -> Callable[[], Answer]:
        def run() -> Answer:
            sessions = connection.sql(query).to_arrow_table()
            return lambda: sessions

        return run

    return {name: runner(query) for name, query in queries.items()}


PEERS: dict[str, Callable[[Path, str], Queries]] = {
    "windrow in Spark": windrow_in_spark,
    "Spark session_window": spark_session_window,
    "windrow in-process": windrow_in_process,
    "Polars": polars,
    "DuckDB": duckdb,
    "windrow from Parquet": windrow_from_parquet,
    "Polars from Parquet": partial(polars, from_file=True),
    "DuckDB from Parquet": partial(duckdb, from_file=True),
    "left_out in Spark": partial(windrow_in_spark, left_out=True),
    "left_out in-process": partial(windrow_in_process, left_out=True),
}


def by_windrow(events: Any, *, left_out: bool = False) -> Any:
    """The sessions of events in Spark or in memory by windrow, perhaps with the records in none, of which are none."""
    import windrow as wr

    grouped = wr.group_by(events, "user", time="ts").windowed_by(wr.SessionWindows.with_gap(GAP))
    grouped = grouped.left_out("emit", columns=["ts", "amount"]) if left_out else grouped
    return grouped.agg(clicks=wr.count(), spend=wr.sum("amount"), low=wr.min("amount"), high=wr.max("amount"))


def _cached(spark: object, path: Path) -> object:
    frame = spark.read.parquet(str(path)).cache()
    frame.count()
    return frame


def _collected(frame: object) -> pa.Table:
    """All rows of a Spark query; by way of a file, as PySpark 3.5 has no `toArrow`."""
    with tempfile.TemporaryDirectory() as folder:
        frame.write.parquet(f"{folder}/rows")
        return pq.read_table(f"{folder}/rows")


def _run(frame: object, answer: Answer) -> Answer:
    """Computes every row of a Spark query and keeps none."""
    frame.write.format("noop").mode("overwrite").save()
    return answer


def flat(sessions: pa.Table) -> pa.Table:
    """Sessions by windrow with the columns of an answer."""
    start, end = (pc.struct_field(sessions["window"], name) for name in ("start", "end"))
    return sessions.drop(["window"]).add_column(1, "start", start).add_column(2, "end", end)
