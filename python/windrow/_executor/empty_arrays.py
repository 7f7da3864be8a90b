"""Arrays without values, whose offsets have no buffer or one without bytes. Spark up to 4.1 sends such lists.

Arrow's format allows it, but pyarrow and the core read the first offset of every array.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.nested import LIST_TYPES, inner_fields, nulls, with_inner
from windrow._arguments.type_names import VIEWS
from windrow._native import RowColumns

_LISTS: Any = (*LIST_TYPES, pa.MapType)
_ASTRAY = (
    "it has an index or an offset that points beyond its values; allowed: valid Arrow data (pyarrow's "
    "validate(full=True))"
)


def is_encoded(kind: Any) -> bool:
    """Whether a type is another layout of another type's values: runs, or a view of lists. pyarrow 14 has no views."""
    return pa.types.is_run_end_encoded(kind) or str(kind).startswith(("list_view<", "large_list_view<"))


def decoded(kind: Any) -> Any:
    """The type in the layouts that keys have: without runs, and with lists in place of their views, at any depth.

    Nor are there dictionaries of these, of dictionaries or of extension types, nor extension types over them. Maps do
    not declare that their keys are sorted.

    >>> decoded(pa.run_end_encoded(pa.int32(), pa.string()))
    DataType(string)
    """
    if isinstance(kind, pa.BaseExtensionType):
        storage = decoded(kind.storage_type)
        return kind if storage == kind.storage_type else storage
    if pa.types.is_union(kind):
        members = [field.with_type(decoded(field.type)) for field in _members(kind)]
        return (pa.sparse_union if kind.mode == "sparse" else pa.dense_union)(members, kind.type_codes)
    if pa.types.is_run_end_encoded(kind) or (pa.types.is_dictionary(kind) and _is_lost(kind)):
        values = kind.value_type
        return VIEWS.get(str(values), decoded(values.value_type if pa.types.is_dictionary(values) else values))
    if is_encoded(kind):
        kind = (pa.large_list if str(kind).startswith("large") else pa.list_)(kind.value_field)
    if isinstance(kind, pa.MapType) and kind.keys_sorted:
        of_fields: Any = pa.map_
        kind = of_fields(kind.key_field, kind.item_field)
    return with_inner(kind, lambda field: field.with_type(decoded(field.type)))


def carried(field: pa.Field[Any]) -> pa.Field[Any]:
    """The field in the type that the core takes: decoded where it has layouts that the core or pyarrow cannot read.

    >>> runs = pa.run_end_encoded(pa.int32(), pa.int8())
    >>> carried(pa.field("v", pa.run_end_encoded(pa.int32(), runs))).type
    DataType(int8)
    """
    return field.with_type(decoded(field.type)) if _is_lost(field.type) else field


def _is_lost(kind: Any) -> bool:
    """Whether runs or a dictionary have extensions, which Arrow's C interface loses, or nested or encoded values.

    Or whether the keys of a map are declared to be sorted: no result of the core is.
    """
    if isinstance(kind, pa.MapType) and kind.keys_sorted:
        return True
    if not pa.types.is_run_end_encoded(kind) and not pa.types.is_dictionary(kind):
        return any(_is_lost(field.type) for field in (*inner_fields(kind), *_members(kind)))
    values = kind.value_type
    lost = (
        pa.BaseExtensionType,
        pa.StructType,
        *_LISTS,
        *([pa.DictionaryType] if pa.types.is_dictionary(kind) else []),
    )
    return isinstance(values, lost) or decoded(values) != values


def _members(kind: Any) -> list[pa.Field[Any]]:
    """The fields of a union; none of another type."""
    return [kind.field(place) for place in range(kind.num_fields)] if pa.types.is_union(kind) else []


def may_lack_buffers(kind: Any) -> bool:
    """Whether a list, a map, a dictionary, runs or a union is in the type: those with values may have parts without."""
    if isinstance(kind, _LISTS) or pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return True
    return pa.types.is_union(kind) or any(may_lack_buffers(field.type) for field in inner_fields(kind))


def with_offsets(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch, with new buffers for each array without values, at any depth.

    >>> nothing = pa.Array.from_buffers(pa.string(), 0, [None, pa.py_buffer(b""), pa.py_buffer(b"")])
    >>> lists = pa.Array.from_buffers(pa.list_(pa.string()), 1, [None, pa.py_buffer(bytes(8))], children=[nothing])
    >>> with_offsets(pa.record_batch({"v": lists}))["v"].values.buffers()[1] == nothing.buffers()[1]
    False
    """
    if batch.num_rows and not any(may_lack_buffers(field.type) for field in batch.schema):
        return batch
    return pa.RecordBatch.from_arrays([rebuilt(column, column.type) for column in batch.columns], schema=batch.schema)


def column_of(name: str, column: Any, kind: Any) -> Any:
    """`rebuilt` values of a column. Raises a `ValueError` that names it if it has indices beyond its values."""
    try:
        made = rebuilt(column, kind)
        _check_codes(made)
    except (pa.ArrowInvalid, IndexError) as error:
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            raise ValueError(f'column "{name}": {_ASTRAY} ({error})') from error
        raise
    return made


def _check_codes(array: Any) -> None:
    """Raises `IndexError` for a code beyond its dictionary, at any depth. pyarrow and the core let some pass."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        bounds: Any = pc.min_max(array.indices).as_py()
        if bounds["min"] is not None and not 0 <= bounds["min"] <= bounds["max"] < len(array.dictionary):
            raise IndexError(f"codes from {bounds['min']} to {bounds['max']} for {len(array.dictionary)} values")
        _check_codes(array.dictionary)
    elif pa.types.is_struct(kind):
        for place in range(kind.num_fields):
            _check_codes(array.field(place))
    elif isinstance(kind, _LISTS) or pa.types.is_run_end_encoded(kind):
        _check_codes(array.values)


def rebuilt(array: Any, kind: Any) -> Any:
    """The values as a type that may differ in its leaves and in what may be null, with new buffers for missing ones."""
    own = array.type
    if len(array) == 0 or (pa.types.is_null(own) and own != kind):
        return nulls(len(array), kind)
    if own == kind and not may_lack_buffers(kind):
        return array
    if pa.types.is_run_end_encoded(own) and pa.types.is_run_end_encoded(kind):  # pyarrow casts slices from their start
        runs = [array.run_ends.cast(kind.run_end_type), rebuilt(array.values, kind.value_type)]
        return pa.Array.from_buffers(kind, len(array), [None], 0, array.offset, children=runs)
    if pa.types.is_union(own) or (own == kind and not isinstance(kind, (pa.StructType, *_LISTS))):
        return _with_parts(array, kind)
    if pa.types.is_run_end_encoded(own):
        places = pa.RunEndEncodedArray.from_arrays(array.run_ends, pa.array(range(len(array.run_ends))))
        # The stubs of pyarrow lack this function.
        decode: Any = pc.run_end_decode  # type: ignore[attr-defined]
        return _taken(rebuilt(array.values, kind), decode(places.slice(array.offset, len(array))))
    if isinstance(own, pa.BaseExtensionType) and own != kind:
        return rebuilt(array.storage, kind)
    if is_encoded(own) and not is_encoded(kind):
        # pyarrow flattens no extension types, so it flattens the places of the values.
        numbers = pa.array(range(len(array.values)), pa.int64())
        views = (pa.large_list_view if str(kind).startswith("large") else pa.list_view)(numbers.type)
        lists: Any = pa.Array.from_buffers(
            views, len(array), array.buffers()[:3], array.null_count, array.offset, [numbers]
        )
        lengths: Any = pc.fill_null(pc.list_value_length(lists), 0)
        nothing: Any = pa.array([0], lengths.type)
        ends = pc.cumulative_sum(pa.concat_arrays([nothing, lengths]))
        validity = array.is_valid().buffers()[1] if array.null_count else None
        values = [_taken(rebuilt(array.values, kind.value_type), lists.flatten())]
        return pa.Array.from_buffers(kind, len(array), [validity, ends.buffers()[1]], array.null_count, children=values)
    if pa.types.is_dictionary(own) and decoded(own) != own:
        return _taken(rebuilt(array.dictionary, kind), array.indices)
    if pa.types.is_dictionary(own) and not pa.types.is_dictionary(kind):
        # pyarrow casts no dictionary of views or of nested values, and takes no views.
        plain = VIEWS.get(str(own.value_type))
        values = array.dictionary if plain is None else array.dictionary.cast(plain)
        return rebuilt(_taken(values, array.indices), kind)
    if pa.types.is_struct(own) and pa.types.is_struct(kind):
        names = [field.name for field in own]
        is_renamed = sorted(names) != sorted({field.name for field in kind})
        order = range(kind.num_fields) if is_renamed else [names.index(field.name) for field in kind]
        parts = [rebuilt(array.field(place), field.type) for place, field in zip(order, kind, strict=True)]
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


def _with_parts(array: Any, kind: Any) -> Any:
    """A dictionary or a union with new buffers for values that have none; any other array as it is."""
    if pa.types.is_dictionary(kind) and not len(array.dictionary):
        return pa.DictionaryArray.from_arrays(array.indices, nulls(0, kind.value_type), ordered=kind.ordered)
    if not pa.types.is_union(kind):
        return array
    rows, buffers = len(array), array.buffers()
    cut = [buffers[1].slice(array.offset, rows)]
    if kind.mode == "dense":
        cut.append(buffers[2].slice(4 * array.offset, 4 * rows))
    members = [rebuilt(array.field(place), field.type) for place, field in enumerate(_members(kind))]
    return pa.Array.from_buffers(kind, rows, [None, *cut], 0, children=members)


def _taken(values: Any, places: Any) -> Any:
    """The values at these places, null where a place is null."""
    try:
        return values.take(places)
    except pa.ArrowNotImplementedError:  # such as lists of views; the core takes all types
        rows = pa.RecordBatch.from_pydict({"row": places.cast(pa.int64())})
        taken = RowColumns([pa.RecordBatch.from_pydict({"value": values})], rows, None, 1).read_all()
        return pa.concat_arrays([values.slice(0, 0), *(batch.column(0) for batch in taken)])
