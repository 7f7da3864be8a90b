"""Conditions and computed columns on Spark: in a batch as in this process, on a stream as in a batch."""

from __future__ import annotations

import itertools
import operator
import random
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

import windrow as wr

from ..harness.spark_tables import table_of
from ..harness.streams import applied, play
from ..harness.tables import alike, assert_same, rows_of
from ..scenes import utc

SCHEMA = pa.schema(
    [
        ("user", pa.string()),
        ("ts", pa.timestamp("us", "UTC")),
        ("amount", pa.float64()),
        ("offset", pa.int64()),
        ("pause", pa.duration("us")),
    ]
)
DDL = "user string, ts timestamp, amount double, offset bigint, pause interval day to second"
USERS = ["ann", "bob", "cem", "", None]


def events(seed: int, count: int = 240, lag: float = 4) -> pa.Table:
    """Events of a few users, some minutes out of order."""
    draw = random.Random(seed)
    rows = []
    for number in range(count):
        minutes = number / 2 - draw.uniform(0, lag)
        pause = timedelta(minutes=draw.choice([1, 2, 3, 7]))
        rows.append((draw.choice(USERS), utc(minutes), float(draw.randint(1, 99)), number, pause))
    columns = zip(*rows, strict=True)
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


def cut(table: pa.Table, seed: int) -> list[pa.Table]:
    """A table in pieces, one of them empty."""
    draw = random.Random(seed)
    inner = [draw.randint(0, table.num_rows) for _ in range(2)]
    bounds = sorted([0, table.num_rows, *inner, inner[0]])
    return [table.slice(first, last - first) for first, last in itertools.pairwise(bounds)]


KINDS = {
    "sessions": wr.SessionWindows.with_gap("3 minutes", grace="5 minutes"),
    "dynamic gaps": wr.SessionWindows.with_dynamic_gap("pause", grace="5 minutes"),
    "sliding": wr.SlidingWindows.with_time_difference("3 minutes", grace="5 minutes"),
}
HIGH = pa.field("high", pa.bool_())


def flagged(table: pa.Table) -> pa.Table:
    """Events with a flag: true, false, null."""
    flags = [None if amount % 3 == 0 else amount > 40 for amount in table["amount"].to_pylist()]
    return table.append_column(HIGH, pa.array(flags, pa.bool_()))


def widths(amounts: pa.Array[Any]) -> Any:
    """The largest less the smallest value of each list."""
    lists = [[value for value in values if value is not None] for values in amounts.to_pylist()]
    return pa.array([max(values) - min(values) for values in lists], pa.float64())


AGGREGATES: dict[str, Any] = {
    "high": wr.count_if("high"),
    "share": wr.count_if("high") / wr.count(),
    "spend": wr.sum("amount").where("high"),
    "usual": (wr.sum("amount") / wr.count()).where("high"),
    "net": wr.sum("amount") * 2 - 1,
    "middle": wr.median("amount"),
    "ends": wr.percentile("amount", [0, 1]),
    "kinds": wr.count_distinct("amount", "high"),
    "about": wr.approx_count_distinct("amount"),
    "shape": wr.kurtosis("amount"),
    "both": wr.corr("amount", "offset"),
    "text": wr.count().then(lambda n: pc.cast(n, pa.string()), schema="string"),
    "width": wr.apply(widths, "amount", schema="double"),
    "flags": wr.collect_list("high", ignore_nulls=False),
    "span": wr.max("ts") - wr.min("ts"),
    "wait": wr.first("ts").where("high") - wr.first("ts"),
    "length": wr.window_length(),
    "steps": wr.funnel(["high", "high"], within="5 minutes"),
    "strictly": wr.funnel(["high", "high", "high"], strict=True),
    "times": wr.funnel_times(["high", "high"], within="5 minutes"),
    "path": wr.path("high"),
    "enough": wr.count().min_samples(3),
    "sure": (wr.sum("amount") / wr.count_if("high")).min_samples(2),
    "related": wr.corr("amount", "offset").min_samples(2).where("high"),
    "broad": wr.apply(widths, "amount", schema="double").min_samples(2),
    "kept": wr.first("high").min_samples(2),
}
OF_SESSIONS = {
    "cut": wr.active_time("2 minutes"),
    "drop": wr.active_time("2 minutes", breaks="drop").where("high"),
    "runs": wr.active_runs("2 minutes"),
}
PYTHON = {
    "n": wr.count(),
    "ours": wr.reduce("amount", operator.add).where("high"),
    "half": wr.reduce("amount", operator.add) / 2,
}


@pytest.mark.parametrize("kind", ["sessions", "sliding"])
@pytest.mark.parametrize("aggregates", [AGGREGATES, PYTHON], ids=["built in", "python"])
def test_a_batch_gives_what_this_process_gives(spark: SparkSession, kind: str, aggregates: dict[str, Any]) -> None:
    table = flagged(events(3))
    if kind == "sessions" and aggregates is AGGREGATES:
        aggregates = aggregates | OF_SESSIONS
    frame = spark.createDataFrame(table.to_pandas(), f"{DDL}, high boolean")
    seen = Observation("computed")
    windowed = wr.group_by(frame, "user", time="ts").windowed_by(KINDS[kind])
    got = table_of(windowed.observe(seen).agg(**aggregates))
    here = wr.group_by(table, "user", time="ts").windowed_by(KINDS[kind]).agg(**aggregates)
    assert got.column_names == here.column_names
    assert len(here) > 30
    assert_same(rows_of(got, ["user"]), rows_of(here, ["user"]))
    assert seen.get["records"] == int(here.schema.metadata[b"windrow.records"])


def test_a_quotient_is_sparks_where_nothing_is_divided_by_zero(spark: SparkSession) -> None:
    frame = spark.createDataFrame(flagged(events(5)).to_pandas(), f"{DDL}, high boolean")
    keyed = frame.where("user IS NOT NULL")
    windowed = wr.group_by(keyed, "user", time="ts").windowed_by(KINDS["sessions"])
    got = windowed.agg(share=wr.sum("amount").where("high") / wr.count_if("high"))
    window = F.session_window("ts", "180000001 microseconds")  # their gap ends before the next event
    theirs = keyed.groupBy("user", window).agg(
        F.expr("try_divide(sum(amount) FILTER (WHERE high), count_if(high)) AS share")
    )
    expected = {(row.user, row.session_window.start): row.share for row in theirs.collect()}
    assert {(row.user, row.window.start): row.share for row in got.collect()} == pytest.approx(expected)
    assert None in expected.values()


def test_a_function_that_fails_names_its_column(spark: SparkSession) -> None:
    frame = spark.createDataFrame(events(5).to_pandas(), DDL)
    windowed = wr.group_by(frame, "user", time="ts").windowed_by(KINDS["sessions"])
    short = windowed.agg(n=wr.count().then(lambda n: n.slice(1), schema="bigint"))
    with pytest.raises(Exception, match='aggregate "n": the result: got .* windows; allowed: one for each'):
        short.collect()


def without_zone(value: Any) -> Any:
    """A value with times in UTC as rows of Spark have them."""
    if isinstance(value, list):
        return list(map(without_zone, value))
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def named(row: dict[str, Any]) -> tuple[Any, ...]:
    """The key and the window of a row."""
    return (row["user"], *(without_zone(row["window"][bound]) for bound in ("start", "end")))


UPDATED = ("high", "share", "usual", "text", "width", "wait", "length", "steps", "times", "path")
QUERIES = {
    "close": AGGREGATES | OF_SESSIONS,
    "update": {name: AGGREGATES[name] for name in UPDATED} | OF_SESSIONS,
}


@pytest.mark.slow
@pytest.mark.needs("streams")
@pytest.mark.parametrize("emit", QUERIES)
def test_a_stream_gives_what_a_batch_gives(spark: SparkSession, tmp_path: Path, emit: Any) -> None:
    table = flagged(events(7))
    end = pa.Table.from_pylist(
        [{"user": "end", "ts": utc(600), "offset": 10**6, "amount": 1.0, "high": True}], SCHEMA.append(HIGH)
    )
    ddl = f"{DDL}, high boolean"

    def query(data: DataFrame) -> DataFrame:
        windowed = wr.group_by(data, "user", time="ts").windowed_by(KINDS["sessions"])
        return windowed.shards(3).emit(emit).agg(**QUERIES[emit])

    run = play(spark, tmp_path, [*cut(table, 1), end], query, ddl, files=1)
    whole = pa.concat_tables([table, end])
    here = wr.group_by(whole, "user", time="ts").windowed_by(KINDS["sessions"]).agg(**QUERIES[emit])
    expected = {named(row): row for row in here.to_pylist()}
    rows = run.rows if emit == "close" else applied(run.rows, ["user"]).values()
    got = {named(row): row for row in rows}
    if emit == "close":
        expected = {name: row for name, row in expected.items() if name[0] != "end"}
    assert len(expected) > 30
    assert got.keys() == expected.keys()
    for name, row in expected.items():
        for column in QUERIES[emit]:
            assert alike(got[name][column], without_zone(row[column])), (name, column)
    if emit == "update":
        deleted = [row for row in run.rows if row["op"] == "delete"]
        assert deleted
        assert all(row[column] is None for row in deleted for column in QUERIES[emit])
