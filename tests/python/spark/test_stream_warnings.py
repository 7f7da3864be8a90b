"""Streaming queries: what a user is warned of at the call."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import windrow as wr

from ..harness.stream_scenes import DDL, windowed
from ..harness.streams import Folder, source

pytestmark = pytest.mark.needs("streams")


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> DataFrame:
    """Of a session of its own."""
    fresh = spark.newSession()
    wr.configure(fresh)
    return source(fresh, Folder(tmp_path / "none"), DDL)


def test_far_more_partitions_than_shards_give_one_warning_a_query(stream: DataFrame) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for partitions in (12, 13, 200):
            stream.sparkSession.conf.set("spark.sql.shuffle.partitions", partitions)
            windowed(stream).shards(3).count()
    assert [warning.filename for warning in caught] == [__file__] * 2
    for warning, partitions in zip(caught, (13, 200), strict=True):
        assert issubclass(warning.category, UserWarning)
        assert f"shuffle.partitions is {partitions}, so each micro-batch has {partitions} tasks" in str(warning.message)
        assert "at most 3 of which, one for each shard" in str(warning.message)
        assert 'spark.conf.set("spark.sql.shuffle.partitions", "' in str(warning.message)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 'Traceback' >&2; echo \"No module named 'pandas'\" >&2; exit 1", "/python9 cannot run .*named 'pandas'"),
        ("exit 3", "/python9 cannot run Spark's workers .exit status 3."),
        (None, "this machine has no '.*/python9' to run"),
        ("exit 0", None),
    ],
)
def test_a_driver_without_the_workers_python_gives_one_warning(
    stream: DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, message: str | None
) -> None:
    python = tmp_path / "python9"
    if script is not None:
        python.write_text(f"#!/bin/sh\n{script}\n")
        python.chmod(0o755)
    monkeypatch.setattr(stream.sparkSession.sparkContext, "pythonExec", str(python))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for _ in range(2):
            windowed(stream).count()
    assert len(warned) == (message is not None)
    for warning in warned:
        assert re.search(f"{message}.*PYSPARK_PYTHON .now '{python}'.*{sys.executable}", str(warning.message))
        assert warning.filename == __file__
