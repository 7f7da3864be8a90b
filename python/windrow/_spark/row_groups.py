"""Plans the row groups of files: a job reads the footers, and each task gets about as many bytes."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from windrow._arguments.errors import bad_type, bad_value
from windrow._executor.scan.row_groups import PLANNED
from windrow._executor.shipping import shipped
from windrow._spark.step import mapped
from windrow._spark.types import spark_type

Planner = Callable[..., list[dict[str, Any]]]
"""Runs a step over values, with the arguments of the step. Returns the rows of `PLANNED`."""


def planner(spark: Any) -> Planner:
    """Runs a step in Spark over URIs or pickled values."""

    def plan(step: Callable[..., Any], values: Sequence[str] | Sequence[bytes], *query: Any) -> list[dict[str, Any]]:
        kind = BinaryType() if values and isinstance(values[0], bytes) else StringType()
        frame = spark.createDataFrame([(value,) for value in values], StructType([StructField("file", kind)]))
        return planned(frame, step, *query)

    return plan


def planned(frame: Any, step: Callable[..., Any], *query: Any) -> list[dict[str, Any]]:
    """The rows of `PLANNED` that a step gives, in order. `RuntimeError` for a file with an error."""
    output: Any = spark_type(pa.struct(list(PLANNED)))
    rows = mapped(frame, shipped(step, *query), output).collect()
    return in_order([row.asDict() for row in rows])


def in_order(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of `PLANNED` by file and row group. `RuntimeError` for a file with an error."""
    for row in rows:
        if row["error"] is not None:
            raise RuntimeError(row["error"])
    return sorted(rows, key=lambda row: (row["uri"], row["row_group"]))


def pickled_filesystem(filesystem: object) -> bytes | None:
    """`filesystem=` as it travels to executors. Messages do not show it, as it may hold a secret.

    Raises:
        TypeError: not a filesystem of pyarrow.
        ValueError: one that cannot be sent to executors.
    """
    from pyarrow import fs

    if filesystem is None:
        return None
    if not isinstance(filesystem, fs.FileSystem):
        raise bad_type("filesystem", type(filesystem), "a filesystem of pyarrow, such as pyarrow.fs.S3FileSystem(...)")
    try:
        return pickle.dumps(filesystem)
    except Exception as error:  # what a filesystem of Python raises
        raise bad_value("filesystem", type(filesystem), "one that can be sent to executors") from error
