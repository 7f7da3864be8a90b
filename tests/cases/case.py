"""A case: a rule, records, a query, and what it gives."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from .drawing import Row, Step, Window, numbered, script, timeline
from .query import Query

WAYS = {
    "in_process": "a query in this process",
    "days": "two runs of `advance` in this process, cut in the middle of the times",
    "shuffle": "Spark's two steps of a batch, without Spark: blocks of some splits, merged by shard",
    "driver": "a `StreamDriver`",
    "restarts": "a `StreamDriver` that is saved and restored after each micro-batch",
    "stream": "the steps of a stream, without Spark: splits, shards, pages",
    "spark": "a batch in Spark, together with other cases of its query",
    "spark_stream": "a stream in Spark, together with other cases of its query; each case is a source",
}
"""The ways to play a case, in the order of their cost."""

BATCHES = ("in_process", "days", "shuffle", "spark")
STREAMS = ("driver", "restarts", "stream", "spark_stream")

NOTHING_IS_LATE = "a batch has no arrival: nothing is late, and windows give one row (rules 1.8)"
RUN_BY_RUN = "runs of `advance` are a chain of batches; `tests/python/spark/test_spark_advance.py` has them in Spark"
ONE_ROW = "runs give one row for each window"
NO_RUNS = "a stream has no runs; 1.10 compares both"
BEGINS = "a stream that begins with open windows; `tests/python/spark/test_stream_start.py` has it in Spark"
GIVES_RECORDS = "a driver gives windows, no records"
THIRD_STEP = "records come back by a step of their own, which `native/test_with_columns.py` plays"
ENDS_BY_HAND = "a stream of Spark has no `finish`"
REAL_CLOCK = "the clock of Spark is real; `tests/python/spark/test_spark_left_out.py` has records ahead of it"


@dataclass(frozen=True)
class Case:
    """A case.

    Attributes:
        rules: the rules that it shows, the main one first.
        name: what the rule says here, as a sentence.
        query: the query.
        drawing: the records and what they give.
        then: the query of the stream that goes on with the open windows of runs, if it is another one.
        in_batch: whether the windows of a script are those of a batch too.
        cannot: for each way that cannot play it, the reason.
    """

    rules: tuple[str, ...]
    name: str
    query: Query
    drawing: str
    then: Query | None = None
    in_batch: bool = False
    own_reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_timeline(self) -> bool:
        """Whether the windows do not depend on the arrival of records."""
        return "→" not in self.drawing

    @cached_property
    def cannot(self) -> dict[str, str]:
        """For each way that cannot play it, the reason."""
        found: dict[str, str] = {}
        if self.unreadable is not None:
            return found
        if self.runs:
            found |= dict.fromkeys(("days", "shuffle", "spark"), RUN_BY_RUN) | {"spark_stream": BEGINS}
            if not self.steps:
                found |= dict.fromkeys(STREAMS, NO_RUNS)
        elif not self.is_timeline and not self.in_batch:
            found |= dict.fromkeys(BATCHES, NOTHING_IS_LATE)
        if self.query.returns_records:
            found |= dict.fromkeys(("driver", "restarts"), GIVES_RECORDS) | {"shuffle": THIRD_STEP}
        if self.query.emit is not None or self.query.left_out or self.query.returns_records:
            found |= {"days": ONE_ROW}
        if self.query.max_ahead is not None:
            found |= {"spark_stream": REAL_CLOCK}
        if any(step.finishes for step in self.steps):
            found |= dict.fromkeys(("stream", "spark_stream"), ENDS_BY_HAND)
        return found | dict(self.own_reasons)

    @cached_property
    def unreadable(self) -> str | None:
        """Why the drawing cannot be read, if it cannot."""
        try:
            self._read  # noqa: B018 (it reads)
        except ValueError as error:
            return str(error)
        return None

    @cached_property
    def _read(self) -> tuple[tuple[Step, ...], tuple[Step, ...], Mapping[str, int]]:
        if self.is_timeline:
            return (), tuple(numbered(*timeline(self.drawing))), {}
        found = script(self.drawing)
        return found.runs, found.steps, found.counters

    @property
    def runs(self) -> tuple[Step, ...]:
        """The runs of `advance`."""
        return self._read[0]

    @property
    def steps(self) -> tuple[Step, ...]:
        """The micro-batches."""
        return self._read[1]

    @property
    def counters(self) -> Mapping[str, int]:
        """What a stream has counted in the end."""
        return self._read[2]

    @property
    def records(self) -> list[Row]:
        """The rows of a batch: all of its micro-batches."""
        steps = self.steps[:-1] if self.is_timeline else self.steps
        return [row for step in steps for row in step.rows]

    @property
    def windows(self) -> list[Window]:
        """The windows of a batch."""
        return [window for step in self.steps for window in step.gives]

    @property
    def id(self) -> str:
        """The name of its test."""
        return "-".join([*self.rules[:1], self.name])


def case(
    rules: str,
    name: str,
    query: Query,
    drawing: str,
    *,
    then: Query | None = None,
    in_batch: bool = False,
    cannot: Mapping[str, str] | None = None,
) -> Case:
    """A case of a section. `rules` are their numbers, such as `"2.1, 2.3"`."""
    numbers = tuple(rule.strip() for rule in rules.split(",") if rule.strip())
    return Case(numbers, name, query, drawing, then, in_batch, cannot or {})


def reasons(ways: Sequence[str], reason: str) -> dict[str, str]:
    """One reason for some ways."""
    return dict.fromkeys(ways, reason)


def fault(cases: Sequence[Case], rules: Collection[str]) -> str | None:
    """The first thing that is wrong with the cases, as a sentence. `rules` are the numbers that exist."""
    seen = set[str]()
    for each in cases:
        if not each.rules:
            return f"the case {each.name!r} names no rule; name one of docs/rules.md, such as '2.1'"
        for rule in each.rules:
            if rule not in rules:
                return f"the case {each.name!r} names the rule {rule!r}, which docs/rules.md does not have"
        if each.unreadable is not None:
            return f"the drawing of the case {each.name!r} cannot be read: {each.unreadable}"
        for way, reason in each.cannot.items():
            if way not in WAYS:
                return f"the case {each.name!r} names the way {way!r}; allowed: {', '.join(WAYS)}"
            if not reason.strip():
                return f"the case {each.name!r} gives no reason why the way {way!r} cannot play it"
        if each.cannot.keys() == WAYS.keys():
            return f"no way plays the case {each.name!r}"
        if each.id in seen:
            return f"two cases are called {each.id!r}"
        seen.add(each.id)
    return None
