"""Types inside Arrow's types: the fields of structs, the elements of lists, the keys and values of maps. No values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

# pyarrow has views from 16 on.
LIST_MAKERS = {"ListType": "list_", "LargeListType": "large_list", "ListViewType": "list_view"}
LIST_MAKERS |= {"LargeListViewType": "large_list_view", "FixedSizeListType": "list_"}
"""What makes a type of lists, by the name of its class."""
LIST_TYPES: tuple[type[Any], ...] = tuple(getattr(pa, name) for name in LIST_MAKERS if hasattr(pa, name))
"""The types of lists, of those that the installed pyarrow has; a map is another type."""


def inner_fields(kind: Any) -> list[pa.Field[Any]]:
    """The fields of a struct, the element of a list, the key and the value of a map; none of another type.

    >>> [field.name for field in inner_fields(pa.map_(pa.string(), pa.int8()))]
    ['key', 'value']
    """
    if isinstance(kind, pa.MapType):
        return [kind.key_field, kind.item_field]
    is_nested = isinstance(kind, (pa.StructType, *LIST_TYPES))
    return [kind.field(place) for place in range(kind.num_fields)] if is_nested else []


def with_inner(kind: Any, change: Callable[[pa.Field[Any]], pa.Field[Any]]) -> Any:
    """The type with other fields inside of it; a type without any as it is.

    >>> with_inner(pa.list_(pa.int8()), lambda element: element.with_type(pa.int16()))
    ListType(list<item: int16>)
    """
    fields = [change(field) for field in inner_fields(kind)]
    if isinstance(kind, pa.StructType):
        return pa.struct(fields)
    if isinstance(kind, pa.MapType):
        of_fields: Callable[..., pa.DataType] = pa.map_  # pyarrow's stubs know no fields here
        return of_fields(fields[0].with_nullable(False), fields[1], kind.keys_sorted)
    size = [kind.list_size] if isinstance(kind, pa.FixedSizeListType) else []
    return getattr(pa, LIST_MAKERS[type(kind).__name__])(*fields, *size) if fields else kind


def nullable(kind: pa.DataType) -> pa.DataType:
    """The type with nulls allowed in its lists, structs and maps, as in Spark's frames from files.

    >>> nullable(pa.struct([pa.field("a", pa.int8(), nullable=False)])).field(0).nullable
    True
    """
    made: pa.DataType = with_inner(kind, lambda field: field.with_type(nullable(field.type)).with_nullable(True))
    return made


def nulls(count: int, kind: Any, *, hidden: bool = False) -> pa.Array[Any]:
    """So many nulls of any type. `hidden`: any values instead, for the fields of a struct that is null.

    `pa.nulls` gives nested runs a bitmap, which they must not have, and crashes for an extension type of a union. Its
    structs have nulls where their fields are declared never null, which Parquet refuses.

    >>> nulls(2, pa.list_(pa.run_end_encoded(pa.int32(), pa.string()))).to_pylist()
    [None, None]
    >>> nulls(2, pa.struct([pa.field("a", pa.int8(), nullable=False)])).field(0).null_count
    0
    """
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, nulls(count, kind.storage_type, hidden=hidden))
    if pa.types.is_dictionary(kind):
        codes: Any = pa.array([0 if hidden else None] * count, kind.index_type)
        values = nulls(int(hidden), kind.value_type, hidden=True)
        return pa.DictionaryArray.from_arrays(codes, values, ordered=kind.ordered)
    if pa.types.is_run_end_encoded(kind):
        ends = [count] if count else []
        values = nulls(len(ends), kind.value_type, hidden=hidden)
        return pa.RunEndEncodedArray.from_arrays(pa.array(ends, kind.run_end_type), values)
    if not pa.types.is_nested(kind):
        plain: pa.Array[Any] = pa.nulls(count, kind)
        is_kept = not hidden or pa.types.is_null(kind)
        return plain if is_kept else pa.Array.from_buffers(kind, count, [None, *plain.buffers()[1:]], 0)
    parts = [kind.field(place) for place in range(kind.num_fields)]
    rows = [0] * len(parts)  # of a list
    if isinstance(kind, pa.MapType):
        parts = [pa.field("entries", pa.struct([kind.key_field, kind.item_field]), nullable=False)]
    elif isinstance(kind, pa.FixedSizeListType):
        rows = [count * kind.list_size]
    elif isinstance(kind, pa.StructType) or str(kind).startswith("sparse"):
        rows = [count] * len(parts)
    children = [nulls(size, part.type, hidden=not part.nullable) for size, part in zip(rows, parts, strict=True)]
    zeros = pa.py_buffer(bytes(8 * (count + 1)))
    if not pa.types.is_union(kind):
        buffers = [None if hidden else zeros, *[zeros] * (kind.num_buffers - 1)]
        return pa.Array.from_buffers(kind, count, buffers, 0 if hidden else count, children=children)
    members = pa.py_buffer(bytes(kind.type_codes[:1]) * count)
    if kind.mode == "dense" and parts:
        children[0] = nulls(1, parts[0].type, hidden=not parts[0].nullable)
    return pa.Array.from_buffers(kind, count, [None, members, *[zeros] * (kind.num_buffers - 2)], 0, children=children)


def no_rows(schema: pa.Schema) -> pa.RecordBatch:
    """An empty batch, for columns of any type."""
    return pa.RecordBatch.from_arrays([nulls(0, field.type) for field in schema], schema=schema)
