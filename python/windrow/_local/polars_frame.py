"""Polars frames, eager and lazy: read column by column, and made of results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any

import pyarrow as pa

from windrow._arguments.errors import bad_value
from windrow._arguments.expression import CONSTANT, EXPRESSION, FIELD, POLARS, ColumnExpression, Reference, stands_for
from windrow._executor.batches import stream_reader
from windrow._folds.python_shape import has_type
from windrow._local.columns import SAMPLE, Columns
from windrow._local.results import Kinds
from windrow._plan.casts import Casts
from windrow._plan.earlier_types import filled

_CASTS = Casts(
    text='{0}.str.to_datetime(time_unit="{1}")',
    zoned='{0}.str.to_datetime(time_unit="{1}", time_zone="UTC")',
    format='{0}.str.to_datetime("{1}")',
    zoned_format='{0}.str.to_datetime("{1}", time_zone="UTC")',
    formats={},
    integers={unit: f'pl.from_epoch({{0}}.cast(pl.Int64), time_unit="{unit}")' for unit in ("s", "ms", "us", "ns")},
    floats='({0}.cast(pl.Float64) * {1}).round().cast(pl.Int64).cast(pl.Datetime("us"))',
    date="{0}.cast(pl.Datetime)",
    duration="a Duration",
    durations={
        "s": "pl.duration(seconds={0}.cast(pl.Float64))",
        "ms": "pl.duration(milliseconds={0}.cast(pl.Float64))",
    },
    of_day='{1}.dt.combine({0}, "{2}")',
    as_text="{0}.cast(pl.String)",
    as_number="{0}.cast(pl.Float64)",
    finite="pl.when({0}.is_finite()).then({0})",
    without='{0}.str.strip_chars().replace("{1}", None)',
    nonzero="{0} != 0",
    equals='{0} == "{1}"',
    clock='{0}.str.to_time("%H:%M:%S").cast(pl.Duration("us"))',
)


class PolarsColumns(Columns):
    """The columns that a query needs are collected when it runs. `lazy`: whether results are lazy frames."""

    language = POLARS
    kind = "a Polars frame"

    def __init__(self, frame: Any, *, lazy: bool) -> None:
        self._given = frame
        self._lazy = lazy
        self._frame = frame.lazy()
        self._expressions: Mapping[str, ColumnExpression] = {}
        self._rows: int | None = getattr(frame, "height", None)  # a lazy frame has none
        self._names: list[str] = self._frame.collect_schema().names()

    def with_expressions(self, expressions: Mapping[str, ColumnExpression]) -> Columns:
        if any(_is_aggregate(expression, self._frame.collect_schema()) for expression in expressions.values()):
            raise ValueError("it gives one value for all rows, not one for each")
        other = copy(self)
        other._expressions = {**self._expressions, **expressions}
        for expression in expressions.values():
            other._check_types_of(expression)
        return other

    def _check_types_of(self, expression: ColumnExpression) -> None:
        """Raises Polars' error for an expression over types that it does not fit, which Polars sees with rows only."""
        from polars.exceptions import InvalidOperationError, SchemaError

        try:
            _values(expression, self._frame.collect_schema().to_frame().clear(1))
        except (InvalidOperationError, SchemaError):  # one row may be too few
            rows = self._frame.collect()
            if rows.height:
                _values(expression, rows)
        except Exception:  # a function may not expect nulls; the query has its error, if it has one
            return

    @property
    def rows(self) -> int | None:
        return self._rows

    def written(self, column: Reference) -> tuple[str, Casts]:
        if not isinstance(column, str) and column.language != FIELD:
            return EXPRESSION, _CASTS
        name, *fields = (column,) if isinstance(column, str) else column.value
        return "".join([f"pl.col({name!r})", *(f".struct.field({field!r})" for field in fields)]), _CASTS

    def cast(self, column: Reference, kind: pa.DataType) -> str | None:
        """A cast that Polars has to this very type, and that makes of these rows what Arrow makes of them."""
        import polars as pl
        from polars.exceptions import PanicException, PolarsError

        written, _ = self.written(column)
        made = _type_of(kind)
        if made is None:
            return None
        expression = column if isinstance(column, ColumnExpression) else ColumnExpression(FIELD, (column,))
        computed: Any = self.with_expressions({"windrow": expression})
        values = computed._collected([len(self._names)]).to_series()
        own, zone = values.dtype, getattr(made, "time_zone", None)
        has_other_clock = own == pl.Datetime and made == pl.Datetime and (own.time_zone is None) != (zone is None)
        try:
            step, ready = "", values
            if has_other_clock:
                step, ready = f".dt.replace_time_zone({zone!r})", values.dt.replace_time_zone(zone)
            elif made == pl.Boolean and own == pl.String:
                step, ready = '.eq("true")', values.eq("true")
            found, expected = (_reader(pl.DataFrame([each])).read_all()[0] for each in (ready.cast(made), values))
            is_same = has_other_clock or found.cast(kind).equals(expected.cast(kind))
        except (PolarsError, PanicException, pa.ArrowException):
            return None
        return f"{written}{step}.cast({_words(made)}){stands_for(written)}" if is_same else None

    @property
    def names(self) -> Sequence[str]:
        return [*self._names, *self._expressions]

    def schema(self, positions: Sequence[int]) -> pa.Schema:
        rows = self._collected(positions, 0)
        try:
            return _reader(rows).schema
        except pa.ArrowInvalid as error:
            wide = next((kind for kind in rows.dtypes if "Int128" in repr(kind)), None)
            if wide is None:
                raise
            text, number = (_words(wide, made) for made in ("pl.String", "pl.Decimal(38, 0)"))
            cast = f"cast({text}) keeps all digits, cast({number}) up to 38 of them"
            raise pa.ArrowTypeError(f"Arrow has no integers of 128 bits: {cast}") from error

    def stream(self, positions: Sequence[int]) -> Any:
        # pyarrow accepts the old form of Null columns that Polars sends, and passes on the new form.
        return _reader(self._collected(positions))

    @property
    def is_empty(self) -> bool:
        return (self._frame.head(1).collect().height if self._rows is None else self._rows) == 0

    def sample(self, position: int) -> list[Any]:
        column = self._collected([position], None if position >= len(self._names) else SAMPLE).to_series()
        values: list[Any] = column.head(SAMPLE).drop_nulls().to_list()
        return values

    def dtype(self, position: int) -> Any:
        return self._collected([position], 0).dtypes[0]

    def type_of(self, position: int) -> tuple[str, str | None]:
        return str(self.dtype(position)), None

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

    def _collected(self, positions: Sequence[int], most: int | None = None) -> Any:
        """These columns of all rows, or of the first so many. Expressions need all rows, or none for their types."""
        import polars as pl

        # pl.col reads "*" and "^...$" as patterns; selectors take columns by position.
        from polars import selectors

        count, names = len(self._names), self.names
        computed = {names[place]: self._expressions[names[place]] for place in positions if place >= count}
        read = {place for place in positions if place < count}.union(
            *(_places_read(expression, self._names) for expression in computed.values())
        )
        frame = self._frame.select(selectors.by_index(*sorted(read or [*range(count)][:1])))
        _check_types(frame.collect_schema().dtypes())
        rows = (frame if most is None else frame.head(most)).collect()
        columns = []
        for name in (names[place] for place in positions):
            if name not in computed:
                columns.append(rows.get_column(name))
            elif rows.height:
                columns.append(_one_for_each_row(computed[name], rows).alias(name))
            else:
                columns.append(_no_values(computed[name], frame).alias(name))
        _check_types(column.dtype for column in columns)
        collected = pl.DataFrame(columns)
        collected.columns = [names[place] for place in positions]  # it renames ""
        return collected


def _type_of(kind: pa.DataType) -> Any:
    """The type that Polars makes of Arrow's; None if it has none, or another one in its place."""
    import polars as pl
    from polars.exceptions import PolarsError

    if has_type(kind, lambda each: pa.types.is_decimal(each) and not pa.types.is_decimal128(each)):  # it panics
        return None
    try:
        frame: Any = pl.from_arrow(pa.table({"column": pa.array([], kind)}))
    except (PolarsError, pa.ArrowException):
        return None
    return None if filled(_reader(frame).schema.field(0).type, kind) is None else frame.dtypes[0]


def _words(kind: Any, wide: str | None = None) -> str:
    """A type as a user of Polars writes it. `wide`: what to write in place of integers of 128 bits."""

    def written(found: re.Match[str]) -> str:
        if found[0][0] == "'" or found[0] == "None":
            return found[0]
        return wide if wide is not None and found[0] in ("Int128", "UInt128") else f"pl.{found[0]}"

    return re.sub(r"'(?:[^'\\]|\\.)*'|\b[A-Z]\w*", written, repr(kind))


def _check_types(kinds: Iterable[Any]) -> None:
    kinds = [*kinds]
    repeated = next(filter(None, map(_repeated_name, kinds)), None)
    if repeated is not None:
        raise pa.ArrowTypeError(f"Polars panics at a struct with two fields {repeated!r} in a struct; pyarrow has it")
    if any(kind.is_object() for kind in kinds):
        raise pa.ArrowTypeError("Polars' type Object holds addresses of Python objects, not Arrow data")


def _repeated_name(kind: Any) -> str | None:
    """The name that two fields of a struct in a struct have."""
    fields = getattr(kind, "fields", None) or []
    names = [field.name for field in fields]
    repeated = next((name for name in names if names.count(name) > 1), None)
    return repeated or next(filter(None, (_repeated_name(field.dtype) for field in fields)), None)


def _places_read(expression: ColumnExpression, names: list[str]) -> set[int]:
    """The places of the columns that an expression may read."""
    found = _polars_expression(expression).meta
    if found.has_multiple_outputs():  # it has a selector
        return {*range(len(names))}
    prefix = "" if expression.input is None else f"{expression.input}."
    roots = (root if root in names else root.removeprefix(prefix) for root in found.root_names())
    return {names.index(root) for root in roots if root in names}


def _values(expression: ColumnExpression, rows: Any) -> Any:
    """The values of an expression over rows."""
    return _computed(expression, rows).to_series()


def _computed(expression: ColumnExpression, rows: Any) -> Any:
    """A frame of an expression, eager or lazy as the rows.

    It is computed by itself: next to other columns, Polars' engines repeat a single value, or drop a single row.
    """
    import polars as pl

    if expression.input is not None:  # a cogroup may name columns by the name of the input
        rows = rows.with_columns(pl.all().name.prefix(f"{expression.input}."))
    return rows.select(_polars_expression(expression).alias("windrow"))


def _no_values(expression: ColumnExpression, frame: Any) -> Any:
    """An empty column in the type of an expression over a lazy frame."""
    import polars as pl
    from polars.exceptions import ColumnNotFoundError, PolarsError

    try:
        return _values(expression, frame.head(0).collect()).clear()  # a literal has values even then
    except ColumnNotFoundError:
        raise
    except PolarsError:  # it may need rows, such as the first one
        rows = frame.collect()
        if rows.height:
            return _values(expression, rows).clear()
        return pl.Series(dtype=_computed(expression, frame).collect_schema().dtypes()[0])


def _one_for_each_row(expression: ColumnExpression, rows: Any) -> Any:
    """The column of an expression. Raises `ValueError` if it has another number of values than there are rows."""
    values = _values(expression, rows)
    if values.len() == rows.height:
        return values
    if _is_constant(_polars_expression(expression)):
        return values.new_from_index(0, rows.height)
    allowed = f"an expression that gives one value for each row (it gives {values.len()} for {rows.height} rows)"
    raise bad_value("expression", str(expression), allowed)


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


def _is_aggregate(expression: ColumnExpression, schema: Any) -> bool:
    """Whether an expression gives one value for all rows, which is no literal."""
    import polars as pl

    try:
        values = _values(expression, pl.DataFrame(schema=schema).clear(2))
        return values.len() == 1 and not _is_constant(_polars_expression(expression))
    except Exception:  # the query itself shows what is wrong with it
        return False


def _is_constant(computed: Any) -> bool:
    """Whether an expression, such as a literal, gives one value that no row has a part in."""
    import polars as pl

    if computed.meta.root_names() or computed.meta.has_multiple_outputs():
        return False
    none, two = (pl.DataFrame({"row": [None] * rows}).select(computed) for rows in (0, 2))
    return none.height == two.height == 1 and none.equals(two)


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
        elif column.dtype != kind:
            casts.append(column.cast(_with_values(kind, column)))
    return frame.with_columns(casts)


def _with_values(kind: Any, column: Any) -> Any:
    """The type, whose Enums have the values that they lack: data of a day may lack keys of open windows."""
    import polars as pl

    if isinstance(kind, pl.Enum):
        return pl.Enum(list(dict.fromkeys([*kind.categories, *column.drop_nulls().unique(maintain_order=True)])))
    if isinstance(kind, pl.Struct):
        return pl.Struct({each.name: _with_values(each.dtype, column.struct.field(each.name)) for each in kind.fields})
    if isinstance(kind, pl.List | pl.Array):
        inner = _with_values(kind.inner, column.explode())
        return pl.List(inner) if isinstance(kind, pl.List) else pl.Array(inner, kind.size)
    return kind
