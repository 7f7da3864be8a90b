"""A query that was checked, as plain data: what is computed, and from which columns."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pyarrow as pa

from windrow.aggregates import Aggregate
from windrow.windows import Windows

PACK_COUNTERS = ("records", "null_keys", "null_times", "ticks")
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
        op: whether the result ends with an `op` column.
        shards: how many ranges of key hashes the work is cut into.
        threads: how many threads a query in this process uses; None for one a core.
        schema: the columns that are read, and no others.
        observation: where Spark reports the counters, if anywhere.
    """

    keys: tuple[str, ...]
    time: str
    tick: str | None
    windows: Windows
    aggregates: tuple[tuple[str, Aggregate], ...]
    op: bool
    shards: int
    threads: int | None
    schema: pa.Schema
    observation: object | None

    @property
    def spec(self) -> str:
        """The plan as the JSON text that crosses to the core."""
        return json.dumps(
            {
                "keys": list(self.keys),
                "time": self.time,
                "tick": self.tick,
                "windows": self.windows.plan(),
                "aggregates": [aggregate.plan(name) for name, aggregate in self.aggregates],
                "op": self.op,
                "shards": self.shards,
            }
        )
