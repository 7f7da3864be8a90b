"""The steps of a streaming query, without a JVM, against the oracle: whatever the splits, the shards, their order."""

from __future__ import annotations

import random

import pytest

from ..harness.micro_batch_player import COUNTED
from ..harness.scenario_queries import ShownChange, by_key, definition, named, schemas, shown, splits, stream_rows
from ..harness.seeds import blocks
from ..harness.steps import LocalStream
from ..oracle.ends import lasting_stream
from ..oracle.micro_batch_generator import paced_scenario, streaming_scenario
from ..oracle.micro_batches import MicroBatches
from ..oracle.streaming_scenario import StreamingScenario

SEEDS, TOGETHER = 400, 50
COUNTERS = (*COUNTED, "ticks", "bad_ticks", "updates", "windows_closed")


def check(scenario: StreamingScenario, seed: int) -> bool:
    """Plays a scenario, unless it has a Python function over several inputs."""
    if scenario.inputs > 1 and scenario.values == "python":
        return False
    draw = random.Random(seed)
    oracle = MicroBatches(scenario)
    stream = LocalStream(definition(scenario), schemas(scenario), shards=draw.choice([1, 2, 5]), seed=seed)
    expected: list[ShownChange] = []
    for number, rows in enumerate(scenario.batches):
        if (restart := scenario.restart_before(number)) is not None:
            oracle.restart(restart.grace, restart.late, restart.every)
            stream.define(definition(oracle.scenario))
        if not rows and scenario.every is not None:
            continue  # Spark runs no micro-batch: what waits leaves with the next one, as it is then
        expected += (shown(change, scenario.inputs) for change in oracle.push(rows))
        if not rows:
            continue  # Spark runs no micro-batch: what a smaller grace closes comes with the next one
        tables = [named(stream, table) for table in splits(draw, oracle.scenario, rows)]
        got = [row for batch in stream.push_batches(tables) for row in stream_rows(batch)]
        place = f"seed {seed}, batch {number}\n{scenario.line()}"
        if scenario.every_record and not scenario.sourced:
            assert by_key(got) == by_key(expected), place
        assert sorted(got, key=repr) == sorted(expected, key=repr), place
        counted = {name: stream.counters[name] for name in COUNTERS}
        assert counted == {name: oracle.counters[name] for name in COUNTERS}, place
        expected = []
    return True


@pytest.mark.parametrize("first", blocks(SEEDS, TOGETHER))
def test_no_answer_depends_on_splits_and_shards(first: int) -> None:
    played = sum(check(streaming_scenario(seed), seed) for seed in range(first, first + TOGETHER))
    assert played > TOGETHER / 2


@pytest.mark.parametrize("first", blocks(SEEDS // 2, TOGETHER))
def test_no_answer_over_records_that_last_depends_on_splits_and_shards(first: int) -> None:
    played = sum(check(lasting_stream(seed), seed) for seed in range(first, first + TOGETHER))
    assert played > TOGETHER / 2


@pytest.mark.parametrize("first", blocks(SEEDS, TOGETHER))
def test_no_answer_of_paced_updates_depends_on_splits_and_shards(first: int) -> None:
    played = sum(check(paced_scenario(seed), seed) for seed in range(first, first + TOGETHER))
    assert played > TOGETHER / 2
