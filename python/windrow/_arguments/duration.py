"""Durations: words, short forms, ISO 8601 or a `timedelta`, held as whole microseconds; the units of time columns.

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
from datetime import timedelta
from typing import Any, NamedTuple

from windrow._arguments.errors import bad_type, bad_value, closest

Duration = str | timedelta
"""What a user may write for a length of time: `"5 minutes"`, `"1 hour 30 minutes"` or a `timedelta`."""

LONGEST = 2**63 - 1
"""The longest duration, in microseconds: about 292,000 years."""

ALLOWED = 'words such as "5 minutes", "1h30m" or "PT5M", or a datetime.timedelta'

_UNITS = {
    "week": 604_800_000_000,
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
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

    def ticks(self, microseconds: int) -> int:
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
}
_SHORT = {
    "week": "w W",
    "day": "d D",
    "hour": "h H",
    "minute": "m",
    "second": "s S",
    "millisecond": "ms",
    "microsecond": "us \u00b5s \u03bcs",
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
_TOO_FINE = dict.fromkeys(["ns", "nano", "nanos", "nanosecond", "nanoseconds"], "microseconds or longer units")
_SIGN = re.compile(r"\s*([+-]?)\s*", re.ASCII)
_TERM = re.compile(r"([0-9]+)\s*([A-Za-z\u00b5\u03bc]+)\s*", re.ASCII)
_ISO = re.compile(
    r"P(?=[0-9T])(?:([0-9]+)Y)?(?:([0-9]+)M)?(?:([0-9]+)W)?(?:([0-9]+)D)?"
    r"(?:T(?=[0-9])(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)(?:\.([0-9]+))?S)?)?\s*",
    re.ASCII,
)


def microseconds(argument: str, value: Duration, *, zero: bool = False) -> int:
    """A duration in microseconds; zero only if `zero` allows it.

    Raises `TypeError` for anything but `str` and `timedelta`, and `ValueError` for what is unparsable, negative, zero
    where it is not allowed, of months or years, finer than a microsecond, or longer than `LONGEST`.

    >>> microseconds("gap", "1 hour 30 minutes")
    5400000000
    >>> microseconds("gap", "5")
    Traceback (most recent call last):
        ...
    ValueError: gap: got '5'; allowed: words such as "5 minutes", "1h30m" or "PT5M", or a datetime.timedelta
    """
    if isinstance(value, timedelta):
        length = _whole(argument, value)
    elif isinstance(value, str):
        length = _parsed(argument, value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        raise bad_type(argument, value, f"{ALLOWED} (a bare number has no unit)")
    else:
        raise bad_type(argument, value, ALLOWED)
    if length < 0 or (length == 0 and not zero):
        raise bad_value(argument, value, "a duration of zero or more" if zero else "a duration longer than zero")
    if length > LONGEST:
        raise bad_value(argument, value, f"at most {LONGEST} microseconds (about 292,000 years)")
    return length


def check_counted(argument: str, length: int, time: Any) -> None:
    """Raises `ValueError` for a length in microseconds that is more units of the time column than it can count."""
    longest = LONGEST // 1_000 if time.type.unit == "ns" else LONGEST
    if length > longest:
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


def words(length: int) -> str:
    """A number of microseconds as the words that a user would write.

    >>> words(5_400_000_000)
    '1 hour 30 minutes'
    """
    parts = []
    rest = length
    for unit, size in _UNITS.items():
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {unit}{'' if count == 1 else 's'}")
    return " ".join(parts) or "0 seconds"


def _whole(argument: str, value: timedelta) -> int:
    # pandas.Timedelta is a timedelta with nanoseconds.
    if getattr(value, "nanoseconds", False):
        raise bad_value(argument, value, "a whole number of microseconds")
    return value // timedelta(microseconds=1)


def _parsed(argument: str, text: str) -> int:
    sign = _SIGN.match(text)
    negative, position = (sign[1] == "-", sign.end()) if sign else (False, 0)
    iso = _ISO.fullmatch(text, position)
    if iso is not None:
        length = _of_iso(argument, text, iso)
        return -length if negative else length
    length, seen = 0, set()
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
        if named in _TOO_FINE:
            raise bad_value(argument, text, _TOO_FINE[named])
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


def _of_iso(argument: str, text: str, match: re.Match[str]) -> int:
    """The length of an ISO 8601 duration without its sign."""
    years, months, *others = match.groups()
    *counts, fraction = others
    for count, unit in ((years, "year"), (months, "month")):
        if count is not None:
            raise bad_value(argument, text, f"weeks or shorter units: a {unit} has no fixed length")
    if fraction is not None and fraction[6:].strip("0"):
        raise bad_value(argument, text, _TOO_FINE["ns"])
    length = int(f"{fraction or '':0<6.6}")
    for count, unit in zip(counts, ("week", "day", "hour", "minute", "second"), strict=True):
        _check_digits(argument, text, count or "")
        length += int(count or 0) * _UNITS[unit]
    return length


def _check_digits(argument: str, text: str, digits: str) -> None:
    if len(digits) > 19:
        raise bad_value(argument, text, f"at most {LONGEST} microseconds (about 292,000 years)")
