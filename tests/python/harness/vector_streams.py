"""Streams of Spark over the records of `tests/vectors`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from .spark_tables import table_of
from .streams import Folder, source
from .vector_files import DDL, batch, selected
from .vectors import Query


class Stream:
    """A stream in a folder, where its checkpoint may be already. It has read the micro-batches before `number`."""

    def __init__(self, place: Path, query: Query, number: int = 0) -> None:
        self.place, self.query = place, query
        self.given: list[pa.Table] = []
        """The rows of each micro-batch of this process."""
        self._folders = [Folder(place / f"in{nth}") for nth in range(1 + query.is_cogroup)]
        for folder in self._folders:
            folder.files = number

    def start(self, spark: SparkSession, numbers: Iterable[int], opened: pa.Table | None = None) -> StreamingQuery:
        """Starts the query, which reads these micro-batches and stops. `opened` is its history."""
        for number in numbers:
            rows = batch(self.query, number)
            parts = selected(self.query, rows) if self.query.is_cogroup else [rows]
            for folder, part in zip(self._folders, parts, strict=True):
                folder.add(part)
        frames = [source(spark, folder, DDL) for folder in self._folders]
        result = self.query.stream(frames if self.query.is_cogroup else frames[0], opened)
        writer = result.writeStream.option("checkpointLocation", str(self.place / "checkpoint"))
        return writer.trigger(availableNow=True).foreachBatch(self._take).start()

    def _take(self, frame: DataFrame, _: int) -> None:
        self.given.append(table_of(frame))
