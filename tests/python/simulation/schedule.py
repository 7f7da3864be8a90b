"""A schedule: a query, its rows in micro-batches, and what goes wrong, as plain data of a line of JSON and back."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ..harness.conservation import conserved_scenario
from ..oracle.ends import lasting_stream
from ..oracle.micro_batch_generator import paced_scenario, streaming_scenario
from ..oracle.scenario import Row
from ..oracle.streaming_scenario import StreamingScenario, streaming_scenario_of
from .cluster import KINDS, Fault
from .days import daily

SCENARIOS: tuple[Callable[[int], StreamingScenario], ...] = (
    streaming_scenario,
    streaming_scenario,
    lasting_stream,
    paced_scenario,
)


WAYS = ("stream", "ledger", "days")
"""A stream beside the oracle; a stream that returns the records in no window, and accounts for each record; a job that
runs daily."""


class Move(NamedTuple):
    """Before a micro-batch another query continues the open windows (rules 1.11), in a checkpoint of its own.

    Attributes:
        batch: the number of the micro-batch.
        length: the gap from then on; a longer one only for fixed gaps, and where finals alone leave.
        shards: the shards from then on.
    """

    batch: int
    length: int
    shards: int


@dataclass(frozen=True)
class Schedule:
    """What a run of the simulation does. All that is not here follows from the seed.

    Attributes:
        seed: of the cuts into splits and Arrow batches, and of all orders.
        shards: the shards of the query.
        tasks: the tasks of the step with state.
        scenario: the query, its rows, and the restarts with another query.
        faults: what goes wrong.
        way: one of `WAYS`.
        moves: where the open windows move to another query.
    """

    seed: int
    shards: int
    tasks: int
    scenario: StreamingScenario
    faults: tuple[Fault, ...] = ()
    way: str = "stream"
    moves: tuple[Move, ...] = ()

    def line(self) -> str:
        """The schedule as a line of JSON."""
        plain = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return json.dumps({**plain, "scenario": json.loads(self.scenario.line())}, ensure_ascii=False)


def read_schedule(line: str) -> Schedule:
    """The schedule of a line of JSON.

    Raises:
        ValueError: the line is none.
    """
    try:
        read = json.loads(line)
        scenario = streaming_scenario_of(json.dumps(read.pop("scenario")))
        faults = tuple(Fault(*fault) for fault in read.pop("faults"))
        moves = tuple(Move(*move) for move in read.pop("moves"))
        schedule = Schedule(**read, scenario=scenario, faults=faults, moves=moves)
        if not all(isinstance(each, int) for each in (schedule.seed, schedule.shards, schedule.tasks)):
            raise TypeError("seed, shards and tasks are integers")
        if unknown := ({fault.kind for fault in faults} | {schedule.way}) - {*KINDS, *WAYS}:
            raise ValueError(f"no fault and no way is called {min(unknown)!r}")
        return schedule
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        allowed = "a line that a failing run has printed"
        raise ValueError(f"schedule: got {line.strip()[:60]!r} ({error}); allowed: {allowed}") from None


def schedule_of(seed: int) -> Schedule:
    """The schedule of a seed."""
    draw = random.Random(f"schedule {seed}")
    scenario = SCENARIOS[seed % len(SCENARIOS)](seed)
    if scenario.inputs > 1:  # the oracle has no Python function over several inputs
        scenario = dataclasses.replace(scenario, values="built_in")
    scenario = with_ticks(with_quiet_sources(scenario, draw), draw)
    way = draw.choice(["stream"] * 7 + ["ledger"] * 2 + ["days"])
    if way == "ledger":
        scenario = conserved_scenario(scenario, seed)
    else:
        scenario = with_end(scenario) if way == "stream" else daily(scenario)
    shards = draw.choice([1, 2, 3, 5])
    found = Schedule(seed, shards, draw.randint(1, shards), scenario, tuple(faults(draw, scenario)), way)
    if way == "stream" and (scenario.slowest or not scenario.sourced) and draw.random() < 0.3:
        scenario = dataclasses.replace(scenario, until=None)
        return dataclasses.replace(found, scenario=scenario, moves=tuple(moves(draw, scenario)))
    return found


def moves(draw: random.Random, scenario: StreamingScenario) -> Iterator[Move]:
    """One or two moves."""
    length, may_grow = scenario.length, scenario.kind == "session" and scenario.emit == "close"
    for batch in sorted(draw.sample(range(len(scenario.batches)), min(2, len(scenario.batches)))):
        length += draw.choice([0, 1, length, 3 * length]) if may_grow else 0
        yield Move(batch, length, draw.choice([1, 2, 5]))


def faults(draw: random.Random, scenario: StreamingScenario) -> list[Fault]:
    """Faults in some micro-batches. A driver dies more often where the query changes."""
    found = []
    for batch in range(len(scenario.batches)):
        found += [
            Fault(batch, draw.choice(KINDS), draw.randrange(4), draw.choice([0, 1, 2, 3, 5, 100]))
            for _ in range(draw.choice([0, 0, 0, 1, 1, 2]))
        ]
        if scenario.restart_before(batch) is not None and draw.random() < 0.3:
            found.append(Fault(batch, draw.choice(KINDS[-4:-1])))
    return found


def with_quiet_sources(scenario: StreamingScenario, draw: random.Random) -> StreamingScenario:
    """Perhaps one source falls silent: from some micro-batch on it has ticks only, or nothing."""
    sources = sorted({row.source for rows in scenario.batches for row in rows if row.source is not None})
    if len(sources) < 2 or draw.random() < 0.5:
        return scenario
    quiet, since, ticks = draw.choice(sources), draw.randrange(len(scenario.batches)), draw.random() < 0.5
    return dataclasses.replace(
        scenario,
        batches=tuple(
            tuple(row for row in rows if number < since or row.source != quiet or (ticks and row.tick))
            for number, rows in enumerate(scenario.batches)
        ),
    )


def with_ticks(scenario: StreamingScenario, draw: random.Random) -> StreamingScenario:
    """Perhaps a tick between any two rows. Orders become even, so that a tick may be between two of them."""
    if draw.random() < 0.5:
        return scenario
    batches = []
    for rows in scenario.batches:
        found = []
        for row in rows:
            row = row if row.order is None else dataclasses.replace(row, order=2 * row.order)
            found.append(row)
            if row.time is not None and draw.random() < 0.2:
                time = row.time - draw.choice([0, 1, scenario.length, scenario.length + scenario.grace])
                source = draw.choice([row.source, None]) if scenario.sourced else row.source
                order = None if row.order is None or draw.random() < 0.3 else row.order + 1
                found.append(Row(time=time, tick=True, input=row.input, source=source, order=order))
        batches.append(tuple(found))
    return dataclasses.replace(scenario, batches=tuple(batches))


def with_end(scenario: StreamingScenario) -> StreamingScenario:
    """The scenario with last ticks that close all windows."""
    times = [time for rows in scenario.batches for row in rows for time in (row.time, row.end) if time is not None]
    graces = [scenario.grace, *(restart.grace for restart in scenario.restarts)]
    end = max(times, default=0) + 10 * (scenario.length + max(graces) + scenario.resolution)
    last = tuple(Row(time=end, tick=True, input=input, source=None) for input in range(scenario.inputs))
    return dataclasses.replace(scenario, batches=(*scenario.batches, last))
