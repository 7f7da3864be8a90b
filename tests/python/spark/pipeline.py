"""The pipeline of docs/how-to/pipelines.md as a project in a folder, and a run of it with Spark's own command."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..test_docs import ROOT

START = datetime(2026, 5, 4, 9, tzinfo=UTC)
PATIENCE = 600
"""How many seconds a run may take; beside other work on all cores it has taken more than 240."""

_FILE = re.compile(r"^```(?:py|yaml)\n# (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
Click = tuple[str, int, float]
"""A user, a minute, an amount."""


def files() -> dict[str, str]:
    """The files of the page by name."""
    page = (ROOT / "docs" / "how-to" / "pipelines.md").read_text(encoding="utf-8")
    return dict(_FILE.findall(page))


def project(place: Path, names: list[str], clicks: list[list[Click]]) -> None:
    """Writes these files of the page, and the clicks, a file for each list."""
    written = files()
    for name in names:
        target = place / "project" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(written[name].replace("/data/", f"{place}/"), encoding="utf-8")
    (place / "clicks").mkdir(exist_ok=True)
    for number, rows in enumerate(clicks):
        times = pa.array([START + timedelta(minutes=minute) for _, minute, _ in rows], pa.timestamp("us", "UTC"))
        columns: dict[str, Any] = {"user": [user for user, _, _ in rows], "other": [number] * len(rows), "ts": times}
        name = place / "clicks" / f"{number}.parquet"
        pq.write_table(pa.table(columns | {"amount": [amount for *_, amount in rows]}), name)
        os.utime(name, (1_600_000_000 + number,) * 2)


def run(place: Path, **settings: str) -> str:
    """Runs `spark-pipelines run`, with settings of Spark. Returns what it said. `AssertionError` if it fails."""
    chosen = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
    } | settings
    command = [str(Path(sys.executable).with_name("spark-pipelines")), "run", "--remote", "local[2]"]
    for name, value in chosen.items():
        command += ["--conf", f"{name}={value}"]
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    # With SPARK_TESTING the server takes a free port.
    env = plain | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_TESTING": "1"}
    env["JAVA_TOOL_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # the command hands no settings to its JVMs
    with subprocess.Popen(
        command,
        cwd=place / "project",
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as running:
        try:
            said, _ = running.communicate(timeout=PATIENCE)
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
    assert "Run is COMPLETED" in said, said[-6000:]
    return said


def rows(place: Path, table: str) -> list[dict[str, Any]]:
    """The rows of a table of Parquet files."""
    parts = sorted((place / "project" / "spark-warehouse" / table).glob("*.parquet"))
    return [row for part in parts for row in pq.read_table(part).to_pylist()]
