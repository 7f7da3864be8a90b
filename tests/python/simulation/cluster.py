"""A cluster in which tasks and drivers die: a `LocalStream` that runs each micro-batch as Spark does, on one thread.

```text
 offset log n ─▶ pack a split ─▶ tasks: state n ─▶ state n+1, rows ─▶ the sink takes (n, rows) ─▶ commit log n
      ▲ a driver that died before the commit log starts again here, with the same rows in other splits and batches
```

An attempt of a task works on a copy of the state. It is new Python, as on another executor: it keeps nothing from
earlier micro-batches. All choices follow from the seed, the number of the micro-batch and how often it was planned.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

import pandas
import pyarrow as pa
from pyspark import TaskContext, cloudpickle

from windrow._executor.stream.pack import pack
from windrow._executor.stream.query import StreamQuery
from windrow._executor.stream.shard import SUMS
from windrow._spark.processor import _processor
from windrow._spark.release import PANDAS, ROWS

from ..harness.steps import DictState, LocalStream, Row
from .laws import check_attempts, check_rows, check_state, rows_of, stream_time

States = Mapping[int, Mapping[str, str]]
"""The pages of each shard."""

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


class TaskDiedError(Exception):
    """An attempt of a task dies."""


class Handle(DictState):
    """What Spark gives to a processor: the state of one shard after the other. The attempt dies after some writes."""

    def __init__(self, writes: int | None) -> None:
        super().__init__()
        self.writes = writes

    def getMapState(self, *_: Any) -> Handle:  # noqa: N802
        return self

    def updateValue(self, key: tuple[str], value: tuple[str]) -> None:  # noqa: N802
        self._write()
        super().updateValue(key, value)

    def removeKey(self, key: tuple[str]) -> None:  # noqa: N802
        self._write()
        super().removeKey(key)

    def _write(self) -> None:
        if self.writes is not None:
            self.writes -= 1
            if self.writes < 0:
                raise TaskDiedError


class Entry(NamedTuple):
    """An entry of the state with which a shard begins."""

    name: str
    page: str


class Done(NamedTuple):
    """What an attempt leaves: the states of its shards, blocks of changes, and the counters of each shard."""

    states: dict[int, dict[str, str]]
    blocks: list[bytes]
    counted: list[dict[str, int | None]]


@dataclass
class Cluster(LocalStream):
    """A streaming query on a cluster.

    Attributes:
        tasks: how many tasks share the shards.
        faults: those that are still to come.
        number: the number of the next micro-batch, by which faults name it; those that Spark does not run count too.
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
        self._is_pandas = chosen < 0.03
        form = PANDAS if self._is_pandas else ROWS
        self._pickled = cloudpickle.dumps(_processor(self.shipment, form, probes=chosen < 0.01))

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
        draw = self.draw = random.Random(f"{self.seed} {number} {self._plans}")
        received = self.received(replanned(draw, offsets) if is_again else offsets)
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
        with running(task, self.committed):
            for fault in self._faults("task", task, self.tasks):
                try:
                    list(self._attempt(rows, before, fault.at))
                    self.log.append(f"micro-batch {self.number}: task {task} dies after its last write")
                except TaskDiedError:
                    self.log.append(f"micro-batch {self.number}: task {task} dies after {fault.at} writes")
            done = [*self._attempt(rows, before)][-1]
            for fault in self._faults("beside", task, self.tasks):
                self.log.append(f"micro-batch {self.number}: two attempts of task {task}, case {fault.at % 4}")
                one, other = self._beside(self._attempt(rows, before), self._attempt(rows, before))
                check_attempts(one, other, f"attempts of task {task}")
                check_attempts(done, other, f"attempts of task {task}")
                of_rows, of_states = (one, other)[fault.at & 1], (one, other)[fault.at >> 1 & 1]
                done = Done(of_states.states, of_rows.blocks, of_rows.counted)
            return done

    def _attempt(
        self, rows: Mapping[int, list[Row]], before: States, writes: int | None = None
    ) -> Generator[Done, None, None]:
        """An attempt of a task, step by step; the last step is the whole. It gets the rows of a shard in any order."""
        handle, processor = Handle(writes), cloudpickle.loads(self._pickled)
        processor.init(handle)
        done = Done({}, [], [])
        for shard in sorted(rows):
            handle.pages = dict(before.get(shard, {}))
            entries = [Entry(name, page) for of, name, page in self._history if of == shard and self.committed == 0]
            for begun in [pandas.DataFrame(entries)] if self._is_pandas and entries else entries:
                processor.handleInitialState((shard,), begun, None)
            received = self.draw.sample(rows[shard], len(rows[shard]))
            given: Any = iter([pandas.DataFrame(received)] if self._is_pandas else received)
            for out in processor.handleInputRows((shard,), given, None):
                for row in out.to_dict("records") if self._is_pandas else [out.asDict()]:
                    if block := row.pop("block"):
                        done.blocks.append(block)
                    if row["records"] is not None:
                        done.counted.append(row)
                yield done
            done.states[shard] = handle.pages
        processor.close()
        yield done

    def _beside(self, *attempts: Iterator[Done]) -> list[Done]:
        """Attempts that run beside each other, in steps of any order."""
        last: dict[int, Done] = {}
        live = dict(enumerate(attempts))
        while live:
            number = self.draw.choice([*live])
            if (step := next(live[number], None)) is None:
                del live[number]
            else:
                last[number] = step
        return [last[number] for number in sorted(last)]


def replanned(draw: random.Random, splits: Sequence[pa.Table]) -> list[pa.Table]:
    """The same rows in other splits. The rows of a split stay together, as those of a source must."""
    found = draw.sample(splits, len(splits))
    if len(found) > 1 and draw.random() < 0.5:
        found = [pa.concat_tables(found[:2]), *found[2:]]
    return found


@contextmanager
def running(partition: int, batch: int | None) -> Iterator[None]:
    """A task of Spark, as `TaskContext` tells of it; without a micro-batch a task of a batch query."""
    contexts: Any = TaskContext
    before = contexts._taskContext
    contexts._taskContext = SimpleNamespace(
        partitionId=lambda: partition, getLocalProperty=lambda _: None if batch is None else str(batch)
    )
    try:
        yield
    finally:
        contexts._taskContext = before
