"""Columns that are expressions over a DataFrame: Columns of Spark, SQL text, and fields of structs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, IntegerType, NullType, StructField, StructType

from windrow._arguments.errors import bad_value
from windrow._arguments.expression import (
    CONSTANT,
    FIELD,
    SPARK,
    SQL,
    ColumnExpression,
    wrong_expression,
    wrong_language,
)
from windrow._spark.configure import setting
from windrow._spark.declared import schema_or_none
from windrow._spark.error_log import without_error_log
from windrow._spark.quoted_name import quoted

_INSTEAD = {
    r"\bwindow_?time\(": (
        "window.end, because windows end with a record, and window_time is a microsecond before their end"
    ),
    r"\bwindow\(": "windows in windowed_by(...), not Spark's window, which may hold a record several times",
    r"\bsession_?window\(": "windrow.SessionWindows.with_gap(...) in windowed_by(...)",
    r" (ASC|DESC) NULLS (FIRST|LAST)$": "a column without asc() and desc(), which only sort rows",
}
"""Patterns of expressions that Spark computes nowhere or in another sense here, and what to write instead.

Spark 3.5 shows `sessionwindow(...)`.
"""


def output_name(frame: DataFrame, argument: str, expression: ColumnExpression, columns: Sequence[str]) -> str:
    """Spark's name for the column of an expression; SQL text is its own name.

    Raises:
        TypeError: an expression of another library.
        ValueError: one that Spark refuses over this frame, or that gives no single column. `columns` are those that the
            user sees.
    """
    if expression.language not in (SPARK, SQL, FIELD, CONSTANT):
        raise wrong_language(argument, expression, SPARK, "a Spark DataFrame", columns)
    for pattern, instead in _INSTEAD.items():
        if re.search(pattern, str(expression)):
            raise bad_value(argument, str(expression), instead)
    try:
        with without_error_log():
            source, column = _source(frame, expression), _column(expression)
            names = source.select("*", column).schema.names[len(frame.columns) :]
            if len(names) == 1:
                _ = source.select(_one_value(column)).schema
    except Exception as error:  # Spark's own, and those of Columns of another kind of session
        if schema_or_none(frame.select(F.lit(0))) is None:
            allowed = (
                "a column inside a pipeline, because Spark gives no types of expressions there: use withColumn before "
                "group_by"
            )
            raise bad_value(argument, str(expression), f"{allowed}, and its type in schema=") from error
        raise wrong_expression(argument, expression, columns, _reason(error)) from error
    if len(names) != 1:
        raise wrong_expression(argument, expression, columns, f"it gives {len(names)}")
    if expression.language == SQL:
        return str(expression)
    return str(expression.value[-1]) if expression.language == FIELD else names[0]


def with_columns(frame: DataFrame, expressions: Mapping[str, ColumnExpression]) -> DataFrame:
    """The frame with further columns, by name."""
    source = _source(frame, next(iter(expressions.values())))
    columns = [_one_value(_column(expression)).alias(name) for name, expression in expressions.items()]
    return source.select("*", *columns)


def schema_with(schema: StructType, frame: DataFrame, expressions: Mapping[str, ColumnExpression]) -> StructType:
    """The columns of `with_columns`, whose frame had those of `schema` before."""
    schema_of_frame = schema_or_none(frame)
    if schema_of_frame is not None:
        return schema_of_frame
    fields = [StructField(name, _declared_type(schema, expression)) for name, expression in expressions.items()]
    return StructType([*schema.fields, *fields])


def _declared_type(schema: StructType, expression: ColumnExpression) -> DataType:
    """The type of a constant or of a field, inside a pipeline."""
    if expression.language == CONSTANT:
        return IntegerType()
    kind: Any = schema
    for name in expression.value:
        kind = kind[name].dataType
    of_field: DataType = kind
    return of_field


def check_deterministic(frame: DataFrame, argument: str, expression: ColumnExpression) -> None:
    """Raises `ValueError` for an expression that gives other values when a micro-batch runs again.

    Only Spark classic shows it.
    """
    plan = _plan(frame, expression)
    if plan is None:
        return
    columns = plan.expressions()
    if not all(columns.apply(position).deterministic() for position in range(columns.length())):
        raise bad_value(
            argument,
            str(expression),
            "on a stream, an expression that gives the same value when a micro-batch runs again, unlike rand(), uuid() "
            "and monotonically_increasing_id()",
        )


def columns_read(frame: DataFrame, expression: ColumnExpression) -> set[str]:
    """The columns of the frame that an expression reads; all if Spark does not say it, as over Connect."""
    plan = _plan(frame, expression)
    if plan is None:
        return set(frame.columns)
    columns = plan.references().toSeq()
    return {columns.apply(position).name() for position in range(columns.length())}


def _plan(frame: DataFrame, expression: ColumnExpression) -> Any:
    """How Spark classic understands the expression; None for Connect."""
    plan: Any = getattr(_source(frame, expression).select(_column(expression)), "_jdf", None)
    return None if plan is None else plan.queryExecution().analyzed()


def is_column(frame: DataFrame, name: str, column: Any) -> bool:
    """Whether a Column that PySpark shows as this name is the column of this name, which the frame has once.

    A literal is not, nor is a column of another frame, nor one that a join hides: PySpark shows `F.lit("user")` and
    `right["user"]` like `F.col("user")`.
    """
    # Over groups, Spark refuses all but the grouped column and literals; a literal has a value, or no type.
    grouped = _analysed(frame.groupBy(F.col(quoted(name))).agg, column)
    if grouped is not None and grouped.nullable and grouped.dataType != NullType():
        return True
    if _analysed(frame.select(F.lit(0).alias("no name")).select, column) is not None:
        return False
    known = grouped is not None or _analysed(frame.select, column) is not None
    return known or _analysed(frame.select, F.lit(0)) is None  # a pipeline does not let windrow ask


def is_case_sensitive(spark: Any) -> bool:
    """Whether a session distinguishes names by their case; False if that is unknown."""
    return (setting(spark, "spark.sql.caseSensitive") or "").lower() == "true"


def _analysed(select: Callable[[Any], DataFrame], column: Any) -> StructField | None:
    """The column that `select` adds; None if Spark refuses it. Inside a pipeline, it refuses all."""
    try:
        with without_error_log():
            schema = schema_or_none(select(column))
    except Exception:  # Spark's own, and those of Columns of another kind of session
        return None
    return None if schema is None else schema.fields[-1]


def _reason(error: Exception) -> str:
    """Why Spark refuses an expression."""
    if "MISSING_GROUP_BY" in str(error):
        return "an aggregate of Spark takes many records; those of windrow are arguments of agg, such as windrow.sum"
    return re.sub(r"^An error occurred while calling .*\s+: ", "", str(error))


def _source(frame: DataFrame, expression: ColumnExpression) -> DataFrame:
    """The frame, under the name of a cogroup's input if it is one."""
    return frame if expression.input is None else frame.alias(expression.input)


def _one_value(column: Any) -> Any:
    """The column. Spark refuses functions inside that make several rows of one, as `explode` does."""
    return F.coalesce(column)


def _column(expression: ColumnExpression) -> Any:
    if expression.language == FIELD:
        return F.col(".".join(map(quoted, expression.value)))
    if expression.language == CONSTANT:
        return F.lit(expression.value)
    return F.expr(expression.value) if expression.language == SQL else expression.value
