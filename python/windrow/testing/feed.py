"""Records and Arrow data in the columns that an operator is fed with."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow.errors import ambiguous_column, bad_type, bad_value, unknown_column, unknown_word
from windrow.plan import Plan
from windrow.testing.definition import Schemas
from windrow.testing.values import cast_of, cell_of

_VIEWS: dict[Any, Any] = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
"""Types of which pyarrow takes no single rows, and what it casts them to and from."""
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
        if value is not None and not isinstance(value, str):
            raise bad_type("value", value, "the name of a column")
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
        if plan.tick is None and _TICK in fields:
            raise bad_value("schema", _TICK, "another name for a column that is read: the driver's own ticks have this")
        fields.setdefault(self.tick, pa.field(self.tick, pa.bool_()))
        self.schema = pa.schema(fields.values())

    def record(self, name: str | None, record: Mapping[str, Any]) -> pa.RecordBatch:
        """A record of an input; columns that are left out are null."""
        source = self._source(name)
        for column in record:
            if column not in source.columns:
                raise unknown_column("record", column, source.columns)
        cells = {
            name: cell_of(f"record: column {own!r}", record.get(own), self.schema.field(name).type)
            for name, own in source.own.items()
        }
        return self._row(cells, source.number)

    def tick_at(self, name: str | None, time: Any) -> pa.RecordBatch:
        """A tick of an input; of all inputs where none is named."""
        number = self._source(name).number if name is not None else None
        at = cell_of("time", time, self.schema.field(self._time).type)
        return self._row({self._time: at, self.tick: pa.array([True])}, number)

    def taking(self, name: str | None, column: str | None) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
        """The way of batches: of the input that is named, or of those that a column of the data names."""
        if column is None:
            self._source(name)
            return functools.partial(self.batch, name)
        if not isinstance(column, str):
            raise bad_type("input_column", column, "the name of a column")
        if name is not None or self._number is None:
            allowed = "none beside input=" if name is not None else "none: the definition has one input"
            raise bad_value("input_column", column, allowed)
        return functools.partial(self.interleaved, column)

    def batch(self, name: str | None, batch: pa.RecordBatch, *, of_all: bool = False) -> pa.RecordBatch:
        """Data of an input; with `of_all` rows in its columns that are of all inputs."""
        source = self._source(name)
        columns: list[pa.Array[Any]] = []
        for field in self.schema:
            if field.name == self._number and not of_all:
                columns.append(pa.repeat(pa.scalar(source.number, field.type), batch.num_rows))
            elif field.name not in source.own:
                columns.append(pa.nulls(batch.num_rows, field.type))
            else:
                own = source.own[field.name]
                columns.append(cast_of(own, _column("data", own, batch), field.type))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def interleaved(self, column: str, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Data of all inputs of a cogroup; the column holds the name of each row's input, null for ticks of all."""
        told: list[str | None] = _column("input_column", column, batch).to_pylist()
        ticking = self._ticking(batch) if None in told else {}
        read = {own for source in self._sources.values() for own in source.own.values()}
        batch = batch.select([i for i, known in enumerate(batch.schema.names) if known in read])
        rows: dict[tuple[str | None, bool], list[int]] = {}
        for row, name in enumerate(told):
            source = name if name is not None else ticking.get(row)
            self._source(source, "input_column")
            rows.setdefault((source, name is None), []).append(row)
        pieces = [self.batch(source, _taken(batch, own), of_all=of_all) for (source, of_all), own in rows.items()]
        whole = pa.Table.from_batches([without_rows(self.schema), *pieces], self.schema)
        together = [column.combine_chunks() for column in whole.columns]
        place = {row: place for place, row in enumerate(itertools.chain.from_iterable(rows.values()))}
        order = [place[row] for row in range(len(told))]
        return _taken(pa.RecordBatch.from_arrays(together, schema=self.schema), order)

    def _ticking(self, batch: pa.RecordBatch) -> dict[int, str | None]:
        """For each row that is a tick the first input whose column says so."""
        found: dict[int, str | None] = {}
        for name, source in self._sources.items():
            if self.tick in source.own:
                ticks = _column("data", source.own[self.tick], batch).to_pylist()
                found = {row: name for row, tick in enumerate(ticks) if tick} | found
        return found

    def _row(self, cells: Mapping[str, pa.Array[Any]], number: int | None) -> pa.RecordBatch:
        shown = dict(cells)
        if self._number is not None:
            shown[self._number] = pa.array([number], pa.int32())
        columns = [shown.get(field.name, pa.nulls(1, field.type)) for field in self.schema]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _source(self, name: str | None, argument: str = "input") -> _Source:
        if (name is None or isinstance(name, str)) and name in self._sources:
            return self._sources[name]
        if None in self._sources:
            raise bad_value(argument, name, "none: the definition has one input")
        raise unknown_word(argument, name, [known for known in self._sources if known is not None])


def without_rows(schema: pa.Schema) -> pa.RecordBatch:
    """Columns of any type, and no rows."""
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def _taken(batch: pa.RecordBatch, rows: Sequence[int]) -> pa.RecordBatch:
    """These rows, in this order."""
    return pa.RecordBatch.from_arrays([_cells(column, rows) for column in batch.columns], schema=batch.schema)


def _cells(column: pa.Array[Any], rows: Sequence[int]) -> pa.Array[Any]:
    places = pa.array(rows, pa.int64())
    if column.type in _VIEWS:
        return column.cast(_VIEWS[column.type]).take(places).cast(column.type)
    try:
        return column.take(places)
    except pa.ArrowNotImplementedError:  # pyarrow only puts slices together, of runs and of views inside of others
        return pa.concat_arrays([column.slice(0, 0), *(column.slice(row, 1) for row in rows)])


def _column(argument: str, name: str, batch: pa.RecordBatch) -> pa.Array[Any]:
    names = batch.schema.names
    if names.count(name) != 1:
        raise (ambiguous_column if name in names else unknown_column)(argument, name, names)
    return batch.column(name)


def _named(plan: Plan) -> tuple[Sequence[str], Sequence[Mapping[str, str]]]:
    return (plan.origins.names, plan.origins.columns) if plan.origins is not None else ((), ())
