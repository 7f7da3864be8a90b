"""A cluster in which tasks and drivers die: a `LocalStream` that runs each micro-batch as Spark does, on one thread.

```text
 offset log n ─▶ pack a split ─▶ tasks: state n ─▶ state n+1, rows ─▶ the sink takes (n, rows) ─▶ commit log n
      ▲ a driver that died before the commit log starts again here, with the same rows in other splits and batches
```

All choices follow from the seed, the number of the micro-batch and how often it was planned.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

import windrow as wr
from windrow._executor.stream.pack import pack
from windrow._executor.stream.query import StreamQuery
from windrow._executor.stream.shard import SUMS

from ..harness.steps import DictState, LocalStream, Row
from .laws import check_attempts, check_rows, check_state, rows_of, stream_time
from .task import Done, States, Step, TaskDiedError, beside, running

DRIVER = ("before the offset log", "after the offset log", "after the tasks", "after the sink", "after the commit log")
"""Where a driver dies."""

KINDS = ("pack", "task", "beside", "sink twice", *DRIVER)


class Fault(NamedTuple):
    """What goes wrong in a micro-batch, once.

    Attributes:
        batch: the number of the micro-batch.
        kind: one of `KINDS`. In "pack" and "task" an attempt dies; in "beside" a second attempt runs beside the first.
        task: the split or the task that it meets.
        at: after how many writes a task dies; which of two attempts wins.
    """

    batch: int
    kind: str
    task: int = 0
    at: int = 0


class DriverDiedError(Exception):
    """The driver dies."""


@dataclass
class Cluster(LocalStream):
    """A streaming query on a cluster.

    Attributes:
        tasks: how many tasks share the shards.
        faults: the faults that have not happened yet.
        number: the number of the next micro-batch in the schedule, to which faults refer. Spark runs no empty ones.
        versions: the states before each micro-batch, by how many are committed; also those of attempts that failed.
        sink: the rows of each micro-batch, as batches. Rows that come again replace the earlier ones.
        log: what happened.
    """

    tasks: int = 1
    faults: list[Fault] = field(default_factory=list)
    number: int = 0
    versions: dict[int, States] = field(default_factory=lambda: {0: {}})
    sink: dict[int, list[pa.RecordBatch]] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.committed, self.earlier = 0, 0
        self._offsets: dict[int, tuple[tuple[pa.Table, ...], int]] = {}
        self._plans = 0
        self._tried: tuple[list[pa.RecordBatch], States] | None = None
        self._history: list[tuple[int, str, str]] = []
        super().__post_init__()

    def define(self, definition: Any) -> None:
        """A driver starts, perhaps with another query."""
        self.definition, self._tried = definition, None
        super().define(definition)
        chosen = random.Random(f"{self.seed} form").random()
        self._step = Step.of(self.shipment, is_pandas=chosen < 0.03, probes=chosen < 0.003)

    def _begin(self) -> None:
        self._history = list(self.first_entries())

    # The driver

    def push_batches(self, splits: Sequence[pa.Table]) -> list[pa.RecordBatch]:
        """Runs a micro-batch until it is committed, with as many drivers as it takes. Returns what the sink has."""
        number = self.committed
        while self.committed == number:
            tried = self.planned(splits)
            if self.committed == number:
                self.define(self.definition)
                self._tried = tried
        self.number += 1
        return self.sink[number]

    def planned(self, splits: Sequence[pa.Table]) -> tuple[list[pa.RecordBatch], States] | None:
        """Runs a micro-batch until it is committed or its driver dies. Returns what the sink got before that."""
        try:
            self._run(self.committed, splits)
        except DriverDiedError as place:
            self.log.append(f"micro-batch {self.number}: the driver dies {place}")
        return self._tried

    def _run(self, number: int, splits: Sequence[pa.Table]) -> None:
        self._may_die(DRIVER[0])
        is_again = number in self._offsets
        self._plans = self._plans + 1 if is_again else 0
        offsets, self.clock = self._offsets.setdefault(number, (tuple(splits), self.clock))
        self._may_die(DRIVER[1])
        self.draw = random.Random(f"{self.seed} {number} {self._plans}")
        received = self.received(replanned(self.draw, offsets, fixed=self._by_arrival) if is_again else offsets)
        before = self.version(number)
        states, batches, counted = dict(before), list[pa.RecordBatch](), list[dict[str, int | None]]()
        for task in range(self.tasks):
            own = {shard: rows for shard, rows in received.items() if shard % self.tasks == task}
            done = self._task(task, own, before)
            states |= done.states
            counted += done.counted
            with running(task, number):
                batches += self._unpacked(pa.record_batch({"block": pa.array(done.blocks, pa.binary())}))
        self.versions[number + 1] = states
        check_state(states)
        self._may_die(DRIVER[2])
        self._give(number, batches, states)
        if self._faults("sink twice"):
            self.log.append(f"micro-batch {self.number}: the sink gets it twice")
            self._give(number, batches, states)
        self._may_die(DRIVER[3])
        self.committed = number + 1
        self._count(counted)
        self.states = {shard: DictState(pages) for shard, pages in states.items()}
        self._tried = None
        self._may_die(DRIVER[4])

    def version(self, number: int) -> States:
        """The states before a micro-batch."""
        return self.versions[number]

    def _give(self, number: int, batches: list[pa.RecordBatch], states: States) -> None:
        """The sink gets the rows of a micro-batch."""
        if self._tried is not None:
            before, states_before = self._tried
            functions = [*self.plan.functions]  # law (d)
            check_rows(rows_of(before), rows_of(batches), "(b)", without=functions)
            if self._shows_open and stream_time(states) is not None:
                opened = [self.open_in(each).to_pylist() for each in (states_before, states)]
                check_rows(*opened, "(b), open windows", without=[*functions, "state"])
        self.sink[number], self._tried = batches, (batches, states)

    @property
    def _by_arrival(self) -> bool:
        """Whether the order of rows decides the windows, after a refusal (rules 1.2)."""
        return isinstance(self.plan.windows, wr.SlidingWindows) and bool(self.plan.functions)

    @property
    def _shows_open(self) -> bool:
        """Whether the query has a table of open windows: sources share them, and no rules end them."""
        windows, stream = self.plan.windows, self.plan.stream
        return (not stream.source or stream.stream_time == "slowest") and not getattr(windows, "rules", ())

    def _count(self, counted: list[dict[str, int | None]]) -> None:
        times = [each["stream_time"] for each in counted if each["stream_time"] is not None]
        self.stream_time = min(times, default=self.stream_time)
        for each in counted:
            for name in SUMS:
                self.counters[name] += each[name] or 0
        self.counters["windows_open"] = sum(each["windows_open"] or 0 for each in counted)

    def _may_die(self, place: str) -> None:
        if self._faults(place, most=1):
            raise DriverDiedError(place)

    def dies(self) -> bool:
        """Whether the next micro-batch meets a driver that dies before it is committed."""
        return any(fault.batch == self.number and fault.kind in DRIVER[1:4] for fault in self.faults)

    def _faults(self, kind: str, task: int = 0, tasks: int = 1, most: int | None = None) -> list[Fault]:
        """The faults that happen now; they do not happen again."""
        met = [each for each in self.faults if each[:2] == (self.number, kind) and each.task % tasks == task][:most]
        for each in met:
            self.faults.remove(each)
        return met

    # Tasks

    def received(self, splits: Sequence[pa.Table]) -> dict[int, list[Row]]:
        """The rows that each shard receives. A split may be packed twice, if an executor with its blocks is lost."""
        received: dict[int, list[Row]] = {}
        shard_keys = StreamQuery(self.shipment).shard_keys
        for place, split in enumerate(splits):
            batches = self._batches(split)
            with running(place, self.committed):
                packed = list(pack(iter(batches), self.shipment))
                for fault in self._faults("pack", place, len(splits)):
                    self.log.append(f"micro-batch {self.number}: split {place} is packed again")
                    for _ in zip(pack(iter(batches), self.shipment), range(fault.at), strict=False):
                        pass  # an attempt dies
                    check_attempts(packed, list(pack(iter(batches), self.shipment)), "packed rows")
            for row in (row for batch in packed for row in batch.to_pylist()):
                received.setdefault(shard_keys.index(row["shard"]), []).append(Row(**row))
        return received

    def _task(self, task: int, rows: Mapping[int, list[Row]], before: States) -> Done:
        """Attempts of a task until one has ended; attempts that ended must not differ."""
        history = self._history if self.committed == 0 else []

        def attempt(writes: int | None = None) -> Iterator[Done]:
            return self._step.attempt(rows, before, history, self.draw, writes)

        with running(task, self.committed):
            for fault in self._faults("task", task, self.tasks):
                try:
                    list(attempt(fault.at))
                    self.log.append(f"micro-batch {self.number}: task {task} dies after its last write")
                except TaskDiedError:
                    self.log.append(f"micro-batch {self.number}: task {task} dies after {fault.at} writes")
            done = [*attempt()][-1]
            for fault in self._faults("beside", task, self.tasks):
                self.log.append(f"micro-batch {self.number}: two attempts of task {task}, case {fault.at % 4}")
                one, other = beside(self.draw, attempt(), attempt())
                check_attempts(one, other, f"attempts of task {task}")
                check_attempts(done, other, f"attempts of task {task}")
                of_rows, of_states = (one, other)[fault.at & 1], (one, other)[fault.at >> 1 & 1]
                done = Done(of_states.states, of_rows.blocks, of_rows.counted)
            return done


def replanned(draw: random.Random, splits: Sequence[pa.Table], *, fixed: bool = False) -> list[pa.Table]:
    """The same rows in other splits. The rows of a split stay together, as those of a source must.

    If the order of rows is `fixed`, the splits stay in their order, law (d).
    """
    found = [*splits] if fixed else draw.sample(splits, len(splits))
    if len(found) > 1 and draw.random() < 0.5:
        found = [pa.concat_tables(found[:2]), *found[2:]]
    return found
