"""Records and Arrow data in the columns that an operator is fed with."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow.errors import bad_value, unknown_column, unknown_word
from windrow.plan import Plan
from windrow.testing.definition import Schemas

_TICK = "windrow.tick"


@dataclass(frozen=True)
class _Source:
    """An input: its number, its columns, and its own names for the columns of the operator."""

    number: int
    columns: Sequence[str]
    own: Mapping[str, str]


class Feed:
    """The way from the data of a plan's inputs to its operator.

    Attributes:
        schema: what the operator is fed with.
        tick: the boolean column of ticks.
    """

    def __init__(self, plan: Plan, schema: Schemas, value: str | None) -> None:
        """`value` is the column that is the record's value in Kafka, of a plan with one input."""
        fields = {field.name: field for field in plan.schema}
        self._time = plan.time
        self._sources: dict[str | None, _Source] = {}
        if isinstance(schema, Mapping):
            if value is not None:
                raise bad_value("value", value, "None for a cogroup, where nulls are what they are in SQL")
            for number, (name, own) in enumerate(zip(*_named(plan), strict=True)):
                self._sources[name] = _Source(number, schema[name].names, own)
        else:
            if value is not None and value not in schema.names:
                raise unknown_column("value", value, schema.names)
            fields |= {} if value is None else {value: schema.field(value)}
            self._sources[None] = _Source(0, schema.names, {name: name for name in fields})
        self._number = plan.origins.column if plan.origins is not None else None
        self.tick = plan.tick or _TICK
        fields.setdefault(self.tick, pa.field(self.tick, pa.bool_()))
        self.schema = pa.schema(fields.values())

    def record(self, name: str | None, record: Mapping[str, Any]) -> pa.RecordBatch:
        """A record of an input; columns that are left out are null."""
        source = self._source(name)
        for column in record:
            if column not in source.columns:
                raise unknown_column("record", column, source.columns)
        return self._row({column: record.get(own) for column, own in source.own.items()}, source.number)

    def tick_at(self, name: str | None, time: Any) -> pa.RecordBatch:
        """A tick of an input; of all inputs where none is named."""
        number = self._source(name).number if name is not None else None
        return self._row({self._time: time, self.tick: True}, number)

    def taking(self, name: str | None, column: str | None) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
        """The way of batches: of the input that is named, or of those that a column of the data names."""
        if column is None:
            self._source(name)
            return functools.partial(self.batch, name)
        if name is not None or self._number is None:
            allowed = "none beside input=" if name is not None else "none: the definition has one input"
            raise bad_value("input_column", column, allowed)
        return functools.partial(self.interleaved, column)

    def batch(self, name: str | None, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Data of an input."""
        source, names = self._source(name), batch.schema.names
        columns: list[pa.Array[Any]] = []
        for field in self.schema:
            if field.name == self._number:
                columns.append(pa.repeat(pa.scalar(source.number, field.type), batch.num_rows))
            elif field.name not in source.own:
                columns.append(pa.nulls(batch.num_rows, field.type))
            elif source.own[field.name] in names:
                column = batch.column(source.own[field.name])
                columns.append(column if column.type == field.type else column.cast(field.type))
            else:
                raise unknown_column("data", source.own[field.name], names)
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def interleaved(self, column: str, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Data of all inputs of a cogroup; the column holds the name of each row's input."""
        if column not in batch.schema.names:
            raise unknown_column("input_column", column, batch.schema.names)
        told: list[str | None] = batch.column(column).to_pylist()
        rows = {name: [row for row, of in enumerate(told) if of == name] for name in dict.fromkeys(told)}
        pieces = [self.batch(name, batch.take(pa.array(own, pa.int64()))) for name, own in rows.items()]
        place = {row: place for place, row in enumerate(itertools.chain.from_iterable(rows.values()))}
        whole = pa.Table.from_batches(pieces, self.schema).take([place[row] for row in range(len(told))])
        return pa.RecordBatch.from_arrays([known.combine_chunks() for known in whole.columns], schema=self.schema)

    def _row(self, cells: Mapping[str, Any], number: int | None) -> pa.RecordBatch:
        shown = cells if self._number is None else {**cells, self._number: number}
        columns = [pa.array([shown.get(field.name)], field.type) for field in self.schema]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _source(self, name: str | None) -> _Source:
        if name in self._sources:
            return self._sources[name]
        if None in self._sources:
            raise bad_value("input", name, "none: the definition has one input")
        raise unknown_word("input", name, [known for known in self._sources if known is not None])


def _named(plan: Plan) -> tuple[Sequence[str], Sequence[Mapping[str, str]]]:
    return (plan.origins.names, plan.origins.columns) if plan.origins is not None else ((), ())
