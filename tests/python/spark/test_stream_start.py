"""Streams that begin with the open windows of a history, against streams whose first micro-batch is the history."""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import windrow as wr
import windrow.state

from ..harness.spark_tables import frame_of
from ..harness.streams import Folder, Run, play, source, start

pytestmark = pytest.mark.needs("streams")

DDL = "user string, ts timestamp, n bigint, tick boolean"
SCHEMA = pa.schema({"user": pa.string(), "ts": pa.timestamp("us", "UTC"), "n": pa.int64(), "tick": pa.bool_()})
START = datetime(2026, 1, 1, tzinfo=UTC)
TO = START + timedelta(minutes=60)
SESSIONS = wr.SessionWindows.with_gap("7 minutes", grace="5 minutes")
SLIDING = wr.SlidingWindows.with_time_difference("10 minutes", grace="5 minutes")
BUILT_IN = {"rows": wr.count(), "total": wr.sum("n"), "double": wr.sum("n") * 2}


def joined(one: list[int], other: list[int]) -> list[int]:
    return sorted(one + other)


def appended(held: list[int], row: Any) -> list[int]:
    return sorted([*held, row.n])


FUNCTIONS = {
    "rows": wr.count(),
    "ns": wr.aggregate(list, appended, joined, columns=["n"], schema="array<bigint>"),
}
GAUGES = {"windows_open", "state_pages", "state_bytes", "pages_written", "stream_time"}


def table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, SCHEMA)


def records(seed: int, first: float, last: float, count: int) -> list[dict[str, Any]]:
    """Records of some users between two minutes."""
    draw = random.Random(seed)
    return [
        {
            "user": draw.choice(["ann", "bob", "cid", "", "ä"]),
            "ts": START + timedelta(minutes=draw.uniform(first, last)),
            "n": 1000 * seed + number,
            "tick": False,
        }
        for number in range(count)
    ]


def tick(minutes: float) -> dict[str, Any]:
    return {"user": None, "ts": START + timedelta(minutes=minutes), "n": None, "tick": True}


HISTORY = [*records(1, 0, 60, 80), *({**row, "user": "quiet"} for row in records(2, 50, 60, 2))]
LATER = [records(3, 50, 65, 20), records(4, 45, 75, 20), [*records(5, 60, 80, 20), tick(90)], [tick(200)]]


def windowed(data: DataFrame, windows: Any) -> Any:
    return wr.group_by(data, "user", time="ts", tick="tick").windowed_by(windows).shards(3)


def history_of(spark: SparkSession, place: Path, windows: Any, aggregates: Any) -> DataFrame:
    """The open windows of the history, as a job has written them."""
    run = windowed(frame_of(spark, table(HISTORY)), windows).advance(None, to=TO, **aggregates)
    run.rows.write.partitionBy("status").parquet(str(place / "history"))
    return spark.read.parquet(str(place / "history")).where("status = 'open'")


def counted(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(map(repr, rows))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("windows", "aggregates", "emit", "late"),
    [
        pytest.param(SESSIONS, BUILT_IN, "close", "drop", marks=pytest.mark.soak),
        pytest.param(SESSIONS, BUILT_IN, "update", "emit", marks=pytest.mark.soak),
        pytest.param(SLIDING, BUILT_IN, "close", "emit", marks=pytest.mark.soak),
        (SLIDING, FUNCTIONS, "update", "drop"),
    ],
    ids=["sessions", "session updates", "sliding", "functions"],
)
def test_the_history_is_the_first_micro_batch(
    spark: SparkSession, tmp_path: Path, windows: Any, aggregates: Any, emit: Any, late: Any
) -> None:
    """The query is stopped after each micro-batch, and started again as the same script."""
    opened = history_of(spark, tmp_path, windows, aggregates)

    def begun(data: DataFrame) -> DataFrame:
        return windowed(data, windows).emit(emit).late(late).start_from(opened).agg(**aggregates)

    def whole(data: DataFrame) -> DataFrame:
        return windowed(data, windows).emit(emit).late(late).agg(**aggregates)

    tables = [table(rows) for rows in LATER]
    expected = play(spark, tmp_path / "whole", [table([*HISTORY, tick(60)]), *tables], whole, DDL)
    got = Run()
    for number, each in enumerate(tables):
        play(spark, tmp_path / "begun", [each], begun, DDL, run=got)
        assert counted(got.batches[number]) == counted(expected.batches[number + 1]), number
    assert emit == "update" or "quiet" in {row["user"] for row in got.rows}
    one, other = expected.counters()[1:], got.counters()
    assert len(one) == len(other) == len(tables)
    for name in set(other[0]) - GAUGES:
        assert [each[name] for each in other] == [each[name] for each in one], name
    assert [each["windows_open"] for each in other][-1] == one[-1]["windows_open"]
    assert other[0]["stream_time"] == one[0]["stream_time"]
    # An updated stream may go without the history.
    play(spark, tmp_path / "begun", [table([tick(300)])], whole, DDL, run=got)


@pytest.mark.slow
def test_another_history_is_refused_and_nothing_is_written(spark: SparkSession, tmp_path: Path) -> None:
    opened, aggregates = history_of(spark, tmp_path, SESSIONS, BUILT_IN), BUILT_IN
    later = windowed(frame_of(spark, table([])), SESSIONS).advance(
        opened, to=START + timedelta(minutes=61), **aggregates
    )

    def query(start_from: Any) -> Any:
        return lambda data: windowed(data, SESSIONS).start_from(start_from).agg(**aggregates)

    run = play(spark, tmp_path / "one", [table(LATER[0])], query(opened), DDL)
    with pytest.raises(
        Exception, match=r"start_from was 'the open windows up to 2026-01-01 01:00:00.*, is '.* 01:01:00"
    ):
        play(spark, tmp_path / "one", [table(LATER[1])], query(later.still_open), DDL, run=run)
    assert list(run.batches) == [0]
    play(spark, tmp_path / "one", [], query(opened), DDL, run=run)
    assert list(run.batches) == [0, 1]


@pytest.mark.slow
def test_a_damaged_table_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    opened, aggregates = history_of(spark, tmp_path, SESSIONS, BUILT_IN), BUILT_IN
    data = source(spark, Folder(tmp_path / "in"), DDL)

    def query(start_from: Any, windows: Any = SESSIONS) -> Any:
        return windowed(data, windows).start_from(start_from).agg(**aggregates)

    with pytest.raises(ValueError, match="open: got 3 rows and no clock row"):
        query(opened.where("stream_time IS NULL").limit(3))
    with pytest.raises(ValueError, match="open: got 2 clock rows"):
        query(opened.unionByName(opened))
    with pytest.raises(ValueError, match="another query: gap was 7 minutes, is 6 minutes"):
        query(opened, wr.SessionWindows.with_gap("6 minutes", grace="1 minute"))
    with pytest.raises(TypeError, match="open: got None"):
        query(None)
    with pytest.raises(ValueError, match="open: got 'a streaming DataFrame'"):
        query(data)
    with pytest.raises(TypeError, match="start_from: got a batch"):
        windowed(frame_of(spark, table([])), SESSIONS).start_from(opened)
    missing, run = opened.where("user IS NULL OR user != 'quiet'"), Run()

    def incomplete(records: DataFrame) -> DataFrame:
        result: DataFrame = windowed(records, SESSIONS).start_from(missing).agg(**aggregates)
        return result

    with pytest.raises(Exception, match=r"rows besides the clock row, which says \d+: \d are missing"):
        play(spark, tmp_path / "missing", [table(LATER[0])], incomplete, DDL, run=run)
    assert run.batches == {}


@pytest.mark.slow
def test_a_first_micro_batch_that_fails_is_repeated(spark: SparkSession, tmp_path: Path) -> None:
    """The sink fails before the commit; the table of this process is read again."""
    opened, aggregates = history_of(spark, tmp_path, SESSIONS, BUILT_IN).toArrow(), BUILT_IN
    folder, run = Folder(tmp_path / "in"), Run()
    for rows in LATER:
        folder.add(table(rows))

    def query() -> DataFrame:
        grouped = windowed(source(spark, folder, DDL), SESSIONS)
        result: DataFrame = grouped.start_from(opened).agg(**aggregates)
        return result

    def failing(frame: DataFrame, number: int) -> None:
        frame.collect()
        raise RuntimeError("the sink is full")

    writer = query().writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    with pytest.raises(Exception, match="the sink is full"):
        writer.trigger(availableNow=True).foreachBatch(failing).start().awaitTermination()
    start(query(), run, tmp_path / "checkpoint").awaitTermination()
    whole = play(
        spark,
        tmp_path / "whole",
        [table([*HISTORY, tick(60)]), *map(table, LATER)],
        lambda data: windowed(data, SESSIONS).agg(**aggregates),
        DDL,
    )
    assert [counted(run.batches[number]) for number in range(4)] == [
        counted(whole.batches[number]) for number in range(1, 5)
    ]
    assert windrow.state.read(spark, tmp_path / "checkpoint").count() == 0


@pytest.mark.soak
def test_two_inputs_begin_with_the_time_of_the_history(spark: SparkSession, tmp_path: Path) -> None:
    aggregates = {"rows": wr.count(), "clicks": wr.count("clicks.*"), "total": wr.sum("orders.n")}

    def cogrouped(clicks: DataFrame, orders: DataFrame) -> Any:
        inputs = {
            name: wr.group_by(data, "user", time="ts", tick="tick")
            for name, data in (("clicks", clicks), ("orders", orders))
        }
        return wr.cogroup(**inputs).windowed_by(SESSIONS).shards(2)

    opened = (
        cogrouped(frame_of(spark, table(HISTORY[::2])), frame_of(spark, table(HISTORY[1::2])))
        .advance(None, to=TO, **aggregates)
        .still_open
    )
    clicks, orders = Folder(tmp_path / "clicks"), Folder(tmp_path / "orders")
    clicks.add(table([*records(3, 60, 65, 10), tick(200)]))
    orders.add(table([tick(71)]))
    streams = [source(spark, folder, DDL) for folder in (clicks, orders)]
    run = Run()
    start(cogrouped(*streams).start_from(opened).agg(**aggregates), run, tmp_path / "checkpoint").awaitTermination()
    whole = cogrouped(
        frame_of(spark, table([*HISTORY[::2], *records(3, 60, 65, 10)])), frame_of(spark, table(HISTORY[1::2]))
    )
    finals = whole.agg(**aggregates).where("window.end < timestamp('2026-01-01 00:59:00')").collect()
    before = (
        cogrouped(frame_of(spark, table(HISTORY[::2])), frame_of(spark, table(HISTORY[1::2])))
        .advance(None, to=TO, **aggregates)
        .closed
    )
    assert counted([*run.rows, *(row.asDict(recursive=True) for row in before.collect())]) == counted(
        [row.asDict(recursive=True) for row in finals]
    )


def log(place: Path, batches: dict[int, list[str]], committed: list[int], version: str = "v1") -> Path:
    """A checkpoint with these lines of offsets."""
    for name in ("offsets", "commits"):
        (place / name).mkdir(parents=True)
    for number, lines in batches.items():
        (place / "offsets" / str(number)).write_text("\n".join([version, "{}", *lines]))
    for number in committed:
        (place / "commits" / str(number)).write_text("v1\n{}")
    return place


def test_offsets_are_those_after_a_committed_micro_batch(spark: SparkSession, tmp_path: Path) -> None:
    offsets, clicks = windrow.state.offsets, [json.dumps({"clicks": {"0": number, "11": 5}}) for number in range(8)]
    one = log(tmp_path / "one", {number: [clicks[number]] for number in (3, 4, 5)}, [3, 4])
    assert json.loads(offsets(spark, one)) == {"clicks": {"0": 4, "11": 5}}
    assert json.loads(offsets(spark, str(one) + "/", 3)) == {"clicks": {"0": 3, "11": 5}}
    for batch, got in ((5, "got 5, which is not committed"), (6, "got 6, which is not committed"), (2, "got 2;")):
        with pytest.raises(ValueError, match=f"batch: {got}.*allowed: a micro-batch that is committed.*: 3 to 4"):
            offsets(spark, one, batch)
    for bad in (True, "3", 1.0):
        with pytest.raises(TypeError, match="batch: got"):
            offsets(spark, one, bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="batch: got -1"):
        offsets(spark, one, -1)
    with pytest.raises(ValueError, match="checkpoint: got"):
        offsets(spark, tmp_path / "none")
    with pytest.raises(ValueError, match="checkpoint: got"):
        offsets(spark, log(tmp_path / "begun", {0: [clicks[0]]}, []))
    with pytest.raises(TypeError, match="checkpoint: got 5"):
        offsets(spark, 5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="spark: got None"):
        offsets(None, one)  # type: ignore[arg-type]

    lines = ['{"logOffset":0}', clicks[1], "-", '{"orders":{"0":7}}']
    several = log(tmp_path / "several", {0: lines}, [0])
    assert json.loads(offsets(spark, several, source=3)) == {"orders": {"0": 7}}
    shown = r"1 \(clicks\), 3 \(orders\)"
    for wrong in (None, 0, 2, 4, "orders"):
        with pytest.raises(ValueError, match=f"source: got {wrong!r}; allowed: .*{shown}"):
            offsets(spark, several, source=wrong)
    with pytest.raises(TypeError, match="source: got True"):
        offsets(spark, several, source=True)
    files = log(tmp_path / "files", {0: ['{"logOffset":0}', "-", "{}", "5"]}, [0])
    with pytest.raises(ValueError, match="allowed: the checkpoint of a query that has read records from Kafka"):
        offsets(spark, files)
    named = log(tmp_path / "named", {0: ['left:{"a:b":{"0":7}}', "right:-"]}, [0], "v2")
    assert json.loads(offsets(spark, named)) == json.loads(offsets(spark, named, source="left")) == {"a:b": {"0": 7}}
    with pytest.raises(ValueError, match="its offsets have the format 'v3'"):
        offsets(spark, log(tmp_path / "newer", {0: []}, [0], "v3"))
