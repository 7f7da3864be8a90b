"""Spark streaming queries over tables, with one or more files per micro-batch, and their results."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

import windrow as wr

Query = Callable[[DataFrame], DataFrame]

_EARLIEST = 1_600_000_000


class Folder:
    """A folder of Parquet files. A stream reads them by number."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files = 0
        path.mkdir(parents=True, exist_ok=True)

    def add(self, table: pa.Table) -> None:
        """Adds a file."""
        name = self.path / f"{self.files:06d}.parquet"
        hidden = name.with_name(f".{name.name}")
        pq.write_table(table, hidden)
        # Spark reads files of equal age in any order.
        os.utime(hidden, (_EARLIEST + 10 * self.files,) * 2)
        hidden.rename(name)
        self.files += 1


@dataclass
class Run:
    """The result of a streaming query: the rows of each micro-batch, and its progress."""

    batches: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    progress: list[Any] = field(default_factory=list)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """All rows, in the order of micro-batches."""
        return [row for number in sorted(self.batches) for row in self.batches[number]]

    def counters(self, name: str | None = None) -> list[dict[str, Any]]:
        """The counters of each micro-batch that reports some."""
        found = (wr.counters(progress, name) for progress in self.progress)
        return [counters for counters in found if counters]

    def total(self, counter: str) -> int:
        """The sum of a counter."""
        counters = self.counters()
        assert counters, "no micro-batch has counters"
        return sum(known[counter] for known in counters)

    def sink(self, frame: DataFrame, number: int) -> None:
        """Stores a micro-batch. A repeated one replaces the earlier one."""
        self.batches[number] = [row.asDict(recursive=True) for row in frame.collect()]


def source(spark: SparkSession, folder: Folder, schema: str, files: int = 1) -> DataFrame:
    """The stream of a folder, with a limit of files per micro-batch."""
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", files).parquet(str(folder.path))


def start(result: DataFrame, run: Run, checkpoint: Path, **trigger: Any) -> StreamingQuery:
    """Starts a query that writes its rows to `run`."""
    writer = result.writeStream.outputMode("append").option("checkpointLocation", str(checkpoint))
    return writer.trigger(**(trigger or {"availableNow": True})).foreachBatch(run.sink).start()


def play(
    spark: SparkSession,
    place: Path,
    tables: Iterable[pa.Table],
    query: Query,
    schema: str,
    *,
    files: int = 1,
    run: Run | None = None,
) -> Run:
    """Adds files to the folder at `place` and runs a query until it has read them all."""
    folder = Folder(place / "in")
    folder.files = len(list(folder.path.glob("*.parquet")))
    for table in tables:
        folder.add(table)
    run = run or Run()
    started = start(query(source(spark, folder, schema, files)), run, place / "checkpoint")
    started.awaitTermination()
    run.progress += started.recentProgress
    return run


def applied(rows: Sequence[dict[str, Any]], keys: Sequence[str]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The table that results from applying updates in order."""
    table: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        name = (*(row[key] for key in keys), row["window"]["start"], row["window"]["end"])
        if row["op"] == "delete":
            table.pop(name, None)
        elif row["op"] == "upsert":
            table[name] = {column: value for column, value in row.items() if column != "op"}
    return table
