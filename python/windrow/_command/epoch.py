"""Times and lengths from numbers: how many units, since 1970 or long. They may have fractions."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from decimal import Decimal
from math import inf
from typing import Any, Literal, get_args

import pyarrow as pa
import pyarrow.compute

from windrow._arguments.errors import bad_value
from windrow._command.column_type import plain_numbers

pc: Any = pyarrow.compute
Unit = Literal["s", "ms", "us", "ns"]
UNITS = get_args(Unit)
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
"""Fractional digits of a second."""
_NUMBER = r"^\s*(?P<sign>[+-]?)(?P<whole>\d{1,19})(?:\.(?P<fraction>\d*))?\s*$"
_NO_WHOLE = r"^(\s*[+-]?)\.(\d)"
_ANY_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_EXPONENT = r"^\s*[+-]?(?:\d+\.?\d*|\.\d+)[eE][+-]?\d{1,3}\s*$"


@dataclass(frozen=True)
class Epoch:
    """Numbers that count a unit.

    Attributes:
        argument: the option that names their column.
        column: the column.
        unit: what they count.
        ticks: the unit of the result, fine enough for their fractions.
    """

    argument: str
    column: str
    unit: Unit
    ticks: Unit

    @classmethod
    def of(cls, argument: str, column: str, unit: Unit, sample: pa.Array[Any]) -> Epoch:
        """Numbers whose first values are these: integers, floats, decimals or text."""
        kind = sample.type
        if pa.types.is_integer(kind):
            return cls(argument, column, unit, unit)
        finest: Unit = "ns" if unit == "ns" else "us"
        if pa.types.is_floating(kind):
            return cls(argument, column, unit, finest)
        digits = kind.scale if pa.types.is_decimal(kind) else 0
        if not 0 < digits <= 9 - _DIGITS[unit]:
            fraction = pc.struct_field(pc.extract_regex(_in_digits(sample.cast(pa.string())), _NUMBER), "fraction")
            digits = pc.max(pc.utf8_length(pc.utf8_rtrim(fraction, "0"))).as_py()
        if not digits:
            return cls(argument, column, unit, unit)
        return cls(argument, column, unit, "us" if digits + _DIGITS[unit] <= 6 else "ns")

    def counted(self, values: pa.Array[Any]) -> Any:
        """The numbers as int64, in ticks. Raises `ValueError` for one that ticks cannot hold."""
        if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
            values = values.cast(pa.string())
        try:
            return self._ticks(values)
        except pa.ArrowInvalid:
            raise self._error(_wrong(values)) from None

    def _error(self, wrong: Any) -> ValueError:
        most = Decimal(2**63 - 1).scaleb(_DIGITS[self.unit] - _DIGITS[self.ticks])
        allowed = f"numbers up to {most}"
        text = str(wrong).strip()
        if isinstance(wrong, str) and not re.fullmatch(_ANY_NUMBER, text, re.ASCII):
            plain = plain_numbers(text, ".")
            fix = f"write {plain[0]}" if plain else f"--null {shlex.quote(wrong)} makes it null"
            if re.match(r"[+-]?\d*,\d+$", text):
                fix = f"--decimal , reads it as {text.replace(',', '.')}"
            elif self.argument == "--time" and re.match(r"\d{4}-\d\d", text):
                fix = "text in ISO 8601 needs no --time-unit"
            allowed = f"numbers, as the unit {self.unit} counts them; {fix}"
        elif abs(float(wrong)) <= most:
            allowed += f" in whole {self.ticks}{self._finer(text)}"
        return bad_value(f"{self.argument}: column {self.column!r}", wrong, allowed)

    def _finer(self, text: str) -> str:
        """What reads a number that has more digits behind the point than ticks."""
        digits = 9 - _DIGITS[self.unit]
        try:
            pa.array([text]).cast(pa.decimal128(38, digits))
        except pa.ArrowInvalid:
            return "" if self.unit == "ns" else f"; --type {self.column}=double rounds to microseconds"
        return f", as the first values are; --type '{self.column}=decimal(38,{digits})' reads it"

    def _ticks(self, values: pa.Array[Any]) -> Any:
        digits = _DIGITS[self.ticks] - _DIGITS[self.unit]
        if pa.types.is_integer(values.type):
            return pc.multiply_checked(values.cast(pa.int64()), 10**digits)
        if pa.types.is_floating(values.type):
            return pc.round(pc.multiply(values.cast(pa.float64()), 10.0**digits)).cast(pa.int64())
        parts = pc.extract_regex(_in_digits(values), _NUMBER)
        whole, sign, fraction = (pc.struct_field(parts, name) for name in ("whole", "sign", "fraction"))
        fraction = pc.utf8_rtrim(fraction, "0")
        is_wrong = pc.or_(pc.is_null(parts), pc.greater(pc.utf8_length(fraction), digits))
        wrong: Any = pc.filter(values, pc.and_(pc.is_valid(values), pc.fill_null(is_wrong, True)))
        if len(wrong):
            raise self._error(wrong[0].as_py())
        text = pc.binary_join_element_wise(sign, whole, pc.utf8_rpad(fraction, digits, "0"), "")
        return pc.replace_substring_regex(text, r"^\+", "").cast(pa.int64())


def _in_digits(texts: Any) -> Any:
    """The same numbers without an exponent, and with a digit before the point."""
    if pc.any(pc.match_substring_regex(texts, _EXPONENT)).as_py():
        made = [
            text if text is None or not re.match(_EXPONENT, text) else f"{Decimal(text.strip()):f}"
            for text in texts.to_pylist()
        ]
        texts = pa.array(made, pa.string())
    return pc.replace_substring_regex(texts, _NO_WHOLE, r"\10.\2")


def _wrong(values: pa.Array[Any]) -> object:
    """The value that is farthest from zero, or is not a number."""
    numbers: list[Any] = [value for value in values.to_pylist() if value is not None]
    return max(numbers, key=lambda each: inf if each != each else abs(Decimal(each)))  # noqa: PLR0124
