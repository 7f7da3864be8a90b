"""Checks single Python values against an Arrow type: numbers, texts, bytes of one length, times."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from numbers import Integral, Rational, Real
from typing import Any

import pyarrow as pa

from windrow._arguments.duration import TIME_UNITS
from windrow._arguments.errors import bad_type, bad_value
from windrow._arguments.instant import in_utc
from windrow._arguments.type_names import is_text

Check = Callable[[Any], Any]
"""From a value that is not None to what `pa.array` takes for it unchanged, or `UnfitError`."""


class UnfitError(Exception):
    """A value that its type does not have, and its place in the returned value."""

    def __init__(self, got: object, allowed: str, *, fits: bool = False) -> None:
        """`fits`: whether the value has the right class."""
        super().__init__(allowed)
        self._got, self._allowed, self._fits, self._path = got, allowed, fits, ""

    def under(self, step: str) -> UnfitError:
        """The same one step further out."""
        self._path = step + self._path
        return self

    def error(self, name: str = "result") -> ValueError | TypeError:
        """The error for a user, of the value that has this name."""
        make = bad_value if self._fits else bad_type
        return make(f"{name}{self._path}", self._got, self._allowed)


def check_of_scalar(kind: pa.DataType) -> Check:
    """The check of a type without nested types."""
    for is_known, make in _CHECKS:
        if is_known(kind):
            return make(kind)
    return lambda value: value  # intervals of months, unions, extensions: Arrow's own check


def _instance(kind: pa.DataType, allowed: str, fits: Callable[[Any], bool], plain: Check | None = None) -> Check:
    def check(value: Any) -> Any:
        if not fits(value):
            raise UnfitError(value, f"{allowed} ({kind})")
        return plain(value) if plain is not None else value

    return check


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool) or (type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_"))


def _fixed_bytes(kind: pa.FixedSizeBinaryType) -> Check:
    width = kind.byte_width
    return _instance(kind, f"{width} bytes", lambda value: type(value) is bytes and len(value) == width)


def _integer(kind: pa.DataType) -> Check:
    values = 2**kind.bit_width
    least = -(values // 2) if pa.types.is_signed_integer(kind) else 0
    most = least + values - 1
    allowed = f"an int from {least} to {most} ({kind})"

    def check(value: Any) -> int:
        if type(value) is not int and (not isinstance(value, Integral) or isinstance(value, bool)):
            raise UnfitError(value, allowed)
        whole = int(value)
        if not least <= whole <= most:
            raise UnfitError(value, allowed, fits=True)
        return whole

    return check


def _floating(kind: pa.DataType) -> Check:
    packing = struct.Struct({16: "<e", 32: "<f", 64: "<d"}[kind.bit_width])
    pack, unpack, is_own = packing.pack, packing.unpack, kind.bit_width == 64

    def check(value: Any) -> float:
        plain = type(value) is float
        if plain and is_own:
            return float(value)
        whole = not plain and isinstance(value, Integral) and not isinstance(value, bool)
        if not plain and not whole and (not isinstance(value, Real) or isinstance(value, Rational)):
            raise UnfitError(value, f"a float or an int ({kind})")
        try:
            (stored,) = unpack(pack(float(value)))
        except OverflowError:
            raise UnfitError(value, f"a number in the range of a {kind}", fits=True) from None
        if whole and stored != value:
            raise UnfitError(value, f"an int that a {kind} holds exactly, or a float", fits=True)
        nearest: float = stored
        return nearest

    return check


def _decimal(kind: Any) -> Check:
    precision, scale = kind.precision, kind.scale
    allowed = f"a Decimal or an int of at most {precision} digits, {scale} of them after the point ({kind})"

    def check(value: Any) -> Decimal:
        if not isinstance(value, Decimal | Integral) or isinstance(value, bool):
            raise UnfitError(value, allowed)
        exact = value if isinstance(value, Decimal) else Decimal(int(value))
        sign, digits, exponent = exact.as_tuple()
        if not isinstance(exponent, int):
            raise UnfitError(value, allowed, fits=True)
        text = "".join(map(str, digits)).lstrip("0")
        kept = text.rstrip("0")
        zeros = exponent + scale + len(text) - len(kept)  # after the last digit that counts, in units of the scale
        if kept and (zeros < 0 or len(kept) + zeros > precision):
            raise UnfitError(value, allowed, fits=True)
        return Decimal((sign, tuple(map(int, kept)) + (0,) * zeros if kept else (0,), -scale))

    return check


def _date(kind: pa.DataType) -> Check:
    return _instance(kind, "a date without a time", lambda it: isinstance(it, date) and not isinstance(it, datetime))


def _duration(kind: pa.DurationType) -> Check:
    return _moment(kind, timedelta, "a timedelta", "microseconds")


def _time(kind: pa.Time32Type[Any] | pa.Time64Type[Any]) -> Check:
    return _zoned(_moment(kind, time, "a time", "microsecond"), "a time without a zone", zoned=False)


def _timestamp(kind: pa.TimestampType[Any, Any]) -> Check:
    zoned = kind.tz is not None
    allowed = f"a datetime {'with' if zoned else 'without'} a zone"
    check = _zoned(_moment(kind, datetime, allowed, "microsecond"), f"{allowed} ({kind})", zoned=zoned)
    return _in_utc(check, kind) if zoned else check


def _in_utc(inner: Check, kind: pa.DataType) -> Check:
    def check(value: Any) -> datetime:
        try:
            return in_utc(inner(value))
        except OverflowError:
            raise UnfitError(value, f"a datetime of the years 1 to 9999 in UTC ({kind})", fits=True) from None

    return check


def _moment(kind: Any, wanted: type, allowed: str, part: str) -> Check:
    """Values whose `part` below a second is a whole number of the type's unit."""
    step, nanoseconds = TIME_UNITS[kind.unit].microseconds, part.replace("micro", "nano")

    def check(value: Any) -> Any:
        if not isinstance(value, wanted) or type(value).__name__ == "NaTType":  # of pandas, as the nanoseconds are
            raise UnfitError(value, f"{allowed} ({kind})")
        if getattr(value, part) % step or (kind.unit != "ns" and getattr(value, nanoseconds, 0)):
            raise UnfitError(value, f"{allowed}, in whole {kind.unit} ({kind})", fits=True)
        return value

    return check


def _zoned(inner: Check, allowed: str, *, zoned: bool) -> Check:
    def check(value: Any) -> Any:
        if (inner(value).utcoffset() is not None) is not zoned:
            raise UnfitError(value, allowed, fits=True)
        return value

    return check


_CHECKS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any], Check]], ...] = (
    (pa.types.is_integer, _integer),
    (pa.types.is_floating, _floating),
    (pa.types.is_boolean, lambda kind: _instance(kind, "a bool", _is_bool, bool)),
    (lambda kind: str(kind) == "extension<arrow.bool8>", lambda kind: _instance(kind, "a bool", _is_bool, int)),
    (pa.types.is_decimal, _decimal),
    (is_text, lambda kind: _instance(kind, "a str", lambda value: isinstance(value, str))),
    (pa.types.is_fixed_size_binary, _fixed_bytes),
    (pa.types.is_date, _date),
    (pa.types.is_time, _time),
    (pa.types.is_timestamp, _timestamp),
    (pa.types.is_duration, _duration),
    (pa.types.is_null, lambda kind: _instance(kind, "None", lambda _value: False)),
)
