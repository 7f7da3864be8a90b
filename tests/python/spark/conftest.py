"""Spark as windrow wants it, and a server of Spark Connect."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import windrow

from ..harness.capabilities import has
from ..harness.spark_scenes import SetConf

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
    .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.sql.session.timeZone", "UTC")
    .getOrCreate()
)
print("ready", flush=True)
sys.stdin.read()
spark.stop()
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for needs in item.iter_markers("needs"):
            if not has(needs.args[0]):
                item.add_marker(pytest.mark.skip(reason=f"there is no {needs.args[0]} here"))


@pytest.fixture(scope="session", autouse=True)
def configured(spark: SparkSession) -> None:
    """The runtime settings that matter to windrow, as a user makes them."""
    windrow.configure(spark)


@pytest.fixture
def set_conf(spark: SparkSession) -> Iterator[SetConf]:
    """Changes a setting of the session until the end of the test."""
    before = dict[str, str | None]()

    def change(name: str, value: str) -> None:
        before.setdefault(name, spark.conf.get(name, None))
        spark.conf.set(name, value)

    yield change
    for name, value in before.items():
        spark.conf.unset(name) if value is None else spark.conf.set(name, value)


@pytest.fixture(scope="session")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server, which ends with the tests."""
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
