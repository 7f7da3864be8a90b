"""Plants one fault after the other in the Rust core, and counts how many the tests notice: `make mutants`.

    mutants.py [--seed 7] [--mutants 12] [--room session]    draws so many mutants of the room, or of all rooms
    mutants.py --mutants all --room drawn                    all mutants of one room, which the seed draws
    mutants.py ... --record                                  also writes the scores into rooms.json, where they rise

A room is some files and the tests that must notice a fault in them. `tests/mutants/rooms.json` has the rooms, what they
caught, and the survivors that are no fault, each with its reason. A mutant that does not compile counts for nothing.
One that runs for ever is caught, as is one that fails a test.

A floor is what a room has caught, as if one mutant more had survived: 7 of 7 is a floor of 7 / 8. A room must not fall
below its floor in a run with as many viable mutants as that of its floor. Exits with 1 if one does.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from argument import number, stop
from mutant import ROOT, Mutant, built, check_installed, copy_tree, fate, mutants_of, passes, tests_of

ROOMS = ROOT / "tests" / "mutants" / "rooms.json"
LEAST_TIMEOUT = 60
"""Seconds; more for tests that take long without a mutant."""


@dataclass
class Outcome:
    """What a room did with its mutants. `caught` are also those that ran for ever, `viable` are those that count."""

    counts: Counter[str] = field(default_factory=Counter)
    survivors: list[Mutant] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def caught(self) -> int:  # noqa: D102
        return self.counts["caught"] + self.counts["timeout"]

    @property
    def viable(self) -> int:  # noqa: D102
        return self.caught + self.counts["missed"]


def chosen(room: str, rooms: dict[str, Any], seed: int) -> list[str]:
    """The rooms of a run: one by its name, one that the seed draws, or all."""
    if room == "drawn":
        return [random.Random(seed).choice(sorted(rooms))]
    if room not in ("all", *rooms):
        raise stop(f"ROOM: got {room!r}; allowed: {', '.join(rooms)}, drawn or all")
    return list(rooms) if room == "all" else [room]


def drawn(mutants: list[Mutant], count: int, seed: int) -> list[Mutant]:
    """So many of the mutants, by the seed; all of them if they are fewer."""
    return sorted(random.Random(seed).sample(sorted(mutants), min(count, len(mutants))))


def is_listed(mutant: Mutant, room: dict[str, Any]) -> bool:
    """Whether a survivor is one that the room lists with a reason."""
    return any(mutant.facts.items() <= each.items() for each in room["survivors"])


def floor(measure: dict[str, Any] | None) -> float:
    """The least score that a measure allows; 0 without one."""
    return 0.0 if measure is None else measure["caught"] / (measure["viable"] + 1)


def is_below(outcome: Outcome, measure: dict[str, Any] | None) -> bool:
    """Whether a room fell below its floor. A run of fewer mutants than that of the floor says nothing."""
    judges = measure is not None and outcome.viable >= measure["viable"]
    return judges and outcome.caught < floor(measure) * outcome.viable


def is_raised(outcome: Outcome, measure: dict[str, Any] | None) -> bool:
    """Whether an outcome is a higher floor than that of a measure."""
    return bool(outcome.viable) and outcome.caught / (outcome.viable + 1) > floor(measure)


def tried(name: str, room: dict[str, Any], mutants: list[Mutant]) -> Outcome:
    """Runs the tests of a room without a mutant, where they must pass, and with each of its mutants."""
    program, filters, begin = built(), room["tests"], time.monotonic()
    if program is None or not passes(program, filters):
        raise stop(f"{name}: without a mutant the tests {filters} fail, or do not compile")
    seconds = time.monotonic() - begin
    tests = tests_of(program, filters)
    if absent := [each for each in filters if not any(each in test for test in tests)]:
        raise stop(f"{name}: the filters {absent} are in the name of no test")
    print(f"windrow: {name}: {len(tests)} tests pass in {seconds:.0f} s without a mutant", flush=True)
    outcome = Outcome()
    for mutant in mutants:
        kind = fate(mutant, filters, max(LEAST_TIMEOUT, 5 * seconds))
        kind = "listed" if kind == "missed" and is_listed(mutant, room) else kind
        outcome.counts[kind] += 1
        outcome.survivors += [mutant] * (kind == "missed")
        print(f"{kind:10}{mutant.name}", flush=True)
    outcome.seconds = time.monotonic() - begin
    return outcome


def row(name: str, outcome: Outcome, measure: dict[str, Any] | None) -> str:
    """A room in the table of a run."""
    score = f"{100 * outcome.caught / outcome.viable:.1f} %" if outcome.viable else "none viable"
    own = "not measured" if measure is None else f"{100 * floor(measure):.1f} % of {measure['viable']}"
    counts = "".join(f"{outcome.counts[each]:10}" for each in ("caught", "timeout", "missed", "listed", "unviable"))
    return f"{name:10}{counts}{score:>13}{own:>17}{outcome.seconds / 60:9.1f}"


def main() -> int:
    """Draws mutants, tries those of each room, and compares the scores with the floors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("seed", "0"), ("mutants", "12"), ("room", "all")):
        parser.add_argument(f"--{name}", default=default)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    rooms: dict[str, Any] = json.loads(ROOMS.read_text())
    seed = number("SEED", options.seed, 0)
    count = sys.maxsize if options.mutants == "all" else number("MUTANTS", options.mutants, 1)
    wanted = chosen(options.room, rooms, seed)
    check_installed()
    copy_tree()
    every = mutants_of([pattern for name in wanted for pattern in rooms[name]["files"]])
    mutants = drawn(every, count, seed)
    of = ", ".join(wanted)
    print(f"windrow: {len(mutants)} of {len(every)} mutants of {of}, drawn with seed {seed}", flush=True)
    outcomes: dict[str, Outcome] = {}
    for name in wanted:
        own = {file.relative_to(ROOT).as_posix() for pattern in rooms[name]["files"] for file in ROOT.glob(pattern)}
        if of_room := [mutant for mutant in mutants if mutant.facts["file"] in own]:
            outcomes[name] = tried(name, rooms[name], of_room)
    total = sum((outcome.counts for outcome in outcomes.values()), Counter[str]())
    if sum(total.values()) != len(mutants):
        raise stop(f"{len(mutants)} mutants were drawn, and the rooms tried {sum(total.values())}")
    print("room          caught   timeout    missed    listed  unviable        score            floor  minutes")
    below = []
    for name, outcome in outcomes.items():
        measure = rooms[name].get("measure")
        print(row(name, outcome, measure))
        below += [name] * is_below(outcome, measure)
        if options.record and is_raised(outcome, measure):
            commit = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, text=True).strip()
            when = {"date": str(datetime.date.today()), "commit": commit}
            rooms[name]["measure"] = {"caught": outcome.caught, "viable": outcome.viable, "seed": seed} | when
    if options.record:
        ROOMS.write_text(json.dumps(rooms, indent=2, ensure_ascii=False) + "\n")
    whole = Outcome(total, seconds=sum(outcome.seconds for outcome in outcomes.values()))
    print(row("all", whole, None).replace("not measured", "            "))
    if total["unviable"]:
        print(f"windrow: mutants that do not compile count for nothing: {total['unviable']}")
    for mutant in (each for outcome in outcomes.values() for each in outcome.survivors):
        print(f"survivor: {mutant.name}\n          {mutant.facts['code']}")
    if below:
        print(f"windrow: below the floor: {', '.join(below)}: add a test for each survivor, or list it in {ROOMS.name}")
    return int(bool(below))


if __name__ == "__main__":
    sys.exit(main())
