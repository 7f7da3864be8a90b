"""Random streams against the oracle: record for record, in batches, with restarts.

A failure prints the seed and a small scenario that fails: a line for `tests/vectors/streams.jsonl`, where scenarios are
kept and played in every way. `make soak` plays more of them (WINDROW_STREAMS).
"""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from ..harness import players
from ..harness.players import Way, differences, ways
from ..harness.shrink import shrunk
from ..oracle.ends import lasting_scenario
from ..oracle.generator import scenario, stream_of
from ..oracle.scenario import Row, Scenario, scenario_of

VECTORS = Path(__file__).resolve().parents[2] / "vectors" / "streams.jsonl"
LINES = [line for line in VECTORS.read_text(encoding="utf-8").splitlines() if line]
SOON = 200
LONG = int(os.environ.get("WINDROW_STREAMS", "12000"))
FIRST = int(os.environ.get("WINDROW_FIRST_SEED", str(SOON)))

# At least this many of a thousand scenarios have one of these; a generator that lost them would prove nothing.
OFTEN = {
    "session": 250,
    "dynamic": 100,
    "sliding": 250,
    "cogroup": 150,
    "coalesced": 200,
    "restarted": 300,
    "upsert": 300,
    "delete": 120,
    "late": 250,
    "late_emitted": 120,
    "windows_refused": 60,
    "merges": 25,
    "far_behind_but_kept": 20,
    "late_beside_open": 10,
    "beside_frozen": 8,
    "overwritten": 100,
    "on_the_close_time": 80,
    "early": 25,
    "copies": 60,
    "after_previous": 100,
    "twice": 25,
    "ticks": 120,
    "bad_ticks": 20,
    "null_keys": 150,
    "null_times": 150,
    "null_values": 40,
    "bad_gaps": 40,
    "clamped_gaps": 40,
}
# The rarer ones are only sure to be there among many thousand.
SELDOM = ["revivals", "merges_of_three", "older_than_its_start", "same_bounds_again"]


def failures(scenario: Scenario, way: Way) -> list[str]:
    """The differences; an exception is one too."""
    try:
        return differences(scenario, way)
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]


def check(scenario: Scenario, chosen: list[Way], name: str) -> None:
    """Fails with the smallest scenario that can be found."""
    for way in chosen:
        if failures(scenario, way):
            small, plain = shrunk(scenario, way, lambda scenario, way: bool(failures(scenario, way)))
            message = "\n  ".join(failures(small, plain))
            pytest.fail(
                f"{name}\n{plain}\n  {message}\nfor tests/vectors/streams.jsonl:\n{small.line()}", pytrace=False
            )


LASTING = {"bad_ends": 150, "behind": 300, "zero_gap": 80, "late_beside_open": 50, "delete": 250}
"""The same of scenarios of records that last."""


def play(seeds: range, make: Callable[[int], Scenario] = scenario) -> Counter[str]:
    """Plays scenarios in every way; returns how many of them had what."""
    having = Counter[str](scenarios=len(seeds))
    for seed in seeds:
        case = make(seed)
        chosen = ways(seed, len(case.rows))
        check(case, chosen, f"seed {seed}")
        oracle = stream_of(case)
        for row in case.rows:
            oracle.feed(row)
        counted = oracle.seen + Counter({name: count for name, count in oracle.counted().items() if count})
        having.update(name for name, count in counted.items() if count)
        having[case.kind] += 1
        having["cogroup"] += case.inputs > 1
        having["zero_gap"] += case.length == 0
        having["coalesced"] += case.emit == "update" and any(len(rows) > 1 for rows in chosen[-1].cuts(case.rows))
        having["restarted"] += any(way.restarts for way in chosen)
    return having


def scant(having: Counter[str], played: int, often: Mapping[str, int] = OFTEN) -> dict[str, int]:
    """The kinds of which there were too few: less than half of what is expected."""
    return {name: having[name] for name, least in often.items() if having[name] * 1000 < least * played // 2}


def test_some_hundred_streams_are_answered_as_the_rules_say() -> None:
    assert not scant(play(range(SOON)), SOON)


def test_streams_of_records_that_last_are_answered_as_the_rules_say() -> None:
    assert not scant(play(range(SOON // 2), lasting_scenario), SOON // 2, LASTING)


@pytest.mark.soak
def test_many_streams_are_answered_as_the_rules_say(soaked: Callable[[str], None]) -> None:
    having = play(range(FIRST, FIRST + LONG))
    kinds = ", ".join(f"{name} {having[name]}" for name in [*OFTEN, *SELDOM])
    soaked(f"{LONG} streams in 3 ways each, of them with {kinds}")
    assert not scant(having, LONG)
    assert LONG < 10_000 or all(having[name] for name in SELDOM)
    assert not scant(play(range(FIRST, FIRST + LONG), lasting_scenario), LONG, LASTING)


@pytest.mark.parametrize("line", LINES, ids=range(1, len(LINES) + 1))
def test_kept_streams_are_answered_as_the_rules_say(line: str) -> None:
    scenario = scenario_of(line)
    assert scenario.line() == line
    for seed in range(3):
        check(scenario, [*ways(seed, len(scenario.rows)), *whole(len(scenario.rows))], line)


def whole(count: int) -> list[Way]:
    """Everything in one batch; a restart after each record."""
    return [Way(every, (count,)) for every in (True, False)] + [Way(True, None, frozenset(range(count)))]


def test_a_difference_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package whose gap is one too long: two records show it, that far apart."""
    plain = players.windows
    monkeypatch.setattr(
        players, "windows", lambda scenario: plain(dataclasses.replace(scenario, length=scenario.length + 1))
    )
    times = [0, 3, 9, 20, 26, 27, 40, 41]
    rows = tuple(Row(key, time, 1, "x") for time in times for key in ("b", "ab"))
    scenario, way = Scenario("session", 5, 100, values="mixed", rows=rows), Way(False, (3,) * len(rows), frozenset({1}))
    assert failures(scenario, way)
    small, simple = shrunk(scenario, way, lambda scenario, way: bool(failures(scenario, way)))
    assert ([row.time for row in small.rows], simple.restarts) == ([3, 9], frozenset())
    assert failures(scenario_of(small.line()), simple)
