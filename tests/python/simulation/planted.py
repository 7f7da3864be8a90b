"""Faults that are planted in seams of windrow and of the cluster. The simulation must find each of them.

A fault is a function that replaces something for a while. Its docstring says what goes wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow._executor.batches import picked
from windrow._executor.stream import change_block, order, shard
from windrow._executor.stream.control import Control
from windrow._executor.stream.index import HEAD, Index
from windrow._executor.stream.pack import NO_SOURCE, Split
from windrow._executor.stream.pages import Pages
from windrow._executor.stream.query import StreamQuery
from windrow._executor.stream.shard import Shard

from . import cluster, days
from .cluster import Cluster
from .days import DailyJob

Patch = pytest.MonkeyPatch
Plant = Callable[[Patch], None]

PLANTED: dict[str, Plant] = {}
"""The faults by name."""

QUICK = ("an update before its delete", "a page is not written", "a clock of the last split", "a version too old")
"""Those that are found within a few schedules."""


@contextmanager
def planted(name: str) -> Iterator[None]:
    """A planted fault is there."""
    with Patch.context() as patch:
        PLANTED[name](patch)
        yield


def fault(name: str, owner: Any, attribute: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A fault that replaces an attribute by a function, whose first argument is what was there."""

    def register(wrong: Callable[..., Any]) -> Callable[..., Any]:
        def plant(patch: Patch) -> None:
            right = getattr(owner, attribute)
            patch.setattr(owner, attribute, lambda *given, **named: wrong(right, *given, **named))

        assert name not in PLANTED
        PLANTED[name] = plant
        return wrong

    return register


# The state


@fault("a page is not written", Pages, "_write")
def _(right: Any, pages: Pages, name: str, text: str, page: Any) -> None:
    if name in pages.index.pages and not name.endswith(HEAD):
        return
    right(pages, name, text, page)


@fault("a page stays that is gone", Pages, "write")
def _(right: Any, pages: Pages, number: int, changed: list[tuple[str, bytes | None]]) -> None:
    right(pages, number, [(name, page) for name, page in changed if page is not None])


@fault("an index is not written", Pages, "finish")
def _(right: Any, pages: Pages, query: str) -> None:
    if not pages.is_of(query) or pages.count % 2:
        right(pages, query)


@fault("a head is not written, so no clock is restored", Pages, "_write")
def _(right: Any, pages: Pages, name: str, text: str, page: Any) -> None:
    if not (name.endswith(HEAD) and name in pages.index.pages):
        right(pages, name, text, page)


@fault("an operator is forgotten", Pages, "knows")
def _(right: Any, pages: Pages, number: int) -> bool:
    return right(pages, number) and number == 0


@fault("the inputs of a source are forgotten", Index, "read")
def _(right: Any, text: str) -> Index:
    index: Index = right(text)
    return replace(index, inputs=[set() for _ in index.inputs])


@fault("sources change their numbers", Index, "read")
def _(right: Any, text: str) -> Index:
    index: Index = right(text)
    return replace(index, sources=index.sources[::-1])


@fault("another query is not seen", Pages, "is_of")
def _(right: Any, pages: Pages, query: str) -> bool:
    return pages.index.pages != {}


@fault("the gauge of a quiet operator is forgotten", Index, "read")
def _(right: Any, text: str) -> Index:
    index: Index = right(text)
    return replace(index, gauges={})


@fault("some pages are missing at a restore", Pages, "some")
def _(right: Any, pages: Pages, number: int, names: list[str]) -> Any:
    return right(pages, number, names[:1])


# Control rows


@fault("a clock of the last split", Control, "add")
def _(right: Any, control: Control, other: Control) -> None:
    right(control, other)
    control.times.update(other.times)


@fault("the counters of a split at every shard", Control, "write")
def _(right: Any, control: Control, *, counted: bool) -> str:
    return right(control, counted=True)


@fault("a tick for all sources is lost", Control, "observe_all")
def _(right: Any, control: Control, *tick: Any) -> None:
    pass


@fault("a tick counts twice", Control, "count")
def _(right: Any, control: Control, counters: Any) -> None:
    right(control, [(name, count * (1 + (name == "ticks"))) for name, count in counters])


@fault("a tick with an order comes after all", Control, "observe_all")
def _(right: Any, control: Control, number: int, time: int, order: int | None = None) -> None:
    right(control, number, time)


@fault("an input has the time of another", Control, "observe")
def _(right: Any, control: Control, source: Any, number: int, time: int | None) -> None:
    right(control, source, 0, time)


@fault("one shard does not hear of a split", Split, "controls")
def _(right: Any, split: Split) -> Any:
    return right(split).slice(0, max(1, len(split._query.shard_keys) - 1))


# Rows


@fault("an update before its delete", shard, "blocks_of")
def _(right: Any, changes: Any) -> Any:
    return right(picked(changes, pa.array(range(changes.num_rows)[::-1])))


@fault("the last row of a block is lost", change_block, "decode_changes")
def _(right: Any, block: bytes) -> Any:
    rows = right(block)
    return rows.slice(0, max(1, rows.num_rows - 1))


@fault("a block comes twice", change_block, "rows_of")
def _(right: Any, blocks: Any) -> Any:
    for number, rows in enumerate(right(blocks)):
        yield from [rows, rows] if number else [rows]


@fault("blocks in the order of arrival", shard, "_packed")
def _(right: Any, rows: list[Any]) -> Any:
    return right([SimpleNamespace(first=number, block=row.block) for number, row in enumerate(rows)])


@fault("records left out in the order of arrival", shard, "_received")
def _(right: Any, rows: Any, shard_keys: list[int]) -> Any:
    rows = list(rows)
    found = right(rows, shard_keys)
    return found[0], found[1], [row.block for row in rows if row.source == NO_SOURCE], found[3]


@fault("a source of a split is lost", Split, "finish")
def _(right: Any, split: Split) -> Any:
    for number, rows in enumerate(right(split)):
        if number != 1:
            yield rows


@fault("records are judged by the end of their split", order, "_judged")
def _(right: Any, query: StreamQuery, source: Any, rows: Any, control: Control) -> Any:
    found = right(query, source, rows, control)
    for name in query.seen:
        latest: Any = order.pc.max(found[name])
        column = pa.repeat(latest, found.num_rows)
        found = found.set_column(found.column_names.index(name), name, column)
    return found


@fault("the counters of earlier micro-batches count again", Shard, "push")
def _(right: Any, work: Shard, *given: Any) -> Any:
    effect = right(work, *given)
    return effect._replace(before=dict.fromkeys(effect.before, 0))


@fault("a task keeps its operator", StreamQuery, "operator")
def _(right: Any, query: StreamQuery) -> Any:
    return query.__dict__.setdefault("kept", right(query))


@fault("records of one time have no tie", wr, "group_by")
def _(right: Any, *given: Any, **named: Any) -> Any:
    return right(*given, **(named | {"tie": None}))


# What Spark does; windrow cannot see it, but the laws can


@fault("a version too old", Cluster, "version")
def _(right: Any, self: Cluster, number: int) -> Any:
    return right(self, max(0, number - 1))


@fault("a version of a dead attempt", Cluster, "version")
def _(right: Any, self: Cluster, number: int) -> Any:
    return self.versions.get(number + 1, right(self, number))


@fault("a micro-batch that is planned again has other rows", cluster, "replanned")
def _(right: Any, draw: Any, splits: Any, **fixed: bool) -> Any:
    return [split.slice(0, max(1, split.num_rows - 1)) for split in right(draw, splits, **fixed)]


@fault("a split that is packed again comes twice", Cluster, "received")
def _(right: Any, self: Cluster, splits: Any) -> Any:
    again = any(each[:2] == (self.number, "pack") for each in self.faults)
    return right(self, [*splits, *splits[:1]] if again else splits)


@fault("a history is in the first shard only", Cluster, "first_entries")
def _(right: Any, self: Cluster) -> Any:
    return (entry for entry in right(self) if entry[0] == 0)


@fault("a history has no pages of windows", Cluster, "first_entries")
def _(right: Any, self: Cluster) -> Any:
    return (entry for entry in right(self) if entry[1].count("/") < 2)


@fault("a run leaves the open windows of the run before", DailyJob, "run")
def _(right: Any, self: DailyJob, day: int, *given: Any) -> Any:
    before = self.opened
    closed = right(self, day, *given)
    self.opened = before if day == 1 else self.opened
    return closed


@fault("a record of a day is lost", days, "pack_day")
def _(right: Any, batches: Any, *given: Any) -> Any:
    return right((batch.slice(number == 2) for number, batch in enumerate(batches)), *given)
