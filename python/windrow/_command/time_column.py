"""Timestamps from a time column that holds text, numbers or dates."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.duration import TIME_UNITS
from windrow._arguments.errors import bad_column_type, bad_value, unknown_word
from windrow._arguments.type_names import is_number, is_text
from windrow._command.column_type import Cast
from windrow._command.epoch import UNITS, Epoch, Unit
from windrow._command.time_format import TimeFormat, beyond, is_beyond, is_time

_MICROSECONDS = pa.timestamp("us")
_YEARS = (-62_135_596_800, 253_402_300_799)
"""The first and the last second of the years 1 to 9999."""
_NUMBER = re.compile(r"\s*[+-]?\d+([.,]\d*)?\s*")
_ALLOWED = (
    "timestamps, or text in ISO 8601, such as 2026-05-04T09:00:00, all with a zone or none, with "
    "nanoseconds only if the first ones have them; of other text name its format: --time-format '%d/%m/%Y %H:%M'"
)


@dataclass(frozen=True)
class TimeColumn:
    """A column of times of the input, and how to read its values.

    Attributes:
        argument: the option that names it.
        columns: its name, or those of several columns of text that are joined with blanks, such as a date and a time.
        format: the `strptime` format of its text; None for ISO 8601.
        unit: the unit of its numbers since 1970: `s`, `ms`, `us` or `ns`; None if numbers are not times.
    """

    argument: str
    columns: tuple[str, ...]
    format: TimeFormat | None = None
    unit: Unit | None = None

    def __post_init__(self) -> None:
        """Raises `ValueError` for an unknown unit, and for a format with a unit."""
        if self.unit is not None and self.unit not in UNITS:
            raise unknown_word("--time-unit", self.unit, UNITS)
        if self.unit is not None and self.format is not None:
            raise bad_value("--time-unit", self.unit, "none with --time-format: times are numbers or text")

    @property
    def name(self) -> str:
        """Its name in the query."""
        return " ".join(self.columns)

    def cast(self, kind: pa.DataType, sample: pa.Array[Any]) -> tuple[pa.DataType, Cast]:
        """The timestamp type, and a function that converts values of type `kind` to it. `sample` has the first values.

        Raises `TypeError` for a type that holds no times. The message names the option to use.
        """
        if pa.types.is_timestamp(kind):
            return kind, lambda values: values
        if pa.types.is_null(kind) or pa.types.is_date(kind):
            return _MICROSECONDS, lambda values: values.cast(_MICROSECONDS)
        if (is_number(kind) or is_text(kind)) and self.unit is not None:
            epoch = Epoch.of(self.argument, self.name, self.unit, sample)
            target = pa.timestamp(epoch.ticks)
            return target, lambda values: self._in_range(epoch.counted(values), values, target)
        if is_number(kind) and self.format is None:
            allowed = f"timestamps; numbers with --time-unit {'|'.join(UNITS)}, which they count since 1970"
            raise bad_column_type(self.argument, self.name, kind, allowed + _hint(sample))
        if is_number(kind) or is_text(kind):
            return self._of_text(sample.cast(pa.string()))
        raise bad_column_type(self.argument, self.name, kind, "timestamps, dates, text, or numbers with --time-unit")

    def _in_range(self, ticks: pa.Array[Any], values: pa.Array[Any], target: Any) -> pa.Array[Any]:
        """Times from ticks. Raises `ValueError` for a year that no text shows: the numbers count another unit."""
        first, last = (seconds * TIME_UNITS[target.unit].per_second for seconds in _YEARS)
        compute: Any = pc  # its stubs know no column of any type
        is_early, is_late = compute.less(ticks, max(first, -(2**63))), compute.greater(ticks, min(last, 2**63 - 1))
        is_wrong = compute.or_(is_early, is_late)
        if compute.any(is_wrong).as_py():
            is_plain = pa.types.is_integer(values.type) or pa.types.is_floating(values.type)
            wrong = (values if is_plain else values.cast(pa.string())).filter(is_wrong)
            hint = _hint(wrong)
            allowed = f"times of the years 1 to 9999, as --time-unit {self.unit} counts them"
            allowed += "" if hint.endswith(f" {self.unit}") else hint
            raise bad_value(f"{self.argument}: column {self.name!r}", wrong[0].as_py(), allowed)
        return ticks.cast(target)

    def finer(self, values: pa.Array[Any], times: Any, target: pa.DataType) -> Any:
        """The times of these values in a finer unit. Raises `ValueError` for one that it does not hold."""
        try:
            return times.cast(target)
        except pa.ArrowInvalid:
            back = times.cast(target, safe=False).cast(times.type, safe=False)
            far: Any = pc.index(pc.not_equal(back, times), True).as_py()
            got = values[far].as_py() if is_text(values.type) else times[far].value
            raise beyond(self.argument, self.name, got) from None

    def _of_text(self, sample: pa.Array[Any]) -> tuple[pa.DataType, Cast]:
        if self.format is not None:
            form, kind = self.format, self.format.type_of(sample)
            return kind, lambda values: form.times(self.name, values.cast(pa.string()), kind)
        target = pa.timestamp("ns" if _has_nanoseconds(sample) else "us", "UTC" if _has_zone(sample) else None)
        return target, lambda values: self._of_iso(values, target)

    def _of_iso(self, values: pa.Array[Any], target: pa.DataType) -> pa.Array[Any]:
        try:
            return values.cast(target)
        except pa.ArrowInvalid as error:
            wrong = next((text for text in values.to_pylist() if text is not None and not is_time(text, target)), "")
            if is_beyond(wrong, target):
                raise beyond(self.argument, self.name, wrong) from None
            hint = _hint(pa.array([wrong], pa.string())) if _NUMBER.fullmatch(wrong) else ""
            if re.search(r"\d", wrong) is None:
                hint = f"; --null {shlex.quote(wrong)} makes it null"
            raise bad_value(f"{self.argument}: column {self.name!r}", wrong or str(error), _ALLOWED + hint) from None


def iso(option: str, column: str, sample: pa.Array[Any]) -> tuple[pa.DataType, Cast] | None:
    """The type of text that is all times in ISO 8601, and its conversion; None for other text.

    The conversion raises `ValueError` for other text.
    """
    target = pa.timestamp("ns" if _has_nanoseconds(sample) else "us", "UTC" if _has_zone(sample) else None)
    try:
        sample.cast(target)
    except pa.ArrowInvalid:
        return None

    def converted(values: pa.Array[Any]) -> pa.Array[Any]:
        try:
            return values.cast(target)
        except pa.ArrowInvalid:
            wrong = next(text for text in values.to_pylist() if text is not None and not is_time(text, target))
            allowed = f"times, as the first values are; --type {column}=string compares all as text"
            raise bad_value(f"{option}: column {column!r}", wrong, allowed) from None

    return target, converted


def _hint(sample: pa.Array[Any]) -> str:
    """The option that reads numbers as times; their size shows which."""
    first = next((value for value in sample.to_pylist() if value is not None), None)
    if first is None:
        return ""
    text = str(first).strip().replace(",", ".")
    if re.fullmatch(r"(19|20)\d{6}", text):
        return f"; {text} may be a date: --time-format %Y%m%d"
    size = abs(float(text))
    unit = next((unit for unit, least in (("ns", 1e17), ("us", 1e14), ("ms", 1e11), ("s", 1e8)) if size >= least), None)
    return "" if unit is None else f"; {text} may be a time since 1970: --time-unit {unit}"


def _has_zone(sample: pa.Array[Any]) -> bool:
    first = next((text for text in sample.to_pylist() if text), None)
    return first is not None and any(is_time(first, pa.timestamp(unit, "UTC")) for unit in ("us", "ns"))


def _has_nanoseconds(sample: pa.Array[Any]) -> bool:
    is_fine: Any = pc.any(pc.match_substring_regex(sample, r"[.]\d{7,9}(?:\D|$)")).as_py()
    return bool(is_fine)
