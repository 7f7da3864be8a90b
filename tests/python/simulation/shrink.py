"""Shrinks a failing schedule: fewer faults, fewer and simpler rows, fewer tasks and shards, while it still fails."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from ..harness import shrink_micro_batches
from ..oracle.streaming_scenario import StreamingScenario
from .schedule import Schedule

Fails = Callable[[Schedule], bool]


def shrunk(schedule: Schedule, fails: Fails, most: int = 2000) -> Schedule:
    """The smallest failing schedule that these steps find in at most so many tries."""
    tries = iter(range(most))
    while True:
        found = next((each for each, _ in zip(plainer(schedule), tries, strict=False) if fails(each)), None)
        if found is None:
            return schedule
        schedule = found


def plainer(schedule: Schedule) -> Iterator[Schedule]:
    """Slightly simpler candidates, largest steps first."""
    for place in range(len(schedule.faults)):
        yield dataclasses.replace(schedule, faults=schedule.faults[:place] + schedule.faults[place + 1 :])
    for place in range(len(schedule.moves)):
        yield dataclasses.replace(schedule, moves=schedule.moves[:place] + schedule.moves[place + 1 :])
    for scenario in shrink_micro_batches.plainer(schedule.scenario):
        yield with_scenario(schedule, scenario)
    for shards, tasks in ((1, 1), (schedule.shards, 1)):
        if (shards, tasks) != (schedule.shards, schedule.tasks):
            yield dataclasses.replace(schedule, shards=shards, tasks=tasks)
    for place, fault in enumerate(schedule.faults):
        if (fault.task, fault.at) != (0, 0):
            faults = (*schedule.faults[:place], fault._replace(task=0, at=0), *schedule.faults[place + 1 :])
            yield dataclasses.replace(schedule, faults=faults)


def with_scenario(schedule: Schedule, scenario: StreamingScenario) -> Schedule:
    """The schedule with a scenario that has its micro-batches, or all but one."""
    before, after = schedule.scenario.batches, scenario.batches
    faults, moves = schedule.faults, schedule.moves
    if len(after) < len(before):
        gone = next((place for place, rows in enumerate(after) if rows != before[place]), len(after))
        kept = (fault for fault in faults if fault.batch != gone)
        faults = tuple(fault._replace(batch=fault.batch - (fault.batch > gone)) for fault in kept)
        moves = tuple(move._replace(batch=move.batch - (move.batch > gone)) for move in moves)
    return dataclasses.replace(schedule, scenario=scenario, faults=faults, moves=moves)
