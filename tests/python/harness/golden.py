"""The recorded Kafka Streams runs: their finals, and the runs that a batch query must agree with."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..oracle.records import Record

FILES = ("exact.jsonl", "kafka_loses.jsonl")
CHECKED = {"update": {"session": 16, "sliding": 16}, "close": {"session": 8, "sliding": 13}}
Finals = dict[tuple[str, int, int], Counter[str]]


@dataclass(frozen=True)
class Run:
    """One recorded scenario."""

    spec: dict[str, Any]
    steps: list[dict[str, Any]]

    @property
    def name(self) -> str:
        return str(self.spec["name"])

    @property
    def kind(self) -> str:
        return str(self.spec["kind"])

    @property
    def emit(self) -> str:
        return str(self.spec.get("emit", "update"))

    @property
    def length(self) -> int:
        """The gap or the time difference, in milliseconds."""
        return int(self.spec["gap"] if self.kind.startswith("session") else self.spec["diff"])

    @property
    def fold(self) -> str:
        return str(self.spec.get("agg", "fold"))

    def reaches(self, key: str | None, value: str | None) -> bool:
        """Whether Kafka windows the record: it has a key and, for sliding windows, a value."""
        return key is not None and (value is not None or self.kind == "session")

    def deletes(self) -> bool:
        """Whether reduce over a null value makes an aggregate null, which deletes its window. SQL has no such rule."""
        return self.spec.get("agg") == "reduce" and any(step["in"][1] is None for step in self.steps)

    def records(self) -> list[Record]:
        """The records that Kafka windows, with times in milliseconds."""
        rows = [step["in"] for step in self.steps]
        return [
            Record((key,), time, arrival, {"value": value})
            for arrival, (key, value, time) in enumerate(rows)
            if self.reaches(key, value)
        ]

    def within_grace(self) -> bool:
        """Whether every record arrives within the grace, and Kafka dropped only null keys and null values."""
        latest, unreached = -1, 0
        for step in self.steps:
            key, value, time = step["in"]
            if not self.reaches(key, value):
                unreached += 1
                continue
            latest = max(latest, time)
            if time < latest - self.spec["grace"]:
                return False
        return bool(self.steps[-1]["dropped"] == unreached)

    def closed(self, finals: Finals) -> Finals:
        """The batch windows that the run must have emitted: all, or only closed ones if it emits on close."""
        if self.emit == "update":
            return finals
        latest = max(step["in"][2] for step in self.steps if self.reaches(*step["in"][:2]))
        frontier = latest - self.spec["grace"] - (self.length if self.kind == "session" else 0)
        return {window: values for window, values in finals.items() if window[2] < frontier}

    def finals(self) -> Finals:
        """The last value of each remaining window, as a multiset of values."""
        last: dict[tuple[str, int, int], str | None] = {}
        for step in self.steps:
            for key, start, end, value, _ in step["out"]:
                last[key, start, end] = value
        return {window: multiset(value, self.fold) for window, value in last.items() if value is not None}


def multiset(value: str, fold: str) -> Counter[str]:
    """The values folded into a string: `0+a+b`, `(..|..)+c`, or `a+b` for reduce. For a count, the number of values."""
    match fold:
        case "count":
            return Counter({"*": int(value)})
        case "reduce":
            return Counter(value.split("+"))
        case _:
            found, rest = folded(value)
            assert not rest, f"{value!r} is not a fold"
            return found


def folded(text: str) -> tuple[Counter[str], str]:
    """The values of the fold at the start of `text`, and the remaining text."""
    if text.startswith("("):
        left, text = folded(text[1:])
        assert text.startswith("|")
        right, text = folded(text[1:])
        assert text.startswith(")")
        found, text = left + right, text[1:]
    else:
        assert text.startswith("0")
        found, text = Counter(), text[1:]
    while text.startswith("+"):
        stop = next((at for at, sign in enumerate(text[1:], 1) if sign in "+|()"), len(text))
        found[text[1:stop]] += 1
        text = text[stop:]
    return found, text


def content(values: list[str | None], fold: str) -> Counter[str]:
    """The expected multiset from the values of a window's records."""
    return Counter({"*": len(values)}) if fold == "count" else Counter(value or "null" for value in values)


def runs(folder: Path, emit: str) -> Iterator[Run]:
    """The runs that a batch query must agree with: one input, all records within the grace, this emission."""
    for file in FILES:
        for line in (folder / file).read_text().splitlines():
            run = Run(**json.loads(line))
            if run.kind in ("session", "sliding") and run.emit == emit and run.within_grace() and not run.deletes():
                yield run
