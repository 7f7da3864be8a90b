"""Exactly once: queries are killed and stopped at random moments, and give what an uninterrupted one gives.

`make soak` injects more faults (WINDROW_KILLS), from a seed on (WINDROW_FIRST_SEED), into all queries or some
(WINDROW_QUERIES). A seed alone says which query, faults and masters there are.
"""

from __future__ import annotations

import itertools
import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pytest
from pyspark.sql import SparkSession

from ..faults import job
from ..faults.driver import Fault
from ..faults.events import events
from ..faults.scenario import check, play
from ..harness.streams import Folder

pytestmark = pytest.mark.needs("streams")

pc: Any = pyarrow.compute  # its stubs know no column of any type
LONG = int(os.environ.get("WINDROW_KILLS", "50"))
FIRST = int(os.environ.get("WINDROW_FIRST_SEED", "0"))
QUERIES = os.environ.get("WINDROW_QUERIES", "").split() or list(job.QUERIES)
KINDS = {"worker": 8, "daemon": 2, "driver": 3, "commit": 3, "stop": 3}
"""Faults of a local master, by how often they are drawn."""
MASTERS = ["local[1]", "local[2]", "local[2,4]", "local[3,4]"]
OF_CLUSTER = {"executor": 4, "worker": 3, "commit": 1}
KILLS = ("worker", "daemon", "executor", "driver", "commit")


def files_of(place: Path, query: str, seed: int, files: int) -> None:
    for number, name in enumerate(job.inputs(query)):
        folder = Folder(place / name)
        for table in events(seed, files, 25):
            folder.add(input_of(query, number, table))


def input_of(query: str, number: int, table: pa.Table) -> pa.Table:
    """The rows of an input: all, one source, or half of both and the last ticks, which have no amount."""
    if query == "cogrouped_sources":
        return table.filter(pc.fill_null(pc.equal(pc.bit_wise_and(table["amount"], 1), number), True))
    return table if len(job.inputs(query)) == 1 else table.filter(pc.equal(table["part"], number))


def faults_of(draw: random.Random, count: int, kinds: dict[str, int]) -> list[Fault]:
    drawn = draw.choices(list(kinds), list(kinds.values()), k=count)
    seconds = [draw.choice([0, draw.uniform(0, 0.05 if kind == "commit" else 1)]) for kind in drawn]
    return [Fault(kind, draw.choice([0, 0, 0, 1]), wait) for kind, wait in zip(drawn, seconds, strict=True)]


@pytest.mark.soak
@pytest.mark.parametrize("query", ["sessions", "paced", "ruled", "ended", "begun", "begun_paced"])
def test_a_query_that_was_killed_gives_what_an_uninterrupted_one_gives(
    spark: SparkSession, tmp_path: Path, query: str
) -> None:
    """Its first micro-batch, too, which reads a history of `begun` again."""
    files_of(tmp_path, query, 1, 8)
    faults = [Fault("worker"), Fault("commit"), Fault("stop", 1, 0.1), Fault("driver", 1, 0.1)]
    met = play(tmp_path, query, faults, ["local[2,4]", "local[1,4]"], [1], seed=3)
    assert all(met[fault.kind] == 1 for fault in faults)
    check(spark, tmp_path, query)
    assert not list(tmp_path.glob("temporary")) + list(tmp_path.glob("local"))


@pytest.mark.soak
def test_queries_give_the_same_through_many_faults(
    spark: SparkSession, tmp_path: Path, soaked: Callable[[str], None]
) -> None:
    met, names, played = Counter[str](), list(job.QUERIES), list[str]()
    assert set(QUERIES) <= set(names)
    for seed in itertools.count(FIRST):
        turn, number = divmod(seed, len(names))
        query, place, is_cluster = names[number], tmp_path / str(seed), (number + turn) % 4 == 2
        if query not in QUERIES:
            continue
        if sum(met[kind] for kind in KILLS) >= LONG and set(played) == set(QUERIES):
            break
        kinds, masters = (OF_CLUSTER, ["local-cluster[2,1,1024]"]) if is_cluster else (KINDS, MASTERS)
        files_of(place, query, seed, 20)
        faults = faults_of(random.Random(seed), 12, kinds)
        own = play(place, query, faults, masters, [1, 1, 2, 3], seed)
        assert own["executor" if is_cluster else "worker"]
        met += own
        met["tries again"] += check(spark, place, query)
        played.append(query)
        print(f"seed {seed}", query, masters[0], dict(met), flush=True)
    message = ", ".join(f"{count} {kind}" for kind, count in sorted(met.items()))
    kills = sum(met[kind] for kind in KILLS)
    soaked(f"{kills} kills, {len(played)} runs of {len(set(played))} queries, all as uninterrupted: {message}")
