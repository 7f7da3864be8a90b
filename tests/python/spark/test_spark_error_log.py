"""PySpark logs an error of Spark even if it is caught. A correct query of windrow logs none."""

from __future__ import annotations

import logging
import threading

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import windrow as wr
from windrow._spark.error_log import without_error_log

from ..harness.spark_scenes import events

GAP = wr.SessionWindows.with_gap("5 minutes")


def test_a_correct_query_logs_no_error_of_spark(spark: SparkSession) -> None:
    data = events(spark, rows=10, keys=2)
    logger = pytest.importorskip("pyspark.logger").PySparkLogger.getLogger("DataFrameQueryContextLogger")
    logged: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: logged.append(record.getMessage())  # type: ignore[method-assign]
    logger.addHandler(handler)
    try:
        windowed = wr.group_by(data, F.col("user_id"), time=F.col("ts")).windowed_by(GAP)
        inputs = {name: wr.group_by(data, "user_id", time="ts") for name in ("clicks", "orders")}
        wr.cogroup(**inputs).windowed_by(GAP).agg(n=wr.sum(F.col("orders.items") * 2))
        with pytest.raises(ValueError, match="lacks"):
            windowed.agg(n=wr.sum(F.col("lacks") * 2))
        assert logged == []
        with pytest.raises(Exception, match="lacks"):
            _ = data.select(F.col("lacks")).schema
        assert len(logged) == 1  # an error of the user's own query
        with without_error_log():
            with without_error_log():
                logger.error("inner")
            logger.error("outer")
            other = threading.Thread(target=logger.error, args=["another thread"])
            other.start()
            other.join()
        logger.error("after")
        assert logged[1:] == ["another thread", "after"]
    finally:
        logger.removeHandler(handler)
