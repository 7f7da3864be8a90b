"""Columns of in-process data: what a query reads, and how a result becomes the same kind of object."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.errors import bad_type
from windrow._arguments.expression import EXPRESSION, FIELD, PYARROW, ColumnExpression, Reference, stands_for
from windrow._arguments.nested import LIST_MAKERS, inner_fields, nulls
from windrow._executor.batches import filtered, stream_reader
from windrow._local.counters import described
from windrow._local.results import Kinds, Parts, pyarrow_table
from windrow._plan.casts import ARROW_CASTS, Casts
from windrow._plan.earlier_types import other_type
from windrow._plan.input import Need

SAMPLE = 100_000
"""How many rows to look at for a hint."""


_INFINITY = 2**63 - 1


class Columns(ABC):
    """The columns of an in-process table.

    Attributes:
        language: the library of its expressions.
        kind: what kind of data it is, with an article.
        is_read_once: whether it is a stream, whose rows are gone when they are read.
        has_floats_for_nulls: whether integers beside nulls may have become floats.
        has_infinity: whether the last and the first value of its timestamps mean that they have no finite time.
    """

    language = PYARROW
    kind = "Arrow data"
    is_read_once = False
    has_floats_for_nulls = False
    has_infinity = False
    _raised: BaseException | None = None

    def with_expressions(self, expressions: Mapping[str, ColumnExpression]) -> Columns | None:
        """The same with columns that the library of the data computes, all of its language; None if Arrow does."""
        return None

    def over(self, table: pa.Table) -> Columns:
        """Columns of the same library over the rows of a table."""
        return TableColumns(table)

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

    def written(self, column: Reference) -> tuple[str, Casts]:
        """A column as a user of the library writes it, and how the library makes other types of it."""
        if isinstance(column, str):
            return f"table[{column!r}]", ARROW_CASTS
        is_field = column.language == FIELD
        return f"pyarrow.compute.field({', '.join(map(repr, column.value))})" if is_field else EXPRESSION, ARROW_CASTS

    def type_names(self, column: str, was: pa.DataType) -> tuple[str, str] | None:
        """What the library calls an earlier type of a column, and its own; None if it is what Arrow calls them."""
        return None

    def cast(self, column: Reference, kind: pa.DataType) -> str | None:
        """How the library gives a column another type, in Python; in SQL for a relation. None if nothing does."""
        written, _ = self.written(column)
        zone, times = getattr(kind, "tz", None), written
        if self.has_other_clock(column, kind):
            times = f"pyarrow.compute.local_timestamp({written})"
            times = times if zone is None else f'pyarrow.compute.assume_timezone({written}, "{zone}")'
        return f"{times}.cast({arrow_words(kind)}){stands_for(written)}"

    def has_other_clock(self, column: Reference, kind: Any) -> bool:
        """Whether only the column's times have a zone, or only those of this kind. A cast keeps what clocks show."""
        is_own = isinstance(column, str) and column in self.names
        own: Any = self.schema([list(self.names).index(str(column))]).field(0).type if is_own else None
        both_are_times = isinstance(own, pa.TimestampType) and isinstance(kind, pa.TimestampType)
        return both_are_times and (own.tz is None) != (kind.tz is None)

    @property
    def rows(self) -> int | None:
        """The number of rows, or None if it is unknown before reading."""
        return None

    @property
    def raised(self) -> BaseException | None:
        """The exception of Python code that produces a stream. The stream interface passes on only its message."""
        return self._raised

    def _remembered(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches of one query. `raised` is their exception, no longer that of an earlier query."""
        self._raised = None
        return self._remember(batches)

    def _remember(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except GeneratorExit:  # a query that fails reads no further
            raise
        except BaseException as raised:
            self._raised = raised if self._raised is None else self._raised
            raise

    def explained(self, error: BaseException) -> BaseException:
        """An error of a query, or a clearer one about these columns."""
        return error

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

    def dtype(self, position: int) -> Any:
        """The library's own type of a column; None if that is the closest to its Arrow type."""
        return self.schema([position]).field(0).type

    def instead(self, position: int, need: Need, written: str) -> str | None:
        """What is allowed in place of a column, which is `written` in SQL; None if Arrow compares it as the library."""
        return None

    def duration_of(self, position: int) -> ColumnExpression | None:
        """The durations of a column of another type; None if it has durations itself, or has none."""
        return None

    def nested(self, parts: Parts) -> Any:
        """The library's own type of a list or struct of values of these types; None if it is Arrow's."""
        return None

    def type_of(self, position: int) -> tuple[str, str | None]:
        """A column's type, as an error names it, and its `meaning`."""
        kind = self.dtype(position)
        meaning = None if kind is None else self.meaning(kind)
        own = str(self.schema([position]).field(0).type)
        return (own if meaning is None else self.in_words(kind)), meaning

    def meaning(self, kind: Any) -> str | None:
        """What a type of the library means beside the values that Arrow has; None if nothing."""
        return None

    def dtypes(self, columns: Mapping[str, str]) -> Kinds:
        """The library's own types of result columns. `columns` has the column of the data that each comes from."""
        names = list(self.names)
        own = {name: self.dtype(names.index(column)) for name, column in columns.items() if names.count(column) == 1}
        return {name: kind for name, kind in own.items() if kind is not None}

    def in_order(self, position: int, kind: Any) -> Any:
        """Of an ordered dictionary an array without rows, whose dictionary has the order; of a stream, without order.

        A column of any other type has `kind`.
        """
        if not isinstance(kind, pa.DictionaryType) or not kind.ordered:
            return kind
        values: Any = kind.value_type
        is_other = pa.types.is_nested(values) or isinstance(values, pa.BaseExtensionType)
        if is_other or str(values).startswith(("halffloat", "decimal32", "decimal64")):
            return kind  # pyarrow does not look these values up
        found = None if self.is_read_once else next(iter(stream_reader(self.stream([position]))), None)
        if found is None:
            return pa.dictionary(kind.index_type, kind.value_type)
        first: Any = found.column(0)
        return pa.DictionaryArray.from_arrays(nulls(0, kind.index_type), first.dictionary, ordered=True)

    def check_continued(self, kinds: Kinds) -> None:
        """Raises `ValueError` if this table of open windows has other types that Arrow does not tell apart."""
        names = list(self.names)
        for name in {*kinds}.intersection(names):
            was, now = self.dtype(names.index(name)), kinds[name]
            if self.is_other(was, now):
                earlier = self.in_words(was)
                raise other_type(name, earlier, self.in_words(now), earlier)

    def in_words(self, kind: Any) -> str:
        """A type of the library, as an error names it."""
        return str(kind)

    def is_other(self, was: Any, now: Any) -> bool:
        """Whether Arrow has one type for a type of this library and another one, whose values mean something else."""
        return self.meaning(was) != self.meaning(now)

    def result(self, rows: pa.Table, kinds: Kinds, counted: Mapping[str, int]) -> Any:
        """Rows in the kind of the data, with the counters if that has a place for them."""
        return described(pyarrow_table(rows, kinds), counted)

    def held(self) -> Columns:
        """The same columns with their rows in memory: a stream is read, and a lazy query runs."""
        return HeldColumns(self, stream_reader(self.stream(range(len(self.names)))).read_all())

    def filtered(self, mask: pa.Array[Any]) -> Columns:
        """The held rows that a mask marks."""
        raise bad_type("data", self, "rows in memory")

    def with_columns(self, added: pa.Table, kinds: Kinds, counted: Mapping[str, int]) -> Any:
        """The rows of the data with more columns, in its kind; only if the rows are held."""
        raise bad_type("data", self, "rows in memory")

    def returned(self, rows: pa.Table) -> pa.Table:
        """The columns in which the held rows come back."""
        return rows


class TableColumns(Columns):
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
        return without_metadata(self._table.schema, positions)

    def stream(self, positions: Sequence[int]) -> Any:
        return self._table.select(list(positions)).replace_schema_metadata(None)

    def sample(self, position: int) -> list[Any]:
        return [value for value in self._table.column(position)[:SAMPLE].to_pylist() if value is not None]

    def result(self, rows: pa.Table, kinds: Kinds, counted: Mapping[str, int]) -> Any:
        return described(pyarrow_table(rows, kinds), counted, self._table.schema, kinds)

    def held(self) -> Columns:
        return self

    def filtered(self, mask: pa.Array[Any]) -> Columns:
        return TableColumns(filtered(self._table, mask))

    def with_columns(self, added: pa.Table, kinds: Kinds, counted: Mapping[str, int]) -> Any:
        rows = appended(self._table, added)
        return described(pyarrow_table(rows, kinds), counted, self._table.schema)


class HeldColumns(TableColumns):
    """Rows that were read from other columns; the result has their kind."""

    def __init__(self, of: Columns, table: pa.Table) -> None:
        super().__init__(table)
        self._of = of
        self.language, self.kind, self.has_infinity = of.language, of.kind, of.has_infinity

    def with_expressions(self, expressions: Mapping[str, ColumnExpression]) -> Columns | None:
        return self._of.over(self._table).with_expressions(expressions)

    def filtered(self, mask: pa.Array[Any]) -> Columns:
        return HeldColumns(self._of, filtered(self._table, mask))

    def with_columns(self, added: pa.Table, kinds: Kinds, counted: Mapping[str, int]) -> Any:
        rows = appended(self._of.returned(self._table), added)
        own = {name: name for name in rows.column_names if rows.column_names.count(name) == 1 and name in self.names}
        return self._of.result(rows, {**self._of.dtypes(own), **kinds}, counted)


def arrow_words(kind: Any) -> str:
    """A type as a user of pyarrow writes it."""
    if isinstance(kind, pa.StructType):
        return f"pyarrow.struct([{', '.join(f'({field.name!r}, {arrow_words(field.type)})' for field in kind)}])"
    if pa.types.is_run_end_encoded(kind):
        return f"pyarrow.run_end_encoded({arrow_words(kind.run_end_type)}, {arrow_words(kind.value_type)})"
    if fields := inner_fields(kind):
        name = "map_" if isinstance(kind, pa.MapType) else LIST_MAKERS[type(kind).__name__]
        size = [str(kind.list_size)] if isinstance(kind, pa.FixedSizeListType) else []
        return f"pyarrow.{name}({', '.join([*(arrow_words(field.type) for field in fields), *size])})"
    if pa.types.is_timestamp(kind):
        zone = "" if kind.tz is None else f', "{kind.tz}"'
        return f'pyarrow.timestamp("{kind.unit}"{zone})'
    if pa.types.is_decimal(kind):
        return f"pyarrow.decimal{kind.bit_width}({kind.precision}, {kind.scale})"
    if pa.types.is_duration(kind) or pa.types.is_time(kind):
        return f'pyarrow.{str(kind).partition("[")[0]}("{kind.unit}")'
    if pa.types.is_fixed_size_binary(kind):
        return f"pyarrow.binary({kind.byte_width})"
    names = {"double": "float64", "float": "float32", "halffloat": "float16", "bool": "bool_", "date32[day]": "date32"}
    names["date64[ms]"] = "date64"
    return f"pyarrow.{names.get(str(kind), str(kind))}()"


def finite(reader: pa.RecordBatchReader, times: Sequence[str]) -> pa.RecordBatchReader:
    """The same with null in place of infinite times, in these columns."""
    schema = reader.schema
    columns = ([_finite(batch[name]) if name in times else batch[name] for name in schema.names] for batch in reader)
    return pa.RecordBatchReader.from_batches(
        schema, (pa.RecordBatch.from_arrays(each, schema=schema) for each in columns)
    )


def _finite(times: pa.Array[Any]) -> pa.Array[Any]:
    ticks: Any = times.cast(pa.int64())
    bounds: Any = pc.min_max(ticks).as_py()
    if bounds["max"] != _INFINITY and bounds["min"] != -_INFINITY:
        return times
    is_infinite: Any = pc.is_in(ticks, pa.array([_INFINITY, -_INFINITY]))
    finite_times: pa.Array[Any] = pc.if_else(is_infinite, pa.scalar(None, times.type), times)
    return finite_times


def appended(rows: pa.Table, added: pa.Table) -> pa.Table:
    for field, column in zip(added.schema, added.columns, strict=True):
        rows = rows.append_column(field, column)
    return rows


def without_metadata(schema: pa.Schema, positions: Sequence[int]) -> pa.Schema:
    return pa.schema([schema.field(i) for i in positions])
