"""The Python shape of a value: its class, which follows from its Arrow type and from what `init` makes.

An array is a list, a struct is a dict with all of its names, and a map is a dict (a list of pairs if its keys cannot be
keys of a dict). If `init` makes another class that the type allows, such as a set or a named tuple, at the top or
inside a struct, the value has that class. This holds for rows that a function gets, and for accumulators that come back
from pages.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

from windrow._arguments.nested import LIST_TYPES, with_inner

Shaper = Callable[[Any], Any]
"""From a value that is not None, as `to_pylist` gives it, to its shape."""

_BYTES = ("binary", "large_binary", "binary_view")


def is_list(kind: pa.DataType) -> bool:
    """Whether values are lists of any layout."""
    return isinstance(kind, LIST_TYPES)


def is_bytes(kind: pa.DataType) -> bool:
    """Whether values are bytes of any length and layout."""
    return str(kind) in _BYTES


def decoded(kind: Any) -> pa.DataType:
    """The type of the values of a dictionary or of runs."""
    while pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
    decoded_kind: pa.DataType = kind
    return decoded_kind


def plain(kind: Any) -> pa.DataType:
    """The type with values in the place of dictionaries and runs, at any depth."""
    kind = decoded(kind)
    if pa.types.is_map(kind):
        return pa.map_(plain(kind.key_type), plain(kind.item_type))
    plain_kind: pa.DataType = with_inner(kind, lambda field: field.with_type(plain(field.type)))
    return plain_kind


def is_made(kind: Any, *, inside: bool = False) -> bool:
    """Whether pyarrow can convert Python values to the type: not to unions, nor to nested extension types."""
    kind = decoded(kind)
    if isinstance(kind, pa.BaseExtensionType):
        return not inside and is_made(kind.storage_type, inside=True)
    return not pa.types.is_union(kind) and all(is_made(kind.field(i).type, inside=True) for i in range(kind.num_fields))


def is_deeper(kind: Any, most: int) -> bool:
    """Whether more than `most` lists, maps and structs are nested in each other; without recursion, for any depth."""
    kinds = [kind]
    for _ in range(most + 1):
        kinds = [part for outer in kinds for part in _types_inside(outer)]
    return bool(kinds)


def _types_inside(kind: Any) -> list[pa.DataType]:
    """The types that a type is made of."""
    kind = decoded(kind)
    if isinstance(kind, pa.BaseExtensionType):
        return _types_inside(kind.storage_type)
    if pa.types.is_map(kind):
        return [kind.key_type, kind.item_type]
    return [kind.field(i).type for i in range(kind.num_fields)]


def has_type(kind: Any, is_such: Callable[[Any], bool]) -> bool:
    """Whether the type, or one that it is made of, is such a type."""
    kind = decoded(kind)
    return is_such(kind) or any(has_type(part, is_such) for part in _types_inside(kind))


def can_change(kind: pa.DataType) -> bool:
    """Whether a function can change a value of the type in place."""
    return pa.types.is_nested(decoded(kind)) or isinstance(kind, pa.BaseExtensionType)


def class_of(kind: Any, like: object) -> type:
    """The class of the values of a type that allows several: the class of `like` if the type allows it."""
    python_class: type
    allowed: tuple[type, ...]
    if is_list(kind):
        python_class, allowed = list, (list, tuple, set, frozenset)
    elif pa.types.is_map(kind):
        python_class, allowed = (list if pa.types.is_nested(decoded(kind.key_type)) else dict), (dict, list)
    elif pa.types.is_struct(kind):
        python_class, allowed = dict, (dict, tuple)
    else:
        python_class, allowed = bytes, (bytes, bytearray)
    return type(like) if isinstance(like, allowed) else python_class


def parts_of(like: object, names: Iterable[str]) -> list[Any]:
    """The parts of `like` by the names of a struct; None for all if `like` is not a struct."""
    if isinstance(like, dict):
        return [like.get(name) for name in names]
    if isinstance(like, tuple):
        return [part for part, _ in zip([*like, *(None for _ in names)], names, strict=False)]
    return [None for _ in names]


def shaper_of(kind: Any, like: object = None) -> Shaper | None:
    """The function that brings values into the shape of a type; None if they have it already.

    >>> shaper_of(pa.map_(pa.string(), pa.int64()))([("a", 1)])
    {'a': 1}
    >>> shaper_of(pa.list_(pa.int64()), set())([1, 1])
    {1}
    """
    kind = decoded(kind)
    if is_list(kind):
        return _list(kind, like)
    if pa.types.is_map(kind):
        return _map(kind, like)
    if pa.types.is_struct(kind):
        return _struct(kind, like)
    return bytearray if is_bytes(kind) and isinstance(like, bytearray) else None


def in_shape(shaper: Shaper | None, value: Any) -> Any:
    """A value, as `to_pylist` gives it, in its shape."""
    return value if value is None or shaper is None else shaper(value)


def shaped(values: pa.Array[Any], shaper: Shaper | None) -> list[Any]:
    """The values of an array in their shape."""
    listed: list[Any] = values.to_pylist()
    return listed if shaper is None else [in_shape(shaper, value) for value in listed]


def _list(kind: Any, like: object) -> Shaper | None:
    item, wanted = shaper_of(kind.value_type), class_of(kind, like)
    make = getattr(wanted, "_make", wanted)
    if item is None:
        return None if wanted is list else make
    return lambda values: make([in_shape(item, value) for value in values])


def _map(kind: Any, like: object) -> Shaper:
    of_key, of_item, wanted = shaper_of(kind.key_type), shaper_of(kind.item_type), class_of(kind, like)
    make = wanted if issubclass(wanted, list) else _filler(wanted, like)
    return lambda pairs: make([(in_shape(of_key, key), in_shape(of_item, item)) for key, item in pairs])


def _struct(kind: pa.StructType, like: object) -> Shaper | None:
    fields, wanted = list(kind), class_of(kind, like)
    names = [field.name for field in fields]
    shapers = [shaper_of(field.type, part) for field, part in zip(fields, parts_of(like, names), strict=True)]
    if issubclass(wanted, tuple):
        make = getattr(wanted, "_make", wanted)
        return lambda item: make([in_shape(shaper, item[name]) for name, shaper in zip(names, shapers, strict=True)])
    if wanted is dict and not any(shapers):
        return None
    fill = _filler(wanted, like)
    return lambda item: fill((name, in_shape(shaper, item[name])) for name, shaper in zip(names, shapers, strict=True))


def _filler(wanted: type, like: object) -> Callable[[Iterable[tuple[Any, Any]]], Any]:
    """Makes a dict of pairs. A dict of another class keeps its attributes, such as the function of a `defaultdict`."""

    def fill(pairs: Iterable[tuple[Any, Any]]) -> Any:
        made: Any = {} if wanted is dict else copy.copy(like)
        made.clear()
        for key, value in pairs:
            if key in made:
                raise ValueError(f"a map has the key {key!r} twice; allowed: each key once, as in a dict")
            made[key] = value
        return made

    return fill
