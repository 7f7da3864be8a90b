"""Records and ticks whose time is too far ahead of a driver's wall clock (rules 1.1 and 1.5)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import StreamDriver

NOON = datetime(2026, 1, 1, 12)
MICRO = timedelta(microseconds=1)
HOUR = timedelta(hours=1)
MICROS = pa.timestamp("us")
SCHEMA = pa.schema({"user": pa.string(), "ts": MICROS, "partition": pa.int32(), "beat": pa.bool_()})
SESSIONS = wr.SessionWindows.with_gap("5 minutes", grace="1 minute")


def of(max_ahead: Any = "1 hour", **stream: Any) -> Callable[[Any], Any]:
    def definition(data: Any) -> Any:
        windowed = wr.group_by(data, "user", time="ts", tick="beat", **stream).windowed_by(SESSIONS)
        return (windowed if max_ahead is None else windowed.max_ahead(max_ahead)).count()

    return definition


def driven(kind: pa.DataType = MICROS, now: Any = NOON, **options: Any) -> StreamDriver:
    return StreamDriver(of(**options), SCHEMA.set(1, pa.field("ts", kind)), wall_clock=now)


def test_the_wall_clock_is_moved_by_durations_and_to_times() -> None:
    driver = driven()
    late = NOON + 3 * HOUR
    steps: list[tuple[Any, int]] = [("1 hour", 1), (HOUR - MICRO, 2), (NOON + 2 * HOUR, 2), ("0 seconds", 2)]
    for step, ahead in steps:
        driver.advance_wall_clock(step)
        driver.pipe(user="ann", ts=late)
        assert driver.counters["ahead"] == ahead
    assert driver.stream_time == late


def test_rows_that_are_ahead_are_counted_as_that_alone_and_move_no_time() -> None:
    rows: list[dict[str, Any]] = [
        {"user": "ann", "ts": NOON},
        {"user": "ann", "ts": NOON + 2 * HOUR},
        {"user": "bob"},
        {"ts": NOON + 2 * HOUR, "beat": True},
        {"ts": NOON + 3 * HOUR, "beat": False},
        {"user": "ann", "ts": NOON + MICRO},
    ]
    whole, cut, single = driven(), driven(), driven()
    whole.pipe_batch(pa.Table.from_pylist(rows, SCHEMA))
    cut.pipe_batch(pa.Table.from_pylist(rows, SCHEMA), rows=4)
    for row in rows:
        single.pipe(**row)
    for driver in (whole, cut, single):
        counted = {"records": 2, "ahead": 2, "bad_ticks": 1, "null_times": 1, "ticks": 0, "null_keys": 0, "late": 0}
        assert driver.counters | counted == driver.counters
        assert (driver.stream_time, driver.dropped) == (NOON + MICRO, 1)
        assert driver.sessions.all()["count"].to_pylist() == [2]


@pytest.mark.parametrize(
    ("kind", "least"),
    [("s", timedelta(seconds=1)), ("ms", timedelta(milliseconds=1)), ("us", MICRO), ("ns", MICRO)],
)
def test_any_unit_of_times_is_compared_exactly(kind: Any, least: timedelta) -> None:
    driver = driven(pa.timestamp(kind), now=NOON + 10 * MICRO)
    within = NOON + HOUR + (10 * MICRO if kind in ("us", "ns") else 0 * MICRO)
    driver.pipe(user="ann", ts=within)
    assert driver.counters["ahead"] == 0
    driver.pipe(user="ann", ts=within + least)
    assert driver.counters["ahead"] == 1


def test_a_nanosecond_more_is_ahead() -> None:
    driver = driven(pa.timestamp("ns"))
    ticks = (NOON + HOUR - datetime(1970, 1, 1)) // MICRO * 1_000
    times = pa.array([ticks, ticks + 1], pa.timestamp("ns"))
    nulls = {"partition": pa.nulls(2, pa.int32()), "beat": pa.nulls(2, pa.bool_())}
    driver.pipe_batch(pa.table({"user": ["ann", "ann"], "ts": times, **nulls}))
    assert (driver.counters["records"], driver.counters["ahead"]) == (1, 1)


def test_a_wall_clock_has_the_zone_of_the_times() -> None:
    east = pa.timestamp("us", "Europe/Berlin")
    driver = driven(east, now=NOON.replace(tzinfo=UTC))
    driver.advance_wall_clock(NOON.replace(tzinfo=UTC) + HOUR)
    driver.pipe(user="ann", ts=NOON.replace(tzinfo=UTC) + 2 * HOUR)
    driver.pipe(user="ann", ts=NOON.replace(tzinfo=UTC) + 2 * HOUR + MICRO)
    assert (driver.counters["records"], driver.counters["ahead"]) == (1, 1)


def test_beyond_the_latest_time_nothing_is_ahead() -> None:
    driver = driven(now=datetime.max, max_ahead="290000 weeks")
    driver.pipe(user="ann", ts=datetime.max)
    assert driver.counters["ahead"] == 0
    nano = driven(pa.timestamp("ns"), now=datetime.max)
    nano.pipe(user="ann", ts=datetime(2262, 1, 1))
    assert nano.counters["ahead"] == 0


@pytest.mark.parametrize("stream_time", ["source", "slowest"])
def test_a_source_is_not_known_by_what_is_set_aside(stream_time: str) -> None:
    driver = driven(source="partition", stream_time=stream_time)
    driver.pipe(user="ann", ts=NOON, partition=0)
    driver.pipe(user="ann", ts=NOON + 2 * HOUR, partition=1)
    driver.tick(NOON + 2 * HOUR, source=2)
    driver.tick(NOON + 2 * HOUR)
    assert driver.stream_times == {(0,): NOON}
    assert (driver.counters["ahead"], driver.counters["bad_ticks"]) == (1, 2)


@pytest.mark.parametrize("source", [None, "partition"])
def test_what_was_set_aside_is_in_the_state(source: str | None) -> None:
    driver = driven(source=source)
    driver.pipe(user="ann", ts=NOON)
    driver.pipe(user="ann", ts=NOON + 2 * HOUR)
    driver.tick(NOON + 2 * HOUR)
    held = driver.changed_pages()
    assert "driver" in held
    pages = [page for page in held.values() if page is not None]
    for again in (driven(source=source).restore(pages), driven(source=source).restore(driver.snapshot())):
        assert again.counters == driver.counters
        assert again.finish()[0].values == {"count": 1}
    # max_ahead may come and go.
    without = StreamDriver(of(None, source=source), SCHEMA).restore(pages)
    assert without.counters == driver.counters
    assert driven(source=source).restore(without.snapshot()).counters == driver.counters
    plain = StreamDriver(of(None, source=source), SCHEMA)
    plain.pipe(user="ann", ts=NOON)
    assert driven(source=source).restore(plain.snapshot()).counters == plain.counters


def test_a_batch_and_a_query_in_process_have_no_wall_clock() -> None:
    data = pa.table({"user": ["ann"], "ts": [datetime(9000, 1, 1)], "partition": [0], "beat": [False]}, schema=SCHEMA)
    assert of("0 seconds")(data)["count"].to_pylist() == [1]


def test_a_wall_clock_without_a_limit_sets_nothing_aside() -> None:
    driver = driven(max_ahead=None)
    driver.advance_wall_clock("1 day")
    driver.pipe(user="ann", ts=datetime(9000, 1, 1))
    assert (driver.counters["records"], driver.counters["ahead"]) == (1, 0)
    assert "driver" not in driver.changed_pages()


WRONG_CLOCKS: list[tuple[Any, Any, str]] = [
    (None, "1 hour", r"wall_clock: got None; allowed: .*has max_ahead"),
    (NOON.replace(tzinfo=UTC), "1 hour", "wall_clock: got .*; allowed: a datetime without a zone"),
    (NOON, "-1 hour", "duration: got '-1 hour'; allowed: a duration of zero or more"),
    (NOON, "1 month", "duration: got '1 month'; allowed: weeks"),
]
WRONG_MOVES: list[tuple[Any, str]] = [
    (NOON - MICRO, "got .*; allowed: a duration, or a time that is not before that of the clock"),
    (-MICRO, "got .*; allowed: a duration of zero or more"),
    (None, "got None"),
    ("noon", "got 'noon'; allowed: words such as"),
]


@pytest.mark.parametrize(("now", "max_ahead", "message"), WRONG_CLOCKS)
def test_a_wrong_clock_or_limit_is_refused(now: Any, max_ahead: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        driven(now=now, max_ahead=max_ahead)


@pytest.mark.parametrize(("step", "message"), WRONG_MOVES)
def test_a_wrong_move_of_the_clock_is_refused(step: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^duration_or_time: {message}"):
        driven().advance_wall_clock(step)


def test_numbers_are_no_clocks_and_a_clock_that_is_none_does_not_move() -> None:
    with pytest.raises(TypeError, match="wall_clock: got 5, an int; allowed: a datetime"):
        driven(now=5)
    with pytest.raises(TypeError, match=r"duration: got 5, an int; allowed: .*\(a bare number has no unit\)"):
        driven(max_ahead=5)
    with pytest.raises(TypeError, match="duration_or_time: got 5, an int"):
        driven().advance_wall_clock(5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"wall_clock: got None; allowed: .*StreamDriver\("):
        driven(now=None, max_ahead=None).advance_wall_clock("1 hour")
