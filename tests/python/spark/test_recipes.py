"""The recipes of sinks and daily jobs with the real systems: tables are what a batch over all records gives."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import psycopg
import psycopg.rows
import pytest

from ...kafka.maven import built
from ..harness import daily_tables, recipes
from ..test_docs import ROOT
from . import connect_recipe
from .lake.environment import python
from .postgres import server
from .recipe import events, expected, program, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.soak
def test_upserts_into_postgresql(spark: SparkSession, tmp_path: Path) -> None:
    files, page = events(1), program()
    with server() as address:
        with psycopg.connect(address) as connection:
            connection.execute(page["TABLE"])
        run(spark, tmp_path, files, page["upsert_into"](address), "update")
        with psycopg.connect(address) as connection:
            rows = connection.execute('SELECT "user", window_start, window_end, clicks, spend FROM sessions').fetchall()
    assert len(rows) == len(set(rows)) >= 10
    assert set(rows) == expected(files)


def over_connect(remote: str, *arguments: str) -> None:
    """Runs `connect_recipe` as a client of a server."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    command = [sys.executable, "-m", connect_recipe.__name__, *arguments]
    ran = subprocess.run(
        command, env=plain | {"SPARK_REMOTE": remote}, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-4000:]


@pytest.mark.soak
def test_upserts_into_postgresql_over_connect(remote: str, tmp_path: Path) -> None:
    with server() as address, psycopg.connect(address, autocommit=True) as reader:
        reader.execute(recipes.assigned("sinks.md", "TABLE"))
        over_connect(remote, str(tmp_path), "update", "upsert_into", address)
        rows = reader.execute("SELECT * FROM sessions WHERE \"user\" <> 'z'").fetchall()
    assert len(rows) == len(set(rows)) >= 10
    assert set(rows) == expected(events(1))


@pytest.mark.soak
def test_finals_go_into_duckdb_over_connect(remote: str, tmp_path: Path) -> None:
    file = str(tmp_path / "sessions.duckdb")
    with duckdb.connect(file) as db:
        db.execute(recipes.assigned("sinks.md", "TABLES"))
    over_connect(remote, str(tmp_path), "close", "append_to", file, "first")
    with duckdb.connect(file) as db:
        rows = db.execute("SELECT * FROM sessions").fetchall()
    assert len(rows) == len(set(rows)) >= 10
    assert set(rows) == expected(events(1))


@pytest.mark.soak
def test_a_daily_job_in_postgresql_that_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = daily_tables.program()
    with server() as address, psycopg.connect(address, autocommit=True, row_factory=psycopg.rows.dict_row) as reader:

        def rows() -> list[dict[str, Any]]:
            reader.execute(recipe["RUNS"])
            return reader.execute("SELECT * FROM runs").fetchall()

        @contextmanager
        def killed(place: str) -> Iterator[None]:
            if place == "after the commit":
                yield
                raise daily_tables.JobDiedError
            with monkeypatch.context() as patch:
                # A statement that PostgreSQL refuses, after the rows of the run were removed.
                patch.setitem(recipe, "INSERT", "INSERT INTO nothing VALUES (%s)")
                try:
                    yield
                except psycopg.Error as error:
                    raise daily_tables.JobDiedError from error

        daily_tables.check(lambda *run: recipe["postgresql_run"](address, *run), killed, rows)


@pytest.mark.soak
def test_two_attempts_of_a_day_in_postgresql_leave_its_rows_once() -> None:
    slow, fast = daily_tables.program(), daily_tables.program()
    slow["INSERT"] += " RETURNING pg_sleep(0.05)"
    day, to = daily_tables.history()[0], daily_tables.NAMES[0]
    with server() as address, psycopg.connect(address, autocommit=True) as reader, ThreadPoolExecutor() as pool:
        fast["postgresql_run"](address, day.slice(0, 0), None, "2026-05-04")  # creates the table
        attempt = pool.submit(slow["postgresql_run"], address, day, None, to)
        while not reader.execute("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'").fetchall():
            assert not attempt.done()
        fast["postgresql_run"](address, day, None, to)
        attempt.result()
        rows = reader.execute('SELECT * FROM runs WHERE "to" = %s', [to]).fetchall()
    assert len(rows) == len(set(rows)) > 10


@pytest.mark.soak
@pytest.mark.parametrize("system", ["delta", "iceberg"])
def test_merges_into_tables_of_a_lake(system: str, tmp_path: Path, soaked: Callable[[str], None]) -> None:
    jars = built(Path(__file__).resolve().parent / "lake") / "jars"
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    there = plain | {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "python")]),
        "PYSPARK_PYTHON": str(python()),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    job = [str(python()), "-m", "tests.python.spark.lake.job", system, str(jars), str(tmp_path)]
    done = subprocess.run(job, env=there, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    *_, versions, twice, missing, more = done.stdout.strip().splitlines()
    assert (twice, missing, more) == ("twice: 0", "missing: []", "more: []")
    assert f"{system}: 0 rows" not in versions
    soaked(versions)
