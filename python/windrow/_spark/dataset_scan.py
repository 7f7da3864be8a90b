"""Plans a scan of a pyarrow dataset: its fragments, and the row groups of those that are Parquet."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql.types import StructField, StructType

from windrow._arguments.errors import bad_column_type, bad_type, bad_value
from windrow._arguments.nested import with_inner
from windrow._executor.scan.dataset_part import DatasetPart
from windrow._executor.scan.filter import row_groups_in
from windrow._executor.scan.location import Location
from windrow._executor.scan.read import Part
from windrow._spark.scan import Files, checked_filter, chosen
from windrow._spark.types import spark_type


def dataset_files(spark: Any, dataset: Any, columns: object, condition: Any) -> Files:
    """The fragments of a dataset that a filter needs, and its columns.

    Raises:
        TypeError: no dataset, one in memory, columns or a filter of a wrong type, or a column that Spark does not have.
        ValueError: no fragments, a column that the dataset lacks, or a filter that does not fit.
    """
    if not isinstance(dataset, ds.Dataset):
        raise bad_type("dataset", dataset, 'a dataset of pyarrow, such as pyarrow.dataset.dataset("events/")')
    schema = StructType()
    for field in dataset.schema:
        kind = spark_type(spark_form(field.type))
        if kind is not None:
            schema.add(StructField(field.name, kind))
        elif columns is None or field.name in chosen(columns, dataset.schema.names):
            allowed = "types that Spark has; columns= chooses others"
            raise bad_column_type("columns", field.name, field.type, allowed)
    names, checked = chosen(columns, schema.names), checked_filter(condition, schema)
    fragments = list(dataset.get_fragments() if condition is None else _matching(dataset, condition))
    if not all(isinstance(fragment, ds.FileFragment) for fragment in fragments):
        raise bad_type("dataset", dataset, "a dataset of files; for data in memory, spark.createDataFrame")
    parts = [part for fragment in fragments for part in _parts(fragment, dataset.schema, condition)]
    return Files.of(spark, schema, names, parts, checked)


def _matching(dataset: Any, condition: Any) -> Any:
    try:
        return dataset.get_fragments(filter=condition)
    except (pa.ArrowException, TypeError):
        return dataset.get_fragments()  # folders of another type than the filter; the rows are compared later


def _parts(fragment: Any, schema: pa.Schema, condition: Any) -> Iterator[tuple[Part, int]]:
    try:
        pickle.dumps(fragment)
    except Exception as error:
        allowed = f"a dataset whose files can be sent to executors ({error})"
        raise bad_value("dataset", fragment.path, allowed) from error
    location = Location.of(fragment.path, (fragment.filesystem, fragment.path))
    if not isinstance(fragment, ds.ParquetFileFragment):
        yield DatasetPart(fragment, location, schema), location.size or 1
        return
    for group in row_groups_in(fragment, condition):
        (only,) = group.row_groups
        yield DatasetPart(fragment, location, schema, (only.id,)), only.total_byte_size


def spark_form(kind: Any) -> Any:
    """The Arrow type that corresponds to Spark's own type."""
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    text = str(kind)
    if text in ("large_string", "string_view"):
        return pa.string()
    if text in ("large_binary", "binary_view") or text.startswith("fixed_size_binary"):
        return pa.binary()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    if pa.types.is_duration(kind):
        return pa.duration("us")
    for own, wider in ((pa.uint8(), pa.int16()), (pa.uint16(), pa.int32()), (pa.uint32(), pa.int64())):
        if kind == own:
            return wider
    if kind == pa.uint64():
        return pa.decimal128(20, 0)
    if text.startswith(("list", "large_list", "fixed_size_list")):
        return pa.list_(spark_form(kind.value_type))
    if isinstance(kind, pa.StructType):
        return with_inner(kind, lambda each: pa.field(each.name, spark_form(each.type), each.nullable))
    if isinstance(kind, pa.MapType):
        return pa.map_(spark_form(kind.key_type), spark_form(kind.item_type))
    return kind
