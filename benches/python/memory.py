"""Peak resident memory of Spark's Python workers while windrow makes windows of generated events: Linux only.

    python benches/python/memory.py                       100 M events: sessions and sliding windows of each shape
    python benches/python/memory.py --events 2000000
    python benches/python/memory.py --shape shuffled --windows sessions --shards 128

Spark makes the events itself (`spark.range`), so nothing but windrow is in the workers. They come in order of time
("ordered"), or each split has events of all times ("shuffled": there the number of shards bounds what a worker holds);
"hot key" is ordered and gives half of all events to one user. The peaks are those of the kernel (VmHWM) for each
process that `pyspark.daemon` forks.
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
import sys
import threading
import time
from pathlib import Path

import events
import local_spark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import windrow as wr

SHAPES = ("ordered", "hot key", "shuffled")
WINDOWS = {
    "sessions": wr.SessionWindows.with_gap("5 minutes"),
    "sliding": wr.SlidingWindows.with_time_difference("5 minutes"),
}
STRIDE = (1 << 31) - 1  # a prime above any number of events: its multiples, modulo their number, are all of them once
BYTES_OF_AN_EVENT = 24
MIB = 1 << 20


class WorkerMemory(threading.Thread):
    """Watches the Python workers below this process until it is stopped."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak: dict[int, int] = {}
        self.together = 0
        self._stopped = threading.Event()

    def run(self) -> None:
        """Looks twenty times a second; a process's own peak is kept by the kernel in between."""
        while not self._stopped.wait(0.05):
            resident = 0
            for process in workers():
                memory = status(process)
                self.peak[process] = max(self.peak.get(process, 0), memory.get("VmHWM", 0))
                resident += memory.get("VmRSS", 0)
            self.together = max(self.together, resident)

    def stop(self) -> None:
        """Ends the watch."""
        self._stopped.set()
        self.join()


def status(process: int) -> dict[str, int]:
    """Memory lines of a process in bytes, and its parent; empty when it is gone."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return {}
    values = dict(line.split(":", 1) for line in lines if line.startswith(("VmHWM", "VmRSS", "PPid")))
    return {name: int(value.split()[0]) * (1 if name == "PPid" else 1024) for name, value in values.items()}


def workers() -> list[int]:
    """The processes forked by a `pyspark.daemon` below this one."""
    parents = {int(entry.name): status(int(entry.name)).get("PPid", 0) for entry in Path("/proc").glob("[0-9]*")}
    below, grown = {int(Path("/proc/self").resolve().name)}, True
    while grown:
        found = {process for process, parent in parents.items() if parent in below} - below
        below |= found
        grown = bool(found)
    daemons = {process for process in below if is_daemon(process)}
    return [process for process in below if parents.get(process) in daemons]


def is_daemon(process: int) -> bool:
    """Whether a process, or the one it was forked from, was started as PySpark's daemon."""
    try:
        return b"pyspark.daemon" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False


def generated(spark: SparkSession, count: int, shape: str, partitions: int) -> DataFrame:
    """`count` events, users at random but the same in each run; "ordered" and "shuffled" are the same events."""
    users = max(1, count // events.EVENTS_OF_A_USER)
    step = events.MEAN_DISTANCE / users
    position = F.expr(f"pmod(id * {STRIDE}, {count})") if shape == "shuffled" else F.col("id")
    user = F.pmod(F.xxhash64("position"), F.lit(users))
    if shape == "hot key":
        user = F.when(F.col("position") % 2 == 0, F.lit(0)).otherwise(user)
    placed = spark.range(0, count, 1, partitions).select(position.alias("position"))
    return placed.select(
        user.cast("bigint").alias("user"),
        F.expr(f"timestamp_micros({events.EPOCH} + cast(position * {step} AS bigint))").alias("ts"),
        (F.col("position") % 1000).cast("double").alias("amount"),
    )


def measure(count: int, windows: str, shape: str, partitions: int, shards: int) -> None:
    """Runs windows of one kind over one shape in this process and prints their line."""
    spark = local_spark.start(driver_memory="4g")
    frame = generated(spark, count, shape, partitions)
    answer = (
        wr.group_by(frame, "user", time="ts")
        .windowed_by(WINDOWS[windows])
        .shards(shards)
        .agg(clicks=wr.count(), spend=wr.sum("amount"), low=wr.min("amount"), high=wr.max("amount"))
    )
    memory = WorkerMemory()
    memory.start()
    begin = time.perf_counter()
    clicks, found = answer.agg(F.sum("clicks"), F.count("*")).first()
    seconds = time.perf_counter() - begin
    memory.stop()
    if windows == "sessions":
        assert clicks == count, f"{clicks} events came out of {count}"
    else:  # every event is in the window that ends with it, and there are at most two windows for each
        assert clicks >= count, f"{clicks} events came out of {count}"
        assert found <= 2 * count, f"{found} windows of {count} events"
    assert memory.peak, "no Python worker was seen"
    largest, input_size = max(memory.peak.values()), count * BYTES_OF_AN_EVENT
    sizes = f"{largest / MIB:7.0f} MiB the largest worker, {memory.together / MIB:7.0f} MiB all at once"
    speed = f"{found:,} windows, {count / seconds / 1e6:.2f} M events/s"
    print(f"  {windows:<8} {shape:<8} {sizes}, {input_size / MIB:7.0f} MiB of events; {speed}", flush=True)
    spark.stop()


def main() -> int:
    """Each kind of windows over each shape in its own process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000_000)
    parser.add_argument("--partitions", type=int, default=16)
    parser.add_argument("--shards", type=int, default=32)
    parser.add_argument("--windows", choices=WINDOWS)
    parser.add_argument("--shape", choices=SHAPES)
    args = parser.parse_args()
    if not Path("/proc/self/status").exists():
        print("memory: skipped, it reads /proc and this machine has none")
        return 0
    if args.windows and args.shape:
        measure(args.events, args.windows, args.shape, args.partitions, args.shards)
        return 0
    sizes = f"{args.events:,} events, {args.partitions} partitions, {args.shards} shards"
    print(f"\nmemory of Python workers, {datetime.date.today()}, {sizes}")
    given = [f"--{name}={getattr(args, name)}" for name in ("events", "partitions", "shards")]
    failed = 0
    for windows in [args.windows] if args.windows else WINDOWS:
        for shape in [args.shape] if args.shape else SHAPES:
            call = [sys.executable, __file__, *given, f"--windows={windows}", f"--shape={shape}"]
            failed |= subprocess.run(call, check=False).returncode
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
