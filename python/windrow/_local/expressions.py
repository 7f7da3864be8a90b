"""Columns that are expressions over in-process data. The library of the data computes them, otherwise Arrow.

```text
 base columns ─▶ batches ─▶ one projection of Acero for each batch ─▶ the columns that were asked for
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from windrow._arguments.errors import bad_value
from windrow._arguments.expression import (
    CONSTANT,
    DUCKDB,
    FIELD,
    POLARS,
    SQL,
    ColumnExpression,
    Reference,
    wrong_expression,
    wrong_language,
)
from windrow._executor.batches import stream_reader
from windrow._local.columns import SAMPLE, Columns
from windrow._local.results import Kinds, Parts
from windrow._plan.casts import Casts
from windrow._plan.input import Need, libraries_of

_ANY = (FIELD, CONSTANT)
"""The kinds of expressions that work with every library."""


def output_name(table: Columns, argument: str, expression: ColumnExpression, columns: Sequence[str]) -> str:
    """The name that the library of a table gives to the column of an expression.

    Raises:
        TypeError: an expression of another library.
        ValueError: one that gives no single column. `columns` are those that the user sees.
    """
    languages = (*_ANY, table.language, *((SQL,) if table.language == DUCKDB else ()))
    if expression.language not in languages:
        raise wrong_language(argument, expression, table.language, table.kind, columns)
    text, multiplies = str(expression), ("unnest(", "unlist(", "generate_series(")
    if table.language == DUCKDB and any(name in text.lower() for name in multiplies):
        raise wrong_expression(argument, expression, columns, "unnest makes several rows from one")
    try:
        with_expressions(table, {"windrow.expression": expression}).schema([len(table.names)])
        return _own_name(expression)
    except Exception as error:
        if not _is_of_library(error):
            raise
        raise wrong_expression(argument, expression, columns, error) from error


def _own_name(expression: ColumnExpression) -> str:
    if expression.language == FIELD:
        return str(expression.value[-1])
    if expression.language == POLARS:
        return str(expression.value.meta.output_name() or expression)  # a literal Series has no name
    return str(expression.value.get_name() if expression.language == DUCKDB else expression)


def with_expressions(table: Columns, expressions: Mapping[str, ColumnExpression]) -> Columns:
    """The table with further columns, by name."""
    made = table.with_expressions(expressions)
    return Computed(table, expressions) if made is None else made


class Computed(Columns):
    """Columns of a table, then columns that Arrow computes of them, batch by batch."""

    def __init__(self, table: Columns, expressions: Mapping[str, ColumnExpression]) -> None:
        """Over a table; the expressions are of pyarrow, fields or constants."""
        self._table = table
        self._expressions = expressions
        self.kind, self.has_infinity = table.kind, table.has_infinity

    @property
    def names(self) -> Sequence[str]:
        """The names of the table, then those of the expressions."""
        return [*self._table.names, *self._expressions]

    def written(self, column: Reference) -> tuple[str, Casts]:
        """As the table."""
        return self._table.written(column)

    @property
    def rows(self) -> int | None:
        """The number of rows of the table."""
        return self._table.rows

    @property
    def is_empty(self) -> bool:
        """Whether the table has no rows."""
        return self._table.is_empty

    def sample(self, position: int) -> list[Any]:
        """Some values of a column, of an expression only if the number of rows is known."""
        if position < len(self._table.names):
            return self._table.sample(position)
        if self._table.rows is None:
            return []
        try:
            batch = next((batch for batch in stream_reader(self.stream([position])) if batch.num_rows), None)
        except pa.ArrowException:  # the query shows it
            return []
        return [] if batch is None else [value for value in batch.column(0)[:SAMPLE].to_pylist() if value is not None]

    def dtype(self, position: int) -> Any:
        """The library's own type of a column of the table; None for an expression, which has Arrow's."""
        return self._table.dtype(position) if position < len(self._table.names) else None

    def instead(self, position: int, need: Need, written: str) -> str | None:
        """As the table, for a column of it."""
        return self._table.instead(position, need, written) if position < len(self._table.names) else None

    def nested(self, parts: Parts) -> Any:
        """As the table."""
        return self._table.nested(parts)

    def meaning(self, kind: Any) -> str | None:
        """As the table."""
        return self._table.meaning(kind)

    def in_words(self, kind: Any) -> str:
        """As the table."""
        return self._table.in_words(kind)

    def result(self, rows: pa.Table, kinds: Kinds, counted: Mapping[str, int]) -> Any:
        """Rows in the kind of the table."""
        return self._table.result(rows, kinds, counted)

    @property
    def raised(self) -> BaseException | None:
        """The exception of an expression, or of the table's own Python code."""
        return self._raised or self._table.raised

    def schema(self, positions: Sequence[int]) -> pa.Schema:
        """The Arrow schema of some columns. Computes the expressions over no rows."""
        read = self._read(positions)
        return self._columns(pa.Table.from_batches([], self._table.schema(read)), read, positions).schema

    def stream(self, positions: Sequence[int]) -> Any:
        """Some columns as a stream."""
        self._raised = None  # of an earlier query
        count = len(self._table.names)
        if all(position < count for position in positions):
            return self._table.stream(positions)
        read = self._read(positions)
        reader = stream_reader(self._table.stream(read))
        schema = self._columns(pa.Table.from_batches([], reader.schema), read, positions).schema
        batches = self._remembered(self._batches(reader, read, positions, schema))
        return pa.RecordBatchReader.from_batches(schema, batches)

    def _batches(
        self, reader: pa.RecordBatchReader, read: Sequence[int], positions: Sequence[int], schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        for batch in reader:
            computed = self._columns(pa.Table.from_batches([batch]), read, positions)
            yield from computed.cast(schema).combine_chunks().to_batches()

    def _read(self, positions: Sequence[int]) -> list[int]:
        """The positions in the table of these columns, and of those that their expressions may name."""
        names = list(self._table.names)
        expressions = list(self._expressions.values())
        own = [expressions[position - len(names)] for position in positions if position >= len(names)]
        texts = [" ".join(each.value) if each.language == FIELD else str(each.value) for each in own]
        named = [place for place, name in enumerate(names) if any(name in text for text in texts)]
        read = sorted({*named, *(position for position in positions if position < len(names))})
        return read or [*range(len(names))][:1]  # a constant needs the number of rows

    def _columns(self, table: pa.Table, read: Sequence[int], positions: Sequence[int]) -> pa.Table:
        """These columns, of a table with the columns `read`."""
        count, names = len(self._table.names), self.names
        computed = {position for position in positions if position >= count}
        expressions = {position: self._expressions[names[position]] for position in sorted(computed)}
        added = dict(zip(expressions, _projected(table, list(expressions.values())), strict=True))
        columns = [added[place] if place in added else table.column(read.index(place)) for place in positions]
        fields = [
            pa.field(names[place], added[place].type) if place in added else table.schema.field(read.index(place))
            for place in positions
        ]
        return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _projected(table: pa.Table, expressions: Sequence[ColumnExpression]) -> list[Any]:
    """The columns of expressions over a table, in the order of its rows."""
    from pyarrow.acero import Declaration, ProjectNodeOptions, TableSourceNodeOptions

    columns = []
    for expression in expressions:
        source = table
        if expression.input is not None:  # a cogroup may name columns by the name of the input
            names = [f"{expression.input}.{name}" for name in table.column_names]
            source = pa.Table.from_arrays([*table.columns, *table.columns], names=[*table.column_names, *names])
        steps = [
            Declaration("table_source", TableSourceNodeOptions(source)),
            Declaration("project", ProjectNodeOptions([_arrow_expression(expression)], ["0"])),
        ]
        try:
            columns.append(Declaration.from_sequence(steps).to_table(use_threads=False).column(0))
        except pa.ArrowInvalid as error:
            allowed = "an expression that computes each value of its own row, with no aggregate or cumulative function"
            if "non-scalar" not in str(error):
                allowed = f"an expression that has a value in each row ({error})"
            raise bad_value("expression", str(expression), allowed) from error
    return columns


def _arrow_expression(expression: ColumnExpression) -> Any:
    import pyarrow.compute as pc

    if expression.language == FIELD:
        return pc.field(*expression.value)
    if expression.language == CONSTANT:
        constant: Any = pa.scalar(expression.value, pa.int32())  # as in other libraries, for open windows of any
        return pc.scalar(constant)
    return expression.value


def _is_of_library(error: Exception) -> bool:
    """Whether a library of data raises this error for a wrong expression."""
    return bool(libraries_of(error) & {"polars", "duckdb", "_duckdb", "pyarrow"}) or isinstance(
        error, TypeError | ValueError
    )
