"""The law of conservation: every record of a stream is in a window, or comes back as a record left out.

Each row of a random scenario gets a number of its own as its value. A stream with `left_out` plays the rows. After each
micro-batch nothing may be missing, and the counters have the same numbers. In the end ticks close all windows:

```text
 rows                  1 2 3 4 5 6 7 8
 final windows         1 2                  sessions: each record in exactly one place
 open windows                  5     8      sliding windows: in one window at least, or in the ledger
 ledger                    3 4   6 7
```
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pyarrow as pa

import windrow as wr

from ..oracle.scenario import Row
from ..oracle.streaming_scenario import StreamingScenario
from .micro_batch_tables import table_of
from .scenario_queries import definition, micros, named, schemas
from .steps import LocalStream

REASONS = {
    "late": "late",
    "null_key": "null_keys",
    "null_time": "null_times",
    "null_tie": "null_ties",
    "bad_gap": "bad_gaps",
    "bad_end": "bad_ends",
    "ahead": "ahead",
    "bad_tick": "bad_ticks",
}
"""The counter of each reason. `refused` has none: windows count their refusals, not records."""

BEFORE = ("null_keys", "null_times", "null_ties", "bad_gaps", "bad_ends", "ahead")
"""The counters of records that reach no window."""

FAR = 2**60

TIES = {1: "v", 3: "seq"}
"""The tie by the rest of a seed by four: the number of each row, one that comes again or is missing, or none."""


def rules_of(scenario: StreamingScenario, seed: int) -> dict[str, Any]:
    """Rules that end sessions; none for sliding windows, and for two of three seeds."""
    if scenario.sliding or seed % 3:
        return {}
    draw = random.Random(seed)
    rules: list[dict[str, Any]] = [
        {"max_records": draw.randint(1, 4)},
        {"max_duration": micros(max(2 * scenario.length, 1))},
    ]
    return draw.choice(rules if scenario.inputs > 1 else [*rules, {"cut_on": ["seq"]}])


def conserved_scenario(scenario: StreamingScenario, seed: int) -> StreamingScenario:
    """The scenario without retention (rules 2.4), and with a number for each row.

    An update of a second window with the bounds of a frozen one replaces it (rules 3.4), windows of two sources may
    have one key and the same bounds, and rules allow no updates (rules 2.8). So these give finals only.
    """
    numbers = iter(range(1, 10**9))
    batches = tuple(tuple(replace(row, x=next(numbers)) for row in rows) for rows in scenario.batches)
    finals = scenario.kind == "dynamic" or (scenario.sourced and not scenario.slowest) or bool(rules_of(scenario, seed))
    emit, every = ("close", False) if finals else (scenario.emit, scenario.every_record)
    plain = {"until": None, "every": None, "values": "built_in"}
    return replace(scenario, batches=batches, emit=emit, every_record=every, **plain)


def with_ledger(
    scenario: StreamingScenario, seed: int, more: Mapping[str, Any] = MappingProxyType({})
) -> Callable[..., Any]:
    """The query of a scenario. Its windows list the numbers of their records. Every other seed has ties: `TIES`.

    With one input it has `more` aggregates.
    """
    columns = ["v"] if scenario.inputs == 1 else [*(f"{name}.v" for name in schemas(scenario))]
    lists = {f"all{number}": wr.collect_list(column) for number, column in enumerate(columns)}

    def result(windowed: Any, _values: Any) -> Any:
        return windowed.left_out("emit", columns=columns).agg(**lists, **(more if scenario.inputs == 1 else {}))

    return definition(scenario, result, TIES.get(seed % 4), **rules_of(scenario, seed))


def tables(
    stream: LocalStream, scenario: StreamingScenario, draw: random.Random, rows: tuple[Row, ...]
) -> list[pa.Table]:
    """The rows in splits, in the columns that the stream reads; with an order those of a source together."""
    parts: list[list[Row]] = [[] for _ in range(draw.randint(1, 3))]
    for row in rows:
        place = ((row.source or 0) if scenario.sourced else 0) if scenario.ordered else draw.randrange(len(parts))
        parts[place % len(parts)].append(row)
    return [_named(stream, scenario, part) for part in parts]


def _named(stream: LocalStream, scenario: StreamingScenario, rows: list[Row]) -> pa.Table:
    ties = [None if (row.x or 0) % 11 == 0 else (row.x or 0) * 7 % 5 for row in rows]
    table = table_of(scenario, rows).append_column("seq", pa.array(ties, pa.int64()))
    return named(stream, table)


def numbers_of(row: dict[str, Any]) -> Iterator[int]:
    """The numbers of the records in a window."""
    for name, values in row.items():
        if name.startswith("all"):
            yield from values or ()


class Account:
    """Where the records of a stream are."""

    def __init__(self) -> None:
        """Nowhere yet."""
        self.finals: list[list[int]] = []
        self.table: dict[tuple[Any, ...], list[int]] = {}
        self.alone: Counter[int] = Counter()
        self.ledger: Counter[int] = Counter()
        self.reasons: Counter[str] = Counter()

    def add(self, rows: list[dict[str, Any]], emit: str) -> None:
        """Takes the rows of a micro-batch, in their order."""
        for row in rows:
            bounds = row["window"] or {"start": None, "end": None}
            place = (row["k"], bounds["start"], bounds["end"])
            match row["op"]:
                case "left_out":
                    self.ledger.update(value for value in row["record"].values() if value is not None)
                    self.reasons[row["reason"]] += 1
                case "late":
                    self.alone.update(numbers_of(row))
                case "delete":
                    del self.table[place]
                case _ if emit == "update":
                    self.table[place] = [*numbers_of(row)]
                case _:
                    self.finals.append([*numbers_of(row)])

    @property
    def windows(self) -> Counter[int]:
        """In how many windows each record is."""
        return Counter(number for held in (*self.finals, *self.table.values()) for number in held)


def played(
    scenario: StreamingScenario,
    seed: int,
    start: Callable[..., LocalStream],
    more: Mapping[str, Any] = MappingProxyType({}),
) -> Counter[str]:
    """Plays a scenario on the stream that `start` makes, perhaps with `more` aggregates, and checks the law.

    Returns how often each reason came.
    """
    draw = random.Random(seed)
    ahead = draw.choice([None, None, scenario.length]) if not scenario.restarts else None
    stream = start(with_ledger(scenario, seed, more), columns_of(scenario), max_ahead=ahead)
    account, place, rows_so_far = Account(), f"seed {seed}\n{scenario.line()}", list[Row]()
    for number, rows in enumerate(scenario.batches):
        if (restart := scenario.restart_before(number)) is not None:
            scenario = replace(scenario, grace=restart.grace, late=restart.late)
            stream.define(with_ledger(scenario, seed, more))
        stream.clock = max((row.time or 0 for row in rows), default=0) - draw.choice([1, 3]) * scenario.length
        account.add(stream.push(tables(stream, scenario, draw, rows)), scenario.emit)
        rows_so_far += rows
        # Sources with their own windows, and rules, have no table of open windows.
        is_shown = scenario.emit == "update" or not (
            rules_of(scenario, seed) or (scenario.sourced and not scenario.slowest)
        )
        if is_shown and stream.stream_time is not None:
            check(scenario, stream, account, rows_so_far, opened_of(stream) if scenario.emit == "close" else [], place)
    stream.clock = FAR
    sources = {row.source for rows in scenario.batches for row in rows if row.source is not None} | {0}
    ticks = [
        Row(time=FAR, tick=True, input=number, source=each) for number in range(scenario.inputs) for each in sources
    ]
    account.add(stream.push([_named(stream, scenario, ticks)]), scenario.emit)
    check(scenario, stream, account, rows_so_far, [], place)
    return account.reasons


def columns_of(scenario: StreamingScenario) -> Any:
    """The columns of the data, or of each input, with ties."""
    plain, tie = schemas(scenario), pa.field("seq", pa.int64())
    return plain.append(tie) if scenario.inputs == 1 else {name: each.append(tie) for name, each in plain.items()}


def opened_of(stream: LocalStream) -> list[list[int]]:
    """The records of each open window."""
    rows = stream.still_open().to_pylist()
    return [[*numbers_of(row)] for row in rows if row["window"] is not None]


def check(
    scenario: StreamingScenario,
    stream: LocalStream,
    account: Account,
    rows: list[Row],
    opened: list[list[int]],
    place: str,
) -> None:
    """Raises unless every record is in a window or in the ledger, and the counters say so."""
    records = {row.x for row in rows if not row.tick}
    bad_ticks = {row.x for row in rows if row.tick} & set(account.ledger)
    windows, outside = account.windows, account.ledger + account.alone
    windows += Counter(number for held in opened for number in held)
    if scenario.sliding:
        # A late record that came back alone may also be in a window that was still open.
        assert not set(windows) & set(account.ledger), place
        assert set(windows) | (set(outside) - bad_ticks) == records, place
        assert all(count == 1 for count in outside.values()), place
    else:
        everywhere = windows + outside
        assert set(everywhere) - bad_ticks == records, place
        assert all(count == 1 for count in everywhere.values()), place
    counted, reasons = stream.counters, account.reasons
    for reason, counter in REASONS.items():
        if reason != "late":
            assert reasons[reason] == counted[counter], f"{counter} {place}"
    assert account.alone.total() == counted["late_emitted"], place
    if not scenario.sliding:
        assert reasons["late"] + account.alone.total() == counted["late"], place
    elif not account.alone:
        assert reasons["late"] == counted["late"], place
    assert counted["records"] == len(records) - sum(counted[name] for name in BEFORE), place
