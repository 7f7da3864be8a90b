"""Relations of DuckDB: read column by column, and made of results on the same connection."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.expression import DUCKDB, DURATION, FIELD, ColumnExpression, Reference, stands_for
from windrow._arguments.type_names import is_text
from windrow._executor.batches import stream_reader
from windrow._local.columns import SAMPLE, Columns
from windrow._local.duckdb_types import (
    crossing,
    in_microseconds,
    instead,
    literal,
    meaning,
    quoted,
    repeated_name,
    returned,
    with_text,
)
from windrow._local.results import Kinds, Parts
from windrow._plan.casts import Casts
from windrow._plan.input import Need

_CASTS = Casts(
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
    duration="an INTERVAL",
    durations={"s": "to_seconds({0})", "ms": "to_milliseconds({0})"},
    of_day="CAST(CAST({1} AS VARCHAR) || ' ' || CAST({0} AS VARCHAR) AS TIMESTAMP{3})",
    as_text="CAST({0} AS VARCHAR)",
    as_number="CAST({0} AS DOUBLE)",
    finite="CASE WHEN isfinite({0}) THEN {0} END",
    without="nullif(trim({0}), '{1}')",
    nonzero="{0} <> 0",
    equals="{0} = '{1}'",
    words="CAST({0} AS INTERVAL)",
)
_VIEW = "windrow_data"
_DROP = f"DROP VIEW IF EXISTS {_VIEW}"
_DURATION = """
    CASE WHEN extract(year FROM {0}) = 0 AND extract(month FROM {0}) = 0
    THEN coalesce(TRY(epoch_us({0})), CASE WHEN extract(day FROM {0}) > 0 THEN 9223372036854775807 ELSE -1 END) END
"""
"""The microseconds of an INTERVAL, at most those of 64 bits; null if it has months, whose length is not fixed."""

_COLLATION = f"""
    SELECT count(DISTINCT text) FILTER (place IN (1, 2)) < 2, count(DISTINCT text) FILTER (place IN (1, 3)) < 2,
        max(text) FILTER (place IN (1, 4)) <> 'a'
    FROM (SELECT text, 0 AS place FROM {_VIEW} UNION ALL VALUES ('a', 1), ('A', 2), ('á', 3), ('B', 4))
"""
"""Whether a collation ignores case, ignores accents, or has another order than bytes. No type shows it."""
_RELATION = (
    "a relation of a connection that reads Arrow tables (SET python_enable_replacements = true), or what "
    "relation.to_arrow_table() returns"
)


class RelationColumns(Columns):
    language = DUCKDB
    kind = "a DuckDB relation"
    has_infinity = True

    def __init__(self, relation: Any, durations: Collection[str] = ()) -> None:
        """Of a relation. `durations` are its columns of microseconds that go to Arrow as durations."""
        self._relation = relation
        self._names, self._types = relation.columns, relation.types  # DuckDB makes new lists on every access
        self._durations = frozenset(durations)

    def with_expressions(self, expressions: Mapping[str, ColumnExpression]) -> Columns:
        import duckdb

        relation, durations = self._relation, set(self._durations)
        for name, expression in expressions.items():
            relation = relation if expression.input is None else relation.set_alias(expression.input)
            computed = expression.value
            if expression.language == DURATION:
                durations.add(name)
            if expression.language != DUCKDB:
                computed = duckdb.SQLExpression(_sql(expression))
            relation = relation.select(duckdb.StarExpression(), computed.alias(name))
        return RelationColumns(relation, durations)

    def over(self, table: pa.Table) -> Columns:
        return RelationColumns(duckdb_relation(self._relation, table, self.dtypes({name: name for name in self.names})))

    def written(self, column: Reference) -> tuple[str, Casts]:
        return (quoted(column) if isinstance(column, str) else _sql(column)), _CASTS

    def type_names(self, column: str, was: pa.DataType) -> tuple[str, str]:
        now, earlier = str(self.dtype(list(self.names).index(column))), str(_type_of(was) or was)
        return (str(was) if earlier == now else earlier), now

    def cast(self, column: Reference, kind: pa.DataType) -> str | None:
        """A cast that DuckDB has, and that makes of these rows what Arrow makes of them. Some take two steps."""
        made, (written, _) = _type_of(kind), self.written(column)
        if made is None:
            return None
        own = self._relation.project(written)
        values = own.project(_crossed("#1", own.types[0])).to_arrow_table()[0]
        steps = (written, f"CAST({written} AS {in_microseconds(own.types[0])})")
        casts = (f"CAST({step} AS {made})" for step in steps)
        found = next((cast for cast in casts if self._gives(cast, values, kind)), None)
        return None if found is None else f"{found}{stands_for(written)}"

    def _gives(self, cast: str, values: Any, kind: Any) -> bool:
        """Whether DuckDB has a cast, and Arrow the same one. DuckDB alone reads text in the zone of its session."""
        try:
            made = self._relation.project(f"{cast} AS made")
            found = made.project(_crossed("made", made.types[0])).to_arrow_table()[0]
            if _zone(found) == _zone(values):
                return bool(found.cast(kind).equals(values.cast(kind)))
            clock, zoned = (values, found) if _zone(values) is None else (found, values)
            times = pa.timestamp(zoned.type.unit)
            return is_text(clock.type) or bool(pc.assume_timezone(clock.cast(times), _zone(zoned)).equals(zoned))
        except Exception:  # DuckDB's errors have many classes, of which a module that is not imported knows none
            return False

    @property
    def names(self) -> Sequence[str]:
        names: list[str] = self._names
        return names

    def schema(self, positions: Sequence[int]) -> pa.Schema:
        return self._with_durations(stream_reader(self._projected(positions).limit(0))).schema

    def stream(self, positions: Sequence[int]) -> Any:
        projected = self._projected(positions)
        return self._with_durations(stream_reader(projected)) if self._durations else projected

    def explained(self, error: BaseException) -> BaseException:
        """DuckDB makes VARIANTs of Parquet of its own, which have fewer types."""
        names = [name for name, kind in zip(self._names, self._types, strict=True) if "VARIANT" in str(kind)]
        if not names or not isinstance(error, OSError):
            return error
        casts = " and ".join(f"CAST({quoted(name)} AS VARCHAR)" for name in names)
        return TypeError(f"data: DuckDB does not hand over a value of a VARIANT ({error}); allowed: {casts}")

    @property
    def is_empty(self) -> bool:
        return not self._relation.project("1").limit(1).fetchall()

    def sample(self, position: int) -> list[Any]:
        rows = self._projected([position]).limit(SAMPLE).fetchall()
        return [value for (value,) in rows if value is not None]

    def dtype(self, position: int) -> Any:
        return self._types[position]

    def result(self, rows: pa.Table, kinds: Kinds, counted: Mapping[str, int]) -> Any:
        return duckdb_relation(self._relation, rows, kinds)

    def type_of(self, position: int) -> tuple[str, str | None]:
        kind = self.dtype(position)
        return str(kind), self.meaning(kind)

    def meaning(self, kind: Any) -> str | None:
        """The type, if Arrow has it as text that no other type reads. ENUMs may have other values."""
        return meaning(kind)

    def is_other(self, was: Any, now: Any) -> bool:
        """Text that was saved in another format has lost its type."""
        return type(now) is type(was) and self.meaning(was) is not None and super().is_other(was, now)

    def instead(self, position: int, need: Need, written: str) -> str | None:
        collated = self._without_collation(position, need, written) if str(self.dtype(position)) == "VARCHAR" else None
        return instead(self.dtype(position), need, written) if collated is None else collated

    def duration_of(self, position: int) -> ColumnExpression | None:
        is_interval = self.dtype(position).id == "interval"
        return ColumnExpression(DURATION, self.names[position]) if is_interval else None

    def nested(self, parts: Parts) -> Any:
        import duckdb

        if isinstance(parts, list):
            return duckdb.list_type(self._part(parts[0]))
        return duckdb.struct_type({name: self._part(part) for name, part in parts.items()})

    def _part(self, part: Any) -> Any:
        if isinstance(part, list | dict):
            return self.nested(part)
        return _type_of(part) if isinstance(part, pa.DataType) else part

    def _without_collation(self, position: int, need: Need, written: str) -> str | None:
        """What is allowed in place of text with a collation; None for other text, and if nothing compares it."""
        if need not in ("equality", "order"):
            return None
        nothing = self._relation.project(f"#{position + 1} AS text").limit(0)
        ((has_no_case, has_no_accents, has_order),) = nothing.query(_VIEW, _COLLATION).fetchall()
        nothing.query(_VIEW, _DROP)
        if not (has_no_case or has_no_accents or (has_order and need == "order")):
            return None
        text = f"strip_accents({written})" if has_no_accents else written
        text = f"lower({text})" if has_no_case else text
        return f"text without a collation: {text} COLLATE C"

    def _projected(self, positions: Sequence[int]) -> Any:
        """Some columns in the types that cross Arrow, by position, as two columns may have one name."""
        columns = []
        for position in positions:
            name, kind, column = self.names[position], crossing(self.dtype(position)), f"#{position + 1}"
            if kind is not None and self.names.count(name) > 1:
                raise TypeError(f"two columns have the name {name!r}, and one of them the type {self.dtype(position)}")
            columns.append(f"{_crossed(column, self.dtype(position))} AS {quoted(name)}")
        return self._relation.project(", ".join(columns))

    def _with_durations(self, reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
        fields = [
            field.with_type(pa.duration("us")) if field.name in self._durations else field for field in reader.schema
        ]
        schema = pa.schema(fields)
        return pa.RecordBatchReader.from_batches(schema, (batch.cast(schema) for batch in reader))


def duckdb_relation(relation: Any, rows: pa.Table, kinds: Kinds) -> Any:
    """A relation on the connection of `relation`."""
    kinds = {name: kind for name, kind in kinds.items() if repeated_name(kind) is None}  # the others cross as they are
    columns = [
        f"{column} AS {quoted(name)}"
        for place, name in enumerate(rows.column_names)
        for column in [f"CAST(c{place} AS {returned(kinds[name], rows[name])})" if name in kinds else f"c{place}"]
    ]
    # DuckDB finds the table by the name of this variable, and the relation keeps it.
    windrow_result_rows = rows.rename_columns([f"c{place}" for place in range(rows.num_columns)])  # noqa: F841
    try:
        result = relation.query(_VIEW, f"SELECT {', '.join(columns)} FROM windrow_result_rows")
        crossed = relation.query(_VIEW, "SELECT * FROM windrow_result_rows")
        relation.query(_VIEW, _DROP)  # before DuckDB 2 the view of the data stays
        for place, (name, own, kind) in enumerate(zip(rows.column_names, crossed.types, result.types, strict=True)):
            is_read = str(own) != str(kind) and with_text(kind) != str(kind)
            if name in kinds and (is_read or "GEOMETRY" in str(kind)):
                _check_read(crossed, f"c{place}", name, kind)
        return result
    except Exception as error:
        if type(error).__name__ != "CatalogException":
            raise
        raise TypeError(f"data: got a DuckDBPyRelation, which cannot read the result; allowed: {_RELATION}") from error


def _check_read(rows: Any, column: str, name: str, kind: Any) -> None:
    """Raises `ValueError` for text or bytes of open windows that no value of the type has that the column now has."""
    import duckdb

    given, read = (f"CAST({value} AS {with_text(kind)})" for value in (column, f"CAST({column} AS {kind})"))
    try:
        others = rows.filter(f"{read} IS DISTINCT FROM {given}").project(column).limit(1).fetchall()
        reason = f"such as {others[0][0]!r}" if others else None
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
    if reason is not None:
        raise ValueError(
            f"open: column {name!r} had other values than {kind} in the run before ({reason}); allowed: the type that "
            "its column had then, or VARCHAR; or None to begin anew"
        )


def _type_of(kind: Any) -> Any:
    """The type that DuckDB makes of Arrow's; None if it has none."""
    import duckdb

    try:
        return duckdb.from_arrow(pa.table({"column": pa.array([], kind)})).types[0]
    except (duckdb.Error, pa.ArrowException):
        return None


def _zone(values: Any) -> Any:
    """The zone of times; None for clocks and other values."""
    return getattr(values.type, "tz", None)


def _crossed(column: str, kind: Any) -> str:
    """A column in the type in which it crosses Arrow."""
    crossed = crossing(kind)
    return column if crossed is None else f"CAST({column} AS {crossed})"


def _sql(expression: ColumnExpression) -> str:
    """An expression as SQL."""
    if expression.language == DURATION:
        return _DURATION.format(quoted(expression.value))
    if expression.language != FIELD:
        return str(expression.value)
    column, *fields = expression.value
    written = quoted(column)
    for field in fields:
        written = f"struct_extract({written}, {literal(field)})"
    return written
