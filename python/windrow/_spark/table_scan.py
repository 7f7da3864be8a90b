"""Plans scans of Delta and Iceberg tables. The library of each reads the table's metadata in this process."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyspark.sql.types import StructField, StructType

from windrow._arguments.errors import bad_column_type, bad_type, bad_value
from windrow._executor.batches import ipc_stream, stream_reader
from windrow._executor.scan.delta_part import DeltaPart
from windrow._executor.scan.iceberg_part import IcebergPart
from windrow._executor.scan.read import Part
from windrow._spark.dataset_scan import spark_form
from windrow._spark.scan import Files, arrow_schema, balanced, cores_of
from windrow._spark.types import spark_type

_PHYSICAL = "delta.columnMapping.physicalName"


def table_files(spark: Any, schema: StructType, parts: Sequence[tuple[Part, int]]) -> Files:
    """The data files of a table, dealt to tasks by their bytes."""
    tasks = tuple(balanced(parts, cores_of(spark)))
    return Files(spark, schema, arrow_schema(schema, schema.names), tuple(schema.names), tasks, None)


def delta_parts(table: object) -> tuple[StructType, list[tuple[DeltaPart, int]]]:
    """The columns of a Delta table, and its data files with their bytes.

    Raises:
        ImportError: no `deltalake`.
        TypeError: not a table, or a nested column with column mapping.
        ValueError: a path without a table.
    """
    library = _library("scan_delta", "deltalake", "delta")
    if isinstance(table, str | os.PathLike):
        path = str(table)
        try:
            table = library.DeltaTable(path)
        except (library.exceptions.DeltaError, OSError) as error:
            raise bad_value("table", path, f"the path of a Delta table ({error})") from error
    if not isinstance(table, library.DeltaTable):
        raise bad_type("table", table, "a deltalake.DeltaTable, or the path of a table")
    opened: Any = table
    schema = StructType.fromJson(json.loads(opened.schema().to_json()))
    names = {}
    for field in schema.fields:
        if _PHYSICAL in json.dumps(field.dataType.jsonValue()):
            allowed = "column mapping of columns that are not nested; for others spark.read.format('delta')"
            raise bad_column_type("table", field.name, field.dataType.simpleString(), allowed)
        names[field.name] = (field.metadata or {}).get(_PHYSICAL, field.name)
    vectors = stream_reader(opened.deletion_vectors()).read_all()
    masks = {
        _path(path.as_py()): pa.array(mask.as_py(), pa.bool_())
        for path, mask in zip(vectors["filepath"], vectors["selection_vector"], strict=True)
    }
    parts = []
    actions = stream_reader(opened.get_add_actions()).read_all().combine_chunks()
    for row in range(actions.num_rows):
        path, size = actions["path"][row].as_py(), actions["size_bytes"][row].as_py()
        uri = path if "://" in path else f"{opened.table_uri.rstrip('/')}/{path}"
        partition = _partition(actions, row, names)
        parts.append((DeltaPart(uri, size, partition, names, masks.pop(_path(uri), None)), size))
    if masks:
        raise ValueError(f"table: got deletion vectors of files that are not in the table: {sorted(masks)[:3]}")
    fields = [StructField(field.name, field.dataType) for field in schema.fields]
    return StructType(fields), sorted(parts, key=lambda part: part[0].uri)


def iceberg_parts(table_or_scan: object) -> tuple[StructType, list[tuple[IcebergPart, int]]]:
    """The columns of an Iceberg table or a scan of one, and its data files with their bytes.

    Raises:
        ImportError: no `pyiceberg`.
        TypeError: neither a table nor a scan, or a column of a type that Spark does not have.
        ValueError: deletes that PyIceberg does not read, or a scan with a limit.
    """
    library = _library("scan_iceberg", "pyiceberg.table", "iceberg")
    given: Any = table_or_scan
    scan = given.scan() if isinstance(given, library.Table) else given
    if not isinstance(scan, library.DataScan):
        raise bad_type("table_or_scan", given, "a pyiceberg.table.Table, or what its scan(...) returns")
    if scan.limit is not None:
        raise bad_value("table_or_scan", f"a scan with limit={scan.limit}", "a scan without a limit")
    try:
        tasks = list(scan.plan_files())
    except (ValueError, NotImplementedError) as error:
        allowed = f"a table that PyIceberg reads ({error}); for others spark.read.format('iceberg')"
        raise bad_value("table_or_scan", type(given).__name__, allowed) from error
    projection = scan.projection()
    arrow: Any = importlib.import_module("pyiceberg.io.pyarrow")
    fields = []
    for field in arrow.schema_to_pyarrow(projection, include_field_ids=False):
        is_readable = (
            "uuid" not in str(field.type) and not pa.types.is_time(field.type) and "[ns" not in str(field.type)
        )
        kind = spark_type(spark_form(field.type)) if is_readable else None
        if kind is None:
            raise bad_column_type("table_or_scan", field.name, field.type, "types that Spark has; select(...) others")
        fields.append(StructField(field.name, kind))
    shared = (scan.table_metadata, scan.io, projection, scan.row_filter, scan.case_sensitive)
    return StructType(fields), [(IcebergPart(*shared, task), task.file.file_size_in_bytes) for task in tasks]


def _partition(actions: pa.Table, row: int, names: dict[str, str]) -> bytes | None:
    """The partition values of a file, by the names of columns in files."""
    if "partition" not in actions.column_names:
        return None
    values: Any = actions["partition"].chunk(0).slice(row, 1)
    columns = [field.name for field in values.type]
    if not columns:
        return None
    named = [names.get(name, name) for name in columns]
    return ipc_stream(pa.RecordBatch.from_arrays(values.flatten(), names=named)).to_pybytes()


def _path(uri: str) -> str:
    """The path of a file, which has no scheme in some lists of deltalake."""
    parts = urlsplit(uri)
    return parts.netloc + unquote(parts.path) if parts.scheme else uri


def _library(call: str, module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"{call} needs {package}: pip install 'windrow[{extra}]'", name=package) from error
