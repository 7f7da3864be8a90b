"""The steps of a streaming query, without a JVM, against the oracle: whatever the splits, the shards, their order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr

from ..harness.micro_batch_player import COUNTED, joined, texts
from ..harness.micro_batch_tables import schema_of, table_of
from ..harness.steps import LocalStream
from ..oracle.micro_batch_generator import paced_scenario, streaming_scenario
from ..oracle.micro_batches import MicroBatches
from ..oracle.scenario import Row
from ..oracle.stream import Change
from ..oracle.streaming_scenario import StreamingScenario

SEEDS, TOGETHER = 400, 50
COUNTERS = (*COUNTED, "ticks", "bad_ticks", "updates", "windows_closed")

Told = tuple[str, str, int, int, tuple[Any, ...] | None]
"""A row: `op`, key, start, end, the values of the aggregates."""


def micros(length: int) -> str:
    return f"{length} microseconds"


def definition(asked: StreamingScenario) -> Any:
    """The query of a scenario, as a user writes it."""
    retention = None if asked.until is None else micros(asked.until)
    options: Any = {"grace": micros(asked.grace), "retention": retention}
    if asked.kind == "sliding":
        resolution = micros(asked.resolution)
        windows: Any = wr.SlidingWindows.with_time_difference(micros(asked.length), resolution=resolution, **options)
    elif asked.kind == "session":
        windows = wr.SessionWindows.with_gap(micros(asked.length), **options)
    else:
        windows = wr.SessionWindows.with_dynamic_gap("gap", max_gap=micros(asked.length), **options)
    values: dict[str, Any] = {"n": wr.count(), "total": wr.sum("v"), "all": wr.collect_list("v")}
    if asked.inputs > 1:  # each of these would be of one input
        values = {"n": wr.count()}
    elif asked.values == "python":
        add = lambda held, row: texts(held, row.v)  # noqa: E731 (pickled by value)
        values = {"text": wr.aggregate(str, add, joined, schema="string", columns=["v"])}

    def grouped(data: Any) -> Any:
        sources = ["topic", "partition"] if asked.sourced else None
        order = "offset" if asked.ordered else None
        stream_time: Any = asked.stream_time
        return wr.group_by(data, "k", time="ts", tick="tick", source=sources, order=order, stream_time=stream_time)

    def windowed(data: Any) -> Any:
        emit: Any = asked.emit
        late: Any = asked.late
        pace = None if asked.every is None else micros(asked.every)
        windowed = data.windowed_by(windows).emit(emit, every_record=asked.every_record, every=pace).late(late)
        return windowed.agg(**values)

    if asked.inputs > 1:
        return lambda **inputs: windowed(wr.cogroup(**{name: grouped(data) for name, data in inputs.items()}))
    return lambda data: windowed(grouped(data))


def schemas(asked: StreamingScenario) -> Any:
    """The columns of the data, or of each input."""
    schema = schema_of(asked)
    if asked.inputs == 1:
        return schema
    own = pa.schema([field for field in schema if field.name != "input"])
    return {f"input{number}": own for number in range(asked.inputs)}


def named(stream: LocalStream, table: pa.Table) -> pa.Table:
    """A table of a scenario in the columns that a plan reads."""
    plan = stream.plan
    if plan.origins is None:
        return table
    assert plan.tick is not None
    names = {plan.time: "ts", plan.tick: "tick", plan.origins.column: "input"}
    names |= dict(zip(plan.stream.source, ["topic", "partition"], strict=False))
    names |= {} if plan.stream.order is None else {plan.stream.order: "offset"}
    return pa.table(
        {name: table[names.get(name, name)].cast(stream.read.field(name).type) for name in stream.read.names}
    )


def splits(draw: random.Random, asked: StreamingScenario, rows: tuple[Row, ...]) -> list[pa.Table]:
    """The rows in splits; with an order those of a source together."""
    count = draw.randint(1, 4)
    parts: list[list[Row]] = [[] for _ in range(count)]
    for row in rows:
        place = (row.source or 0) % count if asked.ordered and asked.sourced else draw.randrange(count)
        parts[0 if asked.ordered and not asked.sourced else place].append(row)
    if not asked.ordered:
        for part in parts:
            draw.shuffle(part)
    return [table_of(asked, part) for part in parts]


def stream_rows(batch: pa.RecordBatch) -> Iterator[Told]:
    """The rows that a stream gives; lists in the order of values."""
    bounds = [batch.column("window").field(name).cast(pa.int64()).to_pylist() for name in ("start", "end")]
    for row, start, end in zip(batch.to_pylist(), *bounds, strict=True):
        op = row.get("op", "upsert")
        values = [value for name, value in row.items() if name not in ("k", "window", "op")]
        held = tuple(tuple(sorted(value)) if isinstance(value, list) else value for value in values)
        yield op, row["k"], start, end, None if op == "delete" else held


def shown(change: Change, inputs: int) -> Told:
    values = change.values
    return change.op, change.key, change.start, change.end, values[:1] if values and inputs > 1 else values


def by_key(rows: list[Told]) -> dict[str, list[Told]]:
    return {key: [row for row in rows if row[1] == key] for key in sorted({row[1] for row in rows})}


def check(asked: StreamingScenario, seed: int) -> bool:
    """Plays a scenario, unless it has a Python function over several inputs."""
    if asked.inputs > 1 and asked.values == "python":
        return False
    draw = random.Random(seed)
    oracle = MicroBatches(asked)
    stream = LocalStream(definition(asked), schemas(asked), shards=draw.choice([1, 2, 5]), seed=seed)
    expected: list[Told] = []
    for number, rows in enumerate(asked.batches):
        if (restart := asked.restart_before(number)) is not None:
            oracle.restart(restart.grace, restart.late, restart.every)
            stream.define(definition(oracle.asked))
        if not rows and asked.every is not None:
            continue  # Spark runs no micro-batch: what waits leaves with the next one, as it is then
        expected += (shown(change, asked.inputs) for change in oracle.push(rows))
        if not rows:
            continue  # Spark runs no micro-batch: what a smaller grace closes comes with the next one
        tables = [named(stream, table) for table in splits(draw, oracle.asked, rows)]
        got = [row for batch in stream.push_batches(tables) for row in stream_rows(batch)]
        place = f"seed {seed}, batch {number}\n{asked.line()}"
        if asked.every_record and not asked.sourced:
            assert by_key(got) == by_key(expected), place
        assert sorted(got, key=repr) == sorted(expected, key=repr), place
        counted = {name: stream.counters[name] for name in COUNTERS}
        assert counted == {name: oracle.counters[name] for name in COUNTERS}, place
        expected = []
    return True


@pytest.mark.parametrize("first", range(0, SEEDS, TOGETHER))
def test_no_answer_depends_on_splits_and_shards(first: int) -> None:
    played = sum(check(streaming_scenario(seed), seed) for seed in range(first, first + TOGETHER))
    assert played > TOGETHER / 2


@pytest.mark.parametrize("first", range(0, SEEDS, TOGETHER))
def test_no_answer_of_paced_updates_depends_on_splits_and_shards(first: int) -> None:
    played = sum(check(paced_scenario(seed), seed) for seed in range(first, first + TOGETHER))
    assert played > TOGETHER / 2
