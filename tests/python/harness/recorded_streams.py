"""Plays recorded Kafka Streams runs as streaming queries. Runs of one shape are the sources of one query.

Each source has its own stream time, as each run had. The times of a run are scaled so that runs of different lengths
share one gap or grace. Windows depend only on comparisons of sums, so a factor changes nothing. For sliding windows the
unit is a millisecond, Kafka's resolution.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

import windrow as wr

from ..scenes import EPOCH
from .golden import FILES, Run

SCHEMA = pa.schema(
    [
        ("shape", pa.int32()),
        ("run", pa.string()),
        ("name", pa.string()),
        ("ts", pa.timestamp("us", "UTC")),
        ("value", pa.string()),
        ("offset", pa.int64()),
        ("gap", pa.duration("us")),
    ]
)
DDL = "shape int, run string, name string, ts timestamp, value string, offset bigint, gap interval day to second"
INPUTS = ("in", "in2")
GAP = 1_500
"""The common gap, in microseconds, for runs whose gaps divide it."""
GRACE = 300
"""The grace of runs with dynamic gaps, in microseconds."""
LATEST = 10**10
"""Larger times and lengths are beyond Python's dates. Only the replay covers them."""

Change = tuple[str, int, int, str | None]
"""`upsert`, `delete` or `final`, the bounds in microseconds, the value."""


@dataclass(frozen=True)
class Shape:
    """The common properties of the runs of one query. Lengths are microseconds.

    Attributes:
        kind: as in the recording.
        emit: `update` emits each change of each record; `close` emits closed windows.
        length: the gap or the time difference; None for dynamic gaps.
        grace: how far behind a record may be.
        until: how long to keep a closed window, if longer than needed.
    """

    kind: str
    emit: str
    length: int | None
    grace: int
    until: int | None = None

    @property
    def has_inputs(self) -> bool:
        """Whether it is a cogroup."""
        return self.kind.endswith("cogroup")


@dataclass(frozen=True)
class Scaled:
    """A run, and the microseconds in its unit of time."""

    run: Run
    unit: int

    def steps(self) -> Iterator[tuple[int, dict[str, Any], int]]:
        """The records that reach Spark, as offset, row and input. Kafka's sliding windows drop null values."""
        for offset, step in enumerate(self.run.steps):
            key, value, time, *named = step["in"]
            if value is None and self.run.kind.startswith("sliding"):
                continue
            row = {
                "run": self.run.name,
                "name": None if key is None else f"{self.run.name} {key}",
                "ts": EPOCH + timedelta(microseconds=time * self.unit),
                "value": value,
                "offset": offset,
                "gap": timedelta(microseconds=self.run.spec.get("gap", 0) * self.unit),
            }
            yield offset, row, INPUTS.index(named[0]) if named else 0

    def changes(self, cuts: Sequence[int]) -> dict[str, list[Change]]:
        """Kafka's changes for each key, in order. Finals are sorted by window.

        `cuts` are the steps at which micro-batches begin. Windows close at the end of each (rule 1.6), so a session
        that closes and continues within one has no final in between.
        """
        found: dict[str, list[Change]] = defaultdict(list)
        for number, step in enumerate(self.run.steps):
            for key, start, end, value, _ in step["out"]:
                last = min((cut for cut in cuts if cut > number), default=len(self.run.steps))
                if self.run.emit == "close" and self._goes_on(key, start, end, range(number + 1, last)):
                    continue
                op = "final" if self.run.emit == "close" else "delete" if value is None else "upsert"
                found[f"{self.run.name} {key}"].append((op, start * self.unit, end * self.unit, value))
        return {key: in_order(own) for key, own in found.items()}

    def _goes_on(self, key: str, start: int, end: int, steps: Iterable[int]) -> bool:
        """Whether one of these steps has a timely record for a closed session with retention."""
        spec, all_steps = self.run.spec, self.run.steps
        if "gap" not in spec:
            return False
        kept = max(spec.get("retention", 0), spec["gap"] + spec["grace"] + 1)
        for number in steps:
            own, _, time, *_ = all_steps[number]["in"]
            stream_time = max(step["in"][2] for step in all_steps[: number + 1] if step["in"][0] is not None)
            is_late = all_steps[number]["dropped"] > all_steps[number - 1]["dropped"]
            is_near = own == key and start - spec["gap"] <= time <= end + spec["gap"]
            if is_near and not is_late and end > stream_time - kept:
                return True
        return False

    def dropped(self) -> int:
        """How many of the records and windows that reach Spark were dropped by Kafka."""
        return int(self.run.steps[-1]["dropped"]) - (len(self.run.steps) - sum(1 for _ in self.steps()))


def in_order(changes: list[Change]) -> list[Change]:
    """Changes in order. Finals, which come at the end of a micro-batch, are sorted by window."""
    return sorted(changes, key=lambda each: (each[2], each[1])) if changes and changes[0][0] == "final" else changes


def recorded_runs(folder: Path) -> list[Run]:
    """The runs that a streaming query can play, with unique names."""
    found = list[Run]()
    for file in FILES:
        for number, line in enumerate((folder / file).read_text().splitlines()):
            run = Run(**json.loads(line))
            run.spec["name"] = f"{file} {number} {run.name}"
            times = [abs(step["in"][2]) for step in run.steps]
            if not run.deletes() and max(*times, run.length, run.spec["grace"]) < LATEST:
                found.append(run)
    return found


def shapes(runs: Iterable[Run]) -> dict[Shape, list[Scaled]]:
    """The runs by shape, those of most runs first. Sessions of one input have two: with a gap, and with gaps."""
    found: dict[Shape, list[Scaled]] = defaultdict(list)
    for run in runs:
        grace, retention, is_session = run.spec["grace"], run.spec.get("retention", 0), run.kind.startswith("session")
        needed = run.length + grace + 1 if is_session else 3 * run.length + grace + 1
        until = retention if retention > needed else None
        unit = 1_000 if not is_session else GAP // run.length if GAP % run.length == 0 else 1
        scaled = None if until is None else until * unit
        found[Shape(run.kind, run.emit, run.length * unit, grace * unit, scaled)].append(Scaled(run, unit))
        if run.kind == "session" and until is None and (grace == 0 or GRACE % grace == 0):
            unit = GRACE // grace if grace else 1
            found[Shape(run.kind, run.emit, None, grace * unit)].append(Scaled(run, unit))
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def cuts(chosen: Sequence[list[Scaled]], count: int, seed: int) -> Iterator[list[list[int]]]:
    """The steps at which micro-batches begin, except the first, for each run of each shape."""
    draw = random.Random(seed)
    for runs in chosen:
        yield [sorted(draw.randint(0, len(scaled.run.steps)) for _ in range(count - 1)) for scaled in runs]


def files(chosen: Sequence[list[Scaled]], count: int, seed: int) -> Iterator[list[pa.Table]]:
    """For each micro-batch and input, two tables with a piece of each run. Some pieces are empty."""
    draw = random.Random(seed)
    rows: list[list[list[dict[str, Any]]]] = [[[] for _ in range(4)] for _ in range(count)]
    for shape, (runs, bounds) in enumerate(zip(chosen, cuts(chosen, count, seed), strict=True)):
        for scaled, own in zip(runs, bounds, strict=True):
            for offset, row, number in scaled.steps():
                piece = sum(bound <= offset for bound in own)
                rows[piece][2 * number + draw.randint(0, 1)].append({"shape": shape, **row})
    for piece in rows:
        for table in piece:
            draw.shuffle(table)
        yield [pa.Table.from_pylist(table, SCHEMA) for table in piece]


def query(chosen: Sequence[Shape], shards: int) -> Any:
    """One streaming frame of all changes, from the frames of the two inputs."""

    def all_changes(first: DataFrame, second: DataFrame) -> DataFrame:
        frames = [changes(shape, number, shards + number % 3, first, second) for number, shape in enumerate(chosen)]
        result = frames[0]
        for frame in frames[1:]:
            result = result.unionByName(frame)
        return result

    return all_changes


def changes(shape: Shape, number: int, shards: int, *inputs: DataFrame) -> DataFrame:
    """The changes of the runs of one shape, and its counters under its number."""
    grouped = [
        wr.group_by(data.where(F.col("shape") == number), "name", time="ts", source="run", order="offset")
        for data in inputs
    ]
    data = wr.cogroup(**dict(zip(INPUTS, grouped, strict=True))) if shape.has_inputs else grouped[0]
    windowed: Any = data.windowed_by(windows(shape)).shards(shards).observe(f"shape {number}")
    if shape.emit == "update":
        windowed = windowed.emit("update", every_record=True)
    values = [f"{name}.value" for name in INPUTS] if shape.has_inputs else ["value"]
    adds = dict(zip(INPUTS, (added, subtracted), strict=True)) if shape.has_inputs else added
    aggregates: dict[str, wr.Aggregate] = {
        "n": wr.count(),
        "fold": wr.aggregate(lambda: "0", adds, merged, schema="string", columns=values),
    }
    if not shape.has_inputs:
        aggregates["reduce"] = wr.reduce("value", reduced)
    result = windowed.agg(**aggregates)
    op: Column = F.col("op") if shape.emit == "update" else F.lit("final")
    reduce = F.col("reduce") if "reduce" in aggregates else F.lit(None).cast("string")
    of = F.lit(number).alias("shape")
    return result.select(of, "name", "window", "n", "fold", reduce.alias("reduce"), op.alias("op"))


def windows(shape: Shape) -> Any:
    """The windows of a shape."""
    retention = None if shape.until is None else timedelta(microseconds=shape.until)
    options: Any = {"grace": timedelta(microseconds=shape.grace), "retention": retention}
    if shape.length is None:
        return wr.SessionWindows.with_dynamic_gap("gap", **options)
    length = timedelta(microseconds=shape.length)
    if shape.kind.startswith("session"):
        return wr.SessionWindows.with_gap(length, **options)
    return wr.SlidingWindows.with_time_difference(length, resolution="1 millisecond", **options)


def added(held: str, row: Any) -> str:
    return f"{held}+{'null' if row.value is None else row.value}"


def subtracted(held: str, row: Any) -> str:
    return f"{held}-{'null' if row.value is None else row.value}"


def merged(older: str, later: str) -> str:
    return f"({older}|{later})"


def reduced(older: str, later: str) -> str:
    return f"{older}+{later}"


def answered(rows: Iterable[dict[str, Any]], runs: Iterable[Scaled]) -> dict[str, list[Change]]:
    """The result of a query for some runs, in the same form."""
    column = {scaled.run.name: {"count": "n"}.get(scaled.run.fold, scaled.run.fold) for scaled in runs}
    found: dict[str, list[Change]] = defaultdict(list)
    for row in rows:
        value = row[column[row["name"].rpartition(" ")[0]]]
        bounds = [
            (bound.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)
            for bound in (row["window"]["start"], row["window"]["end"])
        ]
        found[row["name"]].append((row["op"], bounds[0], bounds[1], None if row["op"] == "delete" else str(value)))
    return {key: in_order(own) for key, own in found.items()}
