"""Shrinks a failing schedule: fewer faults, fewer and simpler rows, fewer tasks and shards, while it still fails."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from ..oracle.scenario import Row
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
    for scenario in plainer_scenario(schedule.scenario):
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


def plainer_scenario(scenario: StreamingScenario) -> Iterator[StreamingScenario]:
    """Slightly simpler candidates, largest steps first."""
    for number in reversed(range(len(scenario.batches))):
        yield _without_batch(scenario, number)
    for place in range(len(scenario.restarts)):
        yield dataclasses.replace(scenario, restarts=scenario.restarts[:place] + scenario.restarts[place + 1 :])
    for number, rows in enumerate(scenario.batches):
        size = len(rows)
        while size:
            for first in range(0, len(rows), size):
                yield _with_batch(scenario, number, rows[:first] + rows[first + size :])
            size //= 2
    defaults = {"until": None, "late": "drop", "values": "built_in", "every_record": False, "resolution": 1}
    for name, default in defaults.items():
        if getattr(scenario, name) != default:
            yield dataclasses.replace(scenario, **{name: default})
    if scenario.sourced and not scenario.slowest and all(row.source == 0 for rows in scenario.batches for row in rows):
        yield dataclasses.replace(scenario, sourced=False)
    if scenario.inputs > 1 and all(row.input == 0 for rows in scenario.batches for row in rows):
        yield dataclasses.replace(scenario, inputs=1)
    times = [row.time for rows in scenario.batches for row in rows if row.time is not None]
    if min(map(abs, times), default=0) > 20 * scenario.length:
        base = min(times)
        yield dataclasses.replace(
            scenario, batches=tuple(tuple(_moved_row(row, base) for row in rows) for rows in scenario.batches)
        )
    for number, rows in enumerate(scenario.batches):
        for place, row in enumerate(rows):
            for name, value in (("input", 0), ("source", 0), ("key", "a")):
                if getattr(row, name) not in (value, None):
                    plain = dataclasses.replace(row, **{name: value})  # type: ignore[arg-type]
                    if not _meets(rows, place, plain):
                        yield _with_batch(scenario, number, (*rows[:place], plain, *rows[place + 1 :]))


def _meets(rows: tuple[Row, ...], place: int, plain: Row) -> bool:
    """Whether another row has the same order, input and source. Real sources never produce this."""
    others = [row for other, row in enumerate(rows) if other != place and row.order is not None]
    return any((row.order, row.input, row.source) == (plain.order, plain.input, plain.source) for row in others)


def _with_batch(scenario: StreamingScenario, number: int, rows: tuple[Row, ...]) -> StreamingScenario:
    return dataclasses.replace(scenario, batches=(*scenario.batches[:number], rows, *scenario.batches[number + 1 :]))


def _without_batch(scenario: StreamingScenario, gone: int) -> StreamingScenario:
    restarts = [restart for restart in scenario.restarts if restart.batch != gone]
    moved = [dataclasses.replace(each, batch=each.batch - (each.batch > gone)) for each in restarts]
    started = next((restart for restart in moved if restart.batch == 0), None)
    return dataclasses.replace(
        scenario,
        grace=scenario.grace if started is None else started.grace,
        late=scenario.late if started is None else started.late,
        batches=scenario.batches[:gone] + scenario.batches[gone + 1 :],
        restarts=tuple(restart for restart in moved if restart.batch > 0),
    )


def _moved_row(row: Row, base: int) -> Row:
    return dataclasses.replace(row, time=None if row.time is None else row.time - base)
