"""Pictures and texts of Spark DataFrames: the rows of the keys are collected, and no others; streams are refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import windrow as wr
from windrow.plot import timeline

from ..harness.spark_tables import table_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NINE = datetime(2026, 5, 4, 9, tzinfo=UTC)
FIVE = wr.SessionWindows.with_gap("5 minutes", grace="1 minute")


@pytest.fixture
def clicks(spark: SparkSession) -> DataFrame:
    wr.configure(spark)
    rows = [("ann", 0), ("bob", 12), ("ann", 5), (None, 6), ("ann", 11), ("it's", 1)]
    table = [(user, NINE + timedelta(minutes=minute), 1) for user, minute in rows]
    return spark.createDataFrame(table, "user string, `when.ts` timestamp, unused int")


def test_a_text_of_a_data_frame_is_that_of_a_batch(clicks: DataFrame) -> None:
    windowed = wr.group_by(clicks, "user", time="when.ts").windowed_by(FIVE)
    text = wr.explain_record(windowed, "ann", NINE + timedelta(minutes=5))
    assert text.splitlines() == [
        "user 'ann' at 2026-05-04 09:05:00",
        "  in the session [2026-05-04 09:00:00, 2026-05-04 09:05:00], which has 2 records",
        "  previous record: 2026-05-04 09:00:00, 5 minutes away, at most the gap of 5 minutes: one session",
        "  next record: 2026-05-04 09:11:00, 6 minutes away, more than the gap of 5 minutes: the session ends here",
        "  on a stream it closes when stream time passes 2026-05-04 09:11:00: its end + gap (5 minutes) "
        "+ grace (1 minute)",
    ]
    with pytest.raises(ValueError, match=r"stream: got True; allowed: data in this process"):
        wr.explain_record(windowed, "ann", NINE, stream=True)


@pytest.mark.needs("pictures")
def test_a_picture_of_a_data_frame_is_that_of_its_rows(clicks: DataFrame) -> None:
    windowed = wr.group_by(clicks, "user", time="when.ts").windowed_by(FIVE)
    picture = timeline(clicks, windowed, keys=["ann", "it's"])
    rows = table_of(clicks)
    same = timeline(rows, wr.group_by(rows, "user", time="when.ts").windowed_by(FIVE), ["ann", "it's"], stream=False)
    assert picture.svg == same.svg


def test_only_the_rows_of_the_keys_are_collected(clicks: DataFrame) -> None:
    opened = wr.group_by(clicks, "user", time="when.ts").input
    schema = pa.schema([opened.field("time", name) for name in ("user", "when.ts")])
    users = pa.array(["ann", "bob", "it's", None])
    ann, bob, its, null = (pa.RecordBatch.from_arrays([users[row : row + 1]], names=["user"]) for row in range(4))
    assert opened.rows(schema, ["user"], [ann])["user"].to_pylist() == ["ann"] * 3
    assert opened.rows(schema, ["user"], [bob, its]).num_rows == 2
    assert opened.rows(schema, ["user"], [null]).num_rows == 1


@pytest.mark.needs("streams")
def test_a_stream_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    stream = spark.readStream.schema("user string, ts timestamp").csv(str(tmp_path))
    windowed = wr.group_by(stream, "user", time="ts").windowed_by(FIVE)
    with pytest.raises(ValueError, match=r"events: got 'a streaming DataFrame'; allowed: a batch of what it reads"):
        wr.explain_record(windowed, "ann", NINE)
    with pytest.raises(ValueError, match=r"as a stream has no end"):
        timeline(stream, windowed, "ann")


@pytest.mark.parametrize(
    "key",
    [
        "named_struct('name', 'ann', 'since', TIMESTAMP '2026-01-01 08:00:00.000001')",
        "named_struct('name', CAST(NULL AS STRING), 'tags', array('a', NULL))",
        "array(0.0D, CAST('NaN' AS DOUBLE))",
        "CAST(array() AS ARRAY<STRING>)",
        "TIMESTAMP '2026-01-01 08:00:00.000001'",
        "TIMESTAMP_NTZ '2026-01-01 08:00:00.000001'",
        "DATE '2026-01-01'",
        "CAST(1.50 AS DECIMAL(10, 2))",
        "X'00FF'",
        "CAST('NaN' AS DOUBLE)",
    ],
)
def test_a_key_is_found_as_a_row_of_spark_has_it(spark: SparkSession, key: str) -> None:
    clicks = spark.sql(
        f"SELECT {key} AS k, TIMESTAMP '2026-01-01 09:00:00' + make_dt_interval(0, 0, id) AS ts FROM range(2) AS t(id)"
    )
    others = spark.sql("SELECT TIMESTAMP '2026-01-01 09:00:00' AS ts").selectExpr(f"nullif({key}, {key}) AS k", "ts")
    windowed = wr.group_by(clicks.unionByName(others), "k", time="ts").windowed_by(FIVE)
    (first, _) = clicks.collect()
    text = wr.explain_record(windowed, first["k"], first["ts"])
    assert "which has 2 records" in text
