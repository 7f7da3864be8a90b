"""Cogroups by the letter of rules 5.3: all records make the windows, an aggregate of an input sees those of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .aggregates import answer
from .records import Record


@dataclass(frozen=True)
class Told(Record):
    """A record that tells its input."""

    input: str = ""


def together(inputs: Mapping[str, Sequence[Record]]) -> list[Told]:
    """The records of all inputs; those of one input keep their order, the first input's arrive first."""
    told: list[Told] = []
    for name, records in inputs.items():
        told += [Told(each.key, each.time, len(told) + place, each.values, name) for place, each in enumerate(records)]
    return told


def answer_of_input(function: str, rows: Sequence[Told], *columns: str, **options: Any) -> Any:
    """What an aggregate gives over the rows of one window; its columns are called `input.column`, or `input.*`."""
    if not columns:
        return answer(function, rows)
    name = columns[0].partition(".")[0]
    own = [row for row in rows if row.input == name]
    if columns == (f"{name}.*",):
        return len(own)
    if not own and function == "any_value":
        return None
    return answer(function, own, *(column.partition(".")[2] for column in columns), **options)
