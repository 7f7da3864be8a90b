"""`group_by(schema=, streaming=)`: columns and kind that the user declares, and data that differs."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

import windrow as wr
from windrow._executor.declared import check_declared, checked
from windrow._spark.configure import SETTINGS, check_state_store
from windrow._spark.declared import declared_schema

from ..harness.spark_tables import frame_of
from ..harness.stream_scenes import DDL, GAP, short, table, tick, windowed
from ..harness.streams import Folder, play, source

SCHEMA = "amount bigint, ts timestamp, user string"


def grouped(data: DataFrame, schema: Any = SCHEMA, streaming: bool | None = None, **options: Any) -> Any:
    return wr.group_by(data, "user", time="ts", schema=schema, streaming=streaming, **options)


STRUCT = StructType().add("user", "string").add("ts", "timestamp").add("amount", "long")


@pytest.mark.parametrize("schema", [SCHEMA, STRUCT], ids=["text", "a struct"])
def test_a_batch_of_declared_columns(spark: SparkSession, schema: Any) -> None:
    data = frame_of(spark, table(("ann", 0, 2), ("ann", 4, 3), ("bob", 20, 5)))
    declared = grouped(data, schema, streaming=False).windowed_by(GAP)
    rows = [row.asDict(recursive=True) for row in declared.agg(n=wr.count(), total=wr.sum("amount")).collect()]
    assert short(rows) == [("ann", 0, 4, 2), ("bob", 20, 20, 1)]
    assert {row["user"]: row["total"] for row in rows} == {"ann": 5, "bob": 5}
    assert sorted(declared.with_columns(n=wr.count()).columns) == ["amount", "n", "ts", "user", "window"]


@pytest.mark.slow
@pytest.mark.needs("streams")
def test_a_stream_of_declared_columns(spark: SparkSession, tmp_path: Path) -> None:
    def query(data: DataFrame) -> DataFrame:
        declared = grouped(data, f"{SCHEMA}, tick boolean", streaming=True, tick="tick").windowed_by(GAP)
        frame: DataFrame = declared.max_ahead("100000 days").flat().agg(n=wr.count())
        return frame.withColumnsRenamed({"window_start": "start", "window_end": "end"})

    run = play(spark, tmp_path, [table(("ann", 0), ("ann", 4)), tick(30)], query, DDL)
    (row,) = run.rows
    assert (row["user"], row["end"] - row["start"], row["n"]) == ("ann", timedelta(minutes=4), 2)


def test_another_type_is_named_at_the_call(spark: SparkSession) -> None:
    data = frame_of(spark, table(("ann", 0)))
    with pytest.raises(
        ValueError, match=r"schema: column 'amount' has type int64 in the data; group_by\(schema=\) says double"
    ):
        grouped(data, "user string, ts timestamp, amount double")


def test_another_type_is_named_by_an_executor() -> None:
    batch = pa.RecordBatch.from_pydict({"_0": ["1"]})
    declared = pa.schema({"amount": pa.int64()}).serialize().to_pybytes()
    with pytest.raises(ValueError, match=r"^schema: column 'amount' has type string in the data; .* says int64$"):
        next(checked(iter([batch]), declared))


@pytest.mark.parametrize(
    ("actual", "declared", "is_same"),
    [
        (pa.timestamp("us", "Europe/Berlin"), pa.timestamp("us", "UTC"), True),
        (pa.large_string(), pa.string(), True),
        (pa.struct([pa.field("a", pa.large_binary(), nullable=False)]), pa.struct([("a", pa.binary())]), True),
        (pa.list_(pa.field("element", pa.int64(), nullable=False)), pa.list_(pa.int64()), True),
        (pa.map_(pa.string(), pa.timestamp("us", "Asia/Tokyo")), pa.map_(pa.string(), pa.timestamp("us", "UTC")), True),
        (pa.timestamp("us"), pa.timestamp("us", "UTC"), False),
        (pa.int32(), pa.int64(), False),
        (pa.struct([("b", pa.int64())]), pa.struct([("a", pa.int64())]), False),
        (pa.list_(pa.float32()), pa.list_(pa.float64()), False),
    ],
)
def test_layouts_are_no_other_types(actual: pa.DataType, declared: pa.DataType, is_same: bool) -> None:
    said = nullcontext() if is_same else pytest.raises(ValueError, match="schema: column 'a' has type")
    with said:
        check_declared(actual, pa.field("a", declared))


def test_another_kind_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    stream, batch = source(spark, Folder(tmp_path / "none"), DDL), frame_of(spark, table(("ann", 0)))
    with pytest.raises(ValueError, match="streaming: got False; allowed: True, which Spark reports"):
        grouped(stream, streaming=False)
    with pytest.raises(ValueError, match="streaming: got True; allowed: False, which Spark reports"):
        grouped(batch, None, streaming=True)
    with pytest.raises(TypeError, match="streaming: got 'yes', a str; allowed: True or False"):
        grouped(batch, streaming="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("schema", "error", "words"),
    [
        ("bigint", ValueError, "schema: got 'bigint'; allowed: names and types of columns"),
        ("user strin", ValueError, "schema: got 'user strin'; .*did you mean 'string'"),
        ("a int, A int", ValueError, "schema: got 'a'; allowed: each name once, ignoring case"),
        (pa.schema({"a": pa.int64()}), TypeError, "schema: got .*; allowed: a StructType, or names and types"),
        ("", ValueError, "schema: got ''"),
    ],
)
def test_a_schema_that_is_none(schema: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        declared_schema(schema)


def test_data_in_this_process_has_its_own_columns() -> None:
    data = table(("ann", 0))
    with pytest.raises(ValueError, match="schema: got 'user string'; allowed: None for data in this process"):
        wr.group_by(data, "user", time="ts", schema="user string")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="streaming: got False; allowed: None for data in this process"):
        wr.group_by(data, "user", time="ts", streaming=False)  # type: ignore[call-overload]


def test_the_error_in_a_pipeline_has_the_lines_of_its_file() -> None:
    session: Any = SimpleNamespace(conf=SimpleNamespace(get=lambda key: "HDFSBackedStateStoreProvider"))
    with pytest.raises(ValueError, match="providerClass: got 'HDFS") as raised:
        check_state_store(session, pipeline=True)
    _, _, lines = str(raised.value).partition("configuration:\n")
    assert lines.splitlines() == [f'  {key}: "{value}"' for key, value in SETTINGS.items()]


@pytest.mark.needs("streams")
def test_changes_have_a_sequence(spark: SparkSession, tmp_path: Path) -> None:
    def query(data: DataFrame) -> Any:
        changes = windowed(data).emit("update", sequence=True).flat()
        return changes.agg(n=wr.count(), half=wr.count() / 2)

    # ann ─0────6── two sessions; 3 joins them, which deletes both
    tables = [table(("ann", 0), ("ann", 6)), table(("ann", 3), ("bob", 6)), table(("bob", 7))]
    run = play(spark, tmp_path, tables, query, DDL)
    assert list(run.rows[0]) == ["user", "window_start", "window_end", "n", "half", "op", "sequence"]
    latest: dict[tuple[Any, ...], tuple[str, int | None]] = {}
    for row in sorted(run.rows, key=lambda row: row["sequence"]):
        latest[row["user"], row["window_start"].minute, row["window_end"].minute] = row["op"], row["n"]
    alive = {window: n for window, (op, n) in latest.items() if op == "upsert"}
    assert alive == {("ann", 0, 6): 3, ("bob", 6, 7): 2}
    assert {row["sequence"] >> 32 for row in run.rows} == {0, 1, 2}
    places = [(row["user"], row["sequence"]) for row in run.rows]
    assert len(set(places)) == len(places)


def test_a_batch_has_the_sequence_zero(spark: SparkSession) -> None:
    data = table(("ann", 0), ("bob", 20))
    result = windowed(frame_of(spark, data)).emit("update", sequence=True).agg(n=wr.count())
    assert result.columns == ["user", "window", "n", "op", "sequence"]
    assert [row.sequence for row in result.collect()] == [0, 0]
    reader = windowed(data).emit("update", sequence=True).to_reader(n=wr.count())
    assert reader.read_all()["sequence"].to_pylist() == [0, 0]


def test_a_sequence_belongs_to_updates() -> None:
    sessions = windowed(table(("ann", 0)))
    with pytest.raises(ValueError, match=r"sequence: got True; allowed: False with emit\('close'\)"):
        sessions.emit("close", sequence=True)
    with pytest.raises(TypeError, match="sequence: got 1, an int; allowed: True or False"):
        sessions.emit("update", sequence=1)
    with pytest.raises(ValueError, match=r"aggregates: got 'Sequence'; .*emit\('update', sequence=True\) adds"):
        sessions.emit("update", sequence=True).agg(Sequence=wr.count())
    renamed = table(("ann", 0)).rename_columns({"user": "sequence"})
    keyed = wr.group_by(renamed, "sequence", time="ts").windowed_by(GAP)
    assert keyed.emit("update").count().num_rows == 1
    with pytest.raises(ValueError, match="keys: got 'sequence'; allowed: any name but 'sequence'"):
        keyed.emit("update", sequence=True)
