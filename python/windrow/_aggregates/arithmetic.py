"""`+ - * /` of finished results and numbers, row by row. A null gives null.

Integers count as bigints, and unsigned 64-bit integers as decimals of 20 digits. With a float, both operands are
doubles. Decimals are exact, in a type of up to 38 digits that has room for all results of the operands' types, as in
Spark.

The difference of two times is a duration, in the finer of their units. Durations have `+`, `-`, and `/` by a duration.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.type_names import is_number

_DIGITS = 38
_UNITS = ("s", "ms", "us", "ns")


def quotient(left: Any, right: Any) -> Any:
    """A float64; null where the divisor is zero."""
    if _are_durations(left, right):
        unit = _finer(left, right)
        left, right = _ticks(left, unit), _ticks(right, unit)
    divisor = _float(_number(right))
    divisor = pc.if_else(pc.equal(divisor, pa.scalar(0.0)), pa.scalar(None, pa.float64()), divisor)
    return pc.divide(_float(_number(left)), divisor)


def total(left: Any, right: Any) -> Any:
    """The sum; an integer, a decimal or a duration that does not fit is an error."""
    if _are_durations(left, right):
        return _duration("sum", pc.add_checked, left, right)
    return _exact("sum", pc.add_checked, left, right)


def difference(left: Any, right: Any) -> Any:
    """The difference; an integer, a decimal or a duration that does not fit is an error."""
    left, right = _instant(left), _instant(right)
    if _are_durations(left, right):
        return _duration("difference", pc.subtract_checked, left, right)
    if pa.types.is_timestamp(left.type) and pa.types.is_timestamp(right.type):
        if (left.type.tz is None) is not (right.type.tz is None):
            raise TypeError(
                f"got the difference of {left.type} and {right.type}; allowed: two times with a zone, or two without"
            )
        return _duration("difference", pc.subtract_checked, left, right)
    return _exact("difference", pc.subtract_checked, left, right)


def length(window: Any) -> Any:
    """The end of windows less their start."""
    start, end = window.flatten()
    return difference(end, start)


def product(left: Any, right: Any) -> Any:
    """The product; an integer or a decimal that does not fit is an error."""
    return _exact("product", pc.multiply_checked, left, right)


def _exact(what: str, operation: Any, left: Any, right: Any) -> Any:
    kinds = [_number(left).type, _number(right).type]
    if any(map(pa.types.is_floating, kinds)):
        return operation(_float(left), _float(right))
    if not any(map(_is_wide, kinds)):
        return _fitting(what, "int64", lambda: operation(left.cast(pa.int64()), right.cast(pa.int64())))
    one, other = _decimal(left), _decimal(right)
    kind = _result_type(what, one.type, other.type)
    if kind.precision <= _DIGITS:
        return operation(one, other)
    shown = pa.decimal128(_DIGITS, kind.scale)
    # 256 bits hold 76 digits: those of a factor of 38 digits, one of 37, and one more.
    first = pa.decimal256(min(one.type.precision, _DIGITS), one.type.scale)
    second = pa.decimal256(min(other.type.precision, _DIGITS - 1), other.type.scale)
    return _fitting(what, str(shown), lambda: operation(one.cast(first), other.cast(second)).cast(shown))


def _instant(value: Any) -> Any:
    """A date as the timestamp of its midnight; anything else as it is."""
    return value.cast(pa.timestamp("us")) if pa.types.is_date(value.type) else value


def _are_durations(left: Any, right: Any) -> bool:
    return pa.types.is_duration(left.type) and pa.types.is_duration(right.type)


def _finer(left: Any, right: Any) -> Any:
    """The finer unit of two columns of times or durations."""
    return max(left.type.unit, right.type.unit, key=_UNITS.index)


def _duration(what: str, operation: Any, left: Any, right: Any) -> Any:
    """A duration that an operation with two times or durations gives."""
    unit = _finer(left, right)
    kind = pa.duration(unit)
    return _fitting(what, str(kind), lambda: operation(_ticks(left, unit), _ticks(right, unit)).cast(kind))


def _ticks(value: Any, unit: Any) -> Any:
    """Times or durations as integers that count a unit."""
    is_duration = pa.types.is_duration(value.type)
    kind: Any = pa.duration(unit) if is_duration else pa.timestamp(unit, value.type.tz)
    return value.cast(kind).cast(pa.int64())


def _float(value: Any) -> Any:
    """The doubles nearest to numbers, even for integers of more than 53 bits."""
    return value.cast(pa.float64(), safe=False)


def _is_wide(kind: Any) -> bool:
    return pa.types.is_decimal(kind) or pa.types.is_uint64(kind)


def _decimal(value: Any) -> Any:
    """Numbers other than floats as decimals; a single number with only the digits that it needs."""
    if pa.types.is_decimal(value.type):
        return value
    if isinstance(value, pa.Scalar):
        return pa.scalar(Decimal(value.as_py()))
    return value.cast(pa.decimal128(20 if pa.types.is_uint64(value.type) else 19, 0))


def _result_type(what: str, left: Any, right: Any) -> Any:
    """The type of all results, of up to 76 digits, by the rule of Spark and Arrow."""
    if what == "product":
        precision, scale = left.precision + right.precision + 1, left.scale + right.scale
    else:
        scale = max(left.scale, right.scale)
        precision = max(left.precision - left.scale, right.precision - right.scale) + scale + 1
    if scale > _DIGITS:
        raise TypeError(
            f"got the {what} of {left} and {right}; allowed: decimals whose {what} has {_DIGITS} digits after the "
            "point, or doubles (use then)"
        )
    return pa.decimal256(min(precision, 2 * _DIGITS), scale)


def _fitting(what: str, kind: str, work: Any) -> Any:
    try:
        return work()
    except pa.ArrowInvalid:
        raise OverflowError(f"the {what} does not fit its type ({kind})") from None


def _number(value: Any) -> Any:
    kind = value.type
    if not is_number(kind):
        raise TypeError(
            f"got a result of type {kind}; allowed: results that are numbers, two times (for -), or two durations (for "
            "+, - and /); turn other types into a number with then"
        )
    return value
