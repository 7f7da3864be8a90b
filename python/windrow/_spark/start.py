"""The table of open windows with which a stream begins. Uses only Spark's public API.

```text
select(open windows) ─ mapInArrow(pack_open) ─ repartition("shard") ─ mapInArrow(first_pages) ─▶ initialState
```
Spark reads it for the first micro-batch only. So windrow reads the clock row when the query is built. Its hash is in
the name of the table, which each state keeps. A state with another name is an error.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from windrow._executor.open_windows import BEGINS_ANEW, OpenWindows, shown_aggregates
from windrow._executor.run_blocks import pack_open
from windrow._executor.shipping import shipped
from windrow._executor.spark_casts import spark_cast, spark_names
from windrow._executor.stream.query import Shipment
from windrow._executor.stream.start import ENTRIES, first_pages
from windrow._native import Operator, read_clock
from windrow._plan.earlier_types import refused
from windrow._plan.open_table import STATE, STREAM_TIME
from windrow._plan.plan import Plan
from windrow._spark.advance import PACKED_RUN, open_columns, open_spec
from windrow._spark.step import mapped

_ENTRIES = StructType(
    [
        StructField(field.name, IntegerType() if field.type == pa.int32() else StringType(), nullable=False)
        for field in ENTRIES
    ]
)

_CLOCKS = 100
"""How many clock rows to read at most. A table has one."""


class Start:
    """The table with which a stream begins.

    Attributes:
        name: its time and a hash of its clock row, for people and for comparisons.
    """

    def __init__(self, plan: Plan, spark: Any) -> None:
        """Reads the clock row: a job of Spark.

        Raises:
            TypeError: `open` is no table of open windows.
            ValueError: it has no clock row or several, or is of another query.
        """
        self._plan = plan
        operator = Operator(plan.spec.of_start.text, plan.schema, plan.folds())
        aggregates = shown_aggregates(plan, operator.output_schema)
        if callable(plan.options.start):
            rows: pa.Table = plan.options.start(plan, aggregates)
            self._columns = rows.schema
            spec, schema = open_spec(plan, rows.schema), rows.schema.serialize().to_pybytes()
            packed = list(pack_open(iter(rows.to_batches()), spec, schema, plan.options.shards))
            self._packed = spark.createDataFrame(pa.Table.from_batches(packed), PACKED_RUN)
            opened = OpenWindows.counted(rows[STREAM_TIME], rows[STATE])
        else:
            frame, self._columns = open_columns(plan, plan.options.start, aggregates)
            spec, schema = open_spec(plan, self._columns), self._columns.serialize().to_pybytes()
            self._packed = mapped(frame, shipped(pack_open, spec, schema, plan.options.shards), PACKED_RUN)
            time, state = (F.col(name) for name in frame.columns[-2:])
            clocks = frame.select(time, state).where(time.isNotNull() & state.isNotNull()).limit(_CLOCKS).toArrow()
            opened = OpenWindows.counted(*clocks.columns)
            opened.rows = opened.rows if opened.clocks else frame.count()
        kind: Any = plan.schema.field(plan.time).type
        clock, to = opened.clock(kind)
        counted = json.loads(read_clock(clock))
        if plan.stream.source:
            opened.sources(kind, plan.stream.source)
        try:
            operator.resume_open((clock, to), (counted["rows"], counted["checksum"]), [])
        except ValueError as error:
            words: dict[str, Any] = {"anew": BEGINS_ANEW, "of_library": spark_names}
            cast = partial(spark_cast, plan.schema)
            raise refused(error, read_clock(clock), plan.schema, plan.time, cast, **words) from error
        self.name = opened.name(kind)

    def entries(self, shipment: Shipment) -> DataFrame:
        """The entries of the states of all shards."""
        plan, schema = self._plan, self._columns.serialize().to_pybytes()
        step = shipped(first_pages, shipment, open_spec(plan, self._columns), schema)
        return mapped(self._packed.repartition("shard").sortWithinPartitions("shard", "kind", "first"), step, _ENTRIES)
