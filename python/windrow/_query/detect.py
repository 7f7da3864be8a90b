"""Finds the library of data by the module of its type."""

from __future__ import annotations

import functools
from typing import Any

from windrow._arguments.column import check_prefix
from windrow._arguments.errors import bad_type, bad_value
from windrow._plan.input import Input, check_table, libraries_of
from windrow._query.scans import Scan


def open_input(data: object, schema: object = None, streaming: bool | None = None) -> Input[Any]:
    """The input that fits `data`, by the module of its type. This imports no library that is not in use.

    `schema` and `streaming` are what the user declares of a Spark DataFrame.

    Raises:
        TypeError: data that windrow does not read, or a declaration of the wrong type.
        ValueError: what is declared differs from the data, or is missing inside a pipeline; or a column whose name
            begins with `windrow.`.
        ImportError: a DataFrame of PySpark before 3.5.
    """
    if isinstance(data, Input):
        return data
    opened = _opened(data, schema, streaming)
    check_prefix("data", opened.columns)
    return opened


def _opened(data: object, schema: object, streaming: bool | None) -> Input[Any]:
    if isinstance(data, Scan):
        _check_undeclared(schema, streaming, "None for a scan, whose files have a schema")
        return data.input
    libraries = libraries_of(data)
    if type(data).__module__.startswith("pyspark.pandas"):
        from windrow._local.foreign_tables import wrong_table

        raise wrong_table("data", data, "a DataFrame that is not grouped")
    if "pyspark" in libraries:
        from windrow._spark.environment import check_pyspark

        check_pyspark("data", "a DataFrame")  # an older one lacks what the next import names
        from windrow._spark.declared import declared_schema, is_streaming

        columns = None if schema is None else declared_schema(schema)
        if is_streaming(data, streaming, declared=columns is not None):
            from windrow._spark.release import check_stream

            check_stream(data)  # an older Spark lacks what the next import names
            from windrow._spark.streaming import StreamInput

            return StreamInput.of(data, columns)
        from windrow._spark.batch import BatchInput

        return BatchInput.of(data, columns)
    _check_undeclared(schema, streaming, "None for data in this process, which has a schema")
    from windrow._local.query import LocalInput

    return LocalInput.of(data)


def open_table(data: object) -> Any:
    """A table of open windows for `Options.start`. An in-process table is read now.

    Raises:
        TypeError: no table.
        ValueError: a streaming DataFrame.
    """
    check_table(data)
    allowed = "the open windows of advance(...).still_open: a batch DataFrame, or a table in this process"
    if "pyspark" in libraries_of(data):
        from windrow._spark.release import is_frame

        if not is_frame(data):
            raise bad_type("open", data, allowed)
        if data.isStreaming:
            raise bad_value("open", "a streaming DataFrame", allowed)
        return data
    from windrow._executor.open_windows import BEGINS_ANEW
    from windrow._local.advance import open_rows
    from windrow._local.sources import columns_of

    return functools.partial(open_rows, columns_of(data, "open", allowed).held(), anew=BEGINS_ANEW)


def _check_undeclared(schema: object, streaming: bool | None, allowed: str) -> None:
    """Raises `ValueError` if the user declares what the data itself has."""
    for argument, declared in (("schema", schema), ("streaming", streaming)):
        if declared is not None:
            raise bad_value(argument, declared, allowed)
