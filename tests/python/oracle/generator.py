"""Random scenarios: the meaning of a seed does not change with the number of scenarios that are run."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable

from .contents import VALUES
from .scenario import Row, Scenario
from .stream import Stream
from .stream_sessions import Sessions
from .stream_sliding import Slides

KEYS = ["a", "ab", "", "b", "a\0", "abc", "ä", "A"]
WORDS: list[str | None] = ["1", "2", "3", "x", "", None]
WALKS = [
    ("step",),
    ("spread",),
    ("step", "tie"),
    ("step", "bound"),
    ("near", "near", "back", "jump"),
    ("step", "step", "bridge", "back"),
    ("step", "bridge", "back", "bound", "jump"),
]
FURTHEST = 2**63 - 1
EARLIEST = -(2**63)


def stream_of(scenario: Scenario) -> Stream:
    """The oracle of a scenario."""
    return Slides(scenario) if scenario.sliding else Sessions(scenario)


def scenario(seed: int, longest: int = 30) -> Scenario:
    """The scenario of a seed."""
    draw = random.Random(seed)
    case = query(draw)
    count = draw.choice([draw.randint(0, 5), 10, 20, longest]) * (6 if draw.random() < 0.02 else 1)
    return dataclasses.replace(case, rows=tuple(rows(draw, case, count)))


def query(draw: random.Random) -> Scenario:
    kind = draw.choice(["session", "session", "dynamic", "sliding", "sliding"])
    resolution = draw.choice([1, 1, 1, 2, 5]) if kind == "sliding" else 1
    length = draw.choice([1, 2, 3, 5, 10, 30]) * resolution
    grace = draw.choice([0, resolution, length, 3 * length, 3 * length, 40 * length])
    inputs = draw.choice([1, 1, 1, 2])
    values = draw.choice(VALUES)
    # A count, sums and lists are what vectorised paths know: half of the scenarios ask for nothing else.
    values = "built_in" if draw.random() < 0.5 else values
    scenario = Scenario(kind, length, grace, resolution=resolution, inputs=inputs, values=values)
    return dataclasses.replace(
        scenario,
        until=until(draw, scenario),
        emit=draw.choice(["update", "close"]),
        late=draw.choice(["drop", "emit"]),
        kafka=draw.random() < 0.3,
    )


def until(draw: random.Random, scenario: Scenario) -> int | None:
    """Retention at, below and above what visibility needs; none of them shorter than is allowed."""
    if draw.random() < 0.4:
        return None
    if not scenario.sliding:
        least = scenario.length + scenario.grace
        return draw.choice([least, least + 1, least + 2, least + scenario.length, 3 * least, 20 * least])
    least, needed = 2 * scenario.length + scenario.grace, 3 * scenario.length + scenario.grace + scenario.resolution
    return draw.choice([least, needed - 1, needed, needed + 1, needed + scenario.length, 5 * needed])


def rows(draw: random.Random, scenario: Scenario, count: int) -> list[Row]:
    keys = draw.sample(KEYS, draw.choice([1, 1, 2, 4, len(KEYS)]))
    null_key, null_time, null_word, tick = (draw.choice([0, 0, 0.05, 0.2]) for _ in range(4))
    words = [*WORDS, "DEL"] if scenario.values == "deletable" else WORDS
    which = inputs(draw, scenario, count)
    made: list[Row] = []
    for place, time in enumerate(times(draw, scenario, count)):
        is_tick = draw.random() < tick
        row = Row(
            key=None if draw.random() < (0.5 if is_tick else null_key) else draw.choice(keys),
            time=None if draw.random() < null_time else time,
            x=draw.choice([None, -3, 0, 1, 2, 7, 2**40]),
            word=None if draw.random() < null_word else draw.choice(words),
            gap=gap(draw, scenario.length) if scenario.kind == "dynamic" else None,
            input=which(place),
            tick=is_tick,
        )
        if is_tick and scenario.inputs > 1 and draw.random() < 0.3:
            row = dataclasses.replace(row, input=None)
        made.append(row)
    return slowed(draw, scenario, made)


def gap(draw: random.Random, longest: int) -> int | None:
    if draw.random() < 0.15:
        return draw.choice([None, 0, -1, longest + 1, 10 * longest, FURTHEST])
    return draw.choice([1, longest, draw.randint(1, longest)])


def inputs(draw: random.Random, scenario: Scenario, count: int) -> Callable[[int], int]:
    """Which input each row is of: both at once, the second one only from some row on, or never."""
    if scenario.inputs == 1:
        return lambda place: 0
    starts = draw.choice([0, 0, count // 2, count])
    return lambda place: draw.randrange(2) if place >= starts else 0


def slowed(draw: random.Random, scenario: Scenario, made: list[Row]) -> list[Row]:
    """Of a cogroup the second input may lie behind."""
    lag = draw.choice([0, 0, scenario.length, scenario.grace + scenario.length + 1, 100 * scenario.length])
    if scenario.inputs == 1 or lag == 0:
        return made
    earliest = EARLIEST + 10 * scenario.length
    return [
        dataclasses.replace(row, time=max(earliest, row.time - lag)) if row.input and row.time is not None else row
        for row in made
    ]


def times(draw: random.Random, scenario: Scenario, count: int) -> list[int]:
    """Times around 0, far from it, negative, or at the ends of time; in steps, with jumps, ties and at the bounds."""
    length, unit = scenario.length, scenario.resolution
    reach = length + scenario.grace
    base = draw.choice([0, 0, length, -3 * length, 10**6, 10**6, 10**6, 10**12 + 7, -(10**6), "latest", "earliest"])
    room = 8 * length + 2 * reach + 10 * unit
    if base == "latest":
        base = FURTHEST - (room * 4 if scenario.sliding else room)
    elif base == "earliest":
        base = EARLIEST + (room * 8 if scenario.sliding else room)
    assert isinstance(base, int)
    walks = draw.choice(WALKS)
    edges = (0, length, reach, 2 * length + unit, length + unit)
    offsets = [edge + beside for edge in edges for beside in (-unit, 0, 1)]
    found: list[int] = []
    latest = base
    for _ in range(count):
        walk = draw.choice(walks)
        if walk == "step":
            time = latest + draw.randint(0, 2 * length)
        elif walk == "near":
            time = latest + draw.randint(1, length // 2 + 1)
        elif walk == "spread":
            time = base + draw.randint(0, room)
        elif walk == "jump":
            time = latest + draw.randint(reach, reach + 2 * length)
        elif walk == "back":
            time = latest - draw.randint(0, reach + length)
        elif walk == "bridge" and found:
            time = (draw.choice(found[-4:]) + draw.choice(found[-4:])) // 2
        else:
            around = draw.choice(found) if found and draw.random() < 0.7 else latest
            time = around + (0 if walk == "tie" else draw.choice([-1, 1]) * draw.choice(offsets))
        low = EARLIEST + (4 * room if scenario.sliding else 0)
        high = FURTHEST - (3 * length + unit if scenario.sliding else 0)
        found.append(min(max(time, low), high))
        latest = max(latest, found[-1])
    return found
