"""Plans a scan of Parquet files. Spark lists the files and gives their columns; tasks read the footers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from windrow._arguments.errors import bad_type, bad_value
from windrow._executor.scan.location import Location, located, path_in_store
from windrow._executor.scan.parquet_part import ParquetPart
from windrow._executor.scan.row_groups import row_groups
from windrow._folds.python_shape import has_type
from windrow._spark.configure import setting
from windrow._spark.expressions import is_case_sensitive
from windrow._spark.quoted_name import quoted
from windrow._spark.row_groups import pickled_filesystem, planned
from windrow._spark.scan import Files, checked_filter, chosen, read_columns

_NULL = "__HIVE_DEFAULT_PARTITION__"
_HINT = (
    "; Spark lists the files, also with filesystem=, so it needs a Hadoop filesystem for them, and access; scan with a "
    "dataset of pyarrow needs neither"
)
_INT96 = "spark.sql.parquet.int96TimestampConversion"
_REBASE = "spark.sql.parquet.{}RebaseModeInRead"


def parquet_files(spark: Any, paths: object, columns: object, condition: Any, filesystem: object) -> Files:
    """The row groups of Parquet files that a filter needs, and their columns.

    Raises:
        TypeError: paths, columns, a filter or a filesystem of a wrong type, or a column that windrow cannot read.
        ValueError: no files, a file in several of the paths, a scheme that Arrow cannot read, a column that the files
            lack, a filter that does not fit, or timestamps while Spark converts times of INT96.
        RuntimeError: a file that is no Parquet. It names the file.
    """
    wanted, sent = _paths(paths), pickled_filesystem(filesystem)
    schema, uris = _listed(spark, wanted)
    _check_once(spark, wanted)
    if sent is None:
        located(uris[0])
    names, checked = chosen(columns, schema.names), checked_filter(condition, schema)
    arrow = read_columns(schema, names, checked)
    partitions = _partitions(wanted, uris, arrow.names)
    _check_int96(spark, [field for field in arrow if field.name not in partitions])
    ignore_case, is_strict = not is_case_sensitive(spark), _is_strict(spark)
    fields = [StructField(name, StringType()) for name in ("uri", *partitions)]
    values = [(uri, *(_segments(uri)[name] for name in partitions)) for uri in uris]
    located_files = spark.createDataFrame(values, StructType(fields))
    typed = located_files.select("uri", *(F.col(quoted(n)).cast(schema[n].dataType).alias(n) for n in partitions))
    rows = planned(typed, row_groups, arrow.serialize().to_pybytes(), checked.pickled, sent)
    parts = [(parquet_part(row, filesystem, ignore_case, is_strict), row["bytes"]) for row in rows]
    return Files.of(spark, schema, names, parts, checked)


def parquet_part(
    row: dict[str, Any], filesystem: Any, ignore_case: bool = False, is_strict: bool = False
) -> ParquetPart:
    """The row group of a row of `PLANNED`."""
    place = None if filesystem is None else (filesystem, path_in_store(row["uri"]))
    location = Location(row["uri"], row["size"], row["modified"], place)
    partition = None if row["partition"] is None else bytes(row["partition"])
    return ParquetPart(location, (row["row_group"],), partition, ignore_case, is_strict)


def _paths(paths: object) -> list[str]:
    allowed = 'a path, or a list of paths, such as "events/" or ["2026-05-04.parquet", "2026-05-05.parquet"]'
    several = [paths] if isinstance(paths, str | os.PathLike) else paths
    if not isinstance(several, Sequence) or not all(isinstance(path, str | os.PathLike) for path in several):
        raise bad_type("paths", paths, allowed)
    wanted = [os.fspath(path) for path in several]
    if not wanted or not all(wanted):
        raise bad_value("paths", paths, allowed)
    return wanted


def _listed(spark: Any, paths: list[str]) -> tuple[StructType, list[str]]:
    """The columns and the files, as Spark finds them."""
    try:
        # A frame that a user has cached has no files, so this one differs by an option.
        frame = spark.read.option("windrow", "scan").parquet(*paths)
        schema, uris = frame.schema, sorted(frame.inputFiles())
    except Exception as error:  # each kind of session has its own
        reason, _, more = str(error).strip().partition("\n")
        if reason.startswith("An error occurred while calling"):  # Py4J
            reason = more.partition("\n")[0].removeprefix(": ")
        if "UNABLE_TO_INFER_SCHEMA" in reason:
            raise bad_value("paths", paths, "Parquet files; there are none") from error
        stores = [path for path in paths if urlsplit(path).scheme not in ("", "file")]
        hint = _HINT if stores and not reason.startswith("[PATH_NOT_FOUND]") else ""
        raise bad_value("paths", paths, f"Parquet files that Spark can read ({reason}){hint}") from error
    if not uris:
        raise bad_value("paths", paths, "Parquet files; there are none")
    return schema, uris


def _check_once(spark: Any, paths: list[str]) -> None:
    """Raises `ValueError` for a file in several of the paths. Spark lists it once, and reads it once for each path."""
    if len(paths) == 1:
        return
    files = spark.read.format("binaryFile").load(paths).groupBy("_metadata.file_path").count()
    twice = files.where("count > 1").sort("file_path").head()
    if twice is not None:
        raise bad_value("paths", paths, f"paths that do not overlap; several have {twice.file_path}")


def _check_int96(spark: Any, columns: Sequence[pa.Field[Any]]) -> None:
    """Raises `ValueError` if Spark may convert times of INT96 from UTC to the zone of the session."""
    is_converted = (setting(spark, _INT96) or "").lower() == "true"
    if is_converted and any(has_type(field.type, pa.types.is_timestamp) for field in columns):
        allowed = "false, or spark.read.parquet instead of scan_parquet: windrow does not convert times of INT96"
        raise bad_value(_INT96, "true", allowed)


def _partitions(paths: list[str], uris: list[str], names: Sequence[str]) -> list[str]:
    """The columns whose values are in the names of folders below the paths."""
    whole = (path if "://" in path else os.path.abspath(path) for path in paths)
    partitions = {segment.partition("=")[0] for path in whole for segment in unquote(path).split("/") if "=" in segment}
    below = set(_segments(uris[0])).intersection(*(_segments(uri) for uri in uris[1:]))
    return [name for name in names if name in below and name not in partitions]


def _segments(uri: str) -> dict[str, str | None]:
    """The values in the folders of a path, such as day=2026-05-04, unescaped as Hive does it."""
    folders = unquote(urlsplit(uri.replace("#", "%23").replace("?", "%3F")).path).split("/")[:-1]
    pairs = (folder.partition("=") for folder in folders if "=" in folder)
    return {unquote(name): None if value == _NULL else unquote(value) for name, _, value in pairs}


def _is_strict(spark: Any) -> bool:
    """Whether Spark refuses or converts old dates and times of files that do not say their calendar."""
    modes = {(setting(spark, _REBASE.format(kind)) or "").upper() for kind in ("datetime", "int96")}
    return modes != {"CORRECTED"}
