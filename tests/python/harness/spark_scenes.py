"""Data for Spark tests: events, Spark's own answer, and a comparison of two answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from .spark_tables import table_of
from .tables import Rows, rows_of

START = pd.Timestamp("2024-03-30 20:00:00")
SetConf = Callable[[str, str], None]
"""Sets a setting of the session: the fixture `set_conf`."""


def frame(rows: int, keys: int, seed: int, seconds: float = 86_400) -> pd.DataFrame:
    """Events of some keys, scattered over a number of seconds in random order. Every tenth time occurs twice."""
    random = np.random.default_rng(seed)
    at = random.uniform(0, seconds, rows)
    at[::10] = at[1::10][: len(at[::10])] if len(at[1::10]) >= len(at[::10]) else at[::10]
    return pd.DataFrame(
        {
            "user_id": random.integers(0, keys, rows),
            "ts": START + pd.to_timedelta(np.round(at * 1e6).astype("int64"), unit="us"),
            "amount": np.round(random.normal(0, 100, rows), 2),
            "items": random.integers(-5, 6, rows),
            "word": random.choice(["a", "b", "ä", ""], rows),
        }
    )


def events(spark: SparkSession, rows: int = 4_000, keys: int = 60, seed: int = 1, partitions: int = 3) -> DataFrame:
    """The events as a DataFrame with a TIMESTAMP `ts`, spread over partitions."""
    plain = spark.createDataFrame(frame(rows, keys, seed))
    return plain.withColumn("ts", F.col("ts").cast("timestamp")).repartition(partitions)


def quoted(name: str) -> str:
    """A column name quoted for Spark SQL."""
    return "`" + name.replace("`", "``") + "`"


def spark_sessions(data: DataFrame, keys: Sequence[str], gap: str, time: str = "ts", **aggregates: Column) -> DataFrame:
    """Spark's own sessions, with the exclusive end changed to the last event."""
    names, at = [quoted(key) for key in keys], quoted(time)
    window = F.session_window(at, gap)
    counted = data.where(" OR ".join(f"{name} IS NOT NULL" for name in names)).where(f"{at} IS NOT NULL")
    grouped = counted.groupBy(*[F.col(name) for name in names], window.alias("window"))
    result = grouped.agg(*[column.alias(name) for name, column in aggregates.items()])
    last = (F.col("window.end") - F.expr(f"INTERVAL {gap}")).alias("end")
    bounds = F.struct(F.col("window.start").alias("start"), last).alias("window")
    return result.select(*[F.col(name) for name in names], bounds, *[F.col(quoted(name)) for name in aggregates])


def rows(data: DataFrame, keys: Sequence[str], skip: Sequence[str] = ()) -> Rows:
    """A collected answer, by key and bounds."""
    return rows_of(table_of(data), keys, skip)


def typed(data: DataFrame) -> Mapping[str, Any]:
    """Column types by name, without the nullability of the columns."""
    return {field.name: field.dataType for field in data.schema.fields}
