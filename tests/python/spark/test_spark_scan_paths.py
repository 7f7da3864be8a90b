"""Paths that a scan refuses: those of a file twice, of none, and of times of INT96 that Spark would convert."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

import windrow as wr

from ..harness.spark_scenes import SetConf
from ..scenes import EIGHT

TWICE = [("b c", "b c/"), ("b c", "b c/1.parquet"), ("b ?", "{b c,x}")]
APART = [("b c", "b d"), ("b c", "b c/old")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("paths")
    for name in ("b c/1", "b d/1", "b c/old/2"):
        (folder / name).parent.mkdir(exist_ok=True)
        pq.write_table(pa.table({"ts": pa.array([0], pa.timestamp("us"))}), folder / f"{name}.parquet")
    return folder


@pytest.mark.parametrize(("one", "other"), [*TWICE, *APART])
def test_paths_are_refused_if_spark_reads_a_file_twice(spark: SparkSession, folder: Path, one: str, other: str) -> None:
    paths = [f"{folder}/{one}", f"file:{folder}/{other}"]
    read = [row.file for row in spark.read.parquet(*paths).select(F.input_file_name().alias("file")).collect()]
    assert (len(read) > len(set(read))) == ((one, other) in TWICE)
    if (one, other) in TWICE:
        said = r"^paths: got .*; allowed: paths that do not overlap; several have .*/b%20c/1"
        with pytest.raises(ValueError, match=said):
            wr.scan_parquet(spark, paths)
    else:
        windows = wr.SessionWindows.with_gap("1 second")
        windowed = wr.group_by(wr.scan_parquet(spark, paths), time="ts").windowed_by(windows)
        assert windowed.agg(n=wr.count()).collect()[0].n == len(read) == 2


def test_an_empty_folder_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="paths: got .*there are none"):
        wr.scan_parquet(spark, str(tmp_path))


def test_times_that_spark_would_convert_are_refused(spark: SparkSession, set_conf: SetConf, tmp_path: Path) -> None:
    setting, path = "spark.sql.parquet.int96TimestampConversion", str(tmp_path)
    data = pa.table({"user": ["ann"], "ts": pa.array([EIGHT], pa.timestamp("us"))})
    folder = tmp_path / "at=2026-05-04 08%3A00%3A00"
    folder.mkdir()
    pq.write_table(data, folder / "impala.parquet", use_deprecated_int96_timestamps=True)
    set_conf("spark.sql.session.timeZone", "Asia/Tokyo")
    set_conf(setting, "true")
    assert spark.read.parquet(path).where("hour(ts) = 8").count() == 1  # not 17, the hour of 8:00 UTC
    with pytest.raises(
        ValueError, match=f"{setting}: got 'true'; allowed: false, or spark.read.parquet instead of scan"
    ):
        wr.scan_parquet(spark, path)
    assert wr.scan_parquet(spark, path, columns=["user", "at"]).columns == ("user", "at")
    assert spark.read.parquet(path).schema["at"].dataType == TimestampType()  # a folder's
    set_conf(setting, "false")
    assert wr.scan_parquet(spark, path).columns == ("user", "ts", "at")
