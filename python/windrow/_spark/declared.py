"""DataFrames whose columns and kind the user declares.

A function of Spark's declarative pipelines may not ask Spark about its DataFrames: `df.schema`, `df.columns` and
`df.isStreaming` raise `ATTEMPT_ANALYSIS_IN_PIPELINE_QUERY_FUNCTION`. So windrow takes both from the user, and gives
each DataFrame between its steps the columns that it has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from windrow._arguments.ddl import arrow_type
from windrow._arguments.errors import bad_type, bad_value
from windrow._executor.declared import check_declared
from windrow._spark.quoted_name import quoted
from windrow._spark.release import is_frame
from windrow._spark.types import arrow_field, spark_type

_REFUSED = "ATTEMPT_ANALYSIS_IN_PIPELINE_QUERY_FUNCTION"
_UNREAD = "CANNOT_PARSE_DATATYPE"
_EXAMPLE = "user string, ts timestamp, amount double"
_CONNECT = "pyspark.sql.connect."


def declared_schema(schema: object) -> StructType:
    """The columns that `schema=` declares: a `StructType`, or text in Spark's words, which is read here.

    Spark itself would ask its server for the meaning of the text.

    Raises:
        TypeError: neither of them.
        ValueError: not a list of names and types, or a name twice.
    """
    columns = schema
    if isinstance(schema, str):
        columns = spark_type(arrow_type("schema", schema))
        if not isinstance(columns, StructType):
            raise bad_value("schema", schema, f'names and types of columns, such as "{_EXAMPLE}"')
    if not isinstance(columns, StructType):
        raise bad_type("schema", schema, f'a StructType, or names and types of columns, such as "{_EXAMPLE}"')
    for name, times in Counter(name.casefold() for name in columns.names).items():
        if times > 1:
            raise bad_value("schema", name, "each name once, ignoring case")
    return columns


def is_streaming(data: Any, streaming: bool | None, *, declared: bool) -> bool:
    """Whether the DataFrame is a stream: what the user declares, or what Spark says.

    Raises:
        TypeError: `streaming` is not True, False or None.
        ValueError: it is None inside a pipeline, or Spark says otherwise.
    """
    if streaming is not None and not isinstance(streaming, bool):
        raise bad_type("streaming", streaming, "True or False")
    if streaming is not None and _is_connect(data):
        return streaming
    try:
        actual = is_frame(data) and data.isStreaming
    except Exception as error:
        if _REFUSED in str(error):
            raise _inside_pipeline(declared) from error
        raise
    if streaming not in (None, actual):
        raise bad_value("streaming", streaming, f"{actual}, which Spark reports for this DataFrame")
    return actual


def schema_of(frame: DataFrame) -> StructType:
    """The columns that Spark gives.

    Raises:
        ValueError: inside a pipeline, where it gives none.
        TypeError: a type that this PySpark cannot read, such as a calendar interval before 4.0.
    """
    try:
        schema = schema_or_none(frame)
    except ValueError as error:
        if _UNREAD not in str(error):
            raise
        allowed = "columns of types that this PySpark reads: drop or cast any other"
        raise TypeError(
            f"data: got a DataFrame whose schema PySpark cannot read ({error}); allowed: {allowed}"
        ) from error
    if schema is None:
        raise _inside_pipeline(False)
    return schema


def schema_or_none(frame: DataFrame) -> StructType | None:
    """The columns that Spark gives; None inside a pipeline."""
    try:
        return frame.schema
    except Exception as error:
        if _REFUSED in str(error):
            return None
        raise


def declared_frame(frame: DataFrame, schema: StructType) -> DataFrame:
    """The declared columns of a DataFrame. `ValueError` if one has another type in the data."""
    selected = frame.select(*(F.col(quoted(name)) for name in schema.names))
    if not _is_connect(frame):
        for field, actual in zip(schema.fields, selected.schema.fields, strict=True):
            declared = arrow_field("schema", field, compared=False)
            check_declared(arrow_field("schema", actual, compared=False).type, declared)
    return with_schema(selected, schema.fields)


def check_table(frame: DataFrame) -> None:
    """Raises `ValueError` for a stream of a table that Spark does not have, such as a new one of the same pipeline.

    Spark analyses the stateful step of a stream while the pipeline is being read, before it makes the tables.
    """
    plan: Any = getattr(frame, "_plan", None)
    while (child := getattr(plan, "_child", None)) is not None:
        plan = child
    name = getattr(plan, "table_name", None)
    if not isinstance(name, str):
        return
    # The function of a pipeline may not ask, but another thread may. In Spark 4.1 it may only ask in SQL.
    with ThreadPoolExecutor(1) as aside:
        described = aside.submit(frame.sparkSession.sql, f"DESCRIBE TABLE {name}")
    if "TABLE_OR_VIEW_NOT_FOUND" in str(described.exception()):
        raise bad_value(
            "data",
            f"a stream of the table {name!r}, which does not exist yet",
            "a stream from a source outside the pipeline, because Spark analyses a stateful stream before it makes "
            "the pipeline's tables; let both flows call one Python function for the steps before the windows",
        )


def with_schema(frame: DataFrame, fields: Sequence[StructField]) -> DataFrame:
    """A DataFrame that windrow has made of another, and its columns.

    A client of Spark Connect then need not ask the server for them. It has no public way that the server does not
    notice: it analyses `DataFrame.to(schema)` at once, and within a pipeline that fails over a dataset of the pipeline.
    """
    if "_cached_schema" in vars(frame):
        frame._cached_schema = StructType(list(fields))  # type: ignore[attr-defined]
    return frame


def renamed(fields: Sequence[StructField], names: Sequence[str]) -> list[StructField]:
    """The fields under other names."""
    return [
        StructField(name, field.dataType, field.nullable, field.metadata)
        for name, field in zip(names, fields, strict=True)
    ]


def _is_connect(frame: object) -> bool:
    return any(kind.__module__.startswith(_CONNECT) for kind in type(frame).__mro__)


def _inside_pipeline(declared: bool) -> ValueError:
    options = "streaming=False, or True for a stream" if declared else f'schema="{_EXAMPLE}", streaming=False'
    return ValueError(
        "data: got a DataFrame inside a function of a pipeline, where Spark reports neither its columns nor whether "
        f"it is a stream; allowed: group_by(..., {options}), which declares both; docs/how-to/pipelines.md"
    )
