"""Plays a schedule on a cluster and asks, after each micro-batch that is committed, whether all laws hold.

The oracle says which rows and counters a micro-batch gives. So no final window comes twice or never. A table to which
the updates are applied, in their order, has the oracle's windows.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import windrow as wr

from ..harness.conservation import played
from ..harness.micro_batch_player import COUNTED
from ..harness.scenario_queries import ShownChange, by_key, definition, named, schemas, shown, splits, stream_rows
from ..oracle.micro_batches import MicroBatches
from .cluster import Cluster
from .laws import BrokenLawError
from .schedule import Schedule
from .table import Table


def told(held: str | None, word: str) -> str:
    """Tells in which order words came."""
    return f"{held} {word}"


FLOATS = {"mean": wr.mean("v"), "spread": wr.stddev("v")}
FUNCTIONS = {"told": wr.aggregate(str, lambda held, row: told(held, row.v), told, schema="string", columns=["v"])}
COUNTERS = (*COUNTED, "ticks", "bad_ticks", "updates", "windows_closed")


class Run:
    """A run of a schedule.

    Attributes:
        cluster: its states, its sink and its log.
        did: how often something happened.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.schedule, self.log, self.did = schedule, list[str](), Counter[str](schedules=1)
        self.oracle, self.table = MicroBatches(schedule.scenario), Table(schedule.scenario)

    def start(self, definition: Any, schema: Any, max_ahead: int | None = None) -> Cluster:
        """A cluster that begins."""
        schedule, faults = self.schedule, list(self.schedule.faults)
        sizes: dict[str, int] = {"shards": schedule.shards, "tasks": schedule.tasks, "seed": schedule.seed}
        self.cluster = Cluster(definition, schema, **sizes, max_ahead=max_ahead, faults=faults, log=self.log)
        return self.cluster

    def digest(self) -> str:
        """A hash of all states, rows and counters, and of what happened."""
        cluster = self.cluster
        states = {
            number: {shard: sorted(of[shard].items()) for shard in sorted(of)}
            for number, of in cluster.versions.items()
        }
        rows = {number: [batch.to_pylist() for batch in batches] for number, batches in cluster.sink.items()}
        return hashlib.sha256(repr((states, rows, cluster.counters, cluster.log)).encode()).hexdigest()

    def play(self) -> None:
        """Raises an exception if a law is broken."""
        if self.schedule.ledger:
            seed, is_plain = self.schedule.seed, self.schedule.seed % 4 == 0
            played(self.schedule.scenario, seed, self.start, {**FLOATS, **(FUNCTIONS if is_plain else {})})
        else:
            self._play_beside_oracle()
        self.did["micro-batches"] += self.cluster.committed
        self.did["faults"] += len(self.log)
        self.did["rows"] += sum(batch.num_rows for batches in self.cluster.sink.values() for batch in batches)

    def _play_beside_oracle(self) -> None:
        scenario, oracle, expected = self.schedule.scenario, self.oracle, list[ShownChange]()
        cluster = self.start(definition(scenario), schemas(scenario))
        for number, rows in enumerate(scenario.batches):
            cluster.number = number
            draw = random.Random(f"{self.schedule.seed} splits {number}")
            tables = [named(cluster, table) for table in splits(draw, scenario, rows)]
            if (restart := scenario.restart_before(number)) is not None:
                if rows and cluster.dies():
                    cluster.planned(tables)
                oracle.restart(restart.grace, restart.late, restart.every)
                cluster.define(definition(oracle.scenario))
            if not rows and scenario.every is not None:
                continue  # Spark runs no micro-batch: what waits leaves with the next one, as it is then
            expected += (shown(change, scenario.inputs) for change in oracle.push(rows))
            if not rows:
                continue  # Spark runs no micro-batch: what a smaller grace closes comes with the next one
            self._check(expected, [row for batch in cluster.push_batches(tables) for row in stream_rows(batch)])
            expected = []

    def _check(self, expected: Sequence[ShownChange], got: list[ShownChange]) -> None:
        scenario = self.schedule.scenario
        if scenario.every_record and not scenario.sourced and by_key(got) != by_key([*expected]):
            raise BrokenLawError(f"the order of a key: expected {by_key([*expected])}, got {by_key(got)}")
        lost, more = Counter(expected) - Counter(got), Counter(got) - Counter(expected)
        if lost or more:
            raise BrokenLawError(f"rows: missing {[*lost.elements()]}, too many {[*more.elements()]}")
        for name in COUNTERS:
            wanted, found = self.oracle.counters[name], self.cluster.counters[name]
            if found != wanted:
                raise BrokenLawError(f"counter {name}: expected {wanted}, got {found}")
        self._check_open()
        self.table.take(got, self.oracle)

    def _check_open(self) -> None:
        """The state is bounded: by its windows, or by their records if finals alone leave (rules 7)."""
        stored = [each for windows in self.oracle.windows.values() for each in windows.stored if not each.closed]
        found, records = self.cluster.counters["windows_open"], sum(len(each.held.members) for each in stored)
        if not len(stored) <= found <= (len(stored) if self.schedule.scenario.emit == "update" else records):
            raise BrokenLawError(f"windows_open: {found} of {len(stored)} windows with {records} records")


def difference(schedule: Schedule) -> tuple[str | None, Run]:
    """The first difference of a schedule, in words; an exception is one too. None if there is none."""
    run = Run(schedule)
    try:
        run.play()
    except Exception as error:
        return f"{type(error).__name__}: {error}", run
    return None, run
