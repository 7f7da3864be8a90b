"""What answers do not depend on: the order of arrival, other keys, cuts into batches; and the batch query's."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import windrow as wr

from ..harness.players import BUILT_IN, DriverPlayer, OperatorPlayer, batch_of, plain, windows
from ..oracle.generator import scenario
from ..oracle.scenario import Row, Scenario
from ..oracle.stream import Change

SEEDS = range(80)
Final = tuple[Any, ...]


def stream(seed: int, grace: int | None = None) -> Scenario:
    """A stream that gives finals of built-in aggregates."""
    asked = scenario(seed, 40)
    kind = "session" if asked.kind == "dynamic" else asked.kind
    near = (dataclasses.replace(row, input=0) for row in asked.rows if row.time is None or abs(row.time) < 10**15)
    grace = asked.grace if grace is None else grace
    plainer = {"emit": "close", "late": "drop", "inputs": 1, "values": "built_in", "kafka": False, "until": None}
    return dataclasses.replace(asked, kind=kind, grace=grace, rows=tuple(near), **plainer)


def finals(asked: Scenario, batches: list[list[Row]] | None = None) -> list[Final]:
    """The final windows of a stream, those of its end included."""
    played = DriverPlayer(asked, every=False)
    changes = [change for rows in batches or [list(asked.rows)] for change in played.feed(rows)]
    return sorted((change[1:5] for change in [*changes, *played.finish()]), key=repr)


def without_ties(found: list[Final]) -> list[Final]:
    """Lists and last values without the order of equal times, which is that of arrival."""
    return [
        (key, start, end, held[0], held[1], tuple(sorted(held[2])))
        for key, start, end, held in found
        if held is not None
    ]


def shuffled(rows: tuple[Row, ...], seed: int) -> tuple[Row, ...]:
    return tuple(random.Random(seed).sample(rows, len(rows)))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_arrival_does_not_matter_where_all_is_within_the_grace(seed: int) -> None:
    asked = stream(seed, grace=10**16 * 5)
    expected = without_ties(finals(asked))
    for nth in range(3):
        assert without_ties(finals(dataclasses.replace(asked, rows=shuffled(asked.rows, nth)))) == expected


def timely(asked: Scenario, seed: int) -> Scenario:
    """The same rows, a little out of order, without those that come later than the grace."""
    draw = random.Random(seed)
    timed = [row for row in asked.rows if row.time is not None]
    timed.sort(key=lambda row: (row.time or 0) + draw.randint(0, max(1, asked.grace)))
    kept: list[Row] = []
    latest: int | None = None
    for row in timed:
        if row.key is None or row.time is None or row.tick:
            continue
        latest = row.time if latest is None else max(latest, row.time)
        if row.time // asked.resolution >= (latest - asked.grace) // asked.resolution:
            kept.append(row)
    return dataclasses.replace(asked, rows=tuple(kept))


def of_batch_query(asked: Scenario) -> list[Final]:
    table = pa.Table.from_batches([batch_of(asked.rows)])
    found = wr.group_by(table, "key", time="ts", tick="tick").windowed_by(windows(asked)).agg(**BUILT_IN)
    bounds = found["window"].combine_chunks()
    starts, ends = (pc.struct_field(bounds, name).cast(pa.int64()).to_pylist() for name in ("start", "end"))
    values = map(plain, zip(*(found[name].to_pylist() for name in BUILT_IN), strict=True))
    return sorted(zip(found["key"].to_pylist(), starts, ends, values, strict=True), key=repr)


@pytest.mark.parametrize("seed", SEEDS)
def test_where_nothing_is_late_finals_are_those_of_the_batch_query(seed: int) -> None:
    asked = timely(stream(seed), seed)
    assert finals(asked, [[row] for row in asked.rows]) == of_batch_query(asked)
    assert finals(asked) == of_batch_query(asked)


@pytest.mark.parametrize("seed", SEEDS)
def test_any_cut_gives_the_finals_and_the_counters_of_no_cut(seed: int) -> None:
    asked, draw = dataclasses.replace(stream(seed), late="emit"), random.Random(seed)
    rows, cut = list(asked.rows), []
    while rows:
        length = draw.randint(1, 9)
        cut.append(rows[:length])
        rows = rows[length:]
    whole, pieces = DriverPlayer(asked, every=False), DriverPlayer(asked, every=False)
    together = [*whole.feed(asked.rows), *whole.finish()]
    apart = [change for part in cut for change in pieces.feed(part)] + pieces.finish()
    assert sorted(apart, key=repr) == sorted(together, key=repr)
    assert pieces.counters == whole.counters


def alone(asked: Scenario, key: str) -> Scenario:
    """One key's rows; those of other keys only move stream time."""
    others = (
        row
        if row.key == key or row.tick
        else Row(time=row.time, input=row.input, tick=row.key is not None and row.time is not None)
        for row in asked.rows
    )
    return dataclasses.replace(asked, rows=tuple(others))


def fed(asked: Scenario) -> list[list[Change]]:
    played = OperatorPlayer(asked, every=True)
    return [played.feed([row]) for row in asked.rows] + [played.finish()]


@pytest.mark.parametrize("emit", ["update", "close"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_key_does_not_depend_on_other_keys(seed: int, emit: str) -> None:
    asked = dataclasses.replace(stream(seed), emit=emit, late="emit", until=scenario(seed).until)
    if asked.kind != scenario(seed).kind:
        asked = dataclasses.replace(asked, until=None)
    answers = fed(asked)
    for key in {row.key for row in asked.rows if row.key is not None}:
        expected = [[change for change in changes if change.key == key] for changes in answers]
        assert fed(alone(asked, key)) == expected


def test_these_streams_have_what_is_tested() -> None:
    seen = Counter[str]()
    for seed in SEEDS:
        asked = timely(stream(seed), seed)
        times = [row.time or 0 for row in asked.rows]
        seen["timely and out of order"] += times != sorted(times)
        seen["several keys"] += len({row.key for row in stream(seed).rows}) > 2
        seen["many finals"] += len(finals(asked)) > 5
        played = DriverPlayer(stream(seed), every=False)
        played.feed(stream(seed).rows)
        seen["late"] += played.counters["late"] > 0
    assert min(seen.values()) >= 15, seen
