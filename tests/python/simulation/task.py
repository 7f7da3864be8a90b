"""The tasks of the step with state: attempts, each on a copy of the state and in new Python, as on another executor."""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple, Self

import pandas
from pyspark import TaskContext, cloudpickle

from windrow._executor.stream.query import Shipment
from windrow._spark.processor import _processor
from windrow._spark.release import PANDAS, ROWS

from ..harness.steps import DictState, Row

States = Mapping[int, Mapping[str, str]]
"""The pages of each shard."""


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


@dataclass(frozen=True)
class Step:
    """The step with state as Spark sends it to tasks: over rows, or over pandas frames."""

    pickled: bytes
    is_pandas: bool

    @classmethod
    def of(cls, shipment: Shipment, *, is_pandas: bool, probes: bool) -> Self:
        """The step of a query."""
        processor = _processor(shipment, PANDAS if is_pandas else ROWS, probes=probes)
        return cls(cloudpickle.dumps(processor), is_pandas)

    def attempt(
        self,
        rows: Mapping[int, Sequence[Row]],
        before: States,
        history: Sequence[tuple[int, str, str]],
        draw: random.Random,
        writes: int | None = None,
    ) -> Generator[Done, None, None]:
        """An attempt, step by step; the last step is the whole. It gets the rows of a shard in any order.

        It dies after so many `writes`. `history` are the entries of states that begin.
        """
        handle, processor = Handle(writes), cloudpickle.loads(self.pickled)
        processor.init(handle)
        done = Done({}, [], [])
        for shard in sorted(rows):
            handle.pages = dict(before.get(shard, {}))
            entries = [Entry(name, page) for of, name, page in history if of == shard]
            for begun in [pandas.DataFrame(entries)] if self.is_pandas and entries else entries:
                processor.handleInitialState((shard,), begun, None)
            received = draw.sample(rows[shard], len(rows[shard]))
            given: Any = iter([pandas.DataFrame(received)] if self.is_pandas else received)
            for out in processor.handleInputRows((shard,), given, None):
                for row in out.to_dict("records") if self.is_pandas else [out.asDict()]:
                    if block := row.pop("block"):
                        done.blocks.append(block)
                    if row["records"] is not None:
                        done.counted.append(row)
                yield done
            done.states[shard] = handle.pages
        processor.close()
        yield done


def beside(draw: random.Random, *attempts: Iterator[Done]) -> list[Done]:
    """Attempts that run beside each other, in steps of any order."""
    last: dict[int, Done] = {}
    live = dict(enumerate(attempts))
    while live:
        number = draw.choice([*live])
        if (step := next(live[number], None)) is None:
            del live[number]
        else:
            last[number] = step
    return [last[number] for number in sorted(last)]


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
