"""Topics as streams of Spark, and micro-batches of a query as a test sees them."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import windrow as wr
from windrow.kafka import with_ticks

PATIENCE = 120
"""How many seconds a query may take."""
COUNTERS = ("records", "late", "ahead", "null_keys", "null_times", "ticks", "bad_ticks", "windows_open")
"""The counters that tests ask for."""


def records_of(
    spark: SparkSession, address: str, *topics: str, rows: int | None = None, starting: str = "earliest"
) -> DataFrame:
    """Records and ticks of topics: `user`, `time`, `tick`, `topic`, `partition`, `offset`.

    `rows` is how many a micro-batch takes at the most, `starting` the value of Spark's `startingOffsets`.
    """
    source = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", address)
        .option("subscribe", ",".join(topics))
        .option("startingOffsets", starting)
        .option("includeHeaders", "true")
    )
    if rows is not None:
        source = source.option("maxOffsetsPerTrigger", rows)
    user, time = F.col("key").cast("string").alias("user"), F.col("event_time").alias("time")
    return with_ticks(source.load()).select(user, time, "tick", "topic", "partition", "offset")


class Query:
    """A query that runs, with the rows that it has given."""

    def __init__(self, rows: DataFrame, place: Path, *, once: bool = False) -> None:
        """Starts it, with its checkpoint at `place`; `once` takes what is there and ends."""
        self.rows: list[Row] = []
        writer = rows.writeStream.foreachBatch(self._take).option("checkpointLocation", str(place))
        self._query = (writer.trigger(availableNow=True) if once else writer).start()

    def _take(self, frame: DataFrame, _: int) -> None:
        self.rows += frame.collect()

    def wait(self) -> Query:
        """Waits for the end of a query that takes what is there."""
        if not self._query.awaitTermination(PATIENCE):
            self._query.stop()
            raise TimeoutError(f"the query has not ended within {PATIENCE} s")
        return self

    def catch_up(self) -> None:
        """Waits until all that is in the topics now is taken."""
        self._query.processAllAvailable()

    def stop(self) -> None:
        self._query.stop()

    def failure(self) -> str | None:
        """Why it has failed."""
        failure = self._query.exception()
        return None if failure is None else str(failure)

    @property
    def counters(self) -> dict[str, int]:
        """The counters of all micro-batches, added up, but `windows_open`, which is that of the last one."""
        total = dict.fromkeys(COUNTERS, 0)
        for message in self._query.recentProgress:
            observed = wr.counters(message)
            if observed:
                for name in COUNTERS:
                    total[name] += observed[name]
                total["windows_open"] = observed["windows_open"]
        return total
