"""The oracle of micro-batches is the other oracles where both must be the same.

The book of cases has it by hand, and the simulation compares it with the package: rows, counters, the table of updates.
"""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from typing import Any

import pytest

from ..oracle.coalesced import coalesced
from ..oracle.generator import stream_of
from ..oracle.micro_batch_generator import streaming_scenario
from ..oracle.micro_batches import ALL, COUNTED, MicroBatches
from ..oracle.records import Record
from ..oracle.scenario import Row
from ..oracle.sessions import dynamic_sessions
from ..oracle.sliding import sliding
from ..oracle.streaming_scenario import StreamingScenario

SEEDS = range(600)
Rows = list[list[str]]


def played(scenario: StreamingScenario) -> tuple[Rows, dict[str, int]]:
    """The rows of each batch, in no order, and the counters."""
    oracle = MicroBatches(scenario)
    return [sorted(map(repr, rows)) for rows in oracle.play()], oracle.counters


def some(seeds: range = SEEDS, **wanted: Any) -> list[StreamingScenario]:
    """The scenarios of some seeds that have these fields."""
    found = map(streaming_scenario, seeds)
    return [scenario for scenario in found if all(getattr(scenario, name) == value for name, value in wanted.items())]


# One record a batch, with an order, is a record of the stream


def one_by_one(scenario: StreamingScenario) -> StreamingScenario:
    every = [row for rows in scenario.batches for row in rows if row.order is not None]
    rows = sorted(every, key=lambda row: row.order or 0)
    return dataclasses.replace(scenario, sourced=False, restarts=(), batches=tuple((row,) for row in rows))


def test_micro_batches_of_one_record_are_the_stream_record_by_record() -> None:
    compared = 0
    for scenario in map(one_by_one, some(ordered=True)):
        oracle, stream = MicroBatches(scenario), stream_of(dataclasses.replace(scenario, values="built_in"))
        for rows in scenario.batches:
            before = {window.number for window in stream.stored}
            steps = stream.feed(rows[0])
            together = scenario.emit == "update" and not scenario.every_record
            found = coalesced(steps, before) if together else [change for change, _ in steps]
            got = oracle.push(rows)
            expected = [oracle.windows[ALL].settled(change) for change in found]
            assert (sorted(got, key=repr) if together else got) == (
                sorted(expected, key=repr) if together else expected
            ), scenario.line()
            compared += len(expected)
        skipped = set() if scenario.every_record or scenario.emit == "close" else {"updates"}
        counted = stream.counted()
        assert {name: oracle.counters[name] for name in COUNTED if name not in skipped} == {
            name: counted[name] for name in COUNTED if name not in skipped
        }, scenario.line()
    assert compared > 1_000


# Where all is within the grace, the cut does not matter


def timely(scenario: StreamingScenario, draw: random.Random) -> StreamingScenario:
    """A random cut of records none of which is behind the grace when it comes, then an end that closes all."""
    latest: int | None = None
    kept: list[Row] = []
    rows = [row for rows in scenario.batches for row in rows]
    for row in rows:
        gap = row.gap if scenario.kind == "dynamic" else 1
        if row.tick or row.key is None or row.time is None or gap is None or gap <= 0:
            continue
        floored = row.time // scenario.resolution * scenario.resolution
        latest = floored if latest is None else max(latest, floored)
        if floored >= latest - scenario.grace:
            kept.append(dataclasses.replace(row, input=0))
    batches, rest = [], kept
    while rest:
        size = draw.choice([1, 2, 5, len(kept)])
        # Shuffled: a record is then judged by the time before the batch, which is no later.
        batches.append(tuple(draw.sample(rest[:size], len(rest[:size]))))
        rest = rest[size:]
    order = {id(row): place for place, row in enumerate(kept)}
    ordered = tuple(
        tuple(dataclasses.replace(row, order=order[id(row)] if scenario.ordered else None) for row in rows)
        for rows in batches
    )
    end = Row(time=(latest or 0) + 10 * (scenario.length + scenario.grace), tick=True)
    plain = {"inputs": 1, "sourced": False, "until": None, "emit": "close", "every_record": False, "restarts": ()}
    return dataclasses.replace(scenario, **plain, values="built_in", batches=(*ordered, (end,)))


def batch_query(scenario: StreamingScenario) -> list[tuple[Any, ...]]:
    """The windows of all records by the oracles of the batch query."""
    rows = [row for rows in scenario.batches for row in rows if not row.tick]
    found = []
    for key in {row.key for row in rows}:
        records = [Record((key,), row.time, 0, {"x": row.x, "gap": row.gap}) for row in rows if row.key == key]
        if scenario.sliding:
            windows = sliding(records, scenario.length, scenario.resolution)
        else:
            length = scenario.length if scenario.kind == "session" else None
            windows = dynamic_sessions(records, lambda record, own=length: own or record.values["gap"], scenario.length)
        for start, end, members in windows:
            values = sorted(record.values["x"] for record in members if record.values["x"] is not None)
            found.append((key, start, end, len(members), tuple(values)))
    return sorted(found, key=repr)


def test_where_nothing_is_behind_the_grace_any_cut_gives_the_windows_of_the_batch_query() -> None:
    windows = 0
    for seed, scenario in enumerate(some()):
        cut = timely(scenario, random.Random(seed))
        oracle = MicroBatches(cut)
        changes = [change for rows in oracle.play() for change in rows]
        got = sorted(((c.key, c.start, c.end, c.values[0], c.values[2]) for c in changes if c.values), key=repr)
        assert got == batch_query(cut), cut.line()
        assert oracle.counters["late"] == oracle.counters["windows_refused"] == 0
        windows += len(got)
    assert windows > 2_000


# What answers do not depend on


def shuffled(scenario: StreamingScenario, seed: int) -> StreamingScenario:
    draw = random.Random(seed)
    return dataclasses.replace(
        scenario, batches=tuple(tuple(draw.sample(rows, len(rows))) for rows in scenario.batches)
    )


def test_the_order_of_rows_in_a_batch_does_not_matter() -> None:
    for seed, scenario in enumerate(some()):
        assert played(shuffled(scenario, seed)) == played(scenario), scenario.line()


def test_with_an_order_every_update_is_the_same_however_batches_are_cut() -> None:
    compared = 0
    for scenario in some(ordered=True, emit="update", restarts=(), inputs=1):
        rows = tuple(row for rows in scenario.batches for row in rows)
        # Orders of two inputs are those of one batch only; a tick without one is after its batch, one without a source
        # of the sources of its batch.
        if any(row.order is None or (scenario.sourced and row.source is None) for row in rows):
            continue
        every = dataclasses.replace(scenario, every_record=True)
        cut, whole = played(every), played(dataclasses.replace(every, batches=(rows,)))
        assert sorted(row for rows in cut[0] for row in rows) == whole[0][0], scenario.line()
        assert cut[1] == whole[1], scenario.line()
        compared += len(scenario.batches) > 1 and len(whole[0][0]) > 2
    assert compared > 20


def test_what_cannot_be_asked_for_is_refused() -> None:
    ordered = StreamingScenario("session", 5, 0, ordered=True)
    with pytest.raises(ValueError, match="a record without an order"):
        MicroBatches(ordered).push([Row("a", 1)])
    with pytest.raises(ValueError, match="refused with the slowest source"):
        MicroBatches(dataclasses.replace(ordered, sourced=True, stream_time="slowest"))
    with pytest.raises(ValueError, match="every record on a stream needs an order"):
        MicroBatches(dataclasses.replace(ordered, ordered=False, every_record=True))


# Of this many scenarios at least this many have one of these; a generator that lost them would prove nothing.
OFTEN = {
    "ordered": 200,
    "sourced": 200,
    "slowest": 50,
    "cogroup": 100,
    "every_record": 50,
    "restarted": 100,
    "empty batch": 100,
    "only ticks": 100,
    "only late": 15,
    "new source later": 30,
    "negative": 100,
    "groups_of_several": 80,
    "bridges": 5,
    "kept_by_the_group": 10,
    "late_by_own_input": 5,
    "revivals": 3,
    "on_the_close_time": 60,
    "late": 150,
    "windows_refused": 60,
    "late_emitted": 100,
    "updates": 150,
    "windows_closed": 200,
    "bad_ticks": 8,
    "clamped_gaps": 40,
    "bad_gaps": 40,
}


def features(scenario: StreamingScenario) -> Counter[str]:
    """What a scenario has."""
    oracle = MicroBatches(scenario)
    having = Counter[str]()
    for number, rows in enumerate(scenario.batches):
        if (restart := scenario.restart_before(number)) is not None:
            oracle.restart(restart.grace, restart.late, restart.every)
        before, sources = oracle.counters, set(oracle.windows)
        oracle.push(rows)
        new = {name: count - before[name] for name, count in oracle.counters.items()}
        having["only late"] += new["late"] == new["records"] > 0
        having["only ticks"] += bool(rows) and all(row.tick for row in rows)
        having["empty batch"] += not rows
        having["new source later"] += bool(sources) and set(oracle.windows) != sources
    times = [row.time for rows in scenario.batches for row in rows if row.time is not None]
    having |= Counter(oracle.counters) + oracle.seen
    having["negative"] += any(time < 0 for time in times)
    having["cogroup"] += scenario.inputs > 1
    having["restarted"] += any(restart.grace != scenario.grace for restart in scenario.restarts)
    for name in ("ordered", "sourced", "slowest", "every_record"):
        having[name] += getattr(scenario, name)
    return having


def test_these_scenarios_have_what_is_tested() -> None:
    having = Counter[str]()
    for scenario in some():
        having.update(name for name, count in features(scenario).items() if count > 0)
    assert not {name: having[name] for name, least in OFTEN.items() if having[name] < least}, having
