"""Recorded Kafka Streams runs through a real streaming query: what Kafka answered, key by key, in Kafka's order.

Records of a micro-batch are in two files, in any order; the query is started again halfway. Kafka's answer is that of
the recording: sequences of changes, finals of runs that emit on close, and how many records and windows it dropped.
Kafka closes windows after each record, a micro-batch at its end (rule 1.6): a session that closes and then continues in
one micro-batch (`until`) has no final in between.
`make soak` plays every run, in cuts of its own.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ..harness.recorded_streams import DDL, INPUTS, Scaled, Shape, answered, cuts, files, query, recorded_runs, shapes
from ..harness.spark_scenes import SetConf
from ..harness.streams import Folder, Run, source, start

pytestmark = pytest.mark.needs("streams")

SAMPLE = {
    ("session", "update"): 2,
    ("session", "close"): 1,
    ("sliding", "update"): 1,
    ("sliding", "close"): 1,
    ("session-cogroup", "update"): 1,
    ("sliding-cogroup", "update"): 1,
}
"""How many shapes `make test` plays of each kind, those of most runs."""
SEED = int(os.environ.get("WINDROW_FIRST_SEED", "0"))


@pytest.fixture
def partitions(set_conf: SetConf) -> Callable[[int], None]:
    """Sets how many partitions the state of a query has."""
    return lambda number: set_conf("spark.sql.shuffle.partitions", str(number))


def check(spark: SparkSession, place: Path, chosen: dict[Shape, list[Scaled]], seed: int, pieces: int) -> Counter[str]:
    """Fails unless a streaming query over the runs of these shapes answers as Kafka did; what it has compared."""
    folders, run = [Folder(place / name) for name in INPUTS], Run()
    tables = list(files(list(chosen.values()), pieces, seed))
    for part in (tables[: pieces // 2], tables[pieces // 2 :]):
        for piece in part:
            for number, table in enumerate(piece):
                folders[number // 2].add(table)
        frames = [source(spark, folder, DDL, files=2) for folder in folders]
        started = start(query(list(chosen), 1 + seed % 2)(*frames), run, place / "checkpoint")
        started.awaitTermination()
        run.progress += started.recentProgress
    assert len(run.batches) >= pieces
    counts = Counter[str]()
    bounds = cuts(list(chosen.values()), pieces, seed)
    for number, ((shape, runs), of_shape) in enumerate(zip(chosen.items(), bounds, strict=True)):
        got = answered([row for row in run.rows if row["shape"] == number], runs)
        expected = [scaled.changes(own) for scaled, own in zip(runs, of_shape, strict=True)]
        for scaled, changes in zip(runs, expected, strict=True):
            names = {name for name in got if name.rpartition(" ")[0] == scaled.run.name}
            assert {name: got[name] for name in names} == changes, f"{scaled.run.name}, {shape}"
        assert len(got) == sum(map(len, expected))
        counters = run.counters(f"shape {number}")
        dropped = sum(known[name] for known in counters for name in ("late", "windows_refused", "null_keys"))
        assert dropped == sum(scaled.dropped() for scaled in runs), shape
        counts.update(
            shapes=1,
            runs=len(runs),
            records=sum(1 for scaled in runs for _ in scaled.steps()),
            changes=sum(map(len, got.values())),
            dropped=dropped,
        )
    return counts


def sample(found: dict[Shape, list[Scaled]]) -> dict[Shape, list[Scaled]]:
    """The shapes that `make test` plays."""
    left = Counter(SAMPLE)
    chosen = {}
    for shape, runs in found.items():
        if left[shape.kind, shape.emit]:
            left[shape.kind, shape.emit] -= 1
            chosen[shape] = runs
    return chosen


def test_a_query_answers_as_kafka_did(
    spark: SparkSession, partitions: Callable[[int], None], tmp_path: Path, recorded: Path
) -> None:
    chosen = sample(shapes(recorded_runs(recorded)))
    assert len(chosen) == sum(SAMPLE.values())
    partitions(1)
    counts = check(spark, tmp_path, chosen, seed=0, pieces=4)
    assert counts == {"shapes": 7, "runs": 144, "records": 5042, "changes": 4956, "dropped": 642}


@pytest.mark.soak
def test_queries_answer_all_that_kafka_was_asked(
    spark: SparkSession,
    partitions: Callable[[int], None],
    tmp_path: Path,
    recorded: Path,
    soaked: Callable[[str], None],
) -> None:
    runs = recorded_runs(recorded)
    found = list(shapes(runs).items())
    counts = Counter[str]()
    for number, part in enumerate(parts(found, 12)):
        partitions(1 + number % 3)
        counts += check(spark, tmp_path / str(number), dict(part), SEED + number, pieces=3 + number % 4)
    soaked(f"{len(runs)} recorded runs of Kafka Streams through streaming queries, all equal: {dict(counts)}")


def parts(found: Sequence[tuple[Shape, list[Scaled]]], size: int) -> list[Sequence[tuple[Shape, list[Scaled]]]]:
    """Shapes, this many at a time; a query of more has a plan too long."""
    return [found[first : first + size] for first in range(0, len(found), size)]
