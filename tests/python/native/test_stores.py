"""Queries of a driver's windows against a naive sorted list: every query, its bounds, and its reverse."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Callable
from datetime import UTC, timedelta
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import windrow as wr
from windrow.testing import StreamDriver

from ..harness.players import EPOCH, TICK, DriverPlayer, moment, plain
from ..harness.seeds import blocks
from ..oracle.contents import answers
from ..oracle.generator import KEYS, scenario, stream_of
from ..oracle.scenario import Scenario
from ..oracle.stream import Stream, Window

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
    case = scenario(seed, 60)
    near = (dataclasses.replace(row, input=0) for row in case.rows if row.time is None or abs(row.time) < 10**16)
    plainer = {"inputs": 1, "kafka": False, "values": "built_in", "emit": "update", "resolution": 1}
    # Every other stream closes nothing, so that there is much to be found.
    grace, until = (case.grace, None) if seed % 2 else (1000 * case.length, 2000 * case.length)
    case = dataclasses.replace(case, kind=kind, grace=grace, until=until, rows=tuple(near), **plainer)
    played, oracle = DriverPlayer(case, every=False), stream_of(case)
    played.feed(case.rows)
    for row in case.rows:
        oracle.feed(row)
    return case, played, oracle


def window_answers(oracle: Stream, windows: list[Window]) -> list[Found]:
    return [(*window.name, answers(oracle.scenario, window.held), oracle.time_of(window)) for window in windows]


class Bounds:
    """Random bounds of a query: at windows, next to them, open, and in the wrong order."""

    def __init__(self, seed: int, windows: list[Window]) -> None:
        self._draw = random.Random(f"bounds {seed}")
        self._times = [time for window in windows for time in (window.start, window.end, window.reach)] or [0]
        self._keys = [window.key for window in windows] or KEYS

    def time(self) -> int | None:
        return self._draw.choice([None, self._draw.choice(self._times) + self._draw.randint(-1, 1)])

    def key(self) -> str:
        return self._draw.choice([self._draw.choice(self._keys), self._draw.choice(KEYS)])

    def keys(self) -> dict[str, str | None]:
        """A key, a range, a range with an open side, or all of them."""
        first, last = self.key(), self.key()
        low, high = sorted([first, last], key=str.encode)
        ranges: list[tuple[str | None, str | None]] = [(first, last), (low, high), (low, None), (None, high)]
        bounds = self._draw.choice([{"key": first}, {"key": None}, *({"key": a, "to_key": b} for a, b in ranges)])
        return dict(bounds)


def within(name: str, case: dict[str, str | None]) -> bool:
    first, last = case["key"], case.get("to_key", case["key"])
    above = first is None or name.encode() >= first.encode()
    return above and (last is None or name.encode() <= last.encode())


def at_least(time: int, bound: int | None) -> bool:
    return bound is None or time >= bound


def at_most(time: int, bound: int | None) -> bool:
    return bound is None or time <= bound


def both(forward: Callable[..., pa.Table], backward: Callable[..., pa.Table], *case: Any, **more: Any) -> list[Found]:
    """What a query finds, which its backward form finds in reverse."""
    found = rows(forward(*case, **more))
    assert rows(backward(*case, **more)) == found[::-1]
    return found


@pytest.mark.parametrize("seed", blocks(40, 1))
def test_sessions_are_found_as_in_a_sorted_list(seed: int) -> None:
    case, played, oracle = stored(seed, "session")
    store, windows = played.driver.sessions, oracle.shown()
    assert both(store.all, store.backward_all) == window_answers(oracle, windows)
    bounds = Bounds(seed, windows)
    for _ in range(12):
        keys, earliest, latest = bounds.keys(), bounds.time(), bounds.time()
        times = {"earliest_end": moment(earliest), "latest_start": moment(latest)}
        named = [window for window in windows if within(window.key, keys)]
        expected = [window for window in named if at_least(window.end, earliest) and at_most(window.start, latest)]
        found = both(store.find_sessions, store.backward_find_sessions, **keys, **times)
        assert found == window_answers(oracle, expected), (case.line(), keys, times)
        assert both(store.fetch, store.backward_fetch, **keys) == window_answers(oracle, named)
        due = [window for window in windows if at_least(window.reach, earliest) and at_most(window.reach, latest)]
        due.sort(key=lambda window: (window.end, window.start, window.key.encode()))
        closed = both(store.find_closed, store.backward_find_closed, moment(earliest), moment(latest))
        assert closed == window_answers(oracle, due)
    for window in windows:
        start, end = window.start * TICK + EPOCH, window.end * TICK + EPOCH
        exact = store.fetch_session(window.key, start, end)
        assert exact is not None
        assert exact["n"] == len(window.held.members)
        assert store.fetch_session(window.key, start - TICK, end) is None
        assert store.fetch_session(window.key, start, end + TICK) is None


@pytest.mark.parametrize("seed", blocks(40, 1))
def test_sliding_windows_are_found_as_in_a_sorted_list(seed: int) -> None:
    case, played, oracle = stored(seed, "sliding")
    store, windows = played.driver.windows, oracle.shown()
    assert both(store.all, store.backward_all) == window_answers(oracle, windows)
    bounds = Bounds(seed, windows)
    for _ in range(12):
        keys, earliest, latest = bounds.keys(), bounds.time(), bounds.time()
        times = {"start": moment(earliest), "end": moment(latest)}
        inside = [window for window in windows if at_least(window.start, earliest) and at_most(window.start, latest)]
        assert both(store.fetch_all, store.backward_fetch_all, **times) == window_answers(oracle, inside)
        expected = [window for window in inside if within(window.key, keys)]
        found = both(store.fetch, store.backward_fetch, **keys, **times)
        assert found == window_answers(oracle, expected), (case.line(), keys, times)
        inside.sort(key=lambda window: (window.start, window.key.encode()))
        closed = both(store.find_closed, store.backward_find_closed, moment(earliest), moment(latest))
        assert closed == window_answers(oracle, inside)
    for window in windows:
        exact = store.fetch_window(window.key, moment(window.start))
        assert exact is not None
        assert exact["n"] == len(window.held.members)


COMPOSITE = pa.schema({"user": pa.string(), "page": pa.int64(), "ts": pa.timestamp("us")})


def composite() -> StreamDriver:
    """Sessions of two key columns, nulls in either of them."""
    windows = wr.SessionWindows.with_gap("5 minutes", grace="1 minute")
    driver = StreamDriver(
        lambda visits: wr.group_by(visits, "user", "page", time="ts").windowed_by(windows).count(), COMPOSITE
    )
    for user, page in PAGES:
        driver.pipe(user=user, page=page, ts=EPOCH)
    return driver


PAGES = [(None, 3), ("ann", None), ("ann", 1), ("ann", 2), ("bob", None)]
"""In the order of keys: null comes before every value."""


@pytest.mark.parametrize("first", [None, *range(5)])
@pytest.mark.parametrize("last", [None, *range(5)])
def test_keys_of_several_columns_are_bounds_with_their_nulls(first: int | None, last: int | None) -> None:
    low, high = (None if place is None else PAGES[place] for place in (first, last))
    expected = PAGES[first or 0 : 5 if last is None else last + 1]
    store = composite().sessions
    for fetch, wanted in ((store.fetch, expected), (store.backward_fetch, expected[::-1])):
        found = fetch(low, high)
        assert list(zip(found["user"].to_pylist(), found["page"].to_pylist(), strict=True)) == wanted


def test_nulls_of_pandas_are_nulls_of_a_key() -> None:
    store = composite().sessions
    for null in (None, pd.NA, pd.NaT):
        assert store.fetch(("ann", null))["page"].to_pylist() == [None]
        assert store.fetch((null, 3))["user"].to_pylist() == [None]


IN_UTC = EPOCH.replace(tzinfo=UTC)
REFUSED: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "a part of a key": (lambda store: store.fetch("ann"), ValueError, "key: got 'ann'; allowed: a tuple of the values"),
    "a short last key": (
        lambda store: store.fetch(("ann", 1), ("ann",)),
        ValueError,
        r"to_key: got \('ann',\); allowed: a tuple of the values of user, page",
    ),
    "a key of another type": (lambda store: store.fetch(("ann", "1")), TypeError, "key: column 'page': got '1', a str"),
    "a wrong last key": (lambda store: store.fetch(None, (1, 1)), TypeError, "to_key: column 'user': got 1, an int"),
    "a number": (lambda store: store.find_sessions(None, 5), TypeError, "earliest_end: got 5, an int; allowed: a d"),
    "a number later": (lambda store: store.find_sessions(None, None, 5), TypeError, "latest_start: got 5, an int"),
    "a zone": (lambda store: store.find_closed(IN_UTC), ValueError, "earliest: got .*; allowed: .* without a zone"),
    "words": (lambda store: store.find_closed(None, "now"), TypeError, "latest: got 'now', a str"),
    "no key": (lambda store: store.fetch_session(None, EPOCH, EPOCH), ValueError, "key: got None; allowed: a value"),
    "no end": (lambda store: store.fetch_session(("ann", 1), EPOCH, None), ValueError, "end: got None; allowed: a val"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_bounds_are_named(case: str) -> None:
    call, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        call(composite().sessions)


def test_lists_are_keys_also_after_a_restart() -> None:
    """
    [1]  x──x        [1, 2]  x        []  x        in one order: shorter lists before those they begin
    """
    schema = pa.schema({"path": pa.list_(pa.int64()), "ts": pa.timestamp("us")})
    windows = wr.SessionWindows.with_gap("5 minutes", grace="1 hour")

    def definition(data: Any) -> Any:
        return wr.group_by(data, "path", time="ts").windowed_by(windows).count()

    driver, second = StreamDriver(definition, schema), StreamDriver(definition, schema)
    for minute, path in enumerate([[1], [1, 2], [], [1]]):
        driver.pipe(path=path, ts=EPOCH + timedelta(minutes=minute))
    second.restore(driver.snapshot())
    for store in (driver.sessions, second.sessions):
        assert store.fetch([1])["count"].to_pylist() == [2]
        assert store.fetch([2]).num_rows == 0
        assert store.all()["path"].to_pylist() == [[], [1], [1, 2]]
        assert store.fetch([1], to_key=[1, 2])["path"].to_pylist() == [[1], [1, 2]]


def test_one_sliding_window_has_a_key_and_a_start() -> None:
    windows = wr.SlidingWindows.with_time_difference("5 minutes", grace="1 minute")
    driver = StreamDriver(lambda visits: wr.group_by(visits, "user", time="ts").windowed_by(windows).count(), COMPOSITE)
    with pytest.raises(ValueError, match="key: got None"):
        driver.windows.fetch_window(None, EPOCH)
    with pytest.raises(TypeError, match="start: got 0, an int"):
        driver.windows.fetch("ann", 0)
    with pytest.raises(ValueError, match="start: got None"):
        driver.windows.fetch_window("ann", None)


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
