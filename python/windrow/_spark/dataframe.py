"""Queries over a batch DataFrame of Spark, by its public interface alone.

```text
select(referenced columns)
└─ mapInArrow(pack)                            rows of (shard, first time, block)
   └─ repartition("shard")                     the blocks of a shard meet
      └─ sortWithinPartitions(shard, first)    in order of time, so that windows leave early
         └─ mapInArrow(merge)                  typed rows

select(all columns)
└─ repartition(keys)                           the rows of a key meet, as they are
   └─ mapInArrow(over)                         the same rows, with their windows
```
With Python functions among the aggregates the blocks hold the records as they are (`pack_rows`), and the second step
(`fold`) feeds them, shard by shard and in the order of time, to what calls the functions: the record operator for
sessions, `SlidingFolds` of the core for sliding windows.

Nothing runs before an action of the caller does. Counters, when observed, travel as rows of their own: null in every
column of the result, observed once at the end, and left out.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Self

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DayTimeIntervalType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from windrow._aggregates.call import AggregateCall
from windrow._aggregates.evaluation import Finish, Named
from windrow._aggregates.user_function import Reduction
from windrow._arguments.column import Names
from windrow._arguments.errors import bad_column_type, bad_type
from windrow._executor.batch import fold, merge, pack, pack_rows
from windrow._executor.batches import Batches
from windrow._executor.pickled import pickled_finish, pickled_functions
from windrow._executor.row_windows import with_windows
from windrow._executor.shipping import shipped
from windrow._native import Operator, Query
from windrow._plan.flat import WINDOW
from windrow._plan.input import Input, TimeCasts
from windrow._plan.plan import INPUT, PACK_COUNTERS, Origins, Plan
from windrow._spark.configure import warn_unless_configured
from windrow._spark.flat import flat
from windrow._spark.types import arrow_field, returned_type, spark_type

_PACKED = (
    StructField("shard", IntegerType(), nullable=False),
    StructField("first", LongType(), nullable=False),
    StructField("block", BinaryType(), nullable=False),
)
_TIME_CASTS = TimeCasts(
    text="F.to_timestamp({0})", milliseconds="F.timestamp_millis({0})", date='F.col({0}).cast("timestamp")'
)
_OF_COLUMN = ("min", "max", "first", "last", "any_value", "min_by", "max_by", "mode", "bit_and", "bit_or", "bit_xor")
_SUMS = ("sum", "sum_distinct")
_LISTS = ("collect_list", "collect_set")


class SparkInput(Input[DataFrame]):
    """A batch DataFrame. Its schema is asked for once; no job runs."""

    def __init__(self, frame: DataFrame) -> None:
        """Over a batch DataFrame."""
        self._frame = frame
        self._schema = frame.schema

    @classmethod
    def over(cls, data: object) -> Self:
        """Over what may be a batch DataFrame; `TypeError` or `ValueError` for anything else of Spark."""
        if not isinstance(data, DataFrame):
            raise bad_type("data", data, "a DataFrame that is not grouped (of pandas on Spark: to_spark())")
        return cls(data)

    @property
    def columns(self) -> Sequence[str]:
        """The names of all columns, in order."""
        return self._schema.names

    def check_observation(self, observation: object) -> None:
        """Raises `TypeError` unless it is PySpark's `Observation`."""
        kinds = type(observation).__mro__
        if not any(kind.__name__ == "Observation" and kind.__module__.startswith("pyspark.") for kind in kinds):
            raise bad_type("observation", observation, "a pyspark.sql.Observation")

    @property
    def allowed_gaps(self) -> str:
        """What a column of gaps holds, and how one is made."""
        return "a day-time interval, such as make_dt_interval(0, 0, minutes) gives"

    @property
    def time_casts(self) -> TimeCasts:
        """How Spark makes timestamps."""
        return _TIME_CASTS

    def check_threads(self, count: int) -> None:
        """Raises: Spark decides what runs at once."""
        raise ValueError(
            f"count: got {count} threads for a Spark DataFrame; allowed: threads for data in this process (Spark "
            "runs as many tasks at once as it has cores)"
        )

    def check_progress(self, show: object) -> None:
        """Raises: Spark shows the progress of its jobs by itself."""
        raise ValueError(
            f"show: got {show!r} for a Spark DataFrame; allowed: the progress of data in this process (Spark shows "
            "that of its jobs in its console and its UI: spark.ui.showConsoleProgress)"
        )

    def rows(self, schema: pa.Schema, keys: Sequence[str], wanted: Sequence[tuple[Any, ...]]) -> pa.Table:
        """These columns of the rows that have one of the wanted keys, collected."""
        places = {name: f"_{self.columns.index(name)}" for name in schema.names}
        found = F.lit(False)
        for key in wanted:
            equal = F.lit(True)
            for name, value in zip(keys, key, strict=True):
                equal &= F.col(places[name]).eqNullSafe(F.lit(value))
            found |= equal
        rows = _numbered(self._frame).where(found).select(*places.values()).toArrow()
        return rows.rename_columns(schema.names).cast(schema)

    def union(self, inputs: Sequence[Self], schema: pa.Schema, origins: Origins) -> SparkInput:
        """One frame of the rows of several: the columns of the schema, then those of sources and order.

        Columns go by number, as names may hold anything.
        """
        names = list(dict.fromkeys([*schema.names, *(name for own in origins.columns for name in own)]))
        parts = list(zip(inputs, origins.columns, strict=True))
        types = {name: given._type(own[name]) for given, own in parts for name in own}
        frames = []
        for number, (given, own) in enumerate(parts):
            columns = []
            for name in names:
                if name == origins.column:
                    columns.append(F.lit(number))
                elif name in own:
                    columns.append(F.col(f"_{given.columns.index(own[name])}"))
                else:
                    columns.append(F.lit(None).cast(types[name]))
            frames.append(_numbered(given._frame).select(*columns))
        return SparkInput(functools.reduce(DataFrame.union, frames).toDF(*names))

    def run(self, plan: Plan) -> DataFrame:
        """The frame of the result, not yet computed."""
        core, output = self._arrow_output(plan), self._output(plan)
        query, observed = self._query(plan, output)
        functions, broadcasts = pickled_functions(plan)
        finish, held = pickled_finish(plan, core)
        steps: tuple[Callable[..., Batches], ...] = (pack_rows, fold) if plan.functions else (pack, merge)
        of_functions = (functions,) if plan.functions else ()
        result = (
            projected(self._frame, plan.schema.names)
            .mapInArrow(
                shipped(steps[0], *query, tuple(observed)),
                StructType([*_PACKED, *_nullable_longs(observed)]),
            )
            .repartition("shard")
            .sortWithinPartitions("shard", "first")
            .mapInArrow(
                shipped(steps[1], *query, observed, *of_functions, finish=finish, broadcasts=(*held, *broadcasts)),
                StructType([*output.fields, *_nullable_longs(observed.values())]),
            )
        )
        return _result(plan, result, observed, F.count("window").alias("windows"))

    def with_windows(self, plan: Plan) -> DataFrame:
        """The frame of all rows, each with its window, not yet computed."""
        plan, core, output = self._over(plan)
        query, observed = self._query(plan, output)
        finish, held = pickled_finish(plan, core)
        step = shipped(with_windows, *query, observed, finish=finish, broadcasts=held)
        rows = projected(self._frame, plan.schema.names)
        columns = {name: F.col(given) for name, given in zip(plan.schema.names, rows.columns, strict=True)}
        keys = [columns[key] for key in plan.keys]
        lacks_key = functools.reduce(Column.__and__, map(F.isnull, keys))
        # Rows whose keys are all null have no window and need not meet: there may be many.
        apart = F.when(lacks_key, columns[plan.time])
        schema = StructType([*output.fields, *_nullable_longs(observed.values())])
        return _result(plan, rows.repartition(*keys, apart).mapInArrow(step, schema), observed)

    def _query(self, plan: Plan, output: StructType) -> tuple[tuple[str, bytes], dict[str, str]]:
        """A query as it travels, and the columns of observed counters by their names; warns of missing settings."""
        warn_unless_configured(self._frame.sparkSession)
        spec = plan.spec_in_order if plan.functions else plan.spec
        counters, names = PACK_COUNTERS if plan.options.observation is not None else (), Names(output.names)
        observed = {counter: names.unused(f"windrow_{counter}") for counter in counters}
        return (spec, plan.schema.serialize().to_pybytes()), observed

    def _over(self, plan: Plan) -> tuple[Plan, pa.Schema, StructType]:
        """A plan that gives the rows back, over all columns; those of its result, as the core and as Spark has them."""
        fields = [arrow_field("with_columns", field, compared=False) for field in self._schema.fields]
        plan = replace(plan, schema=pa.schema([self.field("with_columns", field.name) for field in fields]))
        arrow = Query.over(plan.spec, plan.schema).output_schema
        rows = [StructField(field.name, returned_type(field.dataType)) for field in self._schema.fields]
        output = StructType([*rows, *self._window_columns(plan, arrow)])
        if plan.finish is None:
            return plan, arrow, output
        columns = [column for column in plan.finish.columns if column[0] not in plan.keys]
        own = [(name, Named(name)) for name in plan.schema.names]
        finish = replace(plan.finish, columns=(*own, *columns))
        return replace(plan, finish=finish), arrow, _finished(finish, arrow, output)

    def _field_at(self, argument: str, position: int, compared: bool) -> pa.Field[Any]:
        return arrow_field(argument, self._schema.fields[position], compared=compared)

    def _arrow_output(self, plan: Plan) -> pa.Schema:
        """The columns of the result, as the core gives them."""
        if plan.functions:
            return Operator(plan.spec_in_order, plan.schema, plan.folds()).output_schema
        return Query(plan.spec, plan.schema).output_schema

    def _output(self, plan: Plan) -> StructType:
        arrow, core = self._arrow_output(plan), self._core_output(plan)
        return core if plan.finish is None else _finished(plan.finish, arrow, core)

    def _core_output(self, plan: Plan) -> StructType:
        may_be_null = self._has_counter_rows(plan)
        keys = [StructField(key, self._type(key), may_be_null or len(plan.keys) > 1) for key in plan.keys]
        fields = [*keys, *self._window_columns(plan, self._arrow_output(plan), may_be_null=may_be_null)]
        return StructType([*fields, StructField("op", StringType(), may_be_null)] if plan.options.op else fields)

    def _has_counter_rows(self, plan: Plan) -> bool:
        """Whether rows of counters, without a window, are among those of the last step."""
        return plan.options.observation is not None

    def _window_columns(self, plan: Plan, arrow: pa.Schema, *, may_be_null: bool = True) -> list[StructField]:
        """`window`, which may be null, and the aggregates; `arrow` are the columns as the core gives them."""
        bounds = StructType([StructField(name, self._type(plan.time), may_be_null) for name in ("start", "end")])
        aggregates = (
            StructField(name, self._result_type(name, aggregate, arrow.field(name).type))
            for name, aggregate in plan.aggregates
        )
        return [StructField("window", bounds, may_be_null), *aggregates]

    def _type(self, column: str) -> DataType:
        return returned_type(self._schema.fields[self._schema.names.index(column)].dataType)

    def _result_type(self, name: str, aggregate: AggregateCall, arrow: pa.DataType) -> DataType:
        if aggregate.function in _OF_COLUMN or isinstance(aggregate, Reduction):
            return self._type(aggregate.columns[0])
        if aggregate.function == "approx_percentile":
            own = self._type(aggregate.columns[0])
            return ArrayType(own, containsNull=False) if isinstance(aggregate.percentage, tuple) else own
        if aggregate.function in _LISTS:
            own, nulls = self._type(aggregate.columns[0]), aggregate.ignore_nulls is False
            return returned_type(ArrayType(own, containsNull=nulls))
        if aggregate.function in ("top_k", "histogram_numeric"):
            is_top = aggregate.function == "top_k"
            value = StructField("item" if is_top else "x", self._type(aggregate.columns[0]))
            count = StructField("count", LongType(), nullable=False) if is_top else StructField("y", DoubleType())
            return returned_type(ArrayType(StructType([value, count]), containsNull=not is_top))  # Spark's own
        if aggregate.function in _SUMS and isinstance(self._type(aggregate.columns[0]), DayTimeIntervalType):
            return self._type(aggregate.columns[0])
        found = spark_type(arrow)
        if found is None:
            raise bad_column_type("aggregate(schema=)", name, arrow, 'a type that Spark has, such as "array<bigint>"')
        return found


def _finished(finish: Finish, arrow: pa.Schema, core: StructType) -> StructType:
    """The columns of a result after its last step; `arrow` and `core` are those before it."""
    held = {field.name: field for field in core.fields}
    return StructType([held.get(field.name) or _computed_field(field) for field in finish.schema(arrow)])


def _computed_field(field: pa.Field[Any]) -> StructField:
    kind = spark_type(field.type)
    if kind is None:
        raise bad_column_type("then(schema=)", field.name, field.type, 'a type that Spark has, such as "double"')
    return StructField(field.name, kind)


def _result(plan: Plan, frame: DataFrame, observed: dict[str, str], *counts: Any) -> DataFrame:
    """What the last step gives, as it is asked for; `counts` are observed beside the counters."""
    if plan.options.observation is not None:
        frame = _observed(frame, plan.options.observation, observed, *counts)
    if plan.origins is not None and plan.origins.shown:
        frame = _shown(frame, plan.origins)
    return flat(frame) if plan.options.flat else frame


def _shown(frame: DataFrame, origins: Origins) -> DataFrame:
    """The rows of a cogroup without the plan's own columns, and with the name of each one's input behind the data's."""
    names, columns = frame.columns, _numbered(frame)
    of_input = F.element_at(F.array(*map(F.lit, origins.names)), F.col(f"_{names.index(origins.column)}") + 1)
    own = [F.col(f"_{names.index(name)}").alias(name) for name in origins.shown]
    added = [F.col(f"_{position}").alias(names[position]) for position in range(names.index(WINDOW), len(names))]
    return columns.select(*own, of_input.alias(INPUT), *added)


def projected(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """The columns of these names."""
    # mapInArrow looks columns up by unquoted names, and Spark finds names whatever their case: columns whose names
    # would then mean something else go by number. The packing function gives them their names back.
    columns = frame.columns
    times = Counter(name.casefold() for name in columns)
    if all(name.isidentifier() and times[name.casefold()] == 1 for name in names):
        return frame.select(*names)
    return _numbered(frame).select(*(f"_{columns.index(name)}" for name in names))


def _numbered(frame: DataFrame) -> DataFrame:
    return frame.toDF(*(f"_{position}" for position in range(len(frame.columns))))


def _observed(frame: DataFrame, observation: Any, counters: dict[str, str], *counts: Any) -> DataFrame:
    totals = [F.coalesce(F.sum(name), F.lit(0)).alias(counter) for counter, name in counters.items()]
    is_row = F.col(next(iter(counters.values()))).isNull()
    return frame.observe(observation, *totals, *counts).where(is_row).drop(*counters.values())


def _nullable_longs(names: Iterable[str]) -> list[StructField]:
    return [StructField(name, LongType()) for name in names]
