"""Real events: sessions equal Spark's `session_window` exactly, sliding windows the oracle.

Each proof runs on the flights, which every clone has, and on big files where they lie next to the repository.
"""

from __future__ import annotations

import gzip
import itertools
import re
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

import windrow as wr

from ..harness.flights import flights
from ..harness.spark_scenes import spark_sessions
from ..harness.spark_tables import table_of
from ..harness.tables import Call, assert_windows, by_sessions, by_sliding, rows_of, ticks
from ..oracle import vectorised

LINE = re.compile(r'(\S+) \S+ \S+ \[([^\]]+)\] "([^"]*)" (\d{3}) (\d+|-)')


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "key", "time", "value", "counted"),
    [
        ("flights", "tailnum", "departure", "delay", {"records": 336_776, "null_keys": 2_512, "null_times": 5_743}),
        (
            "online_retail.parquet",
            "CustomerID",
            "InvoiceDate",
            "Quantity",
            {"records": 541_909, "null_keys": 135_080, "null_times": 0},
        ),
    ],
)
def test_rows_without_a_key_or_a_time_are_counted(
    real: Real, file: str, key: str, time: str, value: str, counted: dict[str, int]
) -> None:
    observation = Observation("real")
    windows = wr.SlidingWindows.with_time_difference("1 hour")
    windowed = wr.group_by(real.frame(file), key, time=time).windowed_by(windows).observe(observation)
    result = windowed.agg(n=wr.count(), items=wr.sum(value))
    assert len(result.collect()) == observation.get["windows"]
    assert {name: observation.get[name] for name in counted} == counted


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "key", "time", "value", "least"),
    [
        ("flights", "tailnum", "departure", "distance", 300_000),
        ("online_retail.parquet", "CustomerID", "InvoiceDate", "Quantity", 20_000),
    ],
)
def test_sliding_windows_equal_the_vectorised_oracle(
    real: Real, file: str, key: str, time: str, value: str, least: int
) -> None:
    hour = 3_600 * 1_000
    windows = wr.SlidingWindows.with_time_difference("1 hour", resolution="1 millisecond")
    windowed = wr.group_by(real.frame(file), key, time=time).windowed_by(windows)
    result = windowed.agg(n=wr.count(), q=wr.sum(value))
    times = (
        f"unix_millis(CAST(window.{bound} AS timestamp)) AS {name}" for bound, name in (("start", "a"), ("end", "b"))
    )
    bounds = result.selectExpr(key, *times, "n", "q")
    got = {(row[key], row.a): (row.b, row.n, row.q) for row in bounds.collect()}
    table = real.table(file).select([key, time, value])
    table = table.filter(pc.and_(pc.is_valid(table[key]), pc.is_valid(table[time])))
    table = table.sort_by([(name, "ascending") for name in table.column_names])
    keys = table[key].combine_chunks().dictionary_encode()
    names, codes = keys.dictionary.to_pylist(), keys.indices.to_numpy()
    times = table[time].cast(pa.timestamp("ms")).cast(pa.int64()).to_numpy()
    values = table[value].to_numpy()
    expected = {}
    for begin, stop in itertools.pairwise([0, *(np.flatnonzero(np.diff(codes)) + 1), len(codes)]):
        starts, first, past = vectorised.windows(times[begin:stop], hour, 1)
        sums = vectorised.range_sums(values[begin:stop], first, past)
        for start, low, high, total in zip(starts, first, past, sums, strict=True):
            expected[names[codes[begin]], int(start)] = (int(start) + hour, int(high - low), int(total))
    assert got == expected
    assert len(got) > least


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "key", "time", "value"),
    [("flights", "dest", "departure", "delay"), ("git_commits.parquet", "author", "event_time", "n_parents")],
)
def test_events_in_order_of_arrival_give_the_same_as_in_order_of_time(
    real: Real, file: str, key: str, time: str, value: str
) -> None:
    table = real.table(file).select([key, time, value])
    assert ticks(table[time]) != sorted(at for at in ticks(table[time]) if at is not None)
    specs = {"n": wr.count(), "total": wr.sum(value)}
    for windows in (wr.SessionWindows.with_gap("1 hour"), wr.SlidingWindows.with_time_difference("1 hour")):
        answers = [
            rows_of(wr.group_by(rows, key, time=time).windowed_by(windows).agg(**specs), [key])
            for rows in (table, table.sort_by(time))
        ]
        assert answers[0] == answers[1]
        assert len(answers[0]) > 50_000


@pytest.mark.slow
def test_half_hour_sessions_of_the_apache_log(spark: SparkSession, real: Real) -> None:
    rows = []
    with gzip.open(real.file("elastic_apache_access.log.gz"), "rt", errors="replace") as log:
        for line in log:
            found = LINE.match(line)
            assert found, line
            client, at, request, status, size = found.groups()
            time = datetime.strptime(at, "%d/%b/%Y:%H:%M:%S %z")
            rows.append((client, time, request, int(status), None if size == "-" else int(size)))
    assert len(rows) == 10_000
    names = ["client", "ts", "request", "status", "size"]
    table = pa.table(dict(zip(names, (list(column) for column in zip(*rows, strict=True)), strict=True)))
    windows = wr.SessionWindows.with_gap("30 minutes")
    specs = {
        "hits": Call("count"),
        "sized": Call("count", ("size",)),
        "bytes": Call("sum", ("size",)),
        "entry": Call("first", ("request",)),
        "exit": Call("last", ("request",)),
        "statuses": Call("collect_set", ("status",)),
    }
    aggregates = {name: aggregate.build(wr) for name, aggregate in specs.items()}
    alone = wr.group_by(table, "client", time="ts").windowed_by(windows).agg(**aggregates)
    assert alone.num_rows == 3_052
    unit = {"s": 1, "ms": 10**3, "us": 10**6}[table["ts"].type.unit]
    assert_windows(rows_of(alone, ["client"]), table, ["client"], by_sessions(1_800 * unit), specs)
    schema = "client string, ts timestamp, request string, status int, size long"
    frame = spark.createDataFrame(rows, schema).repartition(4)
    ours = wr.group_by(frame, "client", time="ts").windowed_by(windows).agg(hits=wr.count(), bytes=wr.sum("size"))
    theirs = spark_sessions(frame, ["client"], "30 minutes", hits=F.count("*"), bytes=F.sum("size"))
    assert sorted_rows(ours, ["client"]).equals(sorted_rows(theirs, ["client"]))
