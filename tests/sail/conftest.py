"""One server of Sail for all tests, on loopback. It is in a process of its own, as users have it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import windrow as wr

# Ends when its input does: also when the tests are killed.
SERVER = """
import sys
from pysail.spark import SparkConnectServer
server = SparkConnectServer("127.0.0.1", 0)
server.start(background=True)
print(server.listening_address[1], flush=True)
sys.stdin.read()
server.stop()
"""


@pytest.fixture(scope="session")
def sail() -> Iterator[SparkSession]:
    """A session with small Arrow batches, so that each partition gets many."""
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        session = SparkSession.builder.remote(f"sc://127.0.0.1:{server.stdout.readline().strip()}").getOrCreate()
        session.conf.set("spark.sql.session.timeZone", "UTC")
        wr.configure(session)
        session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "100")
        yield session
        session.stop()
    finally:
        server.stdin.close()
        try:
            server.wait(timeout=30)
        except subprocess.TimeoutExpired:
            server.kill()
            raise
