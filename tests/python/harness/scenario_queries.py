"""The streaming queries of scenarios: what a user writes, the tables that it reads, and its rows for comparisons."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import windrow as wr

from ..oracle.scenario import Row
from ..oracle.stream import Change
from ..oracle.streaming_scenario import StreamingScenario
from .micro_batch_tables import schema_of, table_of
from .players import windows
from .steps import LocalStream

ShownChange = tuple[str, str, int, int, tuple[Any, ...] | None]
"""A row: `op`, key, start, end, the values of the aggregates."""


def texts(held: str, value: int | None) -> str:
    return held if value is None else joined(held, str(value))


def joined(older: str, later: str) -> str:
    return " ".join(map(str, sorted(map(int, f"{older} {later}".split()))))


def micros(length: int) -> str:
    return f"{length} microseconds"


def agg(windowed: Any, values: Mapping[str, Any]) -> Any:
    """The result of a stream."""
    return windowed.agg(**values)


def definition(
    scenario: StreamingScenario,
    then: Callable[[Any, Mapping[str, Any]], Any] = agg,
    tie: str | None = None,
    **rules: Any,
) -> Any:
    """The query of a scenario, as a user writes it. `then` makes a result of its windows and aggregates.

    `rules` are those of its sessions.
    """
    values: dict[str, Any] = {"n": wr.count(), "total": wr.sum("v"), "all": wr.collect_list("v")}
    if scenario.inputs > 1:  # a sum or a list is of one input
        lists = {f"all{each}": wr.collect_list(f"input{each}.v") for each in range(scenario.inputs)}
        values = {"n": wr.count(), **lists}
    elif scenario.values == "python":
        add = lambda held, row: texts(held, row.v)  # noqa: E731 (pickled by value)
        values = {"text": wr.aggregate(str, add, joined, schema="string", columns=["v"])}

    def grouped(data: Any) -> Any:
        sources = ["topic", "partition"] if scenario.sourced else None
        order = "offset" if scenario.ordered else None
        chosen: Any = {"source": sources, "order": order, "stream_time": scenario.stream_time, "tie": tie}
        return wr.group_by(data, "k", time="ts", end="end" if scenario.ends else None, tick="tick", **chosen)

    def windowed(data: Any) -> Any:
        emit: Any = scenario.emit
        late: Any = scenario.late
        pace = None if scenario.every is None else micros(scenario.every)
        emitted = data.windowed_by(windows(scenario, **rules)).emit(
            emit, every_record=scenario.every_record, every=pace
        )
        return then(emitted.late(late), values)

    if scenario.inputs > 1:
        return lambda **inputs: windowed(wr.cogroup(**{name: grouped(data) for name, data in inputs.items()}))
    return lambda data: windowed(grouped(data))


def schemas(scenario: StreamingScenario) -> Any:
    """The columns of the data, or of each input."""
    schema = schema_of(scenario)
    if scenario.inputs == 1:
        return schema
    own = pa.schema([field for field in schema if field.name != "input"])
    return {f"input{number}": own for number in range(scenario.inputs)}


def columns_read(stream: LocalStream) -> dict[str, str]:
    """The column of a scenario's table for each column of a cogroup's plan, where the names differ."""
    plan = stream.plan
    assert plan.origins is not None
    assert plan.tick is not None
    names = {plan.time: "ts", plan.tick: "tick", plan.origins.column: "input"}
    names |= {} if plan.end is None else {plan.end: "end"}
    names |= dict(zip(plan.stream.source, ["topic", "partition"], strict=False))
    return names | ({} if plan.stream.order is None else {plan.stream.order: "offset"})


def named(stream: LocalStream, table: pa.Table) -> pa.Table:
    """A table of a scenario in the columns that a plan reads."""
    if stream.plan.origins is None:
        return table
    names, columns = columns_read(stream), dict[str, Any]()
    for field in stream.read:
        name = names.get(field.name, field.name)
        if name in table.column_names:
            values = table[name]
        else:  # a column of one input
            of_input, _, column = name.partition(".")
            values = pc.if_else(pc.equal(table["input"], int(of_input.removeprefix("input"))), table[column], None)
        columns[field.name] = values.cast(field.type)
    return pa.table(columns)


def splits(draw: random.Random, scenario: StreamingScenario, rows: tuple[Row, ...]) -> list[pa.Table]:
    """The rows in splits; with an order those of a source together.

    After a refusal, sliding windows depend on the order in which Python functions take the records: by split, then by
    row (rules 1.2). So splits of them keep the order of the rows.
    """
    count = draw.randint(1, 4)
    if scenario.kind == "sliding" and scenario.values == "python" and not scenario.ordered:
        cuts = sorted(draw.choices(range(len(rows) + 1), k=count - 1))
        bounds = itertools.pairwise([0, *cuts, len(rows)])
        return [table_of(scenario, list(rows[first:last])) for first, last in bounds]
    parts: list[list[Row]] = [[] for _ in range(count)]
    for row in rows:
        place = (row.source or 0) % count if scenario.ordered and scenario.sourced else draw.randrange(count)
        parts[0 if scenario.ordered and not scenario.sourced else place].append(row)
    if not scenario.ordered:
        for part in parts:
            draw.shuffle(part)
    return [table_of(scenario, part) for part in parts]


def stream_rows(batch: pa.RecordBatch) -> Iterator[ShownChange]:
    """The rows that a stream gives; lists in the order of values."""
    bounds = [batch.column("window").field(name).cast(pa.int64()).to_pylist() for name in ("start", "end")]
    for row, start, end in zip(batch.to_pylist(), *bounds, strict=True):
        op = row.get("op", "upsert")
        values = [value for name, value in row.items() if name not in ("k", "window", "op")]
        if "all0" in row:  # of a cogroup, the numbers of all inputs
            values = [row["n"], [number for numbers in values[1:] for number in numbers or ()]]
        held = tuple(tuple(sorted(value)) if isinstance(value, list) else value for value in values)
        yield op, row["k"], start, end, None if op == "delete" else held


def shown(change: Change, inputs: int) -> ShownChange:
    values = change.values
    return change.op, change.key, change.start, change.end, values[::2] if values and inputs > 1 else values


def by_key(rows: list[ShownChange]) -> dict[str, list[ShownChange]]:
    return {key: [row for row in rows if row[1] == key] for key in sorted({row[1] for row in rows})}
