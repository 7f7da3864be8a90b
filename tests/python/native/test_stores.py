"""Queries of a driver's windows against a naive sorted list: every query, its bounds, and its reverse."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from oracle.contents import answers
from oracle.generator import KEYS, scenario, stream_of
from oracle.scenario import Scenario
from oracle.stream import Stream, Window
from players import DriverPlayer, plain

Found = tuple[Any, ...]


def rows(table: pa.Table) -> list[Found]:
    """Key, start, end, aggregates, time; times in ticks."""
    bounds = table["window"].combine_chunks()
    starts, ends = (pc.struct_field(bounds, name).cast(pa.int64()).to_pylist() for name in ("start", "end"))
    values = zip(*(table[name].to_pylist() for name in table.column_names[2:-1]), strict=True)
    times = table["time"].cast(pa.int64()).to_pylist()
    return [
        (key, start, end, plain(held), time)
        for key, start, end, held, time in zip(table["key"].to_pylist(), starts, ends, values, times, strict=True)
    ]


def stored(seed: int, kind: str) -> tuple[Scenario, DriverPlayer, Stream]:
    """A driver and the oracle that have seen the same rows."""
    asked = scenario(seed, 60)
    near = (dataclasses.replace(row, input=0) for row in asked.rows if row.time is None or abs(row.time) < 10**16)
    plainer = {"inputs": 1, "kafka": False, "values": "built_in", "emit": "update", "resolution": 1}
    # Every other stream closes nothing, so that there is much to be found.
    grace, until = (asked.grace, None) if seed % 2 else (1000 * asked.length, 2000 * asked.length)
    asked = dataclasses.replace(asked, kind=kind, grace=grace, until=until, rows=tuple(near), **plainer)
    played, oracle = DriverPlayer(asked, every=False), stream_of(asked)
    played.feed(asked.rows)
    for row in asked.rows:
        oracle.feed(row)
    return asked, played, oracle


def told(oracle: Stream, windows: list[Window]) -> list[Found]:
    return [(*window.name, answers(oracle.asked, window.held), oracle.time_of(window)) for window in windows]


class Bounds:
    """Random bounds of a query: at windows, beside them, open, and in the wrong order."""

    def __init__(self, seed: int, windows: list[Window]) -> None:
        self._draw = random.Random(f"bounds {seed}")
        self._times = [time for window in windows for time in (window.start, window.end, window.reach)] or [0]
        self._keys = [window.key for window in windows] or KEYS

    def time(self) -> int | None:
        return self._draw.choice([None, self._draw.choice(self._times) + self._draw.randint(-1, 1)])

    def key(self) -> str:
        return self._draw.choice([self._draw.choice(self._keys), self._draw.choice(KEYS)])

    def keys(self) -> tuple[str | None, str | None]:
        """A key, a range, or all of them; a range without a first key starts with the first one."""
        first, last = self.key(), self.key()
        return self._draw.choice([(first, None), (first, last), (min(first, last), max(first, last)), (None, None)])


def within(key: str, first: str | None, last: str | None) -> bool:
    last = first if last is None else last
    return first is None or (last is not None and first.encode() <= key.encode() <= last.encode())


def at_least(time: int, bound: int | None) -> bool:
    return bound is None or time >= bound


def at_most(time: int, bound: int | None) -> bool:
    return bound is None or time <= bound


def both(forward: Callable[..., pa.Table], backward: Callable[..., pa.Table], *asked: Any, **more: Any) -> list[Found]:
    """What a query finds, which its backward form finds in reverse."""
    found = rows(forward(*asked, **more))
    assert rows(backward(*asked, **more)) == found[::-1]
    return found


@pytest.mark.parametrize("seed", range(40))
def test_sessions_are_found_as_in_a_sorted_list(seed: int) -> None:
    asked, played, oracle = stored(seed, "session")
    store, windows = played.driver.sessions, oracle.shown()
    assert rows(store.all()) == told(oracle, windows)
    bounds = Bounds(seed, windows)
    for _ in range(12):
        (first, last), earliest, latest = bounds.keys(), bounds.time(), bounds.time()
        expected = [
            window
            for window in windows
            if within(window.key, first, last) and at_least(window.end, earliest) and at_most(window.start, latest)
        ]
        found = both(store.find_sessions, store.backward_find_sessions, first, earliest, latest, to_key=last)
        assert found == told(oracle, expected), (asked.line(), first, last, earliest, latest)
        if first is not None:
            expected = [window for window in windows if within(window.key, first, last)]
            assert both(store.fetch, store.backward_fetch, first, last) == told(oracle, expected)
        due = [window for window in windows if at_least(window.reach, earliest) and at_most(window.reach, latest)]
        due.sort(key=lambda window: (window.end, window.start, window.key.encode()))
        assert rows(store.find_closed(earliest, latest)) == told(oracle, due)
    for window in windows:
        exact = store.fetch_session(*window.name)
        assert exact is not None
        assert exact["n"] == len(window.held.members)
        assert store.fetch_session(window.key, window.start - 1, window.end) is None
        assert store.fetch_session(window.key, window.start, window.end + 1) is None


@pytest.mark.parametrize("seed", range(40))
def test_sliding_windows_are_found_as_in_a_sorted_list(seed: int) -> None:
    asked, played, oracle = stored(seed, "sliding")
    store, windows = played.driver.windows, oracle.shown()
    assert rows(store.all()) == told(oracle, windows)
    bounds = Bounds(seed, windows)
    for _ in range(12):
        (first, last), earliest, latest = bounds.keys(), bounds.time(), bounds.time()
        inside = [window for window in windows if at_least(window.start, earliest) and at_most(window.start, latest)]
        assert both(store.fetch_all, store.backward_fetch_all, earliest, latest) == told(oracle, inside)
        expected = [window for window in inside if within(window.key, first, last)]
        found = both(store.fetch, store.backward_fetch, first, earliest, latest, to_key=last)
        assert found == told(oracle, expected), (asked.line(), first, last, earliest, latest)
        inside.sort(key=lambda window: (window.start, window.key.encode()))
        assert rows(store.find_closed(earliest, latest)) == told(oracle, inside)
    for window in windows:
        exact = store.fetch_window(window.key, window.start)
        assert exact is not None
        assert exact["n"] == len(window.held.members)


def test_there_is_something_to_be_found() -> None:
    seen = Counter[str]()
    for kind in ("session", "sliding"):
        for seed in range(40):
            _, _, oracle = stored(seed, kind)
            windows = oracle.shown()
            seen[kind] += len(windows) > 3
            seen[f"{kind} hidden"] += len(windows) < len(oracle.stored)
            seen[f"{kind} keys"] += len({window.key for window in windows}) > 1
    assert min(seen.values()) >= 8, seen
