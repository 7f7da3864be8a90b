"""How to make timestamps, durations or booleans of a column of another type, in the words of a library; for errors."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import pyarrow as pa

from windrow._arguments.type_names import is_number, is_text

_UNITS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
_LONGEST = {"s": 1e11, "ms": 1e14, "us": 1e17, "ns": 2**63}
"""Larger numbers count a smaller unit: each bound but the last is the year 5138."""
_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 0.001}

_NUMBERS = ("%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%m-%d-%Y", "%d-%m-%Y", "%Y/%m/%d", "%m/%d/%y", "%d/%m/%y", "%d.%m.%y")
_MONTHS = ("%b %d %Y", "%b %d, %Y", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%d/%b/%Y", "%Y-%b-%d", "%a %b %d %Y")
_DATES = (*_NUMBERS, *_MONTHS, *(date.replace("%b", "%B") for date in _MONTHS))
_TIMES = ("", " %I:%M %p", " %I:%M%p", " %I:%M:%S %p", " %H:%M", " %H:%M:%S", " %H:%M:%S %z")
_MAIL = "%a, %d %b %Y %H:%M:%S"
_LOGS = (
    "%d/%b/%Y:%H:%M:%S %z",
    f"{_MAIL} %z",
    f"{_MAIL} GMT",
    "%Y-%m-%d %H:%M:%S UTC",
    "%a %b %d %H:%M:%S %Y",
    "%b %d %H:%M:%S %Y",
)
"""Of web servers, of mail, of HTTP, of BigQuery, and of C and system logs."""
_FORMATS = (*(date + time for date in _DATES for time in _TIMES), *_LOGS)
_SWAPPED = str.maketrans("md", "dm")
"""The day in place of the month in a format."""
_ISO = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.(?P<fraction>\d{1,9}))?)?(?P<zone>Z|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)
_COMPACT = re.compile(r"\d{8}(?:(?P<before>[T ]?)\d{4}(?P<seconds>\d\d)?(?P<zone>Z|[+-]\d{4})?)?", re.ASCII)
"""ISO 8601 without `-` and `:`, which most libraries read only with a format."""
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|-?inf|nan", re.ASCII | re.IGNORECASE)
"""What all libraries read as a number."""
_DIGITS = re.compile(r"-?\d{1,19}(?:\.\d+)?", re.ASCII)
_NULLS = {"null", "none", "nan", "nat", "n/a", "na", "-"}
"""Text that means null, in small letters."""
_CLOCK = re.compile(r"(?:[01]?\d|2[0-3]):[0-5]\d:[0-5]\d", re.ASCII)
_WORDS = re.compile(
    r"(?:\d+ ?(?:s|seconds?|minutes?|h|hours?|d|days?)(?: |$))+|(?:\d+ days? )?\d+:[0-5]\d:[0-5]\d(?:\.\d+)?", re.ASCII
)
"""Durations as text: below a day, and what libraries with such a cast read."""
_WORD = re.compile(r"[\w ./:+-]{1,40}")
_TRUE = ("true", "t", "yes", "y", "on", "1")
"""Text that means true."""
_EXAMPLES = {"%m/%d/%Y %I:%M %p": "01/31/2026 5:00 PM", "%Y%m%dT%H%M%SZ": "20260131T170000Z"}


class Casts(NamedTuple):
    """How a library makes other types. In all but `duration`, `{0}` is the column as a user writes it.

    Attributes:
        text: for text in ISO 8601; `{1}` is the unit, `{2}` is `_NS` for nanoseconds.
        zoned: for text in ISO 8601 with offsets from UTC; the same.
        format: for other text; `{1}` is its format.
        zoned_format: for text in UTC, whose format ends in a literal `Z`; the same.
        formats: the formats of `format` that are not written as in C.
        integers: for integers, also as text, that count a unit since 1970, by unit. A unit without an entry is not
            offered.
        floats: for floats and decimals, also as text, that count a unit since 1970; `{1}` is the number of
            microseconds in one.
        date: for dates.
        duration: the type of durations.
        durations: for numbers that count a unit, by unit.
        of_day: for times of day; `{1}` is the column of their dates, `{2}` the unit, `{3}` is `_NS` for nanoseconds.
        as_text: text of integers and categories.
        as_number: numbers of text.
        finite: floats; an infinity or NaN becomes null.
        without: text without blanks around it, with nulls in place of the text `{1}`.
        nonzero: whether a number is not zero.
        equals: whether text is `{1}`.
        clock: durations of text such as `00:05:00`, of less than a day.
        words: durations of text such as `5 minutes` and of `clock`; None if it has no such cast.
        offset_format: for text with offsets from UTC; None if that is `format`.
        period: for periods of pandas.
        far: for text in ISO 8601 and integers of years that 64 bits of nanoseconds do not hold, where the other
            casts fail for these; `{1}` is the unit.
        reads_views: whether it reads text that is in views.
    """

    text: str
    zoned: str
    format: str
    zoned_format: str
    formats: dict[str, str]
    integers: dict[str, str]
    floats: str
    date: str
    duration: str
    durations: dict[str, str]
    of_day: str
    as_text: str
    as_number: str
    finite: str
    without: str
    nonzero: str
    equals: str
    clock: str | None = None
    words: str | None = None
    offset_format: str | None = None
    period: str | None = None
    far: str | None = None
    reads_views: bool = True

    def of(self, column: str, kind: pa.DataType, values: Sequence[Any], date: str, *, dated: bool) -> str | None:
        """The casts for a column of this type; None if there is none.

        Args:
            column: the column, as a user writes it.
            kind: its type.
            values: some of its values; none if it is unknown.
            date: a column of dates beside it.
            dated: whether there is one.
        """
        column, kind = self._plain(column, kind)
        known = [value for value in values if _is_finite(value)]
        if is_text(kind):
            return self._of_text(*self._filled(column, known))
        if pa.types.is_time(kind):
            unit = ("ns", "_NS") if kind == pa.time64("ns") else ("us", "")
            of_day = self.of_day.format(column, date, *unit)
            return of_day if dated else f"a time of day needs a date: {of_day}, with a column of dates"
        if getattr(kind, "extension_name", "") == "pandas.period" and self.period is not None:
            return self.period.format(column)
        if pa.types.is_integer(kind):
            written = _compact([str(value) for value in known])
            if written is not None:
                return self._formatted(self.as_text.format(column), written)
            return self._of_integers(column, known)
        if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            column = self._finite(column, kind, values)
            return self._of_floats(column, known, has_nanoseconds=pa.types.is_floating(kind))
        if isinstance(kind, pa.TimestampType):  # of categories, which are text now, or of runs
            unit = ("ns", "_NS") if kind.unit == "ns" else ("us", "")
            return (self.text if kind.tz is None else self.zoned).format(column, *unit)
        return self.date.format(column) if pa.types.is_date(kind) else None

    def of_gap(self, column: str, kind: pa.DataType, values: Sequence[Any]) -> str:
        """The type of a gap column, and the casts that make one of numbers or text; the arguments of `of`."""
        column, kind = self._plain(column, kind)
        allowed = self.duration
        if is_text(kind):
            column, texts = self._filled(column, values)
            numbers = [_number(text) for text in texts]
            if texts and None in numbers:
                return f"{allowed}{self._of_words(column, texts)}"
            column, kind, values = (
                self.as_number.format(column),
                pa.float64(),
                [each for each in numbers if each is not None],
            )
        if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            column = self._finite(column, kind, values)
        elif not pa.types.is_integer(kind):
            return allowed
        if any(isinstance(value, float) and math.isinf(value) for value in values):
            allowed = f"{allowed}, which is finite (these casts give null for an infinite gap)"
        casts = (f"{cast.format(column)} if it counts {_UNITS[unit]}" for unit, cast in self.durations.items())
        return f"{allowed}: {', or '.join(casts)}"

    def of_condition(self, column: str, kind: pa.DataType, values: Sequence[Any]) -> str | None:
        """A condition over a column of numbers or text; the arguments of `of`."""
        column, kind = self._plain(column, kind)
        if is_number(kind):
            return self.nonzero.format(column)
        if not is_text(kind):
            return None
        words = [word for word in map(str, values) if _WORD.fullmatch(word)]
        true = next((word for word in words if word.casefold() in _TRUE), words[0] if words else "true")
        return self.equals.format(column, true)

    def _of_integers(self, column: str, values: Sequence[int]) -> str | None:
        units = [unit for unit in _units(values) if unit in self.integers]
        is_far = values and units and max(map(abs, values)) * 1000 * _MICROSECONDS[units[0]] >= 2**63
        if self.far is not None and is_far:
            return _since_1970((self.far.format(column, unit), unit) for unit in units)
        return _since_1970((self.integers[unit].format(column, unit), unit) for unit in units)

    def _of_floats(self, column: str, values: Sequence[Any], *, has_nanoseconds: bool = True) -> str | None:
        units = [unit for unit in _units(values) if unit != "ns" or has_nanoseconds]
        return _since_1970((self.floats.format(column, _MICROSECONDS[unit]), unit) for unit in units)

    def _of_words(self, column: str, texts: Sequence[str]) -> str:
        """The cast of durations that are text; what to do if there is none."""
        if self.clock is not None and all(map(_CLOCK.fullmatch, texts)):
            return f": {self.clock.format(column)}"
        if self.words is not None and all(map(_WORDS.fullmatch, texts)):
            return f": {self.words.format(column)}"
        other = next(text for text in texts if _number(text) is None)
        numbers = self.durations["s"].format("seconds")
        return f", which no cast makes of text such as {other!r}; {numbers} makes it of a column of numbers"

    def _plain(self, column: str, kind: Any) -> tuple[str, Any]:
        """A column of categories as text, and one of runs as its values; any other as it is."""
        is_run = pa.types.is_run_end_encoded(kind)
        if is_run and not pa.types.is_dictionary(kind.value_type) and str(kind.value_type) != "string_view":
            return self._plain(f"pyarrow.compute.run_end_decode({column})", kind.value_type)
        if pa.types.is_dictionary(kind):
            return self.as_text.format(column), kind.value_type
        is_view = str(kind) == "string_view" and not self.reads_views
        return (self.as_text.format(column) if is_view else column), kind

    def _filled(self, column: str, values: Sequence[Any]) -> tuple[str, list[str]]:
        """A column of text without blanks around it, in which empty text and words for null are null, and its values.

        Unknown text may be empty. Libraries refuse to read empty text as another type, and so does Spark in ANSI mode.
        """
        texts = [str(value) for value in values]  # DuckDB gives UUIDs for text
        stripped = [text.strip() for text in texts]
        absent = {text for text in stripped if not text or text.casefold() in _NULLS}
        if not texts or (stripped != texts and not absent):
            absent = {""}
        for text in sorted(absent):
            column = self.without.format(column, text)
        return column, [text for text in stripped if text not in absent]

    def _finite(self, column: str, kind: pa.DataType, values: Sequence[Any]) -> str:
        """A column of floats with nulls in place of those that are not finite, if it may have any."""
        is_finite = values and all(map(_is_finite, values))
        return column if is_finite or pa.types.is_decimal(kind) else self.finite.format(column)

    def _of_text(self, column: str, values: Sequence[str]) -> str:
        if not values:
            casts = [f"{self.text.format(column, 'us', '')} of ISO 8601 with `-` and `:`"]
            casts += [f"{self._formatted(column, form)} of {text!r}" for form, text in _EXAMPLES.items()]
            return ", or ".join(casts)
        found = [_ISO.fullmatch(value) for value in values if _is_iso(value)]
        iso = [match for match in found if match is not None]
        if len(iso) == len(values):
            unit = ("ns", "_NS") if any(len(match["fraction"] or "") > 6 for match in iso) else ("us", "")
            zoned = [match[0] for match in iso if match["zone"]]
            if len(zoned) in (0, len(iso)):
                if self.far is not None and not all(_is_near(int(match[0][:4])) for match in iso):
                    return self.far.format(column, f"{unit[0]}, UTC" if zoned else unit[0])
                return (self.zoned if zoned else self.text).format(column, *unit)
            without = next(match[0] for match in iso if not match["zone"])
            return f"text that has an offset from UTC in all rows or in none; it has {zoned[0]!r} and {without!r}"
        fitting = (form for form in _FORMATS if all(_fits(value, form) for value in values))
        form = _compact(values) or next(fitting, None)
        if form is not None:
            cast, other = self._formatted(column, form), form.translate(_SWAPPED)
            if other == form or other not in fitting:
                return cast
            return f"{cast} if the month is first, or {self._formatted(column, other)} if the day is first"
        counted = self._of_digits(column, values)
        if counted is not None:
            return counted
        odd = next(value for value in values if not _is_iso(value) or _ISO.fullmatch(value) is None)
        with_format = self.format.format(column, "...")
        return f"windrow knows no format that all texts have, such as {odd!r}; {with_format} takes another one"

    def _of_digits(self, column: str, values: Sequence[str]) -> str | None:
        if not all(map(_DIGITS.fullmatch, values)):
            return None
        if any("." in value for value in values):
            return self._of_floats(column, [*map(float, values)])
        return self._of_integers(column, [*map(int, values)])

    def _formatted(self, column: str, form: str) -> str:
        template = self.zoned_format if form.endswith(("Z", "GMT", "UTC")) else self.format
        if form.endswith("%z") and self.offset_format is not None:
            template = self.offset_format
        return template.format(column, self.formats.get(form, form))


def _units(values: Sequence[Any]) -> list[str]:
    """The units that numbers may count: one if there are values."""
    largest = max((abs(value) for value in values), default=0)
    units = [unit for unit, bound in _LONGEST.items() if largest < bound]
    return units[:1] if values else units


def _since_1970(casts: Iterator[tuple[str, str]]) -> str | None:
    return ", or ".join(f"{cast} if it counts {_UNITS[unit]} since 1970" for cast, unit in casts) or None


def _is_near(year: int) -> bool:
    """Whether 64 bits of nanoseconds hold all times of a year."""
    return 1678 <= year <= 2261


def _is_finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _number(text: str) -> float | None:
    return None if _NUMBER.fullmatch(text) is None else float(text)


def _is_iso(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _compact(values: Sequence[str]) -> str | None:
    """The format of texts such as `20260131T170000Z`, if all have the same."""
    forms = set()
    for value in values:
        match = _COMPACT.fullmatch(value)
        if match is None or not 1900 <= int(value[:4]) <= 2100:
            return None
        of_day = "" if match["before"] is None else f"{match['before']}%H%M{'%S' if match['seconds'] else ''}"
        zone = match["zone"] or ""
        forms.add(f"%Y%m%d{of_day}{'%z' if zone[1:] else zone}")
    [form] = forms if len(forms) == 1 else [""]
    return form if form and all(_fits(value, form) for value in values) else None


def _fits(text: str, form: str) -> bool:
    try:
        datetime.strptime(text, form)
    except ValueError:
        return False
    # Python takes Z for an offset, other libraries do not.
    return not (form.endswith("%z") and text.endswith("Z"))


ARROW_CASTS = Casts(
    text='{0}.cast(pyarrow.timestamp("{1}"))',
    zoned='{0}.cast(pyarrow.timestamp("{1}", "UTC"))',
    format='pyarrow.compute.strptime({0}, format="{1}", unit="us")',
    zoned_format='pyarrow.compute.assume_timezone(pyarrow.compute.strptime({0}, format="{1}", unit="us"), "UTC")',
    formats={},
    integers={unit: f'{{0}}.cast("int64").cast(pyarrow.timestamp("{unit}"))' for unit in _UNITS},
    floats=(
        'pyarrow.compute.round(pyarrow.compute.multiply({0}.cast("float64"), {1}))'
        '.cast("int64").cast(pyarrow.timestamp("us"))'
    ),
    date='{0}.cast(pyarrow.timestamp("us"))',
    duration="a duration",
    durations={
        unit: f'pyarrow.compute.round(pyarrow.compute.multiply({{0}}.cast("float64"), {factor}))'
        '.cast("int64").cast(pyarrow.duration("us"))'
        for unit, factor in (("s", 1_000_000), ("ms", 1_000))
    },
    of_day=(
        'pyarrow.compute.add({1}.cast(pyarrow.timestamp("{2}")), '
        '{0}.cast(pyarrow.time64("{2}")).cast("int64").cast(pyarrow.duration("{2}")))'
    ),
    as_text='{0}.cast("string")',
    as_number='{0}.cast("float64")',
    finite="pyarrow.compute.if_else(pyarrow.compute.is_finite({0}), {0}, None)",
    without=(
        'pyarrow.compute.if_else(pyarrow.compute.equal(pyarrow.compute.utf8_trim_whitespace({0}), "{1}"), None, '
        "pyarrow.compute.utf8_trim_whitespace({0}))"
    ),
    nonzero="pyarrow.compute.not_equal(pyarrow.compute.sign({0}), 0)",
    equals='pyarrow.compute.equal({0}, "{1}")',
    clock=(
        'pyarrow.compute.strptime({0}, format="%H:%M:%S", unit="us").cast(pyarrow.time64("us")).cast("int64")'
        '.cast(pyarrow.duration("us"))'
    ),
    reads_views=False,
)
