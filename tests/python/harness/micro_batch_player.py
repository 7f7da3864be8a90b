"""Plays micro-batches with the core's operator, as the tasks of a streaming query do, and reports differences from
the oracle.

An operator gets the records of a batch without ticks, the progress of each input and source, and, with an order, the
progress of each input at each record.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._folds.fold import Fold
from windrow._native import Operator

from ..oracle.micro_batches import ALL, COUNTED, MicroBatches
from ..oracle.scenario import Row
from ..oracle.stream import Change
from ..oracle.streaming_scenario import StreamingScenario
from .micro_batch_tables import TIME, schema_of, table_of
from .players import windows_spec

BUILT_IN = [
    {"name": "n", "function": "count", "columns": []},
    {"name": "total", "function": "sum", "columns": ["v"]},
    {"name": "all", "function": "collect_list", "columns": ["v"]},
]
PYTHON = [{"name": "text", "function": "python", "columns": ["v"]}]
COUNTED_WHERE_READ = {"ticks", "bad_ticks"}
"""Counters of the oracle that operators do not have, because ticks do not reach them."""

Step = tuple[int, int]
Progress = tuple[int, int, int]
"""An input, a source, and the largest time in ticks of the time column."""


def texts(held: str, value: int | None) -> str:
    return held if value is None else joined(held, str(value))


def joined(older: str, later: str) -> str:
    return " ".join(map(str, sorted(map(int, f"{older} {later}".split()))))


class Operators:
    """The operators of a streaming query: one for each source, or one for all sources."""

    def __init__(self, scenario: StreamingScenario) -> None:
        self.scenario = scenario
        names = [name for name in schema_of(scenario).names if name in ("k", "ts", "v", "end", "gap", "input")]
        self.schema = pa.schema([schema_of(scenario).field(name) for name in names])
        self._known: set[Step] = set()
        self._operators: dict[int, Any] = {}

    def push(self, rows: Sequence[Row]) -> dict[int, list[Change]]:
        """Plays a micro-batch. Returns the changes of each source."""
        ticks = self._ticks(rows)
        moving = [row for row in rows if self._moves(row)] + ticks
        self._known |= {(row.input or 0, self._source(row)) for row in moving}
        records = [row for row in rows if not row.tick]
        found: dict[int, list[Change]] = {}
        for place in sorted({*self._operators, *map(self._place, records), *map(self._place, ticks)}):
            operator = self._operators[place] = self._operators.get(place) or self._new()
            own = [row for row in records if self._place(row) == place]
            own_moving = [row for row in moving if self._place(row) == place]
            times = None
            if self.scenario.ordered:
                own = sorted(own, key=_step)
                times = self._times(own, own_moving)
            batch = self._batch(own)
            batches = operator.push_micro_batch(batch, self._progress(own_moving), times)
            found[place] = [change for changes in batches for change in changes_of(changes)]
        return found

    def restart(self, grace: int, late: str, every: int | None = None) -> None:
        """Saves the state as pages and restores it into operators of the new query."""
        self.scenario = replace(
            self.scenario, grace=grace, late=late, every=self.scenario.every if every is None else every
        )
        for place, before in self._operators.items():
            self._operators[place] = self._new()
            self._operators[place].restore(before.pages())

    @property
    def counters(self) -> dict[str, int]:
        """The sum over all operators."""
        counted = [operator.counters() for operator in self._operators.values()]
        return {name: sum(each[name] for each in counted) for name in COUNTED if name not in COUNTED_WHERE_READ}

    # The arguments of operators

    def _new(self) -> Any:
        scenario = self.scenario
        spec = {
            "keys": ["k"],
            "time": "ts",
            "windows": windows_spec(scenario),
            "grace": scenario.grace,
            "until": scenario.until,
            "aggregates": PYTHON if scenario.values == "python" else BUILT_IN,
            "op": True,
            "emit": scenario.emit,
            "every_record": scenario.every_record,
            "every": scenario.every,
            "late": scenario.late,
            "shards": 1,
            "inputs": {"column": "input", "count": scenario.inputs} if scenario.inputs > 1 else None,
            **({"end": "end"} if scenario.ends else {}),
        }
        return Operator(json.dumps(spec), self.schema, _folds(scenario))

    def _batch(self, rows: Sequence[Row]) -> pa.RecordBatch:
        table = table_of(self.scenario, rows).select(self.schema.names).combine_chunks()
        return pa.RecordBatch.from_arrays([column.combine_chunks() for column in table.columns], schema=self.schema)

    def _source(self, row: Row) -> int:
        return row.source if self.scenario.sourced and row.source is not None else ALL

    def _place(self, row: Row) -> int:
        return ALL if self.scenario.slowest else self._source(row)

    def _moves(self, row: Row) -> bool:
        if row.tick or row.key is None or row.time is None:
            return False
        ends = self.scenario.ends
        good_gap = self.scenario.kind != "dynamic" or (row.gap is not None and row.gap >= (0 if ends else 1))
        return good_gap and (not ends or (row.end is not None and row.end >= row.time))

    def _ticks(self, rows: Sequence[Row]) -> list[Row]:
        """The ticks with a time. A tick without a source becomes a tick for each known source."""
        timed = [row for row in rows if row.tick and row.time is not None]
        moving = [row for row in rows if self._moves(row)] + [row for row in timed if row.source is not None]
        known = self._known | {(row.input or 0, self._source(row)) for row in moving}
        found: list[Row] = []
        for row in timed:
            if row.source is not None or not self.scenario.sourced:
                found.append(row)
                continue
            of = {source for input, source in known if input == row.input or not self.scenario.slowest}
            found += [replace(row, source=source) for source in sorted(of)]
        return found

    def _progress(self, moving: Sequence[Row]) -> list[Progress]:
        largest: dict[Step, int] = {}
        for row in moving:
            # An operator of one source knows it as its only source.
            place = (row.input or 0, self._source(row) if self.scenario.slowest else ALL)
            largest[place] = max(_time(row), largest.get(place, _time(row)))
        return [(input, source, time) for (input, source), time in largest.items()]

    def _times(self, records: Sequence[Row], moving: Sequence[Row]) -> pa.RecordBatch:
        """The progress of each input at each record. Records are in the order in which they are judged."""
        ordered = [row for row in moving if row.order is not None]

        def until(record: Row, input: int) -> int | None:
            seen = [row for row in ordered if row.input == input and _step(row) <= _step(record)]
            return max(map(_time, seen), default=None)

        names = [str(input) for input in range(self.scenario.inputs)]
        columns = [
            pa.array([until(record, input) for record in records], pa.int64()) for input in range(self.scenario.inputs)
        ]
        return pa.RecordBatch.from_arrays(columns, names)


def _step(row: Row) -> Step:
    assert row.order is not None
    assert row.input is not None
    return row.order, row.input


def _time(row: Row) -> int:
    assert row.time is not None
    return row.time


def _folds(scenario: StreamingScenario) -> list[Fold]:
    def values(batch: pa.RecordBatch) -> list[Any]:
        return batch.column("v").to_pylist()

    return (
        [Fold(pa.string(), lambda: "", (texts,) * scenario.inputs, joined, values)]
        if scenario.values == "python"
        else []
    )


def changes_of(batch: pa.RecordBatch) -> Iterator[Change]:
    """The rows of the core. Lists are sorted, because the rules do not fix the order of equal times."""
    keys, bounds, *aggregated, ops, times = batch.columns
    starts, ends = (_ticks_of(pc.struct_field(bounds, name)) for name in ("start", "end"))
    values = zip(*(column.to_pylist() for column in aggregated), strict=True)
    rows = zip(ops.to_pylist(), keys.to_pylist(), starts, ends, values, _ticks_of(times), strict=True)
    for op, key, start, end, held, time in rows:
        shown = tuple(tuple(sorted(value)) if isinstance(value, list) else value for value in held)
        yield Change(op, key, start, end, None if op == "delete" else shown, time)


def _ticks_of(column: Any) -> list[int]:
    found: list[int] = column.cast(TIME).cast(pa.int64()).to_pylist()
    return found


def differences(scenario: StreamingScenario) -> list[str]:
    """The differences between the operators' and the oracle's answers, in words. Empty if there are none."""
    oracle, played = MicroBatches(scenario), Operators(scenario)
    for number, rows in enumerate(scenario.batches):
        if (restart := scenario.restart_before(number)) is not None:
            oracle.restart(restart.grace, restart.late, restart.every)
            played.restart(restart.grace, restart.late, restart.every)
        expected, got = oracle.push_by_source(rows), played.push(rows)
        lines = [
            f"batch {number}, source {source}: {line}"
            for source in sorted({*expected, *got})
            for line in _differing(expected.get(source, []), got.get(source, []), scenario.every_record)
        ]
        lines += _counted(number, oracle.counters, played.counters)
        if lines:
            return lines
    return []


def _differing(expected: list[Change], got: list[Change], in_order: bool) -> list[str]:
    if not in_order:
        expected, got = (sorted(changes, key=repr) for changes in (expected, got))
    pairs = itertools.zip_longest(expected, got)
    return [f"expected {wanted}, got {found}" for wanted, found in pairs if wanted != found][:4]


def _counted(number: int, expected: dict[str, int], got: dict[str, int]) -> list[str]:
    return [
        f"batch {number}: expected {name} {count}, got {got[name]}"
        for name, count in expected.items()
        if name not in COUNTED_WHERE_READ and got[name] != count
    ]
