"""Windows: made by their class methods, frozen, and refused at the call when their durations do not fit together."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from datetime import timedelta
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import windrow as wr
from windrow import SessionWindows, SlidingWindows
from windrow._arguments.duration import LONGEST
from windrow._windows.session import DynamicGap
from windrow._windows.specification import Windows

from ..harness.tables import rows_of
from ..scenes import keyed

SESSIONS = SessionWindows.with_gap("5 minutes", grace="1 hour", retention="1 day")
DYNAMIC = SessionWindows.with_dynamic_gap(
    "pause", grace="1 hour", max_gap="2 days", invalid_gap="error", retention="3 days"
)
SLIDING = SlidingWindows.with_time_difference("10 minutes", grace="1 minute", resolution="1 second")
CUT = SessionWindows.with_gap("5 minutes", max_duration="10 minutes", end_when="logout")
OWN_CUT = SessionWindows.with_dynamic_gap("pause", max_gap="1 hour", max_duration="2 hours", end_when="out")
gap: Any = SessionWindows.with_gap
within: Any = SlidingWindows.with_time_difference


def own(column: Any = "pause", *given: Any, **options: Any) -> Any:
    return SessionWindows.with_dynamic_gap(column, *given, **options)


def test_windows_hold_microseconds() -> None:
    assert (SESSIONS.gap, SESSIONS.grace, SESSIONS.retention) == (300_000_000, 3_600_000_000, 86_400_000_000)
    assert DYNAMIC.gap == DynamicGap("pause", max_gap=172_800_000_000, invalid="error")
    assert (DYNAMIC.grace, DYNAMIC.retention) == (3_600_000_000, 259_200_000_000)
    assert own().gap == DynamicGap("pause", max_gap=None, invalid="drop")
    assert (SLIDING.difference, SLIDING.grace, SLIDING.resolution) == (600_000_000, 60_000_000, 1_000_000)
    assert within("1 second").resolution is None
    kept = gap("5 minutes", grace="0 seconds", max_duration="1 hour", retention="1 day")
    assert (kept.rules.max_duration, kept.retention) == (3_600_000_000, 86_400_000_000)
    assert gap("5 minutes", end_when=pl.col("logout")).rules.end_when == "logout"
    assert gap(timedelta(minutes=5)) == gap("300 seconds") != CUT


@pytest.mark.parametrize("windows", [SESSIONS, DYNAMIC, SLIDING, CUT, OWN_CUT, own("'\"")])
def test_windows_are_values(windows: Windows) -> None:
    assert pickle.loads(pickle.dumps(windows)) == windows == copy.deepcopy(windows)
    assert hash(copy.copy(windows)) == hash(windows)
    assert eval(repr(windows)) == windows
    with pytest.raises(FrozenInstanceError):
        windows.grace = 0  # type: ignore[misc]


def test_windows_show_the_call_that_makes_them() -> None:
    assert repr(DYNAMIC) == (
        "SessionWindows.with_dynamic_gap('pause', grace='1 hour', max_gap='2 days', invalid_gap='error', "
        "retention='3 days')"
    )
    assert repr(CUT) == "SessionWindows.with_gap('5 minutes', max_duration='10 minutes', end_when='logout')"
    assert repr(OWN_CUT) == (
        "SessionWindows.with_dynamic_gap('pause', max_gap='1 hour', max_duration='2 hours', end_when='out')"
    )


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        (SessionWindows, r"SessionWindows.with_gap\(...\) or SessionWindows.with_dynamic_gap\(...\)$"),
        (SlidingWindows, "with_time_difference"),
    ],
)
def test_a_call_of_the_class_makes_no_windows(kind: Any, way: str) -> None:
    for arguments in ((), (5,)):
        with pytest.raises(TypeError, match=f"{kind.__name__}: .*{way}"):
            kind(*arguments)


@pytest.mark.parametrize("length", ["-1 second", "1 month", "soon", f"{LONGEST + 1} microseconds"])
def test_a_gap_that_is_no_length_is_refused(length: str) -> None:
    with pytest.raises(ValueError, match=f"gap: got '{length}'"):
        gap(length)
    with pytest.raises(ValueError, match=f"difference: got '{length}'"):
        within(length)


TYPES: list[tuple[Callable[[], object], str]] = [
    (lambda: gap(5), "gap: got 5, an int"),
    (lambda: gap("1 second", grace=5), "grace: got 5, an int"),
    (lambda: gap("1 second", retention=5), "retention: got 5, an int"),
    (lambda: own(grace=5), "grace: got 5, an int"),
    (lambda: own(max_gap=5), "max_gap: got 5, an int"),
    (lambda: own(5), "column: got 5, an int; allowed: the name of a column"),
    (lambda: within(5), "difference: got 5, an int"),
    (lambda: within("1 second", resolution=5), "resolution: got 5, an int"),
    (
        lambda: gap("5 minutes", "1 hour"),
        r"SessionWindows.with_gap: got '1 hour' by position; allowed: options by name, such as grace='1 hour'$",
    ),
    (
        lambda: within("10 minutes", "5 minutes"),
        r"SlidingWindows.with_time_difference: got '5 minutes' by position; .* grace='5 minutes'; .* hopping",
    ),
    (
        lambda: within("10 minutes", None, "1 second"),
        r"got None, '1 second' by position; allowed: options by name, such as grace=None, resolution='1 second'$",
    ),
    (
        lambda: own("pause", "1 hour", "2 days", "error", 5),
        r"got '1 hour', '2 days', 'error', 5 by position; .* grace='1 hour', max_gap='2 days', invalid",
    ),
    (lambda: gap("1 second", max_duration=30), "max_duration: got 30, an int"),
    (lambda: own(end_when=True), "end_when: got True, a bool"),
    (lambda: gap("1 second", "1 hour", "2 hours"), "grace='1 hour', max_duration='2 hours'"),
    (lambda: own(max_durtion="1 hour"), "did you mean 'max_duration'"),
    (lambda: own(max_gaps="1 hour"), r"with_dynamic_gap: got max_gaps='1 hour'; .*did you mean 'max_gap'\?"),
]
LAST, MORE = f"{LONGEST - 1} microseconds", "2 microseconds"
HALF, STEP = f"{LONGEST // 2} microseconds", "1 microsecond"
HOUR, MILLI, ODD = "1 hour", "1 millisecond", "1500 milliseconds"
VALUES: list[tuple[Callable[[], object], str]] = [
    (lambda: gap("1 second", grace="-1 second"), "grace: got '-1 second'; allowed: a duration of zero or more"),
    (lambda: within("1 second", grace="-1 second"), "grace: got '-1 second'"),
    (lambda: own(grace="-1 second"), "grace: got '-1 second'"),
    (lambda: own(""), "column: got ''; allowed: the name of a column"),
    (lambda: own(max_gap="0 seconds"), "max_gap: got '0 seconds'; allowed: a"),
    (lambda: own(invalid_gap="fail"), "invalid_gap: got 'fail'; allowed: 'drop' or 'error'"),
    (lambda: own(invalid_gap=None), "invalid_gap: got None"),
    (lambda: gap("1 second", max_duration="0 seconds"), "max_duration: got '0 seconds'"),
    (lambda: own(max_duration="1 month"), "max_duration: got '1 month'"),
    (lambda: gap("1 second", end_when=""), "end_when: got ''"),
    # The sums of two lengths
    (lambda: gap(LAST, grace=MORE), r"grace: .*gap \+ grace of at most"),
    (lambda: own(max_gap=LAST, grace=MORE), r"grace: .*max_gap \+ grace of at most"),
    (lambda: within(HALF, grace=MORE, resolution=STEP), "grace: got"),
    (lambda: within(f"{LONGEST // 2 + 1} microseconds", resolution=STEP), "difference: got"),
    # Multiples of the resolution
    (lambda: within("1500 microseconds", resolution=MILLI), f"difference: .*multiple of the resolution, {MILLI}"),
    (lambda: within("2 s", grace=ODD, resolution="1 s"), f"grace: got '{ODD}'.*multiple of the resolution, 1 second"),
    # The least retention, and a microsecond less
    (
        lambda: gap("5 m", grace=HOUR, retention="3899999999 us"),
        r"retention: .* 1 hour 5 minutes, which is gap \+ grace",
    ),
    (lambda: gap("5 minutes", retention="1 minute"), "at least 5 minutes"),
    (
        lambda: own(grace=HOUR, max_gap="2 h", retention="10799999999 us"),
        r"retention: .* 3 hours, which is max_gap \+ grace",
    ),
    (lambda: own(retention="2 hours"), r"retention: got '2 hours'; allowed: at least 1 day, which is max_gap \+ grace"),
    (
        lambda: within("10 m", grace="1 m", retention="20 m 59 s"),
        r"retention: .* 21 minutes, which is 2 x difference \+ grace",
    ),
]


@pytest.mark.parametrize(("make", "message"), TYPES, ids=[message for _, message in TYPES])
def test_numbers_positions_and_names_that_are_no_options_are_refused(make: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()


@pytest.mark.parametrize(("make", "message"), VALUES, ids=[message for _, message in VALUES])
def test_lengths_that_do_not_go_together_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_lengths_on_their_bounds_are_taken() -> None:
    assert gap("1 second", grace="0 seconds").grace == 0
    assert gap(LAST, grace=STEP).grace == own(grace=STEP, max_gap=LAST).grace == 1
    assert within(HALF, grace=STEP, resolution=STEP).grace == 1
    assert within("2 seconds", grace="1 day").grace == 86_400_000_000
    assert gap("5 minutes", grace="1 hour", retention="65 minutes").retention == 3_900_000_000
    assert own(grace="1 hour", max_gap="2 hours", retention="3 hours").retention == 10_800_000_000
    assert within("10 minutes", grace="1 minute", retention="21 minutes").retention == 1_260_000_000


def windowed(unit: Any, windows: Windows) -> Any:
    table = pa.table({"k": [1], "pause": pa.array([1], pa.duration("us")), "ts": pa.array([0], pa.timestamp(unit))})
    return wr.group_by(table, "k", time="ts").windowed_by(windows)


LONGEST_NS = timedelta(microseconds=(2**63 - 1) // 1_000)
TICK = timedelta(microseconds=1)
BEYOND = LONGEST_NS + TICK
SECOND = "allowed: at least 1 second, as the time column 'ts' counts in seconds"
UNITS: list[tuple[str, Any, str]] = [
    (
        "s",
        within("10 seconds", resolution="1 millisecond"),
        "resolution: got '1 millisecond'; allowed: a multiple of 1 second, as the time column 'ts' counts in "
        'seconds: resolution="1 second"',
    ),
    ("ms", within("1 second", resolution=TICK), "resolution: got '1 microsecond'; .*resolution=\"1 millisecond\""),
    ("s", within("1500 milliseconds"), "difference: got '1 second 500 .*; allowed: a multiple of 1 second, as"),
    ("s", within("10 seconds", grace="1500 milliseconds"), "grace: got '1 second 500 .*: a multiple of 1 second, as"),
    ("ns", gap(BEYOND), "gap: got '15250 weeks .*; allowed: at most 15250 weeks"),
    ("ns", gap("1 day", grace=BEYOND), "grace: got '15250 weeks"),
    ("ns", gap("1 day", retention=BEYOND), "retention: got '15250 weeks"),
    ("ns", own(max_gap=BEYOND), "max_gap: got '15250 weeks"),
    ("ns", gap("1 day", max_duration=BEYOND), "max_duration: got '15250 weeks .*; allowed: at most 15250 weeks"),
    ("s", gap("999 milliseconds", grace="1 minute"), f"gap: got '999 milliseconds'; {SECOND}"),
    ("ms", gap(TICK), "gap: got '1 microsecond'; allowed: at least 1 millisecond"),
    ("s", own(max_gap="999 milliseconds"), f"max_gap: got '999 milliseconds'; {SECOND}"),
]


@pytest.mark.parametrize(("unit", "windows", "message"), UNITS)
def test_a_length_that_the_time_column_cannot_count_is_refused(unit: Any, windows: Windows, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        windowed(unit, windows)


COUNTED: list[tuple[str, Any]] = [
    ("s", within("10 seconds", resolution="1 second")),
    ("s", within("10 seconds", grace="3 seconds")),
    ("ms", within("1 millisecond")),
    ("us", within(TICK)),
    ("us", within(TICK, resolution=TICK)),
    ("ns", within(TICK, resolution=TICK)),
    ("s", gap("1 second")),
    ("s", gap("1999 milliseconds")),
    ("us", gap(TICK)),
    ("ns", gap(TICK)),
    ("ns", gap(LONGEST_NS)),
    ("us", gap(BEYOND)),
    ("s", own(max_gap="1 second")),
]


@pytest.mark.parametrize(("unit", "windows"), COUNTED)
def test_a_length_that_the_time_column_counts_is_taken(unit: Any, windows: Windows) -> None:
    assert windowed(unit, windows).count().num_rows <= 1


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_no_sliding_window_ends_before_its_record(unit: str) -> None:
    # two records, one tick apart    ├──────────┤●          the left window of each ends with it
    #                                 ├──────────┤●
    times = [10**10 + 1, 10**10 + 2]
    records = wr.group_by(keyed([1, 1], times, unit), "k", time="ts").windowed_by(within("5 seconds"))
    counted = rows_of(records.count(), ["k"])
    assert set(times) <= {end for _, _, end in counted}
    assert set(rows_of(records.agg(last=wr.reduce("k", lambda _, value: value)), ["k"])) == set(counted)


@pytest.mark.parametrize(
    ("length", "sessions"), [("1000 microseconds", 2), ("1999 microseconds", 2), ("2000 microseconds", 1)]
)
def test_a_gap_between_two_ticks_of_the_time_column_joins_what_it_reaches(length: str, sessions: int) -> None:
    # ticks of 1 ms: records 2 ms apart join from a gap of 2 ms on
    records = wr.group_by(keyed([1, 1], [0, 2], "ms"), "k", time="ts")
    assert records.windowed_by(gap(length)).count().num_rows == sessions


@pytest.mark.parametrize("time", [-(2**63), 2**63 - 1])
def test_a_sliding_window_beyond_the_ends_of_time_is_an_error_that_names_the_column(time: int) -> None:
    windows = within(5 * TICK, resolution=TICK)
    neighbour = time - 2 if time > 0 else time + 2
    message = r'column "ts": the window of the record at .* has a bound beyond the range of timestamp\[us\]'
    with pytest.raises(OverflowError, match=message):
        wr.group_by(keyed([1, 1], [neighbour, time]), "k", time="ts").windowed_by(windows).count()
