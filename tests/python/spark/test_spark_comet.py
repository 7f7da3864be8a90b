"""With Comet in Spark, its native operators feed windrow, and the windows are those of this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import windrow as wr

from ..harness.spark_tables import table_of
from ..harness.tables import assert_same, rows_of
from .connect_client import CASES, events, windowing
from .test_spark_plans import plan

pytestmark = pytest.mark.needs("Comet")


@pytest.fixture
def data(spark: SparkSession, tmp_path: Path) -> Any:
    """The records in a file, which Comet reads."""
    pq.write_table(events(), tmp_path / "events.parquet", row_group_size=100)
    return spark.read.parquet(str(tmp_path))


@pytest.mark.parametrize("case", CASES)
def test_windows_are_those_of_this_process(data: Any, case: str) -> None:
    got, wanted = (rows_of(table, ["user"]) for table in (table_of(CASES[case](windowing(data))), here(case)))
    assert_same(got, wanted)
    assert len(wanted) > 50


def here(case: str) -> Any:
    return CASES[case](windowing(events()))


def test_comet_reads_shuffles_and_sorts_for_windrow(data: Any) -> None:
    shown = plan(windowing(data)(wr.SessionWindows.with_gap("10 minutes")).agg(n=wr.count()))
    assert [step for step in ("CometNativeScan", "CometColumnarExchange", "CometSort") if step not in shown] == []


def test_counters_are_those_of_this_process(data: Any) -> None:
    seen = wr.Observation()
    windows = wr.SessionWindows.with_gap("10 minutes")
    windowing(data, seen)(windows).agg(n=wr.count()).collect()
    counted = wr.counters(windowing(events())(windows).agg(n=wr.count()))
    assert dict(seen.get) == counted
