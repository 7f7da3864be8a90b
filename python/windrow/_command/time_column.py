"""Timestamps from a time column that holds text, integers or dates."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.errors import bad_column_type, bad_value, unknown_word

ARGUMENT = "--time"
Unit = Literal["s", "ms", "us", "ns"]
UNITS = get_args(Unit)
_MICROSECONDS = pa.timestamp("us")
_NANOSECONDS = re.compile(r"[.]\d{7,9}(?!\d)")
Cast: TypeAlias = "Callable[[pa.Array[Any]], pa.Array[Any]]"


@dataclass(frozen=True)
class TimeColumn:
    """The time column of the input, and how to read its values.

    Attributes:
        name: its name.
        format: the `strptime` format of its text; None for ISO 8601.
        unit: the unit of its integers since 1970: `s`, `ms`, `us` or `ns`; None if integers are not times.
    """

    name: str
    format: str | None = None
    unit: Unit | None = None

    def __post_init__(self) -> None:
        """Raises `ValueError` for an unknown unit."""
        if self.unit is not None and self.unit not in UNITS:
            raise unknown_word("--time-unit", self.unit, UNITS)

    def cast(self, kind: pa.DataType, sample: pa.Array[Any]) -> tuple[pa.DataType, Cast]:
        """The timestamp type, and a function that converts values of type `kind` to it. `sample` has the first values.

        Raises `TypeError` for a type that holds no times. The message names the option to use.
        """
        if pa.types.is_timestamp(kind):
            return kind, lambda values: values
        if pa.types.is_null(kind) or pa.types.is_date(kind):
            return _MICROSECONDS, lambda values: values.cast(_MICROSECONDS)
        if pa.types.is_integer(kind):
            if self.unit is None:
                allowed = f"timestamps; integers with --time-unit {'|'.join(UNITS)}, which they count since 1970"
                raise bad_column_type(ARGUMENT, self.name, kind, allowed)
            counted = pa.timestamp(self.unit)
            return counted, lambda values: counts(ARGUMENT, self.name, values).cast(counted)
        if pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view":
            if self.format is not None:
                return _MICROSECONDS, self._parsed
            target = pa.timestamp("ns" if _has_nanoseconds(sample) else "us", "UTC" if _has_zone(sample) else None)
            return target, lambda values: self._of_iso(values, target)
        raise bad_column_type(ARGUMENT, self.name, kind, "timestamps, dates, text or integers with --time-unit")

    def _parsed(self, values: pa.Array[Any]) -> pa.Array[Any]:
        try:
            return pc.strptime(values.cast(pa.string()), format=self.format or "", unit="us")
        except pa.ArrowInvalid as error:
            raise bad_value(
                "--time-format", self.format, f"the format of the text of {self.name!r} ({error})"
            ) from None

    def _of_iso(self, values: pa.Array[Any], target: pa.DataType) -> pa.Array[Any]:
        try:
            return values.cast(target)
        except pa.ArrowInvalid as error:
            wrong = next((text for text in values.to_pylist() if text is not None and not _is_time(text, target)), "")
            allowed = (
                "timestamps, or text in ISO 8601, such as 2026-05-04T09:00:00, all with a zone or none, in nanoseconds "
                "where the first ones are; of other text name its format: --time-format '%d/%m/%Y %H:%M'"
            )
            raise bad_value(f"{ARGUMENT}: column {self.name!r}", wrong or str(error), allowed) from None


def counts(argument: str, column: str, values: pa.Array[Any]) -> pa.Array[Any]:
    """The integers as int64. Raises `ValueError` for one that does not fit."""
    try:
        return values.cast(pa.int64())
    except pa.ArrowInvalid:
        largest: Any = pc.max(values)
        raise bad_value(f"{argument}: column {column!r}", largest.as_py(), f"integers up to {2**63 - 1}") from None


def _has_zone(sample: pa.Array[Any]) -> bool:
    first = next((text for text in sample.to_pylist() if text), None)
    return first is not None and any(_is_time(first, pa.timestamp(unit, "UTC")) for unit in ("us", "ns"))


def _has_nanoseconds(sample: pa.Array[Any]) -> bool:
    return any(text and _NANOSECONDS.search(text) for text in sample.to_pylist())


def _is_time(text: str, kind: pa.DataType) -> bool:
    try:
        pa.scalar(text, pa.string()).cast(kind)
    except pa.ArrowInvalid:
        return False
    return True
