"""Relations of DuckDB: read column by column, and made of results on the same connection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.expression import DUCKDB, FIELD, ColumnExpression
from windrow._executor.batches import stream_reader
from windrow._local.columns import SAMPLE, Columns
from windrow._local.results import Kinds
from windrow._plan.time_casts import TimeCasts

_CASTS = TimeCasts(
    column="{1}",
    text="CAST({0} AS TIMESTAMP{2})",
    zoned="CAST({0} AS TIMESTAMPTZ{2})",
    format="strptime({0}, '{1}')",
    zoned_format="timezone('UTC', strptime({0}, '{1}'))",
    formats={},
    integers={
        "s": "make_timestamp(CAST({0} AS BIGINT) * 1000000)",
        "ms": "make_timestamp_ms(CAST({0} AS BIGINT))",
        "us": "make_timestamp(CAST({0} AS BIGINT))",
        "ns": "make_timestamp_ns(CAST({0} AS BIGINT))",
    },
    floats="make_timestamp(CAST(round(CAST({0} AS DOUBLE) * {1}) AS BIGINT))",
    date="CAST({0} AS TIMESTAMP)",
    of_day="{1} + CAST({0} AS TIME)",
    as_text="CAST({0} AS VARCHAR)",
    without_nan="nullif({0}, 'NaN')",
)
_AS_TEXT = {"BIT", "TIME WITH TIME ZONE"}
"""Types that DuckDB reads from Arrow with other bits, or without the zone that they had."""

_VIEW = "windrow_data"
_RELATION = (
    "a relation of a connection that reads Arrow tables (SET python_enable_replacements = true), or what "
    "relation.to_arrow_table() returns"
)


class RelationColumns(Columns):
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
                computed = _quoted(column)
                for field in fields:
                    computed = f"struct_extract({computed}, {_literal(field)})"
            if expression.language != DUCKDB:
                computed = duckdb.SQLExpression(str(computed))
            relation = relation.select(duckdb.StarExpression(), computed.alias(name))
        return RelationColumns(relation)

    def over(self, table: pa.Table) -> Columns:
        return RelationColumns(duckdb_relation(self._relation, table, {}))

    @property
    def time_casts(self) -> TimeCasts:
        return _CASTS

    def cast(self, column: str, kind: pa.DataType) -> str:
        import duckdb

        named = duckdb.from_arrow(pa.table({column: pa.array([], kind)}))
        return f"CAST({_quoted(column)} AS {named.types[0]})"

    @property
    def names(self) -> Sequence[str]:
        names: list[str] = self._relation.columns
        return names

    def schema(self, positions: Sequence[int]) -> pa.Schema:
        return stream_reader(self.stream(positions).limit(0)).schema

    def stream(self, positions: Sequence[int]) -> Any:
        if list(positions) == list(range(len(self.names))) and not _AS_TEXT & {*map(str, self._relation.types)}:
            return self._relation  # two columns may have one name
        return self._relation.project(", ".join(self._column(position) for position in positions))

    @property
    def is_empty(self) -> bool:
        return not self._relation.limit(1).fetchall()

    def sample(self, position: int) -> list[Any]:
        rows = self._relation.project(self._column(position)).limit(SAMPLE).fetchall()
        return [value for (value,) in rows if value is not None]

    def dtype(self, position: int) -> Any:
        return self._relation.types[position]

    def result(self, rows: pa.Table, kinds: Kinds, counted: Mapping[str, int]) -> Any:
        return duckdb_relation(self._relation, rows, kinds)

    def _column(self, position: int) -> str:
        quoted = _quoted(self.names[position])
        return f"CAST({quoted} AS VARCHAR) AS {quoted}" if str(self.dtype(position)) in _AS_TEXT else quoted


def _with_values(kind: Any, column: Any) -> str:
    """A type; its ENUMs with the values that they lack, as the data of a day may lack keys of open windows."""
    text = str(kind)
    if "ENUM(" not in text:
        return text
    if kind.id == "enum":
        ((_, values),) = kind.children
        values = dict.fromkeys([*values, *column.unique().drop_null().to_pylist()])
        return f"ENUM({', '.join(_literal(value) for value in values)})"
    if kind.id == "struct":
        fields = enumerate(kind.children)
        parts = (f"{_quoted(name)} {_with_values(part, pc.struct_field(column, [at]))}" for at, (name, part) in fields)
        return f"STRUCT({', '.join(parts)})"
    if kind.id in ("list", "array"):
        return _with_values(kind.children[0][1], pc.list_flatten(column)) + text[text.rindex("[") :]
    return text


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def duckdb_relation(relation: Any, rows: pa.Table, kinds: Kinds) -> Any:
    """A relation on the connection of `relation`."""
    columns = [
        f"{column} AS {_quoted(name)}"
        for place, name in enumerate(rows.column_names)
        for column in [f"CAST(c{place} AS {_with_values(kinds[name], rows[name])})" if name in kinds else f"c{place}"]
    ]
    # DuckDB finds the table by the name of this variable, and the relation keeps it.
    windrow_result_rows = rows.rename_columns([f"c{place}" for place in range(rows.num_columns)])  # noqa: F841
    try:
        result = relation.query(_VIEW, f"SELECT {', '.join(columns)} FROM windrow_result_rows")
        relation.query(_VIEW, f"DROP VIEW IF EXISTS {_VIEW}")  # before DuckDB 2 the view of the data stays
        return result
    except Exception as error:
        if type(error).__name__ != "CatalogException":
            raise
        raise TypeError(f"data: got a DuckDBPyRelation, which cannot read the result; allowed: {_RELATION}") from error
