"""Values of Python's plain classes as arrays, many at once.

`windrow._folds.check` checks returned values against their type one at a time, which shows where one does
not fit. Here, columns whose values all have the class that a type takes unchanged become arrays without this check,
several times as fast. Everything else is left to the check.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Sequence
from itertools import accumulate, chain
from types import NoneType
from typing import Any

import pyarrow as pa

from windrow._folds.python_shape import class_of, is_bytes, parts_of


def plain_array(values: Sequence[Any], kind: pa.DataType, like: object = None) -> pa.Array[Any] | None:
    """Values as an array of a type; `like` is what `init` makes. None if a value does not clearly have the type.

    >>> plain_array([{"n": 1}, None], pa.struct([("n", pa.int64())])).to_pylist()
    [{'n': 1}, None]
    >>> plain_array([1, 2.0], pa.int64()) is None
    True
    """
    try:
        array = _array(values, kind, like)
    except (pa.ArrowException, ValueError, OverflowError, KeyError):
        return None
    return array if isinstance(array, pa.Array) and array.type == kind else None  # pyarrow cuts long ones into chunks


def _array(values: Sequence[Any], kind: Any, like: object) -> Any:
    classes = set(map(type, values)) - {NoneType}
    if isinstance(kind, pa.StructType):
        return _structs(values, kind, like) if classes <= {dict} and class_of(kind, like) is dict else None
    if isinstance(kind, pa.ListType):
        return _lists(values, kind) if classes <= {list} and class_of(kind, like) is list else None
    if isinstance(kind, pa.MapType):
        return _maps(values, kind) if classes <= {class_of(kind, like)} <= _DICTS else None
    plain = _class(kind, like)
    return pa.array(values, kind) if plain is not None and classes <= {plain} else None


def _class(kind: Any, like: object) -> type | None:
    """The class whose values all fit a type; None if there is none."""
    if pa.types.is_integer(kind):
        return int
    if pa.types.is_float64(kind):
        return float
    if pa.types.is_boolean(kind):
        return bool
    if str(kind) in ("string", "large_string"):
        return str
    return bytes if is_bytes(kind) and class_of(kind, like) is bytes else None


def _structs(values: Sequence[Any], kind: pa.StructType, like: object) -> Any:
    names = [field.name for field in kind]
    if any(value is not None and len(value) != len(names) for value in values):
        return None
    blank = dict.fromkeys(names)
    dicts = [blank if value is None else value for value in values]
    parts = zip(kind, parts_of(like, names), strict=True)
    columns = [_field([value[field.name] for value in dicts], field, part) for field, part in parts]
    if not columns or not all(isinstance(column, pa.Array) for column in columns):
        return None
    nulls = pa.array([value is None for value in values], pa.bool_())
    return pa.StructArray.from_arrays(columns, fields=list(kind), mask=nulls)


def _lists(values: Sequence[Any], kind: Any) -> Any:
    items = _field(list(chain.from_iterable(value or () for value in values)), kind.value_field)
    if not isinstance(items, pa.Array):
        return None
    nulls = pa.array([value is None for value in values], pa.bool_())
    return pa.ListArray.from_arrays(pa.array(_offsets(values), pa.int32()), items, type=kind, mask=nulls)


def _maps(values: Sequence[Any], kind: Any) -> Any:
    maps = [value for value in values if value is not None]
    keys = _field(list(chain.from_iterable(maps)), kind.key_field)
    items = _field(list(chain.from_iterable(value.values() for value in maps)), kind.item_field)
    if not isinstance(keys, pa.Array) or not isinstance(items, pa.Array):
        return None
    entries = pa.StructArray.from_arrays([keys, items], fields=[kind.key_field, kind.item_field])
    nulls = pa.array([value is None for value in values], pa.bool_())
    lists = pa.ListArray.from_arrays(pa.array(_offsets(values), pa.int32()), entries, mask=nulls)
    return pa.Array.from_buffers(kind, len(lists), lists.buffers()[:2], lists.null_count, children=[entries])


def _offsets(values: Sequence[Any]) -> Any:
    return list(accumulate((len(value or ()) for value in values), initial=0))


_DICTS = {dict, Counter, OrderedDict, defaultdict}


def _field(values: list[Any], field: pa.Field[Any], like: object = None) -> Any:
    return _array(values, field.type, like) if field.nullable or None not in values else None
