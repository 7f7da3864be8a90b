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
from ..harness.seeds import blocks
from ..harness.steps import LocalStream
from ..oracle.generator import scenario
from ..oracle.scenario import Row, Scenario
from ..oracle.stream import Change
from ..scenes import at

SEEDS = range(80)
Final = tuple[Any, ...]


def stream(seed: int, grace: int | None = None) -> Scenario:
    """A stream that gives finals of built-in aggregates."""
    case = scenario(seed, 40)
    kind = "session" if case.kind == "dynamic" else case.kind
    near = (dataclasses.replace(row, input=0) for row in case.rows if row.time is None or abs(row.time) < 10**15)
    grace = case.grace if grace is None else grace
    plainer = {"emit": "close", "late": "drop", "inputs": 1, "values": "built_in", "kafka": False, "until": None}
    return dataclasses.replace(case, kind=kind, grace=grace, rows=tuple(near), **plainer)


def finals(case: Scenario, batches: list[list[Row]] | None = None) -> list[Final]:
    """The final windows of a stream, those of its end included."""
    played = DriverPlayer(case, every=False)
    changes = [change for rows in batches or [list(case.rows)] for change in played.feed(rows)]
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


@pytest.mark.parametrize("seed", blocks(len(SEEDS), 1))
def test_the_order_of_arrival_does_not_matter_where_all_is_within_the_grace(seed: int) -> None:
    case = stream(seed, grace=10**16 * 5)
    expected = without_ties(finals(case))
    for nth in range(3):
        assert without_ties(finals(dataclasses.replace(case, rows=shuffled(case.rows, nth)))) == expected


def timely(case: Scenario, seed: int) -> Scenario:
    """The same rows, a little out of order, without those that come later than the grace."""
    draw = random.Random(seed)
    timed = [row for row in case.rows if row.time is not None]
    timed.sort(key=lambda row: (row.time or 0) + draw.randint(0, max(1, case.grace)))
    kept: list[Row] = []
    latest: int | None = None
    for row in timed:
        if row.key is None or row.time is None or row.tick:
            continue
        latest = row.time if latest is None else max(latest, row.time)
        if row.time // case.resolution >= (latest - case.grace) // case.resolution:
            kept.append(row)
    return dataclasses.replace(case, rows=tuple(kept))


def of_batch_query(case: Scenario) -> list[Final]:
    table = pa.Table.from_batches([batch_of(case.rows)])
    found = wr.group_by(table, "key", time="ts", tick="tick").windowed_by(windows(case)).agg(**BUILT_IN)
    bounds = found["window"].combine_chunks()
    starts, ends = (pc.struct_field(bounds, name).cast(pa.int64()).to_pylist() for name in ("start", "end"))
    values = map(plain, zip(*(found[name].to_pylist() for name in BUILT_IN), strict=True))
    return sorted(zip(found["key"].to_pylist(), starts, ends, values, strict=True), key=repr)


@pytest.mark.parametrize("seed", blocks(len(SEEDS), 1))
def test_where_nothing_is_late_finals_are_those_of_the_batch_query(seed: int) -> None:
    case = timely(stream(seed), seed)
    assert finals(case, [[row] for row in case.rows]) == of_batch_query(case)
    assert finals(case) == of_batch_query(case)


@pytest.mark.parametrize("seed", blocks(len(SEEDS), 1))
def test_any_cut_gives_the_finals_and_the_counters_of_no_cut(seed: int) -> None:
    case, draw = dataclasses.replace(stream(seed), late="emit"), random.Random(seed)
    rows, cut = list(case.rows), []
    while rows:
        length = draw.randint(1, 9)
        cut.append(rows[:length])
        rows = rows[length:]
    whole, pieces = DriverPlayer(case, every=False), DriverPlayer(case, every=False)
    together = [*whole.feed(case.rows), *whole.finish()]
    apart = [change for part in cut for change in pieces.feed(part)] + pieces.finish()
    assert sorted(apart, key=repr) == sorted(together, key=repr)
    assert pieces.counters == whole.counters


def alone(case: Scenario, key: str) -> Scenario:
    """One key's rows; those of other keys only move stream time."""
    others = (
        row
        if row.key == key or row.tick
        else Row(time=row.time, input=row.input, tick=row.key is not None and row.time is not None)
        for row in case.rows
    )
    return dataclasses.replace(case, rows=tuple(others))


def fed(case: Scenario) -> list[list[Change]]:
    played = OperatorPlayer(case, every=True)
    return [played.feed([row]) for row in case.rows] + [played.finish()]


@pytest.mark.parametrize("emit", ["update", "close"])
@pytest.mark.parametrize("seed", blocks(len(SEEDS), 1))
def test_a_key_does_not_depend_on_other_keys(seed: int, emit: str) -> None:
    case = dataclasses.replace(stream(seed), emit=emit, late="emit", until=scenario(seed).until)
    if case.kind != scenario(seed).kind:
        case = dataclasses.replace(case, until=None)
    answers = fed(case)
    for key in {row.key for row in case.rows if row.key is not None}:
        expected = [[change for change in changes if change.key == key] for changes in answers]
        assert fed(alone(case, key)) == expected


def test_these_streams_have_what_is_tested() -> None:
    seen = Counter[str]()
    for seed in SEEDS:
        case = timely(stream(seed), seed)
        times = [row.time or 0 for row in case.rows]
        seen["timely and out of order"] += times != sorted(times)
        seen["several keys"] += len({row.key for row in stream(seed).rows}) > 2
        seen["many finals"] += len(finals(case)) > 5
        played = DriverPlayer(stream(seed), every=False)
        played.feed(stream(seed).rows)
        seen["late"] += played.counters["late"] > 0
    assert min(seen.values()) >= 15, seen


@pytest.mark.parametrize("seed", range(3))
def test_a_function_takes_the_records_of_a_split_in_the_order_of_its_batches(seed: int) -> None:
    def joined(data: Any) -> Any:
        windows = wr.SessionWindows.with_gap("1 day", grace="1 day")
        words = wr.reduce("word", lambda first, then: first + then)
        return wr.group_by(data, "user", time="ts").windowed_by(windows).emit("update").agg(words=words)

    letters = "hearsay and lore"
    times = [at(len(letters) - place) for place in range(len(letters))]
    schema = pa.schema({"user": pa.string(), "ts": pa.timestamp("us"), "word": pa.string()})
    table = pa.table([["ann"] * len(letters), times, list(letters)], schema=schema)
    (row,) = LocalStream(joined, schema, seed=seed).push([table])
    assert row["words"] == letters


def test_a_smaller_grace_closes_windows_of_a_source_without_new_rows() -> None:
    def finals(grace: int) -> Any:
        def of(data: Any) -> Any:
            windows = wr.SessionWindows.with_gap("1 microsecond", grace=f"{grace} microseconds")
            return wr.group_by(data, "user", time="ts", source="part").windowed_by(windows).agg(n=wr.count())

        return of

    schema = pa.schema({"user": pa.string(), "ts": pa.timestamp("us"), "part": pa.string()})
    stream = LocalStream(finals(10), schema, shards=1)
    rows = pa.table(
        [["ann", "bob", "ann"], pa.array([0, 5, 0], schema.field("ts").type), ["x", "x", "y"]], schema=schema
    )
    assert stream.push([rows]) == []
    stream.define(finals(0))
    assert [(row["user"], row["n"]) for row in stream.push([rows.slice(2)])] == [("ann", 1)]
