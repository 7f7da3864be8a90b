"""The data that all steps of a streaming query need. It is plain, so that unpickling needs no windrow."""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Iterable
from functools import cached_property
from typing import Any, TypedDict

import pyarrow as pa

from windrow._executor.batches import read_schema, rebased
from windrow._executor.left_out import LeftOutRows
from windrow._native import Operator, Query, shard_keys
from windrow._plan.plan import Plan
from windrow._plan.spec import Spec
from windrow._windows.session import SessionWindows

ORDER = "windrow.order"
"""The column in blocks with the order of a record in its source, or with the number of its arrival."""

ROW = "windrow.row"
"""The column of whole records, for sessions that return their records."""

ROWS = "windrow.rows"
"""The aggregate of a session that lists its records."""


class Shipment(TypedDict):
    """A streaming query in the form sent to executors.

    Attributes:
        spec: the plan, as JSON for the core.
        schema: the columns of the plan, then source and order, then the wall clock; serialized.
        columns: how many of them belong to the plan.
        functions: the pickled aggregates with Python functions.
        accumulators: the columns and types of their results; serialized.
        result: the columns of the state reader, as Spark's JSON; empty if the state cannot be read.
        source: the source columns; empty if there is one source.
        order: the column that orders the records of a source; None judges all by the start of a micro-batch.
        slowest: whether all sources share the stream time of the slowest; else each has its own.
        joins: whether shards join the records of a micro-batch to partial sessions; else they take them one by one.
        partials: whether blocks already hold these partial sessions; else they hold records.
        clock: the column of the wall clock; None for no limit.
        max_ahead: how far a record may be ahead of the wall clock, in microseconds.
        record_result: the columns of the result if the query returns records, serialized; none otherwise.
        records: how many of them are columns of the records.
        start: the open windows with which the stream begins; None for none.
    """

    spec: str
    schema: bytes
    columns: int
    functions: tuple[bytes, ...]
    accumulators: bytes
    result: str
    source: tuple[str, ...]
    order: str | None
    slowest: bool
    joins: bool
    partials: bool
    clock: str | None
    max_ahead: int
    record_result: bytes
    records: int
    start: str | None


def read_columns(plan: Plan, records: Iterable[pa.Field[Any]] = ()) -> dict[str, pa.Field[Any]]:
    """The columns that a streaming plan reads: its own, source and order, and those of returned records.

    `records` are the columns of returned records.
    """
    of_plan = [field for field in plan.schema if field.name != ROW]
    return {field.name: field for field in (*of_plan, *plan.stream.fields, *records)}


def shipment_of(
    plan: Plan,
    functions: tuple[bytes, ...],
    clock: str | None = None,
    result: str = "",
    *,
    record_result: pa.Schema | None = None,
    records: int = 0,
    start: str | None = None,
) -> Shipment:
    """A plan in the form sent to executors.

    Args:
        plan: the core's plan, with the windows of a stream.
        functions: the pickled aggregates with Python functions.
        clock: the column of the wall clock, which follows the columns that the plan reads.
        result: the columns of the state reader, as Spark's JSON.
        record_result: the columns of the result if the query returns records: those of the records come first.
        records: how many of them are columns of the records.
        start: the open windows with which the stream begins.
    """
    accumulators = [pa.field(name, fold.type) for name, fold in zip(plan.functions, plan.folds(), strict=True)]
    read = list(read_columns(plan, list(record_result or ())[:records]).values())
    at_ends = record_result is not None and not plan.spec.is_session
    if clock is not None:
        read.append(plan.schema.field(plan.time).with_name(clock))
    return Shipment(
        spec=(plan.spec.returning_records if at_ends else plan.spec).text,
        schema=pa.schema(read).serialize().to_pybytes(),
        columns=sum(field.name != ROW for field in plan.schema),
        functions=functions,
        accumulators=pa.schema(accumulators).serialize().to_pybytes(),
        result=result,
        source=plan.stream.source,
        order=plan.stream.order,
        slowest=plan.stream.stream_time == "slowest" and bool(plan.stream.source),
        joins=_joins(plan),
        partials=_joins(plan) and plan.left_out is None,
        clock=clock,
        max_ahead=plan.options.max_ahead or 0,
        record_result=pa.schema(record_result or ()).serialize().to_pybytes(),
        records=records,
        start=start,
    )


def _joins(plan: Plan) -> bool:
    """Whether records of a micro-batch may be joined to partial sessions before they are judged."""
    windows = plan.windows
    is_plain = not plan.functions and plan.origins is None and plan.stream.order is None
    if not isinstance(windows, SessionWindows) or windows.rules or not is_plain or plan.options.late != "drop":
        return False
    # A late record alone needs more grace than the same record in a closed session.
    return plan.left_out is None or windows.retention is None


class StreamQuery:
    """A `Shipment`, opened on an executor."""

    def __init__(self, shipment: Shipment) -> None:
        """Opens a shipment."""
        self.shipment = shipment
        self.spec = Spec.of(shipment["spec"])
        self.read = read_schema(shipment["schema"])
        """The columns that the query reads."""
        self.record_result = read_schema(shipment["record_result"])
        """The columns of the result if the query returns records: those of the records come first."""
        self.record_names: list[str] = self.record_result.names[: shipment["records"]]
        """The columns of returned records; empty if the query returns windows."""
        self.row_type = pa.struct(list(self.record_result)[: shipment["records"]])
        """The type of whole records."""
        self.waits: bool = bool(self.record_names) and self.spec.is_session
        """Whether records wait in the state until their sessions close."""
        self.at_once: bool = bool(self.record_names) and not self.waits
        """Whether records return in their own micro-batch."""
        whole = [pa.field(ROW, self.row_type)] if self.waits else []
        self.taken = pa.schema([*self.read, *whole])
        """The columns that the query reads, and the column of whole records if they wait."""
        self.schema = pa.schema([*list(self.read)[: shipment["columns"]], *whole])
        """The columns of the plan."""
        self.left_out = LeftOutRows.of(self.spec, self.schema)
        """Makes rows of records in no window, if they come back."""
        self.window_columns: int = len(self.spec.keys) + 1 + len(self.spec.aggregates) + self.spec.op
        """The number of window columns in the result: keys, `window`, aggregates, and `op` if present."""

    @cached_property
    def shard_keys(self) -> list[int]:
        """The grouping keys of the shards in Spark."""
        return shard_keys(self.spec.shards)

    def operator(self) -> Operator:
        """A new operator of a shard."""
        folds = [pickle.loads(function).fold(self.schema, kafka=False) for function in self.shipment["functions"]]
        return Operator(self.spec.of_shard.text, self.schema, folds)

    @cached_property
    def stored(self) -> str:
        """The query as stored in the state, for the state reader."""
        beside = list(self.read)[self.shipment["columns"] :]
        schema = pa.schema([*self.schema, *beside]).serialize().to_pybytes()
        stored: dict[str, Any] = {"spec": self.spec.of_shard.fields, "columns": len(self.schema)}
        for name, columns in (("schema", schema), ("accumulators", self.shipment["accumulators"])):
            stored[name] = base64.b64encode(columns).decode()
        return json.dumps({**stored, "result": self.shipment["result"]})

    @cached_property
    def seen(self) -> list[str]:
        """The columns with the times that judge a record, one for each input."""
        return [f"windrow.seen.{number}" for number in range(self.spec.input_count)]

    @property
    def by_arrival(self) -> bool:
        """Whether Python functions see the records of a micro-batch as they arrive."""
        return bool(self.shipment["functions"]) and self.shipment["order"] is None

    @cached_property
    def rows_schema(self) -> pa.Schema:
        """The columns of blocks."""
        order = pa.field(ORDER, pa.timestamp("us"))
        if self.by_arrival:
            return self.schema.append(order)
        if self.shipment["order"] is None:
            return self.schema
        return pa.schema([*self.schema, order, *(pa.field(name, pa.int64()) for name in self.seen)])

    @cached_property
    def _records(self) -> Query:
        return Query(self.spec.of_faults.text, self.schema)

    def faults(self, rows: pa.RecordBatch) -> pa.StringArray:
        """Why each row is in no window, whatever its time: `null_key` and so on. Null for other rows and for ticks."""
        return self._records.faults(rebased(rows))

    @cached_property
    def block_query(self) -> Query:
        """The query of the blocks: partial sessions with their record counts, or else plain rows.

        Rows are in time order; with `order=` in the order of their source; for Python functions without it in the order
        of arrival.
        """
        if self.shipment["partials"]:
            return Query(self.spec.of_partials.text, self.schema)
        time = ORDER if ORDER in self.rows_schema.names else self.spec.time
        return Query.of_rows(self.spec.ordered_by(time).text, self.rows_schema)
