"""Durations: words, short forms, ISO 8601 or a `timedelta`, held in microseconds; the units of time columns.

```text
words   [sign] {number unit}        "5 minutes"  "1 hour 30 minutes"  "1h30m"  "5min"     each unit once, in any order
ISO     [sign] P[nW][nD][T[nH][nM][n[.n]S]]       "PT5M"  "P1DT12H"  "PT0.5S"             as java.time writes them
```

Units are those of `_SPELLED`: names in any case, short forms exactly as listed. A day is 24 hours and a week seven of
them. Months and years have no fixed length and a bare number has no unit, so neither is a duration; `"5M"` is refused,
as it is five months to pandas and five minutes to others.
"""

from __future__ import annotations

import re
import sys
from datetime import timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from windrow._arguments.errors import bad_type, bad_value, closest

if TYPE_CHECKING:
    import numpy as np

    Duration: TypeAlias = str | timedelta | np.timedelta64
else:
    Duration = str | timedelta
"""What a user may write for a length of time: `"5 minutes"`, `"1 hour 30 minutes"`, a `timedelta`, one of pandas, or a
`numpy.timedelta64`."""

Microseconds = int | Fraction
"""A length of time in microseconds; a fraction only where it is no whole number of them but of nanoseconds."""

LONGEST = 2**63 - 1
"""The longest duration, in microseconds: about 292,000 years."""

ALLOWED = 'words such as "5 minutes", "1h30m" or "PT5M", or a datetime.timedelta'

_UNITS: dict[str, Microseconds] = {
    "week": 604_800_000_000,
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
    "nanosecond": Fraction(1, 1_000),
}
_OF_NUMPY = {"W": "week", "D": "day", "h": "hour", "m": "minute", "s": "second", "ms": "millisecond"} | {
    "us": "microsecond",
    "ns": "nanosecond",
}


class TimeUnit(NamedTuple):
    """A unit of Arrow's time types.

    Attributes:
        name: what it is called in words.
        per_second: how many ticks a second has.
    """

    name: str
    per_second: int

    @property
    def microseconds(self) -> int:
        """The length of a tick; 1 if it is shorter."""
        return max(1, 10**6 // self.per_second)

    @property
    def tick(self) -> Microseconds:
        """The length of a tick."""
        return _whole(Fraction(10**6, self.per_second))

    def ticks(self, microseconds: Microseconds) -> int:
        """A length or a time in ticks, rounded down."""
        return microseconds * self.per_second // 10**6


TIME_UNITS = {
    "s": TimeUnit("second", 1),
    "ms": TimeUnit("millisecond", 10**3),
    "us": TimeUnit("microsecond", 10**6),
    "ns": TimeUnit("nanosecond", 10**9),
}
"""The units of time columns, by Arrow's names."""

_NAMES = {
    "week": "week weeks",
    "day": "day days",
    "hour": "hour hours hr hrs",
    "minute": "minute minutes min mins",
    "second": "second seconds sec secs",
    "millisecond": "millisecond milliseconds milli millis",
    "microsecond": "microsecond microseconds micro micros",
    "nanosecond": "nanosecond nanoseconds nano nanos",
}
_SHORT = {
    "week": "w W",
    "day": "d D",
    "hour": "h H",
    "minute": "m",
    "second": "s S",
    "millisecond": "ms",
    "microsecond": "us \u00b5s \u03bcs",
    "nanosecond": "ns",
}
_SPELLED = {text: unit for spellings in (_NAMES, _SHORT) for unit, texts in spellings.items() for text in texts.split()}
_VARYING = {
    **{text: unit for unit in ("month", "quarter", "year") for text in (unit, f"{unit}s")},
    "mo": "month",
    "q": "quarter",
    "Q": "quarter",
    "y": "year",
    "Y": "year",
}
_MONTH_OR_MINUTE = '"m" or "min" for minutes ("M" is a month to pandas, and a month has no fixed length)'
_TOO_FINE = "a whole number of nanoseconds"
_SIGN = re.compile(r"\s*([+-]?)\s*", re.ASCII)
_TERM = re.compile(r"([0-9]+)\s*([A-Za-z\u00b5\u03bc]+)\s*", re.ASCII)
_ISO = re.compile(
    r"P(?=[0-9T])(?:([0-9]+)Y)?(?:([0-9]+)M)?(?:([0-9]+)W)?(?:([0-9]+)D)?"
    r"(?:T(?=[0-9])(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)(?:\.([0-9]+))?S)?)?\s*",
    re.ASCII,
)


def microseconds(argument: str, value: Duration, *, zero: bool = False) -> Microseconds:
    """A duration in microseconds; zero only if `zero` allows it.

    Raises `TypeError` for anything but `str`, `timedelta` and `numpy.timedelta64`, and `ValueError` for what is
    unparsable, negative, zero where it is not allowed, of months or years, finer than a nanosecond, or longer than
    `LONGEST`.

    >>> microseconds("gap", "1 hour 30 minutes")
    5400000000
    >>> microseconds("gap", "5")
    Traceback (most recent call last):
        ...
    ValueError: gap: got '5'; allowed: words such as "5 minutes", "1h30m" or "PT5M", or a datetime.timedelta
    """
    length: Microseconds
    if isinstance(value, timedelta):
        # pandas.Timedelta is a timedelta with nanoseconds.
        length = value // timedelta(microseconds=1) + Fraction(getattr(value, "nanoseconds", 0), 1_000)
    elif isinstance(value, str):
        length = _parsed(argument, value)
    elif _is_of_numpy(value):
        length = _of_numpy(argument, value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        raise bad_type(argument, value, f"{ALLOWED} (a bare number has no unit)")
    else:
        raise bad_type(argument, value, ALLOWED)
    if length < 0 or (length == 0 and not zero):
        raise bad_value(argument, value, "a duration of zero or more" if zero else "a duration longer than zero")
    if length > LONGEST:
        raise bad_value(argument, value, f"at most {LONGEST} microseconds (about 292,000 years)")
    return _whole(length)


def of_clock(argument: str, value: Duration, *, zero: bool = False) -> int:
    """The same for a length by a wall clock, which counts in microseconds; `ValueError` for a part of one."""
    length = microseconds(argument, value, zero=zero)
    if isinstance(length, Fraction):
        raise bad_value(argument, value, "a whole number of microseconds, in which a wall clock counts")
    return length


def check_whole(argument: str, length: Microseconds, time: Any) -> None:
    """Raises `ValueError` for a length of part of a microsecond that is no whole number of units of the time column."""
    unit = TIME_UNITS[time.type.unit]
    if isinstance(length, Fraction) and length % unit.tick:
        counts = f"as the time column {time.name!r} counts in {unit.name}s"
        raise bad_value(argument, words(length), f"a multiple of 1 {unit.name}, {counts}")


def check_counted(argument: str, length: Microseconds, time: Any) -> None:
    """Raises `ValueError` for a length that the time column cannot count, because it is too long or too fine."""
    check_whole(argument, length, time)
    longest = LONGEST // 1_000 if time.type.unit == "ns" else LONGEST
    if length >= longest + 1 or length * TIME_UNITS[time.type.unit].per_second > LONGEST * 10**6:
        counts = f"as the time column {time.name!r} counts in {TIME_UNITS[time.type.unit].name}s"
        raise bad_value(argument, words(length), f"at most {words(longest)}, {counts}")


def is_duration(text: str) -> bool:
    """Whether this text spells a duration.

    >>> is_duration("5 minutes"), is_duration("pause")
    (True, False)
    """
    try:
        return microseconds("text", text, zero=True) >= 0
    except ValueError:
        return False


def words(length: Microseconds) -> str:
    """A number of microseconds as the words that a user would write.

    >>> words(5_400_000_000)
    '1 hour 30 minutes'
    """
    parts = list[str]()
    rest: Microseconds = length
    for unit, size in _UNITS.items():
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {unit}{'' if count == 1 else 's'}")
    return " ".join(parts) or "0 seconds"


def _whole(length: Microseconds) -> Microseconds:
    """The same, as an `int` if it is a whole number."""
    return int(length) if length == int(length) else length


def _is_of_numpy(value: object) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.timedelta64)


def _of_numpy(argument: str, value: Any) -> Microseconds:
    import numpy as np

    unit, step = np.datetime_data(value.dtype)
    if np.isnat(value):
        raise bad_value(argument, value, ALLOWED)
    if unit in ("Y", "M"):
        varying = "year" if unit == "Y" else "month"
        raise bad_value(argument, value, f"weeks or shorter units: a {varying} has no fixed length")
    if unit not in _OF_NUMPY:
        raise bad_value(argument, value, f"{ALLOWED}, or a numpy.timedelta64 of weeks to nanoseconds")
    return int(value.astype("int64")) * step * _UNITS[_OF_NUMPY[unit]]


def _parsed(argument: str, text: str) -> Microseconds:
    sign = _SIGN.match(text)
    negative, position = (sign[1] == "-", sign.end()) if sign else (False, 0)
    iso = _ISO.fullmatch(text, position)
    length: Microseconds = 0
    if iso is not None:
        length = _of_iso(argument, text, iso)
        return -length if negative else length
    seen = set[str]()
    while position < len(text):
        term = _TERM.match(text, position)
        if term is None:
            fraction = (
                '; only the seconds of an ISO 8601 duration may have decimals, as in "PT1.5S"' if "." in text else ""
            )
            raise bad_value(argument, text, ALLOWED + fraction)
        digits, word = term.groups()
        if word == "M":
            raise bad_value(argument, text, _MONTH_OR_MINUTE)
        named = word if word in _SPELLED or len(word) <= 2 else word.lower()
        if named in _VARYING:
            raise bad_value(argument, text, f"weeks or shorter units: a {_VARYING[named]} has no fixed length")
        unit = _SPELLED.get(named)
        if unit is None:
            close = closest(word.lower().removesuffix("s"), _UNITS)
            raise bad_value(argument, text, f"{ALLOWED}{f' (did you mean {close!r}?)' if close else ''}")
        if unit in seen:
            raise bad_value(argument, text, f"each unit once; {unit!r} appears twice")
        _check_digits(argument, text, digits)
        seen.add(unit)
        length += int(digits) * _UNITS[unit]
        position = term.end()
    if not seen:
        raise bad_value(argument, text, ALLOWED)
    return -length if negative else length


def _of_iso(argument: str, text: str, match: re.Match[str]) -> Microseconds:
    """The length of an ISO 8601 duration without its sign."""
    years, months, *others = match.groups()
    *counts, fraction = others
    for count, unit in ((years, "year"), (months, "month")):
        if count is not None:
            raise bad_value(argument, text, f"weeks or shorter units: a {unit} has no fixed length")
    if fraction is not None and fraction[9:].strip("0"):
        raise bad_value(argument, text, _TOO_FINE)
    length: Microseconds = Fraction(int(f"{fraction or '':0<9.9}"), 1_000)
    for count, unit in zip(counts, ("week", "day", "hour", "minute", "second"), strict=True):
        _check_digits(argument, text, count or "")
        length += int(count or 0) * _UNITS[unit]
    return length


def _check_digits(argument: str, text: str, digits: str) -> None:
    if len(digits) > 19:
        raise bad_value(argument, text, f"at most {LONGEST} microseconds (about 292,000 years)")
