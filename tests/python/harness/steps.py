"""Runs the steps of a streaming query without Spark: packs splits and sends blocks to shards with states in dicts."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle

from windrow import SessionWindows
from windrow._executor.left_out import LeftOutRows
from windrow._executor.open_windows import shown_aggregates
from windrow._executor.run_blocks import pack_open
from windrow._executor.stream.change_block import unpack
from windrow._executor.stream.pack import pack
from windrow._executor.stream.query import StreamQuery, read_columns, shipment_of
from windrow._executor.stream.shard import SUMS, changes
from windrow._executor.stream.start import first_pages
from windrow._native import Operator, Query
from windrow._spark.advance import open_spec
from windrow.state._open_rows import pack_shards, rows_of_table, table_schema
from windrow.state._stored_query import StoredQuery
from windrow.testing._definition import Schemas, plan_of


class DictState:
    """A map of Spark's state store as a dict."""

    def __init__(self, pages: Mapping[str, str] | None = None) -> None:
        self.pages = dict(pages or {})

    def getValue(self, key: tuple[str]) -> tuple[str] | None:  # noqa: N802
        page = self.pages.get(key[0])
        return None if page is None else (page,)

    def iterator(self) -> Iterator[tuple[tuple[str], tuple[str]]]:
        return iter([((name,), (page,)) for name, page in self.pages.items()])

    def updateValue(self, key: tuple[str], value: tuple[str]) -> None:  # noqa: N802
        self.pages[key[0]] = value[0]

    def removeKey(self, key: tuple[str]) -> None:  # noqa: N802
        del self.pages[key[0]]


@dataclass
class Row:
    """A row that Spark hands to a shard."""

    shard: int
    source: str
    first: int
    block: bytes | None
    control: str | None


@dataclass
class LocalStream:
    """A streaming query: `definition` over data of `schema`.

    With `max_ahead`, a record may be at most this many microseconds ahead of `clock`, the wall clock of the next
    micro-batch in microseconds.
    """

    definition: Callable[..., Any]
    schema: Schemas
    shards: int = 4
    seed: int = 0
    max_ahead: int | None = None
    clock: int = 0
    states: dict[int, DictState] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SUMS, 0))
    stream_time: int | None = None

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)
        self.define(self.definition)

    def define(self, definition: Callable[..., Any]) -> None:
        """Replaces the query."""
        plan = plan_of(definition, self.schema)
        if isinstance(plan.windows, SessionWindows):
            plan = replace(plan, windows=plan.windows._on_stream(plan.schema.field(plan.time)))
        options = replace(plan.options, shards=self.shards)
        if self.max_ahead is not None:
            options = replace(options, max_ahead=self.max_ahead)
        self.plan = replace(plan, options=options)
        functions = tuple(cloudpickle.dumps(function) for function in self.plan.functions.values())
        clock = None if options.max_ahead is None else "windrow.clock"
        start = None if self.plan.options.start is None else "the history"
        names = [*self.plan.key_names, "window", *dict(self.plan.aggregates), "stream_time"]
        result = json.dumps({"fields": [{"name": name} for name in names]})
        self.shipment = shipment_of(self.plan, functions, clock, result, start=start)
        self.read = pa.schema(read_columns(self.plan).values())
        self.output = self._output()
        if start is not None and not self.states:
            self._begin()

    def _begin(self) -> None:
        """Gives the shards the states with which the query begins."""
        for shard, name, page in self.first_entries():
            self.states.setdefault(shard, DictState()).updateValue((name,), (page,))

    def first_entries(self) -> Iterator[tuple[int, str, str]]:
        """The entries of the states with which the query begins: the shard, the name and the page."""
        plan, shard_keys = self.plan, StreamQuery(self.shipment).shard_keys
        aggregates = shown_aggregates(plan, Operator(plan.spec.of_run.text, plan.schema, plan.folds()).output_schema)
        rows = plan.options.start(plan, aggregates)
        spec, schema = open_spec(plan, rows.schema), rows.schema.serialize().to_pybytes()
        packed = pa.Table.from_batches(pack_open(iter(rows.to_batches(max_chunksize=3)), spec, schema, self.shards))
        packed = packed.sort_by([("shard", "ascending"), ("kind", "ascending"), ("first", "ascending")])
        entries = first_pages(iter(packed.to_batches()), self.shipment, spec, schema)
        for entry in pa.Table.from_batches(entries).to_pylist():
            yield shard_keys.index(entry["shard"]), entry["name"], entry["page"]

    def still_open(self) -> pa.Table:
        """The table of its open windows."""
        return self.open_in({shard: state.pages for shard, state in self.states.items()})

    def open_in(self, states: Mapping[int, Mapping[str, str]]) -> pa.Table:
        """The table of the open windows in the pages of all shards."""
        rows = [
            pa.record_batch({"shard": [shard] * len(pages), "name": [*pages], "page": [*pages.values()]})
            for shard, pages in sorted(states.items())
        ]
        query = StoredQuery.open(StreamQuery(self.shipment).stored)
        schema = table_schema(query)
        packed = pack_shards(iter(rows), schema.serialize().to_pybytes(), 0)
        table = rows_of_table(packed, schema.serialize().to_pybytes(), len(rows))
        return pa.Table.from_batches(table, schema)

    def push(self, splits: Sequence[pa.Table]) -> list[dict[str, Any]]:
        """Runs a micro-batch of several splits. Returns its rows."""
        return [row for batch in self.push_batches(splits) for row in batch.to_pylist()]

    def push_batches(self, splits: Sequence[pa.Table]) -> list[pa.RecordBatch]:
        """Runs a micro-batch. Returns its rows as batches."""
        query = StreamQuery(self.shipment)
        gave: list[pa.RecordBatch] = []
        for shard, rows in sorted(self.received(splits).items()):
            self.draw.shuffle(rows)
            state = self.states.setdefault(shard, DictState())
            for block, counted in changes(rows, state, query):
                if block:
                    blocks = pa.RecordBatch.from_arrays([pa.array([block], pa.binary())], names=["block"])
                    gave += self._unpacked(blocks)
                if counted:
                    self.stream_time = counted["stream_time"]
                    for name in SUMS:
                        self.counters[name] += counted[name] or 0
        return gave

    def received(self, splits: Sequence[pa.Table]) -> dict[int, list[Row]]:
        """The rows that each shard receives in a micro-batch of several splits."""
        received: dict[int, list[Row]] = {}
        shard_keys = StreamQuery(self.shipment).shard_keys
        for split in splits:
            for packed in pack(iter(self._batches(split)), self.shipment):
                for row in packed.to_pylist():
                    received.setdefault(shard_keys.index(row["shard"]), []).append(Row(**row))
        return received

    def _unpacked(self, blocks: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The rows of blocks."""
        return self._finished(unpack(iter([blocks]), self.output.serialize().to_pybytes(), {}))

    def _finished(self, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows after the last step of the query, if it has one."""
        return rows if self.plan.finish is None else self.plan.finish.batches(rows)

    def _batches(self, split: pa.Table) -> list[pa.RecordBatch]:
        rows = split.select(self.read.names).cast(self.read)
        if self.shipment["clock"] is not None:
            now = pa.repeat(self.clock, rows.num_rows).cast(self.plan.schema.field(self.plan.time).type)
            rows = rows.append_column(self.shipment["clock"], now)
        smallest = 1 if rows.num_rows < 1000 else 1000
        return rows.to_batches(max_chunksize=self.draw.choice([1, 3, 100]) * smallest)

    def _output(self) -> pa.Schema:
        if self.plan.functions:
            core = Operator(self.plan.spec.in_order.text, self.plan.schema, self.plan.folds()).output_schema
        else:
            core = Query(self.plan.spec.text, self.plan.schema).output_schema
        left_out = LeftOutRows.of(self.plan.spec, self.plan.schema)
        return core if left_out is None else left_out.output(core)
