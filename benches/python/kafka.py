"""A topic through Spark and windrow compared with Kafka Streams, on its own broker: sessions, and sliding windows.

    python benches/python/kafka.py                                     all of it (some minutes)
    python benches/python/kafka.py --only sliding-100 --events 50000   one of them, of another size
    python benches/python/kafka.py --only idle                         what producers take that send nothing

Each topic has 4 partitions with an hour or less of event time, one record in twenty late by up to 30 s. Kafka Streams
runs with two threads, RocksDB, changelogs and finals on close, in its own process, from its first record to its
last; windrow in Spark on two cores, each partition by itself and in the order of offsets, from the start of its first
micro-batch to the end of its last; both share the cores with the broker. Spark's scan reads the same columns of the
same topic and does nothing: no query in Spark can be faster. Prints medians of events a second.

All give the same number of finals, or it ends with exit 1.

Idle producers: processor time of this process, in percent of one core, while a plain producer, one that is wrapped, and
a wrapped one whose 100 partitions are quiet past `progress.control.end.ms` have nothing to do.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.kafka import session, topics  # noqa: E402
from tests.kafka.broker import Broker  # noqa: E402
from tests.kafka.control_message import time_of  # noqa: E402
from tests.kafka.deadline import until  # noqa: E402
from tests.kafka.stream import records_of  # noqa: E402
from tests.kafka.streams import reference  # noqa: E402

import windrow as wr  # noqa: E402
from windrow.kafka import ProgressProducer  # noqa: E402

SEED = 7
START = 1_700_000_000_000
PARTITIONS = 4
THREADS = 2
GRACE = 30_000
RETENTION = 1_200_000
"""Long enough for Kafka's stores to lose nothing."""
QUIET = 100
"""Partitions of an idle producer."""


@dataclass(frozen=True)
class Load:
    """What is measured.

    Attributes:
        kind: `sessions` or `sliding`.
        length: the gap or the time difference, in milliseconds.
        around: how many records of a key there are in such a time, on the average.
        span: milliseconds of event time.
        events: how many, unless asked otherwise.
    """

    kind: str
    length: int
    around: float
    span: int
    events: int

    def keys(self, events: int) -> int:
        """How many keys make `around` of this many events."""
        return max(1, round(events * self.length / self.span / self.around))

    def records(self, events: int) -> Iterator[tuple[int, bytes, bytes, int]]:
        """The topic: (partition, key, value, milliseconds), about in order of time."""
        draw = np.random.default_rng(SEED)
        key = draw.integers(0, self.keys(events), events)
        clock = np.sort(draw.integers(0, self.span, events))
        behind = np.where(draw.random(events) < 0.05, draw.integers(0, GRACE, events), 0)
        ts = START + GRACE + clock - behind
        for number, at in zip(key.tolist(), ts.tolist(), strict=True):
            yield number % PARTITIONS, b"%d" % number, b"", at

    def windows(self) -> wr.SessionWindows | wr.SlidingWindows:
        """The windows, as Kafka's are."""
        length, grace = f"{self.length} milliseconds", f"{GRACE} milliseconds"
        if self.kind == "sessions":
            return wr.SessionWindows.with_gap(length, grace=grace)
        return wr.SlidingWindows.with_time_difference(length, grace=grace, resolution="1 millisecond")


LOADS = {
    "sessions": Load("sessions", 300_000, 2.08, 3_600_000, 600_000),  # of 8 events on the average: e ** 2.08
    "sliding-10": Load("sliding", 60_000, 10, 600_000, 120_000),
    "sliding-100": Load("sliding", 60_000, 100, 600_000, 30_000),
}


def ours(spark: SparkSession, address: str, topic: str, load: Load, rows: int) -> tuple[float, int]:
    """Seconds and finals of windrow."""
    grouped = wr.group_by(
        records_of(spark, address, topic, rows=rows),
        "user",
        time="time",
        tick="tick",
        source=["topic", "partition"],
        order="offset",
    )
    finals = grouped.windowed_by(load.windows()).shards(8).agg(n=wr.count())
    progresses = run(finals)
    seconds = sum(progress["durationMs"]["triggerExecution"] for progress in progresses) / 1000
    return seconds, sum(wr.counters(progress)["windows_closed"] for progress in progresses)


def run(frame: DataFrame) -> list[dict[str, object]]:
    """The micro-batches of a query over what is there."""
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = frame.writeStream.format("noop").trigger(availableNow=True)
        query = writer.option("checkpointLocation", checkpoint).start()
        query.awaitTermination()
        return [progress for progress in query.recentProgress if progress["numInputRows"]]


def scan(spark: SparkSession, address: str, topic: str) -> float:
    """Seconds of Spark's scan."""
    begin = time.perf_counter()
    rows = spark.read.format("kafka").option("kafka.bootstrap.servers", address).option("subscribe", topic).load()
    columns = ("cast(key as string) as user", "timestamp", "topic", "partition", "offset")
    rows.selectExpr(*columns).write.format("noop").mode("overwrite").save()
    return time.perf_counter() - begin


def theirs(broker: Broker, topic: str, load: Load, events: int) -> tuple[float, int]:
    """Seconds and finals of Kafka Streams."""
    out = topics.create(broker.address, "finals", PARTITIONS)
    length = {"gap" if load.kind == "sessions" else "difference": load.length}
    kept = {"session_retention" if load.kind == "sessions" else "sliding_retention": RETENTION}
    output = reference.run(
        broker.address, topic, events, threads=THREADS, grace=GRACE, **{load.kind: out}, **length, **kept
    )
    return output.milliseconds / 1000, len(topics.read(broker.address, out))


def measure(spark: SparkSession, broker: Broker, name: str, events: int, repeats: int, rows: int) -> bool:
    """One load through all three, in turns. Whether the finals are as many."""
    load = LOADS[name]
    topic = topics.create(broker.address, name, PARTITIONS)
    topics.write(broker.address, topic, load.records(events))
    taken: dict[str, list[float]] = {"windrow": [], "Kafka Streams": [], "Spark's scan": []}
    counted: dict[str, set[int]] = {"windrow": set(), "Kafka Streams": set()}
    for _ in range(repeats):
        taken["Spark's scan"].append(scan(spark, broker.address, topic))
        for peer, (seconds, finals) in (
            ("windrow", ours(spark, broker.address, topic, load, rows)),
            ("Kafka Streams", theirs(broker, topic, load, events)),
        ):
            taken[peer].append(seconds)
            counted[peer].add(finals)
    print(f"\n{name}: {events:,} events of {load.keys(events):,} keys")
    reference_rate = events / statistics.median(taken["Kafka Streams"])
    for peer, seconds in taken.items():
        rate = events / statistics.median(seconds)
        ratio = "" if peer == "Kafka Streams" else f"  {rate / reference_rate:6.2f} times as fast as Kafka Streams"
        print(f"  {peer:<15}{rate:>10,.0f} events/s{ratio}")
    agree = len(set().union(*counted.values())) == 1
    found = ", ".join(f"{peer} {sorted(numbers)}" for peer, numbers in counted.items())
    print(f"  finals: {found}: {'agree' if agree else 'DIFFER'}", flush=True)
    return agree


def main() -> int:
    """All loads that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=[*LOADS, "idle"], action="append", help="again for more")
    parser.add_argument("--events", type=int, help="of each topic; by default a number that suits the load")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--rows", type=int, default=150_000, help="events of a micro-batch at the most")
    parser.add_argument("--idle-seconds", type=float, default=60, help="how long idle producers are measured")
    args = parser.parse_args()
    names = args.only or [*LOADS, "idle"]
    # All threads of Kafka Streams are to be there before the first record: stream time is a task's own.
    settings = {"group.initial.rebalance.delay.ms": "3000"}
    print(f"{datetime.date.today()}, {platform.machine()}, {os.cpu_count()} cores, medians of {args.repeats}")
    agree = True
    with Broker(settings) as broker:
        if "idle" in names:  # before there is a Spark
            agree = idle(broker, args.idle_seconds)
        loads = [name for name in names if name in LOADS]
        if loads:
            spark = session.start("windrow bench", memory="2g")
            try:
                warm(spark, broker)
                for name in loads:
                    events = args.events or LOADS[name].events
                    agree = measure(spark, broker, name, events, args.repeats, args.rows) and agree
            finally:
                spark.stop()
    return 0 if agree else 1


def idle(broker: Broker, seconds: float) -> bool:
    """What producers take that have nothing to do. Whether they had nothing to do."""
    settings = {"bootstrap.servers": broker.address}
    rows = list[tuple[str, float]]()
    plain = Producer(settings)
    plain.list_topics(timeout=30)
    rows.append(("Producer, connected", busy(seconds)))
    del plain
    with ProgressProducer(Producer(settings), settings) as producer:
        producer.list_topics(timeout=30)
        rows.append(("ProgressProducer, nothing produced", busy(seconds)))
    topic = topics.create(broker.address, "quiet", QUIET)
    options = {f"progress.control.{name}.ms": value for name, value in (("start", 500), ("end", 1_000))}
    with ProgressProducer(Producer(settings), settings | options) as producer:
        for partition in range(QUIET):
            producer.produce(topic, partition=partition, timestamp=START)
        producer.flush(30)
        until(lambda: len(ended(broker.address, topic)) == QUIET, 60, "the last tick of each partition")
        before = producer.counters()
        rows.append((f"ProgressProducer, {QUIET} partitions past the end", busy(seconds)))
        is_still = producer.counters() == before
    print(f"\nidle: processor time of the process over {seconds:g} s, in percent of one core")
    for name, percent in rows:
        print(f"  {name:<46}{percent:6.2f} %", flush=True)
    return is_still


def busy(seconds: float) -> float:
    """Percent of one core that this process takes, all its threads together."""
    began, spent = time.perf_counter(), time.process_time()
    time.sleep(seconds)
    return 100 * (time.process_time() - spent) / (time.perf_counter() - began)


def ended(address: str, topic: str) -> set[int]:
    """The partitions that got their last time."""
    ticks = ((record.partition, time_of(record)) for record in topics.read(address, topic))
    return {partition for partition, at in ticks if at is not None and at >= START + 1_000}


def warm(spark: SparkSession, broker: Broker) -> None:
    """Starts Python workers and compiles what all queries run."""
    topic = topics.create(broker.address, "warm", PARTITIONS)
    topics.write(broker.address, topic, LOADS["sliding-10"].records(20_000))
    for load in LOADS.values():
        ours(spark, broker.address, topic, load, 10_000)
    scan(spark, broker.address, topic)


if __name__ == "__main__":
    sys.exit(main())
