"""Queries over a batch DataFrame. Uses only Spark's public API.

```text
select(referenced columns)
└─ mapInArrow(pack)                            rows of (shard, first time, block)
   └─ repartition("shard")                     brings the blocks of a shard together
      └─ sortWithinPartitions(shard, first)    in time order, so that windows become final early
         └─ mapInArrow(merge)                  typed rows

select(all columns)
└─ repartition(keys)                           brings the rows of a key together, unpacked
   └─ mapInArrow(over)                         the same rows, with their windows
```
With Python functions among the aggregates, blocks hold the records themselves (`pack_rows`). The second step (`fold`)
feeds them, shard by shard and in time order, to the operator that calls the functions: the record operator for
sessions, or `SlidingFolds` for sliding windows.

Nothing runs before the caller runs an action. Observed counters travel in separate rows, with null in every column
of the result. Spark observes them once at the end, and a filter drops them.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from windrow._arguments.column import Names
from windrow._arguments.errors import bad_type
from windrow._executor.batch import LEFT_OUT_BLOCKS, fold, merge, pack, pack_rows
from windrow._executor.batches import Batches, ipc_streams
from windrow._executor.blocks import ORDER
from windrow._executor.pickled import pickled_finish, pickled_functions
from windrow._executor.row_windows import with_windows
from windrow._executor.run_blocks import pack_day
from windrow._executor.shipping import shipped
from windrow._folds.python_values import values_of
from windrow._plan.earlier_types import retyped
from windrow._plan.flat import WINDOW
from windrow._plan.input import Run
from windrow._plan.observation import Observation, is_observation
from windrow._plan.open_table import STATE, STATUS, STREAM_TIME
from windrow._plan.plan import BATCH_COUNTERS, INPUT, Origins, Plan
from windrow._plan.sequence import SEQUENCE
from windrow._spark import release
from windrow._spark.advance import PACKED_RUN, RUN_COUNTERS, output_of, rows_of, wider_types
from windrow._spark.configure import warn_unless_configured
from windrow._spark.declared import with_schema
from windrow._spark.frame import FrameInput, numbered, projected, with_key_names, with_names, with_row_names
from windrow._spark.literal import literal
from windrow._spark.step import mapped

_PACKED = (
    StructField("shard", IntegerType(), nullable=False),
    StructField("first", LongType(), nullable=False),
    StructField("block", BinaryType(), nullable=False),
)


class BatchInput(FrameInput):
    """A batch DataFrame."""

    @classmethod
    def of(cls, data: object, schema: StructType | None = None) -> Self:
        """Opens a batch DataFrame, whose schema the user may declare. `TypeError` for other Spark objects."""
        if not release.is_frame(data):
            raise bad_type("data", data, "a DataFrame that is not grouped")
        return cls(data, schema, declared=schema is not None)

    def check_observation(self, observation: object) -> None:
        """Raises `TypeError` unless it is an `Observation`, of windrow or of PySpark."""
        if not is_observation(observation):
            raise bad_type("observation", observation, "a windrow.Observation or a pyspark.sql.Observation")
        release.check_observation(self._frame)

    def rows(self, schema: pa.Schema, keys: Sequence[str], wanted: Sequence[pa.RecordBatch]) -> pa.Table:
        """Collects these columns of the rows that have a wanted key."""
        frame = self._with(schema.names)
        places = {name: f"_{frame.columns.index(name)}" for name in schema.names}
        is_wanted = F.lit(False)
        for key in wanted:
            equal = F.lit(True)
            for name, column in zip(keys, key.columns, strict=True):
                (value,) = values_of(name, column)
                kind = frame.schema[frame.columns.index(name)].dataType
                equal &= F.col(places[name]).eqNullSafe(literal(value, kind))
            is_wanted |= equal
        rows = numbered(frame).where(is_wanted).select(*places.values())
        step = shipped(ipc_streams, schema.serialize().to_pybytes(), declared=self._declared(schema))
        collected = mapped(release.sendable(rows), step, StructType([StructField("stream", BinaryType())])).collect()
        batches = (pa.ipc.open_stream(row[0]).read_next_batch() for row in collected)
        return pa.Table.from_batches(batches, schema)

    def union(self, inputs: Sequence[Self], schema: pa.Schema, origins: Origins) -> Self:
        """The rows of several inputs in one frame."""
        return self._united(inputs, schema, origins)

    def run(self, plan: Plan) -> DataFrame:
        """The result as a lazy frame."""
        core = self._arrow_output(plan)
        output = self._output(plan, core, counted=plan.options.observation is not None)
        query, observed = self._query(plan, output)
        functions, broadcasts = pickled_functions(plan)
        finish, finish_broadcasts = pickled_finish(plan, core)
        steps: tuple[Callable[..., Batches], ...] = (pack_rows, fold) if plan.functions else (pack, merge)
        of_functions = (functions,) if plan.functions else ()
        left_out = [] if plan.left_out is None else [StructField(LEFT_OUT_BLOCKS, BinaryType())]
        packed = StructType([*_PACKED, *_nullable_longs(observed), *left_out])
        blocks = self._packed(steps[0], plan.schema, *query, tuple(observed), output=packed).repartition("shard")
        blocks, order = release.in_order(blocks, ORDER)
        step = shipped(
            steps[1],
            *query,
            observed,
            *of_functions,
            order=order,
            finish=finish,
            observed=observed,
            broadcasts=(*finish_broadcasts, *broadcasts),
        )
        result = mapped(blocks, step, StructType([*output.fields, *_nullable_longs(observed.values())]))
        windows = F.col("window") if plan.left_out is None else F.when(F.col("op") != "left_out", F.col("window"))
        return with_key_names(plan, _result(plan, result, observed, F.count(windows).alias("windows")))

    def advance(self, plan: Plan, opened: Any, to: int) -> Run[DataFrame]:
        """One run of a daily job, as lazy frames."""
        wider = wider_types(plan, opened)
        if wider:
            source = self._cast(wider)
            kinds = {name: source.field("open", name).type for name in wider}
            return source.advance(retyped(plan, kinds), opened, to)
        output = output_of(plan, self._output(plan, self._arrow_output(plan), counted=True), self._type(plan.time))
        (_, schema), observed = self._query(plan, output, RUN_COUNTERS)
        step = shipped(pack_day, plan.spec.in_order.text, schema, declared=self._declared(plan.schema))
        packed = mapped(self._rows(plan.schema.names), step, PACKED_RUN)
        rows = rows_of(plan, packed, opened, to=to, output=output, observed=observed)
        rows = with_key_names(plan, _result(plan, rows, observed))
        is_closed, op = F.col(STATUS) == "closed", ["op"] if plan.options.op else []
        closed = _without(rows.where(is_closed), [STREAM_TIME, STATE, STATUS])
        return Run(closed, _without(rows.where(~is_closed), [STATUS, *op]), rows)

    def _cast(self, types: Mapping[str, DataType]) -> Self:
        """The same with other types of columns."""
        columns, fields = list[Any](), list[StructField]()
        for number, field in enumerate(self._schema.fields):
            kind = types.get(field.name)
            columns.append(F.col(f"_{number}") if kind is None else F.col(f"_{number}").cast(kind))
            fields.append(field if kind is None else StructField(field.name, kind, field.nullable, field.metadata))
        frame = numbered(self._frame).select(*columns).toDF(*self.columns)
        return self._over(frame, StructType(fields), self.expressions)

    def with_windows(self, plan: Plan) -> DataFrame:
        """All rows, each with its window, as a lazy frame."""
        if plan.origins is not None:
            frame = self._rows_with_windows(plan)
            return with_names(frame, frame.columns, len(plan.origins.returned) + 1, flat=plan.options.flat)
        source, plan = self._without_clashes(plan)
        return with_row_names(plan, source._rows_with_windows(plan), self.row_columns, len(self.expressions))

    def _rows_with_windows(self, plan: Plan) -> DataFrame:
        plan, core, output = self._with_rows(plan, len(self.columns))
        query, observed = self._query(plan, output)
        finish, broadcasts = pickled_finish(plan, core)
        declared = self._declared(plan.schema)
        step = shipped(
            with_windows, *query, observed, declared=declared, finish=finish, observed=observed, broadcasts=broadcasts
        )
        rows = self._rows(plan.schema.names)
        if self.declared:
            rows = rows.sortWithinPartitions(F.lit(""))  # no work, but Spark refuses it over a stream
        columns = {name: F.col(position) for name, position in zip(plan.schema.names, rows.columns, strict=True)}
        keys = [columns[key] for key in plan.keys]
        lacks_key = functools.reduce(operator.and_, map(F.isnull, keys))
        # Rows whose keys are all null have no window. There may be many, so they are spread by time.
        apart = F.when(lacks_key, columns[plan.time])
        schema = StructType([*output.fields, *_nullable_longs(observed.values())])
        return _result(plan, mapped(rows.repartition(*keys, apart), step, schema), observed)

    def _rows(self, names: Sequence[str]) -> DataFrame:
        """These columns of all rows, for `mapInArrow`."""
        return projected(self._with(names), names)

    def _packed(self, step: Callable[..., Batches], schema: pa.Schema, *query: Any, output: StructType) -> DataFrame:
        """What the first step makes of these columns."""
        return mapped(self._rows(schema.names), shipped(step, *query, declared=self._declared(schema)), output)

    def _query(
        self, plan: Plan, output: StructType, counted: Sequence[str] = BATCH_COUNTERS
    ) -> tuple[tuple[str, bytes], dict[str, str]]:
        """The query for executors, and the column of each observed counter. Warns about missing settings."""
        warn_unless_configured(self._frame.sparkSession, pipeline=self.declared)
        counters, names = counted if plan.options.observation is not None else (), Names(output.names)
        observed = {counter: names.unused(f"windrow_{counter}") for counter in counters}
        spec = plan.spec.in_order if plan.functions else plan.spec
        return (spec.text, plan.schema.serialize().to_pybytes()), observed


def _result(plan: Plan, frame: DataFrame, observed: dict[str, str], *counts: Any) -> DataFrame:
    """The result of the last step. Observes `counts` with the counters."""
    if plan.options.observation is not None:
        frame = _observed(frame, plan.options.observation, observed, *counts)
    if plan.origins is not None and plan.origins.returned:
        frame = _returned(frame, plan.origins)
    if plan.options.sequence:
        fields = [*frame.schema.fields, StructField(SEQUENCE, LongType())]
        frame = with_schema(frame.withColumn(SEQUENCE, F.lit(0).cast("long")), fields)
    return frame


def _without(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """The frame without these columns."""
    fields = [field for field in frame.schema.fields if field.name not in names]
    return with_schema(frame.drop(*names), fields)


def _returned(frame: DataFrame, origins: Origins) -> DataFrame:
    """The rows of a cogroup. Drops the plan's own columns and adds the input's name after the columns of the data."""
    names, columns = frame.columns, numbered(frame)
    of_input = F.element_at(F.array(*map(F.lit, origins.names)), F.col(f"_{names.index(origins.column)}") + 1)
    shown = [F.col(f"_{names.index(name)}").alias(name) for name in origins.returned]
    added = [F.col(f"_{position}").alias(names[position]) for position in range(names.index(WINDOW), len(names))]
    fields = {field.name: field for field in frame.schema.fields}
    fields[INPUT] = StructField(INPUT, StringType())
    rows = columns.select(*shown, of_input.alias(INPUT), *added)
    return with_schema(rows, [fields[name] for name in (*origins.returned, INPUT, *names[names.index(WINDOW) :])])


def _observed(frame: DataFrame, observation: Any, counters: dict[str, str], *counts: Any) -> DataFrame:
    # As texts, because each part of a Column is a call to the JVM.
    totals = [F.expr(f"coalesce(sum({name}), 0) AS {counter}") for counter, name in counters.items()]
    fields = [field for field in frame.schema.fields if field.name not in counters.values()]
    spark_observation = observation._of_spark() if isinstance(observation, Observation) else observation
    is_row = f"{next(iter(counters.values()))} IS NULL"
    rows = frame.observe(spark_observation, *totals, *counts).where(is_row).drop(*counters.values())
    return with_schema(rows, fields)


def _nullable_longs(names: Iterable[str]) -> list[StructField]:
    return [StructField(name, LongType()) for name in names]
