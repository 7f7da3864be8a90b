"""Records and Arrow data in the columns that an operator is fed with."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from windrow._arguments.column import column_position
from windrow._arguments.errors import bad_type, bad_value, listed, unknown_column, unknown_word
from windrow._arguments.integer import integer
from windrow._arguments.nested import no_rows, nulls
from windrow._executor.batches import conformed, picked, rebased
from windrow._executor.empty_arrays import carried, column_of, decoded
from windrow._executor.tasks import Source
from windrow._plan.plan import SERIES, Plan
from windrow.testing._definition import Schemas
from windrow.testing._values import cast_of, cell_of

_TICK = "windrow.tick"
_ORDERED = "a value for every record, as the definition has order=; null for ticks only"


class SourcedRows(NamedTuple):
    """Rows for an operator.

    Attributes:
        batch: rows in the columns of the operator.
        sources: the source of each row; None where it is a tick of every known one.
    """

    batch: pa.RecordBatch
    sources: list[Source | None]

    def rebased(self) -> SourcedRows:
        """The same; see `windrow._executor.batches.rebased`."""
        return SourcedRows(rebased(self.batch), self.sources)


@dataclass(frozen=True)
class _Origin:
    """An input: its number, its columns, its names for the columns of the operator, and what orders its records."""

    number: int
    columns: Sequence[str]
    names: Mapping[str, str]
    source: Sequence[pa.Field[Any]]
    order: pa.Field[Any] | None


class Feed:
    """Converts the data of a plan's inputs to rows for its operator.

    Attributes:
        schema: what the operator is fed with.
        tick: the boolean column of ticks.
    """

    def __init__(self, plan: Plan, schema: Schemas, value: str | None) -> None:
        """`value` is the column that is the record's value in Kafka, of a plan with one input."""
        fields = {field.name: field for field in plan.schema}
        self._time = plan.time
        self._origins: dict[str | None, _Origin] = {}
        if value is not None and not isinstance(value, str):
            raise bad_type("value", value, "the name of a column")
        if isinstance(schema, Mapping):
            if value is not None:
                raise bad_value("value", value, "None for a cogroup, where nulls mean what they mean in SQL")
            for number, (name, names) in enumerate(zip(*_named(plan), strict=True)):
                self._origins[name] = _origin_of(plan, number, schema[name], names)
        else:
            if value is not None and value not in schema.names:
                raise unknown_column("value", value, schema.names)
            fields |= {} if value is None else {value: schema.field(value)}
            self._origins[None] = _origin_of(plan, 0, schema, {name: name for name in (*fields, *plan.stream.columns)})
        self._number = plan.origins.column if plan.origins is not None else None
        self.tick = plan.tick or _TICK
        fields.setdefault(self.tick, pa.field(self.tick, pa.bool_()))
        self.schema = pa.schema(fields.values())

    def record(self, name: str | None, record: Mapping[str, Any]) -> SourcedRows:
        """A record of an input; columns that are left out are null."""
        origin = self._origin(name)
        for column in record:
            if column not in origin.columns:
                raise unknown_column("record", column, origin.columns)

        def cell(name: str, kind: pa.DataType) -> pa.Array[Any]:
            return cell_of(f"record: column {name!r}", record.get(name), kind)

        read = {field.name: field.type for field in self.schema if field.name in origin.names and field.name != SERIES}
        cells = {name: cell(origin.names[name], kind) for name, kind in read.items()}
        ticking = self.tick in cells and cells[self.tick][0].as_py() is True
        order = origin.order
        if order is not None and cell(order.name, order.type).null_count and not ticking:
            raise bad_value(f"record: column {order.name!r}", None, _ORDERED)
        columns = [cell(field.name, field.type) for field in origin.source]
        return SourcedRows(self._row(cells, origin.number), _sources(columns, [ticking]))

    def tick_at(self, name: str | None, time: Any, source: Any = None) -> SourcedRows:
        """A tick of an input and a source, or of all known ones if none is named."""
        number = self._origin(name).number if name is not None else None
        at = cell_of("time", time, self.schema.field(self._time).type)
        return SourcedRows(
            self._row({self._time: at, self.tick: pa.array([True])}, number), [self._named(name, source)]
        )

    def taking(self, name: str | None, column: str | None) -> Callable[[pa.RecordBatch], SourcedRows]:
        """The conversion of batches: of the named input, or of the inputs that a column of the data names."""
        if column is None:
            self._origin(name)
            return functools.partial(self.batch, name)
        if not isinstance(column, str):
            raise bad_type("input_column", column, "the name of a column")
        if name is not None or self._number is None:
            allowed = "none with input=" if name is not None else "none: the definition has one input"
            raise bad_value("input_column", column, allowed)
        return functools.partial(self.interleaved, column)

    def batch(self, name: str | None, batch: pa.RecordBatch, *, of_all: bool = False) -> SourcedRows:
        """Data of an input; with `of_all` rows in its columns that are of all inputs."""
        origin = self._origin(name)
        columns: list[pa.Array[Any]] = []
        for field in self.schema:
            if field.name == self._number and not of_all:
                columns.append(pa.repeat(pa.scalar(origin.number, field.type), batch.num_rows))
            elif field.name == SERIES:
                columns.append(pa.repeat(pa.scalar(0, field.type), batch.num_rows))
            elif field.name not in origin.names:
                columns.append(nulls(batch.num_rows, field.type))
            else:
                column = origin.names[field.name]
                columns.append(cast_of(column, _column("data", column, batch), field.type))
        own_rows = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        if not origin.source and origin.order is None:
            return SourcedRows(own_rows, [()] * batch.num_rows)

        def read(field: pa.Field[Any]) -> pa.Array[Any]:
            return cast_of(field.name, _column("data", field.name, batch), field.type)

        ticking = own_rows.column(self.tick).to_pylist()
        if origin.order is not None:
            rows = zip(read(origin.order).is_null().to_pylist(), ticking, strict=True)
            if any(null and not tick for null, tick in rows):
                raise bad_value(f"data: column {origin.order.name!r}", None, _ORDERED)
        return SourcedRows(own_rows, _sources([read(field) for field in origin.source], ticking))

    def interleaved(self, column: str, batch: pa.RecordBatch) -> SourcedRows:
        """Data of all inputs of a cogroup; the column holds the name of each row's input, null for ticks of all."""
        inputs = _column("input_column", column, batch)
        names: list[str | None] = column_of(column, inputs, decoded(inputs.type)).to_pylist()
        ticking = self._ticking(batch) if None in names else {}
        read = {name for origin in self._origins.values() for name in origin.names.values()}
        batch = batch.select([i for i, name in enumerate(batch.schema.names) if name in read])
        rows: dict[tuple[str | None, bool], list[int]] = {}
        for row, name in enumerate(names):
            of = name if name is not None else ticking.get(row)
            self._origin(of, "input_column")
            rows.setdefault((of, name is None), []).append(row)
        pieces = [self.batch(of, taken(batch, rows_of), of_all=of_all) for (of, of_all), rows_of in rows.items()]
        whole = pa.Table.from_batches([no_rows(self.schema), *(piece.batch for piece in pieces)], self.schema)
        together = [column.combine_chunks() for column in whole.columns]
        sources = [source for piece in pieces for source in piece.sources]
        place = {row: place for place, row in enumerate(itertools.chain.from_iterable(rows.values()))}
        order = [place[row] for row in range(len(names))]
        in_order = taken(pa.RecordBatch.from_arrays(together, schema=self.schema), order)
        return SourcedRows(in_order, [sources[place] for place in order])

    def _ticking(self, batch: pa.RecordBatch) -> dict[int, str | None]:
        """For each row that is a tick, the first input whose column marks it."""
        inputs: dict[int, str | None] = {}
        for name, origin in self._origins.items():
            if self.tick in origin.names:
                ticks = _column("data", origin.names[self.tick], batch).to_pylist()
                inputs = {row: name for row, tick in enumerate(ticks) if tick} | inputs
        return inputs

    def _row(self, cells: Mapping[str, pa.Array[Any]], number: int | None) -> pa.RecordBatch:
        shown = {SERIES: pa.array([0], pa.int32()), **cells}
        if self._number is not None:
            shown[self._number] = pa.array([number], pa.int32())
        columns = [shown.get(field.name, nulls(1, field.type)) for field in self.schema]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _named(self, name: str | None, source: Any) -> Source | None:
        if source is None:
            return None
        columns = self._origins[name if name is not None else next(iter(self._origins))].source
        if not columns:
            raise bad_value("source", source, "none: the definition names no source columns")
        values = source if isinstance(source, tuple) else (source,)
        if len(values) != len(columns):
            raise bad_value("source", source, f"a tuple of the values of {listed([field.name for field in columns])}")
        cells = zip(columns, values, strict=True)
        return tuple(cell_of(f"source: column {field.name!r}", value, field.type)[0].as_py() for field, value in cells)

    def _origin(self, name: str | None, argument: str = "input") -> _Origin:
        if (name is None or isinstance(name, str)) and name in self._origins:
            return self._origins[name]
        if None in self._origins:
            raise bad_value(argument, name, "none: the definition has one input")
        raise unknown_word(argument, name, [each for each in self._origins if each is not None])


def _sources(columns: Sequence[pa.Array[Any]], ticking: Sequence[bool | None]) -> list[Source | None]:
    """The source of each row: the values of its columns. A tick without a value has every known source."""
    if not columns:
        return [()] * len(ticking)
    sources = zip(*(column.to_pylist() for column in columns), strict=True)
    return [
        None if tick and all(value is None for value in source) else source
        for source, tick in zip(sources, ticking, strict=True)
    ]


def taken(batch: pa.RecordBatch, rows: Sequence[int]) -> pa.RecordBatch:
    """These rows, in this order."""
    return picked(batch, pa.array(rows, pa.int64()))


def _column(argument: str, name: str, batch: pa.RecordBatch) -> pa.Array[Any]:
    return batch.column(column_position(argument, name, batch.schema.names))


def _origin_of(plan: Plan, number: int, schema: pa.Schema, names: Mapping[str, str]) -> _Origin:
    fields = [field.with_name(names[field.name]) for field in plan.stream.fields]
    count = len(plan.stream.source)
    return _Origin(
        number, schema.names, names, fields[:count], fields[count] if plan.stream.order is not None else None
    )


def _named(plan: Plan) -> tuple[Sequence[str], Sequence[Mapping[str, str]]]:
    return (plan.origins.names, plan.origins.columns) if plan.origins is not None else ((), ())


def cut(table: pa.Table, rows: int | Iterable[int] | None) -> Sequence[pa.RecordBatch]:
    """Batches of `rows` rows, or of several lengths; the last takes the rest. None keeps the batches of the table.

    Raises:
        TypeError: `rows` that are no whole numbers.
        ValueError: batches of no rows.
    """
    schema = pa.schema(map(carried, table.schema))
    whole = pa.Table.from_batches([conformed(batch, schema) for batch in table.to_batches()], schema)
    if rows is None:
        return whole.to_batches()
    whole = whole.combine_chunks()
    lengths: Iterator[int]
    if isinstance(rows, Iterable) and not isinstance(rows, str):
        lengths = map(_length, itertools.chain(rows, [whole.num_rows]))
    else:
        lengths = itertools.repeat(_length(rows))
    batches: list[pa.RecordBatch] = []
    start = 0
    while start < whole.num_rows:
        length = min(next(lengths), whole.num_rows)
        batches.extend(whole.slice(start, length).to_batches())
        start += length
    return batches


_ROWS = "a whole number of rows in a batch, or several"


def _length(rows: Any) -> int:
    return integer("rows", rows, _ROWS, least=1, bounds="one row or more in a batch")
