"""Runs the steps of a streaming query that returns records, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

import windrow as wr
from windrow import SessionWindows
from windrow._aggregates.evaluation import Named
from windrow._executor.stream import returned_records
from windrow._executor.stream.query import read_columns, shipment_of
from windrow._native import Query
from windrow._plan.limits import check_plan

from .steps import LocalStream


@dataclass
class LocalRows(LocalStream):
    """A streaming query of `with_columns`. `definition` returns the windowed data; `aggregates` are the new columns."""

    aggregates: Any = None

    def define(self, definition: Callable[..., Any]) -> None:
        """Replaces the query."""
        assert isinstance(self.schema, pa.Schema)
        windowed = definition(self.schema.empty_table()).shards(self.shards)
        if self.max_ahead is not None:
            windowed = windowed.max_ahead(f"{self.max_ahead} microseconds")
        plan = windowed._plan(self.aggregates or {"n": wr.count()}, rows=True)
        if isinstance(plan.windows, SessionWindows):
            plan = replace(plan, windows=plan.windows._on_stream(plan.schema.field(plan.time)))
        check_plan(plan, stream=True, rows=True)
        if plan.finish is not None:
            passed = [(name, Named(name)) for name in self.schema.names]
            columns = (*passed, *plan.finish.columns[len(plan.keys) :])
            plan = replace(plan, finish=replace(plan.finish, columns=columns))
        records = self.schema
        shown = Query.rows_with_windows(plan.spec.text, records).output_schema
        shown = pa.schema([field.with_nullable(True) for field in shown])
        self.plan = returned_records.core_plan(plan, records)
        clock = None if self.max_ahead is None else "windrow.clock"
        self.shipment = shipment_of(self.plan, (), clock, record_result=shown, records=len(records))
        self.read = pa.schema(read_columns(self.plan, records).values())

    def _unpacked(self, blocks: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        return self._finished(returned_records.unpack_records(iter([blocks]), self.shipment, {}))
