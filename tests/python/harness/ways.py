"""The ways to play a case of the book without Spark, and how its answer is compared."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

from windrow.testing import Change, StreamDriver

from ...cases.case import Case
from ...cases.drawing import Row, Window
from ...cases.query import SCHEMA, Query
from .row_steps import LocalRows
from .shuffle import after_a_shuffle, folded_after_a_shuffle
from .steps import LocalStream
from .tables import arrow

EPOCH = datetime(1970, 1, 1)
MILLISECOND = timedelta(milliseconds=1)
LAST = 10**11
"""After each window of a case, in milliseconds."""
Shown = tuple[Any, ...]
"""A row of a result: what it is, key, bounds, and values by name."""


def micros(length: float | None) -> int | None:
    return None if length is None else round(length * 1000)


def moment(time: float) -> datetime:
    """A time as Python has it."""
    return EPOCH + time * MILLISECOND


def table_of(rows: Sequence[Row], **others: Sequence[Any]) -> pa.Table:
    """Rows as a table. `offset` is their place, where a case has no other; `others` are further columns of strings."""
    columns: dict[str, list[Any]] = {name: [row.values.get(name) for row in rows] for name in SCHEMA.names}
    columns["key"] = [row.key for row in rows]
    columns["ts"] = [micros(row.time) for row in rows]
    columns["tick"] = [row.tick for row in rows]
    columns |= {name: [micros(time) for time in columns[name]] for name in ("gap", "until")}
    columns["offset"] = [row.values.get("offset", place) for place, row in enumerate(rows)]
    arrays = {name: pa.array(columns[name], SCHEMA.field(name).type) for name in SCHEMA.names}
    return pa.table(arrays | {name: pa.array(column, pa.string()) for name, column in others.items()})


def data_of(query: Query, rows: Sequence[Row]) -> Any:
    """Rows as the data of a query: a table, or a table for each input of a cogroup."""
    if not query.inputs:
        return table_of(rows)
    return {name: table_of([row for row in rows if row.input == name]) for name in query.inputs}


def plan_table(query: Query, plan: Any, names: Sequence[str], rows: Sequence[Row]) -> pa.Table:
    """Rows in the columns of a plan, which are not those of the data in a cogroup."""
    table, origins = table_of(rows), plan.origins
    if origins is None:
        return table.select(names)
    own = {plan.time: "ts", plan.tick: "tick"}
    own |= dict(zip(plan.stream.columns, [*group_sources(query), *order_of(query)], strict=False))
    numbers = [None if row.input is None else query.inputs.index(row.input) for row in rows]
    columns: list[pa.Array] = []
    for name in names:
        field = (plan.schema if name in plan.schema.names else pa.schema(plan.stream.fields)).field(name)
        if name == origins.column:
            columns.append(pa.array(numbers, field.type))
            continue
        values = table[own.get(name, name) if name in own or name in SCHEMA.names else "v"].to_pylist()
        if name not in own and name not in plan.keys:
            of = [places.get(name) for places in origins.columns]
            values = [
                None if number is None or of[number] is None else table[of[number]][row].as_py()
                for row, number in enumerate(numbers)
            ]
        columns.append(pa.array(values, field.type))
    return pa.table(columns, names=list(names))


def group_sources(query: Query) -> list[str]:
    source = query.group.get("source", [])
    return [source] if isinstance(source, str) else list(source)


def order_of(query: Query) -> list[str]:
    return [query.group["order"]] if "order" in query.group else []


def plain(value: Any) -> Any:
    """A value as a case tells it: times and lengths in milliseconds, lists as tuples."""
    if isinstance(value, datetime):
        value = value.replace(tzinfo=None) - EPOCH
    if isinstance(value, timedelta):
        number = value / MILLISECOND
        return int(number) if number == int(number) else number
    if isinstance(value, list | tuple):
        return tuple(map(plain, value))
    return value


def shown_row(query: Query, row: Mapping[str, Any], op: str | None = None) -> Shown:
    """A row of a result."""
    op = op or row.get("op", "upsert")
    op = "final" if op == "upsert" and query.emit is None else op
    window = row["window"] or {"start": None, "end": None}
    names = ("time", "reason", "late_by", "stream_time") if op == "left_out" else tuple(query.aggregates)
    values = {} if op == "delete" else {name: plain(row[name]) for name in names}
    return op, row["key"], plain(window["start"]), plain(window["end"]), values


def changed(query: Query, change: Change) -> Shown:
    """A change of a driver."""
    row = {"key": change.key["key"], "window": change.window._asdict(), **change.values}
    return shown_row(query, row, "upsert" if change.kind == "final" else change.kind)


def wanted(windows: Iterable[Window], query: Query, *, on_stream: bool) -> list[Shown]:
    """What a case tells. A stream calls the last session of a key ended by its gap (rules 2.8)."""

    def told(window: Window) -> Shown:
        values = dict(window.values)
        if window.op in ("final", "upsert", "late"):
            values = {name: value for name, value in values.items() if name in query.aggregates}
        if on_stream and values.get("why") == "open":
            values["why"] = "gap"
        op = "upsert" if window.op == "final" and query.emit is not None else window.op
        return op, window.key, window.start, window.end, values

    return list(map(told, windows))


def differences(expected: Sequence[Shown], got: Sequence[Shown], *, in_order: bool = False) -> list[str]:
    """In words, what differs. Of the values only those that a case tells are compared."""
    if not in_order:
        every = [set(row[4]) for row in expected if row[4]]
        names = sorted(set.intersection(*every)) if every else []

        def place(row: Shown) -> str:
            return repr((row[:4], [row[4].get(name) for name in names]))

        expected, got = sorted(expected, key=place), sorted(got, key=place)
    found = []
    for one in range(max(len(expected), len(got))):
        told, came = (rows[one] if one < len(rows) else None for rows in (expected, got))
        if told is None or came is None or not same(told, came):
            found.append(f"expected {told}, got {came}")
    return found


def same(told: Shown, came: Shown) -> bool:
    return told[:4] == came[:4] and all(
        name in came[4] and alike(value, came[4][name]) for name, value in told[4].items()
    )


def alike(told: Any, came: Any) -> bool:
    return abs(told - came) < 1e-9 if isinstance(told, float) and isinstance(came, float) else bool(told == came)


def shown_table(query: Query, result: Any) -> list[Shown]:
    return [shown_row(query, row) for row in arrow(result).to_pylist()]


def in_process(case: Case) -> list[str]:
    query = case.query
    if case.runs:
        return runs(case)[0]
    result = query.result(query.windowed(data_of(query, case.records)))
    return differences(wanted(case.windows, query, on_stream=False), shown_table(query, result))


def runs(case: Case) -> tuple[list[str], Any]:
    """The differences of runs of `advance`, and the windows that they leave open."""
    query, opened, found = case.query, None, list[str]()
    for run in case.runs:
        windowed = query.windowed(data_of(query, run.rows))
        assert run.to is not None
        result = windowed.advance(opened, to=moment(run.to), **query.aggregates)
        opened = result.still_open
        found += differences(wanted(run.gives, query, on_stream=True), shown_table(query, result.closed))
    return found, opened


def days(case: Case) -> list[str]:
    """The records before the middle of the times come on the first day, as do those without a time."""
    query, opened, came = case.query, None, list[Shown]()
    times = sorted({row.time for row in case.records if row.time is not None and not row.tick})
    middle = times[len(times) // 2] if times else 0
    for is_first, to in ((True, middle), (False, LAST)):
        rows = [row for row in case.records if (row.time is None or row.time < middle) == is_first]
        run = query.windowed(data_of(query, rows)).advance(opened, to=moment(to), **query.aggregates)
        opened, came = run.still_open, came + shown_table(query, run.closed)
    return differences(wanted(case.windows, query, on_stream=True), came)


def shuffle(case: Case) -> list[str]:
    query = case.query
    windowed = query.windowed(data_of(query, case.records)).shards(3)
    plan = windowed._plan(query.aggregates)
    table = plan_table(query, plan, plan.schema.names, case.records)
    cuts = [len(case.records) // 2]
    result = (folded_after_a_shuffle if plan.functions else after_a_shuffle)(plan, table, cuts)
    return differences(wanted(case.windows, query, on_stream=False), shown_table(query, result))


def driven(case: Case, *, restarts: bool) -> list[str]:
    query, opened = case.then or case.query, runs(case)[1] if case.runs else None
    clock = {} if query.max_ahead is None else {"wall_clock": EPOCH}

    def new() -> StreamDriver:
        return StreamDriver(query.definition(opened), query.schemas, **clock)

    driver, found, column = new(), list[str](), {"input_column": "input"} if query.inputs else {}
    for number, step in enumerate(case.steps):
        if step.finishes:
            changes = driver.finish()
        else:
            inputs = {"input": [row.input for row in step.rows]} if query.inputs else {}
            changes = driver.pipe_batch(table_of(step.rows, **inputs), **column)  # type: ignore[arg-type]
        got = [changed(query, change) for change in changes]
        by_hand = query.emit is not None and bool(query.emit.get("every_record"))
        in_order = by_hand or "9.8" in case.rules
        expected = wanted(step.gives, query, on_stream=True)
        found += [f"step {number}: {one}" for one in differences(expected, got, in_order=in_order)]
        if restarts:
            driver = new().restore(driver.snapshot())
    return found + counted(case.counters, driver.counters | {"stream_time": plain(driver.stream_time)})


def counted(expected: Mapping[str, int], counters: Mapping[str, Any]) -> list[str]:
    return [
        f"expected {name} {value}, got {counters.get(name)}"
        for name, value in expected.items()
        if counters.get(name) != value
    ]


def driver(case: Case) -> list[str]:
    return driven(case, restarts=False)


def restarts(case: Case) -> list[str]:
    return driven(case, restarts=True)


def stream(case: Case) -> list[str]:
    query, opened = case.then or case.query, runs(case)[1] if case.runs else None
    ahead: Any = {} if query.max_ahead is None else {"max_ahead": micros(query.max_ahead)}
    if query.returns_records:
        local: LocalStream = LocalRows(query.windowed, SCHEMA, shards=3, aggregates=query.aggregates, **ahead)
    else:
        local = LocalStream(query.definition(opened), query.schemas, shards=3, **ahead)
    found, draw = list[str](), random.Random(case.id)
    for number, step in enumerate(case.steps):
        table = plan_table(query, local.plan, local.read.names, step.rows)
        if query.returns_records:
            table = table_of(step.rows).select(local.read.names)
        cut = 0 if order_of(query) else draw.randint(0, len(step.rows))
        got = [shown_row(query, row) for row in local.push([table.slice(0, cut), table.slice(cut)])]
        expected = wanted(step.gives, query, on_stream=True)
        found += [f"step {number}: {one}" for one in differences(expected, got)]
    time = local.stream_time
    return found + counted(case.counters, local.counters | {"stream_time": None if time is None else time // 1000})


PLAYS: dict[str, Callable[[Case], list[str]]] = {
    "in_process": in_process,
    "days": days,
    "shuffle": shuffle,
    "driver": driver,
    "restarts": restarts,
    "stream": stream,
}
