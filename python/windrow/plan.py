"""A query that was checked, as plain data: what is computed, and from which columns."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pyarrow as pa

from windrow.aggregates import Accumulation, Aggregate, Reduction
from windrow.fold import Fold
from windrow.windows import SessionWindows, SlidingWindows

PACK_COUNTERS = ("records", "null_keys", "null_times", "bad_gaps", "clamped_gaps", "ticks")
"""What is counted where records are read."""


@dataclass(frozen=True)
class Plan:
    """One query over one input.

    Attributes:
        keys: the key columns, in the order of the result.
        time: the timestamp column.
        tick: the boolean column of ticks, if there is one.
        windows: the windows and their durations.
        aggregates: the result columns and what they hold.
        emission: when windows give rows.
        every_record: whether each change of a window gives a row, not only the last one of a batch.
        late: what becomes of late records.
        shards: how many ranges of key hashes the work is cut into.
        threads: how many threads a query in this process uses; None for one a core.
        schema: the columns that are read, and no others.
        observation: where Spark reports the counters, if anywhere.
    """

    keys: tuple[str, ...]
    time: str
    tick: str | None
    windows: SessionWindows | SlidingWindows
    aggregates: tuple[tuple[str, Aggregate], ...]
    emission: str
    every_record: bool
    late: str
    shards: int
    threads: int | None
    schema: pa.Schema
    observation: object | None

    @property
    def op(self) -> bool:
        """Whether the result ends with an `op` column."""
        return self.emission == "update" or self.late == "emit"

    @property
    def has_functions(self) -> bool:
        """Whether Python functions are called, record by record."""
        return any(isinstance(aggregate, Reduction | Accumulation) for _, aggregate in self.aggregates)

    def folds(self, *, kafka: bool = False) -> list[Fold]:
        """The Python functions, in the order of their columns; with `kafka`, nulls are what they are in Kafka."""
        functions = (aggregate for _, aggregate in self.aggregates)
        return [
            function.fold(self.schema, kafka=kafka)
            for function in functions
            if isinstance(function, Reduction | Accumulation)
        ]

    @property
    def spec(self) -> str:
        """The plan as the JSON text that crosses to the core."""
        return json.dumps(self.asked())

    def asked(self) -> dict[str, object]:
        """What `spec` says."""
        return {
            "keys": list(self.keys),
            "time": self.time,
            "tick": self.tick,
            "windows": self.windows.plan(),
            "grace": self.windows.grace,
            "until": self.windows.retention,
            "aggregates": [aggregate.plan(name) for name, aggregate in self.aggregates],
            "op": self.op,
            "emit": self.emission,
            "every_record": self.every_record,
            "late": self.late,
            "shards": self.shards,
        }
