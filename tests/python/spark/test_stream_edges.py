"""Streaming queries at their edges: results that do not fit, other zones, the order of arrival, later watermarks."""

from __future__ import annotations

import shutil
import time
import warnings
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

import windrow as wr
import windrow.state

from ..harness.spark_scenes import SetConf
from ..harness.spark_tables import frame_of
from ..harness.streams import Folder, play, source
from ..scenes import EIGHT, PAYMENTS, at, utc

DDL = "user string, ts timestamp_ntz, amount bigint"
MOST = 2**63 - 1
GAP = wr.SessionWindows.with_gap("5 minutes", grace="1 minute")


def payments(*rows: tuple[str, float, int]) -> pa.Table:
    return pa.Table.from_pylist([{"user": user, "ts": at(minute), "amount": n} for user, minute, n in rows], PAYMENTS)


def sessions(data: DataFrame, **options: Any) -> Any:
    return wr.group_by(data, "user", time="ts", **options).windowed_by(GAP).shards(2)


OVERFLOWING = [payments(("ann", 0, MOST), ("bob", 0, 1)), payments(("ann", 1, 1))]


@pytest.mark.slow
@pytest.mark.needs("streams")
def test_a_sum_that_fails_at_close_is_got_past_by_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    def query(policy: Any) -> Any:
        return lambda data: sessions(data).overflow(policy).agg(total=wr.sum("amount"))

    with pytest.raises(StreamingQueryException, match=r"of key ann; overflow\(\"null\"\) makes it null"):
        play(spark, tmp_path, [*OVERFLOWING, payments(("zoe", 60, 0))], query("error"), DDL)
    with pytest.raises(StreamingQueryException, match="of key ann"):
        play(spark, tmp_path, [], query("error"), DDL)
    found = windrow.state.read(spark, str(tmp_path / "checkpoint")).collect()
    assert sorted((row["user"], row["total"]) for row in found) == [("ann", None), ("bob", 1)]
    run = play(spark, tmp_path, [], query("null"), DDL)
    assert sorted((row["user"], row["total"]) for row in run.rows) == [("ann", None), ("bob", 1)]
    assert run.total("overflows") == 1


@pytest.mark.needs("streams")
def test_arithmetic_that_does_not_fit_is_null_and_counted(spark: SparkSession, tmp_path: Path) -> None:
    def query(data: DataFrame) -> DataFrame:
        return sessions(data).overflow("null").agg(twice=wr.max("amount") * 2, n=wr.count())

    run = play(spark, tmp_path, [*OVERFLOWING, payments(("zoe", 60, 0))], query, DDL)
    assert sorted((row["user"], row["twice"], row["n"]) for row in run.rows) == [("ann", None, 2), ("bob", 2, 1)]
    assert [run.total(name) for name in ("overflows", "records", "windows_closed")] == [1, 4, 2]
    assert run.counters()[-1]["stream_time"] in (at(60), str(at(60)))


@pytest.mark.needs("streams")
def test_records_come_back_with_results_that_do_not_fit(spark: SparkSession, tmp_path: Path) -> None:
    def query(data: DataFrame) -> DataFrame:
        return sessions(data).overflow("null").with_columns(total=wr.sum("amount"), twice=wr.max("amount") * 2)

    run = play(spark, tmp_path, [*OVERFLOWING, payments(("zoe", 60, 0))], query, DDL)
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
    frame = frame_of(spark, pa.concat_tables([*OVERFLOWING, payments(*((f"u{n}", 0, 1) for n in range(9)))]))
    seen = Observation()
    windowed = wr.group_by(frame, "user", time="ts").windowed_by(GAP).overflow("null").observe(seen)
    rows = call(windowed).collect()
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


@pytest.mark.parametrize("kind", ["timestamp_ntz", "timestamp"])
@pytest.mark.needs("streams")
def test_stream_time_is_that_of_the_records_in_every_zone(
    spark: SparkSession, tmp_path: Path, zone: str, kind: str
) -> None:
    ddl = f"user string, ts {kind}, amount bigint"
    table = payments(("ann", 0, 1))
    if kind == "timestamp":  # 08:00 in the zone of the session
        local = pa.chunked_array([pa.compute.assume_timezone(table["ts"].combine_chunks(), zone)])
        table = table.set_column(1, "ts", local)
    run = play(spark, tmp_path, [table], lambda data: sessions(data).count(), ddl)
    (counters,) = run.counters()
    shown = spark.sql(f"SELECT CAST(CAST('{counters['stream_time']}' AS {kind}) AS STRING) AS t").first()
    assert shown is not None
    assert shown.t == str(EIGHT)
    stored = windrow.state.read(spark, tmp_path / "checkpoint")
    stored = stored.select(F.col("stream_time").cast("string"), F.col("window.end").cast("string"))
    assert [tuple(row) for row in stored.collect()] == [(str(EIGHT), str(EIGHT))]


@pytest.mark.slow
@pytest.mark.needs("streams")
def test_functions_fold_as_records_arrive_however_spark_cuts_them(spark: SparkSession, tmp_path: Path) -> None:
    add = wr.aggregate(
        list,
        lambda held, row: [*held, row.amount],
        lambda older, newer: older + newer,
        schema="array<bigint>",
        columns=["amount"],
    )
    minutes = (2, 0, 5, 4, 1)
    records = [payments(("ann", minute, nth)) for nth, minute in enumerate(minutes)]
    closing = payments(("zoe", 99, 0))
    found = []
    for cut in (5, 2):
        tables = [pa.concat_tables(records[start : start + cut]) for start in range(0, 5, cut)]
        with pytest.warns(UserWarning, match=r"folded=aggregate\(...\), path=reduce\(...\) without group_by\(order=\)"):
            run = play(
                spark,
                tmp_path / str(cut),
                [*tables, closing],
                lambda data: (
                    wr.group_by(data, "user", time="ts")
                    .windowed_by(wr.SessionWindows.with_gap("5 minutes", grace="1 hour"))
                    .agg(
                        folded=add,
                        path=wr.reduce("amount", lambda one, other: 10 * one + other),
                        in_time=wr.apply(lambda values: values, "amount", schema="array<bigint>"),
                    )
                ),
                DDL,
            )
        found += [(row["folded"], row["path"], row["in_time"]) for row in run.rows]
    assert found == [([0, 1, 2, 3, 4], 1234, [1, 4, 0, 3, 2])] * 2


@pytest.mark.needs("streams")
def test_a_query_with_an_order_or_without_functions_does_not_warn(spark: SparkSession, tmp_path: Path) -> None:
    stream = source(spark, Folder(tmp_path / "in"), f"{DDL}, offset bigint")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sessions(stream, order="offset").agg(path=wr.reduce("amount", max))
        sessions(stream).agg(path=wr.apply(lambda values: values, "amount", schema="array<bigint>"))


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
    def row(user: str, minute: float, gap: float) -> dict[str, Any]:
        return {"user": user, "ts": utc(minute), "gap": timedelta(minutes=gap)}

    schema = pa.schema({"user": pa.string(), "ts": pa.timestamp("us", "UTC"), "gap": pa.duration("us")})
    rows = [row("ann", 0, 30), row("bob", 10, 1), *(row("z", minute, 1) for minute in (15, 18, 21, 24, 45, 200))]
    tables = [pa.Table.from_pylist([each], schema) for each in [*rows, row("z", 400, 1), row("z", 600, 1)]]
    windows = wr.SessionWindows.with_dynamic_gap("gap", grace="0 seconds", max_gap="30 minutes")

    def query(data: DataFrame) -> DataFrame:
        ended = wr.group_by(data, "user", time="ts").windowed_by(windows).shards(2).flat().count()
        marked = ended.withWatermark("window_end", delay)
        counted = marked.groupBy(F.window("window_end", "5 minutes"), "user").agg(F.sum("count").alias("n"))
        return counted.select("user", F.col("window.start").alias("start"), "n")

    run = play(spark, tmp_path, tables, query, "user string, ts timestamp, gap interval day to second")
    assert {row["user"] for row in run.rows} - {"z"} == kept


@pytest.mark.needs("streams")
def test_a_checkpoint_that_spark_cannot_find_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    play(spark, plain, [payments(("ann", 0, 1))], lambda data: sessions(data).count(), DDL)
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
    windowed = wr.group_by(frame, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("5 minutes"))
    expected = wr.explain_record(windowed, "ann", text[1])
    assert expected.splitlines()[0] == "user 'ann' at 2026-03-04 08:04:00.5"
    assert "[2026-03-04 08:00:00, 2026-03-04 08:04:00.5]" in expected
    of_row = frame.orderBy("ts").collect()[1].ts
    aware: datetime = of_row.astimezone()
    for shown in (of_row, aware, aware.isoformat()):
        assert wr.explain_record(windowed, "ann", shown) == expected
