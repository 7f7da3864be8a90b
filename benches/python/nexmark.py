"""Nexmark's q11 and q0: windrow on Spark next to Flink, on the same two cores, from Parquet files and from Kafka.

    python benches/python/nexmark.py                                           all of it
    python benches/python/nexmark.py --source parquet --query q11 --bids 200000 --repeats 1

q11 counts the bids of each bidder in each session of 10 s, with a watermark 4 s behind; q0 passes bids on. `bids.py`
makes the bids, in order of time, with the distribution of Nexmark's generator. Both engines drop the results.

* Flink: two task slots in one process, state in RocksDB, an incremental checkpoint every 10 s, and otherwise the
  settings of Nexmark for Flink (`flink.py`). The time is that of the job, without the start of its cluster.
* windrow on Spark: two cores, state in RocksDB, a checkpoint with each micro-batch. The time is the sum of the
  micro-batches.

Flink's Parquet reader takes whole files in any order, so it gets one file for each slot, with every other bid. Spark
gets one file for each micro-batch. The topic has four partitions of JSON with Nexmark's columns.

The engines take turns. A first run, which is not measured, gives the sessions of q11, and both must be the same:
Flink's SESSION_END is windrow's end and the gap. Prints medians: bids a second, the cores in use (seconds of the
processor for each second), and bids for each second of the processor. The broker is not in them. Exit 1 if the sessions
differ.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path

import bids
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from flink import Flink, Run, started
from processor import processor_seconds
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.kafka import session, topics  # noqa: E402
from tests.kafka.broker import Broker  # noqa: E402

import windrow as wr  # noqa: E402

GAP, WATERMARK = 10, 4
PARTITIONS = 4
SHARDS = 8
COLUMNS = "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, `dateTime` {time}, extra STRING"
SPARK_COLUMNS = COLUMNS.format(time="TIMESTAMP")
PASSED = ("auction", "bidder", "price", "dateTime", "extra")
FLINK = {
    "q0": "SELECT auction, bidder, price, `dateTime`, extra FROM bid",
    "q11": f"""SELECT bidder, count(*), SESSION_START(`dateTime`, INTERVAL '{GAP}' SECOND),
        SESSION_END(`dateTime`, INTERVAL '{GAP}' SECOND)
        FROM bid GROUP BY bidder, SESSION(`dateTime`, INTERVAL '{GAP}' SECOND)""",
}
SINKS = {
    "q0": "auction BIGINT, bidder BIGINT, price BIGINT, `dateTime` TIMESTAMP(3), extra STRING",
    "q11": "bidder BIGINT, bid_count BIGINT, starttime TIMESTAMP(3), endtime TIMESTAMP(3)",
}


class Source:
    """Bids of one kind of source: options of Flink's table, and a stream of Spark."""

    def __init__(
        self, options: dict[str, str], stream: Callable[[SparkSession], DataFrame], **grouping: object
    ) -> None:
        """`grouping` are further arguments of `group_by`."""
        self.options, self.stream, self.grouping = options, stream, grouping

    def table(self) -> str:
        """Flink's table `bid`."""
        options = ", ".join(f"'{name}' = '{value}'" for name, value in self.options.items())
        columns = COLUMNS.format(time="TIMESTAMP(3)")
        watermark = f"WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '{WATERMARK}' SECOND"
        return f"CREATE TABLE bid ({columns}, {watermark}) WITH ({options})"


def parquet(folder: Path, count: int, rate: int, batch: int) -> Source:
    """Files: for Spark one for each micro-batch, for Flink one for each slot, with every other bid."""
    spark, flink = folder / "spark", folder / "flink"
    for child in (spark, flink):
        child.mkdir()
    writers: list[pq.ParquetWriter] = []
    tables = chain(bids.bids(count, rate, batch), [bids.closing(count, rate)])
    for number, table in enumerate(tables):
        path = spark / f"{number:05d}.parquet"
        pq.write_table(table, path, row_group_size=-(-table.num_rows // 2))  # a row group for each core
        os.utime(path, (1_600_000_000 + 10 * number,) * 2)  # Spark reads the oldest first
        for slot in range(2):
            if len(writers) <= slot:
                writers.append(pq.ParquetWriter(flink / f"{slot}.parquet", table.schema))
            writers[slot].write_table(table.take(np.arange(slot, table.num_rows, 2)))
    for writer in writers:
        writer.close()

    def stream(session: SparkSession) -> DataFrame:
        return session.readStream.schema(SPARK_COLUMNS).option("maxFilesPerTrigger", 1).parquet(str(spark))

    return Source({"connector": "filesystem", "path": flink.as_uri(), "format": "parquet"}, stream)


def kafka(broker: Broker, count: int, rate: int, batch: int) -> Source:
    """A topic of JSON."""
    topic = topics.create(broker.address, "bids", PARTITIONS)
    topics.write(broker.address, topic, messages(count, rate))
    options = {
        "connector": "kafka",
        "topic": topic,
        "properties.bootstrap.servers": broker.address,
        "scan.startup.mode": "earliest-offset",
        "scan.bounded.mode": "latest-offset",
        "format": "json",
    }

    def stream(session: SparkSession) -> DataFrame:
        reader = session.readStream.format("kafka").option("kafka.bootstrap.servers", broker.address)
        reader = reader.option("subscribe", topic).option("startingOffsets", "earliest")
        rows = reader.option("maxOffsetsPerTrigger", batch).load()
        bid = F.from_json(F.col("value").cast("string"), SPARK_COLUMNS, {"timestampFormat": "yyyy-MM-dd HH:mm:ss.SSS"})
        return rows.select("topic", "partition", bid.alias("bid")).select("topic", "partition", "bid.*")

    return Source(options, stream, source=["topic", "partition"], stream_time="slowest")


def messages(count: int, rate: int) -> Iterator[tuple[int, None, bytes, int]]:
    """Records of the topic: partition, key, value, milliseconds. Bids go to the partitions in turn, and each partition
    gets a closing bid.
    """
    number = 0
    for table in chain(bids.bids(count, rate), [bids.closing(count, rate)] * PARTITIONS):
        columns = [table[name].to_pylist() for name in ("auction", "bidder", "price", "channel", "url", "extra")]
        texts = pc.strftime(table["dateTime"], "%Y-%m-%d %H:%M:%S").to_pylist()
        times = table["dateTime"].cast(pa.int64()).to_pylist()
        for auction, bidder, price, channel, url, extra, text, time in zip(*columns, texts, times, strict=True):
            value = (
                f'{{"auction":{auction},"bidder":{bidder},"price":{price},"channel":"{channel}","url":"{url}",'
                f'"dateTime":"{text}","extra":"{extra}"}}'
            )
            yield number % PARTITIONS, None, value.encode(), time
            number += 1


def ours(name: str, data: DataFrame, source: Source) -> DataFrame:
    """A query by windrow on Spark."""
    if name == "q0":
        return data.select(*PASSED)
    grouped = wr.group_by(data, "bidder", time="dateTime", **source.grouping)
    windows = wr.SessionWindows.with_gap(f"{GAP} seconds", grace=f"{WATERMARK} seconds")
    return grouped.windowed_by(windows).shards(SHARDS).agg(bid_count=wr.count())


def run(spark: SparkSession, frame: DataFrame, sink: str = "noop", path: Path | None = None) -> Run:
    """A stream to the end of its source."""
    process = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = frame.writeStream.format(sink).trigger(availableNow=True).option("checkpointLocation", checkpoint)
        before = processor_seconds(process)
        query = writer.start() if path is None else writer.start(str(path))
        query.awaitTermination()
        processor = processor_seconds(process) - before
        milliseconds = sum(progress["durationMs"]["triggerExecution"] for progress in query.recentProgress)
    return Run(milliseconds / 1000, processor)


def sessions_of_flink(flink: Flink) -> list[tuple[int, int, datetime.datetime, datetime.datetime]]:
    """The sessions of q11: bidder, bids, first and last bid."""
    gap, of_text = datetime.timedelta(seconds=GAP), datetime.datetime.fromisoformat
    rows = flink.select(FLINK["q11"])
    sessions = ((int(bidder), int(count), of_text(start), of_text(end) - gap) for bidder, count, start, end in rows)
    return sorted(session for session in sessions if session[0] != bids.NOBODY)


def sessions_of_windrow(
    spark: SparkSession, frame: DataFrame, answer_folder: Path
) -> list[tuple[int, int, datetime.datetime, datetime.datetime]]:
    """The same by windrow."""
    run(spark, frame.select("bidder", "bid_count", "window.start", "window.end"), "parquet", answer_folder)
    table = pq.read_table(answer_folder).combine_chunks()
    start, end = (table[name].cast(pa.timestamp("us")).to_pylist() for name in ("start", "end"))
    rows = zip(table["bidder"].to_pylist(), table["bid_count"].to_pylist(), start, end, strict=True)
    return sorted(session for session in rows if session[0] != bids.NOBODY)


def measure(
    name: str, source: Source, spark: SparkSession, flink: Flink, options: argparse.Namespace, answer_folder: Path
) -> tuple[bool, dict[str, list[Run]]]:
    """A query by both, in turns. Whether the answers agree, and the runs."""
    frame = ours(name, source.stream(spark), source)
    insert = f"INSERT INTO {name} {FLINK[name]}"
    agree = True
    if name == "q11":
        theirs, mine = sessions_of_flink(flink), sessions_of_windrow(spark, frame, answer_folder)
        agree = theirs == mine
        print(f"  {len(mine):,} sessions of windrow, {len(theirs):,} of Flink: {'agree' if agree else 'DIFFER'}")
    else:
        flink.insert(insert)
        run(spark, frame)
    runs: dict[str, list[Run]] = {"Flink": [], "windrow on Spark": []}
    for _ in range(options.repeats):
        runs["Flink"].append(flink.insert(insert))
        runs["windrow on Spark"].append(run(spark, frame))
    return agree, runs


def report(count: int, runs: dict[str, list[Run]]) -> None:
    """Prints a line for each engine."""
    medians = {
        engine: Run(*(statistics.median(each) for each in zip(*taken, strict=True))) for engine, taken in runs.items()
    }
    flink = medians["Flink"]
    for engine, median in medians.items():
        ratio = ""
        if median != flink:
            wall, core = flink.seconds / median.seconds, flink.processor / median.processor
            ratio = f"{wall:.2f} times as fast as Flink, {core:.2f} times for each core"
        print(
            f"  {engine:<18}{count / median.seconds:>12,.0f} bids/s {median.processor / median.seconds:>6.2f} cores"
            f"{count / median.processor:>12,.0f} bids/s for a core  {ratio}".rstrip(),
            flush=True,
        )


def main() -> int:
    """All sources and queries that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", choices=("parquet", "kafka"), action="append", help="again for both")
    parser.add_argument("--query", choices=FLINK, action="append", help="again for both")
    parser.add_argument("--bids", type=int, default=20_000_000, help="of the files")
    parser.add_argument("--kafka-bids", type=int, default=4_000_000, help="of the topic")
    parser.add_argument("--rate", type=int, default=100_000, help="events of the generator in a second of event time")
    parser.add_argument("--batch", type=int, default=1_000_000, help="bids of a micro-batch of Spark")
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    print(f"{datetime.date.today()}, {platform.machine()}, {os.cpu_count()} cores, medians of {args.repeats}")
    agree = True
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        spark = session.start(
            "windrow bench",
            memory="4g",
            spark_sql_files_openCostInBytes="4096",  # both cores read a file
            spark_sql_streaming_numRecentProgressUpdates="10000",
        )
        stack.callback(spark.stop)
        for kind in args.source or ("parquet", "kafka"):
            kind_folder = Path(folder) / kind
            kind_folder.mkdir()
            count = args.bids if kind == "parquet" else args.kafka_bids
            if kind == "parquet":
                source = parquet(kind_folder, count, args.rate, args.batch)
            else:
                source = kafka(stack.enter_context(Broker()), count, args.rate, args.batch)
            with started(kind_folder / "engine") as flink:
                flink.execute(source.table())
                for name in args.query or FLINK:
                    flink.execute(f"CREATE TABLE {name} ({SINKS[name]}) WITH ('connector' = 'blackhole')")
                    print(f"\n{name} from {kind}: {count:,} bids, {args.rate:,} events in a second of event time")
                    same, runs = measure(name, source, spark, flink, args, kind_folder / f"{name}-answer")
                    report(count, runs)
                    agree = agree and same
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
