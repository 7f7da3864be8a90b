"""The columns that a query reads: where each comes from, and what type it has there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.duration import TIME_UNITS
from windrow._arguments.errors import bad_column_type
from windrow._command.column_type import Cast, has_points, number, number_type, pointed, type_name
from windrow._command.csv_rows import TextFormat
from windrow._command.gap_column import GapColumn
from windrow._command.time_column import TimeColumn, iso

Use = Literal["value", "number", "integer", "order", "boolean", "time", "end", "gap"]
"""How a query uses a column. A `value` is copied, counted or compared for equality, so text stays as it is."""


@dataclass(frozen=True)
class Column:
    """A column that a query reads.

    Attributes:
        name: its name in the query.
        sources: its name in the files; several columns of text are joined with blanks.
        type: its type.
        cast: makes values of this type from those in the files.
    """

    name: str
    sources: tuple[str, ...]
    type: pa.DataType
    cast: Cast

    def values(self, batch: pa.RecordBatch) -> pa.Array[Any]:
        """The values in a batch of the files."""
        return self.cast(_joined([batch.column(source) for source in self.sources]))


@dataclass
class Columns:
    """The columns of a query, in the order of their first use.

    Attributes:
        sample: the first values of a column, as they are in the files, and whether they are text without a type. The
            option that names the column comes first. Raises `ValueError` for a column that is not there.
        format: how to read text.
        time: the time column.
        end: the column of ends, if there is one.
        gap: the gap column, if there is one.
    """

    sample: Callable[[str, str], tuple[pa.Array[Any], bool]]
    format: TextFormat
    time: TimeColumn
    end: TimeColumn | None = None
    gap: GapColumn | None = None
    _columns: dict[tuple[str, str], Column] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Column]:
        """The columns."""
        return iter(dict.fromkeys(self._columns.values()))

    def of(self, option: str, column: str, use: Use) -> Column:
        """The column for a use; `option` names it in errors."""
        if (column, use) not in self._columns:
            kind, converted = self._resolved(option, column, use)
            equal = (each for each in self if each.sources == (column,) and converted is _same and each.cast is _same)
            same = next(equal, None)
            if same is None:
                name, names = column, [each.name for each in self]
                while name in names:
                    name = f"{name}_{use}"
                sources = tuple(self.time.columns) if use == "time" else (column,)
                same = Column(name, sources, kind, converted)
            self._columns[column, use] = same
        return self._columns[column, use]

    def is_text(self, option: str, column: str) -> bool:
        """Whether the values are text whose type is not given."""
        return self.sample(option, column)[1] and column not in self.format.types

    def _resolved(self, option: str, column: str, use: Use) -> tuple[pa.DataType, Cast]:
        """The type of a column and its cast. Times and ends have one type, with the finer of their two units."""
        kind, converted = self._own(option, column, use)
        if use not in ("time", "end") or self.end is None:
            return kind, converted
        time: Any = self._own(self.time.argument, self.time.name, "time")[0]
        end: Any = self._own(self.end.argument, self.end.name, "end")[0]
        if time.tz != end.tz:
            allowed = f"{time}, as {self.time.argument}: both with a zone or none"
            raise bad_column_type(self.end.argument, self.end.name, end, allowed)
        finer = max(time, end, key=lambda each: TIME_UNITS[each.unit].per_second)
        of = self.time if use == "time" else self.end
        return finer, converted if kind == finer else lambda values: of.finer(values, converted(values), finer)

    def _own(self, option: str, column: str, use: Use) -> tuple[pa.DataType, Cast]:
        sample, is_text = self.sample(option, column) if use != "time" else self._times(option)
        first: Cast = _same
        if column in self.format.types:
            kind = self.format.types[column]
            first = number("--type", column, kind, self.format) if is_text else _converted(column, kind)
            sample, is_text = first(sample), False
        times: Any = {"time": self.time, "end": self.end, "gap": self.gap}.get(use)
        if times is not None:
            if is_text and self.format.decimal != "." and (use == "gap" or self.time.unit is not None):
                first = pointed(option, column, self.format)
            return _chain(first, times.cast(sample.type, first(sample) if is_text else sample))
        if not is_text or use == "value":
            return sample.type, first
        if use == "boolean":
            return pa.bool_(), number(option, column, pa.bool_(), self.format, "booleans")
        if use == "integer":
            return pa.int64(), number(option, column, pa.int64(), self.format, "integers")
        number_kind = number_type(sample, self.format)
        if use == "order" and number_kind is None and not has_points(sample, self.format):
            return iso(option, column, sample) or (pa.string(), _same)
        if number_kind is None:
            number(option, column, pa.float64(), self.format, "numbers", or_text=use == "order")(sample)
        kind = number_kind or pa.float64()
        return kind, number(option, column, kind, self.format, or_text=use == "order")

    def _times(self, option: str) -> tuple[pa.Array[Any], bool]:
        """The first values of the time column, or of the columns that make it."""
        samples = [self.sample(option, column) for column in self.time.columns]
        if len(samples) > 1:
            rows = min(len(sample) for sample, _ in samples)
            return _joined([sample[:rows] for sample, _ in samples]), True
        return samples[0]


def _joined(arrays: list[pa.Array[Any]]) -> Any:
    """The only array, or the texts of several joined with blanks; null if one of them is."""
    if len(arrays) == 1:
        return arrays[0]
    texts: Any = [array.cast(pa.string()) for array in arrays]
    return pc.binary_join_element_wise(*texts, " ")


def _same(values: pa.Array[Any]) -> pa.Array[Any]:
    return values


def _chain(first: Cast, then: tuple[pa.DataType, Cast]) -> tuple[pa.DataType, Cast]:
    kind, second = then
    return kind, second if first is _same else lambda values: second(first(values))


def _converted(column: str, kind: pa.DataType) -> Cast:
    """A function that gives typed values another type."""

    def converted(values: pa.Array[Any]) -> pa.Array[Any]:
        try:
            return values.cast(kind)
        except pa.ArrowException as error:
            allowed = f"a type that holds every value of the column, which has type {values.type}"
            raise ValueError(f"--type {column}: got {type_name(kind)!r}; allowed: {allowed} ({error})") from None

    return converted
