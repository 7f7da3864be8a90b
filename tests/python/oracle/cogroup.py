"""Cogroups by the letter of rules 5.3: all records make the windows, an aggregate of an input sees those of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .aggregates import answer
from .records import Record


@dataclass(frozen=True)
class InputRecord(Record):
    """A record that has the name of its input."""

    input: str = ""


def together(inputs: Mapping[str, Sequence[Record]]) -> list[InputRecord]:
    """The records of all inputs; those of one input keep their order, the first input's arrive first."""
    joined: list[InputRecord] = []
    for name, records in inputs.items():
        joined += [
            InputRecord(each.key, each.time, len(joined) + place, each.values, name)
            for place, each in enumerate(records)
        ]
    return joined


def answer_of_input(
    function: str, rows: Sequence[InputRecord], *columns: str, where: str | None = None, **options: Any
) -> Any:
    """What an aggregate gives over the rows of one window; its columns are called `input.column`, or `input.*`.

    With `where`, of rows in which the column of that name, of an input too, is true.
    """
    named = [column.partition(".")[::2] for column in (*columns, *([] if where is None else [where]))]
    own = [row for row in rows if not named or row.input == named[0][0]]
    if where is not None:
        own = [row for row in own if row.values[named[-1][1]] is True]
    if not columns or named[0][1] == "*":
        return len(own)
    return answer(function, own, *(column.partition(".")[2] for column in columns), **options)
