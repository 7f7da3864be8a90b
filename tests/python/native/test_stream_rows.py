"""Records of a stream come back with their windows: each at once, or when its session closes; no row is lost.

`test_stream_over.py` has the oracle of sliding windows.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr

from ..harness.examples import usually
from ..harness.families import often
from ..harness.row_steps import LocalRows
from ..harness.steps import LocalStream
from ..oracle.records import Record, by_key
from ..oracle.row_windows import RowWindows, of_dynamic_sessions, of_sessions
from ..oracle.stream_rows import StreamRecord
from ..scenes import TICK, all_at

LONGEST = 9
SCHEMA = pa.schema(
    [
        ("k", pa.int64()),
        ("ts", pa.timestamp("us")),
        ("gap", pa.duration("us")),
        ("id", pa.int64()),
        ("place", pa.int64()),
        ("part", pa.int64()),
        ("tick", pa.bool_()),
        ("tags", pa.map_(pa.string(), pa.list_(pa.int32()))),
    ]
)
NUMBERS = {
    "n": wr.count(),
    "total": wr.sum("id"),
    "most": wr.max("id"),
    "window_id": wr.window_id(),
    "position": wr.position(),
}
LISTS = {**NUMBERS, "ids": wr.collect_list("id")}


def table_of(records: list[StreamRecord], gaps: dict[int, int | None], ticks: tuple[int, ...] = ()) -> pa.Table:
    """Records, and after them ticks of all sources."""
    rows = [(*record, False) for record in records] + [(None, time, -1, None, None, True) for time in ticks]
    keys, times, numbers, places, parts, is_tick = zip(*rows, strict=True) if rows else [[]] * 6
    tags = [{"at": [number]} if number % 3 else None for number in numbers]
    columns = (keys, times, [gaps.get(number) for number in numbers], numbers, places, parts, is_tick, tags)
    kinds = [pa.int64()] * 6 + SCHEMA.types[6:]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.table([array.cast(field.type) for array, field in zip(arrays, SCHEMA, strict=True)], schema=SCHEMA)


@st.composite
def streams(draw: st.DrawFn) -> list[list[StreamRecord]]:
    """Micro-batches of records, some of them empty; later ones have later times, more or less."""
    around, numbers = draw(st.sampled_from([0, 0, 10**6, -(10**6)])), itertools.count()
    width = draw(st.sampled_from([6, 20]))
    batches = []
    for number in range(draw(st.integers(1, 5))):
        time = st.integers(around + number * width, around + (number + 1) * width + 5)
        rows = draw(st.lists(st.tuples(often(st.integers(1, 2)), often(time), st.integers(0, 2)), max_size=15))
        batches.append([StreamRecord(key, at, n := next(numbers), n, part) for key, at, part in rows])
    return batches


def splits(table: pa.Table, cuts: list[int]) -> list[pa.Table]:
    bounds = sorted({0, *(cut for cut in cuts if cut < len(table)), len(table)})
    return [table.slice(start, end - start) for start, end in itertools.pairwise(bounds)]


def plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in SCHEMA.names}


def ticks_of(time: datetime) -> int:
    return (time - datetime(1970, 1, 1)) // TICK


def check_row(row: dict[str, Any], window: tuple[int, int, list[int]] | None, ids: dict[Any, int]) -> None:
    """The window of a row and what is in it, and one id for one window."""
    results = [name for name in row if name in LISTS]
    if window is None:
        assert (row["window"], *(row[name] for name in results)) == (None,) * (len(results) + 1)
        return
    start, end, members = window
    assert (ticks_of(row["window"]["start"]), ticks_of(row["window"]["end"])) == (start, end)
    assert (row["n"], row["total"], row["most"]) == (len(members), sum(members), max(members))
    assert ids.setdefault((row["k"], start), row["window_id"]) == row["window_id"]
    if "ids" in row:
        assert sorted(row["ids"]) == members


def check_positions(rows: list[dict[str, Any]]) -> None:
    """Rows that come at once are the last ones of their window, in the order of time."""
    windows: dict[Any, list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: row["position"] or 0):
        if row["window"] is not None:
            windows.setdefault((row["k"], row["window_id"], row["n"]), []).append(row)
    for of_window in windows.values():
        most = of_window[0]["n"]
        assert [row["position"] for row in of_window] == list(range(most - len(of_window) + 1, most + 1))
        times = [row["ts"] for row in of_window]
        assert times == sorted(times)


WAYS: dict[str, Any] = {"as they come": {}, "in their order": {"order": "place"}}


@usually(60)
@given(
    streams(),
    st.lists(often(st.integers(-1, 15)), min_size=75, max_size=75),
    st.one_of(st.none(), st.integers(1, 9)),
    st.sampled_from([*WAYS]),
    st.tuples(st.lists(st.integers(1, 14), max_size=2), st.integers(1, 3)),
)
def test_the_rows_of_sessions_come_when_these_close_and_are_those_of_the_oracle(
    batches: list[list[StreamRecord]],
    own: list[int | None],
    gap: int | None,
    way: str,
    cuts_and_shards: tuple[list[int], int],
) -> None:
    cuts, shards = cuts_and_shards
    windows: Any = wr.SessionWindows.with_dynamic_gap("gap", max_gap=LONGEST * TICK, grace=timedelta(days=1))
    oracle: RowWindows = of_dynamic_sessions(lambda record: record.values["gap"], LONGEST)
    if gap is not None:
        windows, oracle = wr.SessionWindows.with_gap(gap * TICK, grace=timedelta(days=1)), of_sessions(gap)

    def windowed(data: Any) -> Any:
        return wr.group_by(data, "k", time="ts", tick="tick", **WAYS[way]).windowed_by(windows)

    stream = LocalRows(windowed, SCHEMA, shards=shards, aggregates=LISTS)
    gaps: dict[int, int | None] = dict(enumerate(own))
    flat = [record for batch in batches for record in batch]
    records = [Record((record.key,), record.time, record.number, {"gap": gaps[record.number]}) for record in flat]
    known = {row: window for group in by_key(records).values() for row, window in oracle(group).items()}
    left_out = {record.number for record in flat} - set(known)
    for batch in batches:
        table = table_of([record._replace(source=0) for record in batch], gaps)
        parts = splits(table, cuts) if way != "in their order" else [table]
        rows = stream.push([part for part in parts if len(part)])
        assert {row["id"] for row in rows} == left_out & {record.number for record in batch}
        assert all(row["window"] is None and row["n"] is None for row in rows)
    ids: dict[Any, int] = {}
    closed = stream.push([table_of([], {}, (10**12,))])
    assert sorted(row["id"] for row in closed) == sorted(known)
    tables = [table_of([record._replace(source=0) for record in batch], gaps) for batch in batches]
    rows_of = {row["id"]: row for row in pa.concat_tables(tables).to_pylist()}
    for row in closed:
        assert plain(row) == rows_of[row["id"]]
        check_row(row, known[row["id"]], ids)
    check_positions(closed)
    assert all(row["position"] == 1 for row in closed if ticks_of(row["ts"]) == known[row["id"]][0] and row["n"] == 1)
    assert stream.counters["late"] == 0


def clicks(*rows: tuple[str | None, float, str]) -> pa.Table:
    users, minutes, urls = zip(*rows, strict=True)
    return pa.table({"user": pa.array(users, pa.string()), "ts": all_at(*minutes), "url": list(urls)})


ROW = clicks(("ann", 0, "/"))
EMPTY = ROW[:0]
LAST = {"n": wr.count(), "last": wr.last("url")}
SESSIONS = wr.SessionWindows.with_gap("5 minutes", grace="10 minutes")
SLIDING = wr.SlidingWindows.with_time_difference("5 minutes", grace="10 minutes")


def windowed_by(windows: Any) -> Callable[[Any], Any]:
    return lambda data: wr.group_by(data, "user", time="ts").windowed_by(windows)


def stream_of(windows: Any, *, aggregates: Any = None, **options: Any) -> LocalRows:
    return LocalRows(windowed_by(windows), ROW.schema, aggregates=aggregates or LAST, **options)


@pytest.mark.parametrize("order", [None, "place"])
def test_many_records_of_one_key_see_as_many_as_their_windows_hold(order: str | None) -> None:
    rows = 20_000
    times = [row if order else (row * 7919) % rows for row in range(rows)]
    table = pa.table({"user": ["ann"] * rows, "ts": pa.array(times, pa.timestamp("us")), "place": range(rows)})
    windows = wr.SlidingWindows.with_time_difference("2 milliseconds", grace="1 second")
    stream = LocalRows(
        lambda data: wr.group_by(data, "user", time="ts", order=order).windowed_by(windows),
        table.schema,
        aggregates={"n": wr.count(), "most": wr.max("ts"), "least": wr.min("ts")},
    )
    first, rest = table.slice(0, 100), table.slice(100)
    answer = pa.Table.from_batches([*stream.push_batches([first]), *stream.push_batches([rest])])
    assert answer.num_rows == rows
    for row in answer.slice(100).to_pylist():
        time = ticks_of(row["ts"])
        first_time = max(0, time - 2000)
        assert (row["n"], ticks_of(row["least"]), ticks_of(row["most"])) == (time - first_time + 1, first_time, time)


def test_times_leave_the_state_when_no_window_sees_them_any_more() -> None:
    sliding, held = stream_of(SLIDING, shards=1), []
    for minute in range(60):
        (row,) = sliding.push([clicks(("ann", minute, "/"))])
        assert row["n"] == min(minute, 5) + 1
        held.append(sliding.counters["windows_open"] - sum(held))
    # 5 minutes of the window and 10 of the grace, both bounds inclusive
    assert (held[-1], max(held)) == (16, 16)


def test_a_record_that_is_too_far_ahead_comes_back_without_a_window() -> None:
    for windows in (SESSIONS, SLIDING):
        stream = stream_of(windows, max_ahead=60_000_000, clock=ticks_of(all_at(0)[0]))
        rows = stream.push([clicks(("ann", 0, "/"), ("ann", 5, "ahead"))])
        assert [(row["url"], row["window"]) for row in rows if row["url"] == "ahead"] == [("ahead", None)]
        assert stream.counters["ahead"] == 1


WIDER = ROW.append_column("more", pa.array([1]))
FIRST = {"n": wr.count(), "last": wr.first("url")}
OTHERS: dict[str, tuple[Any, Callable[[], LocalStream], pa.Table, str]] = {
    "sessions": (SESSIONS, lambda: stream_of(SESSIONS, aggregates=FIRST), ROW, "was last('url'), is first('url')"),
    "sliding": (SLIDING, lambda: stream_of(SLIDING, aggregates=FIRST), ROW, "was last('url'), is first('url')"),
    "windows": (
        SLIDING,
        lambda: LocalStream(lambda data: windowed_by(SLIDING)(data).agg(**LAST), ROW.schema),
        ROW,
        "the query was with_columns(...), is agg(...)",
    ),
    "another column": (
        SESSIONS,
        lambda: LocalRows(windowed_by(SESSIONS), WIDER.schema, aggregates=LAST),
        WIDER,
        'column "more" is new',
    ),
}


@pytest.mark.parametrize(("windows", "other", "row", "says"), OTHERS.values(), ids=OTHERS)
def test_a_state_of_another_query_is_refused(windows: Any, other: Any, row: pa.Table, says: str) -> None:
    before, after = stream_of(windows), other()
    before.push([ROW])
    after.states = before.states
    with pytest.raises(ValueError, match=rf"(?s)belongs to another query.*{re.escape(says)}"):
        after.push([row])


def test_many_records_of_long_sessions_come_back_in_pieces() -> None:
    counts = {"ann": 100_000, "bob": 40_000, "cem": 40_000}
    users = [user for user, count in counts.items() for _ in range(count)]
    times = [time for count in counts.values() for time in range(count)]
    table = pa.table({"user": users, "ts": pa.array(times, pa.timestamp("us")), "url": ["/"] * len(users)})
    stream = stream_of(SESSIONS, aggregates={"n": wr.count()}, shards=1)
    stream.push([table.slice(0, 50_000)])
    stream.push([table.slice(50_000)])
    pieces = stream.push_batches([clicks(("end", 0, "/"))])
    assert [piece.num_rows for piece in pieces] == [100_000, 40_000, 40_000]
    for (user, count), piece in zip(counts.items(), pieces, strict=True):
        assert piece.column("user").unique().to_pylist() == [user]
        assert piece.column("n").unique().to_pylist() == [count]
        assert piece.column("ts").cast(pa.int64()).to_pylist() == list(range(count))


def test_windows_that_are_kept_after_they_close_are_refused() -> None:
    kept: dict[str, Any] = {"grace": "10 minutes", "retention": "1 day"}
    for windows in (
        wr.SessionWindows.with_gap("5 minutes", **kept),
        wr.SlidingWindows.with_time_difference("5 minutes", **kept),
    ):
        with pytest.raises(ValueError, match=r"retention='1 day'\).* each record comes back once"):
            stream_of(windows)


def test_a_column_whose_values_cannot_wait_is_named() -> None:
    nothing = ROW.append_column("nothing", pa.array([{}], pa.struct([])))
    LocalRows(windowed_by(SLIDING), nothing.schema)
    with pytest.raises(TypeError, match="with_columns: column 'nothing'.*waits until its session closes"):
        LocalRows(windowed_by(SESSIONS), nothing.schema)
