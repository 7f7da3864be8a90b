"""Replays recorded runs of Kafka Streams: `python -m windrow.testing.replay FILE...`.

Each run is fed record by record, and after every record the updates and the number of dropped records must be those of
the recording. `--batch` feeds Arrow batches instead; updates are then compared as one sequence for each key, and the
dropped records at the end of each batch. `--restart` saves all state to pages now and then, and continues with a new
operator that is restored from them.

A file or a line that cannot be read is reported and counts as failed.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._native import Operator
from windrow._replay.recording import lines_of, scenario_of
from windrow._replay.scenario import SCHEMA, TIME, Output, Scenario, Step

Lengths = Callable[[], int]
"""Gives the length of the next stretch of records."""

_SHOWN = 3
_LONGEST = 8
_DROPPED = ("late", "windows_refused", "null_keys", "null_times", "null_ties", "null_values", "bad_gaps")


class Player:
    """The operator of a run, fed with its records."""

    def __init__(self, scenario: Scenario) -> None:
        """Without records."""
        self._scenario = scenario
        self._operator = Operator(scenario.spec(), SCHEMA, scenario.folds())

    def feed(self, steps: Sequence[Step]) -> list[Output]:
        """Takes records as one batch. Returns the updates, in order."""
        columns: list[pa.Array[Any]] = [
            pa.array([step.key for step in steps], pa.string()),
            pa.array([step.time for step in steps], pa.int64()).cast(TIME),
            pa.array([step.value for step in steps], pa.string()),
            pa.nulls(len(steps), pa.bool_()),
            pa.array([step.input for step in steps], pa.int8()),
        ]
        batches = self._operator.push(pa.RecordBatch.from_arrays(columns, schema=SCHEMA))
        return [output for batch in batches for output in self._outputs(batch)]

    def restart(self) -> None:
        """Saves all state to pages, and restores a new operator from them."""
        pages = self._operator.pages()
        self._operator = Operator(self._scenario.spec(), SCHEMA, self._scenario.folds())
        self._operator.restore(pages)

    @property
    def dropped(self) -> int:
        """Records and windows left out so far."""
        counters = self._operator.counters()
        return sum(counters[name] for name in _DROPPED)

    def _outputs(self, batch: pa.RecordBatch) -> list[Output]:
        keys, windows, values, _, times = batch.columns
        starts, ends = (_ticks(pc.struct_field(windows, bound)) for bound in ("start", "end"))
        if self._scenario.difference is not None:
            # Beyond 64 bits, where the column cannot go.
            ends = [start + self._scenario.difference for start in starts]
        shown = values.to_pylist()
        if self._scenario.counts:
            shown = [None if value is None else str(value) for value in shown]
        names: list[Any] = keys.to_pylist()
        return [Output(*row) for row in zip(names, starts, ends, shown, _ticks(times), strict=True)]


def _ticks(times: pa.Array[Any]) -> list[int]:
    ticks: list[Any] = times.cast(pa.int64()).to_pylist()
    return ticks


def replay(scenario: Scenario, batch: Lengths | None = None, restart: Lengths | None = None) -> list[str]:
    """How a run's answers differ from the recording, in words; empty if they do not."""
    player = Player(scenario)
    differences: list[str] = []
    expected: list[Output] = []
    got: list[Output] = []
    played, until_restart = 0, restart() if restart else 0
    while played < len(scenario.steps):
        length = min(batch() if batch else 1, len(scenario.steps) - played)
        if restart:
            length = min(length, until_restart)
        steps = scenario.steps[played : played + length]
        answered, recorded = player.feed(steps), [output for step in steps for output in step.out]
        if batch:
            expected += recorded
            got += answered
        elif answered != recorded:
            differences += [f"step {played}, {_input_text(steps[0])}", *_differing(recorded, answered)]
        if player.dropped != steps[-1].dropped:
            differences.append(
                f"step {played + length - 1}: expected {steps[-1].dropped} dropped, got {player.dropped}"
            )
        played += length
        until_restart -= length
        if restart and until_restart == 0:
            player.restart()
            until_restart = restart()
    for key in dict.fromkeys(output.key for output in expected + got):
        recorded, answered = ([row for row in rows if row.key == key] for rows in (expected, got))
        if recorded != answered:
            differences += [f"key {key!r}", *_differing(recorded, answered)]
    return differences


def _differing(expected: list[Output], got: list[Output]) -> Iterator[str]:
    """The first updates that differ."""
    differing = ((place, pair) for place, pair in enumerate(zip_longest(expected, got)) if pair[0] != pair[1])
    for place, pair in islice(differing, _SHOWN):
        yield f"  update {place}: expected {_output_text(pair[0])}, got {_output_text(pair[1])}"


def _output_text(output: Output | None) -> str:
    if output is None:
        return "nothing"
    value = "a tombstone" if output.value is None else output.value
    return f"{output.key!r} [{output.start}, {output.end}] = {value} at {output.time}"


def _input_text(step: Step) -> str:
    return f"record {step.key!r}: {step.value!r} at {step.time}{' of the second input' if step.input else ''}"


def _lengths(argument: str, text: str | None, seed: str) -> Lengths | None:
    if text is None:
        return None
    if text == "random":
        drawn = random.Random(f"{argument} {seed}")
        return lambda: drawn.randint(1, _LONGEST)
    fixed = int(text)
    return lambda: fixed


def _length(text: str) -> str:
    if text != "random" and not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"got {text!r}; allowed: a number of records from 1 on, or random")
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns the exit status: 1 when a run failed."""
    parser = argparse.ArgumentParser(prog="python -m windrow.testing.replay", description=(__doc__ or "").split(":")[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="recorded runs, one JSON object a line")
    parser.add_argument("--batch", type=_length, metavar="N|random", help="feed Arrow batches of this many records")
    parser.add_argument(
        "--restart", type=_length, metavar="N|random", help="restart from pages after this many records"
    )
    parser.add_argument("--seed", type=int, default=0, help="of random lengths")
    chosen = parser.parse_args(arguments)
    passed = failed = 0
    for path in chosen.files:
        try:
            lines = lines_of(path)
        except (OSError, ValueError) as error:
            failed += 1
            print(f"{path}: {error}")
            continue
        for number, line in lines:
            seed = f"{chosen.seed} {path.name} {number}"
            batch, restart = (_lengths(name, getattr(chosen, name), seed) for name in ("batch", "restart"))
            played = _played(f"{path}:{number}", line, batch, restart)
            passed, failed = (passed, failed + 1) if played else (passed + 1, failed)
            print(*played, sep="\n", end="\n" if played else "")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def _played(place: str, line: bytes, batch: Lengths | None, restart: Lengths | None) -> list[str]:
    """The report of a line; empty if its run passed."""
    try:
        scenario = scenario_of(line)
    except ValueError as error:
        return [f"{place}: {error}"]
    try:
        differences = replay(scenario, batch, restart)
    except (ValueError, RuntimeError, OverflowError, TypeError) as error:
        differences = [f"{type(error).__name__}: {error}"]
    shown = [f"  {line}" for line in differences[: 2 * _SHOWN]]
    return [f"{place}: {scenario.name} ({scenario.parameters})", *shown] if differences else []
