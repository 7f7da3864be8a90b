"""Times of INT96 that Spark would move, as Impala writes them, are refused by a scan."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import windrow as wr

from ..scenes import EIGHT

SETTING = "spark.sql.parquet.int96TimestampConversion"


def test_times_that_spark_would_move_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    data = pa.table({"user": ["ann"], "ts": pa.array([EIGHT], pa.timestamp("us"))})
    pq.write_table(data, tmp_path / "impala.parquet", use_deprecated_int96_timestamps=True)
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    spark.conf.set(SETTING, "true")
    try:
        assert spark.read.parquet(str(tmp_path)).where("hour(ts) = 8").count() == 1  # not 17, the hour of 8:00 UTC
        with pytest.raises(ValueError, match=f"{SETTING}: got 'true'; allowed: false .* timestamps, or spark.read"):
            wr.scan_parquet(spark, str(tmp_path))
        assert wr.scan_parquet(spark, str(tmp_path), columns=["user"]).columns == ("user",)
    finally:
        spark.conf.unset(SETTING)
        spark.conf.set("spark.sql.session.timeZone", zone)
    assert wr.scan_parquet(spark, str(tmp_path)).columns == ("user", "ts")
