"""The queries of test_end_to_end.py, in a process: `python -m tests.kafka.job address input updates finals place`.

Two queries read one topic and write to a topic each: every update with its tombstones, and the finals. A line on the
standard input lets them take what is there, and end. Lines on the standard output that begin with `job:` tell
`started`, `ended` and `failed` with the reason.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming import StreamingQuery

import windrow as wr

from . import session
from .stream import records_of
from .windowed_key import session_records

GAP, GRACE = 2_000, 3_000
ROWS = 400
"""Of a micro-batch, so that there are some to be killed in."""


def windowed(records: DataFrame) -> wr.WindowedData[Any]:
    """What the test runs in a driver, too."""
    grouped = wr.group_by(records, "user", time="time", tick="tick", source=["topic", "partition"], order="offset")
    return grouped.windowed_by(wr.SessionWindows.with_gap(f"{GAP} milliseconds", grace=f"{GRACE} milliseconds"))


def start(rows: DataFrame, address: str, topic: str, checkpoint: Path) -> StreamingQuery:
    """A query into a topic."""
    records = session_records(rows, "user", "n")
    writer = records.writeStream.format("kafka").option("kafka.bootstrap.servers", address).option("topic", topic)
    return writer.option("checkpointLocation", str(checkpoint)).start()


def tell(*words: str) -> None:
    print("job:", *words, flush=True)


def main() -> None:
    """Runs until it is asked to end, or a query fails."""
    address, topic, updates, finals = sys.argv[1:5]
    place = Path(sys.argv[5])
    spark = session.start("windrow kafka job", memory="800m", spark_driver_extraJavaOptions=session.QUICK_START)
    data = windowed(records_of(spark, address, topic, rows=ROWS)).shards(2)
    queries = [
        start(data.emit("update").agg(n=wr.count()), address, updates, place / "updates" / "checkpoint"),
        start(data.agg(n=wr.count()), address, finals, place / "finals" / "checkpoint"),
    ]
    tell("started")
    try:
        sys.stdin.readline()
        for query in queries:
            query.processAllAvailable()
            query.stop()
    except Exception as error:
        tell("failed", " ".join(str(error).split()))
    else:
        tell("ended")
    os._exit(0)


if __name__ == "__main__":
    main()
