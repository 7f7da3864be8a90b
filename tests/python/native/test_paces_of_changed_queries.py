"""Updates at a pace move to another query with their windows (rules 1.11, 6.12): rows that wait, and their deletes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow import state
from windrow.testing import StreamDriver

from ..harness.daily_jobs import pairs
from ..harness.steps import LocalStream
from ..scenes import at

SCHEMA = pa.schema({"user": pa.string(), "ts": pa.timestamp("us")})
HALF_HOUR = "30 minutes"


def windowed(data: Any, gap: str = "10 minutes") -> Any:
    return wr.group_by(data, "user", time="ts").windowed_by(wr.SessionWindows.with_gap(gap, grace="2 days"))


def paced(opened: Any = None, gap: str = "10 minutes", every: str = HALF_HOUR) -> Any:
    """A query at a pace, which may begin with open windows."""

    def query(data: Any) -> Any:
        updates = windowed(data, gap).emit("update", every=every)
        return (updates if opened is None else updates.start_from(opened)).agg(n=wr.count())

    return query


def opened_after(*records: tuple[str, float]) -> tuple[list[Any], pa.Table]:
    """The rows of a stream with a micro-batch for each record, and the windows that it leaves open."""
    stream = LocalStream(paced(), SCHEMA, shards=2)
    emitted = [row for record in records for row in pushed(stream, record)]
    return emitted, stream.still_open()


def pushed(stream: LocalStream, record: tuple[str, float]) -> list[tuple[Any, ...]]:
    """The rows of a micro-batch: what happened, key, bounds in minutes, count."""
    return [
        (row["op"], row["user"], *map(minute, row["window"].values()), row["n"])
        for row in stream.push([pairs(record).cast(SCHEMA)])
    ]


def piped(driver: StreamDriver, record: tuple[str, float]) -> list[tuple[Any, ...]]:
    return [
        (change.kind, change.key["user"], *map(minute, change.window), change.values.get("n"))
        for change in driver.pipe(user=record[0], ts=at(record[1]))
    ]


def minute(time: Any) -> float:
    return (time - at(0)).total_seconds() / 60


def rows_of(query: Any, *records: tuple[str, float]) -> list[list[tuple[Any, ...]]]:
    """The rows that each record gives in a stream of micro-batches, which a driver gives too."""
    stream, driver = LocalStream(query, SCHEMA, shards=3), StreamDriver(query, SCHEMA)
    rows = []
    for record in records:
        emitted = pushed(stream, record)
        assert sorted(emitted) == sorted(piped(driver, record)), record
        rows.append(sorted(emitted))
    return rows


#   ann   [0]     8     [15]      the record at 8 joins both, which a sink has from 0 and from 15
JOINED = (("ann", 0), ("ann", 15), ("ann", 8))


def test_a_sessions_deletes_move_with_the_row_that_waits() -> None:
    emitted, opened = opened_after(*JOINED)
    assert emitted == [("upsert", "ann", 0, 0, 1), ("upsert", "ann", 15, 15, 1)]
    both = [("delete", "ann", 0, 0, None), ("delete", "ann", 15, 15, None), ("upsert", "ann", 0, 15, 3)]
    for every, last in ((HALF_HOUR, 45), ("1 minute", 16), ("1 hour", 75)):
        before, on = rows_of(paced(opened, every=every), ("bob", last - 0.5), ("cem", last))
        assert before == [("upsert", "bob", last - 0.5, last - 0.5, 1)]
        assert on == [*both, ("upsert", "cem", last, last, 1)]
    assert opened_after(*JOINED, ("bob", 44))[0] == [*emitted, ("upsert", "bob", 44, 44, 1)]


def test_sessions_that_a_longer_gap_joins_are_deleted() -> None:
    _, opened = opened_after(("ann", 0), ("ann", 15))
    joined = [("delete", "ann", 0, 0, None), ("delete", "ann", 15, 15, None), ("upsert", "ann", 0, 15, 2)]
    rows = rows_of(paced(opened, "20 minutes"), ("bob", 44), ("bob", 45), ("ann", 46))
    assert rows == [[("upsert", "bob", 44, 44, 1)], joined, [("upsert", "ann", 46, 46, 1)]]
    plain = windowed(pairs(("ann", 0), ("ann", 15))).advance(None, to=at(15), n=wr.count()).still_open
    assert rows_of(paced(plain, "20 minutes"), ("bob", 15))[0][:2] == joined[:2]


def test_final_windows_have_the_values_that_waited() -> None:
    _, opened = opened_after(*JOINED)
    driver = StreamDriver(lambda data: windowed(data).start_from(opened).agg(n=wr.count()), SCHEMA)
    assert [(final.window, final.values) for final in driver.tick(at(4000))] == [((at(0), at(15)), {"n": 3})]
    closed = windowed(pairs()).advance(opened, to=at(4000), n=wr.count()).closed
    assert closed["n"].to_pylist() == [3]


@pytest.mark.parametrize("options", [{}, {"every_record": True}])
def test_updates_without_a_pace_are_refused_because_rows_would_wait_forever(options: Any) -> None:
    _, opened = opened_after(*JOINED)
    with pytest.raises(ValueError, match="open: .*every was there, is none, so rows that wait would never leave"):
        StreamDriver(lambda data: windowed(data).emit("update", **options).start_from(opened).count(), SCHEMA)


def test_rows_that_wait_leave_as_a_shorter_grace_closes_their_windows() -> None:
    """Also after the clock was set back, when the new close time counts at once."""
    _, opened = opened_after(*JOINED, ("bob", 44))

    def query(data: Any) -> Any:
        windows = wr.SessionWindows.with_gap("10 minutes", grace="0 seconds")
        updates = wr.group_by(data, "user", time="ts").windowed_by(windows).emit("update", every=HALF_HOUR)
        return updates.start_from(state.with_clock(opened, at(43))).agg(n=wr.count())

    (rows,) = rows_of(query, ("bob", 44))
    assert [row[:4] for row in rows if row[1] == "ann"] == [
        ("delete", "ann", 0, 0),
        ("delete", "ann", 15, 15),
        ("upsert", "ann", 0, 15),
    ]


def test_a_clock_that_is_set_back_sets_back_the_pace() -> None:
    """A record a day ahead makes ann's session leave. The next rows then wait from the time of the table on."""
    emitted, opened = opened_after(("ann", 0), ("far", 1440), ("ann", 5))
    assert emitted[-2:] == [("delete", "ann", 0, 0, None), ("upsert", "ann", 0, 5, 2)]
    back = state.with_clock(opened, at(20))
    waits, leaves = rows_of(paced(back), ("ann", 8), ("bob", 50))
    assert waits == []
    assert leaves[:2] == [("delete", "ann", 0, 5, None), ("upsert", "ann", 0, 8, 3)]
