"""Arrow data of other libraries, read column by column, and results in the kind of the data.

Converts only the columns that a query names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakSet

import pyarrow as pa

from windrow._arguments.errors import bad_type, bad_value
from windrow._local.counters import ATTRIBUTE, described
from windrow._local.pandas_results import pandas_column, pandas_frame
from windrow._local.results import Kinds, duckdb_relation, polars_frame, pyarrow_table
from windrow._plan.input import ALLOWED
from windrow._plan.plan import INPUT, Origins
from windrow._plan.time_casts import ARROW_CASTS, TimeCasts

_POLARS_CASTS = TimeCasts(
    text="pl.col({0}).str.to_datetime()",
    zoned='pl.col({0}).str.to_datetime(time_zone="UTC")',
    format='pl.col({0}).str.to_datetime("{2}")',
    formats={},
    integers={unit: f'pl.from_epoch({{0}}, time_unit="{unit}")' for unit in ("s", "ms", "us", "ns")},
    floats='(pl.col({0}).cast(pl.Float64) * {2}).round().cast(pl.Int64).cast(pl.Datetime("us"))',
    date="pl.col({0}).cast(pl.Datetime)",
)
_DUCKDB_CASTS = TimeCasts(
    text="CAST({1} AS TIMESTAMP)",
    zoned="CAST({1} AS TIMESTAMPTZ)",
    format="strptime({1}, '{2}')",
    formats={},
    integers={
        "s": "make_timestamp(CAST({1} AS BIGINT) * 1000000)",
        "ms": "make_timestamp_ms({1})",
        "us": "make_timestamp({1})",
        "ns": "make_timestamp_ns({1})",
    },
    floats="make_timestamp(CAST(round(CAST({1} AS DOUBLE) * {2}) AS BIGINT))",
    date="CAST({1} AS TIMESTAMP)",
)
_PANDAS_CASTS = TimeCasts(
    text='pandas.to_datetime(frame[{0}], format="ISO8601")',
    zoned='pandas.to_datetime(frame[{0}], format="ISO8601", utc=True)',
    format='pandas.to_datetime(frame[{0}], format="{2}")',
    formats={},
    integers={unit: f'pandas.to_datetime(frame[{{0}}], unit="{unit}")' for unit in ("s", "ms", "us", "ns")},
    floats='pandas.to_datetime(frame[{0}].astype("float64") * {2}, unit="us").dt.round("us")',
    date="pandas.to_datetime(frame[{0}])",
)
_SAMPLE = 1_000
"""Rows that are looked at for a hint."""

_spent: WeakSet[pa.RecordBatchReader] = WeakSet()


class Columns(ABC):
    """The columns of a table in this process."""

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

    @property
    def is_empty(self) -> bool:
        """Whether there are no rows; False if that is unknown before reading."""
        return self.rows == 0

    def sample(self, position: int) -> list[Any]:
        """Some values of a column, without nulls; none if reading would use them up."""
        return []

    @property
    def unnamed_times(self) -> str | None:
        """How to name times that are there without a name; None if there are none."""
        return None

    def kind(self, position: int) -> Any:
        """The library's own type of a column."""
        return self.schema([position]).field(0).type

    def kinds(self, columns: Mapping[str, str]) -> Kinds:
        """The library's own types of result columns. `columns` has the column of the data that each is of."""
        names = list(self.names)
        return {name: self.kind(names.index(column)) for name, column in columns.items() if names.count(column) == 1}

    def result(self, rows: pa.Table, kinds: Kinds, counted: Mapping[str, int]) -> Any:
        """Rows in the kind of the data, with the counters if that has a place for them."""
        return described(pyarrow_table(rows, kinds), counted)

    def held(self) -> Columns:
        """The same columns with their rows in memory: a stream is read, and a lazy query runs."""
        return _Held(self, pa.RecordBatchReader.from_stream(self.stream(range(len(self.names)))).read_all())

    def with_columns(self, added: pa.Table, kinds: Kinds, counted: Mapping[str, int]) -> Any:
        """The rows of the data with more columns, in its kind; only if the rows are held."""
        raise bad_type("data", self, "rows in memory")

    def shown(self, rows: pa.Table) -> pa.Table:
        """The columns in which the held rows come back."""
        return rows


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
        return _Polars(data, lazy=kind == "LazyFrame")
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

    def sample(self, position: int) -> list[Any]:
        return [value for value in self._table.column(position)[:_SAMPLE].to_pylist() if value is not None]

    def result(self, rows: pa.Table, kinds: Kinds, counted: Mapping[str, int]) -> Any:
        return described(pyarrow_table(rows, kinds), counted, self._table.schema)

    def held(self) -> Columns:
        return self

    def with_columns(self, added: pa.Table, kinds: Kinds, counted: Mapping[str, int]) -> Any:
        rows = _appended(self._table, added)
        return described(pyarrow_table(rows, kinds), counted, self._table.schema, rows=True)


class _Held(_Table):
    """Rows that were read of other columns, whose kind the result has."""

    def __init__(self, of: Columns, table: pa.Table) -> None:
        super().__init__(table)
        self._of = of

    def with_columns(self, added: pa.Table, kinds: Kinds, counted: Mapping[str, int]) -> Any:
        rows = _appended(self._of.shown(self._table), added)
        own = {name: name for name in rows.column_names if rows.column_names.count(name) == 1 and name in self.names}
        return self._of.result(rows, {**self._of.kinds(own), **kinds}, counted)


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
    """The projection is collected when the query runs. `lazy`: whether results are lazy frames."""

    def __init__(self, frame: Any, *, lazy: bool) -> None:
        self._given = frame
        self._lazy = lazy
        self._frame = frame.lazy()
        self._rows: int | None = getattr(frame, "height", None)  # a lazy frame has none
        self._names: list[str] = self._frame.collect_schema().names()

    @property
    def rows(self) -> int | None:
        return self._rows

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

    @property
    def is_empty(self) -> bool:
        return (self._frame.head(1).collect().height if self._rows is None else self._rows) == 0

    def sample(self, position: int) -> list[Any]:
        values: list[Any] = self._projected([position]).head(_SAMPLE).collect().to_series().drop_nulls().to_list()
        return values

    def kind(self, position: int) -> Any:
        return self._frame.collect_schema().dtypes()[position]

    def result(self, rows: pa.Table, kinds: Kinds, counted: Mapping[str, int]) -> Any:
        frame = polars_frame(rows, kinds)
        return frame.lazy() if self._lazy else frame

    def held(self) -> Columns:
        return self if self._rows is not None else _Polars(self._frame.collect(), lazy=True)

    def with_columns(self, added: pa.Table, kinds: Kinds, counted: Mapping[str, int]) -> Any:
        frame = self._given.hstack(polars_frame(added, kinds).get_columns())
        return frame.lazy() if self._lazy else frame

    def _projected(self, positions: Sequence[int]) -> Any:
        # pl.col reads "*" and "^...$" as patterns; selectors take columns by position.
        from polars import selectors

        projected = self._frame.select(selectors.by_index(*positions))
        if any(kind.is_object() for kind in projected.collect_schema().dtypes()):
            raise pa.ArrowTypeError("an Object of Polars is no Arrow data, but addresses of Python objects")
        return projected


class _DuckDB(Columns):
    def __init__(self, relation: Any) -> None:
        self._relation = relation

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
        if list(positions) == list(range(len(self.names))) and "BIT" not in map(str, self._relation.types):
            return self._relation  # two columns may have one name
        return self._relation.project(", ".join(self._column(position) for position in positions))

    @property
    def is_empty(self) -> bool:
        return not self._relation.limit(1).fetchall()

    def sample(self, position: int) -> list[Any]:
        rows = self._relation.project(self._column(position)).limit(_SAMPLE).fetchall()
        return [value for (value,) in rows if value is not None]

    def kind(self, position: int) -> Any:
        return str(self._relation.types[position])

    def result(self, rows: pa.Table, kinds: Kinds, counted: Mapping[str, int]) -> Any:
        return duckdb_relation(self._relation, rows, kinds)

    def _column(self, position: int) -> str:
        quoted = '"' + self.names[position].replace('"', '""') + '"'
        # In Arrow the bits are bytes of DuckDB's own, which it reads as other bits.
        return f"CAST({quoted} AS VARCHAR) AS {quoted}" if self.kind(position) == "BIT" else quoted


class _Pandas(Columns):
    """The columns, then the named index levels that no column shadows. NaN and NaT become nulls."""

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

    def sample(self, position: int) -> list[Any]:
        values: list[Any] = self._projected([position]).iloc[:_SAMPLE, 0].dropna().tolist()
        return values

    @property
    def unnamed_times(self) -> str | None:
        index = self._frame.index
        if index.names != [None] or index.dtype.kind != "M":
            return None
        return 'the index, if it has a name: frame.rename_axis("ts")'

    def kind(self, position: int) -> Any:
        if position < self._columns:
            return self._frame.dtypes.iloc[position]
        level, _ = self._levels[position - self._columns]
        return self._frame.index.get_level_values(level).dtype

    def result(self, rows: pa.Table, kinds: Kinds, counted: Mapping[str, int]) -> Any:
        frame = pandas_frame(rows, kinds, arrow=self._is_arrow)
        labels = {str(label): label for label in self._frame.columns}
        frame.columns = [labels.get(name, name) if name in kinds else name for name in rows.column_names]
        frame.attrs[ATTRIBUTE] = dict(counted)
        return frame

    def held(self) -> Columns:
        return self

    def with_columns(self, added: pa.Table, kinds: Kinds, counted: Mapping[str, int]) -> Any:
        frame = self._frame.assign()  # a copy, as deep as this pandas needs
        for name in added.column_names:
            frame[name] = pandas_column(added[name], kinds.get(name), arrow=self._is_arrow).array
        frame.attrs[ATTRIBUTE] = dict(counted)
        return frame

    @property
    def _is_arrow(self) -> bool:
        """Whether the times of the frame are Arrow-backed; then new columns are so, too."""
        return any(str(kind).startswith("timestamp[") for kind in self._frame.dtypes)

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

    def kind(self, position: int) -> Any:
        """The own type of a column if all inputs that have it are of one library and of this type, else None."""
        first, name = self._inputs[0], self.names[position]
        inputs = zip(self._inputs, self._origins.columns, strict=True)
        found = [(table, table.names.index(own[name])) for table, own in inputs if name in own]
        if not found or any(type(table) is not type(first) for table, _ in found):
            return None
        kinds = [table.kind(place) for table, place in found]
        return kinds[0] if all(kind == kinds[0] for kind in kinds) else None

    def kinds(self, columns: Mapping[str, str]) -> Kinds:
        """The types that `kind` has."""
        return {name: kind for name, kind in super().kinds(columns).items() if kind is not None}

    def result(self, rows: pa.Table, kinds: Kinds, counted: Mapping[str, int]) -> Any:
        """Rows in the kind of the first input."""
        return self._inputs[0].result(rows, kinds, counted)

    def shown(self, rows: pa.Table) -> pa.Table:
        """The columns of the data, and the name of each row's input."""
        names = pa.array(self._origins.names)
        of_input = pa.chunked_array([names.take(numbers) for numbers in rows[self._origins.column].chunks], names.type)
        return rows.select(list(self._origins.shown)).append_column(INPUT, of_input)

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


def _appended(rows: pa.Table, added: pa.Table) -> pa.Table:
    for field, column in zip(added.schema, added.columns, strict=True):
        rows = rows.append_column(field, column)
    return rows


def _without_metadata(schema: pa.Schema, positions: Sequence[int]) -> pa.Schema:
    return pa.schema([schema.field(i) for i in positions])
