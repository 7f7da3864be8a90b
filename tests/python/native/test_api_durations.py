"""Durations: words and `timedelta` in, microseconds out, everything else refused with the reason."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow._arguments.duration import LONGEST, microseconds, words

MINUTE = 60_000_000


TEXTS: dict[int, list[str]] = {
    1: ["1 microsecond"],
    7: ["7\u00b5s", "7\u03bcs"],
    2_000: ["2 milliseconds"],
    500_000: ["PT0.5S"],
    1_000_001: ["PT1.0000010S"],
    3_000_000: ["3S"],
    9_008_007: ["9 secs 8 millis 7 micros"],
    30_000_000: ["30 seconds"],
    30_500_007: ["30s500ms7us"],
    MINUTE: ["1 minute"],
    5 * MINUTE: ["5 minutes", "  +5   Minutes ", "5minutes", "5m", "5min", "5 mins", "PT5M", " +PT5M "],
    90 * MINUTE: ["1 hour 30 minutes", "30 minutes 1 hour", "1h30m", "1 hr 30min", "PT1H30M"],
    120 * MINUTE: ["2H"],
    1_440 * MINUTE: ["1 day", "1D", "P1D"],
    2_160 * MINUTE: ["P1DT12H"],
    10_080 * MINUTE: ["1W"],
    12_960 * MINUTE: ["1w2d"],
    20_160 * MINUTE: ["2 weeks", "P2W"],
}


@pytest.mark.parametrize("length", TEXTS)
def test_words_are_durations(length: int) -> None:
    assert {text: microseconds("gap", text) for text in TEXTS[length]} == dict.fromkeys(TEXTS[length], length)


@pytest.mark.parametrize(
    ("value", "length"),
    [
        (timedelta(minutes=5), 5 * MINUTE),
        (timedelta(days=1, microseconds=1), 86_400_000_001),
        (pd.Timedelta("90 minutes"), 90 * MINUTE),
        (np.timedelta64(90, "m"), 90 * MINUTE),
        (np.timedelta64(2, "W"), 14 * 1440 * MINUTE),
        (np.timedelta64(3, "5m"), 15 * MINUTE),
        (np.timedelta64(3_000, "ns"), 3),
        (pd.Timedelta(3_000, "ns"), 3),
    ],
)
def test_a_timedelta_is_a_duration(value: timedelta, length: int) -> None:
    assert microseconds("gap", value) == length


@pytest.mark.parametrize("value", [5, 5.0, 0, True, None, b"5 minutes", ["5 minutes"], pd.NaT])
def test_anything_else_is_no_duration(value: Any) -> None:
    with pytest.raises(TypeError, match=r'^gap: got .*; allowed: words such as "5 minutes"'):
        microseconds("gap", value)


def test_a_bare_number_has_no_unit() -> None:
    with pytest.raises(TypeError, match="gap: got 300, an int; .*a bare number has no unit"):
        microseconds("gap", 300)  # type: ignore[arg-type]


REASONS: dict[str, list[Any]] = {
    "words such as": [
        *("", "   ", "5", "minutes", "5 minutes 30", "5m30", "5 minutes, 30 seconds", "1 hour -30 minutes"),
        *("\u0665 minutes", "interval 5 minutes", "5 parsecs", "5ps", "5MS", np.timedelta64("NaT")),
        *("P", "PT", "P1DT", "P5H", "PT5D", "PT5M1H", "PT-5M", "pt5m"),
    ],
    '; only the seconds of an ISO 8601 duration may have decimals, as in "PT1.5S"': ["1.5 hours", "1.5h", "PT1.5H"],
    "; only the seconds of an ISO 8601 duration may have decimals": ["0.5ns"],
    "did you mean 'minute'": ["5 minuets"],
    "'hour' appears twice": ["1 hour 1 hour"],
    "'minute' appears twice": ["5m 3min"],
    "a month has no fixed length": ["1 month", "3mo", "P1M", np.timedelta64(1, "M")],
    "a quarter has no fixed length": ["1q"],
    "a year has no fixed length": ["2 years", "1Y", "P1Y", np.timedelta64(1, "Y")],
    "for minutes": ["5M", "5 M", "1h5M"],
    "a whole number of nanoseconds": ["PT0.0000000001S"],
    "longer than zero": [
        *("0 minutes", "-5 minutes", "PT0S", "-PT5M", timedelta(0), timedelta(microseconds=-1)),
        *(pd.Timedelta(-1, "ns"), np.timedelta64(-1, "ns"), np.timedelta64(0, "D")),
    ],
    "a numpy.timedelta64 of weeks to nanoseconds": [np.timedelta64(1), np.timedelta64(1000, "ps")],
    "292,000 years": [
        *(f"{LONGEST + 1} microseconds", "9" * 5_000 + " days", "P" + "9" * 30 + "D", timedelta.max),
        np.timedelta64(2**62, "W"),
    ],
}


@pytest.mark.parametrize("reason", REASONS)
def test_what_is_no_allowed_duration_says_why(reason: str) -> None:
    for value in REASONS[reason]:
        with pytest.raises(ValueError, match="gap: got .*; allowed: ") as raised:
            microseconds("gap", value)
        assert reason in str(raised.value), value


def test_the_longest_duration_is_allowed() -> None:
    assert microseconds("gap", f"{LONGEST} microseconds") == LONGEST


@pytest.mark.parametrize("nanoseconds", [1, 500, 999, 1_000, 1_001, 86_400_000_000_001, 2**63 - 1])
def test_a_length_may_be_a_number_of_nanoseconds(nanoseconds: int) -> None:
    length = Fraction(nanoseconds, 1_000)
    spelled = (f"{nanoseconds}ns", f"{nanoseconds} nanoseconds", f"PT{nanoseconds // 10**9}.{nanoseconds % 10**9:09}S")
    for value in (*spelled, pd.Timedelta(nanoseconds, "ns"), np.timedelta64(nanoseconds, "ns")):
        made = microseconds("gap", value)
        assert made == length
        assert isinstance(made, int) == (nanoseconds % 1_000 == 0)
        assert microseconds("gap", words(made)) == length


def test_zero_is_allowed_where_it_is_asked_for() -> None:
    assert microseconds("grace", "0 seconds", zero=True) == 0
    with pytest.raises(ValueError, match="grace: got '-1 second'; allowed: a duration of zero or more"):
        microseconds("grace", "-1 second", zero=True)


@given(st.integers(min_value=0, max_value=LONGEST))
def test_words_of_a_length_are_that_length(length: int) -> None:
    assert microseconds("gap", words(length), zero=True) == length
