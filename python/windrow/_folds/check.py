"""Checks what Python functions return against an Arrow type: a value is converted exactly, or refused.

`pa.array` alone would cut 2.75 to 2 for an int64, drop a name that a struct does not have, and shift times of another
zone. A value that would come back from a page in another shape (`windrow._folds.python_shape`) is refused too, so that
the error comes at once and not after a restart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

from windrow._folds.check_scalar import Check, UnfitError, check_of_scalar
from windrow._folds.python_shape import class_of, decoded, has_type, is_bytes, is_list, parts_of


def array_of(values: Iterable[Any], kind: pa.DataType, check: Check) -> pa.Array[Any]:
    """Values as an array of a type, by the `check_of` of that type. None is null.

    Raises:
        TypeError: a value of a class that the type does not allow; the message has the path to it.
        ValueError: a value that the type cannot hold as it is.
    """
    return pa.array([fitted(value, check) for value in values], kind)


def fitted(value: Any, check: Check) -> Any:
    """The checked value, or the error that `array_of` raises. None is None."""
    try:
        return None if value is None else check(value)
    except UnfitError as unfit:
        raise unfit.error() from None


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
    return check_of_scalar(kind)


def is_rounded(kind: Any) -> bool:
    """Whether the type has floats of fewer bits than Python's, which come back rounded."""
    return has_type(kind, lambda part: pa.types.is_floating(part) and part.bit_width < 64)


def is_zoned(kind: Any) -> bool:
    """Whether the type has timestamps of a zone, which a check brings to UTC."""
    return has_type(kind, lambda part: pa.types.is_timestamp(part) and part.tz is not None)


def _bytes(kind: pa.DataType, like: object) -> Check:
    check = _of_class(kind, like)
    return lambda value: bytes(check(value))


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
    field_of = {field.name: field for field in kind}
    parts = parts_of(like, field_of)
    fields = {name: _nested(field, part) for (name, field), part in zip(field_of.items(), parts, strict=True)}
    names = ", ".join(fields)
    of_class = _of_class(kind, like, f" of {names}")

    def check(value: Any) -> dict[str, Any]:
        shaped = of_class(value)
        if isinstance(shaped, tuple):
            if len(shaped) != len(fields):
                raise UnfitError(value, f"a tuple of {len(fields)} values, {names}", fits=True)
            shaped = dict(zip(fields, shaped, strict=True))
        for name in shaped:
            if name not in fields:
                raise UnfitError(name, f"the names {names}", fits=True)
        if len(shaped) != len(fields):
            raise UnfitError(value, f"all of the names {names}, with None for no value", fits=True)
        return {name: _at(".{}", name, field, shaped[name]) for name, field in fields.items()}

    return check


def _map(kind: Any, like: object) -> Check:
    of_key, of_value = check_of(kind.key_type), _nested(kind.item_field)
    wanted = class_of(kind, like)
    of_class = _of_class(kind, like, " of tuples (key, value)" if issubclass(wanted, list) else "")

    def check(value: Any) -> list[tuple[Any, Any]]:
        shaped = of_class(value)
        pairs = list(shaped.items()) if isinstance(shaped, dict) else shaped
        if not all(type(pair) is tuple and len(pair) == 2 for pair in pairs):
            raise UnfitError(value, f"tuples (key, value) ({kind})")
        return [(_at("[{!r}]", key, of_key, key), _at("[{!r}]", key, of_value, each)) for key, each in pairs]

    return check


def _named(kind: type) -> str:
    return f"{'an' if kind.__name__[0] in 'AEIOUaeiou' else 'a'} {kind.__name__}"


def _at(step: str, key: object, check: Check, value: Any) -> Any:
    """The result of a check, one step inside."""
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


_SHAPED: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any, object], Check]], ...] = (
    (is_bytes, _bytes),
    (pa.types.is_map, _map),
    (pa.types.is_struct, _struct),
    (is_list, _list),
)
