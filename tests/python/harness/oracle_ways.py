"""Plays the cases of the book with the oracles, so that these are right before anything is compared with them.

`micro_batches` plays scripts and timelines as streams, `batch` the windows of timelines. A case that an oracle does not
know is left to others: `reason` and `knows_as_batch` say which.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import windrow as wr

from ...cases.case import Case
from ...cases.drawing import Row as Drawn
from ...cases.drawing import Step
from ...cases.query import Query
from ..oracle.micro_batches import MicroBatches
from ..oracle.records import Record
from ..oracle.scenario import Row
from ..oracle.sessions import dynamic_sessions, sessions
from ..oracle.sliding import sliding
from ..oracle.stream import Change
from ..oracle.streaming_scenario import StreamingScenario
from .ways import Shown, counted, differences, group_sources, micros, wanted

DAY = 86_400_000_000


def reason(case: Case) -> str | None:
    """Why the oracle of streams does not know a case, if it does not."""
    query = case.query
    if case.unreadable is not None:
        return case.unreadable
    if case.runs or any(step.finishes for step in case.steps):
        return "it knows neither runs nor an end of the input"
    if not isinstance(query.windows, wr.SlidingWindows) and query.windows.rules:
        return "it has no rules for sessions"
    if query.left_out or query.returns_records or query.max_ahead is not None or query.overflow != "error":
        return "it gives windows"
    if "stream" in case.cannot:
        return case.cannot["stream"]
    return None if query.windows.grace is not None else "it needs a grace"


def scenario_of(query: Query) -> StreamingScenario:
    """The query as the oracle reads it."""
    windows = query.windows
    kind, length, unit = "sliding", getattr(windows, "difference", 0), getattr(windows, "resolution", None)
    if isinstance(windows, wr.SessionWindows):
        own = windows.gap if not isinstance(windows.gap, int) else None
        kind = "session" if own is None else "dynamic"
        length = windows.gap if own is None else own.max_gap or DAY
    emit = query.emit or {}
    every = emit.get("every")
    return StreamingScenario(
        kind,
        length,
        windows.grace,
        until=windows.retention,
        resolution=unit or 1,
        emit="close" if query.emit is None else "update",
        late="emit" if query.late else "drop",
        inputs=len(query.inputs) or 1,
        ordered="order" in query.group,
        sourced=bool(group_sources(query)),
        stream_time=query.group.get("stream_time", "source"),
        every_record=bool(emit.get("every_record")),
        every=None if every is None else int(every.split()[0]),
        ends=bool(query.lasts),
    )


def row_of(query: Query, row: Drawn, place: int) -> Row:
    """A record or a tick as the oracle reads it."""
    source = row.values.get("source")
    lasts = row.input in query.lasts if isinstance(query.lasts, tuple) else query.lasts
    return Row(
        key=row.key,
        time=micros(row.time),
        gap=micros(row.values.get("gap")),
        input=0 if row.input is None else query.inputs.index(row.input),
        tick=row.tick,
        source=None if source is None else "abcdef".index(source),
        order=row.values.get("offset", place),
        end=micros(row.values.get("until") if lasts else row.time),
    )


def shown(query: Query, change: Change) -> Shown:
    op = "final" if change.op == "upsert" and query.emit is None else change.op
    values = {} if change.values is None else {"n": change.values[0]}
    return op, change.key, change.start / 1000, change.end / 1000, values


def only_counted(rows: list[Shown], query: Query) -> list[Shown]:
    """The rows with the number of records alone; other aggregates have their own oracles."""
    counts = isinstance(query.aggregates.get("n"), type(wr.count()))
    return [(*row, {"n": values["n"]} if counts and "n" in values else {}) for *row, values in rows]


def micro_batches(case: Case) -> list[str]:
    """The differences of a case as a stream."""
    query, found = case.query, list[str]()
    oracle = MicroBatches(scenario_of(query))
    steps = case.steps if not case.is_timeline else (Step(tuple(case.records), ()), case.steps[-1])
    for number, step in enumerate(steps):
        rows = [row_of(query, row, place) for place, row in enumerate(step.rows)]
        got = [shown(query, change) for change in oracle.push(rows)]
        in_order = oracle.scenario.every_record
        expected = only_counted(wanted(step.gives, query, on_stream=True), query)
        found += [f"step {number}: {line}" for line in differences(expected, got, in_order=in_order)]
    counters = {name: value for name, value in case.counters.items() if name in oracle.counters}
    return found + counted(counters, oracle.counters)


def batch_oracle(query: Query) -> Callable[[list[Record]], list[tuple[int, int, list[Record]]]] | None:
    """The oracle of a batch query, if there is one."""
    windows: Any = query.windows
    if query.inputs or query.group or query.returns_records:
        return None
    if isinstance(windows, wr.SlidingWindows):
        return lambda records: sliding(records, windows.difference, windows.resolution or 1)
    if windows.rules or query.lasts:
        return None
    if isinstance(windows.gap, int):
        return lambda records: sessions(records, windows.gap)
    longest = windows.gap.max_gap or 2**63
    return lambda records: dynamic_sessions(records, lambda record: record.values["gap"], longest)


def knows_as_batch(case: Case) -> bool:
    """Whether an oracle of batches knows a case."""
    return case.is_timeline and "in_process" not in case.cannot and batch_oracle(case.query) is not None


def batch(case: Case) -> list[str]:
    """The differences of the windows of a timeline."""
    query, got = case.query, list[Shown]()
    oracle = batch_oracle(query)
    assert oracle is not None
    rows = [row for row in case.records if row.key is not None and not row.tick]
    for key in {row.key for row in rows}:
        records = [
            Record((key,), micros(row.time), place, {"gap": micros(row.values.get("gap"))})
            for place, row in enumerate(rows)
            if row.key == key
        ]
        for start, end, members in oracle(records):
            got.append(("final", key, start / 1000, end / 1000, {"n": len(members)}))
    expected = only_counted(wanted(case.windows, query, on_stream=False), query)
    return differences([("final", *row[1:]) for row in expected], got)
