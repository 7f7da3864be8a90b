"""One run of a daily job over a batch DataFrame. Uses only Spark's public API.

```text
select(records)      ─ mapInArrow(pack_day) ──┐
select(open windows) ─ mapInArrow(pack_open) ─┼ union ─ repartition("shard") ─ sortWithinPartitions
one row              ─ mapInArrow(heads) ─────┘      └─ mapInArrow(advance)       one operator a shard
                                                        └─ repartition("shard")   the clock parts meet in one task
                                                           └─ mapInArrow(rows_of_run)
```

Nothing runs before the caller runs an action.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

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
    TimestampNTZType,
    TimestampType,
)

from windrow._aggregates.call import OF_COLUMN
from windrow._arguments.errors import bad_column_type, bad_type, bad_value, listed
from windrow._arguments.nested import nullable
from windrow._executor.advance import advance, rows_of_run
from windrow._executor.open_windows import END, START, shown_aggregates
from windrow._executor.pickled import pickled_finish, pickled_functions
from windrow._executor.run import run_schema
from windrow._executor.run_blocks import heads, pack_open, packed_schema
from windrow._executor.shipping import shipped
from windrow._executor.spark_casts import spark_cast
from windrow._native import Operator
from windrow._plan.earlier_types import is_wider
from windrow._plan.flat import BOUNDS, WINDOW
from windrow._plan.open_table import STATE, STATUS, STREAM_TIME, bounds_of
from windrow._plan.plan import Plan
from windrow._spark import release
from windrow._spark.declared import schema_of
from windrow._spark.frame import numbered
from windrow._spark.step import mapped
from windrow._spark.types import arrow_field, returned_type, spark_type

PACKED_RUN = StructType(
    [
        StructField("kind", IntegerType(), nullable=False),
        StructField("shard", IntegerType(), nullable=False),
        StructField("first", LongType(), nullable=False),
        StructField("block", BinaryType(), nullable=False),
    ]
)
_ALLOWED = "the open windows that the earlier advance returned, as a batch DataFrame"

RUN_COUNTERS = (
    "records",
    "null_keys",
    "null_times",
    "null_ties",
    "bad_gaps",
    "bad_ends",
    "clamped_gaps",
    "ticks",
    "overflows",
    "late",
    "windows_refused",
    "late_emitted",
    "behind",
    "windows",
    "windows_open",
)
"""What a run counts."""


def rows_of(
    plan: Plan, packed: DataFrame, opened: object, *, to: int, output: StructType, observed: dict[str, str]
) -> DataFrame:
    """The rows of a run, with the columns `output`, then those of the observed counters. `packed` are its records."""
    schema, shards = plan.schema.serialize().to_pybytes(), plan.options.shards
    output_schema = Operator(plan.spec.of_run.text, plan.schema, plan.folds()).output_schema
    core = run_schema(output_schema)
    functions, broadcasts = pickled_functions(plan)
    finish, finish_broadcasts = pickled_finish(plan, core)
    parts = list[DataFrame]()
    one = packed.sparkSession.range(0, 1, 1, 1)
    parts.append(mapped(one, shipped(heads, shards), PACKED_RUN))
    specs, schemas = {"run": plan.spec.of_run.text, "records": plan.spec.in_order.text}, {"records": schema}
    if opened is not None:
        open_frame, columns = open_columns(plan, opened, shown_aggregates(plan, output_schema))
        specs["open"], schemas["open"] = open_spec(plan, columns), columns.serialize().to_pybytes()
        pack = shipped(pack_open, specs["open"], schemas["open"], shards)
        parts.append(mapped(open_frame, pack, PACKED_RUN))
    for part in parts:
        packed = packed.union(part)
    packed, order = release.in_order(packed.repartition("shard"), ("shard", "kind", "first"))
    step = shipped(advance, specs, schemas, functions, to, order=order, broadcasts=broadcasts)
    of_run = shipped(
        rows_of_run,
        core.serialize().to_pybytes(),
        shards,
        to,
        observed,
        finish=finish,
        observed=observed,
        broadcasts=finish_broadcasts,
    )
    counters = [StructField(name, LongType()) for name in observed.values()]
    windows = mapped(packed, step, PACKED_RUN).repartition("shard")
    return mapped(windows, of_run, StructType([*output.fields, *counters]))


def output_of(plan: Plan, core: StructType, time: Any) -> StructType:
    """The columns of the rows of a run. `core` are those of the result, `time` is the type of times.

    Another day may have nulls where this one has none, also within its values.
    """
    typed = zip(core.fields, (returned_type(field.dataType, nulls=True) for field in core.fields), strict=True)
    fields = [StructField(field.name, kind, True, field.metadata) for field, kind in typed]
    added = [StructField(STREAM_TIME, time), StructField(STATE, BinaryType()), StructField(STATUS, StringType())]
    return StructType([*fields, *added])


def open_columns(plan: Plan, opened: object, aggregates: list[pa.Field[Any]]) -> tuple[DataFrame, pa.Schema]:
    """The columns of a table of open windows that a run reads, and their types in Arrow."""
    if not release.is_frame(opened):
        raise bad_type("open", opened, _ALLOWED)
    if opened.isStreaming:
        raise bad_value("open", "a streaming DataFrame", _ALLOWED)
    schema = schema_of(opened)
    names = [name.casefold() for name in schema.names]

    def place(name: str) -> int:
        places = [position for position, other in enumerate(schema.names) if other == name]
        places = places or [position for position, other in enumerate(names) if other == name.casefold()]
        if len(places) != 1:
            raise bad_value(
                "open", f"a DataFrame with the columns {listed(schema.names)}", f"one that has {name!r}: {_ALLOWED}"
            )
        return places[0]

    frame, selected = numbered(opened), list[Any]()
    time = plan.schema.field(plan.time)
    fields = [plan.schema.field(key).with_nullable(True) for key in plan.keys]
    for number, name in enumerate(plan.key_names):
        at = place(name)
        _check_type(schema.fields[at], fields[number])
        is_narrow = is_wider(fields[number].type, arrow_field("open", schema.fields[at], compared=True).type)
        column = F.col(f"_{at}")
        wide: Any = spark_type(fields[number].type)
        selected.append(column.cast(wide) if is_narrow else column)
    if not plan.key_names:
        selected.append(F.lit(0))
    is_flat = bounds_of(plan, names) == BOUNDS
    times = {name: schema.fields[place(name)].dataType for name in (STREAM_TIME, *(BOUNDS if is_flat else ()))}
    if is_flat:
        bounds = [F.col(f"_{place(name)}") for name in BOUNDS]
    else:
        at = place(WINDOW)
        window = schema.fields[at].dataType
        if not isinstance(window, StructType) or not {"start", "end"} <= set(window.names):
            raise bad_column_type("open", WINDOW, window.simpleString(), "a struct of `start` and `end`")
        times |= {f"{WINDOW}.{bound}": window[bound].dataType for bound in ("start", "end")}
        bounds = [F.col(f"_{at}.{bound}") for bound in ("start", "end")]
    for name, kind in times.items():
        if not isinstance(kind, TimestampType | TimestampNTZType):
            raise bad_column_type("open", name, kind.simpleString(), "a timestamp")
    state = schema.fields[place(STATE)].dataType
    if not isinstance(state, BinaryType):
        raise bad_column_type("open", STATE, state.simpleString(), "binary")
    shown = [each for each in aggregates if names.count(each.name.casefold()) == 1]
    shown = [each for each in shown if _has_type(schema.fields[place(each.name)], each)]
    selected += [*bounds, *(F.col(f"_{place(each.name)}") for each in shown)]
    selected += [F.col(f"_{place(STREAM_TIME)}"), F.col(f"_{place(STATE)}")]
    frame = frame.select(*(column.alias(f"_{number}") for number, column in enumerate(selected)))
    start, end, stream_time = (pa.field(name, time.type) for name in (START, END, STREAM_TIME))
    shown = [each.with_nullable(True) for each in shown]
    return release.sendable(frame), pa.schema([*fields, start, end, *shown, stream_time, pa.field(STATE, pa.binary())])


def wider_types(plan: Plan, opened: object) -> dict[str, DataType]:
    """The types of the columns of a query that a table of open windows has in a wider type, as far as it shows them.

    It shows the types of keys, and of values that results have unchanged, such as those of `max`.
    """
    if not release.is_frame(opened):
        return {}
    shown = schema_of(opened)
    columns = list(zip(plan.key_names, plan.keys, strict=False))
    columns += [(name, call.columns[0]) for name, call in plan.aggregates if call.function in OF_COLUMN]
    wider = dict[str, DataType]()
    for name, column in columns:
        fields = [field for field in shown.fields if field.name.casefold() == name.casefold()]
        with suppress(TypeError):  # a type that Arrow does not have, which the run refuses
            kinds = [arrow_field("open", field, compared=False).type for field in fields]
            if len(kinds) == 1 and is_wider(kinds[0], plan.schema.field(column).type):
                wider[column] = fields[0].dataType
    return wider


def _has_type(field: StructField, wanted: pa.Field[Any]) -> bool:
    try:
        return bool(arrow_field("open", field, compared=False).type == wanted.type)
    except TypeError:
        return False


def _check_type(field: StructField, wanted: pa.Field[Any]) -> None:
    kind = arrow_field("open", field, compared=True).type
    if nullable(kind) != wanted.type and not is_wider(wanted.type, kind):
        cast = spark_cast(pa.schema({field.name: wanted.type}), field.name, kind)
        allowed = f"{wanted.type}, as the key of the query, or a narrower type of the same kind"
        allowed += "" if cast is None else f", such as after {cast} in its data"
        raise bad_value("open", f"the column {field.name!r} of type {kind}", allowed)


def open_spec(plan: Plan, columns: pa.Schema) -> str:
    """A plan for the rows of open windows, which a packer brings to the shards of their keys."""
    return plan.spec.of_open_rows(packed_schema(columns).names[-1]).text
