"""The simulated cluster: streams whose tasks and drivers die give what the oracle says, and keep the laws.

A failure prints the seed, the steps and a schedule that `make simulate REPLAY=` plays. `make soak` plays new seeds.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ..simulation.__main__ import failure, main, play_all, summary
from ..simulation.planted import PLANTED, QUICK, planted
from ..simulation.play import difference
from ..simulation.schedule import Schedule, read_schedule, schedule_of

SOON, TOGETHER, MOST = 400, 50, 2000
LONG = int(os.environ.get("WINDROW_SCHEDULES", "20000"))
FIRST = int(os.environ.get("WINDROW_FIRST_SEED", str(SOON)))
VECTORS = Path(__file__).resolve().parents[2] / "vectors" / "schedules.jsonl"
"""The name of a planted fault, a tab, and a small schedule that finds it."""


def play(seeds: range) -> str:
    did, found = play_all(map(schedule_of, seeds))
    if found is not None:
        pytest.fail(found, pytrace=False)
    assert did["schedules"] == len(seeds)
    assert did["faults"] > len(seeds) < did["micro-batches"]
    return summary(did)


@pytest.mark.parametrize("first", range(0, SOON, TOGETHER))
def test_streams_whose_tasks_and_drivers_die_keep_the_laws(first: int) -> None:
    play(range(first, first + TOGETHER))


@pytest.mark.soak
def test_many_streams_whose_tasks_and_drivers_die_keep_the_laws(soaked: Callable[[str], None]) -> None:
    soaked(f"simulated: {play(range(FIRST, FIRST + LONG))}, from seed {FIRST} on")


def test_one_seed_has_one_run() -> None:
    for seed in range(20):
        (_, one), (_, other) = difference(schedule_of(seed)), difference(schedule_of(seed))
        assert one.digest() == other.digest()
        assert read_schedule(schedule_of(seed).line()) == schedule_of(seed)


def found_at(name: str, seeds: range) -> tuple[int, Schedule] | None:
    """The first seed that shows a planted fault, and its schedule."""
    with planted(name):
        for seed in seeds:
            if difference(schedule_of(seed))[0] is not None:
                return seed, schedule_of(seed)
    return None


@pytest.mark.parametrize("name", QUICK)
def test_a_planted_fault_is_found_soon(name: str) -> None:
    assert found_at(name, range(100)) is not None


@pytest.mark.soak
def test_each_planted_fault_is_found(soaked: Callable[[str], None]) -> None:
    seeds = dict[str, int]()
    for name in PLANTED:
        found = found_at(name, range(FIRST, FIRST + MOST))
        assert found is not None, f"{name}: not found in {MOST} schedules from seed {FIRST} on"
        seeds[name] = found[0] - FIRST + 1
    assert len(seeds) >= 20
    soaked(f"{len(seeds)} planted faults, and how many schedules it took to find each: {seeds}")


def test_a_difference_prints_its_seed_its_steps_and_a_small_schedule() -> None:
    name = QUICK[0]
    found = found_at(name, range(100))
    assert found is not None
    seed, schedule = found
    with planted(name):
        words = failure(schedule)
        small = read_schedule(words.splitlines()[-1])
        assert difference(small)[0] is not None
    assert words.startswith(f"seed {seed}: ")
    assert len(small.line()) < len(schedule.line())
    assert difference(small)[0] is None


@pytest.mark.parametrize(("name", "line"), [line.split("\t") for line in VECTORS.read_text().splitlines()])
def test_a_schedule_that_found_a_fault_passes_without_it(name: str, line: str) -> None:
    schedule = read_schedule(line)
    assert difference(schedule)[0] is None
    with planted(name):
        assert difference(schedule)[0] is not None


BAD = {
    "a seed": (["--seed", "x"], "SEED: got 'x'; allowed: an integer of at least 0"),
    "no seed": (["--seed", ""], "SEED: got ''; allowed: an integer of at least 0"),
    "a number": (["--schedules", "1.5"], "SCHEDULES: got '1.5'; allowed: an integer of at least 1"),
    "nothing to run": (["--schedules", "0"], "SCHEDULES: got '0'; allowed: an integer of at least 1"),
    "no file": (["--replay", "no such file"], "REPLAY: got 'no such file' (.*); allowed: a file"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_one_sentence(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"simulate: {message.split('(.*)')[0]}")
    assert said.err.count("\n") == 1


LINES = [
    "",
    "[]",
    "{}",
    '{"seed": 1',
    '{"seed": "x", "shards": 1, "tasks": 1, "scenario": {}, "faults": [], "moves": []}',
]


@pytest.mark.parametrize("line", LINES)
def test_a_line_that_is_no_schedule_is_refused(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "schedules"
    file.write_text(line)
    assert main(["--replay", str(file)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("simulate: ")
    assert "; allowed: " in said
    assert said.count("\n") == 1


def test_the_command_says_what_it_did(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "3", "--schedules", "2"]) == 0
    assert capsys.readouterr().out.startswith("simulate: 2 schedules, ")
    assert main(["--replay", str(VECTORS)]) == 0
    assert f", {VECTORS}, in " in capsys.readouterr().out
