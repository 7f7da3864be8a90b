"""`explain` and the trace next record: the same windows, late records and refusals as brute force, told in words."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow._inspection.query import trace
from windrow._inspection.trace import Trace

from ..harness.examples import usually
from ..harness.libraries import LIBRARIES
from ..oracle.records import Record
from ..oracle.scenario import Row, Scenario
from ..oracle.sessions import Session, dynamic_sessions, lasting_sessions, sessions
from ..oracle.sliding import sliding
from ..oracle.stream import Stream
from ..oracle.stream_sessions import Sessions
from ..oracle.stream_sliding import Slides
from ..scenes import EIGHT, all_at, at

LENGTH, LONGEST = 10, timedelta(milliseconds=10)
Event = tuple[str | None, int | None, int | None, int | None]
"""User, time, gap and, where records last, length; in milliseconds."""
KINDS: dict[str, Callable[[timedelta | None], Any]] = {
    "session": lambda grace: wr.SessionWindows.with_gap(LONGEST, grace=grace),
    "dynamic": lambda grace: wr.SessionWindows.with_dynamic_gap("pause", grace=grace, max_gap=LONGEST),
    "sliding": lambda grace: wr.SlidingWindows.with_time_difference(LONGEST, grace=grace),
}
LASTING = {"lasting": "session", "lasting dynamic": "dynamic"}
KINDS |= {kind: KINDS[windows] for kind, windows in LASTING.items()}
ORACLES: dict[str, Callable[[list[Record]], list[Session]]] = {
    "session": lambda records: sessions(records, LENGTH),
    "dynamic": lambda records: dynamic_sessions(records, lambda record: record.values["gap"], LENGTH),
    "sliding": lambda records: sliding(records, LENGTH, 1),
    "lasting": lambda records: lasting_sessions(records, lambda _: LENGTH, lambda record: record.values["end"]),
    "lasting dynamic": lambda records: lasting_sessions(records, cut_gap, lambda record: record.values["end"]),
}


def cut_gap(record: Record) -> int | None:
    gap: int | None = record.values["gap"]
    return None if gap is None else min(gap, LENGTH)


def end_of(event: Event) -> int | None:
    _, time, _, length = event
    return None if time is None or length is None else time + length


def windowed(events: list[Event], kind: str, grace: int | None) -> Any:
    """The query over events."""
    columns = {"user": pa.string(), "ts": pa.timestamp("ms"), "pause": pa.duration("ms"), "until": pa.timestamp("ms")}
    rows = [(*event[:3], end_of(event)) for event in events]
    table = pa.table(
        [pa.array([row[place] for row in rows], of) for place, of in enumerate(columns.values())], [*columns]
    )
    late = None if grace is None else timedelta(milliseconds=grace)
    end = "until" if kind in LASTING else None
    return wr.group_by(table, "user", time="ts", end=end).windowed_by(KINDS[kind](late))


def batch(events: list[Event], kind: str, user: str) -> set[tuple[int, int, frozenset[int]]]:
    """The windows of a key by brute force, with the rows that they hold."""
    found = ORACLES[kind](
        [
            Record((user,), event[1], row, {"gap": event[2], "end": end_of(event)})
            for row, event in enumerate(events)
            if event[0] == user
        ]
    )
    return {(start, end, frozenset(member.arrival for member in members)) for start, end, members in found}


def streamed(events: list[Event], kind: str, grace: int) -> tuple[Stream, set[tuple[Any, ...]], dict[int, int]]:
    """The finals of all keys by brute force, and for each row how many windows refused it; -1 where it was late."""
    scenario = Scenario(LASTING.get(kind, kind), LENGTH, grace, emit="close", ends=kind in LASTING)
    stream: Stream = Slides(scenario) if kind == "sliding" else Sessions(scenario)
    finals, judged = [], {}
    for row, (key, time, gap, _) in enumerate(events):
        before = stream.counters.copy()
        finals += stream.feed(Row(key, time, x=row, gap=gap, end=end_of(events[row])))
        late = stream.counters["late"] > before["late"]
        judged[row] = -1 if late else stream.counters["windows_refused"] - before["windows_refused"]
    finals += stream.finish()
    found = {(change.key, change.start, change.end, frozenset(change.values[2])) for change, _ in finals}
    return stream, found, judged


def seen(found: Trace) -> set[tuple[int, int, frozenset[int]]]:
    return {(window.start, window.end, window.rows) for window in found.windows}


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["ann", "ann", "ann", "ann", "bob", None]),
        st.sampled_from([None, *range(-14, 60)]),
        st.sampled_from([None, -1, 0, *range(1, 15)]),
        st.sampled_from([None, -1, 0, 0, 1, 4, 20]),
    ),
    min_size=1,
    max_size=16,
)


@usually(250)
@given(EVENTS, st.sampled_from([*KINDS]))
def test_windows_of_a_batch_and_their_records(events: list[Event], kind: str) -> None:
    for user in ("ann", "bob"):
        found = trace(None, windowed(events, kind, None), [user], None, 100, argument="key")
        assert not found.stream
        assert seen(found) == batch(events, kind, user)
        assert [record.row for record in sorted(found.records, key=lambda record: record.row)] == [
            row for row, (key, time, *_) in enumerate(events) if key == user and time is not None
        ]


@usually(250)
@given(EVENTS, st.sampled_from([*KINDS]), st.integers(0, 12))
def test_windows_of_a_stream_and_what_was_late(events: list[Event], kind: str, grace: int) -> None:
    stream, finals, judged = streamed(events, kind, grace)
    for user in ("ann", "bob"):
        found = trace(None, windowed(events, kind, grace), [user], None, 100, argument="key")
        assert found.stream
        assert seen(found) == {window[1:] for window in finals if window[0] == user}
        ours = {row: -1 if judged.late else judged.refused for row, judged in found.judgements.items()}
        bad = {record.row for record in found.records if record.left_out is not None}
        assert ours == {record.row: 0 if record.row in bad else judged[record.row] for record in found.records}
        assert found.stream_time == stream.time


BOUNDS = re.compile(r"\[(\S+ \S+), (\S+ \S+)\]")


def windows_in(text: str) -> list[tuple[int, int]]:
    """The windows that a text says a record is in, in milliseconds since 1970."""
    lines = [line for line in text.splitlines() if re.match(r"  (in the session|  \[)", line)]
    found = [BOUNDS.search(line) for line in lines]
    assert None not in found
    return [(_milliseconds(match[1]), _milliseconds(match[2])) for match in found if match]


def _milliseconds(text: str) -> int:
    return (datetime.fromisoformat(text) - datetime(1970, 1, 1)) // timedelta(milliseconds=1)


@usually(100)
@given(EVENTS, st.sampled_from([*KINDS]), st.none() | st.integers(0, 12))
def test_a_text_names_every_window_of_its_record(events: list[Event], kind: str, grace: int | None) -> None:
    query = windowed(events, kind, grace)
    _, finals, judged = streamed(events, kind, grace or 0)
    for row, (user, time, gap, length) in enumerate(events):
        if user is None or time is None:
            continue
        text = wr.explain_record(query, user, datetime(1970, 1, 1) + timedelta(milliseconds=time))
        own = text if grace is None else next(part for part in text.split("\n\n") if f", row {row}\n" in part)
        if "dynamic" in kind and (gap is None or gap < (kind == "dynamic")):
            assert "left out: its own gap is null, negative, or zero without end= (bad_gaps)" in text
            continue
        if kind in LASTING and (length is None or length < 0):
            assert "left out: its end is null or before its time (bad_ends)" in text
            continue
        if grace is None:
            windows = {window[:2] for window in batch(events, kind, user) if row in window[2]}
        else:
            windows = {window[1:3] for window in finals if row in window[3]}
            assert ("  late: " in own) == (judged[row] == -1)
            assert ("  in time: " in own) == (judged[row] >= 0)
            assert ("refused it" in own) == (judged[row] > 0)
        assert set(windows_in(own)) == windows


def visits(users: list[str], minutes: list[float], **columns: Any) -> Any:
    return wr.group_by(pa.table({"user": users, "ts": all_at(*minutes), **columns}), "user", time="ts")


def test_a_late_record_and_the_one_on_the_bound() -> None:
    """```text
    gap 5, grace 1    ann 0   bob 12 (stream time)   ann 5, 6        what ends before 12 - 5 - 1 = 6 is closed
    ```
    """
    grouped = visits(["ann", "bob", "ann", "ann"], [0, 12, 5.5, 6])
    windows = grouped.windowed_by(wr.SessionWindows.with_gap("5 minutes", grace="1 minute"))
    assert wr.explain_record(windows, "ann", at(5.5)).splitlines() == [
        "user 'ann' at 2026-01-01 08:05:30, row 2",
        "  late: stream time was 2026-01-01 08:12:00, and what ends before 2026-01-01 08:06:00 is closed "
        "(stream time - gap (5 minutes) - grace (1 minute))",
        "  no open session takes it, and alone it ends at 2026-01-01 08:05:30: 30 seconds too late",
    ]
    assert wr.explain_record(windows, "ann", at(6)).splitlines() == [
        "user 'ann' at 2026-01-01 08:06:00, row 3",
        "  in time: stream time was 2026-01-01 08:12:00, and what ends before 2026-01-01 08:06:00 is closed "
        "(stream time - gap (5 minutes) - grace (1 minute))",
        "  in the session [2026-01-01 08:06:00, 2026-01-01 08:06:00], which has 1 record",
        "  previous record: 2026-01-01 08:00:00, 6 minutes away, more than the gap of 5 minutes: the "
        "session starts here",
        "  next record: none: the session ends here",
        "  still open: it closes when stream time passes 2026-01-01 08:12:00: its end + gap (5 minutes) + "
        "grace (1 minute)",
    ]
    calm = wr.explain_record(windows, "ann", at(5.5), stream=False)
    assert "  in the session [2026-01-01 08:05:30, 2026-01-01 08:06:00], which has 2 records" in calm
    assert "  on a stream it closes when stream time passes 2026-01-01 08:12:00: " in calm


def test_a_record_within_the_gap_of_a_closed_session() -> None:
    grouped = visits(["ann", "bob", "ann", "ann"], [0, 11, 6, 4])
    windows = grouped.windowed_by(wr.SessionWindows.with_gap("5 minutes", grace="0 seconds"))
    lines = wr.explain_record(windows, "ann", at(4)).splitlines()
    assert lines[2] == "  in the session [2026-01-01 08:04:00, 2026-01-01 08:06:00], which has 2 records"
    assert lines[3] == (
        "  previous record: 2026-01-01 08:00:00, 4 minutes away, at most the gap of 5 minutes, but one of "
        "them came when the "
        "session of the other was closed: the session starts here"
    )


def test_gaps_of_their_own() -> None:
    gaps = pa.array([timedelta(minutes=gap) for gap in (20, 2, 2, 2)])
    windows = visits(["ann"] * 4, [0, 5, 20, 23], pause=gaps).windowed_by(wr.SessionWindows.with_dynamic_gap("pause"))
    assert wr.explain_record(windows, "ann", at(20)).splitlines()[1:] == [
        "  in the session [2026-01-01 08:00:00, 2026-01-01 08:20:00], which has 3 records",
        "  previous record: that of 2026-01-01 08:00:00 with its gap of 20 minutes reaches to 2026-01-01 "
        "08:20:00, which is not before this record: one session",
        "  next record: 2026-01-01 08:23:00; its own gap of 2 minutes reaches to 2026-01-01 08:22:00, "
        "which is before it: the session ends here",
    ]


def test_sliding_windows_and_a_refusal() -> None:
    """The picture of rules 4.3: difference 10, grace 2, a record at 44 where stream time is 52."""
    windows = visits(["ann"] * 3, [40, 52, 44]).windowed_by(
        wr.SlidingWindows.with_time_difference("10 minutes", grace="2 minutes", resolution="1 minute")
    )
    assert wr.explain_record(windows, "ann", at(44)).splitlines()[1:] == [
        "  in time: stream time was 2026-01-01 08:52:00, and what ends before 2026-01-01 08:50:00 is closed "
        "(stream time - grace (2 minutes))",
        "  1 window that ended before that refused it (windows_refused)",
        "  at most 10 minutes before it: 2026-01-01 08:40:00",
        "  at most 10 minutes after it: 2026-01-01 08:52:00",
        "  in 2 windows, both ends inclusive:",
        "    [2026-01-01 08:41:00, 2026-01-01 08:51:00] of 1 record: starts just after the record at "
        "2026-01-01 08:40:00; closes when stream time passes 2026-01-01 08:53:00",
        "    [2026-01-01 08:42:00, 2026-01-01 08:52:00] of 2 records: ends with the record at 2026-01-01 08:52:00; "
        "closes when stream time passes 2026-01-01 08:54:00",
    ]


def test_sources_keep_their_own_time() -> None:
    data = pa.table({"user": ["ann", "bob", "ann"], "ts": all_at(0, 30, 1), "part": pa.array([0, 1, 0], pa.int32())})
    windows = wr.SessionWindows.with_gap("5 minutes", grace="0 seconds")
    one = wr.group_by(data, "user", time="ts").windowed_by(windows)
    assert "  late: " in wr.explain_record(one, "ann", at(1))
    for way in ("source", "slowest"):
        each = wr.group_by(data, "user", time="ts", source="part", stream_time=way).windowed_by(windows)
        assert "  in time: stream time was 2026-01-01 08:01:00" in wr.explain_record(each, "ann", at(1))


def test_order_and_ticks() -> None:
    columns = {"user": ["ann", "ann", None], "ts": all_at(1, 0, 30), "offset": [2, 0, 1], "tick": [False, None, True]}
    data = pa.table(columns)
    windows = wr.SessionWindows.with_gap("5 minutes", grace="0 seconds")
    fed = wr.group_by(data, "user", time="ts", tick="tick").windowed_by(windows)
    assert "  in time: " in wr.explain_record(fed, "ann", at(1))
    ordered = wr.group_by(data, "user", time="ts", tick="tick", order="offset").windowed_by(windows)
    assert "  late: stream time was 2026-01-01 08:30:00" in wr.explain_record(ordered, "ann", at(1))


def test_keys_of_several_columns_and_other_types() -> None:
    data = pa.table(
        {
            "shop": pa.array([1, 1, 2], pa.int16()),
            "page": pa.array(["home", "cart", "home"]).dictionary_encode(),
            "rate": [math.nan, 1.5, math.nan],
            "ts": pa.array(all_at(0, 1, 2), pa.timestamp("ns", "UTC")),
        }
    )
    windows = wr.SessionWindows.with_gap("5 minutes")
    text = wr.explain_record(
        wr.group_by(data, "shop", "page", time="ts").windowed_by(windows), (1, "home"), EIGHT.replace(tzinfo=UTC)
    )
    assert text.splitlines()[0] == "shop 1, page 'home' at 2026-01-01 08:00:00"
    assert "which has 1 record" in text
    nans = wr.group_by(data, "rate", time="ts").windowed_by(windows)
    assert "which has 2 records" in wr.explain_record(nans, math.nan, "2026-01-01T08:02:00Z")


@pytest.mark.parametrize("grace", [None, "1 hour"])
@pytest.mark.parametrize("made", [*LIBRARIES.values(), pa.Table.to_reader, lambda table: table.to_batches(1)])
def test_data_of_any_library(made: Any, grace: str | None) -> None:
    data = made(pa.table({"user": ["ann", "bob", "ann"], "ts": all_at(0, 1, 5)}))
    windows = wr.SessionWindows.with_gap("5 minutes", grace=grace)
    text = wr.explain_record(wr.group_by(data, "user", time="ts").windowed_by(windows), "ann", at(5))
    assert "in the session [2026-01-01 08:00:00, 2026-01-01 08:05:00], which has 2 records" in text


@pytest.mark.parametrize("grace", [None, "1 hour"])
def test_keys_that_are_structs_and_lists(grace: str | None) -> None:
    frame = pl.DataFrame({"key": [{"a": "x", "b": ["y"]}] * 2 + [{"a": "z", "b": []}], "ts": all_at(0, 5, 6)})
    windows = wr.SessionWindows.with_gap("5 minutes", grace=grace)
    text = wr.explain_record(wr.group_by(frame, "key", time="ts").windowed_by(windows), {"a": "x", "b": ["y"]}, at(5))
    assert "which has 2 records" in text


FIVE = wr.SessionWindows.with_gap("5 minutes")
ANN = visits(["ann", "ann"], [0, 5])
WRONG: dict[str, tuple[Any, dict[str, Any], type[Exception], str]] = {
    "a result": (ANN.windowed_by(FIVE).count(), {}, TypeError, "windowed: got"),
    "no record": (None, {"at": at(1)}, ValueError, "at: got '2026-01-01 08:01:00'; allowed: the time of a record"),
    "no such key": (None, {"key": "eve"}, ValueError, "it has none"),
    "a null": (None, {"key": None}, ValueError, "key: got None; allowed: a key with a value that is not null"),
    "a key of another type": (None, {"key": 5}, TypeError, "key: column 'user': got 5, an int; allowed: a str"),
    "a number": (None, {"at": 5}, TypeError, "at: got 5"),
    "a word": (None, {"at": "noon"}, ValueError, "at: got 'noon'; allowed: a time in ISO 8601"),
    "a batch as a stream": (None, {"stream": True}, ValueError, "stream: got True; allowed: windows with a grace"),
    "no truth": (None, {"stream": "yes"}, TypeError, "stream: got 'yes'"),
    "a cogroup": (wr.cogroup(a=ANN, b=ANN).windowed_by(FIVE), {}, TypeError, "windowed: got the inputs of a cogroup"),
    "many records": (
        visits(["ann"] * 50_001, [0] * 50_001).windowed_by(FIVE),
        {},
        ValueError,
        "keys with at most 50,000 records",
    ),
}


@pytest.mark.parametrize(("windowed", "asked", "error", "says"), WRONG.values(), ids=WRONG)
def test_what_is_wrong(windowed: Any, asked: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        wr.explain_record(windowed or ANN.windowed_by(FIVE), **{"key": "ann", "at": EIGHT, **asked})


#          05:30Z     06:30Z     07:30Z       in New York 01:30, 01:30 again, 02:30
NIGHT = [datetime(2026, 11, 1, hour, 30, tzinfo=UTC) for hour in (5, 6, 7)]


def test_text_without_a_zone_is_in_the_zone_of_the_column() -> None:
    times = pa.array(NIGHT, pa.timestamp("us", "America/New_York"))
    rows = pa.table({"user": ["ann"] * 3, "ts": times})
    windowed = wr.group_by(rows, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("5 minutes"))

    def heads(at: Any) -> list[str]:
        return [each.splitlines()[0] for each in wr.explain_record(windowed, "ann", at).split("\n\n")]

    once = ["user 'ann' at 2026-11-01 02:30:00"]
    for shown in ("2026-11-01 02:30:00", "2026-11-01T07:30:00Z", "2026-11-01 02:30-05:00", NIGHT[2]):
        assert heads(shown) == once
    assert heads("2026-11-01 01:30") == ["user 'ann' at 2026-11-01 01:30:00"] * 2  # an hour that appears twice
    assert heads("2026-11-01 01:30-05") == ["user 'ann' at 2026-11-01 01:30:00"]
    with pytest.raises(ValueError, match="the time of a record of this key; the nearest: 2026-11-01 01:30:00"):
        heads("2026-11-01")
    with pytest.raises(ValueError, match="a datetime with a zone"):
        heads(datetime(2026, 11, 1, 5, 30))
