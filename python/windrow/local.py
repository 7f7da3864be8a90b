"""Queries without Spark: Arrow data in, one crossing into the core, a `pyarrow.Table` out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Self

import pyarrow as pa

from windrow import _worker
from windrow.input import Input
from windrow.plan import PACK_COUNTERS, Plan
from windrow.tables import Columns, columns_of


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

    def check_threads(self, count: int) -> None:
        """Raises nothing: any number will do."""

    def run(self, plan: Plan) -> pa.Table:
        """The result, with one entry of schema metadata for each counter, such as `b"windrow.records": b"123"`."""
        if plan.has_functions:
            return self._record_by_record(plan)
        positions = [self.columns.index(name) for name in plan.schema.names]
        query = _worker.query(plan.spec, plan.schema)
        batches, counters = query.run(self._table.stream(positions), plan.threads)
        return _counted(pa.Table.from_batches(batches, schema=query.output_schema), counters)

    def _record_by_record(self, plan: Plan) -> pa.Table:
        # Nothing is late in a batch, so every window is final at the end of the input.
        asked = plan.asked() | {"grace": None, "until": None, "emit": "close", "every_record": False, "late": "drop"}
        operator = _worker.operator(json.dumps(asked), plan.schema, plan.folds())
        positions = [self.columns.index(name) for name in plan.schema.names]
        for batch in pa.RecordBatchReader.from_stream(self._table.stream(positions)):
            operator.push(batch)
        finals = operator.finish()
        shown = operator.output_schema
        table = pa.Table.from_batches([pa.RecordBatch.from_arrays(finals.columns[: len(shown)], schema=shown)])
        counters = operator.counters()
        counted = {name: counters[name] for name in PACK_COUNTERS}
        # To an operator, records are those that it takes.
        counted["records"] += sum(counters[name] for name in ("null_keys", "null_times", "bad_gaps"))
        return _counted(table, counted)

    def _field_at(self, argument: str, position: int, compared: bool) -> pa.Field[Any]:
        return self._table.schema([position]).field(0)


def _counted(table: pa.Table, counters: dict[str, int]) -> pa.Table:
    counted = {**counters, "windows": table.num_rows}
    return table.replace_schema_metadata({f"windrow.{name}": str(value) for name, value in counted.items()})
