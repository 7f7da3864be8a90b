"""Arrays without values, whose offsets have no buffer or one without bytes. Spark up to 4.1 sends such lists.

Arrow's format allows it, but pyarrow and the core read the first offset of every array.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.nested import LIST_TYPES, inner_fields, nulls, with_inner
from windrow._native import RowColumns

_LISTS: Any = (*LIST_TYPES, pa.MapType)


_VIEWS = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}


def is_encoded(kind: Any) -> bool:
    """Whether a type is another layout of another type's values: runs, or a view of lists. pyarrow 14 has no views."""
    return pa.types.is_run_end_encoded(kind) or str(kind).startswith(("list_view<", "large_list_view<"))


def decoded(kind: Any) -> Any:
    """The type in the layouts that keys have: without runs, and with lists in place of their views, at any depth.

    Nor are there dictionaries of these, of dictionaries or of extension types.

    >>> decoded(pa.run_end_encoded(pa.int32(), pa.string()))
    DataType(string)
    """
    if pa.types.is_run_end_encoded(kind) or (pa.types.is_dictionary(kind) and _is_lost(kind)):
        values = kind.value_type
        return _VIEWS.get(str(values), decoded(values.value_type if pa.types.is_dictionary(values) else values))
    if is_encoded(kind):
        kind = (pa.large_list if str(kind).startswith("large") else pa.list_)(kind.value_field)
    return with_inner(kind, lambda field: field.with_type(decoded(field.type)))


def carried(field: pa.Field[Any]) -> pa.Field[Any]:
    """The field in the type that the core takes: decoded where it has layouts that the core or pyarrow cannot read.

    >>> runs = pa.run_end_encoded(pa.int32(), pa.int8())
    >>> carried(pa.field("v", pa.run_end_encoded(pa.int32(), runs))).type
    DataType(int8)
    """
    return field.with_type(decoded(field.type)) if _is_lost(field.type) else field


def _is_lost(kind: Any) -> bool:
    """Whether runs or a dictionary have extensions, which Arrow's C interface loses, or nested or encoded values."""
    if not pa.types.is_run_end_encoded(kind) and not pa.types.is_dictionary(kind):
        return any(_is_lost(field.type) for field in inner_fields(kind))
    values = kind.value_type
    lost = (
        pa.BaseExtensionType,
        pa.StructType,
        *_LISTS,
        *([pa.DictionaryType] if pa.types.is_dictionary(kind) else []),
    )
    return isinstance(values, lost) or decoded(values) != values


def has_lists(kind: Any) -> bool:
    """Whether a list or a map is in the type, which may have values while its elements have none."""
    if isinstance(kind, _LISTS):
        return True
    return pa.types.is_struct(kind) and any(has_lists(field.type) for field in inner_fields(kind))


def with_offsets(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch, with new buffers for each array without values, at any depth.

    >>> nothing = pa.Array.from_buffers(pa.string(), 0, [None, pa.py_buffer(b""), pa.py_buffer(b"")])
    >>> lists = pa.Array.from_buffers(pa.list_(pa.string()), 1, [None, pa.py_buffer(bytes(8))], children=[nothing])
    >>> with_offsets(pa.record_batch({"v": lists}))["v"].values.buffers()[1] == nothing.buffers()[1]
    False
    """
    if batch.num_rows and not any(has_lists(field.type) for field in batch.schema):
        return batch
    return pa.RecordBatch.from_arrays([rebuilt(column, column.type) for column in batch.columns], schema=batch.schema)


def rebuilt(array: Any, kind: Any) -> Any:
    """The values as a type that may differ in its leaves and in what may be null, with new buffers for missing ones."""
    own = array.type
    if len(array) == 0:
        return nulls(0, kind)
    if own == kind and not has_lists(kind):
        return array
    if pa.types.is_run_end_encoded(own) and not pa.types.is_run_end_encoded(kind):
        places = pa.RunEndEncodedArray.from_arrays(array.run_ends, pa.array(range(len(array.run_ends))))
        # The stubs of pyarrow lack this function.
        decode: Any = pc.run_end_decode  # type: ignore[attr-defined]
        return _taken(rebuilt(array.values, kind), decode(places.slice(array.offset, len(array))))
    if is_encoded(own) and not is_encoded(kind):
        name = "large_list_view" if str(kind).startswith("large") else "list_view"
        values = [rebuilt(array.values, kind.value_type)]
        views = getattr(pa, name)(kind.value_field)
        lists: Any = pa.Array.from_buffers(
            views, len(array), array.buffers()[:3], array.null_count, array.offset, values
        )
        lengths: Any = pc.fill_null(pc.list_value_length(lists), 0)
        nothing: Any = pa.array([0], lengths.type)
        ends = pc.cumulative_sum(pa.concat_arrays([nothing, lengths]))
        validity = array.is_valid().buffers()[1] if array.null_count else None
        return pa.Array.from_buffers(
            kind, len(array), [validity, ends.buffers()[1]], array.null_count, children=[lists.flatten()]
        )
    if pa.types.is_dictionary(own) and decoded(own) != own:
        return _taken(rebuilt(array.dictionary, kind), array.indices)
    if pa.types.is_dictionary(own) and not pa.types.is_dictionary(kind):
        # pyarrow casts no dictionary of views or of nested values, and takes no views.
        plain = _VIEWS.get(str(own.value_type))
        values = array.dictionary if plain is None else array.dictionary.cast(plain)
        return rebuilt(_taken(values, array.indices), kind)
    if pa.types.is_struct(own) and pa.types.is_struct(kind):
        parts = [rebuilt(array.field(position), kind.field(position).type) for position in range(kind.num_fields)]
        # The entries of a map may have no mask, not even one without nulls.
        validity = array.is_valid().buffers()[1] if array.null_count else None
        return pa.Array.from_buffers(kind, len(array), [validity], array.null_count, children=parts)
    if not isinstance(kind, _LISTS) or type(own) is not type(kind):
        return array if own == kind else array.cast(kind)
    inner = pa.struct([kind.key_field, kind.item_field]) if isinstance(kind, pa.MapType) else kind.value_type
    buffers = array.buffers()[: kind.num_buffers]
    return pa.Array.from_buffers(
        kind, len(array), buffers, array.null_count, array.offset, [rebuilt(array.values, inner)]
    )


def _taken(values: Any, places: Any) -> Any:
    """The values at these places, null where a place is null."""
    try:
        return values.take(places)
    except pa.ArrowNotImplementedError:  # such as lists of views; the core takes all types
        rows = pa.RecordBatch.from_pydict({"row": places.cast(pa.int64())})
        taken = RowColumns([pa.RecordBatch.from_pydict({"value": values})], rows, None, 1).read_all()
        return pa.concat_arrays([values.slice(0, 0), *(batch.column(0) for batch in taken)])
