"""What Python functions return, held to an Arrow type: a value goes over as it is, or is refused.

`pa.array` alone would cut 2.75 to 2 for an int64, let a name that a struct does not have vanish, and shift times of
another zone. What would come back from a page in another shape (`windrow.shape`) is refused as well, so that it is
known at once and not after a restart.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from numbers import Integral, Rational, Real
from typing import Any

import pyarrow as pa

from windrow.errors import bad_type, bad_value
from windrow.shape import class_of, decoded, is_bytes, is_list, parts_of

Check = Callable[[Any], Any]
"""From a value that is not None to what `pa.array` takes for it unchanged, or `UnfitError`."""

_STEPS = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 1}
"""How many microseconds, in which Python counts, a value of the unit is a multiple of."""


class UnfitError(Exception):
    """A value that its type does not have, and where it is in what was returned."""

    def __init__(self, got: object, allowed: str, *, fits: bool = False) -> None:
        """`fits` tells that the value has the right class."""
        super().__init__(allowed)
        self._got, self._allowed, self._fits, self._path = got, allowed, fits, ""

    def under(self, step: str) -> UnfitError:
        """The same one step further out."""
        self._path = step + self._path
        return self

    def told(self, name: str = "result") -> ValueError | TypeError:
        """The error for a user, of the value that has this name."""
        make = bad_value if self._fits else bad_type
        return make(f"{name}{self._path}", self._got, self._allowed)


def array_of(values: Iterable[Any], kind: pa.DataType, check: Check) -> pa.Array[Any]:
    """Values as an array of a type, by the `check_of` of that type. None is null.

    Raises:
        TypeError: a value of a class that the type does not allow; the message has the path to it.
        ValueError: a value that the type cannot hold as it is.
    """
    try:
        return pa.array([None if value is None else check(value) for value in values], kind)
    except UnfitError as unfit:
        raise unfit.told() from None


def fitted(value: Any, check: Check) -> Any:
    """What a check gives of one value, or what `array_of` raises. None is None."""
    try:
        return None if value is None else check(value)
    except UnfitError as unfit:
        raise unfit.told() from None


def check_of(kind: pa.DataType, like: object = None) -> Check:
    """The check of a type, for values in its shape; `like` is what `init` makes.

    >>> kind = pa.struct([("n", pa.list_(pa.int8()))])
    >>> array_of([{"n": [1, 2.5]}], kind, check_of(kind))
    Traceback (most recent call last):
        ...
    TypeError: result.n[1]: got 2.5, a float; allowed: an int from -128 to 127 (int8)
    """
    kind = decoded(kind)
    for is_known, shape in _SHAPED:
        if is_known(kind):
            return shape(kind, like)
    for is_known, make in _CHECKS:
        if is_known(kind):
            return make(kind)
    return lambda value: value  # intervals of months, unions, extensions: Arrow's own check


def is_rounded(kind: Any) -> bool:
    """Whether the type has floats of fewer bits than Python's, which come back rounded."""
    kind = decoded(kind)
    if pa.types.is_map(kind):
        return is_rounded(kind.key_type) or is_rounded(kind.item_type)
    if pa.types.is_struct(kind):
        return any(is_rounded(field.type) for field in kind)
    return is_rounded(kind.value_type) if is_list(kind) else pa.types.is_floating(kind) and kind.bit_width < 64


def _instance(kind: pa.DataType, allowed: str, fits: Callable[[Any], bool], plain: Check | None = None) -> Check:
    def check(value: Any) -> Any:
        if not fits(value):
            raise UnfitError(value, f"{allowed} ({kind})")
        return plain(value) if plain is not None else value

    return check


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool) or (type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_"))


def _bytes(kind: pa.DataType, like: object) -> Check:
    check = _of_class(kind, like)
    return lambda value: bytes(check(value))


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
            (held,) = unpack(pack(float(value)))
        except OverflowError:
            raise UnfitError(value, f"a number in the range of a {kind}", fits=True) from None
        if whole and held != value:
            raise UnfitError(value, f"an int that a {kind} holds exactly, or a float", fits=True)
        nearest: float = held
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
    return _zoned(_moment(kind, datetime, allowed, "microsecond"), f"{allowed} ({kind})", zoned=zoned)


def _moment(kind: Any, wanted: type, allowed: str, part: str) -> Check:
    """Values whose `part` below a second is a whole number of the type's unit."""
    step, nanoseconds = _STEPS[kind.unit], part.replace("micro", "nano")

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


def _of_class(kind: Any, like: object, parts: str = "") -> Check:
    """Values of the class that the type has them come back as."""
    wanted = class_of(kind, like)
    allowed = f"{_named(wanted)}{parts} ({kind})"

    def check(value: Any) -> Any:
        if type(value) is not wanted:
            raise UnfitError(value, allowed)
        return value

    return check


def _list(kind: Any, like: object) -> Check:
    of_class, item = _of_class(kind, like), _nested(kind.value_field)
    size = kind.list_size if isinstance(kind, pa.FixedSizeListType) else None

    def check(value: Any) -> list[Any]:
        if size is not None and len(of_class(value)) != size:
            raise UnfitError(value, f"{size} values ({kind})", fits=True)
        return [_at("[{}]", place, item, each) for place, each in enumerate(of_class(value))]

    return check


def _struct(kind: pa.StructType, like: object) -> Check:
    known = {field.name: field for field in kind}
    parts = parts_of(like, known)
    fields = {name: _nested(field, part) for (name, field), part in zip(known.items(), parts, strict=True)}
    names = ", ".join(fields)
    of_class = _of_class(kind, like, f" of {names}")

    def check(value: Any) -> dict[str, Any]:
        held = of_class(value)
        if isinstance(held, tuple):
            if len(held) != len(fields):
                raise UnfitError(value, f"a tuple of {len(fields)} values, {names}", fits=True)
            held = dict(zip(fields, held, strict=True))
        for name in held:
            if name not in fields:
                raise UnfitError(name, f"the names {names}", fits=True)
        if len(held) != len(fields):
            raise UnfitError(value, f"all of the names {names}, with None for no value", fits=True)
        return {name: _at(".{}", name, field, held[name]) for name, field in fields.items()}

    return check


def _map(kind: Any, like: object) -> Check:
    of_key, of_value = check_of(kind.key_type), _nested(kind.item_field)
    wanted = class_of(kind, like)
    of_class = _of_class(kind, like, " of tuples (key, value)" if issubclass(wanted, list) else "")

    def check(value: Any) -> list[tuple[Any, Any]]:
        held = of_class(value)
        pairs = list(held.items()) if isinstance(held, dict) else held
        if not all(type(pair) is tuple and len(pair) == 2 for pair in pairs):
            raise UnfitError(value, f"tuples (key, value) ({kind})")
        return [(_at("[{!r}]", key, of_key, key), _at("[{!r}]", key, of_value, each)) for key, each in pairs]

    return check


def _named(kind: type) -> str:
    return f"{'an' if kind.__name__[0] in 'AEIOUaeiou' else 'a'} {kind.__name__}"


def _at(step: str, key: object, check: Check, value: Any) -> Any:
    """What a check gives, one step inside."""
    try:
        return check(value)
    except UnfitError as unfit:
        raise unfit.under(step.format(key)) from None


def _nested(field: pa.Field[Any], like: object = None) -> Check:
    """The check of a field: None is allowed where it is nullable."""
    check = check_of(field.type, like)
    if not field.nullable:
        return check
    return lambda value: None if value is None else check(value)


_CHECKS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any], Check]], ...] = (
    (pa.types.is_integer, _integer),
    (pa.types.is_floating, _floating),
    (pa.types.is_boolean, lambda kind: _instance(kind, "a bool", _is_bool, bool)),
    (pa.types.is_decimal, _decimal),
    (
        lambda kind: str(kind) in ("string", "large_string", "string_view"),
        lambda kind: _instance(kind, "a str", lambda value: isinstance(value, str)),
    ),
    (pa.types.is_fixed_size_binary, _fixed_bytes),
    (pa.types.is_date, _date),
    (pa.types.is_time, _time),
    (pa.types.is_timestamp, _timestamp),
    (pa.types.is_duration, _duration),
    (pa.types.is_null, lambda kind: _instance(kind, "None", lambda _value: False)),
)

_SHAPED: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any, object], Check]], ...] = (
    (is_bytes, _bytes),
    (pa.types.is_map, _map),
    (pa.types.is_struct, _struct),
    (is_list, _list),
)
