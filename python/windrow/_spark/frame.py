"""The common parts of batch and streaming DataFrames: columns of inputs and results."""

from __future__ import annotations

import copy
import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import pyarrow as pa
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
from windrow._arguments.column import Names
from windrow._arguments.errors import bad_column_type
from windrow._arguments.expression import EXPRESSION, FIELD, SPARK, ColumnExpression, stands_for
from windrow._executor.batch import query_of
from windrow._executor.left_out import LeftOutRows
from windrow._native import Query
from windrow._plan.casts import Casts
from windrow._plan.flat import BOUNDS, WINDOW
from windrow._plan.input import Input, Need
from windrow._plan.plan import Origins, Plan, left_out_columns
from windrow._spark.declared import declared_frame, renamed, schema_of, with_schema
from windrow._spark.expressions import is_case_sensitive, is_column, output_name, schema_with, with_columns
from windrow._spark.quoted_name import quoted
from windrow._spark.release import sendable
from windrow._spark.session_zone import session_zone
from windrow._spark.types import arrow_field, returned_type, spark_type

_CASTS = Casts(
    text="F.to_timestamp({0})",
    zoned="F.to_timestamp({0})",
    format='F.to_timestamp({0}, "{1}")',
    zoned_format='F.to_timestamp({0}, "{1}")',
    formats={"%m/%d/%Y %I:%M %p": "M/d/yyyy h:mm a", "%Y%m%dT%H%M%SZ": "yyyyMMdd['T'HHmmss[X]]"},
    integers={"s": "F.timestamp_seconds({0})", "ms": "F.timestamp_millis({0})", "us": "F.timestamp_micros({0})"},
    floats='F.timestamp_micros(F.round({0}.cast("double") * {1}).cast("bigint"))',
    date='{0}.cast("timestamp")',
    duration="a day-time interval",
    durations={"s": "F.make_dt_interval(secs={0})", "ms": "F.make_dt_interval(secs={0} / 1000)"},
    of_day="F.make_timestamp(date={1}, time={0})",
    as_text='{0}.cast("string")',
    as_number='{0}.cast("double")',
    finite='F.when(F.abs({0}) < float("inf"), {0})',  # for Spark NaN is larger than infinity
    without='F.nullif(F.trim({0}), F.lit("{1}"))',
    nonzero="{0} != 0",
    equals='{0} == "{1}"',
)
WATERMARK = "spark.watermarkDelayMs"
"""The metadata of a column with a watermark."""

_SUMS = ("sum", "sum_distinct")
_LISTS = ("collect_list", "collect_set", "path")


class FrameInput(Input[DataFrame]):
    """A DataFrame. Reads its schema once, without a job.

    Attributes:
        declared: whether the user declares the columns, because Spark may not be asked for anything.
    """

    in_spark = True

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

    def output_name(self, argument: str, expression: ColumnExpression) -> str:
        """Spark's name for the column. Spark analyses the expression without a job."""
        return output_name(self._frame, argument, expression, list(self.row_columns))

    def with_expressions(self, expressions: Mapping[str, ColumnExpression]) -> Self:
        """The same with columns that Spark computes."""
        frame = with_columns(self._frame, expressions)
        schema = schema_with(self._schema, frame, expressions)
        return self._over(frame, schema, {**self.expressions, **expressions})

    def is_column(self, expression: ColumnExpression) -> bool:
        """Whether it is no literal, and no column of another frame. Spark analyses it without a job."""
        name = expression.column
        return expression.language != SPARK or name is None or is_column(self._frame, name, expression.value)

    def spelled(self, column: str) -> str:
        """The name as the frame spells it. Spark ignores the case of names unless spark.sql.caseSensitive is true."""
        if column in self.columns:
            return column
        same = [name for name in self.row_columns if name.casefold() == column.casefold()]
        return same[0] if len(same) == 1 and not self.is_case_sensitive else column

    @property
    def is_case_sensitive(self) -> bool:
        """Whether Spark distinguishes names by their case."""
        return is_case_sensitive(self._frame.sparkSession)

    def _is_spelled(self, name: str, other: str) -> bool:
        return self.is_same(name, other)

    def written(self, column: str) -> tuple[str, Casts]:
        """As a user of Spark writes it."""
        reference = self.reference(column)
        if not isinstance(reference, str) and reference.language != FIELD:
            return EXPRESSION, _CASTS
        path = (column,) if isinstance(reference, str) else reference.value
        name = ".".join(part if part.isidentifier() else quoted(part) for part in path)
        return f"F.col({name!r})", _CASTS

    def cast(self, column: str, kind: pa.DataType) -> str:
        """A cast of a column to a type of times, as a user of Spark writes it."""
        written, _ = self.written(column)
        is_zoned = isinstance(kind, pa.TimestampType) and kind.tz is not None
        return f'{written}.cast("timestamp{"" if is_zoned else "_ntz"}"){stands_for(written)}'

    @property
    def zone(self) -> str | None:
        """The session's time zone."""
        return session_zone(self._frame.sparkSession)

    def _declared(self, columns: pa.Schema) -> bytes | None:
        """The columns for executors to check against the data; None if Spark knows them."""
        return columns.serialize().to_pybytes() if self.declared else None

    def _united(self, inputs: Sequence[Self], schema: pa.Schema, origins: Origins) -> Self:
        """The rows of several inputs in one frame: the columns of the schema, then source and order columns.

        Uses column numbers, because names may contain any character.
        """
        names = list(dict.fromkeys([*schema.names, *(name for columns in origins.columns for name in columns)]))
        parts = list(zip(inputs, origins.columns, strict=True))
        # An input may have nulls within its values where another has none.
        types = {name: returned_type(data._type(source[name]), nulls=True) for data, source in parts for name in source}
        frames = []
        for number, (data, source) in enumerate(parts):
            frame, columns = data._with(source.values()), []
            for name in names:
                if name == origins.column:
                    columns.append(F.lit(number))
                elif name in source:
                    columns.append(F.col(f"_{frame.columns.index(source[name])}"))
                else:
                    columns.append(F.lit(None).cast(types[name]))
            frames.append(numbered(frame).select(*columns))
        fields = [StructField(name, types.get(name, IntegerType())) for name in names]
        frame = functools.reduce(lambda one, other: one.union(other), frames).toDF(*names)
        united = self._over(frame, StructType(fields), {})
        united.declared = any(data.declared for data in inputs)
        return united

    def _without_clashes(self, plan: Plan) -> tuple[Self, Plan]:
        """The rows and a plan for them. Columns with the name of a column that windrow adds get other names."""
        finished = () if plan.finish is None else plan.finish.columns[len(plan.keys) :]
        added = {name.casefold() for name in (WINDOW, *dict(plan.aggregates), *dict(finished))}
        names = Names((*self.columns, *added))
        new = {name: names.unused(name) for name in self.columns if name.casefold() in added}
        if not new:
            return self, plan
        frame = self._frame.toDF(*(new.get(name, name) for name in self.columns))
        expressions = {new.get(name, name): expression for name, expression in self.expressions.items()}
        fields = renamed(self._schema.fields, [new.get(name, name) for name in self.columns])
        return self._over(frame, StructType(fields), expressions), plan.renamed(new)

    def _with(self, names: Iterable[str]) -> DataFrame:
        """The rows with at least these columns."""
        return self._frame

    def _over(self, frame: DataFrame, schema: StructType, expressions: Mapping[str, ColumnExpression]) -> Self:
        """The same over another frame, whose last columns are those of the expressions."""
        other = copy.copy(self)
        other._frame, other._schema, other.expressions = with_schema(frame, schema.fields), schema, expressions
        return other

    def _with_rows(self, plan: Plan, count: int) -> tuple[Plan, pa.Schema, StructType]:
        """The plan that returns the first columns of the rows, and its result columns in Arrow and in Spark."""
        fields = [arrow_field("with_columns", field, compared=False) for field in self._schema.fields]
        plan = replace(plan, schema=pa.schema([self.field("with_columns", field.name) for field in fields]))
        core = list(Query.rows_with_windows(plan.spec.text, plan.schema).output_schema)
        arrow = pa.schema([*core[:count], *core[len(fields) :]])
        rows = [
            StructField(field.name, returned_type(field.dataType), metadata=_kept(field.metadata))
            for field in self._schema.fields[:count]
        ]
        output = StructType([*rows, *self._window_columns(plan, arrow)])
        if plan.finish is None:
            return plan, arrow, output
        columns = plan.finish.columns[len(plan.keys) :]
        passed = [(name, Named(name)) for name in plan.schema.names[:count]]
        finish = replace(plan.finish, columns=(*passed, *columns))
        return replace(plan, finish=finish), arrow, _finished(finish, arrow, output)

    def _field_at(self, argument: str, position: int, compared: Need | None) -> pa.Field[Any]:
        return arrow_field(argument, self._schema.fields[position], compared=compared is not None)

    def _arrow_output(self, plan: Plan) -> pa.Schema:
        """The columns of the core's result, with those of records in no window."""
        core = query_of(plan).output_schema
        left_out = LeftOutRows.of(plan.spec, plan.schema)
        return core if left_out is None else left_out.output(core)

    def _output(self, plan: Plan, arrow: pa.Schema, *, counted: bool) -> StructType:
        """The columns of the result. `counted`: the rows include counter rows, which have no window."""
        core = self._core_output(plan, arrow, counted=counted)
        return core if plan.finish is None else _finished(plan.finish, arrow, core)

    def _core_output(self, plan: Plan, arrow: pa.Schema, *, counted: bool) -> StructType:
        may_be_null = counted or plan.left_out is not None
        keys = [StructField(key, self._type(key), may_be_null or len(plan.keys) > 1) for key in plan.keys]
        fields = [*keys, *self._window_columns(plan, arrow, may_be_null=may_be_null)]
        fields += self._left_out_columns(plan)
        return StructType([*fields, StructField("op", StringType(), counted)] if plan.options.op else fields)

    def _left_out_columns(self, plan: Plan) -> list[StructField]:
        """The columns of records in no window."""
        if plan.left_out is None:
            return []
        record = StructType([StructField(name, self._type(column)) for name, column in plan.left_out["record"]])
        of_time = ("time", "stream_time")
        kinds = {**dict.fromkeys(of_time, self._type(plan.time)), "late_by": DayTimeIntervalType(), "record": record}
        names = left_out_columns(plan.origins is not None, plan.left_out["record"])
        return [StructField(name, kinds.get(name, StringType())) for name in names]

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


def with_key_names(plan: Plan, frame: DataFrame) -> DataFrame:
    """Windows of the core as rows of the result: keys by their names, with `flat()` the bounds as columns."""
    names: list[str | None] = [*frame.columns]
    if plan.key_names != plan.keys:
        names[: len(plan.keys)] = plan.key_names or (None,)
    return with_names(frame, names, len(plan.keys), flat=plan.options.flat)


def with_row_names(plan: Plan, frame: DataFrame, rows: Sequence[str], hidden: int = 0) -> DataFrame:
    """Rows with their windows as rows of the result, without the hidden columns that follow those of the rows."""
    window = len(rows) + hidden
    names = [*rows, *[None] * hidden, *frame.columns[window:]]
    return with_names(frame, names, window, flat=plan.options.flat)


def with_names(frame: DataFrame, names: Sequence[str | None], window: int, *, flat: bool) -> DataFrame:
    """The columns by these names, without those that have none; `flat` splits the column of windows."""
    if list(names) == frame.columns and not flat:
        return frame
    columns, fields = [], []
    for position, (field, name) in enumerate(zip(frame.schema.fields, names, strict=True)):
        # Uses column numbers, because names may contain any character.
        if flat and position == window:
            parts = zip(("start", "end"), BOUNDS, strict=True)
            columns += [F.col(f"_{position}.{part}").alias(bound) for part, bound in parts]
            bounds: Any = field.dataType
            fields += renamed(bounds.fields, BOUNDS)
        elif name is not None:
            columns.append(F.col(f"_{position}").alias(name))
            fields += renamed([field], [name])
    return with_schema(numbered(frame).select(*columns), fields)


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


def _kept(metadata: dict[str, Any]) -> dict[str, Any]:
    """The metadata of a column that its values keep: a result has no watermark."""
    return {name: value for name, value in metadata.items() if name != WATERMARK}


def numbered(frame: DataFrame) -> DataFrame:
    """The frame with its columns by number."""
    numbers = [f"_{position}" for position in range(len(frame.columns))]
    return with_schema(frame.toDF(*numbers), renamed(frame.schema.fields, numbers))


def _finished(finish: Finish, arrow: pa.Schema, core: StructType) -> StructType:
    """The columns of a result after its last step. `arrow` and `core` are the columns before it."""
    fields = {field.name: field for field in core.fields}
    made = [fields.get(field.name) or _computed_field(field) for field in finish.schema(arrow)]
    nullable = [StructField(field.name, field.dataType, True, field.metadata) for field in made]
    pairs = zip(made, nullable, strict=True)
    return StructType([other if field.name in finish.limited else field for field, other in pairs])


def _computed_field(field: pa.Field[Any]) -> StructField:
    kind = spark_type(field.type)
    if kind is None:
        raise bad_column_type("then(schema=)", field.name, field.type, 'a type that Spark has, such as "double"')
    return StructField(field.name, kind)
