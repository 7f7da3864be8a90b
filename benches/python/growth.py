"""How the cost of windrow grows: events, keys, records in a window, open sessions, and windows in one pass.

    python benches/python/growth.py                                     up to 16 M events
    python benches/python/growth.py --events 10000000                   up to 160 M events
    python benches/python/growth.py --only events --only keys

Writes the medians to `benches/growth.json`, from which `make pictures` draws docs/pictures/growth-*.svg. Each point has
data of its own, and its answer is checked. What is measured, by curve:

* events: sessions with count, sum, min and max, of 100 events for each key; in-process, and in Spark from a
  Parquet file.
* keys: the same in-process, with as many events spread over more keys.
* records: sliding windows of 100 keys, by family of aggregate.
* open: the steps of a stream, without Spark: packs a micro-batch of a million events, joins it in eight
  shards, and writes their pages to a dict.
* windows: one `with_columns` that computes its aggregates over several time differences, in-process. The longest
  difference has about ten events.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import events
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.python.harness.steps import LocalStream  # noqa: E402

import windrow as wr  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIGURES = ROOT / "benches" / "growth.json"
GAP = "5 minutes"
KEYS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
RECORDS = (1, 3, 10, 30, 100, 300, 1_000)
OPEN = (100_000, 1_000_000, 10_000_000)
WINDOWS = (1, 2, 4, 8, 16)
SCALES = (1, 4, 16)
BATCH = 1_000_000
"""Events of a micro-batch."""
SETTLE = 3
"""Micro-batches before those that are measured."""
MINUTE = 60_000_000

Points = Iterator[tuple[int, str, float]]
"""The size, the line of the picture, and the seconds of an event or of a micro-batch."""


def table(count: int, keys: int, shuffled: bool = False) -> pa.Table:
    """Events of this many keys, in order or not. A key has one each `events.MEAN_DISTANCE` on average."""
    random = np.random.default_rng(events.SEED)
    ts = events.EPOCH + np.sort(random.integers(0, max(1, count * events.MEAN_DISTANCE // keys), count))
    columns = {"user": random.integers(0, keys, count), "ts": ts, "amount": random.integers(1, 10_000, count) / 100}
    if shuffled:
        permutation = random.permutation(count)
        columns = {name: column[permutation] for name, column in columns.items()}
    return pa.table(columns).cast(
        pa.schema([("user", pa.int64()), ("ts", pa.timestamp("us")), ("amount", pa.float64())])
    )


def sessions(data: Any) -> Any:
    """Count, sum, min and max of each session."""
    return aggregated(data, wr.SessionWindows.with_gap(GAP))


def aggregated(data: Any, windows: wr.SessionWindows, emit: Any = "close") -> Any:
    """Count, sum, min and max of each window."""
    windowed = wr.group_by(data, "user", time="ts").windowed_by(windows).emit(emit)
    return windowed.agg(clicks=wr.count(), spend=wr.sum("amount"), low=wr.min("amount"), high=wr.max("amount"))


def median(repeats: int, run: Callable[[], Any], check: Callable[[Any], object]) -> float:
    """The median of the seconds after a first run, whose answer is checked."""
    assert check(run())
    seconds = []
    for _ in range(repeats):
        gc.collect()
        begin = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)


def of_events(options: argparse.Namespace) -> Points:
    """Sessions of more and more events."""
    counts = [options.events * scale for scale in SCALES]
    for count in counts:
        for line in ("in order", "shuffled"):
            keys = count // events.EVENTS_OF_A_USER
            yield count, f"in-process, {line}", sessions_here(count, keys, line, options.repeats)
    import local_spark

    spark = local_spark.start()
    for count in counts:
        yield count, "in Spark, in order", sessions_in_spark(spark, count, options.repeats)
    spark.stop()


def of_keys(options: argparse.Namespace) -> Points:
    """Sessions of the same number of events, with more and more keys."""
    for keys in KEYS:
        for line in ("in order", "shuffled"):
            yield keys, line, sessions_here(10 * options.events, keys, line, options.repeats)


def sessions_here(count: int, keys: int, order: str, repeats: int) -> float:
    """Seconds for each event, in-process."""
    data = table(count, keys, order == "shuffled")
    answer = lambda result: pc.sum(result["clicks"]).as_py() == count  # noqa: E731
    return median(repeats, lambda: sessions(data), answer) / count


def sessions_in_spark(spark: SparkSession, count: int, repeats: int) -> float:
    """Seconds for each event, in Spark from a Parquet file."""
    from pyspark.sql import functions as F

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.parquet"
        events.write(path, count, "in order", "i64")

        def totals() -> list[Any]:
            """One row over all sessions. The frame is new each time, because a collected frame keeps its shuffle."""
            frame = sessions(spark.read.parquet(str(path)))
            return frame.agg(F.sum("clicks"), F.sum("spend"), F.min("low"), F.max("high")).collect()

        return median(repeats, totals, lambda rows: rows[0][0] == count) / count


def of_records(options: argparse.Namespace) -> Points:
    """Sliding windows with more and more records in each."""
    data = table(max(1, options.events // 5), 100)
    families = {
        "count, min, max": {"n": wr.count(), "low": wr.min("amount"), "high": wr.max("amount")},
        "sum and mean of floats": {"n": wr.count(), "spend": wr.sum("amount"), "mean": wr.mean("amount")},
        "median": {"n": wr.count(), "middle": wr.median("amount")},
    }
    for records in RECORDS:
        for line, aggregates in families.items():
            yield records, line, sliding(data, records, aggregates, options.repeats)


def sliding(data: pa.Table, records: int, aggregates: dict[str, Any], repeats: int) -> float:
    """Seconds for each event."""
    difference = datetime.timedelta(microseconds=records * events.MEAN_DISTANCE)
    windows = wr.SlidingWindows.with_time_difference(difference)
    windowed = wr.group_by(data, "user", time="ts").windowed_by(windows)
    count = data.num_rows

    def is_right(answer: pa.Table) -> bool:
        """A window ends with each event, and there are at most two for each."""
        return count <= answer.num_rows <= 2 * count and pc.max(answer["n"]).as_py() >= min(records, count // 100)

    return median(repeats, lambda: windowed.agg(**aggregates), is_right) / count


class Stream(LocalStream):
    """The steps of a streaming query, which get batches as large as Spark's."""

    def _batches(self, split: pa.Table) -> list[pa.RecordBatch]:
        return split.select(self.read.names).cast(self.read).combine_chunks().to_batches(max_chunksize=65_536)


def of_open(options: argparse.Namespace) -> Points:
    """Micro-batches of a stream with more and more open sessions."""
    for open_sessions in OPEN:
        for emit in ("close", "update"):
            yield open_sessions, f'emit("{emit}")', micro_batch(open_sessions, emit, options.repeats)


def micro_batch(open_sessions: int, emit: Any, repeats: int) -> float:
    """Seconds of a micro-batch. Each key has an event a minute on average."""
    random = np.random.default_rng(events.SEED)
    clock = events.EPOCH

    def batch(user: np.ndarray) -> pa.Table:
        nonlocal clock
        span = max(1, len(user) * MINUTE // open_sessions)
        ts = clock + random.integers(0, span, len(user))
        clock += span
        amount = random.integers(1, 10_000, len(user)) / 100
        return pa.table({"user": user, "ts": pa.array(ts, pa.timestamp("us")), "amount": amount})

    def definition(data: Any) -> Any:
        return aggregated(data, wr.SessionWindows.with_gap(GAP, grace="1 minute"), emit)

    stream = Stream(definition, batch(np.zeros(1, np.int64)).schema, shards=8)
    first = np.array_split(random.permutation(open_sessions), max(1, open_sessions // BATCH))
    for users in first:
        stream.push_batches([batch(users)])
    seconds = []
    for number in range(SETTLE + repeats):
        data = batch(random.integers(0, open_sessions, BATCH))
        gc.collect()
        begin = time.perf_counter()
        stream.push_batches([data])
        if number >= SETTLE:
            seconds.append(time.perf_counter() - begin)
    assert stream.counters["records"] == open_sessions + (SETTLE + repeats) * BATCH
    assert stream.counters["late"] == 0
    return statistics.median(seconds)


def of_windows(options: argparse.Namespace) -> Points:
    """Records with the aggregates of more and more time differences, in one pass."""
    data = table(options.events, max(1, options.events // 100))
    one = {"n": wr.count()}
    five = one | {"spend": wr.sum("amount"), "mean": wr.mean("amount")}
    five |= {"low": wr.min("amount"), "high": wr.max("amount")}
    for number in WINDOWS:
        for line, aggregates in (("count", one), ("count, sum, mean, min, max", five)):
            yield number, line, over(data, number, aggregates, options.repeats)


def over(data: pa.Table, number: int, aggregates: dict[str, Any], repeats: int) -> float:
    """Seconds for each event."""
    # The longest has some ten events, however many there are.
    unit = 10 * events.MEAN_DISTANCE // max(WINDOWS)
    windows = wr.SlidingWindows.with_time_difference(datetime.timedelta(microseconds=unit * number))
    windowed = wr.group_by(data, "user", time="ts").windowed_by(windows)
    columns = {
        f"{name}_{each}": aggregate.over(datetime.timedelta(microseconds=unit * each))
        for each in range(1, number + 1)
        for name, aggregate in aggregates.items()
    }

    def is_right(answer: pa.Table) -> bool:
        """A shorter window has at most the events of a longer one, and all have the event itself."""
        short, long = answer["n_1"], answer[f"n_{number}"]
        return answer.num_rows == data.num_rows and pc.min(short).as_py() >= 1 and pc.all(pc.less_equal(short, long))

    return median(repeats, lambda: windowed.with_columns(**columns), is_right) / data.num_rows


@dataclass(frozen=True)
class Curve:
    """A measurement, what its sizes are, and the unit in which the picture shows a cost."""

    measure: Callable[[argparse.Namespace], Points]
    title: str
    sizes: str
    cost: str
    scale: float


CURVES = {
    "events": Curve(of_events, "Sessions of more events", "events", "ns for each event", 1e9),
    "keys": Curve(of_keys, "Sessions of more keys", "keys", "ns for each event", 1e9),
    "records": Curve(of_records, "Sliding windows of more records", "records in a window", "ns for each event", 1e9),
    "open": Curve(of_open, "Streams with more open sessions", "open sessions", "s for a micro-batch", 1),
}
if hasattr(wr.count(), "over"):
    CURVES["windows"] = Curve(of_windows, "More windows in one pass", "windows in one pass", "ns for each event", 1e9)


def machine() -> dict[str, str]:
    """When, of which commit, and on which machine."""
    git = ["git", "rev-parse", "--short=7", "HEAD"]
    commit = subprocess.run(git, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    models = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    machine = f"{os.cpu_count()} cores of {models[0] if models else platform.machine()}"
    return {"date": str(datetime.date.today()), "commit": commit, "machine": machine}


def main() -> int:
    """Measures the curves that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--events", type=int, default=1_000_000, help="of the smallest size; the largest is 16 times it"
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=CURVES, action="append", help="again for more")
    parser.add_argument("--dry", action="store_true", help="write no file")
    args = parser.parse_args()
    figures: dict[str, Any] = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    for name in args.only or CURVES:
        curve = CURVES[name]
        begin = time.perf_counter()
        print(f"\n{curve.title}: {curve.cost}, by {curve.sizes}", flush=True)
        lines: dict[str, list[list[float]]] = {}
        for size, line, cost in curve.measure(args):
            lines.setdefault(line, []).append([size, float(f"{cost * curve.scale:.4g}")])
            print(f"  {line:<28}{size:>12,}{cost * curve.scale:>12.4g}", flush=True)
        print(f"  ({time.perf_counter() - begin:.0f} s)")
        titles = {"title": curve.title, "sizes": curve.sizes, "cost": curve.cost}
        figures[name] = {**titles, **machine(), "lines": lines}
        if not args.dry:
            FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
