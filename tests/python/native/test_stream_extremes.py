"""Hostile data in a stream: times at the ends of what there is, huge keys, many keys, one key, empty micro-batches."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import windrow as wr

from ..harness.steps import LocalStream
from ..oracle.micro_batches import MicroBatches
from ..oracle.scenario import Row
from ..oracle.stream import Change
from ..oracle.streaming_scenario import StreamingScenario

MINUTE, DAY = 60_000_000, 86_400_000_000
NOW = 20_454 * DAY
"""1 January 2026."""
YEAR_9999 = 253_402_300_799_999_999
SCHEMA = pa.schema(
    [
        ("user", pa.string()),
        ("ts", pa.timestamp("us")),
        ("amount", pa.int64()),
        ("offset", pa.int64()),
        ("pause", pa.duration("us")),
        ("tick", pa.bool_()),
    ]
)
KINDS = {
    "sessions": wr.SessionWindows.with_gap("5 minutes", grace="1 minute"),
    "dynamic gaps": wr.SessionWindows.with_dynamic_gap("pause", grace="1 minute"),
    "sliding": wr.SlidingWindows.with_time_difference("5 minutes", grace="1 minute"),
}
Found = tuple[Any, ...]


@pytest.fixture(params=KINDS)
def windows(request: pytest.FixtureRequest) -> Any:
    return KINDS[request.param]


def table(users: Any, times: Any, *, ticks: Any = False, first: int = 0) -> pa.Table:
    """Records or ticks; times in microseconds since 1970."""
    count = len(times)
    columns = {
        "user": pa.array(users, pa.string()),
        "ts": pa.array(times, pa.int64()).cast(pa.timestamp("us")),
        "amount": pa.array(range(first, first + count), pa.int64()),
        "offset": pa.array(range(first, first + count), pa.int64()),
        "pause": pa.repeat(5 * MINUTE, count).cast(pa.duration("us")),
        "tick": pa.repeat(ticks, count),
    }
    return pa.table(columns, schema=SCHEMA)


def tick(time: int) -> pa.Table:
    return table([None], [time], ticks=True)


def query(windows: Any, emit: Any = "close", late: Any = "drop", **options: Any) -> Callable[[Any], Any]:
    def definition(data: Any) -> Any:
        windowed = wr.group_by(data, "user", time="ts", tick="tick", **options).windowed_by(windows)
        return windowed.emit(emit).late(late).agg(n=wr.count(), total=wr.sum("amount"))

    return definition


def given(batches: list[pa.RecordBatch]) -> list[Found]:
    """Rows as (user, start, end, n, total, op if any), times in microseconds."""
    found: list[Found] = []
    for batch in batches:
        bounds = (pc.struct_field(batch["window"], name).cast(pa.int64()) for name in ("start", "end"))
        columns = [batch["user"], *bounds, *batch.columns[batch.schema.get_field_index("window") + 1 :]]
        found += zip(*(column.to_pylist() for column in columns), strict=True)
    return found


@pytest.mark.parametrize("order", [None, "offset"])
def test_max_ahead_sets_such_a_record_aside(windows: Any, order: str | None) -> None:
    plain = LocalStream(query(windows, order=order), SCHEMA, shards=3)
    guarded = LocalStream(query(windows, order=order), SCHEMA, shards=3, max_ahead=DAY)
    for minute in range(0, 40, 4):
        now = NOW + minute * MINUTE
        guarded.clock = now
        good = table(["ann", "bob", "ann", "cem"], [now, now - MINUTE, now + MINUTE, now + DAY * (minute == 36)])
        mad = table(["mad", "ann"], [YEAR_9999, now + DAY + 1], first=10)
        far = table([None], [YEAR_9999], ticks=True, first=20)
        expected = given(plain.push_batches([good]))
        assert Counter(given(guarded.push_batches([mad, pa.concat_tables([far, good])]))) == Counter(expected)
        assert guarded.stream_time == plain.stream_time
    assert plain.counters["windows_closed"] > 2
    own = {"ahead": 20, "bad_ticks": 10, "ticks": 0}
    kept = [name for name in plain.counters if name not in (*own, "state_bytes", "pages_written", "state_pages")]
    assert {name: guarded.counters[name] for name in own} == own
    assert [guarded.counters[name] for name in kept] == [plain.counters[name] for name in kept]


FIRST, LAST = -(2**63), 2**63 - 1
EARLY = [FIRST + 5 * MINUTE, FIRST + 11 * MINUTE, -1, 0, 5 * MINUTE]
EXTREMES = [FIRST, FIRST + 1, *EARLY, LAST - 5 * MINUTE, LAST - 1, LAST]
ROOMY = [*EARLY, *(LAST - minutes * MINUTE for minutes in (11, 10, 6)), LAST - 5 * MINUTE - 1, LAST - 5 * MINUTE]
"""Of which all windows have bounds."""


def asked_of(windows: Any, **options: Any) -> StreamingScenario:
    kind = ("session", "dynamic", "sliding")[[*KINDS.values()].index(windows)]
    return StreamingScenario(kind, DAY if kind == "dynamic" else 5 * MINUTE, MINUTE, **options)


@pytest.mark.parametrize("order", [None, "offset"])
@pytest.mark.parametrize("emit", ["close", "update"])
def test_times_at_the_ends_of_int64_are_as_the_rules_say(windows: Any, order: str | None, emit: Any) -> None:
    gave, ends = 0, EXTREMES if windows is not KINDS["sliding"] else ROOMY
    for seed in range(30):
        draw = random.Random(seed)
        times = ends if seed == 0 else ends[::-1] if seed == 1 else draw.choices(ends, k=10)
        late = "emit" if seed % 3 == 0 else "drop"
        stream = LocalStream(query(windows, emit, late, order=order), SCHEMA, shards=2, seed=seed)
        oracle = MicroBatches(asked_of(windows, emit=emit, late=late, ordered=order is not None))
        users = [draw.choice("ab") for _ in times]
        for first in range(0, len(times), 2):
            two = slice(first, first + 2)
            got = given(stream.push_batches([table(users[two], times[two], first=first)]))
            rows = zip(users[two], times[two], range(first, first + 2), strict=True)
            records = [Row(user, time, place, gap=5 * MINUTE, order=place) for user, time, place in rows]
            has_op = emit == "update" or late == "emit"
            expected = [plain(change, has_op) for change in oracle.push(records)]
            assert Counter(got) == Counter(expected), f"seed {seed}, record {first}"
            gave += len(got)
        for name in ("records", "late", "windows_closed"):
            assert stream.counters[name] == oracle.counters[name], f"seed {seed}: {name}"
    assert gave > 50


def test_a_sliding_window_that_starts_before_all_times_is_an_error() -> None:
    stream, first = LocalStream(query(KINDS["sliding"]), SCHEMA, shards=2), FIRST + 5 * MINUTE
    assert stream.push([table(["ann"], [first])]) == []
    with pytest.raises(OverflowError, match=f'"ts": the window of the record at {first - 1} ticks has a bound beyond'):
        stream.push([table(["ann"], [first - 1])])


def plain(change: Change, has_op: bool) -> Found:
    values = (None, None) if change.values is None else change.values[:2]
    return (*change[1:4], *values, *([change.op] if has_op else []))


def test_keys_of_ten_megabytes_are_keys_like_others() -> None:
    named = {"x" * 10_000_000: "a", "x" * 9_999_999 + "y": "b"}  # of which the last byte tells
    huge, (first, second) = query(KINDS["sessions"], "update"), named
    stream, small = LocalStream(huge, SCHEMA, shards=2), LocalStream(huge, SCHEMA, shards=2)
    for minute in (0, 30):
        users, times = [first, second, first, "c"], [NOW + (minute + each % 3) * MINUTE for each in range(4)]
        got = given(stream.push_batches([table(users, times)]))
        expected = given(small.push_batches([table([named.get(user, user) for user in users], times)]))
        assert Counter((named.get(row[0], row[0]), *row[1:]) for row in got) == Counter(expected)
        assert len(expected) == 3
    assert stream.counters["windows_closed"] == small.counters["windows_closed"] == 3


def halves(rows: pa.Table) -> Iterator[pa.Table]:
    yield rows.slice(0, rows.num_rows // 2)
    yield rows.slice(rows.num_rows // 2)


def test_a_hundred_thousand_keys_in_a_micro_batch(windows: Any) -> None:
    keys = [f"user {number}" for number in range(100_000)]
    stream = LocalStream(query(windows), SCHEMA, shards=2)
    assert stream.push_batches(list(halves(table(keys, [NOW] * 100_000)))) == []
    assert stream.push_batches(list(halves(table(keys, [NOW + MINUTE] * 100_000)))) == []
    rows = given(stream.push_batches([tick(NOW + 20 * MINUTE)]))
    whole = {row[0]: row[3:] for row in rows if row[3] == 2}
    assert whole == {key: (2, 2 * place) for place, key in enumerate(keys)}
    assert len(rows) == (100_000 if windows is not KINDS["sliding"] else 300_000)
    assert stream.counters["windows_closed"] == len(rows)


def test_a_hundred_thousand_records_of_one_key() -> None:
    stream, rows = LocalStream(query(KINDS["sessions"]), SCHEMA, shards=3), list[pa.RecordBatch]()
    times = [NOW + place * 1000 + place // 30_000 * 10 * MINUTE for place in range(100_000)]
    for first in range(0, 100_000, 20_000):
        own = table(["one"] * 20_000, times[first : first + 20_000], first=first)
        rows += stream.push_batches([*halves(own)][::-1])
    rows += stream.push_batches([tick(NOW + DAY)])
    parts = [range(30_000), range(30_000, 60_000), range(60_000, 90_000), range(90_000, 100_000)]
    expected = [("one", times[part[0]], times[part[-1]], len(part), sum(part)) for part in parts]
    assert sorted(given(rows)) == expected
    assert stream.counters["late"] == 0


def test_micro_batches_without_rows_change_nothing(windows: Any) -> None:
    stream = LocalStream(query(windows), SCHEMA, shards=2)
    empty = table([], [])
    assert stream.push([]) == stream.push([empty]) == stream.push([empty, empty]) == []
    assert stream.states == {}
    stream.push([table(["ann", "bob"], [NOW, NOW])])
    before = {shard: dict(state.pages) for shard, state in stream.states.items()}
    assert stream.push([]) == stream.push([empty]) == stream.push([empty, empty]) == []
    assert {shard: state.pages for shard, state in stream.states.items()} == before
    assert len(given(stream.push_batches([empty, tick(NOW + DAY), empty]))) == 2
