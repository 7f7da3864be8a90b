"""A daily job on a cluster: runs of `advance` (rules 1.9) that die, repeat, and run two at once.

```text
 open windows, records of a day ─▶ pack ─▶ tasks: advance ─▶ rows of the run ─▶ closed, and open for the next day
```
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle

from windrow._executor.advance import advance, rows_of_run
from windrow._executor.open_windows import shown_aggregates
from windrow._executor.run import run_schema
from windrow._executor.run_blocks import heads, pack_day, pack_open
from windrow._local.advance import open_rows
from windrow._local.sources import columns_of
from windrow._native import Operator
from windrow._spark.advance import open_spec

from ..harness.scenario_queries import ShownChange, definition, named, schemas, stream_rows
from ..harness.steps import LocalStream
from ..oracle.scenario import Row
from ..oracle.streaming_scenario import StreamingScenario
from .cluster import Fault, replanned
from .laws import check_attempts, check_rows, check_ties, tie_of
from .task import running


def daily(scenario: StreamingScenario) -> StreamingScenario:
    """The scenario as a daily job: without sources, orders, ticks and updates. Each micro-batch is a day."""
    batches = tuple(tuple(row for row in rows if not row.tick) for rows in scenario.batches)
    plain: dict[str, Any] = {"ordered": False, "sourced": False, "stream_time": "source", "every_record": False}
    plain |= {"every": None, "emit": "close", "until": None, "restarts": ()}
    return dataclasses.replace(scenario, batches=batches, **plain)


def ends(scenario: StreamingScenario, seed: int) -> list[int]:
    """The end of each day: no record so far is after it."""
    draw, found, latest = random.Random(f"{seed} ends"), list[int](), -(2**60)
    for rows in scenario.batches:
        latest = max([latest, *(row.time for row in rows if row.time is not None)])
        latest = 0 if latest == -(2**60) else latest + draw.choice([0, 0, 1, scenario.length, 10 * scenario.length])
        found.append(latest)
    return found


class DailyJob:
    """A daily job.

    Attributes:
        opened: the open windows that the last run left.
        faults: the faults that have not happened yet. A run meets all faults of its day.
    """

    def __init__(self, scenario: StreamingScenario, shards: int, tasks: int, seed: int, faults: list[Fault]) -> None:
        self.stream = LocalStream(definition(scenario, tie=tie_of(scenario)), schemas(scenario), shards=shards)
        self.scenario, self.tasks, self.seed, self.faults = scenario, tasks, seed, faults
        self.opened: pa.Table | None = None
        plan = self.stream.plan
        self._core = Operator(plan.spec.of_run.text, plan.schema, plan.folds()).output_schema
        self._functions = tuple(cloudpickle.dumps(function) for function in plan.functions.values())

    def run(self, day: int, tables: Sequence[pa.Table], to: int, log: list[str]) -> list[ShownChange]:
        """A day, until its rows are stored once. Returns the closed windows."""
        splits = [named(self.stream, table).select(self.stream.plan.schema.names) for table in tables]
        own = [fault for fault in self.faults if fault.batch == day]
        draw = random.Random(f"{self.seed} day {day}")
        rows = self._rows(draw, splits, to, {fault.task % self.tasks for fault in own if fault.kind == "task"})
        for fault in own:
            log.append(f"day {day}: {fault.kind}, case {fault.at & 1}")
            planned = splits if fault.kind in ("pack", "task", "beside") else replanned(draw, splits)
            again = self._rows(draw, planned, to)
            if planned is splits:
                check_attempts(*(sorted(map(repr, each.to_pylist())) for each in (rows, again)), f"runs of day {day}")
            else:
                lists = (each.to_pylist() for each in (rows, again))
                check_rows(*lists, "(c)", without=[*self.stream.plan.functions, "state"])
            rows, splits = (again, planned) if fault.at & 1 else (rows, splits)
        if tie_of(self.scenario) is not None:
            check_ties(rows.to_pylist(), self.scenario)
        is_open: Any = pa.compute.equal(rows["status"], pa.scalar("open"))
        self.opened = rows.filter(is_open).drop_columns(["status", *(["op"] if "op" in rows.column_names else [])])
        closed = rows.filter(pa.compute.invert(is_open)).drop_columns(["stream_time", "state", "status"])
        return [row for batch in closed.to_batches() for row in stream_rows(batch)]

    def _rows(
        self, draw: random.Random, splits: Sequence[pa.Table], to: int, dying: Sequence[int] | set[int] = ()
    ) -> pa.Table:
        """The rows of a run. Some tasks die after their first rows, and run again."""
        plan, columns = self.stream.plan, self.stream.plan.schema.serialize().to_pybytes()
        specs, read = {"run": plan.spec.of_run.text, "records": plan.spec.in_order.text}, {"records": columns}
        packed = list(heads(iter([pa.record_batch({"id": [0]})]), self.stream.shards))
        for place, split in enumerate(splits):
            with running(place, None):
                batches = split.cast(plan.schema).to_batches(max_chunksize=draw.choice([1, 3, 100]))
                packed += pack_day(iter(batches), specs["records"], columns)
        if self.opened is not None:
            opened = open_rows(columns_of(self.opened, "open"), plan, shown_aggregates(plan, self._core))
            specs["open"], read["open"] = open_spec(plan, opened.schema), opened.schema.serialize().to_pybytes()
            cut = draw.randint(0, opened.num_rows)
            for place, part in enumerate([opened.slice(0, cut), opened.slice(cut)]):
                with running(place, None):
                    packed += pack_open(iter(part.to_batches()), specs["open"], read["open"], self.stream.shards)
        done = list[pa.RecordBatch]()
        for task in range(self.tasks):
            with running(task, None):
                own = self._shuffled(draw, packed, task)
                if task in dying:
                    next(advance(iter(own), specs, read, self._functions, to), None)
                done += advance(iter(own), specs, read, self._functions, to)
        schema = run_schema(self._core)
        rows = rows_of_run(
            iter(draw.sample(done, len(done))), schema.serialize().to_pybytes(), self.stream.shards, to, {}
        )
        return pa.Table.from_batches(rows, schema)

    def _shuffled(self, draw: random.Random, packed: Sequence[pa.RecordBatch], task: int) -> Iterator[pa.RecordBatch]:
        """The packed rows of a task, as Spark sorts them."""
        rows = pa.Table.from_batches(packed)
        keys = sorted(set(rows["shard"].to_pylist()))
        places = [place for place, key in enumerate(rows["shard"].to_pylist()) if keys.index(key) % self.tasks == task]
        own = rows.take(draw.sample(places, len(places)))
        return own.sort_by([(name, "ascending") for name in ("shard", "kind", "first")]).to_batches(max_chunksize=7)


def with_clock(rows: Sequence[Row], to: int, inputs: int) -> list[Row]:
    """The micro-batch that a run is: its records, then a tick of each input."""
    return [*rows, *(Row(None, to, input=number, tick=True) for number in range(inputs))]
