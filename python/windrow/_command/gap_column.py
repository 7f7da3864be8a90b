"""Durations from a gap column that holds durations or integers."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from windrow._arguments.errors import bad_column_type, unknown_word
from windrow._command.time_column import UNITS, Cast, Unit, counts

ARGUMENT = "--dynamic-gap"


@dataclass(frozen=True)
class GapColumn:
    """The column with each record's own gap.

    Attributes:
        name: its name.
        unit: the unit of its integers: `s`, `ms`, `us` or `ns`; None if integers are not gaps.
    """

    name: str
    unit: Unit | None = None

    def __post_init__(self) -> None:
        """Raises `ValueError` for an unknown unit."""
        if self.unit is not None and self.unit not in UNITS:
            raise unknown_word("--gap-unit", self.unit, UNITS)

    def cast(self, kind: pa.DataType) -> tuple[pa.DataType, Cast]:
        """The gap type, and a function that converts values of type `kind` to it. `TypeError` if they are no gaps."""
        if pa.types.is_duration(kind):
            return kind, lambda values: values
        if pa.types.is_integer(kind) and self.unit is not None:
            counted = pa.duration(self.unit)
            return counted, lambda values: counts(ARGUMENT, self.name, values).cast(counted)
        allowed = f"durations, as Parquet has them; integers with --gap-unit {'|'.join(UNITS)}, which they count"
        raise bad_column_type(ARGUMENT, self.name, kind, allowed)
