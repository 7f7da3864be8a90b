"""A micro-batch of one record reads and writes the pages of its key, and no others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr

from ..harness.steps import DictState, LocalStream
from ..scenes import MIDNIGHT

SCHEMA = pa.schema(
    [("user", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("page", pa.string()), ("at", pa.int64())]
)
USERS = 40_000
SESSIONS = wr.SessionWindows.with_gap("5 minutes", grace="10 minutes")
KEPT = wr.SessionWindows.with_gap("5 minutes", grace="10 minutes", retention="1 hour")
RULES = wr.SessionWindows.with_gap("30 minutes", grace="1 minute", cut_on=["page"])
SLIDING = wr.SlidingWindows.with_time_difference("5 minutes", grace="10 minutes")


class CountedState(DictState):
    """Notes the names that are read."""

    def __init__(self) -> None:
        super().__init__()
        self.names = list[str]()
        self.calls = 0

    def getValue(self, key: tuple[str]) -> tuple[str] | None:  # noqa: N802
        self.names.append(key[0])
        self.calls += 1
        return super().getValue(key)

    def iterator(self) -> Iterator[tuple[tuple[str], tuple[str]]]:
        self.names += self.pages
        self.calls += 1
        return super().iterator()


def grouped(data: Any, **options: Any) -> Any:
    return wr.group_by(data, "user", time="ts", **options)


def longest(older: Any, later: Any) -> Any:
    return max(older, later, key=len)


QUERIES: dict[str, Callable[[Any], Any]] = {
    "update": lambda data: grouped(data).windowed_by(SESSIONS).emit("update").agg(n=wr.count(), p=wr.last("page")),
    "every record": lambda data: (
        grouped(data, order="at")
        .windowed_by(SESSIONS)
        .emit("update", every_record=True)
        .agg(n=wr.count(), p=wr.last("page"))
    ),
    "late": lambda data: grouped(data).windowed_by(SESSIONS).late("emit").agg(n=wr.count(), p=wr.last("page")),
    "sliding": lambda data: grouped(data).windowed_by(SLIDING).agg(n=wr.count(), p=wr.last("page")),
    "python": lambda data: grouped(data).windowed_by(SESSIONS).agg(p=wr.reduce("page", longest)),
    "rules": lambda data: grouped(data, tie="at").windowed_by(RULES).agg(n=wr.count(), p=wr.last("page")),
    "kept": lambda data: grouped(data).windowed_by(KEPT).agg(n=wr.count(), p=wr.last("page")),
}


def user(number: int) -> str:
    return f"a user with a long name, whose number is {number:06}"


def records(numbers: range, at: timedelta) -> pa.Table:
    rows = [
        {"user": user(number), "ts": MIDNIGHT + at, "page": f"a page of {number:060}", "at": nth}
        for nth, number in enumerate(numbers)
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


@pytest.mark.parametrize("name", QUERIES)
def test_a_record_reads_and_writes_the_pages_of_its_key(name: str) -> None:
    stream = LocalStream(QUERIES[name], SCHEMA, shards=1)
    state = stream.states[0] = CountedState()
    stream.push([records(range(0, USERS, 2), timedelta())])
    stored = len(state.pages)
    assert stored > 12, stored
    for number in (0, 1, USERS // 2, USERS):  # the first key, one between two others, a middle one, one behind the last
        state.names.clear()
        written = stream.counters["pages_written"]
        rows = stream.push([records(range(number, number + 1), timedelta(seconds=30))])
        written = stream.counters["pages_written"] - written
        # The index, the head, and of each segment a page, which may become two; a sliding window or two.
        assert len(state.names) <= 5, state.names
        assert written <= 5, written
        if name == "update":
            ends = [(row["op"], row["window"]["end"] - MIDNIGHT, row["n"]) for row in rows]
            is_known = number in (0, USERS // 2)
            before = [("delete", timedelta(), None)] if is_known else []
            assert ends == [*before, ("upsert", timedelta(seconds=30), 1 + is_known)]
    if name == "update":
        return
    closed = stream.push([records(range(1), timedelta(hours=3))])
    finals = [row for row in closed if row.get("op", "upsert") == "upsert"]
    ends = {row["user"] for row in finals if row["window"]["end"] < MIDNIGHT + timedelta(hours=2)}
    if name == "every record":
        assert stream.counters["windows_closed"] == USERS // 2 + 2
    else:
        assert ends == {user(number) for number in [*range(0, USERS, 2), 1, USERS]}


def test_a_record_that_joins_a_session_reads_and_writes_the_pages_of_its_key() -> None:
    """After a minute of grace, a record joins one of many open sessions, as the next record comes."""
    stream = LocalStream(QUERIES["rules"], SCHEMA, shards=1)
    state = stream.states[0] = CountedState()
    stream.push([records(range(0, USERS, 2), timedelta())])
    stream.push([records(range(1), timedelta(minutes=2))])
    stored = len(state.pages)
    assert stored > 20, stored
    numbers = (0, 1, USERS // 2, USERS)
    for nth, number in enumerate(numbers):
        state.names.clear()
        written = stream.counters["pages_written"]
        stream.push([records(range(number, number + 1), timedelta(minutes=4 + 2 * nth))])
        written = stream.counters["pages_written"] - written
        # The index, the head, a page of waiting records; of two segments with sessions, the pages of two keys.
        assert len(state.names) <= 7, state.names
        assert written <= 7, written
    closed = stream.push([records(range(1), timedelta(hours=3))])
    minutes = {row["user"]: (row["n"], (row["window"]["end"] - MIDNIGHT) / timedelta(minutes=1)) for row in closed}
    ends = {user(number): (1, 0) for number in range(0, USERS, 2)}
    ends |= {user(0): (3, 4), user(1): (1, 6), user(USERS // 2): (2, 8), user(USERS): (1, 10)}
    assert minutes == ends


@pytest.mark.parametrize("name", ["update", "sliding"])
def test_many_sources_are_read_at_once_and_one_of_them_alone(name: str) -> None:
    def of_sources(data: Any) -> Any:
        windows = SLIDING if name == "sliding" else SESSIONS
        windowed = grouped(data, source="at").windowed_by(windows)
        return (windowed.emit("update") if name == "update" else windowed).agg(n=wr.count())

    stream = LocalStream(of_sources, SCHEMA, shards=1)
    state = stream.states[0] = CountedState()
    sources = range(100)  # each record is of a source of its own
    stream.push([records(sources, timedelta())])
    assert len(state.pages) > 200
    state.calls = 0
    stream.push([records(sources, timedelta(seconds=30))])
    assert state.calls <= 2, "the index, and all pages"
    state.calls = 0
    stream.push([records(range(1), timedelta(seconds=45))])
    assert state.calls <= 5, "the index, and the pages of a source"
