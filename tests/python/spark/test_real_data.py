"""Real events: sessions equal Spark's `session_window` exactly, sliding windows of a sample the oracle.

Each proof runs on the flights, which every clone has, and on big files where they lie next to the repository.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import windrow as wr

from ..harness.flights import flights
from ..harness.spark_scenes import spark_sessions
from ..harness.spark_tables import table_of
from ..harness.tables import Call, assert_windows, by_sliding, rows_of


class Real:
    """Real events by name: `flights`, or a file next to the repository, without which the test is skipped."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._request = request

    def file(self, name: str) -> Path:
        path: Path = self._request.getfixturevalue("shared") / "data" / name
        if not path.is_file():
            pytest.skip(f"{path} is absent")
        return path

    def table(self, name: str) -> pa.Table:
        return flights() if name == "flights" else pq.read_table(self.file(name))

    def frame(self, name: str) -> DataFrame:
        spark: SparkSession = self._request.getfixturevalue("spark")
        file = self._request.getfixturevalue("flights_file") if name == "flights" else self.file(name)
        return spark.read.parquet(str(file))


@pytest.fixture(scope="module")
def flights_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The flights as Spark reads them: rows of this process would travel to it with each job."""
    path = tmp_path_factory.mktemp("real") / "flights.parquet"
    pq.write_table(flights(), path, row_group_size=50_000)
    return path


@pytest.fixture
def real(request: pytest.FixtureRequest) -> Real:
    return Real(request)


def sorted_rows(result: DataFrame, keys: list[str]) -> pa.Table:
    """All rows in an order of their own, bounds as columns."""
    found = table_of(result.select(*keys, "window.*", *result.columns[len(keys) + 1 :]))
    nullable = pa.table({name: found[name] for name in found.column_names})  # Spark's count is never null, and says so
    return nullable.combine_chunks().sort_by([(name, "ascending") for name in (*keys, "start")])


def long(*case: Any) -> Any:
    """A case of `make soak` alone."""
    return pytest.param(*case, marks=pytest.mark.soak)


def slow(*case: Any) -> Any:
    """A case of `make test-slow`."""
    return pytest.param(*case, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("file", "keys", "time", "gap", "value", "least"),
    [
        ("flights", ["tailnum"], "departure", "6 hours", "delay", 100_000),
        long("flights", ["origin", "dest"], "departure", "90 minutes", "distance", 50_000),
        long("git_commits.parquet", ["author"], "event_time", "1 hour", "subject_len", 100_000),
        slow("git_commits.parquet", ["repo", "author"], "arrival_time", "8 hours", "subject_len", 100_000),
        long("wyscout_events.parquet", ["player_id"], "ts", "30 minutes", "x", 50_000),
        long("physionet2012_events.parquet", ["record_id", "parameter"], "ts", "2 hours", "minute", 100_000),
        slow("online_retail.parquet", ["CustomerID"], "InvoiceDate", "1 day", "Quantity", 10_000),
    ],
)
def test_sessions_equal_sparks(
    real: Real, file: str, keys: list[str], time: str, gap: str, value: str, least: int
) -> None:
    events = real.frame(file).select(*keys, time, F.col(value).alias("value"))
    aggregates = {"n": F.count("*"), "total": F.sum("value"), "low": F.min("value"), "high": F.max("value")}
    theirs = spark_sessions(events, keys, gap, time, **aggregates)
    windowed = wr.group_by(events, *keys, time=time).windowed_by(wr.SessionWindows.with_gap(gap))
    ours = windowed.agg(n=wr.count(), total=wr.sum("value"), low=wr.min("value"), high=wr.max("value"))
    expected = sorted_rows(theirs, keys)
    assert sorted_rows(ours, keys).equals(expected)
    assert expected.num_rows > least


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "key", "time", "value", "least"),
    [
        ("flights", "tailnum", "departure", "speed", 200_000),
        ("physionet2012_events.parquet", "record_id", "ts", "value", 8_000),
    ],
)
def test_float_sums_of_sessions_are_near_sparks(
    real: Real, file: str, key: str, time: str, value: str, least: int
) -> None:
    events = real.frame(file).where(f"{value} IS NOT NULL AND {key} IS NOT NULL")
    names = {"total": F.sum(value), "mean": F.avg(value), "spread": F.stddev(value)}
    theirs = spark_sessions(events, [key], "1 hour", time, **names)
    windowed = wr.group_by(events, key, time=time).windowed_by(wr.SessionWindows.with_gap("1 hour"))
    ours = windowed.agg(total=wr.sum(value), mean=wr.mean(value), spread=wr.stddev(value))
    both = ours.alias("a").join(theirs.alias("b"), [key, "window"], "full")
    far = " OR ".join(f"abs(a.{name} - b.{name}) > 1e-9 * greatest(abs(b.{name}), 1)" for name in names)
    uneven = " OR ".join(f"(a.{name} IS NULL) != (b.{name} IS NULL)" for name in names)
    [row] = both.selectExpr("count(*) AS sessions", f"count_if({far} OR {uneven}) AS wrong").collect()
    assert row.wrong == 0
    assert row.sessions > least


@pytest.mark.parametrize(
    ("file", "key", "time", "value"),
    [
        ("flights", "tailnum", "departure", "delay"),
        ("git_commits.parquet", "author", "event_time", "subject_len"),
        ("wyscout_events.parquet", "player_id", "ts", "x"),
    ],
)
def test_sliding_windows_of_a_sample_equal_brute_force(real: Real, file: str, key: str, time: str, value: str) -> None:
    table = real.table(file).select([key, time, value]).slice(0, 200_000)
    chosen = [one for one, _ in Counter(table[key].drop_null().to_pylist()).most_common(8)]
    table = pa.concat_tables([table.filter(pc.equal(table[key], one)).slice(0, 300) for one in chosen])
    table = table.rename_columns(["k", "ts", "x"])
    specs = {"n": Call("count"), "total": Call("sum", ("x",)), "low": Call("min", ("x",))}
    specs["last"] = Call("last", ("x",))
    unit = {"ms": 1_000, "us": 1_000_000}[table["ts"].type.unit]
    aggregates = {name: aggregate.build(wr) for name, aggregate in specs.items()}
    windows = wr.SlidingWindows.with_time_difference("10 minutes", resolution="1 millisecond")
    result = wr.group_by(table, "k", time="ts").windowed_by(windows).agg(**aggregates)
    assert result.num_rows > 100
    assert_windows(rows_of(result, ["k"]), table, ["k"], by_sliding(600 * unit, unit // 1_000), specs)
