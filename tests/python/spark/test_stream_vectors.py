"""Checkpoints and tables that each PySpark wrote in format 1 are read and continued (`tests/vectors`)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

import windrow.state

from ..harness import vector_files as files
from ..harness.spark_tables import table_of
from ..harness.vector_streams import Stream
from ..harness.vectors import QUERIES

SLOW, SOAK = pytest.mark.slow, pytest.mark.soak


def since(version: str, *marks: pytest.MarkDecorator) -> Any:
    return pytest.param(version, marks=[pytest.mark.needs(f"PySpark {version} or later"), *marks])


@pytest.mark.parametrize(
    "version",
    [
        pytest.param("4.0", marks=[pytest.mark.needs("PySpark 4.0"), SLOW]),
        since("4.1", SLOW),
        since("4.2", SOAK),
        since("4.3", SOAK),
    ],
)
def test_streams_continue_their_checkpoints(spark: SparkSession, tmp_path: Path, version: str) -> None:
    """Some queries at once. Spark from 4.1 on refuses checkpoints of 4.0."""

    def continued(name: str) -> None:
        query, place = QUERIES[name], tmp_path / name
        _, given = files.read_checkpoint(files.FOLDER / f"spark-{version}" / f"{name}.tar.gz", place)
        stream, opened = Stream(place, query, files.STORED), files.history(name) if query.begins else None
        stream.start(spark, range(files.STORED, files.BATCHES), opened).awaitTermination()
        found = files.outcome(query, [*files.before(name), given, *stream.given])
        assert found == files.outcome(query, [files.expected(name)]), name

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(continued, QUERIES))


@pytest.mark.parametrize("version", [since("4.0"), since("4.1", SOAK), since("4.2", SOAK), since("4.3")])
def test_open_windows_of_checkpoints_are_continued(spark: SparkSession, tmp_path: Path, version: str) -> None:
    """A run over the later records closes the other windows, also of a checkpoint that this Spark cannot continue.

    Of a query with a pace, a driver continues them.
    """

    def continued(name: str) -> None:
        query = QUERIES[name]
        checkpoint, given = files.read_checkpoint(files.FOLDER / f"spark-{version}" / f"{name}.tar.gz", tmp_path / name)
        opened = table_of(windrow.state.open_windows(spark, checkpoint))
        assert windrow.state.clock(opened).batch == files.STORED - 1
        if query.has_pace:
            driver = files.driver(name, opened)
            files.feed(query, driver, range(files.STORED, files.BATCHES))
            found = files.outcome(query, [given, driver.read_table()])
            assert found == files.outcome(query, [files.expected(name)])
            return
        rows = files.whole(query)
        rows = rows.filter(pc.greater_equal(rows["batch"], files.STORED))
        run = query.windowed(files.selected(query, rows)).advance(opened, to=files.END, **query.aggregates)
        found = files.outcome(query, [*files.before(name), given, run.closed])
        assert found == files.outcome(query, [files.expected(name)]), name
        if name == "functions":
            there = table_of(windrow.state.read(spark, checkpoint))
            shown = opened.filter(pc.is_valid(opened["user"])).select(["user", "window", *query.aggregates])
            assert files.outcome(query, [there.select(shown.column_names)]) == files.outcome(query, [shown])

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(continued, ("close", "gaps", "sliding", "cogroup", "functions", "begun", "paced")))
