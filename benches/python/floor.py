"""What Spark takes for a micro-batch without windrow: the same files, steps that do nothing.

| query | what it adds |
|---|---|
| `file` | the events are read, and dropped by Spark |
| `arrow` | they travel to Python as Arrow batches, which drops them and gives a row for each shard |
| `state` | a stateful step over these rows, 32 calls that do nothing |
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import StringType, StructField, StructType

SHARDS = 8  # four for each core


def file(data: DataFrame) -> DataFrame:
    """Nothing but the file."""
    return data


def arrow(data: DataFrame) -> DataFrame:
    """A row for each shard of each split."""

    def drop(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen = sum(batch.num_rows for batch in batches)
        if seen:
            yield pa.RecordBatch.from_pydict({"shard": pa.array(range(SHARDS), pa.int32())})

    return data.mapInArrow(drop, "shard int")


def state(data: DataFrame) -> DataFrame:
    """A call for each shard."""
    name, page = (StructType([StructField(column, StringType())]) for column in ("name", "page"))

    class Idle(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.pages = handle.getMapState("pages", name, page)

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
            for _ in rows:
                pass
            return iter(())

        def close(self) -> None:
            pass

    return arrow(data).groupBy("shard").transformWithState(Idle(), "shard int", "Append", "None")


QUERIES = {"file": file, "arrow": arrow, "state": state}
