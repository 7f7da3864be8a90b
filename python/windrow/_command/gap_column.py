"""Durations from a gap column that holds durations or numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow._arguments.errors import bad_column_type, unknown_word
from windrow._arguments.type_names import is_number
from windrow._command.column_type import Cast
from windrow._command.epoch import UNITS, Epoch, Unit

ARGUMENT = "--dynamic-gap"


@dataclass(frozen=True)
class GapColumn:
    """The column with each record's own gap.

    Attributes:
        name: its name.
        unit: the unit of its numbers: `s`, `ms`, `us` or `ns`; None if numbers are not gaps.
    """

    name: str
    unit: Unit | None = None

    def __post_init__(self) -> None:
        """Raises `ValueError` for an unknown unit."""
        if self.unit is not None and self.unit not in UNITS:
            raise unknown_word("--gap-unit", self.unit, UNITS)

    def cast(self, kind: pa.DataType, sample: pa.Array[Any]) -> tuple[pa.DataType, Cast]:
        """The gap type, and a function that converts values of type `kind` to it. `TypeError` if they are no gaps."""
        if pa.types.is_duration(kind):
            return kind, lambda values: values
        if (is_number(kind) or pa.types.is_string(kind)) and self.unit is not None:
            epoch = Epoch.of(ARGUMENT, self.name, self.unit, sample)
            target = pa.duration(epoch.ticks)
            return target, lambda values: epoch.counted(values).cast(target)
        allowed = f"durations, such as Parquet has; or numbers with --gap-unit {'|'.join(UNITS)}, which they count"
        raise bad_column_type(ARGUMENT, self.name, kind, allowed)
