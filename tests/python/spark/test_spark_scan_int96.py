"""A scan refuses files with timestamps while Spark converts times of INT96."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import TimestampType

import windrow as wr

from ..harness.spark_scenes import SetConf
from ..scenes import EIGHT

SETTING = "spark.sql.parquet.int96TimestampConversion"


def test_times_that_spark_would_convert_are_refused(spark: SparkSession, set_conf: SetConf, tmp_path: Path) -> None:
    data = pa.table({"user": ["ann"], "ts": pa.array([EIGHT], pa.timestamp("us"))})
    folder = tmp_path / "at=2026-05-04 08%3A00%3A00"
    folder.mkdir()
    pq.write_table(data, folder / "impala.parquet", use_deprecated_int96_timestamps=True)
    set_conf("spark.sql.session.timeZone", "Asia/Tokyo")
    set_conf(SETTING, "true")
    assert spark.read.parquet(str(tmp_path)).where("hour(ts) = 8").count() == 1  # not 17, the hour of 8:00 UTC
    with pytest.raises(
        ValueError, match=f"{SETTING}: got 'true'; allowed: false, or spark.read.parquet instead of scan"
    ):
        wr.scan_parquet(spark, str(tmp_path))
    assert wr.scan_parquet(spark, str(tmp_path), columns=["user", "at"]).columns == ("user", "at")
    assert spark.read.parquet(str(tmp_path)).schema["at"].dataType == TimestampType()  # a folder's
    set_conf(SETTING, "false")
    assert wr.scan_parquet(spark, str(tmp_path)).columns == ("user", "ts", "at")
