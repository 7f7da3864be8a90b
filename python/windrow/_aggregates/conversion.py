"""Converts the result of a user's function to an array of the requested type, without loss.

Arrow's own cast parses texts as numbers and formats numbers as texts, drops the fields of a struct that the type lacks,
and turns floats that are too large for 32 bits into infinities.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.nested import LIST_TYPES, nulls
from windrow._arguments.type_names import is_number, is_text
from windrow._folds.python_shape import is_bytes


def as_type(array: pa.Array[Any], kind: pa.DataType) -> pa.Array[Any]:
    """The values of an array in another type.

    Raises:
        TypeError: values of one type are not values of the other, as texts are not numbers.
        ValueError: a value that the other type cannot hold.

    >>> as_type(pa.array([{"n": 1, "m": 2}]), pa.struct([("n", pa.int8())]))
    Traceback (most recent call last):
    TypeError: got an array of struct<n: int64, m: int64>; allowed: struct<n: int8>, or a type that converts to ...
    >>> as_type(pa.array([1e300]), pa.float32())
    Traceback (most recent call last):
    ValueError: got 1e+300; allowed: values that a float holds
    """
    if array.type == kind:
        return array
    if not _becomes(array.type, kind):
        raise TypeError(f"got an array of {array.type}; allowed: {kind}, or a type that converts to it without loss")
    array = _without_hidden(array)
    wide: Any = array
    if pa.types.is_integer(array.type) and pa.types.is_decimal(kind):
        wide = array.cast(pa.decimal256(20 + kind.scale, kind.scale))  # of 64 bits all have a place
    cast: pa.Array[Any] = wide.cast(kind)
    _check_numbers(array, cast)
    return cast


def _without_hidden(array: Any) -> Any:
    """The same values, without the hidden ones behind nulls and outside of lists, which a cast would read."""
    kind: Any = array.type
    if pa.types.is_struct(kind):
        fields = [_without_hidden(field) for field in array.flatten()]
        mask = array.is_null() if array.null_count else None  # the entries of a map may have none
        return pa.StructArray.from_arrays(fields, fields=list(kind), mask=mask) if fields else array
    if not (pa.types.is_map(kind) or isinstance(kind, LIST_TYPES)):
        return array
    copied = _copied(array)
    if str(kind).startswith(("list_view", "large_list_view")):
        return copied
    own = copied.buffers()[: 1 if pa.types.is_fixed_size_list(kind) else 2]
    values = _without_hidden(copied.values)
    return pa.Array.from_buffers(kind, len(copied), own, copied.null_count, children=[values])


def _copied(lists: Any) -> Any:
    """The same lists with their own copy of the values."""
    # Arrow takes single lists of some types only, and puts those of any type together.
    pieces, start = [lists.slice(0, 0)], 0
    for is_null, run in groupby(lists.is_null().to_pylist()):
        rows = len(list(run))
        pieces.append(nulls(rows, lists.type) if is_null else lists.slice(start, rows))
        start += rows
    return pa.concat_arrays(pieces)


def _becomes(actual: Any, wanted: Any) -> bool:
    """Whether values of one type convert to another, if they fit."""
    if actual == wanted or pa.types.is_null(actual):
        return True
    if pa.types.is_dictionary(actual) or pa.types.is_run_end_encoded(actual):
        return _becomes(actual.value_type, wanted)
    if pa.types.is_dictionary(wanted) or pa.types.is_run_end_encoded(wanted):
        return _becomes(actual, wanted.value_type)
    if isinstance(actual, pa.BaseExtensionType) or isinstance(wanted, pa.BaseExtensionType):
        return bool(getattr(actual, "storage_type", actual) == getattr(wanted, "storage_type", wanted))
    if pa.types.is_map(actual) or pa.types.is_map(wanted):
        both = pa.types.is_map(actual) and pa.types.is_map(wanted)
        return both and _becomes(actual.key_type, wanted.key_type) and _becomes(actual.item_type, wanted.item_type)
    if isinstance(actual, LIST_TYPES) and isinstance(wanted, LIST_TYPES):
        return _becomes(actual.value_type, wanted.value_type)
    if pa.types.is_struct(actual) and pa.types.is_struct(wanted):
        theirs, ours = {field.name: field.type for field in actual}, {field.name: field.type for field in wanted}
        return theirs.keys() == ours.keys() and all(_becomes(kind, ours[name]) for name, kind in theirs.items())
    of_any_length = [pa.types.is_fixed_size_binary(kind) or is_bytes(kind) for kind in (actual, wanted)]
    return all(of_any_length) or any(belongs(actual) and belongs(wanted) for belongs in FAMILIES)


FAMILIES: tuple[Callable[[Any], bool], ...] = (
    is_number,
    is_text,
    is_bytes,
    lambda kind: pa.types.is_timestamp(kind) and kind.tz is None,
    lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None,
    pa.types.is_date,
    pa.types.is_time,
    pa.types.is_duration,
)
"""Types in which the same value may be held; which zone a timestamp is shown in does not matter."""


def _check_numbers(array: Any, cast: Any) -> None:
    """Raises `ValueError` if a cast has changed a number, except for the rounding of floats."""
    if isinstance(array, pa.DictionaryArray | pa.RunEndEncodedArray):
        array = pc.cast(array, array.type.value_type)
    if isinstance(cast, pa.DictionaryArray | pa.RunEndEncodedArray):
        cast = pc.cast(cast, cast.type.value_type)
    if pa.types.is_map(array.type):
        _check_numbers(array.keys, cast.keys)
        _check_numbers(array.items, cast.items)
    elif pa.types.is_struct(array.type):
        for name in (field.name for field in array.type):
            _check_numbers(array.field(name), cast.field(name))
    elif isinstance(array.type, LIST_TYPES):
        _check_numbers(array.flatten(), cast.flatten())
    elif is_number(array.type) and array.type != cast.type:
        if pa.types.is_floating(cast.type):
            finite = pc.is_finite(array) if pa.types.is_floating(array.type) else pc.is_valid(array)
            lost = pc.and_(finite, pc.invert(pc.is_finite(cast)))
        else:
            lost = pc.not_equal(cast.cast(array.type, safe=False), array)
        first = pc.index(lost.fill_null(False), True).as_py()
        if first >= 0:
            raise ValueError(f"got {array[first].as_py()!r}; allowed: values that a {cast.type} holds")
