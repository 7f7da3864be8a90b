"""`make simulate`: plays schedules from a seed on, or those of a file, up to the first difference; says what it did."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from .play import difference
from .schedule import Schedule, read_schedule, schedule_of
from .shrink import shrunk


def failure(schedule: Schedule) -> str:
    """The smallest schedule that fails like this one: its difference, its steps and its line."""
    small = shrunk(schedule, lambda each: difference(each)[0] is not None)
    words, run = difference(small)
    return "\n  ".join([f"seed {schedule.seed}: {words}", *run.log]) + f"\n{small.line()}"


def play_all(schedules: Iterable[Schedule]) -> tuple[Counter[str], str | None]:
    """Plays schedules up to the first difference. Returns what was done, and that difference in words."""
    did = Counter[str]()
    for schedule in schedules:
        words, run = difference(schedule)
        did += run.did
        if words is not None:
            return did, failure(schedule)
    return did, None


def summary(did: Counter[str]) -> str:
    """What was done."""
    return ", ".join(f"{did[name]} {name}" for name in ("schedules", "micro-batches", "faults", "rows"))


def integer(name: str, text: str, least: int) -> int:
    """A number from a text. Raises `ValueError` for anything else."""
    try:
        if int(text) >= least:
            return int(text)
    except ValueError:
        pass
    raise ValueError(f"{name}: got {text!r}; allowed: an integer of at least {least}")


def chosen(seed: str, schedules: str, file: str) -> Iterable[Schedule]:
    """The schedules to play. Raises `ValueError` for what is none."""
    if not file:
        first = integer("SEED", seed, 0)
        return map(schedule_of, range(first, first + integer("SCHEDULES", schedules, 1)))
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"REPLAY: got {file!r} ({error}); allowed: a file with a schedule in each line") from None
    if not lines:
        raise ValueError(f"REPLAY: got {file!r}, which is empty; allowed: a file with a schedule in each line")
    return [read_schedule(line.rpartition("\t")[2]) for line in lines]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="simulate")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--schedules", default="600")
    parser.add_argument("--replay", default="")
    given = parser.parse_args(arguments)
    try:
        schedules = chosen(given.seed, given.schedules, given.replay)
    except ValueError as error:
        print(f"simulate: {error}", file=sys.stderr)
        return 2
    place = given.replay or f"from seed {given.seed} on"
    started = time.monotonic()
    did, found = play_all(schedules)
    seconds = time.monotonic() - started
    print(f"simulate: {summary(did)}, {place}, in {seconds:.0f} s", flush=True)
    if found is not None:
        print(found)
    return 1 if found is not None else 0


if __name__ == "__main__":
    sys.exit(main())
