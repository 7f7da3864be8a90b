"""The library that data is of, by the module of its type."""

from __future__ import annotations

import os
from typing import Any

from windrow._arguments.errors import bad_type
from windrow._plan.input import ALLOWED, Input

_FILE = (
    "what is read from it, such as pyarrow.parquet.read_table(path), polars.scan_parquet(path), "
    "duckdb.read_parquet(path), spark.read.parquet(path), or pyarrow.dataset.dataset(path).scanner().to_reader()"
)
_FILES = ("ParquetFile", "ParquetDataset", "Dataset", "Scanner")
"""Classes of pyarrow that read files and, so far, give no Arrow stream."""


def open_input(data: object) -> Input[Any]:
    """The input that fits `data`, by the module of its type: no library is imported that is not in use.

    Raises:
        TypeError: nothing that windrow reads.
        ValueError: a streaming DataFrame with a watermark.
        ImportError: a DataFrame of a PySpark that is older than 3.5.
    """
    if isinstance(data, Input):
        return data
    if isinstance(data, type):
        raise bad_type("data", data, ALLOWED)
    if isinstance(data, str | os.PathLike):
        raise bad_type("data", data, _FILE)
    libraries = {kind.__module__.partition(".")[0] for kind in type(data).__mro__}
    if "pyspark" in libraries:
        from windrow._spark.environment import check_pyspark

        check_pyspark("data", "a DataFrame")  # an older one lacks what the next import names
        if getattr(data, "isStreaming", False) is True:
            from windrow._spark.release import check_stream

            check_stream(data)  # an older Spark lacks what the next import names
            from windrow._spark.streaming import StreamInput

            return StreamInput.of(data)
        from windrow._spark.batch import BatchInput

        return BatchInput.of(data)
    is_file = "pyarrow" in libraries and any(kind.__name__ in _FILES for kind in type(data).__mro__)
    if is_file and not hasattr(data, "__arrow_c_stream__"):
        raise bad_type("data", data, _FILE)
    from windrow._local.query import LocalInput

    return LocalInput.of(data, libraries)
