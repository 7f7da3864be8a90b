"""Plants one fault after the other in the Rust core, and counts how many the tests notice: `make mutants`.

    mutants.py [--seed 7] [--mutants 12] [--room session]    draws so many mutants of the room, or of all rooms
    mutants.py --mutants all --room drawn                    all mutants of one room, which the seed draws
    mutants.py ... --record                                  also writes the scores into rooms.json, where they rise

A room is some files and the tests that must notice a fault in them. `tests/mutants/rooms.json` has the rooms, what they
caught, and the survivors that are no fault, each with its reason. cargo-mutants makes the mutants in a copy of the
tree, `target/mutants/tree`. A mutant that does not compile counts for nothing. One that runs for ever is caught, as is
one that fails a test.

A floor is what a room has caught, as if one mutant more had survived: 7 of 7 is a floor of 7 / 8. A room must not fall
below its floor in a run with as many viable mutants as that of its floor. Exits with 1 if one does.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ROOT / "tests" / "mutants" / "rooms.json"
FOLDER = ROOT / "target" / "mutants"
TREE = FOLDER / "tree"
VERSION = "27.1.0"
SUMMARIES = {"CaughtMutant": "caught", "Timeout": "timeout", "MissedMutant": "missed", "Unviable": "unviable"}
LEAST_TIMEOUT = 60
# A target folder of the copy; no seeds of examples that other mutants failed; symbols cost the linker time.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "CARGO_TARGET_DIR"} | {
    "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1",
    "CARGO_PROFILE_DEV_DEBUG": "0",
}


@dataclass(frozen=True, order=True)
class Mutant:
    """One change of one place, by the name that cargo-mutants gives it: `rust/core/time.rs:12:5: replace + with -`."""

    name: str

    @property
    def facts(self) -> dict[str, str]:
        """Its file, the text of its line, and the change. They stay the same when the line moves."""
        place, _, change = self.name.partition(": ")
        file, line, _ = place.rsplit(":", 2)
        return {"file": file, "code": (ROOT / file).read_text().splitlines()[int(line) - 1].strip(), "change": change}


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


def stop(sentence: str) -> SystemExit:
    """An end with one sentence."""
    return SystemExit(f"windrow: {sentence}")


def number(name: str, text: str, least: int) -> int:
    """A whole number that was given as text."""
    if not re.fullmatch(r"\d{1,18}", text) or int(text) < least:
        raise stop(f"{name}: got {text!r}; allowed: a whole number from {least}")
    return int(text)


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


def said(*command: str) -> str:
    """What a command in the copy says; it ends the run if it fails."""
    done = subprocess.run(command, cwd=TREE, env=ENVIRONMENT, check=False, capture_output=True, text=True)
    if done.returncode:
        raise stop(f"`{' '.join(command)[:200]}` failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def copy_tree() -> None:
    """Brings the copy up to date. It writes only what differs, so cargo compiles only that."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.check_output(listed, cwd=ROOT, text=True).split("\0")
    names = [name for name in names if name and (ROOT / name).is_file()]
    for name in names:
        source, copy = ROOT / name, TREE / name
        if not copy.is_file() or copy.read_bytes() != source.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(source.read_bytes())
    for copy in (TREE / "rust").rglob("*.rs"):
        if copy.relative_to(TREE).as_posix() not in names:
            copy.unlink()


def check_installed() -> None:
    """Ends the run without cargo-mutants of the version whose mutants the floors were measured with."""
    found = shutil.which("cargo-mutants")
    told = "absent" if found is None else subprocess.check_output([found, "--version"], text=True)
    version = told.removeprefix("cargo-mutants").strip()
    if version != VERSION:
        get = f"cargo install cargo-mutants --locked --version {VERSION}"
        raise stop(f"cargo-mutants is {version}, and {VERSION} is needed: {get}")


def check_tests(name: str, tests: list[str]) -> float:
    """Runs the tests of a room without a mutant, which must pass. Returns how many seconds they take."""
    command = ["cargo", "test", "--locked", "--lib", "--", *tests]
    listed = re.findall(r"^(.+): test$", said(*command, "--list"), re.MULTILINE)
    for each in tests:
        if not any(each in test for test in listed):
            raise stop(f"the room {name!r} has the filter {each!r}, which is in the name of no test")
    begin = time.monotonic()
    said(*command)
    seconds = time.monotonic() - begin
    print(f"windrow: {name}: {len(listed)} tests pass in {seconds:.0f} s without a mutant", flush=True)
    return seconds


def tried(name: str, room: dict[str, Any], mutants: list[Mutant]) -> Outcome:
    """Runs the tests of a room with each of its mutants."""
    timeout = max(LEAST_TIMEOUT, round(5 * check_tests(name, room["tests"])))
    command = ["cargo", "mutants", "--in-place", "--baseline=skip", f"--timeout={timeout}", "--colors=never"]
    command += [f"--output={FOLDER}", "--cargo-arg=--lib", "--cargo-arg=--locked"]
    command += [f"--re=^{re.escape(mutant.name)}$" for mutant in mutants]
    outcomes = FOLDER / "mutants.out" / "outcomes.json"
    outcomes.unlink(missing_ok=True)
    begin = time.monotonic()
    subprocess.run([*command, "--", "--", *room["tests"]], cwd=TREE, env=ENVIRONMENT, check=False)
    outcome = Outcome(seconds=time.monotonic() - begin)
    ended = json.loads(outcomes.read_text())["outcomes"] if outcomes.is_file() else []
    kinds = {Mutant(each["scenario"]["Mutant"]["name"]): SUMMARIES.get(each["summary"]) for each in ended}
    if set(kinds) != set(mutants) or None in kinds.values():
        raise stop(f"{name}: {len(mutants)} mutants were drawn, and {len(kinds)} ended: target/mutants/mutants.out")
    listed = {mutant for mutant, kind in kinds.items() if kind == "missed" and is_listed(mutant, room)}
    outcome.counts.update("listed" if mutant in listed else str(kind) for mutant, kind in kinds.items())
    outcome.survivors = sorted(mutant for mutant, kind in kinds.items() if kind == "missed" and mutant not in listed)
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
    files = [f"--file={file}" for name in wanted for file in rooms[name]["files"]]
    listed = json.loads(said("cargo", "mutants", "--list", "--json", *files))
    mutants = drawn([Mutant(each["name"]) for each in listed], count, seed)
    of = ", ".join(wanted)
    print(f"windrow: {len(mutants)} of {len(listed)} mutants of {of}, drawn with seed {seed}", flush=True)
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
    every = Outcome(total, seconds=sum(outcome.seconds for outcome in outcomes.values()))
    print(row("all", every, None).replace("not measured", "            "))
    if total["unviable"]:
        print(f"windrow: mutants that do not compile count for nothing: {total['unviable']}")
    for mutant in (each for outcome in outcomes.values() for each in outcome.survivors):
        print(f"survivor: {mutant.name}\n          {mutant.facts['code']}")
    if below:
        print(f"windrow: below the floor: {', '.join(below)}: add a test for each survivor, or list it in {ROOMS.name}")
    return int(bool(below))


if __name__ == "__main__":
    sys.exit(main())
