"""Windows: made by their class methods, frozen, and refused at the call when their durations do not fit together."""

from __future__ import annotations

import copy
import functools
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow import SessionWindows, SlidingWindows
from windrow._arguments.duration import LONGEST
from windrow._windows.session import DynamicGap
from windrow._windows.specification import Windows

SESSIONS = SessionWindows.with_gap("5 minutes", grace="1 hour", retention="1 day")
DYNAMIC = SessionWindows.with_dynamic_gap(
    "pause", grace="1 hour", max_gap="2 days", invalid_gap="error", retention="3 days"
)
SLIDING = SlidingWindows.with_time_difference("10 minutes", grace="1 minute", resolution="1 second")


def test_sessions_hold_microseconds() -> None:
    assert (SESSIONS.gap, SESSIONS.grace, SESSIONS.retention) == (300_000_000, 3_600_000_000, 86_400_000_000)


def test_windows_of_dynamic_gaps_hold_microseconds_and_the_column() -> None:
    assert DYNAMIC.gap == DynamicGap("pause", max_gap=172_800_000_000, invalid="error")
    assert (DYNAMIC.grace, DYNAMIC.retention) == (3_600_000_000, 259_200_000_000)
    assert SessionWindows.with_dynamic_gap("pause").gap == DynamicGap("pause", max_gap=None, invalid="drop")
    assert repr(DYNAMIC) == (
        "SessionWindows.with_dynamic_gap('pause', grace='1 hour', max_gap='2 days', invalid_gap='error', "
        "retention='3 days')"
    )


def test_sliding_windows_hold_microseconds() -> None:
    assert (SLIDING.difference, SLIDING.grace, SLIDING.resolution) == (600_000_000, 60_000_000, 1_000_000)
    assert SlidingWindows.with_time_difference("1 second").resolution is None


def test_words_and_timedeltas_make_the_same_windows() -> None:
    assert SessionWindows.with_gap(timedelta(minutes=5)) == SessionWindows.with_gap("300 seconds")


@pytest.mark.parametrize("windows", [SESSIONS, DYNAMIC, SLIDING, SessionWindows.with_dynamic_gap("'\"")])
def test_windows_are_values(windows: Windows) -> None:
    assert pickle.loads(pickle.dumps(windows)) == windows == copy.deepcopy(windows)
    assert hash(copy.copy(windows)) == hash(windows)
    assert eval(repr(windows)) == windows
    with pytest.raises(FrozenInstanceError):
        windows.grace = 0  # type: ignore[misc]


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


@pytest.mark.parametrize("gap", ["-1 second", "1 month", "soon", f"{LONGEST + 1} microseconds"])
def test_a_gap_that_is_no_length_is_refused(gap: str) -> None:
    with pytest.raises(ValueError, match=f"gap: got '{gap}'"):
        SessionWindows.with_gap(gap)
    with pytest.raises(ValueError, match=f"difference: got '{gap}'"):
        SlidingWindows.with_time_difference(gap)


def test_a_bare_number_is_refused_everywhere() -> None:
    bare: Any = 5
    for argument, call in [
        ("gap", lambda: SessionWindows.with_gap(bare)),
        ("grace", lambda: SessionWindows.with_gap("1 second", grace=bare)),
        ("grace", lambda: SessionWindows.with_dynamic_gap("pause", grace=bare)),
        ("max_gap", lambda: SessionWindows.with_dynamic_gap("pause", max_gap=bare)),
        ("difference", lambda: SlidingWindows.with_time_difference(bare)),
        ("resolution", lambda: SlidingWindows.with_time_difference("1 second", resolution=bare)),
        ("retention", lambda: SessionWindows.with_gap("1 second", retention=bare)),
    ]:
        with pytest.raises(TypeError, match=f"{argument}: got 5, an int"):
            call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: SessionWindows.with_gap("5 minutes", "1 hour"),
            r"SessionWindows.with_gap: got '1 hour' by position; allowed: options by name, such as grace='1 hour'$",
        ),
        (
            lambda: SlidingWindows.with_time_difference("10 minutes", "5 minutes"),
            r"SlidingWindows.with_time_difference: got '5 minutes' by position; .* grace='5 minutes'; .* hopping",
        ),
        (
            lambda: SlidingWindows.with_time_difference("10 minutes", None, "1 second"),
            r"got None, '1 second' by position; allowed: options by name, such as grace=None, resolution='1 second'$",
        ),
        (
            lambda: SessionWindows.with_dynamic_gap("pause", "1 hour", "2 days", "error", 5),
            r"got '1 hour', '2 days', 'error', 5 by position; .* grace='1 hour', max_gap='2 days', invalid",
        ),
    ],
)
def test_options_go_by_name(call: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()


def test_the_longest_gap_is_no_retention() -> None:
    with pytest.raises(
        ValueError, match=r"retention: got '2 hours'; allowed: at least 1 day, which is max_gap \+ grace"
    ):
        SessionWindows.with_dynamic_gap("pause", retention="2 hours")


def test_for_an_unknown_option_the_error_offers_the_closest() -> None:
    windows: Any = SessionWindows
    with pytest.raises(TypeError, match=r"with_dynamic_gap: got max_gaps='1 hour'; .*did you mean 'max_gap'\?"):
        windows.with_dynamic_gap("pause", max_gaps="1 hour")


def test_grace_may_be_zero_and_not_negative() -> None:
    assert SessionWindows.with_gap("1 second", grace="0 seconds").grace == 0
    with pytest.raises(ValueError, match="grace: got '-1 second'; allowed: a duration of zero or more"):
        SessionWindows.with_gap("1 second", grace="-1 second")
    with pytest.raises(ValueError, match="grace: got '-1 second'"):
        SlidingWindows.with_time_difference("1 second", grace="-1 second")


def test_gap_and_grace_together_stay_representable() -> None:
    gap = f"{LONGEST - 1} microseconds"
    assert SessionWindows.with_gap(gap, grace="1 microsecond").grace == 1
    with pytest.raises(ValueError, match=r"grace: .*gap \+ grace of at most"):
        SessionWindows.with_gap(gap, grace="2 microseconds")


def test_longest_gap_and_grace_together_stay_representable() -> None:
    longest = f"{LONGEST - 1} microseconds"
    assert SessionWindows.with_dynamic_gap("pause", grace="1 microsecond", max_gap=longest).grace == 1
    with pytest.raises(ValueError, match=r"grace: .*max_gap \+ grace of at most"):
        SessionWindows.with_dynamic_gap("pause", grace="2 microseconds", max_gap=longest)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"column": ""}, ValueError, "column: got ''; allowed: the name of a column"),
        ({"column": 5}, TypeError, "column: got 5, an int; allowed: the name of a column"),
        (
            {"column": "pause", "max_gap": "0 seconds"},
            ValueError,
            "max_gap: got '0 seconds'; allowed: a",
        ),
        ({"column": "pause", "grace": "-1 second"}, ValueError, "grace: got '-1 second'"),
        ({"column": "pause", "invalid_gap": "fail"}, ValueError, "invalid_gap: got 'fail'; allowed: 'drop' or 'error'"),
        ({"column": "pause", "invalid_gap": None}, ValueError, "invalid_gap: got None"),
    ],
)
def test_a_dynamic_gap_that_makes_no_sense_is_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        SessionWindows.with_dynamic_gap(**arguments)


def test_sessions_of_a_dynamic_gap_are_kept_for_the_longest_gap_and_grace_at_least() -> None:
    windows = functools.partial(SessionWindows.with_dynamic_gap, "pause", grace="1 hour", max_gap="2 hours")
    assert windows(retention="3 hours").retention == 10_800_000_000
    with pytest.raises(ValueError, match=r"at least 3 hours, which is max_gap \+ grace"):
        windows(retention="10799999999 microseconds")


def test_twice_the_difference_and_grace_together_stay_representable() -> None:
    half = f"{LONGEST // 2} microseconds"
    made = SlidingWindows.with_time_difference(half, grace="1 microsecond", resolution="1 microsecond")
    assert made.grace == 1
    with pytest.raises(ValueError, match="grace: got"):
        SlidingWindows.with_time_difference(half, grace="2 microseconds", resolution="1 microsecond")
    with pytest.raises(ValueError, match="difference: got"):
        SlidingWindows.with_time_difference(f"{LONGEST // 2 + 1} microseconds", resolution="1 microsecond")


def test_difference_and_grace_are_multiples_of_the_resolution() -> None:
    for difference, grace, argument in (("1500 microseconds", None, "difference"), ("2 seconds", "1 day", None)):
        if argument is None:
            assert SlidingWindows.with_time_difference(difference, grace=grace).grace == 86_400_000_000
            continue
        with pytest.raises(ValueError, match=f"{argument}: .*a multiple of the resolution, 1 millisecond"):
            SlidingWindows.with_time_difference(difference, grace=grace, resolution="1 millisecond")
    with pytest.raises(ValueError, match="grace: got '1500 milliseconds'.*a multiple of the resolution, 1 second"):
        SlidingWindows.with_time_difference("2 seconds", grace="1500 milliseconds", resolution="1 second")


def test_sessions_are_kept_for_gap_and_grace_at_least() -> None:
    windows = functools.partial(SessionWindows.with_gap, "5 minutes", grace="1 hour")
    assert windows(retention="65 minutes").retention == 3_900_000_000
    with pytest.raises(ValueError, match=r"retention: .*at least 1 hour 5 minutes, which is gap \+ grace"):
        windows(retention="3899999999 microseconds")
    with pytest.raises(ValueError, match="at least 5 minutes"):
        SessionWindows.with_gap("5 minutes", retention="1 minute")


def test_sliding_windows_are_kept_for_twice_the_difference_and_grace_at_least() -> None:
    windows = functools.partial(SlidingWindows.with_time_difference, "10 minutes", grace="1 minute")
    assert windows(retention="21 minutes").retention == 1_260_000_000
    with pytest.raises(ValueError, match=r"retention: .*at least 21 minutes, which is 2 x difference \+ grace"):
        windows(retention="20 minutes 59 seconds")


def windowed(unit: Any, windows: Windows) -> Any:
    table = pa.table({"k": [1], "pause": pa.array([1], pa.duration("us")), "ts": pa.array([0], pa.timestamp(unit))})
    return wr.group_by(table, "k", time="ts").windowed_by(windows)


LONGEST_NS = timedelta(microseconds=(2**63 - 1) // 1_000)
TICK = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("unit", "windows", "message"),
    [
        (
            "s",
            SlidingWindows.with_time_difference("10 seconds", resolution="1 millisecond"),
            "resolution: got '1 millisecond'; allowed: a multiple of 1 second, as the time column 'ts' counts in "
            'seconds: resolution="1 second"',
        ),
        (
            "ms",
            SlidingWindows.with_time_difference("1 second", resolution="1 microsecond"),
            "resolution: got '1 microsecond'; .*resolution=\"1 millisecond\"",
        ),
        (
            "s",
            SlidingWindows.with_time_difference("1500 milliseconds"),
            "difference: got '1 second 500 milliseconds'; allowed: a multiple of 1 second, as",
        ),
        (
            "s",
            SlidingWindows.with_time_difference("10 seconds", grace="1500 milliseconds"),
            "grace: got '1 second 500 milliseconds'; allowed: a multiple of 1 second, as",
        ),
        ("ns", SessionWindows.with_gap(LONGEST_NS + TICK), "gap: got '15250 weeks .*; allowed: at most 15250 weeks"),
        ("ns", SessionWindows.with_gap("1 day", grace=LONGEST_NS + TICK), "grace: got '15250 weeks"),
        ("ns", SessionWindows.with_gap("1 day", retention=LONGEST_NS + TICK), "retention: got '15250 weeks"),
        (
            "ns",
            SessionWindows.with_dynamic_gap("pause", max_gap=LONGEST_NS + TICK),
            "max_gap: got '15250 weeks",
        ),
        (
            "s",
            SessionWindows.with_gap("999 milliseconds", grace="1 minute"),
            "gap: got '999 milliseconds'; allowed: at least 1 second, as the time column 'ts' counts in seconds",
        ),
        ("ms", SessionWindows.with_gap(TICK), "gap: got '1 microsecond'; allowed: at least 1 millisecond"),
        (
            "s",
            SessionWindows.with_dynamic_gap("pause", max_gap="999 milliseconds"),
            "max_gap: got '999 milliseconds'; allowed: at least 1 second, as the time column 'ts' counts in s",
        ),
    ],
)
def test_a_length_that_the_time_column_cannot_count_is_refused(unit: Any, windows: Windows, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        windowed(unit, windows)


@pytest.mark.parametrize(
    ("unit", "windows"),
    [
        ("s", SlidingWindows.with_time_difference("10 seconds", resolution="1 second")),
        ("s", SlidingWindows.with_time_difference("10 seconds", grace="3 seconds")),
        ("ms", SlidingWindows.with_time_difference("1 millisecond")),
        ("us", SlidingWindows.with_time_difference(TICK)),
        ("us", SlidingWindows.with_time_difference(TICK, resolution=TICK)),
        ("ns", SlidingWindows.with_time_difference(TICK, resolution=TICK)),
        ("s", SessionWindows.with_gap("1 second")),
        ("s", SessionWindows.with_gap("1999 milliseconds")),
        ("us", SessionWindows.with_gap(TICK)),
        ("ns", SessionWindows.with_gap(TICK)),
        ("ns", SessionWindows.with_gap(LONGEST_NS)),
        ("us", SessionWindows.with_gap(LONGEST_NS + TICK)),
        ("s", SessionWindows.with_dynamic_gap("pause", max_gap="1 second")),
    ],
)
def test_a_length_that_the_time_column_counts_is_taken(unit: Any, windows: Windows) -> None:
    assert windowed(unit, windows).count().num_rows <= 1
