"""Relations of DuckDB: read column by column, and made of results on the same connection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from windrow._local.columns import SAMPLE, Columns
from windrow._local.results import Kinds
from windrow._plan.time_casts import TimeCasts

_CASTS = TimeCasts(
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
_RELATION = (
    "a relation of a connection that reads Arrow tables (SET python_enable_replacements = true), or what "
    "relation.to_arrow_table() returns"
)


class RelationColumns(Columns):
    def __init__(self, relation: Any) -> None:
        self._relation = relation

    @property
    def time_casts(self) -> TimeCasts:
        return _CASTS

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
        rows = self._relation.project(self._column(position)).limit(SAMPLE).fetchall()
        return [value for (value,) in rows if value is not None]

    def dtype(self, position: int) -> Any:
        return str(self._relation.types[position])

    def result(self, rows: pa.Table, kinds: Kinds, counted: Mapping[str, int]) -> Any:
        return duckdb_relation(self._relation, rows, kinds)

    def _column(self, position: int) -> str:
        quoted = '"' + self.names[position].replace('"', '""') + '"'
        # In Arrow the bits are bytes of DuckDB's own, which it reads as other bits.
        return f"CAST({quoted} AS VARCHAR) AS {quoted}" if self.dtype(position) == "BIT" else quoted


def duckdb_relation(relation: Any, rows: pa.Table, kinds: Kinds) -> Any:
    """A relation on the connection of `relation`."""
    columns = (
        f'CAST(c{place} AS {kinds[name]}) AS "{quoted}"' if name in kinds else f'c{place} AS "{quoted}"'
        for place, name in enumerate(rows.column_names)
        for quoted in [name.replace('"', '""')]
    )
    # DuckDB finds the table by the name of this variable, and the relation keeps it.
    windrow_rows = rows.rename_columns([f"c{place}" for place in range(rows.num_columns)])  # noqa: F841
    try:
        return relation.query("windrow_data", f"SELECT {', '.join(columns)} FROM windrow_rows")
    except Exception as error:
        if type(error).__name__ != "CatalogException":
            raise
        raise TypeError(f"data: got a DuckDBPyRelation, which cannot read the result; allowed: {_RELATION}") from error
