"""The common parts of batch and streaming DataFrames: columns of inputs and results."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DayTimeIntervalType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from windrow._aggregates.call import OF_COLUMN, AggregateCall
from windrow._aggregates.evaluation import Finish, Named
from windrow._aggregates.user_function import Reduction
from windrow._arguments.errors import bad_column_type
from windrow._native import Operator, Query
from windrow._plan.flat import BOUNDS, WINDOW
from windrow._plan.input import Input
from windrow._plan.plan import Origins, Plan
from windrow._plan.time_casts import TimeCasts
from windrow._spark.declared import declared_frame, renamed, schema_of, with_schema
from windrow._spark.release import sendable
from windrow._spark.types import arrow_field, returned_type, spark_type

_TIME_CASTS = TimeCasts(
    text="F.to_timestamp({0})",
    zoned="F.to_timestamp({0})",
    format='F.to_timestamp({0}, "{2}")',
    formats={"%m/%d/%Y %I:%M %p": "M/d/yyyy h:mm a"},
    integers={"s": "F.timestamp_seconds({0})", "ms": "F.timestamp_millis({0})"},
    floats='F.timestamp_micros(F.round(F.col({0}).cast("double") * {2}).cast("bigint"))',
    date='F.col({0}).cast("timestamp")',
)
_SUMS = ("sum", "sum_distinct")
_LISTS = ("collect_list", "collect_set")


class FrameInput(Input[DataFrame]):
    """A DataFrame. Reads its schema once, without a job.

    Attributes:
        declared: whether the user declares the columns, because Spark may not be asked for anything.
    """

    def __init__(self, frame: DataFrame, schema: StructType | None = None, *, declared: bool = False) -> None:
        """Reads the schema, unless it is given. With `declared`, the frame may have more columns than are declared."""
        self.declared = declared
        self._schema = schema_of(frame) if schema is None else schema
        self._frame = frame
        if declared:
            self._frame = declared_frame(frame, self._schema)
        elif schema is not None:
            self._frame = with_schema(frame, schema.fields)

    @property
    def columns(self) -> Sequence[str]:
        """The names of all columns, in order."""
        return self._schema.names

    @property
    def allowed_gaps(self) -> str:
        """The types of a gap column, and how to make one."""
        return "a day-time interval, such as make_dt_interval(0, 0, minutes) gives"

    @property
    def time_casts(self) -> TimeCasts:
        """How Spark converts other columns to timestamps."""
        return _TIME_CASTS

    @property
    def zone(self) -> str | None:
        """The session's time zone; None if the platform does not say it."""
        try:
            zone = self._frame.sparkSession.conf.get("spark.sql.session.timeZone")
            epoch: Any = pa.scalar(0, pa.timestamp("us", zone))
            pc.local_timestamp(epoch)
        except Exception:  # a platform that refuses to read settings, or a zone that Arrow does not know
            return None
        return zone

    def check_threads(self, count: int) -> None:
        """Raises `ValueError`: Spark chooses its parallelism."""
        raise ValueError(
            f"count: got {count} threads for a Spark DataFrame; allowed: threads for data in this process (Spark "
            "runs as many tasks at once as it has cores)"
        )

    def check_progress(self, show: object) -> None:
        """Raises `ValueError`: Spark shows the progress of its jobs."""
        raise ValueError(
            f"show: got {show!r} for a Spark DataFrame; allowed: the progress of data in this process (Spark shows "
            "that of its jobs in its console and its UI: spark.ui.showConsoleProgress)"
        )

    def _united(self, inputs: Sequence[Self], schema: pa.Schema, origins: Origins) -> tuple[DataFrame, StructType]:
        """The rows of several inputs in one frame: the columns of the schema, then source and order columns.

        Uses column numbers, because names may contain any character.
        """
        names = list(dict.fromkeys([*schema.names, *(name for columns in origins.columns for name in columns)]))
        parts = list(zip(inputs, origins.columns, strict=True))
        types = {name: given._type(source[name]) for given, source in parts for name in source}
        frames = []
        for number, (given, source) in enumerate(parts):
            columns = []
            for name in names:
                if name == origins.column:
                    columns.append(F.lit(number))
                elif name in source:
                    columns.append(F.col(f"_{given.columns.index(source[name])}"))
                else:
                    columns.append(F.lit(None).cast(types[name]))
            frames.append(numbered(given._frame).select(*columns))
        fields = [StructField(name, types.get(name, IntegerType())) for name in names]
        return functools.reduce(lambda one, other: one.union(other), frames).toDF(*names), StructType(fields)

    def _with_rows(self, plan: Plan) -> tuple[Plan, pa.Schema, StructType]:
        """The plan that returns all columns of the rows, and its result columns in Arrow and in Spark."""
        fields = [arrow_field("with_columns", field, compared=False) for field in self._schema.fields]
        plan = replace(plan, schema=pa.schema([self.field("with_columns", field.name) for field in fields]))
        arrow = Query.rows_with_windows(plan.spec, plan.schema).output_schema
        rows = [StructField(field.name, returned_type(field.dataType)) for field in self._schema.fields]
        output = StructType([*rows, *self._window_columns(plan, arrow)])
        if plan.finish is None:
            return plan, arrow, output
        columns = [column for column in plan.finish.columns if column[0] not in plan.keys]
        passed = [(name, Named(name)) for name in plan.schema.names]
        finish = replace(plan.finish, columns=(*passed, *columns))
        return replace(plan, finish=finish), arrow, _finished(finish, arrow, output)

    def _field_at(self, argument: str, position: int, compared: bool) -> pa.Field[Any]:
        return arrow_field(argument, self._schema.fields[position], compared=compared)

    def _arrow_output(self, plan: Plan) -> pa.Schema:
        """The columns of the core's result."""
        if plan.functions:
            return Operator(plan.spec_in_order, plan.schema, plan.folds()).output_schema
        return Query(plan.spec, plan.schema).output_schema

    def _output(self, plan: Plan, *, counted: bool) -> StructType:
        """The columns of the result. `counted`: the rows include counter rows, which have no window."""
        arrow, core = self._arrow_output(plan), self._core_output(plan, counted=counted)
        return core if plan.finish is None else _finished(plan.finish, arrow, core)

    def _core_output(self, plan: Plan, *, counted: bool) -> StructType:
        keys = [StructField(key, self._type(key), counted or len(plan.keys) > 1) for key in plan.keys]
        fields = [*keys, *self._window_columns(plan, self._arrow_output(plan), may_be_null=counted)]
        return StructType([*fields, StructField("op", StringType(), counted)] if plan.options.op else fields)

    def _window_columns(self, plan: Plan, arrow: pa.Schema, *, may_be_null: bool = True) -> list[StructField]:
        """`window` and the aggregates. `arrow` are the core's columns."""
        bounds = StructType([StructField(name, self._type(plan.time), may_be_null) for name in ("start", "end")])
        aggregates = (
            StructField(name, self._result_type(name, aggregate, arrow.field(name).type))
            for name, aggregate in plan.aggregates
        )
        return [StructField("window", bounds, may_be_null), *aggregates]

    def _type(self, column: str) -> DataType:
        return returned_type(self._schema.fields[self._schema.names.index(column)].dataType)

    def _result_type(self, name: str, aggregate: AggregateCall, arrow: pa.DataType) -> DataType:
        if aggregate.function in OF_COLUMN or isinstance(aggregate, Reduction):
            return self._type(aggregate.columns[0])
        if aggregate.function == "approx_percentile":
            column_type = self._type(aggregate.columns[0])
            return (
                ArrayType(column_type, containsNull=False) if isinstance(aggregate.percentage, tuple) else column_type
            )
        if aggregate.function in _LISTS:
            column_type, nulls = self._type(aggregate.columns[0]), aggregate.ignore_nulls is False
            return returned_type(ArrayType(column_type, containsNull=nulls))
        if aggregate.function in ("top_k", "histogram_numeric"):
            is_top = aggregate.function == "top_k"
            value = StructField("item" if is_top else "x", self._type(aggregate.columns[0]))
            count = StructField("count", LongType(), nullable=False) if is_top else StructField("y", DoubleType())
            return returned_type(ArrayType(StructType([value, count]), containsNull=not is_top))  # Spark's own
        if aggregate.function in _SUMS and isinstance(self._type(aggregate.columns[0]), DayTimeIntervalType):
            return self._type(aggregate.columns[0])
        kind = spark_type(arrow)
        if kind is None:
            raise bad_column_type("aggregate(schema=)", name, arrow, 'a type that Spark has, such as "array<bigint>"')
        return kind


def flat(frame: DataFrame) -> DataFrame:
    """The frame with `window_start` and `window_end` in place of `window`."""
    # Uses column numbers, because names may contain any character.
    names = [f"_{position}" for position in range(len(frame.columns))]
    columns = []
    for number, name in zip(names, frame.columns, strict=True):
        if name == WINDOW:
            columns += [
                F.col(f"{number}.{part}").alias(bound) for part, bound in zip(("start", "end"), BOUNDS, strict=True)
            ]
        else:
            columns.append(F.col(number).alias(name))
    return frame.toDF(*names).select(*columns)


def projected(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """The columns of these names, for `mapInArrow`."""
    # mapInArrow looks columns up by unquoted names, and Spark ignores case. Columns with ambiguous names therefore go
    # by number, and the packing function restores their names.
    columns = frame.columns
    fields = [frame.schema.fields[columns.index(name)] for name in names]
    times = Counter(name.casefold() for name in columns)
    if all(name.isidentifier() and times[name.casefold()] == 1 for name in names):
        return with_schema(sendable(frame.select(*names)), fields)
    numbers = [f"_{columns.index(name)}" for name in names]
    return with_schema(sendable(numbered(frame).select(*numbers)), renamed(fields, numbers))


def numbered(frame: DataFrame) -> DataFrame:
    """The frame with its columns by number."""
    numbers = [f"_{position}" for position in range(len(frame.columns))]
    return with_schema(frame.toDF(*numbers), renamed(frame.schema.fields, numbers))


def _finished(finish: Finish, arrow: pa.Schema, core: StructType) -> StructType:
    """The columns of a result after its last step. `arrow` and `core` are the columns before it."""
    fields = {field.name: field for field in core.fields}
    return StructType([fields.get(field.name) or _computed_field(field) for field in finish.schema(arrow)])


def _computed_field(field: pa.Field[Any]) -> StructField:
    kind = spark_type(field.type)
    if kind is None:
        raise bad_column_type("then(schema=)", field.name, field.type, 'a type that Spark has, such as "double"')
    return StructField(field.name, kind)
