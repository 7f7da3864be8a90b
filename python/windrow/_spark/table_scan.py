"""Plans scans of Delta and Iceberg tables. The library of each reads the table's metadata in this process."""

from __future__ import annotations

import importlib
import json
import os
import pickle
import re
from dataclasses import replace
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyspark.sql.types import StructField, StructType

from windrow._arguments.errors import bad_column_type, bad_type, bad_value
from windrow._executor.batches import ipc_stream, stream_reader
from windrow._executor.scan.iceberg_part import IcebergPart, IcebergTable
from windrow._executor.scan.parquet_part import ParquetPart
from windrow._executor.scan.row_groups import iceberg_row_groups, row_groups
from windrow._folds.python_shape import has_type
from windrow._spark.dataset_scan import spark_form
from windrow._spark.parquet_scan import parquet_part
from windrow._spark.row_groups import Planner, pickled_filesystem
from windrow._spark.scan import read_columns
from windrow._spark.types import spark_type

_COLOURS = re.compile(r"\x1b\[[\d;]*m")
"""What colours a terminal, in errors of deltalake."""
_PHYSICAL = "delta.columnMapping.physicalName"
_BY_SPARK = "spark.read.format('delta')"


def delta_parts(
    table: object, plan: Planner, filesystem: object = None
) -> tuple[StructType, list[tuple[ParquetPart, int]]]:
    """The columns of a Delta table, and the row groups of its data files with their bytes.

    Raises:
        ImportError: no `deltalake`.
        TypeError: not a table, a nested column with column mapping, a column that windrow cannot read, or no
            filesystem.
        ValueError: a path without a table, or a table with a feature that deltalake lacks, such as type widening.
        RuntimeError: a file that is not as the log says.
    """
    library = _library("scan_delta", "deltalake", "deltalake")
    if isinstance(table, str | os.PathLike):
        path = str(table)
        try:
            table = library.DeltaTable(path)
        except (library.exceptions.DeltaError, OSError) as error:
            allowed = f"the path of a Delta table ({_reason(error)}); for features that deltalake lacks {_BY_SPARK}"
            raise bad_value("table", path, allowed) from error
    if not isinstance(table, library.DeltaTable):
        raise bad_type("table", table, "a deltalake.DeltaTable, or the path of a table")
    opened: Any = table
    schema = StructType.fromJson(json.loads(opened.schema().to_json()))
    names = {}
    for field in schema.fields:
        if _PHYSICAL in json.dumps(field.dataType.jsonValue()):
            allowed = f"column mapping of columns that are not nested; for others {_BY_SPARK}"
            raise bad_column_type("table", field.name, field.dataType.simpleString(), allowed)
        names[field.name] = (field.metadata or {}).get(_PHYSICAL, field.name)
    try:
        vectors = stream_reader(opened.deletion_vectors()).read_all()
    except library.exceptions.DeltaError as error:  # the first call that asks whether deltalake has all features
        allowed = f"a Delta table with features that deltalake has ({_reason(error)}); for others {_BY_SPARK}"
        raise bad_value("table", opened.table_uri, allowed) from error
    masks = {
        _path(path.as_py()): pa.array(mask.as_py(), pa.bool_())
        for path, mask in zip(vectors["filepath"], vectors["selection_vector"], strict=True)
    }
    sizes, partitions, keep = {}, {}, {}
    actions = stream_reader(opened.get_add_actions()).read_all().combine_chunks()
    for row in range(actions.num_rows):
        path = actions["path"][row].as_py()
        uri = path if "://" in path else f"{opened.table_uri.rstrip('/')}/{path}"
        sizes[uri], partitions[uri] = actions["size_bytes"][row].as_py(), _partition(actions, row)
        keep[uri] = masks.pop(_path(uri), None)
    if masks:
        raise ValueError(f"table: got deletion vectors of files that are not in the table: {sorted(masks)[:3]}")
    fields = [StructField(field.name, field.dataType) for field in schema.fields]
    columns = read_columns(StructType(fields), schema.names).serialize().to_pybytes()
    parts = []
    sent = pickled_filesystem(filesystem)
    for planned in plan(row_groups, list(sizes), columns, None, sent):
        uri = planned["uri"]
        if planned["size"] != sizes[uri]:
            raise RuntimeError(
                f"{uri}: the file has {planned['size']} bytes, but the log of the Delta table says {sizes[uri]}"
            )
        part = replace(parquet_part(planned, filesystem), partition=partitions[uri], names=names, keep=keep[uri])
        parts.append((part, planned["bytes"]))
    return StructType(fields), parts


def iceberg_parts(table_or_scan: object, plan: Planner) -> tuple[StructType, list[tuple[IcebergPart, int]]]:
    """The columns of an Iceberg table or a scan of one, and the row groups of its data files with their bytes.

    Raises:
        ImportError: no `pyiceberg`.
        TypeError: neither a table nor a scan, or a column of a type that Spark does not have.
        ValueError: deletes or another feature that PyIceberg does not read, data files that are not Parquet, a scan
            with a limit, or one whose columns, filter or snapshot do not fit the table.
        RuntimeError: a file that is missing or is not as the metadata says.
    """
    library = _library("scan_iceberg", "pyiceberg.table", "'pyiceberg[pyarrow]>=0.12,<0.13'")
    table: Any = table_or_scan
    scan = table.scan() if isinstance(table, library.Table) else table
    if not isinstance(scan, library.DataScan):
        raise bad_type("table_or_scan", table, "a pyiceberg.table.Table, or what its scan(...) returns")
    if scan.limit is not None:
        raise bad_value("table_or_scan", f"a scan with limit={scan.limit}", "a scan without a limit")
    projection = _projection(scan)
    _check_row_filter(scan)
    tasks = _tasks(scan)
    arrow: Any = importlib.import_module("pyiceberg.io.pyarrow")
    fields = []
    for field in arrow.schema_to_pyarrow(projection, include_field_ids=False):
        kind = None if has_type(field.type, _is_refused) else spark_type(spark_form(field.type))
        if kind is None:
            raise bad_column_type("table_or_scan", field.name, field.type, "types that Spark has; select(...) others")
        fields.append(StructField(field.name, kind))
    for task in tasks:
        if task.file.file_format != "PARQUET":
            allowed = "a table whose data files are Parquet; for others spark.read.format('iceberg')"
            raise bad_value("table_or_scan", task.file.file_path, allowed)
    shared = IcebergTable(scan.table_metadata, scan.io, projection, scan.row_filter, scan.case_sensitive)
    of_file = {task.file.file_path: task for task in tasks}
    rows = plan(iceberg_row_groups, [pickle.dumps(task) for task in tasks], pickle.dumps(shared))
    parts = [(IcebergPart(shared, of_file[row["uri"]], (row["row_group"],)), row["bytes"]) for row in rows]
    return StructType(fields), parts


def _tasks(scan: Any) -> list[Any]:
    """The data files of the scan, each with its deletes, which PyIceberg plans."""
    exceptions: Any = importlib.import_module("pyiceberg.exceptions")
    try:
        return list(scan.plan_files())
    except OSError as error:
        raise RuntimeError(f"table_or_scan: the metadata of {_named(scan)} cannot be read: {error}") from error
    except (
        ValueError,  # such as deletes by equality
        TypeError,
        NotImplementedError,
        exceptions.ResolveError,
        exceptions.ValidationError,
    ) as error:
        allowed = f"a table that PyIceberg reads ({_reason(error)}); for others spark.read.format('iceberg')"
        raise bad_value("table_or_scan", _named(scan), allowed) from error


def _named(scan: Any) -> str:
    metadata = scan.table_metadata
    place = "/".join(metadata.location.rstrip("/").split("/")[-2:])  # its namespace and name; an error cuts long values
    return f"the Iceberg table {place} of format version {metadata.format_version}"


def _projection(scan: Any) -> Any:
    if scan.snapshot_id is not None and scan.table_metadata.snapshot_by_id(scan.snapshot_id) is None:
        found = ", ".join(str(each.snapshot_id) for each in scan.table_metadata.snapshots)
        allowed = f"a snapshot of the table, which has {found or 'none'}"
        raise bad_value("table_or_scan", f"a scan with snapshot_id={scan.snapshot_id}", allowed)
    try:
        return scan.projection()
    except ValueError as error:
        raise bad_value(
            "table_or_scan", f"a scan with selected_fields={scan.selected_fields}", _fitting(scan, error)
        ) from error


def _check_row_filter(scan: Any) -> None:
    visitors: Any = importlib.import_module("pyiceberg.expressions.visitors")
    try:
        visitors.bind(scan.table_metadata.schema(), scan.row_filter, scan.case_sensitive)
    except (TypeError, ValueError) as error:
        raise bad_value("table_or_scan", f"a scan with row_filter={scan.row_filter}", _fitting(scan, error)) from error


def _is_refused(kind: Any) -> bool:
    """Whether a scan refuses the type: a UUID or another extension, a time of day, a time in nanoseconds."""
    is_nanoseconds = pa.types.is_timestamp(kind) and kind.unit == "ns"
    return is_nanoseconds or pa.types.is_time(kind) or isinstance(kind, pa.BaseExtensionType)


def _fitting(scan: Any, error: Exception) -> str:
    names = ", ".join(repr(name) for name in scan.table_metadata.schema().column_names)
    return f"what fits the columns of the table and their types ({error}); it has {names}"


def _reason(error: Exception) -> str:
    return " ".join(_COLOURS.sub("", str(error)).split())


def _partition(actions: pa.Table, row: int) -> bytes | None:
    """The partition values of a file."""
    if "partition" not in actions.column_names:
        return None
    values: Any = actions["partition"].chunk(0).slice(row, 1)
    return ipc_stream(pa.RecordBatch.from_struct_array(values)).to_pybytes() if values.type.num_fields else None


def _path(uri: str) -> str:
    """The path of a file, which has no scheme in some lists of deltalake."""
    parts = urlsplit(uri)
    return parts.netloc + unquote(parts.path) if parts.scheme else uri


def _library(call: str, module: str, requirement: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"{call} needs {package}: pip install {requirement}", name=package) from error
