"""`explain_record` and `timeline` of records that last, and of records of one time with ties."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

import windrow as wr
from windrow._inspection.query import trace
from windrow.plot import _style as style
from windrow.plot import timeline

from ..harness.examples import usually
from ..oracle.records import Record
from ..oracle.scenario import Row, Scenario
from ..oracle.sessions import lasting_sessions
from ..oracle.stream_sessions import Sessions
from ..scenes import all_at, at, keyed
from .test_plot import boxes, minutes, texts

TICK = timedelta(microseconds=1)
EVENT = tuple[int, int, int | None, int | None]
NINE = datetime(2026, 5, 4, 9)
GAP = wr.SessionWindows.with_gap("5 minutes")
EVENTS = st.lists(
    st.tuples(st.integers(1, 2), st.integers(-14, 60), st.sampled_from([None, -1, 0, 0, 1, 4, 20]), st.integers(-1, 9)),
    min_size=1,
    max_size=16,
)


def windowed(events: list[EVENT], gap: int | None, grace: int | None = None) -> Any:
    ends = [None if length is None else time + length for _, time, length, _ in events]
    table = keyed(
        [key for key, *_ in events],
        [time for _, time, *_ in events],
        gaps=[gap for *_, gap in events],
        end=pa.array(ends, pa.int64()).cast(pa.timestamp("us")),
    )
    late: Any = {} if grace is None else {"grace": grace * TICK}
    if gap is None:
        windows = wr.SessionWindows.with_dynamic_gap("gap", max_gap=9 * TICK, **late)
    else:
        windows = wr.SessionWindows.with_gap(gap * TICK, **late)
    return wr.group_by(table, "k", time="ts", end="end").windowed_by(windows)


@usually(60)
@given(EVENTS, st.none() | st.integers(0, 8))
def test_oracle_windows_of_a_batch_and_their_records(events: list[EVENT], gap: int | None) -> None:
    for key in (1, 2):
        records = [
            Record((key,), time, row, {"end": None if length is None else time + length, "gap": own})
            for row, (of, time, length, own) in enumerate(events)
            if of == key
        ]
        expected = lasting_sessions(
            records, lambda record: record.values["gap"] if gap is None else gap, lambda record: record.values["end"]
        )
        found = trace(None, windowed(events, gap), [key], None, 100, argument="key")
        assert {(window.start, window.end, window.rows) for window in found.windows} == {
            (start, end, frozenset(member.arrival for member in members)) for start, end, members in expected
        }
        for row, (of, time, _, _) in enumerate(events):
            if of == key:  # each record has a text, whatever its neighbours are
                text = wr.explain_record(windowed(events, gap), key, datetime(1970, 1, 1) + time * TICK)
                is_in = any(row in {member.arrival for member in members} for *_, members in expected)
                assert "in the session [" in text or not is_in


@usually(60)
@given(EVENTS, st.none() | st.integers(0, 8), st.integers(0, 12))
def test_oracle_windows_of_a_stream_and_what_was_late(events: list[EVENT], gap: int | None, grace: int) -> None:
    kind, length = ("dynamic", 9) if gap is None else ("session", gap)
    stream, finals, late = Sessions(Scenario(kind, length, grace, emit="close", ends=True)), list[Any](), set[int]()
    for row, (key, time, length_of, own) in enumerate(events):
        before = stream.counters["late"]
        end = None if length_of is None else time + length_of
        finals += stream.feed(Row(str(key), time, x=row, gap=own, end=end))
        late |= {row} if stream.counters["late"] > before else set()
    finals += stream.finish()
    for key in (1, 2):
        found = trace(None, windowed(events, gap, grace), [key], None, 100, argument="key")
        assert {(window.start, window.end, window.rows) for window in found.windows} == {
            (change.start, change.end, frozenset(change.values[2])) for change, _ in finals if change.key == str(key)
        }
        assert {row for row, judged in found.judgements.items() if judged.late} == {
            row for row in late if events[row][0] == key
        }


def calls(*rows: tuple[float, float | None]) -> pa.Table:
    def moment(minute: float | None) -> datetime | None:
        return None if minute is None else NINE + timedelta(minutes=minute)

    kind = pa.timestamp("us")
    started, stopped = (pa.array([moment(row[place]) for row in rows], kind) for place in (0, 1))
    return pa.table({"user": ["ann"] * len(rows), "started": started, "stopped": stopped})


def sessions(rows: pa.Table, windows: Any = GAP) -> Any:
    return wr.group_by(rows, "user", time="started", end="stopped").windowed_by(windows)


def test_a_text_says_how_far_a_record_reaches() -> None:
    """Calls of 9:00 to 9:20, 9:05 to 9:07, 9:24, and 9:30 to 9:31."""
    rows = calls((0, 20), (5, 7), (24, 24), (30, 31), (40, None))
    assert wr.explain_record(sessions(rows), "ann", NINE + timedelta(minutes=5)).splitlines() == [
        "user 'ann' at 2026-05-04 09:05:00 to 2026-05-04 09:07:00",
        "  in the session [2026-05-04 09:00:00, 2026-05-04 09:24:00], which has 3 records",
        "  previous record: that of 2026-05-04 09:00:00 to 2026-05-04 09:20:00 with the gap of 5 minutes reaches to "
        "2026-05-04 09:25:00, which is not before this record: one session",
        "  next record: 2026-05-04 09:24:00; that of 2026-05-04 09:00:00 to 2026-05-04 09:20:00 with the gap of 5 "
        "minutes reaches to 2026-05-04 09:25:00: one session",
    ]
    assert wr.explain_record(sessions(rows), "ann", NINE + timedelta(minutes=24)).splitlines()[-1] == (
        "  next record: 2026-05-04 09:30:00; its end with the gap of 5 minutes reaches to 2026-05-04 09:29:00, which "
        "is before it: the session ends here"
    )
    assert wr.explain_record(sessions(rows), "ann", NINE + timedelta(minutes=40)).splitlines() == [
        "user 'ann' at 2026-05-04 09:40:00",
        "  left out: its end is null or before its time (bad_ends)",
    ]


def test_a_text_says_that_a_record_came_behind_the_grace() -> None:
    """The call of 9:05 to 9:25 comes when the session of 9:00 is closed."""
    short = wr.SessionWindows.with_gap("5 minutes", grace="1 minute")
    text = wr.explain_record(sessions(calls((0, 0), (20, 20), (5, 25)), short), "ann", NINE + timedelta(minutes=5))
    lines = text.splitlines()
    assert lines[1].startswith("  in time: stream time was 2026-05-04 09:20:00")
    assert lines[2] == (
        "  behind: it starts before 2026-05-04 09:19:00 (stream time - grace), so it may miss sessions that closed "
        "while it ran"
    )
    assert lines[3] == "  in the session [2026-05-04 09:05:00, 2026-05-04 09:25:00], which has 2 records"


def test_a_picture_has_a_bar_for_each_record_that_lasts() -> None:
    rows = calls((0, 20), (5, 7), (24, 24), (30, 31), (40, None))
    picture = timeline(rows, sessions(rows[:0]), ["ann"])
    (axes,) = picture.figure.axes
    lines = [
        line for line in axes.lines if line.get_linewidth() == 3.5 and to_rgb(line.get_color()) == to_rgb(style.EVENT)
    ]
    spans = {tuple(minutes(float(x)) for x in line.get_xdata()): line.get_ydata()[0] for line in lines}
    assert set(spans) == {(0, 20), (5, 7), (30, 31)}
    assert spans[0, 20] != spans[5, 7], "one covers the other"
    assert sorted((minutes(box.x0), minutes(box.x1)) for box in boxes(picture))[0] == (0, 24)
    assert "how long an event lasts" in texts(picture)
    assert "event left out: bad end" in texts(picture)
    apart = calls((0, 10), (2, 4), (32, 32))
    assert "22 minutes: split" in texts(timeline(apart, sessions(apart), ["ann"])), "from the latest end"


def tied(ties: list[int | None], ends: list[bool], **rules: Any) -> Any:
    table = pa.table({"user": ["ann"] * len(ties), "ts": all_at(*[0] * len(ties)), "seq": ties, "out": ends})
    return wr.group_by(table, "user", time="ts", tie="seq").windowed_by(
        wr.SessionWindows.with_gap("5 minutes", **rules)
    )


def test_ties_part_sessions_of_one_time() -> None:
    """The logout has the tie 2, so the records with the ties 1 and 2 are a session, and 3 and 4 the next."""
    windows = tied([4, 2, None, 1, 3], [False, True, False, False, False], end_when="out")
    own = "in the session [2026-01-01 08:00:00, 2026-01-01 08:00:00], which has 2 records"
    split = (
        "0 seconds away, at most the gap of 5 minutes, but 'out' is true at 2026-01-01 08:00:00, which ends its session"
    )
    same = "2026-01-01 08:00:00, 0 seconds away, at most the gap of 5 minutes: one session"
    head = "user 'ann' at 2026-01-01 08:00:00"
    first = [f"{head} (2 records of this time)", own, "previous record: none: the session starts here"]
    later = [f"{head} (2 records of this time)", own]
    later += [f"previous record: 2026-01-01 08:00:00, {split}: the session starts here"]
    both = ["\n  ".join([*lines, f"next record: {same}"]) for lines in (first, later)]
    left_out = f"{head}\n  left out: its tie is null (null_ties)"
    assert wr.explain_record(windows, "ann", at(0)).split("\n\n") == [*both, left_out]


def test_a_stream_reads_ties_and_leaves_out_records_without_one() -> None:
    windows = tied([-7, None, 8], [False] * 3, grace="1 minute")
    first, second, third = wr.explain_record(windows, "ann", at(0)).split("\n\n")
    assert second == "user 'ann' at 2026-01-01 08:00:00, row 1\n  left out: its tie is null (null_ties)"
    assert "which has 2 records" in first
    assert "which has 2 records" in third
    table = pa.table({"user": ["bob", "ann"], "ts": all_at(60, 0), "seq": [None, 1]})
    windows = wr.group_by(table, "user", time="ts", tie="seq").windowed_by(windows.windows)
    assert "  in time: " in wr.explain_record(windows, "ann", at(0)), "without a tie a record moves no time"
