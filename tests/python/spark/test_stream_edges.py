"""Streaming queries at their edges: results that do not fit, other zones, later watermarks, places of checkpoints."""

from __future__ import annotations

import shutil
import time
import warnings
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

import windrow as wr
import windrow.state

from ..harness.spark_scenes import SetConf
from ..harness.spark_tables import frame_of
from ..harness.stream_scenes import DDL, batch, table, windowed
from ..harness.streams import Folder, play, source
from ..scenes import EIGHT, PAYMENTS, utc

MOST = 2**63 - 1
OVERFLOWING = [table(("ann", 0, MOST), ("bob", 0, 1)), table(("ann", 1, 1))]
CLOSING = table(("zoe", 60, 0))


def totals(rows: list[Any]) -> list[tuple[str, int | None]]:
    return sorted((row["user"], row["total"]) for row in rows)


@pytest.mark.slow
@pytest.mark.needs("streams")
def test_a_sum_that_fails_at_close_is_got_past_by_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    def query(policy: Any) -> Any:
        return lambda data: windowed(data).overflow(policy).agg(total=wr.sum("amount"))

    with pytest.raises(StreamingQueryException, match=r"of key ann; overflow\(\"null\"\) makes it null"):
        play(spark, tmp_path, [*OVERFLOWING, CLOSING], query("error"), DDL)
    with pytest.raises(StreamingQueryException, match="of key ann"):
        play(spark, tmp_path, [], query("error"), DDL)
    found = windrow.state.read(spark, str(tmp_path / "checkpoint")).collect()
    assert totals(found) == [("ann", None), ("bob", 1)]
    run = play(spark, tmp_path, [], query("null"), DDL)
    assert totals(run.rows) == [("ann", None), ("bob", 1)]
    assert run.total("overflows") == 1


@pytest.mark.needs("streams")
def test_records_come_back_with_results_that_do_not_fit(spark: SparkSession, tmp_path: Path) -> None:
    def query(data: DataFrame) -> Any:
        return windowed(data).overflow("null").with_columns(total=wr.sum("amount"), twice=wr.max("amount") * 2)

    run = play(spark, tmp_path, [*OVERFLOWING, CLOSING], query, DDL)
    found = sorted((row["user"], row["total"], row["twice"]) for row in run.rows)
    assert found == [("ann", None, None), ("ann", None, None), ("bob", 1, 2)]
    assert (run.total("overflows"), run.total("records")) == (3, 4)  # the sum, and what is computed for each record


CALLS: dict[str, Any] = {
    "agg": lambda windowed: windowed.agg(total=wr.sum("amount")),
    "functions": lambda windowed: windowed.agg(total=wr.sum("amount"), last=wr.reduce("user", max)),
    "arithmetic": lambda windowed: windowed.agg(total=wr.max("amount") + 1),
    "with_columns": lambda windowed: windowed.with_columns(total=wr.sum("amount")),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_batch_counts_results_that_do_not_fit(spark: SparkSession, call: Any) -> None:
    frame = frame_of(spark, pa.concat_tables([*OVERFLOWING, table(*((f"u{n}", 0, 1) for n in range(9)))]))
    seen = Observation()
    rows = call(windowed(frame).overflow("null").observe(seen)).collect()
    assert {row["user"] for row in rows if row["total"] is None} == {"ann"}
    assert (seen.get["overflows"], seen.get["records"]) == (1, 12)


@pytest.fixture(params=["America/New_York", "Asia/Kolkata"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, set_conf: SetConf) -> Iterator[str]:
    """A time zone of the session, while that of the process is another."""
    set_conf("spark.sql.session.timeZone", request.param)
    monkeypatch.setenv("TZ", "America/Los_Angeles" if request.param.startswith("Asia") else "Asia/Tokyo")
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


@pytest.mark.needs("streams")
def test_stream_time_is_that_of_the_records_in_every_zone(spark: SparkSession, tmp_path: Path, zone: str) -> None:
    kind = "timestamp" if zone.startswith("America") else "timestamp_ntz"
    rows = pa.Table.from_pylist([{"user": "ann", "ts": EIGHT, "amount": 1}], PAYMENTS)
    if kind == "timestamp":  # 08:00 in the zone of the session
        rows = rows.set_column(1, "ts", pc.assume_timezone(rows["ts"], zone))
    run = play(spark, tmp_path, [rows], lambda data: windowed(data).count(), f"user string, ts {kind}, amount bigint")
    (counters,) = run.counters()
    shown = spark.sql(f"SELECT CAST(CAST('{counters['stream_time']}' AS {kind}) AS STRING) AS t").first()
    assert shown is not None
    assert shown.t == str(EIGHT)
    stored = windrow.state.read(spark, tmp_path / "checkpoint")
    stored = stored.select(F.col("stream_time").cast("string"), F.col("window.end").cast("string"))
    assert [tuple(row) for row in stored.collect()] == [(str(EIGHT), str(EIGHT))]


@pytest.mark.needs("streams")
def test_a_query_warns_of_functions_of_records_without_an_order_alone(spark: SparkSession, tmp_path: Path) -> None:
    stream, path = source(spark, Folder(tmp_path / "in"), DDL), wr.reduce("amount", max)
    with pytest.warns(UserWarning, match=r"a=reduce\(...\), b=reduce\(...\) without group_by\(order=\)"):
        windowed(stream).agg(a=path, b=path, n=wr.count())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        windowed(stream, order="offset").agg(path=path)
        windowed(stream).agg(path=wr.apply(lambda values: values, "amount", schema="array<bigint>"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("delay", "kept"), [("30 minutes", {"ann", "bob"}), ("0 seconds", {"bob"})], ids=["max_gap", "none"]
)
@pytest.mark.needs("streams")
def test_a_watermark_after_dynamic_gaps_needs_the_longest_gap(
    spark: SparkSession, tmp_path: Path, delay: str, kept: set[str]
) -> None:
    #          0         10        20        30        ann waits for her gap of 30; bob, who ends later, leaves before
    #   ann    ●─────────────────────────────┤
    #   bob              ●─┤
    records = [("ann", 0, 30), ("bob", 10, 1), *(("z", minute, 1) for minute in (15, 18, 21, 24, 45, 200, 400, 600))]
    rows = [{"user": user, "ts": utc(minute), "pause": timedelta(minutes=gap)} for user, minute, gap in records]
    windows = wr.SessionWindows.with_dynamic_gap("pause", grace="0 seconds", max_gap="30 minutes")

    def query(data: DataFrame) -> DataFrame:
        marked = windowed(data, windows).flat().count().withWatermark("window_end", delay)
        counted = marked.groupBy(F.window("window_end", "5 minutes"), "user").agg(F.sum("count").alias("n"))
        return counted.select("user", F.col("window.start").alias("start"), "n")

    run = play(spark, tmp_path, [batch([row]) for row in rows], query, DDL)
    assert {row["user"] for row in run.rows} - {"z"} == kept


@pytest.mark.needs("streams")
def test_a_checkpoint_that_spark_cannot_find_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    play(spark, plain, [table(("ann", 0))], lambda data: windowed(data).count(), DDL)
    assert windrow.state.read(spark, plain / "checkpoint").count() == 1
    for name in ("with blank", "c#1", "dt=2026%2F05", "a?b"):
        shutil.copytree(plain, tmp_path / name)
        for look in (windrow.state.read, lambda *of: windrow.state.fetch(*of, "ann")):
            with pytest.raises(ValueError, match="checkpoint: got .*allowed: a path without blanks, %, # and other"):
                look(spark, tmp_path / name / "checkpoint")


def test_explain_takes_what_spark_shows_and_answers_in_its_zone(spark: SparkSession, zone: str) -> None:
    spark.sql("SELECT 1").collect()
    text = ["2026-03-04 08:00:00", "2026-03-04 08:04:00.5"]
    frame = spark.createDataFrame([("ann", each) for each in text], "user string, text string")
    frame = frame.select("user", F.col("text").cast("timestamp").alias("ts"))
    expected = wr.explain_record(windowed(frame), "ann", text[1])
    assert expected.splitlines()[0] == "user 'ann' at 2026-03-04 08:04:00.5"
    assert "[2026-03-04 08:00:00, 2026-03-04 08:04:00.5]" in expected
    of_row = frame.orderBy("ts").collect()[1].ts
    aware: datetime = of_row.astimezone()
    for shown in (of_row, aware, aware.isoformat()):
        assert wr.explain_record(windowed(frame), "ann", shown) == expected
