"""The rules of `make mutants`: what is drawn, what is below a floor, and what is said about bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from types import ModuleType
from typing import Any

import pytest

from .patch import ROOT


@pytest.fixture
def mutants(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """`tools/mutants.py`, as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import mutants  # type: ignore[import-not-found]

    return mutants  # type: ignore[no-any-return]


def test_a_seed_always_draws_the_same_mutants_and_another_one_others(mutants: Any) -> None:
    every = [mutants.Mutant(f"rust/core/time.rs:{line}:1: replace + with -") for line in range(100)]
    drawn = mutants.drawn(every, 12, 7)
    assert len(set(drawn)) == 12
    assert mutants.drawn(every[::-1], 12, 7) == drawn != mutants.drawn(every, 12, 8)
    assert mutants.drawn(every, 500, 7) == sorted(every)


def test_a_room_is_below_its_floor_if_two_mutants_more_survive(mutants: Any) -> None:
    def outcome(caught: int, missed: int, unviable: int = 0) -> Any:
        return mutants.Outcome(Counter(caught=caught - 1, timeout=1, missed=missed, unviable=unviable, listed=2))

    measure = {"caught": 7, "viable": 7}
    assert not mutants.is_below(outcome(7, 0), measure)
    assert not mutants.is_below(outcome(7, 1), measure)  # 7 of 8 is the floor
    assert mutants.is_below(outcome(6, 2), measure)
    assert not mutants.is_below(outcome(1, 5, unviable=9), measure)  # of six, not of seven
    assert not mutants.is_below(outcome(1, 9), None)
    assert mutants.is_raised(outcome(8, 0), measure)
    assert not mutants.is_raised(outcome(7, 0), measure)
    assert mutants.is_raised(outcome(1, 9), None)
    assert not mutants.is_raised(mutants.Outcome(Counter(unviable=3)), None)


def test_a_survivor_with_a_reason_is_found_wherever_its_line_is(mutants: Any) -> None:
    lines = (ROOT / "rust/core/time.rs").read_text().splitlines()
    number = next(number for number, line in enumerate(lines, 1) if line.strip().startswith("pub fn "))
    listed = {"file": "rust/core/time.rs", "code": lines[number - 1].strip(), "change": "replace it", "reason": "so"}
    survivor = mutants.Mutant(f"rust/core/time.rs:{number}:3: replace it")
    assert mutants.is_listed(survivor, {"survivors": [listed]})
    assert not mutants.is_listed(survivor, {"survivors": [listed | {"change": "replace that"}]})
    assert not mutants.is_listed(survivor, {"survivors": []})


def test_each_room_has_files_and_each_of_its_survivors_stands_in_the_code_with_a_reason(mutants: Any) -> None:
    rooms = json.loads(mutants.ROOMS.read_text())
    assert len(rooms) == 9
    for room in rooms.values():
        assert room["tests"]
        assert all(list(ROOT.glob(file)) for file in room["files"])
        for survivor in room["survivors"]:
            assert survivor["reason"]
            lines = (ROOT / survivor["file"]).read_text().splitlines()
            assert survivor["code"] in [line.strip() for line in lines], survivor


@pytest.mark.parametrize(
    ("tool", "argument", "says"),
    [
        ("mutants", "--seed=x", "windrow: SEED: got 'x'; allowed: a whole number from 0"),
        ("mutants", "--mutants=-1", "windrow: MUTANTS: got '-1'; allowed: a whole number from 1"),
        ("mutants", "--mutants=0", "windrow: MUTANTS: got '0'; allowed: a whole number from 1"),
        ("mutants", "--room=attic", "windrow: ROOM: got 'attic'; allowed: window, time, session, sliding, store, "),
        ("fuzz", "--inputs=1.5", "windrow: FUZZ_INPUTS: got '1.5'; allowed: a whole number from 1"),
        ("fuzz", "--inputs=0", "windrow: FUZZ_INPUTS: got '0'; allowed: a whole number from 1"),
        ("fuzz", "--blind=0", "windrow: FUZZ_BLIND: got '0'; allowed: a whole number from 1"),
        ("fuzz", "--target=attic", "windrow: FUZZ_TARGET: got 'attic'; allowed: pages, heads, blocks, changes, rows, "),
    ],
)
def test_bad_input_is_one_sentence_before_anything_runs(tool: str, argument: str, says: str) -> None:
    command = [sys.executable, str(ROOT / "tools" / f"{tool}.py"), argument]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env={"PATH": ""})
    assert done.returncode == 1
    assert done.stderr.startswith(says)
    assert done.stderr.count("\n") == 1


def test_without_cargo_mutants_a_sentence_says_how_to_get_it() -> None:
    command = [sys.executable, str(ROOT / "tools" / "mutants.py")]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env={"PATH": ""})
    assert done.returncode == 1
    assert "cargo-mutants is absent" in done.stderr
    assert "cargo install cargo-mutants --locked --version" in done.stderr
    assert done.stderr.count("\n") == 1
