"""What a window of a stream holds: its records, and a text that shows in which order they were folded.

The sets of aggregates, by name:

* `built_in`: count, sum, collect_list, last of `x`;
* `mixed`: count, sum, collect_list of `x`, and the text;
* `text`: the text alone: `"0"`, then `+word`, of a second input `-word`; sessions are merged as `(older|later)`;
* `deletable`: the same, and the word `DEL` makes it null, which deletes the window;
* `reduced`: words joined by `+`, from the first one on, of any input.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .scenario import Row, Scenario

VALUES = ("built_in", "mixed", "text", "deletable", "reduced")


@dataclass(frozen=True)
class Contents:
    """The records of a window as (time, arrival, row), and their text."""

    members: tuple[tuple[int, int, Row], ...]
    text: str | None

    @property
    def largest(self) -> int:
        return max(time for time, _, _ in self.members)


def shown(word: str | None) -> str:
    return "null" if word is None else word


def empty(scenario: Scenario) -> Contents:
    return Contents((), None if scenario.values == "reduced" else "0")


def merged(scenario: Scenario, older: Contents, later: Contents) -> Contents:
    if scenario.values != "reduced":
        text = f"({shown(older.text)}|{shown(later.text)})"
    elif older.text is None or later.text is None:
        text = later.text if older.text is None else older.text
    else:
        text = f"{older.text}+{later.text}"
    return Contents(older.members + later.members, text)


def added(scenario: Scenario, held: Contents, row: Row, arrival: int) -> Contents:
    text: str | None
    if scenario.values == "reduced":
        # SQL passes over a null, Kafka hands it to the function; the first value is taken as it is.
        skipped = row.word is None and not scenario.kafka
        text = row.word if held.text is None else held.text if skipped else f"{held.text}+{shown(row.word)}"
    elif scenario.values == "deletable" and row.word == "DEL":
        text = None
    else:
        text = f"{shown(held.text)}{'-' if row.input else '+'}{shown(row.word)}"
    assert row.time is not None
    return Contents((*held.members, (row.time, arrival, row)), text)


def deleted(scenario: Scenario, held: Contents) -> bool:
    """Whether the window is no more: its only aggregate is a function that returned None."""
    return held.text is None and scenario.values in ("text", "deletable", "reduced")


def answers(scenario: Scenario, held: Contents) -> tuple[Any, ...]:
    """The aggregates, in the order of their columns."""
    if scenario.values in ("text", "deletable", "reduced"):
        return (held.text,)
    rows = [row for _, _, row in sorted(held.members, key=lambda member: member[:2])]
    numbers = [row.x for row in rows if row.x is not None]
    return (len(rows), total(numbers), tuple(numbers), rows[-1].x if scenario.values == "built_in" else held.text)


def total(numbers: Iterable[int]) -> int | None:
    found = list(numbers)
    return sum(found) if found else None
