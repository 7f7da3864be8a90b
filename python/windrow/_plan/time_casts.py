"""How to convert a column of another type to timestamps, in the words of a library; for errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import pyarrow as pa

_UNITS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
_LONGEST = {"s": 1e11, "ms": 1e14, "us": 1e17}
"""Larger numbers count a smaller unit: each bound is the year 5138."""

_DATES = ("%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%m-%d-%Y", "%d-%m-%Y", "%Y/%m/%d", "%m/%d/%y", "%d.%m.%y")
_TIMES = ("", " %I:%M %p", " %I:%M:%S %p", " %H:%M", " %H:%M:%S")
_FORMATS = tuple(date + time for date in _DATES for time in _TIMES)
_US = "%m/%d/%Y %I:%M %p"
_US_EXAMPLE = "01/31/2026 5:00 PM"


class TimeCasts(NamedTuple):
    """How a library makes timestamps; `{0}` is a column in Python, `{1}` in SQL.

    Attributes:
        text: for text in ISO 8601.
        zoned: for text in ISO 8601 with offsets from UTC.
        format: for other text; `{2}` is its format.
        formats: the formats of `format` that are not written as in C.
        integers: for integers that count a unit since 1970, by unit. A unit without an entry is not offered.
        floats: for floats and decimals that count seconds, milliseconds or microseconds since 1970; `{2}` is the number
            of microseconds in one.
        date: for dates.
        shown: the name of a column in Python.
    """

    text: str
    zoned: str
    format: str
    formats: dict[str, str]
    integers: dict[str, str]
    floats: str
    date: str
    shown: Callable[[str], str] = repr

    def of(self, column: str | None, kind: pa.DataType, values: Sequence[Any]) -> str | None:
        """The casts for a column of this type; None if there is none.

        Args:
            column: its name; None if an expression computes it.
            kind: its type.
            values: some of its values; none if it is unknown.
        """
        names = ("...", "...")
        if column is not None:
            names = self.shown(column), '"' + column.replace('"', '""') + '"'
        if str(kind) in ("string", "large_string", "string_view"):
            return self._of_text(names, [str(value) for value in values])  # DuckDB gives UUIDs for text
        if pa.types.is_integer(kind):
            units = [unit for unit in self._units(values) if unit in self.integers]
            return _since_1970((self.integers[unit].format(*names), unit) for unit in units)
        if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            factors = {"s": 1_000_000, "ms": 1_000, "us": 1}
            units = [unit for unit in self._units(values) if unit in factors]
            return _since_1970((self.floats.format(*names, factors[unit]), unit) for unit in units)
        return self.date.format(*names) if pa.types.is_date(kind) else None

    def _of_text(self, names: tuple[str, str], values: Sequence[str]) -> str:
        if not values:
            us_dates = self.format.format(*names, self.formats.get(_US, _US))
            return f"{self.text.format(*names)} of ISO 8601, or {us_dates} of {_US_EXAMPLE!r}"
        times = [_iso(value) for value in values]
        if all(time is not None for time in times):
            zoned = any(time is not None and time.tzinfo is not None for time in times)
            return (self.zoned if zoned else self.text).format(*names)
        found = next((form for form in _FORMATS if all(_fits(value, form) for value in values)), None)
        if found is None:
            return f"{self.text.format(*names)} of ISO 8601; other text, such as {values[0]!r}, needs its format"
        return self.format.format(*names, self.formats.get(found, found))

    def _units(self, values: Sequence[Any]) -> list[str]:
        if not values:
            return ["s", "ms"]
        largest = max(abs(value) for value in values)
        return [next((unit for unit, bound in _LONGEST.items() if largest < bound), "ns")]


def _since_1970(casts: Iterator[tuple[str, str]]) -> str | None:
    return ", or ".join(f"{cast} if it counts {_UNITS[unit]} since 1970" for cast, unit in casts) or None


def _iso(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _fits(text: str, form: str) -> bool:
    try:
        datetime.strptime(text, form)
    except ValueError:
        return False
    return True


ARROW_CASTS = TimeCasts(
    text='table[{0}].cast(pyarrow.timestamp("us"))',
    zoned='table[{0}].cast(pyarrow.timestamp("us", "UTC"))',
    format='pyarrow.compute.strptime(table[{0}], format="{2}", unit="us")',
    formats={},
    integers={unit: f'table[{{0}}].cast("int64").cast(pyarrow.timestamp("{unit}"))' for unit in _UNITS},
    floats=(
        'pyarrow.compute.round(pyarrow.compute.multiply(table[{0}].cast("float64"), {2}))'
        '.cast("int64").cast(pyarrow.timestamp("us"))'
    ),
    date='table[{0}].cast(pyarrow.timestamp("us"))',
)
