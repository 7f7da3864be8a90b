"""Windows of a state without Spark: one key has the same windows in some pages as in all; damage is an error.

`differential_`: the same windows out of the whole state. The windows themselves are proved next to Spark
(`test_stream_state.py`).
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter, namedtuple
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow._executor.stream.index import Page
from windrow._native import shard_keys
from windrow.state._key import Shards, fetch_key
from windrow.state._shard import open_windows
from windrow.testing import StreamDriver

from ..harness.steps import LocalStream
from ..scenes import utc

SCHEMA = pa.schema(
    [
        ("user", pa.string()),
        ("start", pa.float64()),
        ("ts", pa.timestamp("us", "UTC")),
        ("amount", pa.int64()),
        ("part", pa.int32()),
        ("pause", pa.duration("us")),
    ]
)
Total = namedtuple("Total", ["n", "words"])


def add(total: Any, row: Any) -> Any:
    total.words[str(row.amount % 3)] += 1
    return Total(total.n + 1, total.words)


SHAPES = wr.aggregate(
    lambda: Total(0, Counter()),
    add,
    lambda older, later: Total(older.n + later.n, older.words + later.words),
    schema="n bigint, words map<string, bigint>",
    columns=["amount"],
)
KINDS: dict[str, Any] = {
    "sessions": wr.SessionWindows.with_gap("3 minutes", grace="2 hours"),
    "dynamic gaps": wr.SessionWindows.with_dynamic_gap("pause", grace="2 hours"),
    "sliding": wr.SlidingWindows.with_time_difference("3 minutes", grace="2 hours", resolution="1 millisecond"),
}
AGGREGATES: dict[str, dict[str, Any]] = {
    "built in": {"n": wr.count(), "mean": wr.mean("amount"), "all": wr.collect_list("amount")},
    "python": {"n": wr.count(), "total": SHAPES},
}


def rows(seed: int, count: int, minutes: float = 300) -> pa.Table:
    draw = random.Random(seed)
    return pa.Table.from_pylist(
        [
            {
                "user": draw.choice(["ann", "bob", "", None]),
                "start": draw.choice([0.0, 1.5, float("nan"), None]),
                "ts": utc(round(number / count * minutes + draw.uniform(0, 20), 3)),
                "amount": draw.randint(0, 99),
                "part": draw.randrange(2),
                "pause": timedelta(minutes=draw.choice([1, 2, 5])),
            }
            for number in range(count)
        ],
        SCHEMA,
    )


class Stored:
    """The states of a stream's shards, as Spark would read them; counts the pages that were asked for."""

    def __init__(self, definition: Any, shards: int = 2) -> None:
        self.stream = LocalStream(definition, SCHEMA, shards=shards)
        self.reads = list[str]()

    def read(self, shard: int | None, names: list[str]) -> Shards:
        if shard is not None:
            self.reads = [name for name in names if not name.endswith("head")]
        keys = shard_keys(self.stream.shards)
        return {
            keys[number]: {name: state.pages[name] for name in names if name in state.pages}
            for number, state in self.stream.states.items()
            if shard in (None, keys[number])
        }

    def fetch(self, key: Any, start: Any = None, end: Any = None, *, backward: bool = False) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = fetch_key(self.read, key, start, end, backward=backward).to_pylist()
        return found

    def all(self) -> list[dict[str, Any]]:
        """The open windows of all shards."""
        entries = [
            {"shard": shard, "name": name, "page": page}
            for shard, state in self.stream.states.items()
            for name, page in state.pages.items()
        ]
        batch = pa.RecordBatch.from_pylist(entries)
        parts: Iterator[pa.RecordBatch] = iter([batch.slice(0, 3), batch.slice(3)])
        return [row for shown in open_windows(parts) for row in shown.to_pylist()]


def counted(key: str, kind: str) -> Callable[[Any], Any]:
    return lambda data: wr.group_by(data, key, time="ts").windowed_by(KINDS[kind]).agg(n=wr.count())


def name_of(row: dict[str, Any], *columns: str) -> tuple[str, ...]:
    return tuple(repr(row[column]) for column in columns)


@pytest.mark.parametrize("aggregates", AGGREGATES)
@pytest.mark.parametrize("kind", KINDS)
def test_differential_windows_of_a_key_are_those_of_the_driver(kind: str, aggregates: str) -> None:
    table, chosen = rows(1, 400), AGGREGATES[aggregates]

    def query(data: Any) -> Any:
        return wr.group_by(data, "user", "start", time="ts").windowed_by(KINDS[kind]).agg(**chosen)

    stored = Stored(query)
    driver = StreamDriver(query, SCHEMA)
    for first in range(0, table.num_rows, 100):
        stored.stream.push([table.slice(first, 60), table.slice(first + 60, 40)])
    driver.pipe_batch(table, rows=1)
    is_sliding = kind == "sliding"
    store: Any = driver.windows if is_sliding else driver.sessions
    seen = 0
    for key in [("ann", 1.5), ("bob", float("nan")), ("", None), (None, 0.0), (None, -0.0), ("nobody", 0.0)]:
        for start, end in ((None, None), (utc(250), None), (None, utc(250)), (utc(240), utc(260.5)), (utc(2000), None)):
            for backward in (False, True):
                got = stored.fetch(key, start, end, backward=backward)
                find = "fetch" if is_sliding else "find_sessions"
                expected = getattr(store, f"backward_{find}" if backward else find)(key, start, end).to_pylist()
                for row in got:
                    assert row.pop("stream_time") == driver.stream_time
                for row in expected:
                    row.pop("time")
                for row in (*got, *expected) if aggregates == "python" else ():
                    row["total"]["words"].sort()  # the driver adds records in the order of arrival
                assert repr(got) == repr(expected)
                seen += len(got)
    assert seen > 100


def test_what_is_open_is_shown_of_all_shards_and_sources() -> None:
    table = rows(2, 300)

    def query(data: Any) -> Any:
        return wr.group_by(data, "user", time="ts", source="part").windowed_by(KINDS["sliding"]).agg(n=wr.count())

    stored = Stored(query)
    columns = [{"name": name} for name in ("user", "window", "n", "part", "stream_time")]
    stored.stream.shipment["result"] = json.dumps({"fields": columns})  # of Spark, with the columns of sources
    closed = stored.stream.push([table])
    found = stored.all()
    assert len(found) == stored.stream.counters["windows_open"] > 0
    assert closed
    names = {name_of(row, "user", "window", "part") for row in found}
    assert len(names) == len(found)
    fetched = [row for user in ("ann", "bob", "") for row in stored.fetch(user)]
    assert names < {name_of(row, "user", "window", "part") for row in fetched}  # sliding windows are kept a while
    assert {row["part"]: row["stream_time"] for row in fetched} == {
        part: max(row["ts"] for row in table.to_pylist() if row["part"] == part and row["user"] is not None)
        for part in (0, 1)
    }


def test_pages_out_of_the_times_and_keys_are_not_opened() -> None:
    table = rows(3, 400, minutes=100_000)

    def query(data: Any) -> Any:
        windows = wr.SessionWindows.with_gap("3 minutes", grace="100 days")
        return wr.group_by(data, "user", time="ts").windowed_by(windows).emit("update").agg(n=wr.count())

    stored = Stored(query, shards=1)
    stored.stream.push([table])
    pages = [name for name in stored.stream.states[0].pages if re.fullmatch(r"0/[-\d]+/\d+/\d+", name)]
    everything = stored.fetch("ann")
    assert len(stored.reads) == len(pages) > 4
    assert stored.fetch("ann", utc(50_000), utc(50_001)) == [
        row for row in everything if row["window"]["end"] >= utc(50_000) and row["window"]["start"] <= utc(50_001)
    ]
    assert len(stored.reads) < 3
    for moment, zone in (
        (utc(50_000).replace(tzinfo=None), None),
        (f"{utc(50_000):%Y-%m-%dT%H:%M:%SZ}", "Europe/Madrid"),
        (f"{utc(50_000) + timedelta(hours=1):%Y-%m-%d %H:%M:%S}", "Europe/Madrid"),
    ):
        found = fetch_key(stored.read, "ann", moment, moment, backward=False, zone=zone)
        assert found.to_pylist() == stored.fetch("ann", utc(50_000), utc(50_000))
    for start, end in ((utc(200_000), None), (None, utc(-1))):
        assert stored.fetch("ann", start, end) == []
        assert stored.reads == []
    assert stored.fetch("zoe") == []
    assert stored.reads == []  # her key is behind the last one of every page
    middle = everything[len(everything) // 2]["window"]
    assert stored.fetch("ann", middle["end"], middle["start"])[0]["window"] == middle
    assert stored.fetch("ann", middle["end"] + timedelta(microseconds=1), middle["start"]) == []


def test_a_page_of_many_windows_is_found_by_the_keys_in_it() -> None:
    users = [f"a long prefix of every user {number:05d}" for number in range(4000)]
    table = pa.Table.from_pylist([{"user": user, "ts": utc(0), "amount": 1} for user in users], SCHEMA)
    stored = Stored(counted("user", "sessions"), shards=1)
    stored.stream.push([table])
    assert sum(name.startswith("0/") for name in stored.stream.states[0].pages) > 3
    for user in (users[0], users[1999], users[-1]):
        assert [row["user"] for row in stored.fetch(user)] == [user]  # the beginnings of all keys are equal
    assert stored.fetch("a") == stored.fetch("b") == []
    assert stored.reads == []


def test_a_key_that_no_record_can_have_has_no_windows() -> None:
    stored = Stored(counted("pause", "dynamic gaps"))
    stored.stream.push([rows(6, 20)])
    assert stored.fetch(timedelta(minutes=1))
    assert stored.fetch(timedelta(0)) == stored.fetch(timedelta(minutes=3)) == []


@pytest.mark.parametrize("name", ["index", "query", "0/head", "page"])
@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_damage_is_reported(name: str, damage: str) -> None:
    stored = Stored(counted("user", "sessions"), shards=1)
    stored.stream.push([rows(4, 50)])
    pages = stored.stream.states[0].pages
    found = next(each for each in pages if re.fullmatch(r"0/[-\d]+/\d+/\d+", each)) if name == "page" else name
    if damage == "gone":
        del pages[found]
    else:
        pages[found] = pages[found][:-9]
    with pytest.raises(ValueError, match=r"^state: .*(damaged|missing)"):
        stored.fetch("ann")
    with pytest.raises(ValueError, match=r"^state: .*(damaged|missing)"):
        stored.all()


@pytest.mark.parametrize("kind", ["sessions", "sliding"])
@pytest.mark.parametrize("policy", ["error", "null"])
def test_a_result_that_does_not_fit_is_null_in_a_look_at_the_state(kind: str, policy: Any) -> None:
    def definition(data: Any) -> Any:
        windowed = wr.group_by(data, "user", time="ts").windowed_by(KINDS[kind]).overflow(policy)
        return windowed.agg(total=wr.sum("amount"), n=wr.count())

    stored = Stored(definition)
    for user, minute, amount in [("ann", 0, 2**63 - 1), ("bob", 0, 1), ("ann", 1, 1)]:
        record = {"user": user, "ts": utc(minute), "amount": amount, "part": 0}
        stored.stream.push([pa.Table.from_pylist([record], SCHEMA)])
    both = {("ann", None, 2), ("bob", 1, 1)}
    assert both <= {(row["user"], row["total"], row["n"]) for row in stored.all()}
    assert {(row["user"], row["total"], row["n"]) for row in stored.fetch("ann")} >= {("ann", None, 2)}


def test_a_page_may_hold_a_window_at_each_of_its_bounds() -> None:
    page = Page(0, 0, times=(3, 5), keys=("b", "d"))
    times = [None, *range(1, 8)]
    for start, end in ((start, end) for start in times for end in times if None in (start, end) or start <= end):
        asked = range(3 if start is None else start, 6 if end is None else end + 1)
        assert page.may_hold("c", start, end) == any(3 <= time <= 5 for time in asked), (start, end)
    assert [key for key in "abcde" if page.may_hold(key, None, None)] == ["b", "c", "d"]
    assert not Page(0, 0).may_hold("c", None, None)
