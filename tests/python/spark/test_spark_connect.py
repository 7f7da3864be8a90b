"""Spark Connect: a client without a JVM, and a server on this machine, both in processes of their own."""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr

from ..harness.tables import assert_same, rows_of
from . import connect_client

CLIENT = Path(connect_client.__file__)

# Ends when its input does: also when the tests are killed.
SERVER = """
import sys
from pyspark.sql import SparkSession
port = sys.argv[1]
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
    .config("spark.connect.grpc.binding.address", "127.0.0.1")
    .config("spark.connect.grpc.binding.port", port)
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "4")
    .config("spark.sql.session.timeZone", "UTC")
    .getOrCreate()
)
print("ready", flush=True)
sys.stdin.read()
spark.stop()
"""


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server, which ends with the tests of this module."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    log = tmp_path_factory.mktemp("connect") / "server.log"
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(port)],
        env=plain | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log.open("w"),
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        if server.stdout.readline() != "ready\n":
            pytest.fail(log.read_text())
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.stdin.close()
        try:
            server.wait(timeout=30)
        except subprocess.TimeoutExpired:
            server.kill()
            raise


@pytest.fixture(scope="module")
def told(remote: str) -> list[dict[str, Any]]:
    """What the client printed."""
    command = [sys.executable, str(CLIENT), remote]
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=plain)
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_the_session_is_of_connect_and_takes_the_settings(told: list[dict[str, Any]]) -> None:
    assert told[0]["session"] == "pyspark.sql.connect.session"
    assert told[0]["set"]["spark.sql.execution.arrow.maxBytesPerBatch"] == "2147483647"


@pytest.mark.parametrize("case", connect_client.CASES)
def test_rows_and_counters_are_those_of_this_process(told: list[dict[str, Any]], case: str) -> None:
    (found,) = [line for line in told if line.get("case") == case]
    here = connect_client.CASES[case](connect_client.asked(connect_client.events()))
    table = pa.ipc.open_stream(base64.b64decode(found["rows"])).read_all()
    got, wanted = rows_of(table, ["user"]), rows_of(here, ["user"])
    assert_same(got, wanted)
    assert len(wanted) > 50
    counted = wr.counters(here)
    assert found["counters"] == counted
    assert min(counted["null_keys"], counted["null_times"]) > 0


def test_a_plain_column_stands_for_its_name(told: list[dict[str, Any]]) -> None:
    (found,) = [line for line in told if "plain" in line]
    assert found["plain"] == ["user", "amount", "ts"]


def test_control_messages_are_told_from_data(told: list[dict[str, Any]]) -> None:
    (found,) = [line for line in told if "ticks" in line]
    assert found == {"ticks": [[False, None], [True, 1_767_258_000_000], [True, None]], "streams": True}


def test_a_failing_function_is_told_with_its_line(told: list[dict[str, Any]]) -> None:
    line = connect_client.failing.__code__.co_firstlineno + 1
    raised = told[-1]["raised"]
    assert 'aggregate "x": add failed for the record at 2026-01-01T' in raised
    assert f"ZeroDivisionError: integer division or modulo by zero ({CLIENT}:{line}, in failing: return held" in raised
