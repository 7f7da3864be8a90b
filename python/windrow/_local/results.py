"""Results in the kind of the data: rows of Arrow as a table of pyarrow, or a frame of another library.

`kinds` has the library's own type of each result column that comes from a column of the data, such as a key. Arrow has
one type where a library has several: pandas' `int64` and `Int64`, categories, Polars' Enum, DuckDB's UUID.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._aggregates.evaluation import Finish
from windrow._arguments.nested import nulls, with_inner
from windrow._arguments.type_names import VIEWS
from windrow._executor.batches import Batches
from windrow._executor.empty_arrays import is_encoded, rebuilt
from windrow._local.dictionaries import capacity, widened

Kinds = Mapping[str, Any]
"""Types of a library by the name of the result column."""
Parts = list[Any] | dict[str, Any]
"""The types of the parts of a nested column: one of a list, or those of a struct by field. A part may be nested, too.

A type is of the library, or of Arrow if the library has none of its own.
"""


def table_of(finish: Finish | None, batches: Batches, core: pa.Schema) -> pa.Table:
    """The columns `core` of batches as a table, after the last step of a query, if it has one."""
    if finish is None:
        return pa.Table.from_batches(batches, schema=core)
    return pa.Table.from_batches(finish.batches(batches), schema=finish.schema(core))


def is_null(kind: Any) -> bool:
    """Whether all values of a type are null: Arrow's null, or a dictionary of it, which pandas may give."""
    return pa.types.is_null(kind.value_type if pa.types.is_dictionary(kind) else kind)


def without_views(kind: Any) -> pa.DataType:
    """The type with large strings and binaries in place of views, which pyarrow can neither sort, take nor join."""
    if str(kind) in VIEWS:
        return VIEWS[str(kind)]
    if pa.types.is_dictionary(kind):
        values: Any = without_views(kind.value_type)
        kind = pa.dictionary(kind.index_type, values, kind.ordered)
    if isinstance(kind, pa.StructType | pa.ListType | pa.LargeListType):
        kind = with_inner(kind, lambda field: field.with_type(without_views(field.type)))
    whole: pa.DataType = kind
    return whole


def schema_without_views(schema: pa.Schema) -> pa.Schema:
    """The same columns without views."""
    fields = [field.with_type(without_views(field.type)) for field in schema]
    return pa.schema(fields).with_metadata(schema.metadata)


def encoded_values(column: pa.ChunkedArray[Any]) -> pa.ChunkedArray[Any]:
    """The column as a dictionary. One of nested values has an entry for each row: pyarrow cannot compare them."""
    kind: Any = column.type
    if not pa.types.is_nested(kind) and not isinstance(kind, pa.BaseExtensionType):
        if str(kind).startswith(("decimal32", "decimal64")):  # pyarrow encodes only wider ones
            column = column.cast(pa.decimal128(kind.precision, kind.scale))
        return column.dictionary_encode()
    numbers = (pa.array(range(len(part)), pa.int32(), mask=part.is_null().to_numpy(False)) for part in column.chunks)
    of_parts: Any = pa.DictionaryArray.from_arrays
    return pa.chunked_array([of_parts(*part) for part in zip(numbers, column.chunks, strict=True)])


def of_type(column: pa.ChunkedArray[Any], kind: Any) -> pa.ChunkedArray[Any]:
    """The column in a type that holds its values, such as a dictionary of them."""
    if isinstance(kind, pa.DictionaryArray):
        return _in_order(column, kind)
    if column.type == kind:
        return column
    if is_null(kind):
        return pa.chunked_array([nulls(len(column), kind)])
    if is_encoded(kind) and (pa.types.is_run_end_encoded(kind) or pa.types.is_nested(column.type)):
        return column if is_encoded(column.type) else _encoded(column, kind)
    if pa.types.is_dictionary(kind) and not pa.types.is_dictionary(column.type) and _has_layouts(kind.value_type):
        kind = pa.dictionary(kind.index_type, column.type, kind.ordered)
    if not len(column):
        return pa.chunked_array([nulls(0, kind)])
    if not pa.types.is_dictionary(kind):
        return pa.chunked_array([rebuilt(part, kind) for part in column.chunks], kind)
    if not pa.types.is_dictionary(column.type):
        column = encoded_values(column.cast(kind.value_type))
    chunks: Any = column.chunks
    if any(len(part.dictionary) > capacity(kind) for part in chunks):
        kind = widened(kind)  # the data has a dictionary for each chunk
    parts = [(part.indices.cast(kind.index_type), part.dictionary.cast(kind.value_type)) for part in chunks]
    of_parts: Any = pa.DictionaryArray.from_arrays
    encoded: pa.ChunkedArray[Any] = pa.chunked_array([of_parts(*part, ordered=kind.ordered) for part in parts])
    return encoded


def _in_order(column: pa.ChunkedArray[Any], of: Any) -> pa.ChunkedArray[Any]:
    """The column as an ordered dictionary: the one of the array `of`, then the values that it lacks."""
    parts: Any = column.chunks
    if isinstance(column.type, pa.DictionaryType):
        parts = [part.dictionary_decode() for part in parts]
    kind: Any = without_views(of.type.value_type)
    plain = of_type(pa.chunked_array(parts, parts[0].type if parts else kind), kind)
    known, found = of.dictionary.cast(kind), plain.unique().drop_null()
    others = found.filter(pc.invert(pc.is_in(found, known)))
    values: Any = pa.concat_arrays([known, others])
    indices = (of.type if len(values) <= capacity(of.type) else widened(of.type)).index_type
    codes: Any = pc.index_in(plain, value_set=values).cast(indices)
    of_parts: Any = pa.DictionaryArray.from_arrays
    of_chunks: Any = pa.chunked_array
    parts = [of_parts(part, values, ordered=True) for part in codes.chunks]
    made: pa.ChunkedArray[Any] = of_chunks(parts, pa.dictionary(indices, values.type, ordered=True))
    return made


def _has_layouts(kind: Any) -> bool:
    """Whether pyarrow cannot cast plain values to a type: it has other layouts in it."""
    return pa.types.is_dictionary(kind) or pa.types.is_nested(kind)


def _encoded(column: pa.ChunkedArray[Any], kind: Any) -> pa.ChunkedArray[Any]:
    """Decoded values as runs or list views."""
    values: Any = column.type
    parts: Any = column.chunks
    of_parts: Any = pa.chunked_array
    encoded: list[Any]
    if pa.types.is_run_end_encoded(kind):
        runs: Any = pa.RunEndEncodedArray.from_arrays
        ends: Any = pa.int32() if kind.run_end_type == pa.int16() else kind.run_end_type  # a result may have more rows
        encoded = [runs(pa.array(range(1, len(part) + 1), ends), part) for part in parts]
        made: pa.ChunkedArray[Any] = of_parts(encoded, pa.run_end_encoded(ends, values))
        return made
    of_lists: Any = pa.large_list_view if str(kind).startswith("large") else pa.list_view
    kind, encoded = of_lists(values.value_field), []
    for part in parts:
        sizes = pc.fill_null(part.value_lengths(), 0)
        starts = pc.subtract(pc.cumulative_sum(sizes), sizes)
        buffers = [part.is_valid().buffers()[1] if part.null_count else None, starts.buffers()[1], sizes.buffers()[1]]
        encoded.append(pa.Array.from_buffers(kind, len(part), buffers, part.null_count, children=[part.flatten()]))
    views: pa.ChunkedArray[Any] = of_parts(encoded, kind)
    return views


def pyarrow_table(rows: pa.Table, kinds: Kinds) -> pa.Table:
    """A table whose columns have the types of the data, without views."""
    schema = schema_without_views(rows.schema)
    fields, columns = list(schema), list(rows.columns)
    for place, (field, column) in enumerate(zip(schema, rows.columns, strict=True)):
        kind = kinds.get(field.name, field.type)
        # A column of nulls may have values in another input of a cogroup.
        if not isinstance(kind, pa.Array):
            is_all = column.null_count == len(column)
            is_kept = is_all if is_null(kind) else pa.types.is_dictionary(kind) or is_encoded(kind)
            kind = without_views(kind if is_kept else field.type)
        columns[place] = of_type(column, kind)
        fields[place] = field.with_type(columns[place].type)
    return pa.Table.from_arrays(columns, schema=pa.schema(fields).with_metadata(schema.metadata))
