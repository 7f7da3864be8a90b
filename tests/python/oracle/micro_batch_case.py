"""A case: micro-batches as text, and the answers that were computed by hand.

A row is `key@time` and what follows: `+gap`, `/input`, `~source` (`~*` for none), `#order`. `tick@time` is a tick, `_`
the null key. Records are numbered from 1 on, and the number is their value. An answer is `key[start,end]` and the
numbers of its records, with `-` before it for a delete and `late` for a late record.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .scenario import Row
from .stream import Change
from .streaming_scenario import StreamingScenario

ROW = re.compile(r"(\w+)@(-?\d+)?(?:\+(-?\d+))?(?:/(\d))?(?:~(\d|\*))?(?:#(\d+))?")


@dataclass(frozen=True)
class Case:
    """Micro-batches, what each gives, in any order, and what is counted."""

    name: str
    kind: str
    length: int
    grace: int
    batches: Sequence[str]
    rows: Sequence[Sequence[str]]
    counted: dict[str, int] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def scenario(self) -> StreamingScenario:
        numbers = iter(range(1, 100))
        batches = tuple(tuple(row_of(text, numbers) for text in batch.split()) for batch in self.batches)
        options = {"emit": "close", "batches": batches} | self.options
        return StreamingScenario(self.kind, self.length, self.grace, **options)


def row_of(text: str, numbers: Any) -> Row:
    found = ROW.fullmatch(text)
    assert found is not None, text
    key, time, gap, input, source, order = found.groups()
    tick = key == "tick"
    return Row(
        key=None if tick or key == "_" else key,
        time=None if time is None else int(time),
        x=None if tick else next(numbers),
        gap=None if gap is None else int(gap),
        input=int(input or 0),
        tick=tick,
        source=None if source == "*" else int(source or 0),
        order=None if order is None else int(order),
    )


def text_of(change: Change) -> str:
    shown = f"{change.key}[{change.start},{change.end}]"
    if change.values is None:
        return f"-{shown}"
    return f"{'late ' if change.op == 'late' else ''}{shown} {' '.join(map(str, change.values[2]))}"
