"""The names of windrow's steps in Spark's plans, which the UI shows, too."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import windrow as wr

from ..harness.spark_tables import frame_of
from ..harness.streams import Folder, source
from .test_stream_options import DDL, GAP, table


def plan(frame: DataFrame) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        frame.explain()
    return shown.getvalue()


def windowed(data: DataFrame) -> Any:
    return wr.group_by(data, "user", time="ts").windowed_by(GAP).shards(4)


FOLD = wr.reduce("amount", lambda before, value: before + value)
QUERIES = {
    "windows": (lambda selected: selected.agg(n=wr.count()), ["windrow_pack", "windrow_merge"]),
    "Python functions": (lambda selected: selected.agg(x=FOLD), ["windrow_pack_rows", "windrow_fold"]),
    "rows": (lambda selected: selected.with_columns(n=wr.count()), ["windrow_with_windows"]),
}


@pytest.mark.parametrize("name", QUERIES)
def test_steps_of_a_batch_have_names(spark: SparkSession, name: str) -> None:
    query, steps = QUERIES[name]
    shown = plan(query(windowed(frame_of(spark, table(("ann", 0))))))
    assert [step for step in steps if f"{step}(" not in shown] == []


@pytest.mark.parametrize(
    ("query", "last"),
    [
        (lambda selected: selected.agg(n=wr.count()), "windrow_unpack"),
        (lambda selected: selected.with_columns(n=wr.count()), "windrow_unpack_records"),
    ],
)
@pytest.mark.needs("streams")
def test_steps_of_a_stream_have_names(spark: SparkSession, tmp_path: Path, query: Any, last: str) -> None:
    shown = plan(query(windowed(source(spark, Folder(tmp_path / "none"), DDL))))
    assert "windrow_pack(" in shown
    assert f"{last}(" in shown
