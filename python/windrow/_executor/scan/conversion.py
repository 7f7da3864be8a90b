"""Columns of a file in the types that Spark gives them: the same values, or an error."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from windrow._arguments.nested import LIST_TYPES, inner_fields
from windrow._arguments.type_names import is_text


def is_convertible(own: Any, kind: Any, *, ignore_case: bool = False) -> bool:
    """Whether a column of type `own` holds values of `kind`, without a loss."""
    own = _stored(own)
    if own == kind or pa.types.is_null(own):
        return True
    if pa.types.is_struct(kind):
        fields = [] if not pa.types.is_struct(own) else [kind.field(place) for place in range(kind.num_fields)]
        places = [field_place(own, field.name, ignore_case=ignore_case) for field in fields]
        return pa.types.is_struct(own) and all(
            place is None or is_convertible(own.field(place).type, field.type, ignore_case=ignore_case)
            for place, field in zip(places, fields, strict=True)
        )
    if isinstance(kind, pa.MapType | pa.ListType):
        inner = zip(inner_fields(own), inner_fields(kind), strict=False)
        return isinstance(own, pa.MapType if isinstance(kind, pa.MapType) else LIST_TYPES) and all(
            is_convertible(one.type, other.type, ignore_case=ignore_case) for one, other in inner
        )
    return _is_wider(own, kind)


def converted(array: Any, kind: Any, *, ignore_case: bool = False) -> Any:
    """The values as `kind`. Fields of structs are matched by name, and missing ones are null.

    Raises:
        pyarrow.ArrowInvalid: a value that the type does not hold.
    """
    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    own = array.type
    if own == kind:
        return array
    if pa.types.is_null(own) or len(array) == 0:
        return pa.nulls(len(array), kind)
    if pa.types.is_struct(kind):
        return _struct(array, kind, ignore_case)
    if isinstance(kind, pa.ListType | pa.MapType):
        if isinstance(kind, pa.ListType) and not isinstance(own, pa.ListType):
            array = array.cast(pa.list_(own.value_type))  # large, fixed-size and view
        inner: Any = kind
        inner = pa.struct([inner.key_field, inner.item_field]) if isinstance(kind, pa.MapType) else inner.value_type
        entries = converted(array.values, inner, ignore_case=ignore_case)
        buffers = array.buffers()[:2]
        return pa.Array.from_buffers(kind, len(array), buffers, array.null_count, array.offset, [entries])
    if pa.types.is_timestamp(own) and pa.types.is_timestamp(kind) and own.tz != kind.tz:
        array = array.cast(pa.timestamp(own.unit, kind.tz))  # times without a zone are instants in UTC
    if pa.types.is_binary(kind) or pa.types.is_string(kind):
        return array.cast(kind)
    return array.cast(pa.int64()).cast(kind) if pa.types.is_duration(own) and own.unit == "us" else array.cast(kind)


def field_place(struct: Any, name: str, *, ignore_case: bool) -> int | None:
    """Where a struct has a field of this name, in any case if need be; None if it is missing or not unique."""
    names = [struct.field(place).name for place in range(struct.num_fields)]
    return place_of(names, name, ignore_case=ignore_case)


def place_of(names: list[str], name: str, *, ignore_case: bool) -> int | None:
    """Where a name is among others, in any case if need be; None if it is missing or not unique.

    >>> place_of(["User", "ts"], "user", ignore_case=True)
    0
    """
    if names.count(name) == 1:
        return names.index(name)
    places = [place for place, other in enumerate(names) if ignore_case and other.casefold() == name.casefold()]
    return places[0] if len(places) == 1 else None


def _struct(array: Any, kind: Any, ignore_case: bool) -> Any:
    parts = []
    for number in range(kind.num_fields):
        field = kind.field(number)
        place = field_place(array.type, field.name, ignore_case=ignore_case)
        if place is None:
            parts.append(pa.nulls(len(array), field.type))
        else:
            parts.append(converted(array.field(place), field.type, ignore_case=ignore_case))
    validity = array.is_valid().buffers()[1] if array.null_count else None
    return pa.Array.from_buffers(kind, len(array), [validity], array.null_count, children=parts)


def _stored(kind: Any) -> Any:
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_wider(own: Any, kind: Any) -> bool:
    """Whether each value of a flat type is also a value of another."""
    if pa.types.is_integer(own) and pa.types.is_integer(kind):
        if pa.types.is_signed_integer(own) == pa.types.is_signed_integer(kind):
            return bool(kind.bit_width >= own.bit_width)
        return bool(pa.types.is_signed_integer(kind) and kind.bit_width > own.bit_width)
    if pa.types.is_integer(own):
        holds_all = pa.types.is_decimal(kind) and kind.scale == 0 and kind.precision >= 20
        return bool(holds_all or pa.types.is_duration(kind))
    if pa.types.is_timestamp(own):
        if pa.types.is_timestamp(kind):
            return kind.tz is not None or own.tz is None
        return bool(kind == pa.int64() and own.unit == "ns")
    if pa.types.is_decimal(own) and pa.types.is_decimal(kind):
        return bool(kind.scale >= own.scale and kind.precision - kind.scale >= own.precision - own.scale)
    if pa.types.is_duration(own):
        return bool(kind == pa.int64() or pa.types.is_duration(kind))
    if str(kind) in ("string", "binary"):
        is_bytes = str(own) in ("binary", "large_binary", "binary_view") or str(own).startswith("fixed_size_binary")
        return is_text(own) if str(kind) == "string" and not is_bytes else is_bytes
    if pa.types.is_floating(own) and pa.types.is_floating(kind):
        return bool(kind.bit_width >= own.bit_width)
    is_time = pa.types.is_time(own) and pa.types.is_time64(kind)
    return bool(is_time or (pa.types.is_date(own) and pa.types.is_date32(kind)))
