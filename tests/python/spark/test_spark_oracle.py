"""The oracle's sessions are Spark's own: a third witness for the rule at exactly the gap, ties and order."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from ..harness.spark_scenes import events, rows, spark_sessions
from ..harness.spark_tables import table_of
from ..harness.tables import records
from ..oracle.records import by_key


def test_the_oracles_sessions_are_sparks(spark: SparkSession) -> None:
    from ..oracle.sessions import sessions

    data = events(spark, rows=1_500, keys=40).withColumn("ts", F.date_trunc("minute", "ts"))
    theirs = rows(spark_sessions(data, ["user_id"], "30 minutes", n=F.count("*")), ["user_id"])
    ours = {
        (key, start, end): {"n": len(members)}
        for key, found in by_key(records(table_of(data), ["user_id"])).items()
        for start, end, members in sessions(found, 30 * 60 * 10**6)
    }
    assert ours == theirs
    assert len(ours) > 300
