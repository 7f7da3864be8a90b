"""The recipes of docs/recipes.md with the real systems: tables are what a batch over all records gives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from .postgres import server
from .recipe import events, expected, program, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.soak
def test_upserts_into_postgresql(spark: SparkSession, tmp_path: Path) -> None:
    files, recipes = events(1), program()
    with server() as address:
        with psycopg.connect(address) as connection:
            connection.execute(recipes["TABLE"])
        run(spark, tmp_path, files, recipes["upsert_into"](address), "update")
        with psycopg.connect(address) as connection:
            rows = connection.execute('SELECT "user", window_start, window_end, clicks, spend FROM sessions').fetchall()
    assert len(rows) == len(set(rows)) >= 10
    assert set(rows) == expected(files)
