"""A run of Spark's declarative pipelines, with the files of docs/how-to/pipelines.md."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.kafka import ControlMessage

from ..oracle.records import Record
from ..oracle.sessions import sessions

pytest.importorskip("pyspark.pipelines")

from . import pipeline

CLICKS: list[list[pipeline.Click]] = [
    [("ann", 0, 1.0), ("ann", 4, 2.0), ("bob", 1, 8.0)],  # ann ─0──4─────9──▶ the third is within the gap
    [("ann", 9, 4.0), ("bob", 30, 16.0)],
    [("cat", 60, 32.0)],
]

MORE = '''
import json
from pathlib import Path

from pyspark import pipelines as dp
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import windrow as wr
from windrow.kafka import with_ticks

spark = SparkSession.active()
CLICKS = "user string, ts timestamp, amount double"
VISITS = "window struct<start timestamp, end timestamp>, clicks bigint, spend double"
GAP = wr.SessionWindows.with_gap("5 minutes", grace="1 minute")


def grouped():
    return wr.group_by(spark.read.table("clicks"), "user", time="ts", schema=CLICKS, streaming=False)


CALLS = {
    "an expression as a key": lambda: wr.group_by(
        spark.read.table("clicks"), F.lower("user"), time="ts", schema=CLICKS, streaming=False
    ),
    "an expression in an aggregate": lambda: grouped().windowed_by(GAP).agg(spend=wr.sum(F.col("amount") * 2)),
    "text of SQL": lambda: grouped().windowed_by(GAP).agg(large=wr.count().where("amount > 3")),
    "no such field": lambda: wr.group_by(
        spark.read.table("visits"), time="window.begin", schema=VISITS, streaming=False
    ),
    "nothing": lambda: wr.group_by(spark.read.table("clicks"), "user", time="ts"),
    "no kind": lambda: wr.group_by(spark.read.table("clicks"), "user", time="ts", schema=CLICKS),
    "no columns": lambda: wr.group_by(spark.read.table("clicks"), "user", time="ts", streaming=False),
    "a stream of the pipeline": lambda: wr.group_by(
        spark.readStream.table("closed_visits").where("clicks > 1"), "user", time="ts", schema=CLICKS, streaming=True
    ),
    "no such column": lambda: wr.group_by(
        spark.read.table("clicks"), "person", time="ts", schema=CLICKS, streaming=False
    ),
}


@dp.temporary_view
def refused():
    messages = {}
    for name, call in CALLS.items():
        try:
            call()
        except Exception as error:
            messages[name] = f"{type(error).__name__}: {error}"
    Path(PLACE, "refused.json").write_text(json.dumps(messages))
    return spark.range(1)


@dp.materialized_view
def ticks():
    return with_ticks(spark.read.parquet(PLACE + "/topic.parquet")).select("tick", "event_time")


@dp.materialized_view
def series():
    """One series, over fields of structs."""
    visits = wr.group_by(spark.read.table("visits"), time="window.start", schema=VISITS, streaming=False)
    return visits.windowed_by(GAP).agg(clicks=wr.sum("clicks"), spend=wr.sum("spend"), last=wr.max("window.end"))


@dp.table
def closed_series():
    """The same as a stream, with the user inside a struct too."""
    clicks = spark.readStream.schema(CLICKS).option("maxFilesPerTrigger", 1).parquet(PLACE + "/clicks")
    clicks = clicks.select(F.struct("user", "ts").alias("click"), "amount")
    schema = "click struct<user string, ts timestamp>, amount double"
    windowed = wr.group_by(clicks, time="click.ts", schema=schema, streaming=True).windowed_by(GAP)
    return windowed.agg(clicks=wr.count(), spend=wr.sum("amount"), users=wr.collect_set("click.user"))


@dp.materialized_view
def rows_of_both():
    """Each record of a cogroup with its window."""
    return wr.cogroup(one=grouped(), two=grouped()).windowed_by(GAP).with_columns(n=wr.count("two.*"))


@dp.materialized_view
def both():
    """A cogroup, with flat bounds, a Python function, a computed column and a sequence."""
    inputs = [grouped() for _ in range(2)]
    windowed = wr.cogroup(one=inputs[0], two=inputs[1]).windowed_by(wr.SessionWindows.with_gap("5 minutes"))
    most = wr.reduce("one.amount", max)
    return windowed.emit("update", sequence=True).flat().agg(most=most, double=wr.count("two.*") * 2)
'''
TIME = 1_767_254_400_000
SCHEMA_OF_TOPIC = pa.schema(
    {
        "key": pa.binary(),
        "value": pa.binary(),
        "timestamp": pa.timestamp("us", "UTC"),
        "headers": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    }
)
TICK = [{"key": name, "value": value} for name, value in ControlMessage(TIME, 0, UUID(int=1)).headers()]
TOPIC = [
    {"key": b"ann", "value": b"5.0", "timestamp": pipeline.START, "headers": None},
    {"key": None, "value": None, "timestamp": pipeline.START, "headers": TICK},
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run."""
    place = tmp_path_factory.mktemp("pipeline")
    pipeline.project(place, ["spark-pipeline.yml", "transformations/batch.py", "transformations/stream.py"], CLICKS)
    pq.write_table(pa.Table.from_pylist(TOPIC, SCHEMA_OF_TOPIC), place / "topic.parquet")
    (place / "project" / "transformations" / "more.py").write_text(MORE.replace("PLACE", repr(str(place))))
    (place / "said").write_text(pipeline.run(place))
    return place


def expected(*, keyed: bool = True) -> dict[tuple[Any, ...], tuple[int, float]]:
    """Sessions by brute force: of (user, first, last) how many clicks and their amounts. One series if not `keyed`."""
    found = dict[tuple[Any, ...], tuple[int, float]]()
    clicks = [(user if keyed else None, at, amount) for file in CLICKS for user, at, amount in file]
    for user in {user for user, _, _ in clicks}:
        records = [
            Record((user,), minute, number, {"amount": amount})
            for number, (each, minute, amount) in enumerate(clicks)
            if each == user
        ]
        for start, end, members in sessions(records, 5):
            found[user, start, end] = len(members), sum(member.values["amount"] for member in members)
    return found


def minute(time: datetime) -> int:
    return (time.replace(tzinfo=UTC) - pipeline.START) // timedelta(minutes=1)


def windows(rows: list[dict[str, Any]]) -> dict[tuple[Any, ...], tuple[int, float]]:
    found = {}
    for row in rows:
        window = (row.get("user"), minute(row["window"]["start"]), minute(row["window"]["end"]))
        assert window not in found
        found[window] = row["clicks"], row["spend"]
    return found


INSIDE = "ValueError: data: got a DataFrame inside a function of a pipeline"
pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_a_materialized_view_over_another_table_of_the_pipeline(place: Path) -> None:
    assert windows(pipeline.rows(place, "visits")) == expected()
    assert len(expected()) == 4


def test_a_materialized_view_of_rows_over_files(place: Path) -> None:
    rows = pipeline.rows(place, "clicks_with_visits")
    assert list(rows[0]) == ["user", "ts", "amount", "window", "clicks"]
    found = Counter((row["user"], minute(row["ts"]), row["clicks"]) for row in rows)
    of_sessions = Counter[tuple[Any, ...]]()
    for user, at, _ in [click for file in CLICKS for click in file]:
        (count,) = [n for (each, start, end), (n, _) in expected().items() if each == user and start <= at <= end]
        of_sessions[user, at, count] += 1
    assert found == of_sessions


def test_a_streaming_table_over_files(place: Path) -> None:
    closed = {window: values for window, values in expected().items() if window[2] + 5 + 1 < 60}
    assert windows(pipeline.rows(place, "closed_visits")) == closed
    assert len(closed) == 3


def test_one_series_of_fields_of_structs(place: Path) -> None:
    # 0──4──9 of ann and 1 of bob are one session; the visits of both start at 0, 1, 30 and 60.
    rows = pipeline.rows(place, "series")
    assert [field for field in rows[0] if field != "window"] == ["clicks", "spend", "last"]
    found = sorted((minute(row["window"]["start"]), row["clicks"], row["spend"], minute(row["last"])) for row in rows)
    assert found == [(0, 4, 15.0, 9), (30, 1, 16.0, 30), (60, 1, 32.0, 60)]

    closed = {window: values for window, values in expected(keyed=False).items() if window[2] + 5 + 1 < 60}
    rows = pipeline.rows(place, "closed_series")
    assert windows(rows) == closed
    assert sorted(sorted(row["users"]) for row in rows) == [["ann", "bob"], ["bob"]]


def test_rows_of_a_cogroup(place: Path) -> None:
    found = Counter((row["input"], row["user"], row["n"]) for row in pipeline.rows(place, "rows_of_both"))
    once = {("ann", 3): 3, ("bob", 1): 2, ("cat", 1): 1}
    assert found == {(name, *row): count for name in ("one", "two") for row, count in once.items()}


COLUMN = "allowed: a column inside a pipeline"


@pytest.mark.parametrize(
    ("name", "start", "words"),
    [
        ("an expression as a key", "ValueError: keys: got 'lower(user)'", COLUMN),
        ("an expression in an aggregate", 'ValueError: aggregate "spend": sum: got', COLUMN),
        ("text of SQL", 'ValueError: aggregate "large": count().where: got', COLUMN),
        ("no such field", "ValueError: time: got 'window.begin'", "'window'"),
        ("nothing", INSIDE, "streaming=False), which declares both; docs"),
        ("no kind", INSIDE, "True for a stream"),
        ("no columns", INSIDE, 'schema="user string'),
        (
            "a stream of the pipeline",
            "ValueError: data: got \"a stream of the table 'closed_visits'",
            "one Python function",
        ),
        ("no such column", "ValueError: keys: got 'person'", "which has 'user', 'ts'"),
    ],
)
def test_what_a_pipeline_cannot_have_is_refused(place: Path, name: str, start: str, words: str) -> None:
    message = json.loads((place / "refused.json").read_text())[name]
    assert message.startswith(start)
    assert words in message


def test_ticks_of_a_topic(place: Path) -> None:
    found = [(row["tick"], row["event_time"].replace(tzinfo=UTC)) for row in pipeline.rows(place, "ticks")]
    assert sorted(found) == [(False, pipeline.START), (True, datetime.fromtimestamp(TIME / 1000, UTC))]


def test_options_and_functions(place: Path) -> None:
    rows = pipeline.rows(place, "both")
    assert list(rows[0]) == ["user", "window_start", "window_end", "most", "double", "op", "sequence"]
    found = {(row["user"], minute(row["window_start"]), minute(row["window_end"])): row["double"] for row in rows}
    assert found == {window: 2 * n for window, (n, _) in expected().items()}
    assert sorted((row["user"], row["most"]) for row in rows) == [("ann", 4), ("bob", 8), ("bob", 16), ("cat", 32)]


def test_a_configured_pipeline_does_not_warn(place: Path) -> None:
    assert "UserWarning" not in (place / "said").read_text()
