"""A client of Spark Connect: runs queries of windrow at the server that it gets, and prints their rows as JSON.

    python -m tests.python.spark.connect_client sc://127.0.0.1:PORT

A script of its own, since one process is of Spark classic or of Connect. It needs no JVM: package `pyspark-client` will
do.
"""

from __future__ import annotations

import base64
import json
import math
import operator
import sys
import tempfile
import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pyarrow as pa

import windrow as wr
import windrow.state
from windrow.kafka import ControlMessage, with_ticks

from ..harness.capabilities import has
from ..harness.spark_tables import frame_of, table_of


def failing(held: int, row: Any) -> int:
    return held + row.amount // 0


SESSIONS = wr.SessionWindows.with_gap("10 minutes")
SLIDING = wr.SlidingWindows.with_time_difference("10 minutes")
AMOUNTS = wr.aggregate(
    list, lambda held, row: [*held, row.amount], operator.add, schema="array<bigint>", columns=["amount"]
)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LAST = NOON + timedelta(days=9)
CASES: dict[str, Callable[[Any], Any]] = {
    "sessions": lambda windowing: windowing(SESSIONS).agg(n=wr.count(), total=wr.sum("amount"), last=wr.last("amount")),
    "sliding": lambda windowing: windowing(SLIDING).agg(n=wr.count(), total=wr.sum("amount"), least=wr.min("amount")),
    "functions": lambda windowing: windowing(SESSIONS).agg(x=AMOUNTS, n=wr.count(), most=wr.reduce("amount", max)),
    "advance": lambda windowing: (
        windowing(SESSIONS).advance(None, to=NOON, n=wr.count(), total=wr.sum("amount")).closed
    ),
}


def events() -> pa.Table:
    """A thousand records of seven users at distinct times, in no order, some without a key or a time."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [
        {
            "user": None if n % 41 == 0 else n % 7,
            "ts": None if n % 97 == 5 else start + timedelta(seconds=n * 7919 % 1000 * 71),
            "amount": None if n % 13 == 0 else n,
        }
        for n in range(1000)
    ]
    schema = pa.schema({"user": pa.int64(), "ts": pa.timestamp("us", "UTC"), "amount": pa.int64()})
    return pa.Table.from_pylist(rows, schema)


def windowing(data: Any, observation: Any = None) -> Callable[[Any], Any]:
    """From windows to the query, whose counters are observed where there is an observation."""

    def windowed(windows: Any) -> Any:
        query = wr.group_by(data, "user", time="ts").windowed_by(windows)
        return query if observation is None else query.observe(observation)

    return windowed


def expressions(data: Any) -> Any:
    """Sessions of computed keys and times, with the bounds of windows as numbers."""
    from pyspark.sql import functions as F

    third, later = (F.col("user") % 3).alias("third"), F.col("ts") + F.expr("INTERVAL 7 SECONDS")
    windowed = wr.group_by(data, third, time=later).windowed_by(SESSIONS).flat()
    answer = windowed.agg(
        n=wr.count().where("amount > 10 AND amount < 900"), total=wr.sum(F.col("amount") * 2), last=wr.max(F.lit(4))
    )
    assert wr.group_by(data, F.lit("user"), time="ts").windowed_by(SESSIONS).count().first()[0] == "user"
    return answer.selectExpr("third", "unix_micros(window_start)", "unix_micros(window_end)", "n", "total", "last")


def begun(spark: Any, data: Any, place: str) -> list[list[Any]]:
    """The rows of a stream that begins with the windows which the records before noon leave open."""
    from pyspark.sql import functions as F

    opened = windowing(data.where(F.col("ts") < F.lit(NOON)))(SESSIONS).advance(None, to=NOON, n=wr.count()).still_open
    later = data.where(F.col("ts") >= F.lit(NOON)).unionAll(spark.createDataFrame([(99, LAST, 0)], data.schema))
    later.coalesce(1).write.parquet(f"{place}/later")
    stream = spark.readStream.schema(data.schema).parquet(f"{place}/later")
    windows = wr.SessionWindows.with_gap("10 minutes", grace="0 seconds")
    finals = windowing(stream)(windows).shards(2).start_from(opened).agg(n=wr.count())
    writer = finals.writeStream.option("checkpointLocation", f"{place}/checkpoint").trigger(availableNow=True)
    query = writer.start(f"{place}/finals", format="parquet")
    query.awaitTermination()
    counted = [wr.counters(progress) for progress in query.recentProgress]
    assert (
        sum(each["records"] for each in counted if each)
        == later.count() - later.where("user IS NULL OR ts IS NULL").count()
    )
    rows = spark.read.parquet(f"{place}/finals")
    assert windrow.state.read(spark, f"{place}/checkpoint").columns == ["user", "window", "n", "stream_time"]
    bounds = [f"unix_micros(window.{bound})" for bound in ("start", "end")]
    return sorted(map(list, rows.selectExpr("user", *bounds, "n").collect()), key=str)


def forgotten(spark: Any) -> list[list[int]]:
    """What is left of three keys, which have 1, 2 and 3 records, without some of them."""
    from pyspark.sql import Row

    schema = "place struct<city: string, at: struct<x: double, tags: array<string>>>, level double, ts timestamp"
    places: list[Any] = [("Rome", (-0.0, ["a", None])), ("Rome", (math.nan, [])), (None, None)]
    keys = list(zip(places, [0.0, -0.0, math.nan], strict=True))
    rows = [(*key, NOON) for number, key in enumerate(keys) for _ in range(number + 1)]
    grouped = wr.group_by(spark.createDataFrame(rows, schema), "place", "level", time="ts")
    opened = grouped.windowed_by(SESSIONS).shards(2).advance(None, to=NOON, n=wr.count()).still_open.cache()
    requests: list[dict[str, Any]] = [
        {"level": 0},
        {"level": [*range(2, 50), -0.0]},  # more values than Spark compares one by one
        {"level": math.nan},
        {"level": []},
        {"place": {"city": "Rome", "at": {"x": 0.0, "tags": ["a", None]}}},
        {"place": {"city": "Rome", "at": {"x": 0.0, "tags": ["a"]}}},
        {"place": [Row(city="Rome", at=Row(x=math.nan, tags=[])), Row(at=None, city=None)]},
        {"place": None},
        {"level": 0.0, "place": {"at": {"tags": [], "x": math.nan}, "city": "Rome"}},
    ]
    left = [windrow.state.without_keys(opened, **keys) for keys in requests]
    return [sorted(row["n"] for row in each.where("window IS NOT NULL").collect()) for each in left]


FORGOTTEN = [[3], [3], [1, 2], [1, 2, 3], [2, 3], [1, 2, 3], [1], [1, 2, 3], [1, 3]]
"""What `forgotten` gives."""


def main(remote: str) -> None:
    """Prints a line of JSON for each query: its rows as an Arrow stream, its counters; then what a failure tells."""
    from pyspark.sql import Observation, SparkSession
    from pyspark.sql import functions as F

    spark = SparkSession.builder.remote(remote).getOrCreate()
    print(json.dumps({"session": type(spark).__module__, "set": wr.configure(spark)}))
    data = frame_of(spark, events()).repartition(3)
    for name, query in CASES.items():
        observation = Observation(name) if has("counters on Connect") else None
        table = table_of(query(windowing(data, observation)))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        rows = base64.b64encode(sink.getvalue()).decode()
        print(json.dumps({"case": name, "rows": rows, "counters": observation and observation.get}))
    with tempfile.TemporaryDirectory() as folder:
        data.write.mode("overwrite").parquet(folder)
        grouped = (windowing(given)(SESSIONS).agg(n=wr.count()) for given in (data, wr.scan_parquet(spark, folder)))
        print(json.dumps({"scanned": [sorted(map(str, windows.collect())) for windows in grouped]}))
    if has("streams on Connect"):
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps({"begun": begun(spark, data, folder)}))
    print(json.dumps({"forgotten": forgotten(spark)}))
    plain = wr.group_by(data, [F.col("user"), data.amount], time=F.col("ts"))
    print(json.dumps({"plain": [*plain.keys, plain.time]}))
    print(json.dumps({"expressions": sorted(map(list, expressions(data).collect()), key=str)}, default=str))
    other = frame_of(spark, events()).select("user", (F.col("amount") + 1).alias("next"))
    joined = data.join(other, data["amount"] + 1 == other["next"])
    both = wr.group_by(joined, other["user"], time="ts").windowed_by(SESSIONS).agg(same=wr.count_if(data["user"] >= 0))
    refused, rebuilt = [], spark.createDataFrame([(1,)], "user bigint")
    for column in (F.col("amout") + 1, F.explode(F.array("amount")), F.sum("amount"), rebuilt["user"]):
        try:
            wr.group_by(data, column, time="ts")
        except ValueError as error:
            refused.append(str(error))
    print(json.dumps({"joined": [both.columns, int(both.count())], "refused": refused}))
    headers = ControlMessage(1_767_258_000_000, 0, UUID(int=1)).headers()
    columns = "key binary, value binary, timestamp timestamp, headers array<struct<key: string, value: binary>>"
    records = [(b"k", b"v", None, None), (None, None, None, headers), (None, None, None, [("windrow.progress", b"?")])]
    ticks = with_ticks(spark.createDataFrame(records, columns)).selectExpr("tick", "unix_millis(event_time) AS at")
    streamed = wr.ticks(spark, every="1 second", delay="0 seconds")
    print(json.dumps({"ticks": [tuple(row) for row in ticks.collect()], "streams": streamed.isStreaming}))
    spark.conf.set("spark.sql.shuffle.partitions", 200)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for shards in (50, 49, 4):
            windows = wr.SessionWindows.with_gap("1 minute", grace="1 minute")
            if has("streams on Connect"):
                wr.group_by(streamed, "tick", time=streamed.columns[0]).windowed_by(windows).shards(shards).count()
    print(json.dumps({"warned": [str(warning.message) for warning in warned]}))
    refused = {}
    for name, call in (
        ("stream", lambda: wr.group_by(streamed, "tick", time="time")),
        ("observation", lambda: windowing(data, Observation("refused"))(SESSIONS)),
    ):
        try:
            call()
        except ValueError as error:
            refused[name] = str(error)
    print(json.dumps({"lacks": refused}))
    fails = wr.aggregate(int, failing, max, schema="bigint", columns=["amount"])
    try:
        windowing(data)(SESSIONS).agg(x=fails).collect()
    except Exception as error:
        print(json.dumps({"raised": str(error)}))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
