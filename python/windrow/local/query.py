"""Queries without Spark: Arrow data in, one crossing into the core, a `pyarrow.Table` out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from windrow import _worker
from windrow.flat import flat
from windrow.input import Input, TimeCasts
from windrow.local.counters import metadata, warn_left_out
from windrow.local.reader import packed, reader_of
from windrow.local.sources import Columns, Union, columns_of, rebased_stream
from windrow.plan import Origins, Plan

if TYPE_CHECKING:
    from windrow._native import Query


class LocalInput(Input[pa.Table]):
    """Arrow data in this process."""

    def __init__(self, table: Columns) -> None:
        """Over the columns of a table."""
        self._table = table

    @classmethod
    def over(cls, data: object, libraries: set[str]) -> Self:
        """Over any Arrow data; `TypeError` for anything else."""
        return cls(columns_of(data, libraries))

    @property
    def columns(self) -> Sequence[str]:
        """The names of all columns, in order."""
        return self._table.names

    def check_observation(self, observation: object) -> None:
        """Raises: the counters of an in-process query are in the metadata of its result."""
        raise TypeError(
            f"observation: got {observation!r} for data in this process; allowed: an Observation for a Spark "
            "DataFrame (here windrow.counters(result) has the counters)"
        )

    @property
    def time_casts(self) -> TimeCasts:
        """How the library of the data makes timestamps."""
        return self._table.time_casts

    def check_threads(self, count: int) -> None:
        """Raises nothing: any number will do."""

    def union(self, inputs: Sequence[Self], schema: pa.Schema, origins: Origins) -> LocalInput:
        """The rows of several tables, one table after the other."""
        return LocalInput(Union([opened._table for opened in inputs], schema, origins))

    def run(self, plan: Plan) -> pa.Table:
        """The result, with one entry of schema metadata for each counter, such as `b"windrow.records": b"123"`."""
        if plan.functions:
            return self._record_by_record(plan)
        query = _worker.query(plan.spec, plan.schema)
        batches, counters = self._results(query, plan, plan.options.threads)
        return _counted(plan, batches, query.output_schema, counters)

    def reader(self, plan: Plan) -> pa.RecordBatchReader:
        """The result in batches, with the counters but `windows` in the metadata of its schema."""
        stream = self._stream(plan)
        try:
            blocks, counters = packed(plan, pa.RecordBatchReader.from_stream(stream))
        except Exception as error:
            failed, raised = error, self._table.raised
        else:
            return reader_of(plan, blocks, counters)
        raise failed if raised is None else raised

    def _record_by_record(self, plan: Plan) -> pa.Table:
        operator = _worker.operator(plan.spec_in_order, plan.schema, plan.folds())
        rows, counters = self._results(_worker.rows_query(plan.spec_in_order, plan.schema), plan)
        return _counted(plan, _worker.finals(operator, rows), operator.output_schema, counters)

    def _results(
        self, query: Query, plan: Plan, threads: int | None = None
    ) -> tuple[list[pa.RecordBatch], dict[str, int]]:
        """What the query gives; what Python code raises while it makes the batches comes out as it is."""
        stream = self._stream(plan)
        try:
            return query.run(stream, threads)
        except Exception as error:
            failed, raised = error, self._table.raised
        raise failed if raised is None else raised

    def _stream(self, plan: Plan) -> Any:
        stream = self._table.stream([self.columns.index(name) for name in plan.schema.names])
        return rebased_stream(stream, plan.schema)

    def _field_at(self, argument: str, position: int, compared: bool) -> pa.Field[Any]:
        del compared  # Arrow's strings have one order
        try:
            return self._table.schema([position]).field(0)
        except (pa.ArrowException, TypeError) as error:
            raise TypeError(
                f"{argument}: column {self.columns[position]!r} cannot be read as Arrow data ({error}); allowed: a "
                "column of one type that Arrow has"
            ) from error


def _counted(plan: Plan, batches: Iterable[pa.RecordBatch], schema: pa.Schema, counters: Mapping[str, int]) -> pa.Table:
    """The result with its counters; warns where records are left out."""
    table = pa.Table.from_batches(batches, schema=schema)
    warn_left_out(counters)
    table = flat(table) if plan.options.flat else table
    return table.replace_schema_metadata(metadata({**counters, "windows": table.num_rows}))
