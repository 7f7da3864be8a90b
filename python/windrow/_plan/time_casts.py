"""How to convert a column of another type to timestamps or to durations, in the words of a library; for errors."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import pyarrow as pa

_UNITS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
_LONGEST = {"s": 1e11, "ms": 1e14, "us": 1e17, "ns": 2**63}
"""Larger numbers count a smaller unit: each bound but the last is the year 5138."""
_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 0.001}

_NUMBERS = ("%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%m-%d-%Y", "%d-%m-%Y", "%Y/%m/%d", "%m/%d/%y", "%d.%m.%y")
_MONTHS = ("%b %d %Y", "%b %d, %Y", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%d/%b/%Y", "%Y-%b-%d", "%a %b %d %Y")
_DATES = (*_NUMBERS, *_MONTHS, *(date.replace("%b", "%B") for date in _MONTHS))
_TIMES = ("", " %I:%M %p", " %I:%M%p", " %I:%M:%S %p", " %H:%M", " %H:%M:%S", " %H:%M:%S %z")
_MAIL = "%a, %d %b %Y %H:%M:%S"
_LOGS = ("%d/%b/%Y:%H:%M:%S %z", f"{_MAIL} %z", f"{_MAIL} GMT", "%a %b %d %H:%M:%S %Y", "%b %d %H:%M:%S %Y")
"""Of web servers, of mail, of HTTP, and of C and system logs."""
_FORMATS = (*(date + time for date in _DATES for time in _TIMES), *_LOGS)
_ISO = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.(?P<fraction>\d{1,9}))?)?(?P<zone>Z|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)
_COMPACT = re.compile(r"\d{8}(?:(?P<before>[T ]?)\d{4}(?P<seconds>\d\d)?(?P<zone>Z|[+-]\d{4})?)?", re.ASCII)
"""ISO 8601 without `-` and `:`, which most libraries read only with a format."""
_EXAMPLES = {"%m/%d/%Y %I:%M %p": "01/31/2026 5:00 PM", "%Y%m%dT%H%M%SZ": "20260131T170000Z"}


class TimeCasts(NamedTuple):
    """How a library makes timestamps and durations. In all but `column` and `duration`, `{0}` is the column.

    Attributes:
        column: a column: `{0}` is its name in Python, `{1}` in SQL.
        text: for text in ISO 8601; `{1}` is the unit, `{2}` is `_NS` for nanoseconds.
        zoned: for text in ISO 8601 with offsets from UTC; the same.
        format: for other text; `{1}` is its format.
        zoned_format: for text in UTC, whose format ends in a literal `Z`; the same.
        formats: the formats of `format` that are not written as in C.
        integers: for integers that count a unit since 1970, by unit. A unit without an entry is not offered.
        floats: for floats and decimals that count a unit since 1970; `{1}` is the number of microseconds in one.
        date: for dates.
        duration: the type of durations.
        durations: for numbers that count a unit, by unit.
        of_day: for times of day; `{1}` is the column of their dates, `{2}` the unit, `{3}` is `_NS` for nanoseconds.
        as_text: text of integers and categories.
        offset_format: for text with offsets from UTC; None if that is `format`.
        without_nan: floats with nulls in place of NaN.
        period: for periods of pandas.
        reads_views: whether it reads text that is in views.
        shown: the name of a column in Python.
    """

    column: str
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
    offset_format: str | None = None
    without_nan: str = "{0}"
    period: str | None = None
    reads_views: bool = True
    shown: Callable[[str], str] = repr

    def of(self, name: str | None, kind: pa.DataType, values: Sequence[Any], dates: Sequence[str] = ()) -> str | None:
        """The casts for a column of this type; None if there is none.

        Args:
            name: its name; None if an expression computes it.
            kind: its type.
            values: some of its values; none if it is unknown.
            dates: the columns of dates beside it.
        """
        column, known = self._column(name), [value for value in values if not _is_nan(value)]
        if pa.types.is_dictionary(kind):
            kind, column = kind.value_type, self.as_text.format(column)
        elif str(kind) == "string_view" and not self.reads_views:
            column = self.as_text.format(column)
        if str(kind) in ("string", "large_string", "string_view"):
            return self._of_text(column, [str(value) for value in known])  # DuckDB gives UUIDs for text
        if pa.types.is_time(kind):
            unit = ("ns", "_NS") if kind == pa.time64("ns") else ("us", "")
            of_day = self.of_day.format(column, self._column(dates[0] if dates else "date"), *unit)
            return of_day if dates else f"a time of day needs a date: {of_day}, with a column of dates"
        if getattr(kind, "extension_name", "") == "pandas.period" and self.period is not None:
            return self.period.format(column)
        if pa.types.is_integer(kind):
            written = _compact([str(value) for value in known])
            if written is not None:
                return self._formatted(self.as_text.format(column), written)
            units = [unit for unit in _units(known) if unit in self.integers]
            return _since_1970((self.integers[unit].format(column), unit) for unit in units)
        if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            column = column if len(known) == len(values) else self.without_nan.format(column)
            units = [unit for unit in _units(known) if unit != "ns" or pa.types.is_floating(kind)]
            return _since_1970((self.floats.format(column, _MICROSECONDS[unit]), unit) for unit in units)
        return self.date.format(column) if pa.types.is_date(kind) else None

    def of_gap(self, name: str | None, kind: pa.DataType, values: Sequence[Any]) -> str:
        """The type of a gap column, and the casts that make one of a column of numbers; the arguments of `of`."""
        is_float = pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        if not is_float and not pa.types.is_integer(kind):
            return self.duration
        column = self._column(name)
        if is_float and any(map(_is_nan, values)):
            column = self.without_nan.format(column)
        casts = (f"{cast.format(column)} if it counts {_UNITS[unit]}" for unit, cast in self.durations.items())
        return f"{self.duration}: {', or '.join(casts)}"

    def _column(self, name: str | None) -> str:
        quoted = "..." if name is None else '"' + name.replace('"', '""') + '"'
        return self.column.format("..." if name is None else self.shown(name), quoted)

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
                return (self.zoned if zoned else self.text).format(column, *unit)
            without = next(match[0] for match in iso if not match["zone"])
            return f"text that has an offset from UTC in all rows or in none; it has {zoned[0]!r} and {without!r}"
        form = _compact(values) or next(
            (form for form in _FORMATS if all(_fits(value, form) for value in values)), None
        )
        if form is None:
            other = next(value for value in values if not _is_iso(value) or _ISO.fullmatch(value) is None)
            with_format = self.format.format(column, "...")
            return f"windrow knows no format that all texts have, such as {other!r}; {with_format} takes another one"
        return self._formatted(column, form)

    def _formatted(self, column: str, form: str) -> str:
        template = self.zoned_format if form.endswith(("Z", "GMT")) else self.format
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


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


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


ARROW_CASTS = TimeCasts(
    column="table[{0}]",
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
    without_nan="pyarrow.compute.if_else(pyarrow.compute.is_nan({0}), None, {0})",
    reads_views=False,
)
