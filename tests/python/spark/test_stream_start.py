"""Streams that begin with the open windows of a history, against streams whose first micro-batch is the history."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import windrow as wr
import windrow.state

from ..harness.spark_tables import frame_of, table_of
from ..harness.stream_scenes import DDL, batch, records, tick
from ..harness.streams import Folder, Run, play, source, start
from ..scenes import utc

pytestmark = pytest.mark.needs("streams")

SESSIONS = wr.SessionWindows.with_gap("7 minutes", grace="5 minutes")
SLIDING = wr.SlidingWindows.with_time_difference("10 minutes", grace="5 minutes")
BUILT_IN = {"rows": wr.count(), "total": wr.sum("amount"), "double": wr.sum("amount") * 2}


def appended(held: list[int], row: Any) -> list[int]:
    return sorted([*held, row.amount])


def joined(one: list[int], other: list[int]) -> list[int]:
    return sorted(one + other)


AMOUNTS = wr.aggregate(list, appended, joined, columns=["amount"], schema="array<bigint>")
FUNCTIONS = {"rows": wr.count(), "amounts": AMOUNTS}
GAUGES = {"windows_open", "state_pages", "state_bytes", "pages_written", "stream_time"}
RECORDS = records(1, 200)
HISTORY = batch([row for row in RECORDS if row["ts"] < utc(60)])
FIRST = batch([*HISTORY.to_pylist(), *tick(60).to_pylist()])
REST = [row for row in RECORDS if row["ts"] >= utc(60)]
LATER = [batch([*REST[:30], *records(2, 100)[80:]]), batch(REST[30:]), tick(110), tick(200)]
"""Some of its records belong to windows of the history, some are late."""


def windowed(data: Any, windows: Any = SESSIONS) -> Any:
    return wr.group_by(data, "user", time="ts", tick="tick").windowed_by(windows).shards(3)


def history_of(spark: SparkSession, place: Path, windows: Any, aggregates: Any) -> DataFrame:
    """The open windows of the history, as a job has written them."""
    run = windowed(frame_of(spark, HISTORY), windows).advance(None, to=utc(60), **aggregates)
    run.rows.write.partitionBy("status").parquet(str(place / "history"))
    return spark.read.parquet(str(place / "history")).where("status = 'open'")


def counted(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(map(repr, rows))


@pytest.mark.slow
def test_the_history_is_the_first_micro_batch(spark: SparkSession, tmp_path: Path) -> None:
    """The query is stopped after each micro-batch, and started again as the same script."""
    opened = history_of(spark, tmp_path, SLIDING, FUNCTIONS)

    def begun(data: DataFrame) -> Any:
        return windowed(data, SLIDING).emit("update").start_from(opened).agg(**FUNCTIONS)

    def whole(data: DataFrame) -> Any:
        return windowed(data, SLIDING).emit("update").agg(**FUNCTIONS)

    expected = play(spark, tmp_path / "whole", [FIRST, *LATER], whole, DDL)
    got = Run()
    for number, each in enumerate(LATER):
        play(spark, tmp_path / "begun", [each], begun, DDL, run=got)
        assert counted(got.batches[number]) == counted(expected.batches[number + 1]), number
    one, other = expected.counters()[1:], got.counters()
    assert len(one) == len(other) == len(LATER)
    for name in set(other[0]) - GAUGES:
        assert [each[name] for each in other] == [each[name] for each in one], name
    assert sum(each["late"] for each in other) > 0
    assert [each["windows_open"] for each in other][-1] == one[-1]["windows_open"]
    assert other[0]["stream_time"] == one[0]["stream_time"]
    # An updated stream may go without the history.
    play(spark, tmp_path / "begun", [tick(300)], whole, DDL, run=got)


@pytest.mark.slow
def test_another_history_is_refused_and_nothing_is_written(spark: SparkSession, tmp_path: Path) -> None:
    opened = history_of(spark, tmp_path, SESSIONS, BUILT_IN)
    later = windowed(frame_of(spark, HISTORY[:0])).advance(opened, to=utc(61), **BUILT_IN)

    def query(start_from: Any) -> Any:
        return lambda data: windowed(data).start_from(start_from).agg(**BUILT_IN)

    run = play(spark, tmp_path / "one", LATER[:1], query(opened), DDL)
    said = r"start_from was 'the open windows up to 2026-01-01 01:00:00.*, is '.* 01:01:00"
    with pytest.raises(Exception, match=said):
        play(spark, tmp_path / "one", LATER[1:2], query(later.still_open), DDL, run=run)
    assert list(run.batches) == [0]
    play(spark, tmp_path / "one", [], query(opened), DDL, run=run)
    assert list(run.batches) == [0, 1]


@pytest.mark.slow
def test_a_damaged_table_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """At the call, or with the first micro-batch if rows are missing. Other damages: native/test_start_from_refused."""
    opened = history_of(spark, tmp_path, SESSIONS, BUILT_IN)
    data = source(spark, Folder(tmp_path / "in"), DDL)
    with pytest.raises(ValueError, match="open: got 2 clock rows"):
        windowed(data).start_from(opened.unionByName(opened)).agg(**BUILT_IN)
    with pytest.raises(ValueError, match="open: got 'a streaming DataFrame'"):
        windowed(data).start_from(data).agg(**BUILT_IN)
    missing, run = opened.where("user IS NULL OR user != 'ann'"), Run()
    with pytest.raises(Exception, match=r"rows besides the clock row, which says \d+: \d+ are missing"):
        play(spark, tmp_path, LATER[:1], lambda data: windowed(data).start_from(missing).agg(**BUILT_IN), DDL, run=run)
    assert run.batches == {}


def test_a_struct_in_another_order_is_refused_at_the_call_with_a_cast_that_works(
    spark: SparkSession, tmp_path: Path
) -> None:
    calls = {"last": wr.last("x")}
    history = frame_of(spark, HISTORY[:20]).withColumn("x", F.expr("named_struct('a', amount, 'b', user)"))
    opened = table_of(windowed(history).advance(None, to=utc(60), **calls).still_open)
    data = source(spark, Folder(tmp_path / "in"), DDL).withColumn("x", F.expr("named_struct('b', user, 'a', amount)"))
    said = r"open: column 'x' was struct<a:\w+,b:string> in the run before, and is struct<b:string,a:\w+> now; .*"
    with pytest.raises(ValueError, match=f"^{said}; or no start_from, to begin anew$") as refused:
        windowed(data).start_from(opened).agg(**calls)
    cast = re.search(r": (F\.when.*); or no start_from", str(refused.value))
    assert cast is not None
    made = data.withColumn("x", eval(cast[1], {"F": F}))
    assert windowed(made).start_from(opened).agg(**calls).isStreaming


@pytest.mark.slow
def test_a_first_micro_batch_that_fails_is_repeated(spark: SparkSession, tmp_path: Path) -> None:
    """The sink fails before the commit; the table of this process is read again."""
    opened = table_of(history_of(spark, tmp_path, SESSIONS, BUILT_IN))
    folder, run = Folder(tmp_path / "in"), Run()
    for each in LATER:
        folder.add(each)

    def query() -> Any:
        return windowed(source(spark, folder, DDL)).start_from(opened).agg(**BUILT_IN)

    def failing(frame: DataFrame, number: int) -> None:
        frame.collect()
        raise RuntimeError("the sink is full")

    writer = query().writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    with pytest.raises(Exception, match="the sink is full"):
        writer.trigger(availableNow=True).foreachBatch(failing).start().awaitTermination()
    start(query(), run, tmp_path / "checkpoint").awaitTermination()
    whole = play(spark, tmp_path / "whole", [FIRST, *LATER], lambda data: windowed(data).agg(**BUILT_IN), DDL)
    for number in range(len(LATER)):
        assert counted(run.batches[number]) == counted(whole.batches[number + 1])
    assert run.rows
    assert windrow.state.read(spark, tmp_path / "checkpoint").count() == 0


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
    for number, got in ((5, "got 5, which is not committed"), (6, "got 6, which is not committed"), (2, "got 2;")):
        with pytest.raises(ValueError, match=f"batch: {got}.*allowed: a micro-batch that is committed.*: 3 to 4"):
            offsets(spark, one, number)
    wrongs: list[tuple[type[Exception], str, Any]] = [
        *((TypeError, "batch: got", (spark, one, bad)) for bad in (True, "3", 1.0)),
        (ValueError, "batch: got -1", (spark, one, -1)),
        (ValueError, "checkpoint: got", (spark, tmp_path / "none")),
        (ValueError, "checkpoint: got", (spark, log(tmp_path / "begun", {0: [clicks[0]]}, []))),
        (TypeError, "checkpoint: got 5", (spark, 5)),
        (TypeError, "spark: got None", (None, one)),
    ]
    for error, message, given in wrongs:
        with pytest.raises(error, match=message):
            offsets(*given)

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
