"""Plays a schedule on a cluster and asks, after each micro-batch that is committed, whether all laws hold.

The oracle says which rows and counters a micro-batch gives. So no final window comes twice or never. A table to which
the updates are applied, in their order, has the oracle's windows.
"""

from __future__ import annotations

import dataclasses
import hashlib
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

import windrow as wr

from ..harness.conservation import TIES, played
from ..harness.scenario_queries import ShownChange, agg, by_key, definition, named, schemas, shown, splits, stream_rows
from ..oracle.micro_batches import COUNTED, MicroBatches
from ..oracle.streaming_scenario import Restart
from .cluster import Cluster
from .days import DailyJob, ends, with_clock
from .laws import BrokenLawError, check_ties, rows_of, tie_of
from .schedule import Move, Schedule
from .table import Table, numbers


def appended(held: str | None, word: str) -> str:
    """The words in the order in which they came."""
    return f"{held} {word}"


FLOATS = {"mean": wr.mean("v"), "spread": wr.stddev("v")}
FUNCTIONS = {
    "told": wr.aggregate(str, lambda held, row: appended(held, row.v), appended, schema="string", columns=["v"])
}


class Run:
    """A run of a schedule.

    Attributes:
        cluster: its states, its sink and its log.
        did: how often something happened.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.schedule, self.log, self.did = schedule, list[str](), Counter[str](schedules=1)
        self.tie = TIES.get(schedule.seed % 4) if schedule.way == "ledger" else tie_of(schedule.scenario)
        self.oracle, self.table = MicroBatches(schedule.scenario), Table(schedule.scenario)
        self.cluster: Cluster | None = None
        self.faults, self.given = list(schedule.faults), list[list[ShownChange]]()
        self.opened: pa.Table | None = None
        """The windows with which the query of now began."""
        self.records_before = 0
        """The largest number of a record before the last move."""

    def start(self, definition: Any, schema: Any, max_ahead: int | None = None, **sizes: int) -> Cluster:
        """A cluster that begins."""
        schedule = self.schedule
        chosen: dict[str, Any] = {"shards": schedule.shards, "tasks": schedule.tasks, "seed": schedule.seed} | sizes
        self.cluster = Cluster(definition, schema, **chosen, max_ahead=max_ahead, faults=self.faults, log=self.log)
        return self.cluster

    def digest(self) -> str:
        """A hash of all states, rows and counters, and of what happened."""
        if (cluster := self.cluster) is None:
            return hashlib.sha256(repr((self.given, self.log)).encode()).hexdigest()
        versions, sink = sorted(cluster.versions.items()), sorted(cluster.sink.items())
        states = [[(shard, sorted(pages.items())) for shard, pages in sorted(of.items())] for _, of in versions]
        rows = [[batch.to_pylist() for batch in batches] for _, batches in sink]
        return hashlib.sha256(repr((states, rows, cluster.counters, self.log)).encode()).hexdigest()

    def play(self) -> None:
        """Raises an exception if a law is broken."""
        if self.schedule.way == "ledger":
            seed, is_plain = self.schedule.seed, self.schedule.seed % 4 == 0
            played(self.schedule.scenario, seed, self.start, {**FLOATS, **(FUNCTIONS if is_plain else {})})
        elif self.schedule.way == "days":
            self._play_days()
        else:
            self._play_beside_oracle()
        self.did["faults"] += len(self.log)
        if self.cluster is None:
            return
        self._check_ties(self.cluster)
        self.did["micro-batches"] += self.cluster.earlier + self.cluster.committed
        self.did["rows"] += sum(batch.num_rows for batches in self.cluster.sink.values() for batch in batches)

    def _check_ties(self, cluster: Cluster) -> None:
        if self.tie == "v":
            for batches in cluster.sink.values():
                check_ties(rows_of(batches), self.schedule.scenario)

    def _play_days(self) -> None:
        schedule, oracle = self.schedule, self.oracle
        job = DailyJob(schedule.scenario, schedule.shards, schedule.tasks, schedule.seed, self.faults)
        for day, (rows, to) in enumerate(
            zip(schedule.scenario.batches, ends(schedule.scenario, schedule.seed), strict=True)
        ):
            expected = [
                shown(change, oracle.scenario.inputs)
                for change in oracle.push(with_clock(rows, to, oracle.scenario.inputs))
            ]
            tables = splits(random.Random(f"{schedule.seed} splits {day}"), schedule.scenario, rows)
            self.given.append(job.run(day, tables, to, self.log))
            check_multiset(expected, self.given[-1])
            self.did.update(days=1, rows=len(expected))

    def _play_beside_oracle(self) -> None:
        scenario, oracle = self.schedule.scenario, self.oracle
        waiting: Restart | None = None
        cluster = self.start(self._definition(), schemas(scenario))
        for number, rows in enumerate(scenario.batches):
            restart = scenario.restart_before(number)
            if restart is not None and restart.every is None and waiting is not None:
                restart = dataclasses.replace(restart, every=waiting.every)
            waiting = waiting if restart is None else restart
            if not rows:
                continue  # Spark runs no micro-batch, so a restart before it changes nothing yet
            for move in self.schedule.moves:
                if move.batch == number and cluster.stream_time is not None:
                    cluster = self._move(move)
            cluster.number = number
            draw = random.Random(f"{self.schedule.seed} splits {number}")
            tables = [named(cluster, table) for table in splits(draw, scenario, rows)]
            if waiting is not None:
                if cluster.dies():
                    cluster.planned(tables)
                oracle.restart(waiting.grace, waiting.late, waiting.every)
                cluster.define(self._definition())
                waiting = None
            expected = [shown(change, scenario.inputs) for change in oracle.push(rows)]
            self._check(
                expected, [self._shown(row) for batch in cluster.push_batches(tables) for row in stream_rows(batch)]
            )

    @property
    def _added(self) -> dict[str, Any]:
        """The aggregate that a move adds to a query of one input, another one each time."""
        added = {"most": wr.max("v")} if self.did["moves"] % 2 else {"least": wr.min("v")}
        return added if self.schedule.scenario.inputs == 1 else {}

    def _definition(self) -> Any:
        """The query of now."""

        def begun(windowed: Any, values: Mapping[str, Any]) -> Any:
            return windowed.start_from(self.opened).agg(**values, **self._added)

        return definition(self.oracle.scenario, agg if self.opened is None else begun, self.tie)

    def _move(self, move: Move) -> Cluster:
        """Another query continues the open windows. An aggregate that it adds is new once more."""
        before = self.cluster
        self._check_ties(before)
        self.log.append(f"micro-batch {move.batch}: {move}")
        self.opened = before.still_open()
        self.oracle.continue_with(move.length)
        batches = self.schedule.scenario.batches[: move.batch]
        self.records_before = max((row.x or 0 for rows in batches for row in rows), default=0)
        self.did["moves"] += 1
        after = self.start(self._definition(), schemas(self.schedule.scenario), shards=move.shards, tasks=1)
        after.counters, after.earlier = before.counters, before.committed + before.earlier
        return after

    def _shown(self, row: ShownChange) -> ShownChange:
        """A row without the aggregate that a move adds: null in a window with a record from before (rules 1.11)."""
        op, key, start, end, values = row
        if self.opened is None or values is None or not self._added:
            return row
        *others, extreme = values
        own = list(map(int, numbers(tuple(others))))
        is_old = any(number <= self.records_before for number in own)
        may_be_null = is_old or not own or others[0] != len(own)
        found = max if self.did["moves"] % 2 else min
        if (is_old or extreme != found(own)) if extreme is not None else not may_be_null:
            raise BrokenLawError(f"{extreme} is a new aggregate in {row}, with records before {self.records_before}")
        return op, key, start, end, tuple(others)

    def _check(self, expected: Sequence[ShownChange], got: list[ShownChange]) -> None:
        scenario = self.schedule.scenario
        if scenario.every_record and not scenario.sourced and by_key(got) != by_key([*expected]):
            raise BrokenLawError(f"the order of a key: expected {by_key([*expected])}, got {by_key(got)}")
        check_multiset(expected, got)
        for name in COUNTED:
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


def check_multiset(expected: Sequence[ShownChange], got: Sequence[ShownChange]) -> None:
    """No row is lost, and none comes twice."""
    lost, more = Counter(expected) - Counter(got), Counter(got) - Counter(expected)
    if lost or more:
        raise BrokenLawError(f"rows: missing {[*lost.elements()]}, too many {[*more.elements()]}")


def difference(schedule: Schedule) -> tuple[str | None, Run]:
    """The first difference of a schedule, in words; an exception is one too. None if there is none."""
    run = Run(schedule)
    try:
        run.play()
    except Exception as error:
        return f"{type(error).__name__}: {error}", run
    return None, run
