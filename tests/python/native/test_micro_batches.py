"""Micro-batches: the operator, as tasks of a streaming query feed it, against the oracle of rules 1 to 7.

A failure prints the seed and a small scenario that fails, as a line that `streaming_scenario_of` reads. `make soak`
plays more of them (WINDROW_STREAMS).
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable

import pytest

from ..harness import micro_batch_player
from ..harness.micro_batch_player import differences
from ..harness.micro_batch_tables import tables
from ..harness.seeds import blocks
from ..harness.shrink_micro_batches import shrunk
from ..oracle.ends import lasting_stream
from ..oracle.micro_batch_generator import paced_scenario, streaming_scenario
from ..oracle.scenario import Row
from ..oracle.streaming_scenario import StreamingScenario

SOON, TOGETHER = 600, 50
LONG = int(os.environ.get("WINDROW_STREAMS", "12000"))
FIRST = int(os.environ.get("WINDROW_FIRST_SEED", str(SOON)))


def failures(scenario: StreamingScenario) -> list[str]:
    """The differences; an exception is one too."""
    try:
        return differences(scenario)
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]


def check(scenario: StreamingScenario, seed: int) -> None:
    """Fails with the smallest scenario that can be found."""
    if failures(scenario):
        small = shrunk(scenario, lambda scenario: bool(failures(scenario)))
        message = "\n  ".join(failures(small))
        pytest.fail(f"seed {seed}\n  {message}\n{small.line()}", pytrace=False)


@pytest.mark.parametrize("first", blocks(SOON, TOGETHER))
def test_random_micro_batches_are_answered_as_the_rules_say(first: int) -> None:
    for seed in range(first, first + TOGETHER):
        check(streaming_scenario(seed), seed)


@pytest.mark.parametrize("first", blocks(SOON, TOGETHER))
def test_random_updates_leave_at_their_pace(first: int) -> None:
    for seed in range(first, first + TOGETHER):
        check(paced_scenario(seed), seed)


@pytest.mark.parametrize("first", blocks(SOON // 2, TOGETHER))
def test_random_micro_batches_of_records_that_last_are_answered_as_the_rules_say(first: int) -> None:
    for seed in range(first, first + TOGETHER):
        check(lasting_stream(seed), seed)


@pytest.mark.soak
def test_many_micro_batches_are_answered_as_the_rules_say(soaked: Callable[[str], None]) -> None:
    for seed in range(FIRST, FIRST + LONG):
        check(streaming_scenario(seed), seed)
        check(lasting_stream(seed), seed)
    soaked(f"{LONG} streams in micro-batches, and as many of records that last")


@pytest.mark.soak
def test_many_updates_leave_at_their_pace(soaked: Callable[[str], None]) -> None:
    for seed in range(FIRST, FIRST + LONG):
        check(paced_scenario(seed), seed)
    soaked(f"{LONG} streams of paced updates")


def test_a_difference_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operators whose gap is one too long: two records show it, that far apart."""
    plain = micro_batch_player.windows_spec
    monkeypatch.setattr(
        micro_batch_player,
        "windows_spec",
        lambda scenario: plain(dataclasses.replace(scenario, length=scenario.length + 1)),
    )
    rows = tuple(Row(key, time, 1) for time in (0, 3, 9, 20, 26, 27, 40, 41) for key in ("b", "ab"))
    scenario = StreamingScenario("session", 5, 100, batches=(rows[:5], rows[5:], (), rows))
    assert failures(scenario)
    small = shrunk(scenario, lambda scenario: bool(failures(scenario)))
    times = sorted(row.time or 0 for rows in small.batches for row in rows)
    assert len(times) == 2
    assert times[1] - times[0] == 6


def test_tables_have_what_a_query_asks_for() -> None:
    columns = set[str]()
    for seed in range(60):
        scenario = streaming_scenario(seed)
        for table, rows in zip(tables(scenario), scenario.batches, strict=True):
            assert table.num_rows == len(rows)
            columns |= set(table.column_names)
            assert table["tick"].to_pylist() == [row.tick for row in rows]
    columns |= set(tables(lasting_stream(0))[0].column_names)
    assert columns == {"k", "ts", "v", "end", "gap", "input", "topic", "partition", "offset", "tick"}
