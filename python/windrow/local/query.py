"""Queries without Spark: Arrow data in, one crossing into the core, a `pyarrow.Table` out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from windrow import _worker
from windrow.input import Input, TimeCasts
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
            "DataFrame (here the counters are in the schema metadata of the result, as b'windrow.records' and so on)"
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
        return _counted(pa.Table.from_batches(batches, schema=query.output_schema), counters)

    @property
    def in_order(self) -> bool:
        """Rows have an order."""
        return True

    def rows(self, schema: pa.Schema, keys: Sequence[str], wanted: Sequence[tuple[Any, ...]]) -> pa.Table:
        """These columns of all rows."""
        del keys, wanted  # other rows move time
        stream = self._table.stream([self.columns.index(name) for name in schema.names])
        return pa.RecordBatchReader.from_stream(rebased_stream(stream, schema)).read_all()

    def _record_by_record(self, plan: Plan) -> pa.Table:
        operator = _worker.operator(plan.spec_in_order, plan.schema, plan.folds())
        rows, counters = self._results(_worker.rows_query(plan.spec_in_order, plan.schema), plan)
        windows = pa.Table.from_batches(_worker.finals(operator, rows), schema=operator.output_schema)
        return _counted(windows, counters)

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


def _counted(table: pa.Table, counters: dict[str, int]) -> pa.Table:
    counted = {**counters, "windows": table.num_rows}
    return table.replace_schema_metadata({f"windrow.{name}": str(value) for name, value in counted.items()})
