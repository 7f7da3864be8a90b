"""Clusters, whose executors are processes of their own: one batch query and one streaming query on each."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
import pytest

from . import cluster_client

CLIENT = Path(cluster_client.__file__)
WORKERS = 2


def environment() -> dict[str, str]:
    """That of a user whose Python is this one."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    return plain | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}


def ran(master: str, place: Path) -> dict[str, Any]:
    """What the client printed."""
    (place / "in").mkdir()
    cluster_client.write(place / "in")
    command = [sys.executable, str(CLIENT), master, str(place)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=environment())
    assert done.returncode == 0, done.stderr
    printed: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return printed


def check(message: dict[str, Any]) -> None:
    """Both queries have the sessions of this process; the stream not the last one, which is open."""
    here = cluster_client.json_rows(cluster_client.sessions(cluster_client.events()).to_pylist())
    assert len(here) > 20
    assert message["batch"] == here
    assert message["stream"] == [row for row in here if row[0] != "last"]


@pytest.mark.soak
@pytest.mark.spark
def test_executors_of_a_local_cluster(tmp_path: Path) -> None:
    check(ran(f"local-cluster[{WORKERS},1,1024]", tmp_path))


@pytest.mark.soak
@pytest.mark.spark
def test_a_standalone_master_with_two_workers(tmp_path: Path) -> None:
    with standalone(tmp_path / "logs") as master:
        check(ran(master, tmp_path))


@contextmanager
def standalone(logs: Path) -> Iterator[str]:
    """A master on loopback with two workers, which end with the block."""
    logs.mkdir()
    launcher = Path(pyspark.__file__).parent / "bin" / "spark-class"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    master = f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    ours = ["--host", "127.0.0.1"]
    calls = [[f"{deploy}.master.Master", *ours, "--port", str(port), "--webui-port", "0"]]
    worker = [f"{deploy}.worker.Worker", *ours, "--cores", "1", "--memory", "1g", "--webui-port", "0"]
    calls += [[*worker, "--work-dir", str(logs / f"work {number}"), master] for number in range(WORKERS)]
    started = []
    try:
        for number, call in enumerate(calls):
            log = (logs / f"{number}.log").open("w")
            started.append(
                subprocess.Popen([str(launcher), *call], env=environment(), stdout=log, stderr=subprocess.STDOUT)
            )
        yield master  # a client waits for the master, and the master for workers
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(timeout=30)
