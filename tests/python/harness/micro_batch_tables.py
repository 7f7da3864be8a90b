"""The rows of micro-batches as Arrow tables: what a streaming query reads, one table for each batch.

Columns: `k`, `ts` (a timestamp in UTC) and `v`; `end` (of the same type) where records last, `gap` (a duration) where
records have their own, `input` of a cogroup,
`topic` and `partition` with a source, `offset` with an order, and `tick`. A tick has no `v`.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from ..oracle.scenario import Row
from ..oracle.streaming_scenario import StreamingScenario

TIME = pa.timestamp("us", "UTC")
TOPICS = ("events", "more")


def source_of(number: int | None) -> tuple[str | None, int | None]:
    """A source as topic and partition. The topics alternate."""
    return (None, None) if number is None else (TOPICS[number % len(TOPICS)], number // len(TOPICS))


def schema_of(scenario: StreamingScenario) -> pa.Schema:
    """The columns of a scenario's tables."""
    fields = {"k": pa.string(), "ts": TIME, "v": pa.int64()}
    fields |= {"end": TIME} if scenario.ends else {}
    fields |= {"gap": pa.duration("us")} if scenario.kind == "dynamic" else {}
    fields |= {"input": pa.int8()} if scenario.inputs > 1 else {}
    fields |= {"topic": pa.string(), "partition": pa.int32()} if scenario.sourced else {}
    fields |= {"offset": pa.int64()} if scenario.ordered else {}
    return pa.schema(list((fields | {"tick": pa.bool_()}).items()))


def table_of(scenario: StreamingScenario, rows: Sequence[Row]) -> pa.Table:
    """The rows in their order."""
    schema = schema_of(scenario)
    columns = {
        "k": [row.key for row in rows],
        "ts": [row.time for row in rows],
        "v": [row.x for row in rows],
        "end": [row.end for row in rows],
        "gap": [row.gap for row in rows],
        "input": [row.input for row in rows],
        "topic": [source_of(row.source)[0] for row in rows],
        "partition": [source_of(row.source)[1] for row in rows],
        "offset": [row.order for row in rows],
        "tick": [row.tick for row in rows],
    }
    return pa.table([pa.array(columns[field.name], field.type) for field in schema], schema)
