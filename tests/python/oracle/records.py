"""Records of the field: a key, a time in ticks, the arrival, and named values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Record:
    """One row of the input. `time` is none where the input's time is null."""

    key: tuple[Any, ...]
    time: int | None
    arrival: int = 0
    values: Mapping[str, Any] = field(default_factory=dict)


def canonical(value: Any) -> Any:
    """The value such that equal ones (SQL's grouping: NaN equals NaN, -0.0 equals 0.0) are equal and hashable."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, Mapping):
        return tuple((name, canonical(inner)) for name, inner in value.items())
    if isinstance(value, list | tuple):
        return tuple(canonical(inner) for inner in value)
    if isinstance(value, bytearray):
        return bytes(value)
    return value


def by_key(records: Iterable[Record]) -> dict[tuple[Any, ...], list[Record]]:
    """The records that count, for each key: without those with a null time or a key all of whose columns are null."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        if record.time is not None and any(part is not None for part in record.key):
            groups.setdefault(canonical(record.key), []).append(record)
    return groups


def in_order(records: Iterable[Record]) -> list[Record]:
    """By event time, ties by arrival."""
    return sorted(records, key=lambda record: (record.time, record.arrival))


def null_keys(records: Iterable[Record]) -> int:
    """How many records have a key all of whose columns are null."""
    return sum(all(part is None for part in record.key) for record in records)


def null_times(records: Iterable[Record]) -> int:
    """How many records have a key, but no time."""
    return sum(record.time is None and any(part is not None for part in record.key) for record in records)
