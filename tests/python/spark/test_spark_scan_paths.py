"""Paths of a scan that have a file twice, or none. Spark lists a file once, and reads it once for each path."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import windrow as wr

PATHS = [("b c", "b c/"), ("b c", "b c/1.parquet"), ("b ?", "{b c,x}"), ("b c", "b d"), ("b c", "b c/old")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("paths")
    for name in ("b c/1", "b d/1", "b c/old/2"):
        (folder / name).parent.mkdir(exist_ok=True)
        pq.write_table(pa.table({"ts": pa.array([0], pa.timestamp("us"))}), folder / f"{name}.parquet")
    return folder


@pytest.mark.parametrize(("one", "other"), PATHS)
def test_paths_are_refused_if_spark_reads_a_file_twice(spark: SparkSession, folder: Path, one: str, other: str) -> None:
    paths = [f"{folder}/{one}", f"file:{folder}/{other}"]
    read = [row.file for row in spark.read.parquet(*paths).select(F.input_file_name().alias("file")).collect()]
    assert (len(read) > len(set(read))) == ((one, other) in PATHS[:3])
    if (one, other) in PATHS[:3]:
        with pytest.raises(
            ValueError, match=r"^paths: got .*; allowed: paths that do not overlap; several have .*/b%20c/1"
        ):
            wr.scan_parquet(spark, paths)
    else:
        windowed = wr.group_by(wr.scan_parquet(spark, paths), time="ts")
        windowed = windowed.windowed_by(wr.SessionWindows.with_gap("1 second"))
        assert windowed.agg(n=wr.count()).collect()[0].n == len(read) == 2


def test_an_empty_folder_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="paths: got .*there are none"):
        wr.scan_parquet(spark, str(tmp_path))
