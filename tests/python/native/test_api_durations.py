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


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("1 microsecond", 1),
        ("2 milliseconds", 2_000),
        ("30 seconds", 30_000_000),
        ("5 minutes", 5 * MINUTE),
        ("1 minute", MINUTE),
        ("1 hour 30 minutes", 90 * MINUTE),
        ("30 minutes 1 hour", 90 * MINUTE),
        ("1 day", 1_440 * MINUTE),
        ("2 weeks", 20_160 * MINUTE),
        ("  +5   Minutes ", 5 * MINUTE),
        ("5minutes", 5 * MINUTE),
        ("5m", 5 * MINUTE),
        ("5min", 5 * MINUTE),
        ("5 mins", 5 * MINUTE),
        ("1h30m", 90 * MINUTE),
        ("1 hr 30min", 90 * MINUTE),
        ("2H", 120 * MINUTE),
        ("1D", 1_440 * MINUTE),
        ("1w2d", 12_960 * MINUTE),
        ("1W", 10_080 * MINUTE),
        ("30s500ms7us", 30_500_007),
        ("3S", 3_000_000),
        ("7\u00b5s", 7),
        ("7\u03bcs", 7),
        ("9 secs 8 millis 7 micros", 9_008_007),
        ("PT5M", 5 * MINUTE),
        (" +PT5M ", 5 * MINUTE),
        ("PT1H30M", 90 * MINUTE),
        ("P1DT12H", 2_160 * MINUTE),
        ("P2W", 20_160 * MINUTE),
        ("P1D", 1_440 * MINUTE),
        ("PT0.5S", 500_000),
        ("PT1.0000010S", 1_000_001),
    ],
)
def test_words_are_durations(text: str, length: int) -> None:
    assert microseconds("gap", text) == length


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


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("", "words such as"),
        ("   ", "words such as"),
        ("5", "words such as"),
        ("minutes", "words such as"),
        ("5 minutes 30", "words such as"),
        ("5 minutes, 30 seconds", "words such as"),
        ("1.5 hours", '; only the seconds of an ISO 8601 duration may have decimals, as in "PT1.5S"'),
        ("1 hour -30 minutes", "words such as"),
        ("\u0665 minutes", "words such as"),
        ("interval 5 minutes", "words such as"),
        ("5 minuets", "did you mean 'minute'"),
        ("5 parsecs", "words such as"),
        ("1 hour 1 hour", "'hour' appears twice"),
        ("1 month", "a month has no fixed length"),
        ("2 years", "a year has no fixed length"),
        ("3mo", "a month has no fixed length"),
        ("1q", "a quarter has no fixed length"),
        ("1Y", "a year has no fixed length"),
        ("5M", "for minutes"),
        ("5 M", "for minutes"),
        ("1h5M", "for minutes"),
        ("5MS", "words such as"),
        ("0.5ns", "; only the seconds of an ISO 8601 duration may have decimals"),
        ("5ps", "words such as"),
        ("5m 3min", "'minute' appears twice"),
        ("1.5h", '; only the seconds of an ISO 8601 duration may have decimals, as in "PT1.5S"'),
        ("5m30", "words such as"),
        ("P1M", "a month has no fixed length"),
        ("P1Y", "a year has no fixed length"),
        ("P", "words such as"),
        ("PT", "words such as"),
        ("P1DT", "words such as"),
        ("P5H", "words such as"),
        ("PT5D", "words such as"),
        ("PT5M1H", "words such as"),
        ("PT1.5H", '; only the seconds of an ISO 8601 duration may have decimals, as in "PT1.5S"'),
        ("PT-5M", "words such as"),
        ("pt5m", "words such as"),
        ("PT0.0000000001S", "a whole number of nanoseconds"),
        ("PT0S", "longer than zero"),
        ("-PT5M", "longer than zero"),
        ("P" + "9" * 30 + "D", "292,000 years"),
        ("0 minutes", "longer than zero"),
        ("-5 minutes", "longer than zero"),
        (timedelta(0), "longer than zero"),
        (timedelta(microseconds=-1), "longer than zero"),
        (pd.Timedelta(-1, "ns"), "longer than zero"),
        (np.timedelta64(-1, "ns"), "longer than zero"),
        (np.timedelta64(0, "D"), "longer than zero"),
        (np.timedelta64("NaT"), "words such as"),
        (np.timedelta64(1), "a numpy.timedelta64 of weeks to nanoseconds"),
        (np.timedelta64(1, "M"), "a month has no fixed length"),
        (np.timedelta64(1, "Y"), "a year has no fixed length"),
        (np.timedelta64(1000, "ps"), "a numpy.timedelta64 of weeks to nanoseconds"),
        (np.timedelta64(2**62, "W"), "292,000 years"),
        (f"{LONGEST + 1} microseconds", "292,000 years"),
        ("9" * 5_000 + " days", "292,000 years"),
        (timedelta.max, "292,000 years"),
    ],
)
def test_what_is_no_allowed_duration_says_why(value: Any, reason: str) -> None:
    with pytest.raises(ValueError, match="gap: got .*; allowed: ") as raised:
        microseconds("gap", value)
    assert reason in str(raised.value)


def test_the_longest_duration_is_allowed_and_one_more_is_not() -> None:
    assert microseconds("gap", f"{LONGEST} microseconds") == LONGEST
    with pytest.raises(ValueError, match="gap"):
        microseconds("gap", f"{LONGEST + 1} microseconds")


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
