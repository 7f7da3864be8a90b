"""What the steps of one streaming query have to know. Plain data, so that it is pickled without windrow."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from functools import cached_property
from typing import Any, TypedDict

import pyarrow as pa

from windrow._native import Query, shard_keys
from windrow._plan.plan import Plan
from windrow._windows.session import SessionWindows

ORDER = "windrow.order"
"""The order of a record in its source, in blocks."""

ROW = "windrow.row"
"""Of sessions whose records come back: the column of whole records."""

ROWS = "windrow.rows"
"""The list of them among the aggregates of a session."""


class Shipment(TypedDict):
    """A streaming query as it travels to executors.

    Attributes:
        spec: the plan, as the core reads it.
        schema: the columns of the plan, then those of source and order, then the wall clock: serialized.
        columns: how many of them are the plan's own.
        functions: the aggregates of Python functions, pickled.
        accumulators: their columns and types: serialized.
        result: the columns that a reader of the state gives, as Spark's JSON; empty where nobody reads it.
        source: the columns that name a source; none where there is one.
        order: the column that orders the records of a source; None where all are judged by the start of a micro-batch.
        slowest: whether stream time is that of the slowest source, and not one for each.
        partials: whether blocks hold partial sessions, and not the records themselves.
        runs: whether the state holds these as sorted runs, so that a shard joins them without an operator.
        clock: the column of the wall clock; None where no record is ahead of it.
        max_ahead: how far ahead of it a record may be, in microseconds.
        over: of a query whose records come back, the columns of the result: serialized; else None.
        records: how many of them are those of the records.
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
    partials: bool
    runs: bool
    clock: str | None
    max_ahead: int
    over: bytes | None
    records: int


def read_columns(plan: Plan, records: Iterable[pa.Field[Any]] = ()) -> dict[str, pa.Field[Any]]:
    """The columns that a stream of a plan reads: those of the plan, those of source and order, and all that come back.

    `records` are the columns of records that come back.
    """
    of_plan = [field for field in plan.schema if field.name != ROW]
    return {field.name: field for field in (*of_plan, *plan.stream.fields, *records)}


def shipment_of(
    plan: Plan,
    functions: tuple[bytes, ...],
    clock: str | None = None,
    result: str = "",
    *,
    over: pa.Schema | None = None,
    records: int = 0,
) -> Shipment:
    """A plan as it travels.

    Args:
        plan: the plan of the core; its windows are those of a stream.
        functions: the aggregates of Python functions, pickled.
        clock: the column of the wall clock, which follows the columns that a plan reads.
        result: the columns that a reader of the state gives, as Spark's JSON.
        over: of a query whose records come back, the columns of the result: those of the records first.
        records: how many of them are those of the records.
    """
    accumulators = [pa.field(name, fold.type) for name, fold in zip(plan.functions, plan.folds(), strict=True)]
    read = list(read_columns(plan, list(over or ())[:records]).values())
    at_ends = over is not None and not isinstance(plan.windows, SessionWindows)
    if clock is not None:
        read.append(plan.schema.field(plan.time).with_name(clock))
    return Shipment(
        spec=json.dumps(plan.to_dict() | ({"over": True} if at_ends else {})),
        schema=pa.schema(read).serialize().to_pybytes(),
        columns=sum(field.name != ROW for field in plan.schema),
        functions=functions,
        accumulators=pa.schema(accumulators).serialize().to_pybytes(),
        result=result,
        source=plan.stream.source,
        order=plan.stream.order,
        slowest=plan.stream.stream_time == "slowest" and bool(plan.stream.source),
        partials=_takes_partials(plan),
        runs=_takes_partials(plan) and plan.windows.retention is None,
        clock=clock,
        max_ahead=plan.options.max_ahead or 0,
        over=None if over is None else over.serialize().to_pybytes(),
        records=records,
    )


def _takes_partials(plan: Plan) -> bool:
    """Whether the records of a micro-batch may be made partial sessions before they are judged."""
    is_plain = not plan.functions and plan.origins is None and plan.stream.order is None
    return isinstance(plan.windows, SessionWindows) and is_plain and plan.options.late == "drop"


class StreamQuery:
    """The same, opened."""

    def __init__(self, shipment: Shipment) -> None:
        """Opens what travelled."""
        self.shipment = shipment
        self.spec: dict[str, Any] = json.loads(shipment["spec"])
        self.read = pa.ipc.read_schema(pa.py_buffer(shipment["schema"]))
        """The columns that are read."""
        self.over = (
            pa.ipc.read_schema(pa.py_buffer(shipment["over"])) if shipment["over"] is not None else pa.schema([])
        )
        """Where records come back, the columns of the result: those of the records first."""
        self.record_names: list[str] = self.over.names[: shipment["records"]]
        """The columns of records that come back; none where windows do."""
        self.row_type = pa.struct(list(self.over)[: shipment["records"]])
        """The type of whole records."""
        self.waits: bool = bool(self.record_names) and self.spec["windows"]["kind"] == "session"
        """Whether records come back when their sessions close."""
        self.at_once: bool = bool(self.record_names) and not self.waits
        """Whether records come back in their own micro-batch."""
        whole = [pa.field(ROW, self.row_type)] if self.waits else []
        self.taken = pa.schema([*self.read, *whole])
        """The columns that are read, and whole records where they wait."""
        self.schema = pa.schema([*list(self.read)[: shipment["columns"]], *whole])
        """The columns of the plan."""
        self.keys: list[str] = self.spec["keys"]
        self.window_columns: int = len(self.keys) + 1 + len(self.spec["aggregates"]) + self.spec["op"]
        """How many columns the result has of a window: keys, `window`, aggregates, and `op` if it is there."""
        self.tick: str | None = self.spec["tick"]
        self.time: str = self.spec["time"]
        inputs = self.spec["inputs"]
        self.input: str | None = None if inputs is None else inputs["column"]
        """Of a cogroup, the column of the number of each record's input."""
        self.inputs: int = 1 if inputs is None else inputs["count"]

    @cached_property
    def shard_keys(self) -> list[int]:
        """What Spark knows the shards by."""
        return shard_keys(self.spec["shards"])

    @cached_property
    def _tickless(self) -> dict[str, Any]:
        """The plan of what blocks and states hold: ticks come as control rows."""
        return {**self.spec, "tick": None}

    @cached_property
    def operator_spec(self) -> str:
        """The plan of a shard's operator."""
        return json.dumps(self._tickless)

    @cached_property
    def stored(self) -> str:
        """The query as it is in the state, for those who look into it."""
        beside = list(self.read)[self.shipment["columns"] :]
        schema = pa.schema([*self.schema, *beside]).serialize().to_pybytes()
        stored: dict[str, Any] = {"spec": self._tickless, "columns": len(self.schema)}
        for name, columns in (("schema", schema), ("accumulators", self.shipment["accumulators"])):
            stored[name] = base64.b64encode(columns).decode()
        return json.dumps({**stored, "result": self.shipment["result"]})

    @cached_property
    def seen(self) -> list[str]:
        """The columns of the times that judge a record, one for each input."""
        return [f"windrow.seen.{number}" for number in range(self.inputs)]

    @cached_property
    def rows_schema(self) -> pa.Schema:
        """The columns of blocks."""
        if self.shipment["order"] is None:
            return self.schema
        added = [pa.field(ORDER, pa.timestamp("us")), *(pa.field(name, pa.int64()) for name in self.seen)]
        return pa.schema([*self.schema, *added])

    @cached_property
    def block_query(self) -> Query:
        """The query of the blocks: of partial sessions, and how many records each is of; else of rows as they are, in
        the order of time, with `order=` in that of their source.
        """
        if self.shipment["partials"]:
            counted = [*self.spec["aggregates"], {"name": "windrow.records", "function": "count"}]
            return Query(json.dumps({**self._tickless, "aggregates": counted}), self.schema)
        time = self.time if self.shipment["order"] is None else ORDER
        return Query.of_rows(json.dumps({**self._tickless, "time": time}), self.rows_schema)
