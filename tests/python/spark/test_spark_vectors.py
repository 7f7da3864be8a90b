"""Tables of open windows in format 1, by each PySpark and this process, continue (`tests/vectors`)."""

from __future__ import annotations

from itertools import cycle

import pytest
from pyspark.sql import SparkSession

from ..harness import vector_files as files
from ..harness.spark_tables import frame_of, table_of
from ..harness.vectors import QUERIES

WRITERS = [*(f"spark-{version}" for version in ("3.5", "4.0", "4.1", "4.2", "4.3")), "this-process"]
RUNS = [name for name, query in QUERIES.items() if query.is_run]


@pytest.mark.parametrize(("writer", "name"), [*zip(cycle(WRITERS), RUNS)])
def test_a_run_continues_a_table(spark: SparkSession, writer: str, name: str) -> None:
    """Each query once, and each writer at least once. `test_vectors.py` has all pairs in this process."""
    query = QUERIES[name]
    rows = spark.read.parquet(str(files.FOLDER / "tables" / writer / f"{name}.parquet"))
    later = files.selected(query, files.between(query, files.MIDDLE, files.END))
    data = [frame_of(spark, each) for each in later] if query.is_cogroup else frame_of(spark, later)
    run = query.windowed(data, grace=None).advance(rows.where("status = 'open'"), to=files.END, **query.aggregates)
    closed, _ = files.apart(table_of(rows))
    given = [closed, table_of(run.closed)]
    assert files.outcome(query, given) == files.outcome(query, [files.expected(name)])
