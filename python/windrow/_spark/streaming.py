"""Queries over a streaming DataFrame. Uses only Spark's public API.

```text
select(referenced columns)
└─ mapInArrow(stream.pack)                   rows of (shard, source, first time, block), control rows for every shard
   └─ groupBy("shard").transformWithState    `processor`: the operator of a shard; its pages are in Spark's state store
      └─ observe(counters)
         └─ mapInArrow(stream.unpack)        typed rows
```
With `order=`, one task of the first step gets all records of a source, so it knows the place of each record.
windrow keeps its own stream time, without timers. A watermark before it only matters to the operators before it.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Self

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
)

from windrow._arguments.column import Names
from windrow._arguments.errors import bad_type, bad_value, calls_to_user
from windrow._arguments.expression import ColumnExpression
from windrow._executor.batches import Batches
from windrow._executor.pickled import pickled_finish, pickled_for_stream
from windrow._executor.shipping import shipped
from windrow._executor.stream import change_block, returned_records
from windrow._executor.stream.pack import PACKED, pack
from windrow._executor.stream.query import Shipment, read_columns, shipment_of
from windrow._executor.stream.shard import SUMS
from windrow._plan.limits import check_plan
from windrow._plan.plan import Origins, Plan
from windrow._plan.sequence import SEQUENCE
from windrow._spark.configure import (
    check_state_store,
    sentence_on_state_store,
    warn_of_idle_partitions,
    warn_unless_configured,
)
from windrow._spark.declared import check_table, with_schema
from windrow._spark.environment import warn_of_interpreter
from windrow._spark.expressions import check_deterministic
from windrow._spark.frame import FrameInput, projected, with_key_names, with_row_names
from windrow._spark.processor import CHANGED, changed
from windrow._spark.release import is_frame
from windrow._spark.start import Start
from windrow._spark.step import mapped
from windrow._spark.types import returned_type
from windrow._windows.session import SessionWindows

_NUMBERS = itertools.count(1)
"""Numbers the streams of this process: Spark refuses a query in which two of them have counters of one name."""

_CLOCK = "windrow.clock"
_TYPES = {"int32": IntegerType(), "string": StringType(), "int64": LongType(), "binary": BinaryType()}


class StreamInput(FrameInput):
    """A streaming DataFrame."""

    is_stream = True

    @classmethod
    def of(cls, data: object, schema: StructType | None = None) -> Self:
        """Opens a streaming DataFrame, whose schema the user may declare."""
        if not is_frame(data):
            raise bad_type("data", data, "a streaming DataFrame")
        if schema is not None:
            check_table(data)
        return cls(data, schema, declared=schema is not None)

    def check_observation(self, observation: object) -> None:
        """Raises `TypeError` or `ValueError` unless the observation is a name."""
        if not isinstance(observation, str):
            allowed = "the name of the counters in the query's progress (an Observation is for batch DataFrames)"
            raise bad_type("observation", observation, allowed)
        if not observation:
            raise bad_value("observation", observation, "a name of at least one character")

    def check_start(self, opened: object) -> None:
        """Raises `ValueError` in a declarative pipeline."""
        if self.declared:
            allowed = "a query outside of pipelines: start_from reads the table's clock row when the query is built"
            raise bad_value("start_from", "a query in a declarative pipeline", allowed)

    def rows(self, schema: Any, keys: Sequence[str], wanted: Sequence[Any]) -> Any:
        """Raises `ValueError`: a stream has no end."""
        allowed = "a batch of what it reads (spark.read), as a stream has no end; open windows: windrow.state"
        raise bad_value("events", "a streaming DataFrame", allowed)

    def union(self, inputs: Sequence[Self], schema: Any, origins: Origins) -> Self:
        """The rows of several inputs in one frame. Raises `ValueError` for `with_columns`, which takes one stream."""
        if origins.returned:
            raise bad_value("with_columns", "a cogroup of streaming DataFrames", "one of batches, or one stream")
        return self._united(inputs, schema, origins)

    def run(self, plan: Plan) -> DataFrame:
        """The result as a streaming frame."""
        plan = self._on_stream(plan)
        start = None if plan.options.start is None else Start(plan, self._frame.sparkSession)
        core = self._arrow_output(plan)
        output = self._output(plan, core, counted=_counts_computed(plan))
        read = self._shipment(plan, self._core_output(plan, core, counted=False), start)
        schema = _nullable(core).serialize().to_pybytes()
        if plan.options.sequence:
            output = StructType([*output.fields, StructField(SEQUENCE, LongType())])
        unpack = _last_step(plan, core, change_block.unpack, _observed(plan, output), schema, plan.options.sequence)
        return with_key_names(plan, self._unpacked(plan, *read, unpack, output, start=start))

    def with_windows(self, plan: Plan) -> DataFrame:
        """All records, each with its window, as a streaming frame."""
        source, plan = self._without_clashes(self._on_stream(plan, rows=True))
        return with_row_names(plan, source._rows_with_windows(plan), self.row_columns)

    def output_name(self, argument: str, expression: ColumnExpression) -> str:
        """Spark's name for the column. Also raises `ValueError` for an expression that is not deterministic."""
        name = super().output_name(argument, expression)
        check_deterministic(self._frame, argument, expression)
        return name

    def _rows_with_windows(self, needed: Plan) -> DataFrame:
        plan, core, output = self._with_rows(needed, len(self.row_columns))
        shipment, frame = self._shipment_of_records(needed, _nullable(core))
        unpack = _last_step(plan, core, returned_records.unpack_records, _observed(plan, output), shipment)
        return self._unpacked(plan, shipment, frame, unpack, output)

    def _on_stream(self, plan: Plan, *, rows: bool = False) -> Plan:
        """The plan for a stream. Checks the plan and the session."""
        check_plan(plan, stream=True, closing=True, rows=rows)
        spark = self._frame.sparkSession
        check_state_store(spark, pipeline=self.declared)
        warn_unless_configured(spark, pipeline=self.declared)
        warn_of_idle_partitions(spark, plan.options.shards)
        warn_of_interpreter(spark)
        _warn_of_arrival(plan)
        _warn_of_ends(plan)
        if isinstance(plan.windows, SessionWindows):
            return replace(plan, windows=plan.windows._on_stream(plan.schema.field(plan.time)))
        return plan

    def _unpacked(
        self,
        plan: Plan,
        shipment: Shipment,
        frame: DataFrame,
        unpack: Callable[..., Any],
        output: StructType,
        *,
        start: Start | None = None,
    ) -> DataFrame:
        """Builds the steps of the query. `unpack` is the last step. `output` are its columns, without counters."""
        observed = _observed(plan, output)
        packed = StructType([StructField(field.name, _TYPES[str(field.type)], field.nullable) for field in PACKED])
        declared = shipment["schema"] if self.declared else None
        blocks = mapped(frame, shipped(pack, shipment, self.declared, declared=declared), packed)
        changes = changed(blocks, shipment, None if start is None else start.entries(shipment))
        sentence = sentence_on_state_store(frame.sparkSession)
        if sentence is not None:
            changes = changes.alias(sentence)
        name, counters = _metrics(plan), _counters(self._type(plan.time), observed)
        if observed:
            columns = StructType([*output.fields, *(StructField(column, LongType()) for column in observed.values())])
            rows = mapped(changes, unpack, columns).observe(name, *counters)
            rows = rows.where(F.col(observed[SUMS[0]]).isNull()).drop(*observed.values())
            return with_schema(rows, output.fields)
        changed_blocks = with_schema(changes.observe(name, *counters).select("block"), CHANGED.fields[:1])
        return mapped(changed_blocks, unpack, output)

    def _shipment(self, plan: Plan, output: StructType, start: Start | None) -> tuple[Shipment, DataFrame]:
        """The query for executors, and the frame of the columns that it reads."""
        frame, clock = self._read(plan, list(read_columns(plan)))
        stored, name = self._stored(plan, output).json(), None if start is None else start.name
        return shipment_of(plan, pickled_for_stream(plan), clock, stored, start=name), frame

    def _shipment_of_records(self, plan: Plan, shown: pa.Schema) -> tuple[Shipment, DataFrame]:
        """As `_shipment`, for a plan that returns records. `shown` are the columns of its result."""
        count = len(self.row_columns)
        records = pa.schema(list(shown)[:count])
        core = returned_records.core_plan(plan, records)
        frame, clock = self._read(core, list(read_columns(core, records)))
        stored = ""
        if isinstance(plan.windows, SessionWindows):
            columns = [StructField(field.name, returned_type(field.dataType)) for field in self._schema.fields[:count]]
            fields = [StructField(key, self._type(key)) for key in plan.keys]
            fields += self._window_columns(plan, shown)
            waiting = ArrayType(StructType(columns), containsNull=False)
            name = Names(field.name for field in fields).unused("records")
            output = StructType([*fields, StructField(name, waiting)])
            stored = self._stored(core, output).json()
        return shipment_of(core, (), clock, stored, record_result=shown, records=len(records)), frame

    def _read(self, plan: Plan, names: list[str]) -> tuple[DataFrame, str | None]:
        """The frame of these columns, with the wall clock if `max_ahead` needs it, and the clock's column."""
        frame = projected(self._frame, names)
        columns, clock = frame.columns, None
        if plan.options.max_ahead is not None:
            is_local = isinstance(self._type(plan.time), TimestampNTZType)
            clock = _CLOCK
            now = F.localtimestamp() if is_local else F.current_timestamp()
            added = StructField(Names(columns).unused("windrow_clock"), self._type(plan.time))
            fields = [*frame.schema.fields, added]
            frame = with_schema(frame.withColumn(added.name, now), fields)
        if plan.stream.order is not None:
            sources = [columns[names.index(column)] for column in plan.stream.source]
            frame = frame.repartition(*sources) if sources else frame.repartition(1)
        return frame, clock

    def _stored(self, plan: Plan, output: StructType) -> StructType:
        """The columns of `windrow.state.read`: the result, the source if each has its own windows, and stream time."""
        fields = output.fields[: len(plan.keys) + 1 + len(plan.aggregates)]
        named = zip(plan.key_names, fields, strict=False)
        fields[: len(plan.keys)] = [StructField(name, field.dataType, field.nullable) for name, field in named]
        of_source = plan.stream.source if plan.stream.stream_time == "source" else ()
        added = [(column, self._type(column)) for column in of_source if column not in plan.keys]
        names = Names(field.name for field in fields)
        shown = (*added, ("stream_time", self._type(plan.time)))
        return StructType([*fields, *(StructField(names.unused(name), kind) for name, kind in shown)])


def _last_step(
    plan: Plan, core: pa.Schema, unpack: Callable[..., Batches], observed: dict[str, str], data: Any, *more: Any
) -> Callable[..., Any]:
    """The step that turns changes into typed rows: `unpack(data, observed, *more)` returns the columns `core`."""
    finish, broadcasts = pickled_finish(plan, core)
    return shipped(unpack, data, observed, *more, finish=finish, observed=observed, broadcasts=broadcasts)


def _counts_computed(plan: Plan) -> bool:
    """Whether the last step counts: it does if it may make null of results that do not fit their type."""
    return plan.finish is not None and plan.finish.nulls


def _observed(plan: Plan, output: StructType) -> dict[str, str]:
    """The columns that carry the counters through the last step, by counter; none if that step does not count."""
    counters, names = CHANGED.names[1:] if _counts_computed(plan) else (), Names(output.names)
    return {counter: names.unused(f"windrow_{counter}") for counter in counters}


def _nullable(core: pa.Schema) -> pa.Schema:
    """The core's columns, all nullable as in Spark."""
    return pa.schema([field.with_nullable(True) for field in core])


def _metrics(plan: Plan) -> str:
    """The name of the counters in the progress of the query, unlike that of any other stream of this process."""
    if plan.options.observation is not None:
        return str(plan.options.observation)
    number = next(_NUMBERS)
    return "windrow" if number == 1 else f"windrow_{number}"


def _warn_of_arrival(plan: Plan) -> None:
    """Warns the user if Python functions see the records as they arrive."""
    if plan.stream.order is None and plan.functions:
        named = ", ".join(f"{name}={function.maker}(...)" for name, function in plan.functions.items())
        warnings.warn(
            f"{named} without group_by(order=): records are folded as they arrive, and records of several partitions "
            "arrive in no certain order; name the column that orders the records of a source, such as order='offset' "
            "with source=['topic', 'partition'], if the order changes the result (that of windrow.apply never does)",
            stacklevel=calls_to_user(),
        )


def _warn_of_ends(plan: Plan) -> None:
    """Warns the user if records with an end would come too late for sessions that closed while they ran."""
    if plan.end is not None and not plan.windows.grace:
        warnings.warn(
            "end= with a grace of '0 seconds': a record comes when it has ended, and by then sessions that it would "
            "join may be final; choose a grace of at least the longest record plus the disorder of arrival (the "
            "counter behind shows how many records come later)",
            stacklevel=calls_to_user(),
        )


def _counters(time: Any, columns: dict[str, str]) -> list[Any]:
    """The counters of a micro-batch. `columns` are their columns, if these have other names."""
    sums = [F.coalesce(F.sum(columns.get(name, name)), F.lit(0)).alias(name) for name in SUMS]
    latest = F.min(columns.get("stream_time", "stream_time"))
    if isinstance(time, TimestampNTZType):
        # A cast from TIMESTAMP would shift it by the session's time zone.
        shown = F.expr("TIMESTAMP_NTZ '1970-01-01 00:00:00'") + latest * F.expr("INTERVAL '0.000001' SECOND")
    else:
        shown = F.timestamp_micros(latest)
    return [*sums, shown.alias("stream_time")]
