"""Arrow data of other libraries, read column by column. Converts only the columns that a query names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any
from weakref import WeakSet

import pyarrow as pa

from windrow._arguments.errors import bad_type, bad_value
from windrow._arguments.expression import CONSTANT, DUCKDB, FIELD, POLARS, PYARROW, ColumnExpression
from windrow._plan.input import ALLOWED, ARROW_CASTS, TimeCasts
from windrow._plan.plan import Origins

_POLARS_CASTS = TimeCasts(
    text="pl.col({0}).str.to_datetime()",
    milliseconds='pl.from_epoch({0}, time_unit="ms")',
    date="pl.col({0}).cast(pl.Datetime)",
)
_DUCKDB_CASTS = TimeCasts(
    text="CAST({1} AS TIMESTAMP)", milliseconds="make_timestamp_ms({1})", date="CAST({1} AS TIMESTAMP)"
)
_PANDAS_CASTS = TimeCasts(
    text='pandas.to_datetime(frame[{0}], format="ISO8601")',
    milliseconds='pandas.to_datetime(frame[{0}], unit="ms")',
    date="pandas.to_datetime(frame[{0}])",
)
_spent: WeakSet[pa.RecordBatchReader] = WeakSet()


class Columns(ABC):
    """The columns of a table in this process.

    Attributes:
        language: the library of its expressions.
        kind: what kind of data it is, with an article.
    """

    language = PYARROW
    kind = "Arrow data"

    def with_expressions(self, expressions: Mapping[str, ColumnExpression]) -> Columns | None:
        """The same with columns that the library of the data computes, all of its language; None if Arrow does."""
        return None

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """The names of all columns, in order."""

    @abstractmethod
    def schema(self, positions: Sequence[int]) -> pa.Schema:
        """The Arrow schema of some columns. Reads no data."""

    @abstractmethod
    def stream(self, positions: Sequence[int]) -> Any:
        """Some columns as an object with `__arrow_c_stream__`, in the schema that `schema` returns."""

    @property
    def time_casts(self) -> TimeCasts:
        """How the library converts other columns to timestamps."""
        return ARROW_CASTS

    @property
    def rows(self) -> int | None:
        """The number of rows, or None if it is unknown before reading."""
        return None

    @property
    def raised(self) -> BaseException | None:
        """The exception of Python code that produces a stream. The stream interface passes on only its message."""
        return None


def columns_of(data: Any, libraries: set[str]) -> Columns:
    """The columns of `data`. `libraries` define its type. Raises `TypeError` if it has no Arrow data."""
    if isinstance(data, pa.Table):
        return _Table(data)
    if isinstance(data, pa.RecordBatch):
        return _Table(pa.Table.from_batches([data]))
    if isinstance(data, pa.RecordBatchReader):
        return _Reader(data)
    if isinstance(data, list | tuple) and data and all(isinstance(each, pa.RecordBatch | pa.Table) for each in data):
        return _Table(_joined(data))
    kind = type(data).__name__
    if "polars" in libraries and kind in ("DataFrame", "LazyFrame"):
        return _Polars(data)
    if {"duckdb", "_duckdb"} & libraries and kind == "DuckDBPyRelation":
        return _DuckDB(data)
    if "pandas" in libraries and hasattr(data, "iloc") and hasattr(data, "columns"):
        return _Pandas(data)
    if hasattr(data, "__arrow_c_stream__"):
        try:
            return _Reader(pa.RecordBatchReader.from_stream(data))
        except pa.ArrowException as error:
            raise bad_type("data", data, f"{ALLOWED} of columns with names ({error})") from error
    raise bad_type("data", data, _instead(data) or ALLOWED)


def _joined(data: Sequence[pa.RecordBatch | pa.Table]) -> pa.Table:
    """Batches and tables of one schema as one table, without a copy."""
    tables = [each if isinstance(each, pa.Table) else pa.Table.from_batches([each]) for each in data]
    for number, table in enumerate(tables):
        if not table.schema.equals(tables[0].schema):
            raise bad_value(f"data[{number}]", table.schema.to_string(), "the schema of the first, as all have one")
    return pa.concat_tables(tables)


def _instead(data: object) -> str | None:
    """How to convert Python values to Arrow data. None for other values."""
    if isinstance(data, Iterator):
        return "pyarrow.RecordBatchReader.from_batches(schema, batches), as a schema is known before the first batch"
    if isinstance(data, dict):
        return "pyarrow.table(columns), of a dict of columns"
    if isinstance(data, list | tuple) and data and all(isinstance(row, dict) for row in data):
        return "pyarrow.Table.from_pylist(rows), of a list of dicts"
    return None


class _Table(Columns):
    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self._names = table.column_names  # pyarrow makes a new list on every access

    @property
    def names(self) -> Sequence[str]:
        return self._names

    @property
    def rows(self) -> int | None:
        return self._table.num_rows

    def schema(self, positions: Sequence[int]) -> pa.Schema:
        return _without_metadata(self._table.schema, positions)

    def stream(self, positions: Sequence[int]) -> Any:
        return self._table.select(list(positions)).replace_schema_metadata(None)


class _Reader(Columns):
    """A reader can be read once. A second query over it would see nothing, so it is an error."""

    def __init__(self, reader: pa.RecordBatchReader) -> None:
        self._reader = reader
        self._names = reader.schema.names
        self._raised: BaseException | None = None

    @property
    def names(self) -> Sequence[str]:
        return self._names

    @property
    def raised(self) -> BaseException | None:
        return self._raised

    def schema(self, positions: Sequence[int]) -> pa.Schema:
        return _without_metadata(self._reader.schema, positions)

    def stream(self, positions: Sequence[int]) -> Any:
        if self._reader in _spent:
            raise ValueError("data: got a stream that an earlier query has read; allowed: a table, or a new stream")
        _spent.add(self._reader)
        schema = self.schema(positions)
        return pa.RecordBatchReader.from_batches(schema, self._projected(list(positions), schema))

    def _projected(self, positions: list[int], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._reader:
                yield pa.RecordBatch.from_arrays([batch.column(i) for i in positions], schema=schema)
        except GeneratorExit:  # a query that fails reads no further
            raise
        except BaseException as raised:
            self._raised = raised
            raise


class _Polars(Columns):
    """The projection is collected when the query runs."""

    language = POLARS
    kind = "a Polars frame"

    def __init__(self, frame: Any) -> None:
        self._frame = frame.lazy()
        self._rows: int | None = getattr(frame, "height", None)  # a lazy frame has none
        self._names: list[str] = self._frame.collect_schema().names()

    @property
    def rows(self) -> int | None:
        return self._rows

    def with_expressions(self, expressions: Mapping[str, ColumnExpression]) -> Columns:
        import polars as pl
        from polars import selectors

        other, frame = copy(self), self._frame
        for place, (name, expression) in enumerate(expressions.items(), len(self._names)):
            computed = _polars_expression(expression).alias(name)
            if expression.input is None:
                frame = frame.with_columns(computed)
            else:  # a cogroup may name columns by the name of the input
                prefixed = frame.with_columns(pl.all().name.prefix(f"{expression.input}."))
                frame = prefixed.select(selectors.by_index(*range(place)), computed)
        other._frame, other._names = frame, frame.collect_schema().names()
        return other

    @property
    def time_casts(self) -> TimeCasts:
        return _POLARS_CASTS

    @property
    def names(self) -> Sequence[str]:
        return self._names

    def schema(self, positions: Sequence[int]) -> pa.Schema:
        return pa.RecordBatchReader.from_stream(self._projected(positions).head(0).collect()).schema

    def stream(self, positions: Sequence[int]) -> Any:
        # pyarrow accepts the old form of Null columns that Polars sends, and passes on the new form.
        return pa.RecordBatchReader.from_stream(self._projected(positions).collect())

    def _projected(self, positions: Sequence[int]) -> Any:
        # pl.col reads "*" and "^...$" as patterns; selectors take columns by position.
        from polars import selectors

        projected = self._frame.select(selectors.by_index(*positions))
        if any(kind.is_object() for kind in projected.collect_schema().dtypes()):
            raise pa.ArrowTypeError("an Object of Polars is no Arrow data, but addresses of Python objects")
        return projected


def _polars_expression(expression: ColumnExpression) -> Any:
    import polars as pl
    from polars import selectors

    if expression.language == CONSTANT:
        return pl.lit(expression.value)
    if expression.language != FIELD:
        return expression.value
    column, *fields = expression.value
    found: Any = selectors.by_name(column).as_expr()
    for field in fields:
        found = found.struct.field(field)
    return found


class _DuckDB(Columns):
    language = DUCKDB
    kind = "a DuckDB relation"

    def __init__(self, relation: Any) -> None:
        self._relation = relation

    def with_expressions(self, expressions: Mapping[str, ColumnExpression]) -> Columns:
        import duckdb

        relation = self._relation
        for name, expression in expressions.items():
            relation = relation if expression.input is None else relation.set_alias(expression.input)
            computed: Any = expression.value
            if expression.language == FIELD:
                column, *fields = expression.value
                computed = '"' + column.replace('"', '""') + '"'
                for field in (each.replace("'", "''") for each in fields):
                    computed = f"struct_extract({computed}, '{field}')"
            if expression.language != DUCKDB:
                computed = duckdb.SQLExpression(str(computed))
            relation = relation.select(duckdb.StarExpression(), computed.alias(name))
        return _DuckDB(relation)

    @property
    def time_casts(self) -> TimeCasts:
        return _DUCKDB_CASTS

    @property
    def names(self) -> Sequence[str]:
        names: list[str] = self._relation.columns
        return names

    def schema(self, positions: Sequence[int]) -> pa.Schema:
        return pa.RecordBatchReader.from_stream(self.stream(positions).limit(0)).schema

    def stream(self, positions: Sequence[int]) -> Any:
        quoted = ('"' + self.names[i].replace('"', '""') + '"' for i in positions)
        return self._relation.project(", ".join(quoted))


class _Pandas(Columns):
    """The columns, then the named index levels that no column shadows. NaN and NaT become nulls."""

    kind = "a pandas frame"

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._names = [str(label) for label in frame.columns]
        self._columns = len(self._names)
        levels = [(level, str(name)) for level, name in enumerate(frame.index.names) if name is not None]
        self._levels = [(level, name) for level, name in levels if name not in self._names]
        self._names += [name for _, name in self._levels]

    @property
    def rows(self) -> int | None:
        return len(self._frame)

    @property
    def time_casts(self) -> TimeCasts:
        return _PANDAS_CASTS

    @property
    def names(self) -> Sequence[str]:
        return self._names

    def schema(self, positions: Sequence[int]) -> pa.Schema:
        return pa.Schema.from_pandas(self._projected(positions), preserve_index=False).remove_metadata()

    def stream(self, positions: Sequence[int]) -> Any:
        schema = self.schema(positions)
        return pa.Table.from_pandas(self._projected(positions), schema=schema, preserve_index=False)

    def _projected(self, positions: Sequence[int]) -> Any:
        own = [position for position in positions if position < self._columns]
        frame = self._frame.iloc[:, own].set_axis([self._names[position] for position in own], axis=1)
        for position in positions:
            if position >= self._columns:
                level, name = self._levels[position - self._columns]
                frame = frame.assign(**{name: self._frame.index.get_level_values(level)})
        return frame.iloc[:, [list(frame.columns).index(self._names[position]) for position in positions]]


class Union(Columns):
    """The rows of a cogroup, one input after the other. Columns are cast to the types of the schema."""

    def __init__(self, inputs: Sequence[Columns], schema: pa.Schema, origins: Origins) -> None:
        """Uses the schema of a plan."""
        self._inputs = inputs
        self._schema = schema
        self._origins = origins

    @property
    def names(self) -> Sequence[str]:
        """The names of the schema."""
        return self._schema.names

    @property
    def rows(self) -> int | None:
        """The rows of all inputs."""
        known = [rows for table in self._inputs if (rows := table.rows) is not None]
        return sum(known) if len(known) == len(self._inputs) else None

    @property
    def raised(self) -> BaseException | None:
        """The exception of Python code in one of the inputs."""
        return next((raised for table in self._inputs if (raised := table.raised) is not None), None)

    def schema(self, positions: Sequence[int]) -> pa.Schema:
        """Some columns of the schema."""
        return _without_metadata(self._schema, positions)

    def stream(self, positions: Sequence[int]) -> Any:
        """Some columns of all rows. Opens all inputs at once, so that an unreadable input fails here."""
        schema, opened = self.schema(positions), []
        for table, own in zip(self._inputs, self._origins.columns, strict=True):
            places = {name: table.names.index(own[name]) for name in schema.names if name in own}
            distinct = sorted(set(places.values()))
            reader = pa.RecordBatchReader.from_stream(table.stream(distinct))
            opened.append((reader, {name: distinct.index(place) for name, place in places.items()}))
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema, opened))

    def _batches(
        self, schema: pa.Schema, opened: Sequence[tuple[pa.RecordBatchReader, dict[str, int]]]
    ) -> Iterator[pa.RecordBatch]:
        for number, (reader, places) in enumerate(opened):
            # Arrow mishandles empty slices of string views.
            for batch in (batch for batch in reader if batch.num_rows):
                columns: list[pa.Array[Any]] = []
                for field in schema:
                    if field.name == self._origins.column:
                        columns.append(pa.repeat(pa.scalar(number, field.type), batch.num_rows))
                    elif field.name in places:
                        column = batch.column(places[field.name])
                        columns.append(column if column.type == field.type else column.cast(field.type))
                    else:
                        columns.append(pa.nulls(batch.num_rows, field.type))
                yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _without_metadata(schema: pa.Schema, positions: Sequence[int]) -> pa.Schema:
    return pa.schema([schema.field(i) for i in positions])
