"""Random scenarios of micro-batches: the meaning of a seed does not change with the number of scenarios."""

from __future__ import annotations

import dataclasses
import random
from collections import defaultdict

from . import generator
from .scenario import Row
from .streaming_scenario import Restart, StreamingScenario

BASES = [0, 0, 0, 10**6, 10**6, -(10**6), -40, 1_700_000_000_000_000]
BATCHES = ["mixed"] * 6 + ["edge"] * 4 + ["near"] * 2 + ["late", "empty", "ticks"]
WALKS = ["step", "step", "near", "near", "back", "back", "jump", "bound", "bound", "bound", "tie", "bridge", "bridge"]
TIMEKEEPING = ["one", "one", "ordered", "ordered", "source", "ordered source", "slowest"]


def streaming_scenario(seed: int) -> StreamingScenario:
    """The scenario of a seed."""
    draw = random.Random(f"micro-batches {seed}")
    scenario = query(draw)
    count = draw.choice([1, 2, 3, 4, 5, 8])
    scenario = dataclasses.replace(scenario, restarts=tuple(restarts(draw, scenario, count)))
    return dataclasses.replace(scenario, batches=Feed(draw, scenario).batches(count))


def paced_scenario(seed: int) -> StreamingScenario:
    """The scenario of a seed with updates at a pace, which some restarts change."""
    draw = random.Random(f"pace {seed}")
    scenario = query(draw)
    unit, length, reach = scenario.resolution, scenario.length, scenario.length + scenario.grace
    paces = [1, unit, length // 2 + 1, length, length, 2 * length, reach + length, 40 * reach]
    scenario = dataclasses.replace(scenario, emit="update", every_record=False, every=draw.choice(paces))
    count = draw.choice([2, 4, 8, 16])
    found = [
        dataclasses.replace(restart, every=draw.choice([None, None, *paces]))
        for restart in restarts(draw, scenario, count)
    ]
    scenario = dataclasses.replace(scenario, restarts=tuple(found))
    return dataclasses.replace(scenario, batches=SlowFeed(draw, scenario).batches(count))


def query(draw: random.Random) -> StreamingScenario:
    plain = generator.query(draw)
    keeping = draw.choice(TIMEKEEPING)
    ordered = "ordered" in keeping
    return StreamingScenario(
        plain.kind,
        plain.length,
        plain.grace,
        until=plain.until,
        resolution=plain.resolution,
        emit=plain.emit,
        late=plain.late,
        inputs=plain.inputs,
        values=draw.choice(["built_in", "built_in", "python"]),
        ordered=ordered,
        sourced="source" in keeping or keeping == "slowest",
        stream_time="slowest" if keeping == "slowest" else "source",
        every_record=ordered and plain.emit == "update" and draw.random() < 0.5,
    )


def restarts(draw: random.Random, scenario: StreamingScenario, count: int) -> list[Restart]:
    """Restarts with the same grace and others, none for which `until` would be too short."""
    often, unit, length = draw.choice([0, 0.2, 0.5]), scenario.resolution, scenario.length
    graces = [scenario.grace, scenario.grace, 0, unit, length, 3 * length, scenario.grace + length, 40 * length]
    covered = (2 if scenario.sliding else 1) * length
    graces = [grace for grace in graces if scenario.until is None or covered + grace <= scenario.until]
    return [
        Restart(batch, draw.choice(graces), draw.choice([scenario.late, "drop", "emit"]))
        for batch in range(1, count)
        if draw.random() < often
    ]


class Feed:
    """Draws rows: several sources and inputs of different speed, times at the bounds and between other times."""

    def __init__(self, draw: random.Random, scenario: StreamingScenario) -> None:
        self.draw, self.scenario = draw, scenario
        self.grace = scenario.grace
        self.keys = draw.sample(generator.KEYS, draw.choice([1, 1, 2, 4]))
        self.sources = draw.choice([1, 2, 3]) if scenario.sourced else 1
        self.bad, self.tick = draw.choice([0, 0, 0.1]), draw.choice([0, 0, 0.1, 0.3])
        self.found: list[int] = []
        self.numbers = 0
        base = draw.choice(BASES)
        reach = scenario.length + scenario.grace
        lags = [0, 0, scenario.length, reach + 1, 10 * scenario.length]
        self.lines = [(input, source) for input in range(scenario.inputs) for source in range(self.sources)]
        self.latest = {line: base - draw.choice(lags) for line in self.lines}
        self.before = dict(self.latest)
        self.anchor, self.only = base, self.keys[0]
        self.pace = {line: draw.choice([0, 1, 2, 2]) for line in self.lines}
        self.orders: defaultdict[tuple[int, int], int] = defaultdict(lambda: draw.choice([0, 0, 3, 100]))

    def batches(self, count: int) -> tuple[tuple[Row, ...], ...]:
        made = []
        # A source or an input may only come later.
        later = {line: self.draw.choice([0, 0, 0, 1, count // 2]) for line in self.lines}
        for number in range(count):
            if (restart := self.scenario.restart_before(number)) is not None:
                self.grace = restart.grace
            there = [line for line in self.lines if later[line] <= number]
            kind = self.draw.choice(BATCHES) if there else "empty"
            size = {"empty": 0, "ticks": self.draw.randint(1, 3)}.get(kind, self.draw.choice([1, 3, 6, 12]))
            self.before = dict(self.latest)
            self.anchor, self.only = self.before[self.draw.choice(self.lines)], self.draw.choice(self.keys)
            rows = [self.row(self.draw.choice(there), kind) for _ in range(size)]
            if self.draw.random() < 0.5:
                self.draw.shuffle(rows)
            made.append(tuple(rows))
        return tuple(made)

    def row(self, line: tuple[int, int], kind: str) -> Row:
        draw, scenario = self.draw, self.scenario
        is_tick = kind == "ticks" or (kind != "late" and draw.random() < self.tick)
        time = self.time(line, kind)
        row = Row(
            key=None
            if draw.random() < (0.5 if is_tick else self.bad)
            else self.only
            if kind == "edge"
            else draw.choice(self.keys),
            time=None if draw.random() < self.bad else time,
            x=None if is_tick or draw.random() < 0.1 else self.number(),
            gap=generator.gap(draw, scenario.length) if scenario.kind == "dynamic" else None,
            input=line[0],
            tick=is_tick,
            source=None if scenario.sourced and is_tick and draw.random() < 0.4 else line[1],
            order=None if not scenario.ordered or (is_tick and draw.random() < 0.3) else self.order(line),
        )
        moves = row.time is not None and (is_tick or row.key is not None)
        if moves and not (scenario.kind == "dynamic" and not is_tick and (row.gap is None or row.gap <= 0)):
            self.latest[line] = max(self.latest[line], time)
        self.found.append(time)
        return row

    def number(self) -> int:
        self.numbers += 1
        return self.numbers

    def order(self, line: tuple[int, int]) -> int:
        """Orders that no other row of the same input and source has; rows of the other input may."""
        self.orders[line] += 1 if self.draw.random() < 0.9 else self.draw.randint(1, 5)
        return self.orders[line]

    def time(self, line: tuple[int, int], kind: str) -> int:
        draw, length, unit = self.draw, self.scenario.length, self.scenario.resolution
        reach, latest = length + self.grace, self.latest[line]
        if kind == "late":
            return self.before[line] - reach - draw.randint(1, 2 * length + 1)
        if kind == "edge":
            # Around the close time before the batch, most of them linked, of one key.
            return self.anchor - reach + draw.randint(-2 * length, 2 * length)
        walk = "near" if kind == "near" else draw.choice(WALKS)
        match walk:
            case "near":
                return latest + draw.randint(-length, length // 2 + 1) * draw.choice([0, 1])
            case "step":
                return latest + draw.randint(0, self.pace[line] * length)
            case "back":
                return latest - draw.randint(0, reach + length)
            case "jump":
                return latest + self.pace[line] * draw.randint(reach // 2, reach + length)
            case "bridge" if len(self.found) > 1:
                return (draw.choice(self.found[-6:]) + draw.choice(self.found[-6:])) // 2
            case "tie" if self.found:
                return draw.choice(self.found[-6:])
        # One below, on and one above what closes, joins or is late, before the batch or by now.
        edge = draw.choice([0, length, self.grace, reach, reach + length, 2 * length + unit])
        around = draw.choice([latest, self.before[line], *self.found[-4:]])
        return around + draw.choice([-1, -1, 1]) * edge + draw.choice([-unit, 0, 1, unit])


class SlowFeed(Feed):
    """Draws rows most of which move time by less than a window."""

    def time(self, line: tuple[int, int], kind: str) -> int:
        if self.draw.random() < 0.3:
            return super().time(line, kind)
        return self.latest[line] + self.draw.randint(-self.scenario.length, self.scenario.length) // 2
