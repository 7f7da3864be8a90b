"""Streaming sessions: windrow compared with Spark's session_window, the same files in turn, one file a micro-batch.

    python benches/python/streaming.py                                all sizes (some 40 minutes)
    python benches/python/streaming.py --sessions 100000 --events 1000000
    python benches/python/streaming.py --sessions 10000000 --query close
    python benches/python/streaming.py --sessions 100000 --query file --query arrow --query state --query close
    python benches/python/streaming.py --sessions 100000 --sessions 1000000 --events 1000000 --query update --in-turn
    python benches/python/streaming.py --sessions 100000 --events 50000 --query update --query paced

All queries of a size run in one Spark session and take turns, so that each sees the same machine; before, they have
taken some small micro-batches, as a stream runs for long. State is in RocksDB with changelogs for all. Prints the
median time of a micro-batch (`triggerExecution`), how many times as fast as session_window windrow is, and the bytes of
state for each open session. With `--in-turn` the sizes take turns as well, and the largest is compared with the
smallest: a machine is not equally fast from one minute to the next.
The finals of all queries are added up and compared, of updates their number and events. Exit 1 when they differ.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import events
import floor
import local_spark
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import windrow as wr

SESSIONS, EVENTS = (100_000, 1_000_000, 10_000_000), (1_000_000, 50_000)
GAP, GRACE = "5 minutes", "1 minute"
SHUFFLED = 2  # partitions of the shuffle, one a core
WARM = 120  # micro-batches before all others, in which the JVM compiles what runs often
SETTLE = 10  # micro-batches of each size before the measured ones
SCHEMA = "user long, ts timestamp, amount double"
FAR = 10**12  # microseconds: later than any session


class Files:
    """Files of events, in the order of time from file to file and shuffled within each."""

    def __init__(self, folder: Path, sessions: int) -> None:
        self.folder = folder
        self.sessions = sessions
        self.random = np.random.default_rng(events.SEED)
        self.time = events.EPOCH
        self.paths: list[Path] = []
        folder.mkdir(parents=True)

    def each_user(self) -> None:
        """A file in which each user has one event, in files of a million at most."""
        for users in np.array_split(np.arange(self.sessions), max(1, self.sessions // 1_000_000)):
            self._add(self.random.permutation(users))

    def events(self, count: int) -> None:
        """A file of this many events of any users."""
        self._add(self.random.integers(0, self.sessions, count))

    def last(self) -> None:
        """Two files of one event each of nobody else, far away: a watermark closes all sessions in the second."""
        for _ in range(2):
            self.time += FAR
            self._add(np.array([-1]))

    def _add(self, user: np.ndarray) -> None:
        span = max(1, len(user) * events.MEAN_DISTANCE // self.sessions)
        ts = self.time + self.random.integers(0, span, len(user))
        self.time += span
        amount = self.random.integers(1, 10_000, len(user)) / 100
        columns = {"user": pa.array(user, pa.int64()), "ts": pa.array(ts, pa.timestamp("us", "UTC")), "amount": amount}
        path = self.folder / f"{len(self.paths):04d}.parquet"
        pq.write_table(pa.table(columns), path, row_group_size=max(1, len(user) // 4))
        os.utime(path, (1_600_000_000 + 10 * len(self.paths),) * 2)
        self.paths.append(path)


def ours(data: DataFrame, emit: Any, every: str | None = None) -> DataFrame:
    """Sessions by windrow."""
    windowed = wr.group_by(data, "user", time="ts").windowed_by(wr.SessionWindows.with_gap(GAP, grace=GRACE))
    return (
        windowed.shards(floor.SHARDS)
        .emit(emit, every=every)
        .agg(clicks=wr.count(), spend=wr.sum("amount"), low=wr.min("amount"), high=wr.max("amount"))
    )


def theirs(data: DataFrame) -> DataFrame:
    """The same by Spark."""
    window = F.session_window("ts", GAP).alias("window")
    return (
        data.withWatermark("ts", GRACE)
        .groupBy("user", window)
        .agg(
            F.count("*").alias("clicks"),
            F.sum("amount").alias("spend"),
            F.min("amount").alias("low"),
            F.max("amount").alias("high"),
        )
    )


QUERIES = {
    "close": lambda data: ours(data, "close"),
    "update": lambda data: ours(data, "update"),
    "paced": lambda data: ours(data, "update", GAP),
    "session_window": theirs,
    **floor.QUERIES,
}
OURS = ("close", "update", "paced")
WINDOWS = (*OURS, "session_window")
FINALS = ("close", "session_window")  # of which each row is a final window


@dataclass
class Running:
    """A query that takes files one by one."""

    name: str
    spark: SparkSession
    folder: Path
    seen: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.input = self.folder / "in"
        self.input.mkdir(parents=True)
        data = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(self.input))
        # Not a filter, which Spark would push below its own windows: the last events would move nothing.
        one = F.when(F.col("user") >= 0, 1)
        cents = F.sum(one * F.floor(F.col("spend") * 100 + 0.5))
        answer = [F.sum(one).alias("rows"), F.sum(one * F.col("clicks")).alias("clicks"), cents.alias("cents")]
        result = QUERIES[self.name](data)
        if self.name in FINALS:
            result = result.observe("answer", *answer)
        writer = result.writeStream.format("noop").outputMode("append")
        self.query = writer.option("checkpointLocation", str(self.folder / "checkpoint")).start()

    def take(self, path: Path) -> None:
        """One file, to its end."""
        os.link(path, self.input / path.name)
        self.query.processAllAvailable()
        self.gather()

    def gather(self) -> None:
        """Takes the progress that is new; that of a micro-batch may come some time after it."""
        known = {progress["batchId"] for progress in self.seen}
        for progress in (json.loads(progress.json) for progress in self.query.recentProgress):
            if progress["batchId"] not in known and progress["numInputRows"] + len(progress["stateOperators"]):
                self.seen.append(progress)

    def times(self, since: int) -> list[int]:
        """Milliseconds of the micro-batches with rows."""
        return [known["durationMs"]["triggerExecution"] for known in self.seen if known["numInputRows"]][since:]

    def total(self, name: str) -> int:
        """The sum of a counter of windrow over all micro-batches."""
        return sum(wr.counters(known).get(name) or 0 for known in self.seen)

    def answer(self) -> tuple[int, ...]:
        """Finals, the events in them, and the cents; of updates, the closed sessions and the events."""
        if self.name in FINALS:
            answers = [known.get("observedMetrics", {}).get("answer") or {} for known in self.seen]
            return tuple(sum(answer.get(name) or 0 for answer in answers) for name in ("rows", "clicks", "cents"))
        # Without the last two events, of nobody: one of them is closed by the other.
        return self.total("windows_closed") - 1, self.total("records") - 2


def take_in_turn(running: list[Running], paths: list[Path]) -> None:
    """Files one by one, each by all queries."""
    for path in paths:
        for query in running:
            query.take(path)


def warm(spark: SparkSession, names: list[str], folder: Path) -> None:
    """All queries over many small micro-batches: the JVM compiles them as it would within a stream's first minute."""
    files = Files(folder / "files", 100_000)
    for _ in range(WARM):
        files.events(50_000)
    running = [Running(name, spark, folder / name) for name in names]
    take_in_turn(running, files.paths)
    for query in running:
        query.query.stop()


class Size:
    """The queries of one size of state and of micro-batches, and their files."""

    def __init__(
        self, spark: SparkSession, sessions: int, count: int, names: list[str], repeats: int, folder: Path
    ) -> None:
        self.sessions, self.count = sessions, count
        files = Files(folder / "files", sessions)
        if sessions > 500_000:
            files.each_user()
        self.first = list(files.paths)
        for _ in range(SETTLE + repeats):
            files.events(count)
        self.paths = files.paths[len(self.first) :]
        files.last()
        self.last = files.paths[-2:]
        self.running = [Running(name, spark, folder / name) for name in names]

    def times(self, query: Running) -> list[int]:
        """Milliseconds of the measured micro-batches of a query."""
        return query.times(len(self.first) + SETTLE)[: len(self.paths) - SETTLE]

    def medians(self) -> dict[str, float]:
        """Of each query the median of its times."""
        return {query.name: statistics.median(self.times(query)) for query in self.running}

    def report(self) -> None:
        """Prints what the micro-batches took."""
        print(f"\n{self.sessions:,} open sessions, micro-batches of {self.count:,} events")
        medians = self.medians()
        for query in self.running:
            median, times = medians[query.name], self.times(query)
            theirs = medians.get("session_window")
            is_ours = query.name in OURS
            ratio = f"{theirs / median:5.2f} times as fast" if theirs and is_ours else ""
            state = ""
            counters = wr.counters(query.seen[-1])
            if counters:
                rows, size = max(1, counters["windows_open"]), counters["state_bytes"]
                users = rows / self.sessions
                state = f"{size / rows:6.1f} bytes a stored session, {users:.2f} of them for each user"
            print(f"  {query.name:<15}{median:8.0f} ms  ({min(times)} to {max(times)})  {ratio:<22}{state}")

    def finish(self) -> bool:
        """Closes all sessions and stops. Whether the finals agree."""
        take_in_turn(self.running, self.last)
        for query in self.running:
            query.query.stop()
            query.gather()
        answers = {query.name: query.answer() for query in self.running if query.name in WINDOWS}
        totals = [{answer[:length] for answer in answers.values() if len(answer) >= length} for length in (2, 3)]
        agree = all(len(equal) <= 1 for equal in totals)
        print(f"  {answers}: {'agree' if agree else 'DIFFER'}", flush=True)
        return agree


def measure(sizes: list[Size]) -> bool:
    """Sizes that take turns, file by file. Whether the finals agree."""
    for size in sizes:
        take_in_turn(size.running, size.first)
    for paths in zip(*(size.paths for size in sizes), strict=True):
        for size, path in zip(sizes, paths, strict=True):
            take_in_turn(size.running, [path])
    agree = True
    for size in sizes:
        size.report()
        agree = size.finish() and agree
    if len(sizes) > 1:
        least, most = sizes[0].medians(), sizes[-1].medians()
        ratios = ", ".join(f"{name} {most[name] / least[name]:.2f}" for name in least if name in most)
        print(f"\n{sizes[-1].sessions:,} open sessions take so many times as long as {sizes[0].sessions:,}: {ratios}")
    return agree


def main() -> int:
    """All sizes that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, action="append", help="open sessions, again for more")
    parser.add_argument("--events", type=int, action="append", help="events of a micro-batch, again for more")
    parser.add_argument("--query", action="append", choices=QUERIES)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--in-turn", action="store_true", help="sizes of as many events take turns")
    args = parser.parse_args()
    spark = local_spark.start()
    spark.conf.set("spark.sql.shuffle.partitions", str(SHUFFLED))
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "1000")
    spark.conf.set("spark.sql.files.openCostInBytes", "4096")  # a file is cut into two splits, of as many rows each
    print(f"{datetime.date.today()}, {platform.machine()}, {os.cpu_count()} cores, medians of {args.repeats}")
    with tempfile.TemporaryDirectory() as folder:
        warm(spark, args.query or list(WINDOWS), Path(folder))
    agree = True
    stored, counts = sorted({*(args.sessions or SESSIONS)}), args.events or EVENTS
    groups = [[(sessions, count)] for sessions in stored for count in counts]
    if args.in_turn:
        groups = [[(sessions, count) for sessions in stored] for count in counts]
    for group in groups:
        with tempfile.TemporaryDirectory() as folder:
            at_once = []
            for sessions, count in group:
                names = list(args.query or WINDOWS)
                if sessions > 1_000_000 and not args.query:
                    names = ["close"]  # session_window scans its whole store in every micro-batch
                size_folder = Path(folder) / str(sessions)
                at_once.append(Size(spark, sessions, count, names, args.repeats, size_folder))
            agree = measure(at_once) and agree
    spark.stop()
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
