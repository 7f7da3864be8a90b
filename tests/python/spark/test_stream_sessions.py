"""Streaming queries: the same windows as the batch query, updates that lead there, and Kafka's sequence."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import windrow as wr
from windrow.testing import StreamDriver

from ..harness.steps import LocalStream
from ..harness.streams import applied, play
from ..scenes import utc

pytestmark = pytest.mark.needs("streams")

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


SHARDS = {"dynamic gaps": 32, "sliding": 3}


def joined(older: Any, later: Any) -> Any:
    return (older or 0) + (later or 0)


AGGREGATES: dict[str, dict[str, Any]] = {
    "built in": {"n": wr.count(), "spend": wr.sum("amount"), "most": wr.max("amount"), "last": wr.last("offset")},
    "python": {"n": wr.count(), "spend": wr.reduce("amount", joined)},
}


def rows_of(rows: Any) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Rows by key and window, each once."""
    found = {}
    for row in rows:
        name = (row["user"], row["window"]["start"], row["window"]["end"])
        assert name not in found, f"{name} appears twice"
        found[name] = {column: value for column, value in row.items() if column not in ("user", "window", "op")}
    return found


def batch(spark: SparkSession, table: pa.Table, kind: str, aggregates: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The batch query over all rows."""
    frame = spark.createDataFrame(table.to_pandas(), DDL)
    result = wr.group_by(frame, "user", time="ts").windowed_by(KINDS[kind]).agg(**AGGREGATES[aggregates])
    return rows_of(row.asDict(recursive=True) for row in result.collect())


@pytest.mark.parametrize(
    ("kind", "aggregates"), [("sessions", "built in"), ("dynamic gaps", "built in"), ("sliding", "python")]
)
def test_finals_equal_the_batch_query(spark: SparkSession, tmp_path: Path, kind: str, aggregates: str) -> None:
    table = events(7)
    end = pa.Table.from_pylist(
        [{"user": "end", "ts": utc(600), "offset": 10**6, "pause": timedelta(minutes=1)}], SCHEMA
    )

    def query(data: DataFrame) -> DataFrame:
        return wr.group_by(data, "user", time="ts").windowed_by(KINDS[kind]).shards(3).agg(**AGGREGATES[aggregates])

    run = play(spark, tmp_path, [*cut(table, 1), end], query, DDL, files=1)
    expected = batch(spark, pa.concat_tables([table, end]), kind, aggregates)
    got = rows_of(run.rows)
    open_ones = {name for name in expected if name[0] == "end"}
    assert len(expected) > 30
    assert got == {name: row for name, row in expected.items() if name not in open_ones}
    assert run.total("late") == 0
    assert run.total("null_keys") == table["user"].null_count > 0
    assert run.total("records") == table.num_rows + 1 - run.total("null_keys")
    assert run.total("windows_closed") == len(got)


@pytest.mark.parametrize("kind", ["dynamic gaps", "sliding"])
def test_updates_lead_to_the_batch_query(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    table = events(8)

    def query(data: DataFrame) -> DataFrame:
        windowed = wr.group_by(data, "user", time="ts").windowed_by(KINDS[kind]).shards(5).emit("update")
        return windowed.agg(**AGGREGATES["built in"])

    run = play(spark, tmp_path, cut(table, 2), query, DDL)
    ops = {row["op"] for row in run.rows}
    assert ops == ({"upsert"} if kind == "sliding" else {"upsert", "delete"})
    assert rows_of(applied(run.rows, ["user"]).values()) == batch(spark, table, kind, "built in")


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["dynamic gaps", "sliding"])
def test_paced_updates_lead_to_the_batch_query(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """They are those of the same steps without Spark. With the numbers of `sequence`, their order does not matter."""
    end = pa.Table.from_pylist(
        [{"user": "end", "ts": utc(600), "offset": 10**6, "pause": timedelta(minutes=1)}], SCHEMA
    )
    tables = [*cut(events(8), 2), end]

    def query(data: Any, **options: Any) -> Any:
        windowed = wr.group_by(data, "user", time="ts").windowed_by(KINDS[kind]).shards(5)
        return windowed.emit("update", every="20 minutes", **options).agg(**AGGREGATES["built in"])

    run = play(spark, tmp_path, tables, lambda data: query(data, sequence=True), DDL)
    rows = sorted(random.Random(3).sample(run.rows, len(run.rows)), key=lambda row: row.pop("sequence"))
    stream = LocalStream(query, SCHEMA, shards=5)
    steps = [row for table in tables for row in stream.push([table])]
    given = [(row["op"], *(row[name] for name in ("user", "n", "spend", "most", "last"))) for row in rows]
    expected = [(row["op"], *(row[name] for name in ("user", "n", "spend", "most", "last"))) for row in steps]
    assert Counter(given) == Counter(expected)
    assert rows_of(applied(rows, ["user"]).values()) == batch(spark, pa.concat_tables(tables), kind, "built in")
    assert run.total("updates") == len(rows)


@pytest.mark.parametrize("kind", ["dynamic gaps", "sliding"])
def test_each_record_in_order_is_the_drivers_sequence(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    windows = (
        KINDS[kind]
        if kind != "sliding"
        else wr.SlidingWindows.with_time_difference("3 minutes", grace="1 minute", resolution="1 millisecond")
    )
    table = events(9, lag=9)

    def query(data: Any) -> Any:
        windowed = wr.group_by(data, "user", time="ts", order="offset").windowed_by(windows)
        return windowed.shards(SHARDS[kind]).emit("update", every_record=True).agg(n=wr.count(), spend=wr.sum("amount"))

    run = play(spark, tmp_path, cut(table, 3), query, DDL, files=2)
    driver = StreamDriver(query, SCHEMA)
    driver.pipe_batch(table, rows=1)
    driven = driver.read_table().to_pylist()
    assert len(driven) > 150

    def by_key(rows: list[dict[str, Any]]) -> dict[Any, list[dict[str, Any]]]:
        return {user: [plain(row) for row in rows if row["user"] == user] for user in USERS}

    def plain(row: dict[str, Any]) -> dict[str, Any]:
        window = {name: bound.replace(tzinfo=UTC) for name, bound in row["window"].items()}
        return {**row, "window": window}

    assert by_key(run.rows) == by_key(driven)
    assert run.total("late") == driver.counters["late"]
    assert run.total("windows_refused") == driver.counters["windows_refused"]
