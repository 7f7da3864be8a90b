"""`reduce` and `aggregate` over a batch DataFrame: the oracle's folds, Spark's types, the user's errors."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

import windrow as wr

from ..harness.spark_scenes import rows, typed
from ..harness.spark_tables import frame_of, table_of
from ..harness.tables import Rows, assert_same, by_sessions, by_sliding, records
from ..oracle.records import Record, by_key

# Functions of a module that executors do not have travel by value.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

MINUTE = 60 * 10**6
GAP = wr.SessionWindows.with_gap("10 minutes")
SLIDING = wr.SlidingWindows.with_time_difference("10 minutes", resolution="1 second")
KINDS = {"session": (GAP, by_sessions(10 * MINUTE)), "sliding": (SLIDING, by_sliding(10 * MINUTE, 10**6))}


def bracket(one: str, other: str) -> str:
    return f"({one}{other})"


FOLDS = {
    "words": wr.reduce("word", bracket),
    "stats": wr.aggregate(
        lambda: {"n": 0, "seen": []},
        lambda held, row: {"n": held["n"] + (row.n or 0), "seen": [*held["seen"], row.n]},
        lambda one, other: {"n": one["n"] + other["n"], "seen": one["seen"] + other["seen"]},
        schema="n bigint, seen array<bigint>",
        columns=["n"],
    ),
    "total": wr.sum("n"),
    "count": wr.count(),
}


def folded(members: Sequence[Record]) -> dict[str, Any]:
    """What each aggregate is over the records of a window, in order."""
    words = [record.values["word"] for record in members if record.values["word"] is not None]
    seen = [record.values["n"] for record in members]
    known = [number for number in seen if number is not None]
    return {
        "words": functools.reduce(bracket, words) if words else None,
        "stats": {"n": sum(known), "seen": seen},
        "total": sum(known) if known else None,
        "count": len(members),
    }


def oracle(table: pa.Table, windows: Callable[[list[Record]], Any], keys: Sequence[str]) -> Rows:
    """The oracle's windows and folds, ties in the order of the table's rows."""
    return {
        (key, start, end): folded(found)
        for key, members in by_key(records(table, keys)).items()
        for start, end, found in windows(members)
    }


def events(rows: int, keys: int, ties: bool, seed: int) -> pd.DataFrame:
    """Events around 1970 in any order, nulls in every column; without ties each time is there once."""
    random = np.random.default_rng(seed)
    step = 333 // keys  # a key's events are mostly less than ten minutes apart, whatever the number of keys
    seconds = (random.permutation(rows) - rows // 2) * step
    at = pd.Series(pd.to_datetime((seconds // 120 * 120 if ties else seconds) * 10**6, unit="us"))
    frame = pd.DataFrame({"user": random.integers(0, keys, rows), "ts": at, "n": random.integers(-99, 99, rows)})
    frame["word"] = random.choice(list("abcdef"), rows)
    frame = frame.astype({"user": "Int64", "n": "Int64"})
    for column, every in (("user", 11), ("ts", 13), ("n", 7), ("word", 5)):
        frame.loc[random.integers(0, every, rows) == 0, column] = None
    return frame


def data(spark: SparkSession, frame: pd.DataFrame, partitions: int) -> DataFrame:
    plain = frame_of(spark, pa.Table.from_pandas(frame, preserve_index=False))
    typed = plain.withColumn("ts", F.col("ts").cast("timestamp"))
    return typed.coalesce(1) if partitions == 1 else typed.repartition(partitions)


@pytest.mark.parametrize(
    ("kind", "partitions", "keys", "shards"), [("session", 1, 9, 32), ("session", 4, 9, 5), ("sliding", 3, 1, 5)]
)
def test_oracle_folds_in_the_order_of_time(
    spark: SparkSession, kind: str, partitions: int, keys: int, shards: int
) -> None:
    windows, of_key = KINDS[kind]
    # Across partitions the order of equal times is open.
    frame = events(1_200, keys, ties=partitions == 1, seed=partitions)
    given, observation = data(spark, frame, partitions), Observation(f"{kind} {partitions} {keys}")
    windowed = wr.group_by(given, "user", time="ts").windowed_by(windows).shards(shards)
    got = rows(windowed.observe(observation).agg(**FOLDS), ["user"])
    table = pa.Table.from_pandas(frame, preserve_index=False)
    table = table.set_column(1, "ts", table["ts"].cast(pa.timestamp("us", "UTC")))
    wanted = oracle(table, of_key, ["user"])
    assert_same(got, wanted)
    here = wr.group_by(table, "user", time="ts").windowed_by(windows).agg(**FOLDS)
    assert observation.get == wr.counters(here)
    assert min(observation.get[name] for name in ("null_keys", "null_times")) > 0
    assert observation.get["windows"] == len(wanted) > 100


def test_results_have_the_types_of_spark(spark: SparkSession) -> None:
    given = spark.sql(
        """SELECT 1 AS user, TIMESTAMP '1969-12-31 23:59:59' AS ts, CAST(1.25 AS DECIMAL(9, 2)) AS price,
                  named_struct('a', 1, 'b', array('x')) AS pair, TIMESTAMP_NTZ '2026-01-01 08:00:00' AS local,
                  INTERVAL '3' SECOND AS span, map('k', 2.5D) AS map, DATE '2026-01-01' AS day, X'01FF' AS bytes"""
    )
    columns = ["ts", "price", "pair", "local", "span", "map", "day", "bytes"]
    schemas = {
        "decimal(12, 3)": Decimal("1.125"),
        "timestamp": datetime(2026, 1, 1, tzinfo=UTC),
        "timestamp_ntz": datetime(2026, 1, 1),
        "array<struct<n: int not null, `b c`: string>>": [{"n": 1, "b c": None}],
        "map<string, array<double>>": {"a": [1.5, None]},
        "smallint": -3,
        "binary": b"ab",
        "date": datetime(2026, 1, 2).date(),
        "boolean": None,
    }
    folded: dict[str, Any] = {f"{name}_": wr.reduce(name, lambda one, other: one) for name in columns}
    for place, (schema, value) in enumerate(schemas.items()):
        folded[f"_{place}"] = wr.aggregate(
            lambda value=value: value, lambda held, row: held, lambda one, other: other, schema=schema
        )
    result = wr.group_by(given, "user", time="ts").windowed_by(GAP).agg(**folded)
    types = typed(result)
    assert [types[f"{name}_"] for name in columns] == [given.schema[name].dataType for name in columns]
    wanted = spark.createDataFrame([], ", ".join(f"_{place} {schema}" for place, schema in enumerate(schemas)))
    assert {name: types[name] for name in wanted.columns} == typed(wanted)
    (row,), (source,) = result.collect(), given.collect()
    assert [row[f"{name}_"] for name in columns] == [source[name] for name in columns]
    (plain,) = table_of(result).to_pylist()
    got = [plain[f"_{place}"] for place in range(len(schemas))]
    assert [
        dict(value) if isinstance(value, list) and schema.startswith("map") else value
        for schema, value in zip(schemas, got, strict=True)
    ] == list(schemas.values())


def test_no_records_give_no_windows(spark: SparkSession) -> None:
    empty = data(spark, events(50, 3, ties=True, seed=1), 3).where("1 = 0")
    observation = Observation()
    windowed = wr.group_by(empty, "user", time="ts").windowed_by(GAP).observe(observation).emit("update")
    result = windowed.agg(**FOLDS)
    assert result.columns == ["user", "window", *FOLDS, "op"]
    assert result.collect() == []
    assert set(observation.get.values()) == {0}


def test_what_a_function_raises_fails_the_job_with_window_and_time(spark: SparkSession) -> None:
    given = spark.sql("SELECT 'ann' AS user, TIMESTAMP '2026-01-01 08:05:00' AS ts, 1 AS n")

    def divided(quotient: int, row: Any) -> int:
        return quotient // (row.n - 1)

    fails = wr.aggregate(int, divided, lambda one, other: one, schema="int", columns=["n"])
    result = wr.group_by(given, "user", time="ts").windowed_by(GAP).agg(ratio=fails)
    with pytest.raises(PythonException) as raised:
        result.collect()
    message = str(raised.value)
    said = 'RuntimeError: aggregate "ratio": add failed for the record at 2026-01-01T08:05:00Z, in the window'
    assert said in message
    line = divided.__code__.co_firstlineno + 1
    assert f"ZeroDivisionError: integer division or modulo by zero ({__file__}:{line}, in divided: " in message
    forgets = wr.aggregate(list, lambda held, row: held.append(row.n), max, schema="array<int>", columns=["n"])
    twice = given.union(given)
    with pytest.raises(PythonException, match="add returned None, not the accumulator, then merge failed for the rec"):
        wr.group_by(twice, "user", time="ts").windowed_by(GAP).agg(x=forgets).collect()
    wrong = wr.aggregate(int, lambda held, row: "text", lambda one, other: one, schema="int")
    with pytest.raises(PythonException, match='aggregate "x": conversion to its type failed in the window'):
        wr.group_by(given, "user", time="ts").windowed_by(GAP).agg(x=wrong).collect()


def test_what_cannot_be_sent_is_refused_at_the_call(spark: SparkSession) -> None:
    given = spark.sql("SELECT 'ann' AS user, TIMESTAMP '2026-01-01 08:05:00' AS ts, 1 AS n")
    windowed = wr.group_by(given, "user", time="ts").windowed_by(GAP)
    lock = threading.Lock()
    for held in (lock, spark.sparkContext):
        with pytest.raises(TypeError, match="aggregate .x.: got functions that cannot be pickled") as raised:
            windowed.agg(x=wr.reduce("n", lambda one, other, held=held: one if held else other))
        assert raised.value.__cause__ is not None
    for kind in (pa.uint16(), pa.list_(pa.large_string()), pa.struct([("a", pa.timestamp("ns"))])):
        counted = wr.aggregate(int, lambda held, row: held, lambda one, other: one, schema=kind)
        said = r"aggregate\(schema=\): column 'x' has type .*; allowed: a type that Spark"
        with pytest.raises(TypeError, match=said):
            windowed.agg(x=counted)


CELL = """
import windrow as wr
class Held:
    def __init__(self, n): self.n = n
def plus(one, other): return one + other + SHIFT
SHIFT = 100
step = 10
frame = spark.range(4).selectExpr("1 AS k", "TIMESTAMP '2026-01-01' + make_dt_interval(0, 0, id) AS ts", "id AS n")
most = wr.aggregate(
    lambda: 0, lambda held, row: Held(held + row.n * step).n, lambda a, b: a + b, schema="bigint", columns=["n"]
)
windowed = wr.group_by(frame, "k", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
(row,) = windowed.agg(a=wr.reduce("n", plus), b=most, c=wr.reduce("n", max)).collect()
"""


def test_functions_of_a_notebook_travel(spark: SparkSession) -> None:
    # As a notebook runs them: in the module `__main__` and from no file, so that nothing can be imported from one.
    notebook: dict[str, Any] = {"__name__": "__main__", "spark": spark}
    exec(CELL, notebook)
    assert [notebook["row"][name] for name in "abc"] == [306, 60, 3]


def test_one_key_of_many_blocks_is_folded_in_the_order_of_time(spark: SparkSession) -> None:
    # 60,000 rows of 500 bytes are hundreds of blocks of one shard: rows leave before the last block is read.
    given = spark.range(0, 60_000, 1, 4).selectExpr(
        "'hot' AS user",
        "TIMESTAMP '1969-12-31 12:00:00' + make_dt_interval(0, 0, 0, id * 7919 % 60000) AS ts",
        "id * 7919 % 60000 AS n",
        "repeat('x', 500) AS word",
    )
    in_order = wr.aggregate(
        lambda: {"last": -1, "gaps": 0},
        lambda held, row: {"last": row.n, "gaps": held["gaps"] + (row.n != held["last"] + 1) + (len(row.word) != 500)},
        lambda one, other: other if one["last"] < 0 else one,
        schema="last bigint, gaps bigint",
        columns=["n", "word"],
    )
    windowed = wr.group_by(given, "user", time="ts").windowed_by(wr.SessionWindows.with_gap(timedelta(seconds=1)))
    (row,) = windowed.agg(x=in_order, n=wr.count()).collect()
    assert (row.x.last, row.x.gaps, row.n) == (59_999, 0, 60_000)


def test_a_broadcast_that_a_function_uses_travels_with_it(spark: SparkSession) -> None:
    rates, names = spark.sparkContext.broadcast({1: 10, 2: 20}), spark.sparkContext.broadcast(["one", "two"])

    def paid(held: int, row: Any) -> int:
        return held + rates.value[row["n"]] + len(names.value)

    total = wr.aggregate(int, paid, lambda one, other: one + other, schema="bigint", columns=["n"])
    given = spark.sql("SELECT 'ann' AS user, TIMESTAMP '2026-01-01 08:05:00' AS ts, explode(array(1, 2)) AS n")
    windowed = wr.group_by(given, "user", time="ts").windowed_by(GAP)
    added = wr.reduce("n", lambda one, other: one + other + len(names.value))
    assert [(row.x, row.y) for row in windowed.agg(x=total, y=added).collect()] == [(34, 5)]
    assert [row.doubled for row in windowed.agg(x=total).select((F.col("x") * 2).alias("doubled")).collect()] == [68]
