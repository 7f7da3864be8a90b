"""Records that last until an end, over Spark: batches, scans, refusals. The book of cases has them on streams."""

from __future__ import annotations

import random
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import Observation, SparkSession
from pyspark.sql import functions as F

import windrow as wr

from ..harness.spark_tables import frame_of, table_of
from ..harness.streams import Folder, source
from ..harness.tables import Call, Rows, assert_windows, rows_of
from ..oracle.records import Record
from ..oracle.sessions import lasting_sessions

KIND = pa.timestamp("us", "UTC")
SCHEMA = pa.schema({"user": pa.string(), "started": KIND, "stopped": KIND, "id": pa.int64()})
DDL = "user string, started timestamp, stopped timestamp, id bigint"
START = datetime(2026, 1, 1, tzinfo=UTC)
AGGREGATES = {"n": Call("count"), "ids": Call("collect_list", ("id",)), "late": Call("max", ("id",))}
BUILT = {name: each.build(wr) for name, each in AGGREGATES.items()}
MINUTE = 60 * 10**6
GAP = wr.SessionWindows.with_gap("5 minutes")


def calls(seed: int, count: int = 200) -> pa.Table:
    """Calls of some users in 400 minutes, at most 45 minutes long; some have no end, or one before their start."""
    draw, rows = random.Random(seed), []
    for number in range(count):
        started = START + timedelta(minutes=draw.randint(0, 400), microseconds=number)
        length = draw.choice([0, 0, 1, 5, 20, draw.randint(0, 45), None, -3])
        stopped = None if length is None else started + timedelta(minutes=length)
        rows.append((draw.choice(["ann", "bob", "cem", "", None]), started, stopped, number))
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], SCHEMA)


def grouped(data: Any, end: Any = "stopped") -> Any:
    return wr.group_by(data, "user", time="started", end=end)


def by_oracle(records: list[Record]) -> list[Any]:
    def end(record: Record) -> int | None:
        found = record.values["stopped"]
        return None if found is None else (found - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)

    return lasting_sessions(records, lambda _: 5 * MINUTE, end)


def check(got: Rows, table: pa.Table) -> None:
    assert_windows(got, table.rename_columns({"started": "ts"}), ["user"], by_oracle, AGGREGATES)


def utc(result: Any) -> pa.Table:
    """A result of Spark with the windows in UTC."""
    table = table_of(result)
    bounds = pa.struct([("start", KIND), ("end", KIND)])
    place = table.column_names.index("window")
    return table.set_column(place, "window", table["window"].cast(bounds))


def joined(held: list[int], row: Any) -> list[int]:
    return [*held, row.id]


def test_oracle_a_batch_and_its_counters(spark: SparkSession) -> None:
    table, observation = calls(1), Observation("ends")
    data = frame_of(spark, table).repartition(3)
    got = rows_of(utc(grouped(data).windowed_by(GAP).observe(observation).agg(**BUILT)), ["user"])
    check(got, table)
    rows = table.to_pylist()
    bad = sum(row["user"] is not None and (row["stopped"] is None or row["stopped"] < row["started"]) for row in rows)
    assert observation.get["bad_ends"] == bad > 20
    ids: Any = wr.aggregate(list, joined, lambda one, other: one + other, schema="array<bigint>", columns=["id"])
    folded = rows_of(utc(grouped(data).windowed_by(GAP).agg(n=wr.count(), ids=ids, late=wr.max("id"))), ["user"])
    check(folded, table)
    each = table_of(grouped(data).windowed_by(GAP).with_columns(n=wr.count())).to_pylist()
    assert len(each) == len(rows)
    in_none = [row for row in each if row["window"] is None]
    assert len(in_none) == bad + sum(row["user"] is None for row in rows)


def test_a_call_that_still_runs_and_a_cogroup_with_points(spark: SparkSession) -> None:
    table = calls(2, 80)
    ended = table.set_column(2, "stopped", pc.coalesce(table["stopped"], table["started"]))
    data = frame_of(spark, table)
    got = rows_of(utc(grouped(data, F.coalesce("stopped", "started")).windowed_by(GAP).agg(**BUILT)), ["user"])
    check(got, ended)

    def both(calls: Any, points: Any) -> Any:
        inputs = {"calls": grouped(calls), "points": wr.group_by(points, "user", time="at")}
        return wr.cogroup(**inputs).windowed_by(GAP).agg(n=wr.count(), calls=wr.count("calls.*"))

    points = data.select("user", F.col("started").alias("at"), "id")
    of_table = table.drop_columns("stopped").rename_columns({"started": "at"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wr.LeftOut)
        here = rows_of(both(table, of_table), ["user"])
    assert rows_of(utc(both(data, points)), ["user"]) == here


def test_an_end_of_another_type_names_the_cast_and_it_works(spark: SparkSession) -> None:
    data = frame_of(spark, calls(4, 30))
    local = data.withColumn("stopped", F.col("stopped").cast("timestamp_ntz"))
    said = "end: column 'stopped' has type .*; allowed: .* the type of the time column"
    with pytest.raises(TypeError, match=said) as raised:
        grouped(local)
    cast = eval(str(raised.value).rpartition(": ")[2], {"F": F})
    windows = (grouped(local, cast).windowed_by(GAP).count(), grouped(data).windowed_by(GAP).count())
    one, other = (sorted(row["count"] for row in each.collect()) for each in windows)
    assert one == other
    with pytest.raises(TypeError, match="end: column 'id' has type int64; allowed: a timestamp"):
        grouped(data, "id")


def test_a_bad_end_fails_the_job_by_key_and_time_where_that_was_asked(spark: SparkSession) -> None:
    data = frame_of(spark, calls(5, 30)).where("user = 'ann'").withColumn("stopped", F.lit(START).cast("timestamp"))
    strict = wr.group_by(data, "user", time="started", end="stopped", invalid_end="error")
    with pytest.raises(Exception, match="the end of key ann at 2026-01-01.* is null or before that time"):
        strict.windowed_by(GAP).count().collect()


def test_a_scan_reads_the_ends_and_no_other_column(spark: SparkSession, tmp_path: Path) -> None:
    table = calls(6, 60)
    pq.write_table(table.append_column("note", pa.array(["x"] * 60)), tmp_path / "a.parquet")
    pq.write_table(table.append_column("note", pa.array(range(60))), tmp_path / "b.parquet")
    twice = pa.concat_tables([table, table])
    expected = grouped(frame_of(spark, twice)).windowed_by(GAP).count()
    scanned = wr.scan_parquet(spark, str(tmp_path))
    got = grouped(scanned).windowed_by(GAP).count()
    assert rows_of(utc(got), ["user"]) == rows_of(utc(expected), ["user"])
    with pytest.raises(Exception, match="column 'note' has type int64 in this file"):
        grouped(scanned).windowed_by(GAP).agg(note=wr.last("note")).collect()


@pytest.mark.needs("streams")
def test_a_stream_without_a_grace_warns_that_records_come_when_they_have_ended(
    spark: SparkSession, tmp_path: Path
) -> None:
    stream = source(spark, Folder(tmp_path / "none"), DDL)
    with pytest.warns(UserWarning, match="end= with a grace of '0 seconds'") as warned:
        grouped(stream).windowed_by(wr.SessionWindows.with_gap("5 minutes", grace="0 seconds")).shards(4).count()
    assert [each.filename for each in warned] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grouped(stream).windowed_by(wr.SessionWindows.with_gap("5 minutes", grace="1 minute")).shards(4).count()
