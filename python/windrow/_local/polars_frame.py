"""Polars frames, eager and lazy: read column by column, and made of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import pyarrow as pa

from windrow._arguments.errors import bad_value
from windrow._arguments.expression import CONSTANT, FIELD, POLARS, ColumnExpression
from windrow._executor.batches import stream_reader
from windrow._local.columns import SAMPLE, Columns
from windrow._local.results import Kinds
from windrow._plan.time_casts import TimeCasts

_CASTS = TimeCasts(
    column="pl.col({0})",
    text='{0}.str.to_datetime(time_unit="{1}")',
    zoned='{0}.str.to_datetime(time_unit="{1}", time_zone="UTC")',
    format='{0}.str.to_datetime("{1}")',
    zoned_format='{0}.str.to_datetime("{1}", time_zone="UTC")',
    formats={},
    integers={unit: f'pl.from_epoch({{0}}, time_unit="{unit}")' for unit in ("s", "ms", "us", "ns")},
    floats='({0}.cast(pl.Float64) * {1}).round().cast(pl.Int64).cast(pl.Datetime("us"))',
    date="{0}.cast(pl.Datetime)",
    of_day="{1}.dt.combine({0})",
    as_text="{0}.cast(pl.String)",
    without_nan="{0}.fill_nan(None)",
)


class PolarsColumns(Columns):
    """The projection is collected when the query runs. `lazy`: whether results are lazy frames."""

    language = POLARS
    kind = "a Polars frame"

    def __init__(self, frame: Any, *, lazy: bool) -> None:
        self._given = frame
        self._lazy = lazy
        self._frame = frame.lazy()
        self._expressions: tuple[str, ...] = ()
        self._rows: int | None = getattr(frame, "height", None)  # a lazy frame has none
        self._names: list[str] = self._frame.collect_schema().names()

    def with_expressions(self, expressions: Mapping[str, ColumnExpression]) -> Columns:
        import polars as pl
        from polars import selectors

        other, frame = copy(self), self._frame
        for place, (name, expression) in enumerate(expressions.items(), len(self._names)):
            computed = _polars_expression(expression).alias(name)
            if expression.input is not None:  # a cogroup may name columns by the name of the input
                frame = frame.with_columns(pl.all().name.prefix(f"{expression.input}."))
            if _is_aggregate(computed, frame):
                raise ValueError("it gives one value for all rows, not one for each")
            frame = frame.select(selectors.by_index(*range(place)), computed)
        other._frame, other._names = frame, frame.collect_schema().names()
        other._expressions = (
            *self._expressions,
            *(str(each) for each in expressions.values() if each.language == POLARS),
        )
        return other

    @property
    def rows(self) -> int | None:
        return self._rows

    @property
    def time_casts(self) -> TimeCasts:
        return _CASTS

    def cast(self, column: str, kind: pa.DataType) -> str:
        import polars as pl

        named: Any = pl.from_arrow(pa.table({column: pa.array([], kind)}))
        return f"pl.col({column!r}).cast(pl.{named.dtypes[0]!r})"

    @property
    def names(self) -> Sequence[str]:
        return self._names

    def schema(self, positions: Sequence[int]) -> pa.Schema:
        return _reader(self._projected(positions).head(0).collect()).schema

    def stream(self, positions: Sequence[int]) -> Any:
        # pyarrow accepts the old form of Null columns that Polars sends, and passes on the new form.
        return _reader(self._collected(self._projected(positions)))

    @property
    def is_empty(self) -> bool:
        return (self._frame.head(1).collect().height if self._rows is None else self._rows) == 0

    def sample(self, position: int) -> list[Any]:
        head = self._collected(self._projected([position]).head(SAMPLE))
        values: list[Any] = head.to_series().drop_nulls().to_list()
        return values

    def dtype(self, position: int) -> Any:
        return self._frame.collect_schema().dtypes()[position]

    def result(self, rows: pa.Table, kinds: Kinds, counted: Mapping[str, int]) -> Any:
        frame = polars_frame(rows, kinds)
        return frame.lazy() if self._lazy else frame

    def held(self) -> Columns:
        return self if self._rows is not None else PolarsColumns(self._frame.collect(), lazy=True)

    def filtered(self, mask: pa.Array[Any]) -> Columns:
        import polars as pl

        return PolarsColumns(self._given.filter(pl.Series(mask)), lazy=self._lazy)

    def with_columns(self, added: pa.Table, kinds: Kinds, counted: Mapping[str, int]) -> Any:
        frame = self._given.hstack(polars_frame(added, kinds).get_columns())
        return frame.lazy() if self._lazy else frame

    def _collected(self, frame: Any) -> Any:
        """The rows. Raises `ValueError` if an expression does not give one value for each."""
        import polars as pl

        try:
            return frame.collect()
        except pl.exceptions.ShapeError as error:
            if not self._expressions:
                raise
            allowed = f"expressions that give one value for each row ({error})"
            raise bad_value("expression", ", ".join(self._expressions), allowed) from error

    def _projected(self, positions: Sequence[int]) -> Any:
        # pl.col reads "*" and "^...$" as patterns; selectors take columns by position.
        from polars import selectors

        projected = self._frame.select(selectors.by_index(*positions))
        if any(kind.is_object() for kind in projected.collect_schema().dtypes()):
            raise pa.ArrowTypeError("Polars' type Object holds addresses of Python objects, not Arrow data")
        return projected


def _reader(frame: Any) -> pa.RecordBatchReader:
    if hasattr(pa, "string_view"):
        return stream_reader(frame)
    import polars as pl

    table: pa.Table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    return table.to_reader()


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


def _is_aggregate(computed: Any, frame: Any) -> bool:
    """Whether an expression over columns gives one value, which Polars would repeat in every row."""
    import polars as pl

    if not computed.meta.root_names():
        return False
    try:
        values: int = pl.DataFrame(schema=frame.collect_schema()).clear(2).select(computed).height
    except Exception:  # the query itself shows what is wrong with it
        return False
    return values == 1


def polars_frame(rows: pa.Table, kinds: Kinds) -> Any:
    """A `polars.DataFrame`."""
    import polars as pl

    # Without the metadata of fields, which may name the categories of one input of a cogroup. Polars renames "".
    frame: Any = pl.from_arrow(pa.Table.from_arrays(rows.columns, names=[*map(str, range(rows.num_columns))]))
    frame.columns = rows.column_names
    casts = []
    for name, kind in kinds.items():
        column = frame.get_column(name)
        # Open windows may have keys that the data of a day does not have.
        if kind == pl.Null:
            if column.null_count() == len(column):
                casts.append(pl.Series(name, [None] * len(column), dtype=pl.Null))
        elif isinstance(kind, pl.Enum):
            values = [*kind.categories, *column.drop_nulls().unique(maintain_order=True)]
            casts.append(column.cast(pl.Enum(list(dict.fromkeys(values)))))
        elif column.dtype != kind:
            casts.append(column.cast(kind))
    return frame.with_columns(casts)
