"""Plays a scenario with the package and with the oracle, and reports differences."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

import windrow as wr
from windrow._aggregates.aggregate import call_of
from windrow._folds.fold import Fold, of_reduce
from windrow._native import Operator
from windrow.testing import Change as Driven
from windrow.testing import StreamDriver

from ..oracle.coalesced import coalesced
from ..oracle.generator import stream_of
from ..oracle.scenario import Row, Scenario
from ..oracle.stream import Change

TIME = pa.timestamp("us")
TICK = timedelta(microseconds=1)
EPOCH = datetime(1970, 1, 1)
COLUMNS: list[tuple[str, pa.DataType]] = [
    ("key", pa.string()),
    ("ts", TIME),
    ("x", pa.int64()),
    ("word", pa.string()),
    ("gap", pa.duration("us")),
    ("input", pa.int8()),
    ("tick", pa.bool_()),
    ("end", TIME),
]
SCHEMA = pa.schema(COLUMNS)
BUILT_IN = {
    "n": wr.count(),
    "total": wr.sum("x"),
    "all": wr.collect_list("x"),
    "latest": wr.last("x"),
}


def text(word: str | None) -> str:
    return "null" if word is None else word


def plus(held: str | None, word: str | None) -> str:
    return f"{text(held)}+{text(word)}"


def minus(held: str | None, word: str | None) -> str:
    return f"{text(held)}-{text(word)}"


def plus_or_delete(held: str | None, word: str | None) -> str | None:
    return None if word == "DEL" else plus(held, word)


def minus_or_delete(held: str | None, word: str | None) -> str | None:
    return None if word == "DEL" else minus(held, word)


def joined(older: str | None, later: str | None) -> str:
    return f"({text(older)}|{text(later)})"


def batch_of(rows: Sequence[Row]) -> pa.RecordBatch:
    names = ("key", "time", "x", "word", "gap", "input", "tick", "end")
    columns = [[getattr(row, name) for row in rows] for name in names]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


class Player(Protocol):
    """The package as it runs a scenario."""

    def feed(self, rows: Sequence[Row]) -> list[Change]: ...
    def finish(self) -> list[Change]: ...
    def restart(self) -> None: ...
    @property
    def counters(self) -> dict[str, int]: ...


def windows(scenario: Scenario, **rules: Any) -> wr.SessionWindows | wr.SlidingWindows:
    """The windows of a scenario, in the public API. `rules` are those of its sessions."""
    options: Any = {
        "grace": scenario.grace * TICK,
        "retention": None if scenario.until is None else scenario.until * TICK,
    }
    if scenario.sliding:
        resolution = scenario.resolution * TICK
        return wr.SlidingWindows.with_time_difference(scenario.length * TICK, resolution=resolution, **options)
    if scenario.kind == "dynamic":
        return wr.SessionWindows.with_dynamic_gap("gap", max_gap=scenario.length * TICK, **options, **rules)
    return wr.SessionWindows.with_gap(scenario.length * TICK, **options, **rules)


def aggregates(scenario: Scenario) -> dict[str, Any]:
    """The aggregates of a scenario, in the public API."""
    if scenario.values == "built_in":
        return BUILT_IN
    if scenario.values == "reduced":
        return {"text": wr.reduce("word", plus)}
    add = plus_or_delete if scenario.values == "deletable" else plus
    texts = wr.aggregate(lambda: "0", lambda held, row: add(held, row.word), joined, schema="string", columns=["word"])
    shown = {name: BUILT_IN[name] for name in ("n", "total", "all")} if scenario.values == "mixed" else {}
    return {**shown, "text": texts}


class DriverPlayer:
    """The driver, with a query in the public API. Single records go through `pipe` and `tick`."""

    def __init__(self, scenario: Scenario, every: bool) -> None:
        def definition(data: Any) -> Any:
            end = "end" if scenario.ends else None
            grouped = wr.group_by(data, "key", time="ts", end=end, tick="tick").windowed_by(windows(scenario))
            updates = scenario.emit == "update"
            emitting = grouped.emit("update", every_record=every) if updates else grouped.emit("close")
            return emitting.late(scenario.late).agg(**aggregates(scenario))

        self._make = lambda: StreamDriver(definition, SCHEMA, value="word" if scenario.kafka else None)
        self._driver = self._make()

    @property
    def driver(self) -> StreamDriver:
        return self._driver

    def feed(self, rows: Sequence[Row]) -> list[Change]:
        if len(rows) != 1:
            return list(map(_change, self._driver.pipe_batch(batch_of(rows))))
        (row,) = rows
        if row.tick and row.time is not None:
            return list(map(_change, self._driver.tick(moment(row.time))))
        piped: dict[str, Any] = {"key": row.key, "x": row.x, "word": row.word, "tick": row.tick}
        piped |= {"ts": moment(row.time), "gap": None if row.gap is None else row.gap * TICK}
        piped |= {"end": moment(row.end)}
        return list(map(_change, self._driver.pipe(**piped)))

    def finish(self) -> list[Change]:
        return list(map(_change, self._driver.finish()))

    def restart(self) -> None:
        self._driver = self._make().restore(self._driver.snapshot())

    @property
    def counters(self) -> dict[str, int]:
        return self._driver.counters


OPS = {"upsert": "upsert", "final": "upsert", "delete": "delete", "late": "late"}


def ticks(time: datetime) -> int:
    return (time - EPOCH) // TICK


def moment(time: int | None) -> datetime | None:
    return None if time is None else EPOCH + time * TICK


def plain(values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(tuple(value) if isinstance(value, list) else value for value in values)


def _change(change: Driven) -> Change:
    values = None if change.kind == "delete" else plain(list(change.values.values()))
    start, end = map(ticks, change.window)
    return Change(OPS[change.kind], change.key["key"], start, end, values, ticks(change.time))


class OperatorPlayer:
    """The core's operator, for scenarios that the driver does not support: two inputs, times beyond datetime."""

    def __init__(self, scenario: Scenario, every: bool) -> None:
        self._spec = json.dumps(
            {
                "keys": ["key"],
                "time": "ts",
                "tick": "tick",
                "windows": windows_spec(scenario),
                "grace": scenario.grace,
                "until": scenario.until,
                "aggregates": _aggregates(scenario),
                "op": True,
                "emit": scenario.emit,
                "every_record": every and scenario.emit == "update",
                "late": scenario.late,
                "shards": 1,
                "inputs": {"column": "input", "count": scenario.inputs} if scenario.inputs > 1 else None,
                "kafka": {"value": "word" if scenario.kafka else None},
                **({"end": "end"} if scenario.ends else {}),
            }
        )
        self._folds = _folds(scenario)
        self._operator = Operator(self._spec, SCHEMA, self._folds)

    def feed(self, rows: Sequence[Row]) -> list[Change]:
        return _changes(self._operator.push(batch_of(rows)))

    def finish(self) -> list[Change]:
        return _changes(self._operator.finish())

    def restart(self) -> None:
        pages = self._operator.pages()
        self._operator = Operator(self._spec, SCHEMA, self._folds)
        self._operator.restore(pages)

    @property
    def counters(self) -> dict[str, int]:
        return self._operator.counters()


def windows_spec(scenario: Scenario) -> dict[str, Any]:
    """The windows of a scenario, in the core's plan format."""
    match scenario.kind:
        case "sliding":
            return {"kind": "sliding", "difference": scenario.length, "resolution": scenario.resolution}
        case "session":
            return {"kind": "session", "gap": scenario.length}
        case _:
            return {"kind": "session", "gap_column": "gap", "longest_gap": scenario.length}


def _aggregates(scenario: Scenario) -> list[dict[str, Any]]:
    python = {"name": "text", "function": "python", "columns": ["word"]}
    plans = [call_of(aggregate).plan(name) for name, aggregate in BUILT_IN.items()]
    return plans if scenario.values == "built_in" else [*plans[:3], python] if scenario.values == "mixed" else [python]


def _folds(scenario: Scenario) -> list[Fold]:
    def rows(batch: pa.RecordBatch) -> list[Any]:
        return batch.column("word").to_pylist()

    if scenario.values == "built_in":
        return []
    if scenario.values == "reduced":
        fold = of_reduce(plus, pa.field("word", pa.string()), kafka=scenario.kafka)
        return [replace(fold, adds=scenario.inputs * fold.adds)]
    adds = (plus_or_delete, minus_or_delete) if scenario.values == "deletable" else (plus, minus)
    return [Fold(pa.string(), lambda: "0", adds, joined, rows)]


def _changes(batches: list[pa.RecordBatch]) -> list[Change]:
    return [change for batch in batches for change in _changes_of(batch)]


def _changes_of(batch: pa.RecordBatch) -> list[Change]:
    keys, bounds, *aggregated, ops, times = batch.columns
    starts, ends = (pc.struct_field(bounds, name).cast(pa.int64()).to_pylist() for name in ("start", "end"))
    values = zip(*(column.to_pylist() for column in aggregated), strict=True)
    rows = zip(ops.to_pylist(), keys.to_pylist(), starts, ends, values, times.cast(pa.int64()).to_pylist(), strict=True)
    return [
        Change(op, key, start, end, None if op == "delete" else plain(held), time)
        for op, key, start, end, held, time in rows
    ]


def player(scenario: Scenario, every: bool) -> Player:
    """The driver, if it supports the scenario."""
    times = [time for row in scenario.rows for time in (row.time, row.end) if time is not None]
    spans = all(abs(time) < 10**16 for time in times)
    if scenario.inputs == 1 and spans:
        return DriverPlayer(scenario, every)
    return OperatorPlayer(scenario, every)


@dataclass(frozen=True)
class Way:
    """One way to play: how to cut rows into batches, where to restart the operator, and which changes to emit.

    Attributes:
        every: whether to emit each change, or only the last one of each window and batch.
        batches: the lengths of batches; empty for one record at a time.
        restarts: the numbers of batches after which all state is saved to pages and restored.
    """

    every: bool
    batches: tuple[int, ...] | None = None
    restarts: frozenset[int] = frozenset()

    def cuts(self, rows: Sequence[Row]) -> list[Sequence[Row]]:
        if self.batches is None:
            return [[row] for row in rows]
        edges = [0, *itertools.accumulate(self.batches), len(rows)]
        return [rows[first:last] for first, last in itertools.pairwise(edges) if first < last]


def ways(seed: int, count: int) -> list[Way]:
    """One record at a time, and random batches of both kinds with random restarts."""
    draw = random.Random(f"ways {seed}")

    def lengths() -> tuple[int, ...]:
        longest = draw.choice([1, 3, 8, count + 1])
        return tuple(draw.randint(1, longest) for _ in range(count))

    def restarts() -> frozenset[int]:
        often = draw.choice([0, 0.1, 0.5])
        return frozenset(place for place in range(count) if draw.random() < often)

    one = Way(True, None, restarts() if draw.random() < 0.3 else frozenset())
    return [one, Way(True, lengths(), restarts()), Way(False, lengths(), restarts())]


def differences(scenario: Scenario, way: Way) -> list[str]:
    """The differences between the package's and the oracle's answers, in words. Empty if there are none."""
    oracle, played = stream_of(scenario), player(scenario, way.every)
    lines: list[str] = []
    # Closed windows come at the end of a batch or one by one, so their order within it is open.
    ordered = way.batches is None or (way.every and scenario.emit == "update")
    for number, rows in enumerate(way.cuts(scenario.rows)):
        before = {window.number for window in oracle.stored}
        steps = [change for row in rows for change in oracle.feed(row)]
        together = scenario.emit == "update" and not way.every
        expected = coalesced(steps, before) if together else [change for change, _ in steps]
        lines += differing(f"batch {number}", expected, played.feed(rows), ordered)
        lines += counters(number, oracle.counted(), played.counters, way.every)
        if lines:
            return lines
        if number in way.restarts:
            played.restart()
    lines = differing("the end", [change for change, _ in oracle.finish()], played.finish(), True)
    return lines + counters(-1, oracle.counted(), played.counters, way.every)


def differing(place: str, expected: list[Change], got: list[Change], ordered: bool) -> list[str]:
    if not ordered:
        expected, got = (sorted(changes, key=repr) for changes in (expected, got))
    pairs = itertools.zip_longest(expected, got)
    return [f"{place}: expected {wanted}, got {found}" for wanted, found in pairs if wanted != found][:4]


def counters(number: int, expected: dict[str, int], got: dict[str, int], every: bool) -> list[str]:
    # Coalesced updates may be counted when made or when emitted.
    names = [name for name in expected if every or name != "updates"]
    return [
        f"batch {number}: expected {name} {expected[name]}, got {got[name]}"
        for name in names
        if expected[name] != got[name]
    ]
