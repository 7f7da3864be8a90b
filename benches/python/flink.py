"""Flink in its own process, which runs statements of SQL and ends with this process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.kafka.maven import built, class_path, java  # noqa: E402

PROJECT = ROOT / "benches" / "nexmark"
MEMORY = "4g"
SLOTS = 2
CHECKPOINT = "10 s"
# As Flink's own start script gives them.
OPENED = ("java.lang", "java.lang.reflect", "java.net", "java.nio", "java.text", "java.time", "java.util")


class Run(NamedTuple):
    """Seconds of a job, and of the processor while it ran."""

    seconds: float
    processor: float


class Flink:
    """A process with a cluster of two slots, state in RocksDB and incremental checkpoints."""

    def __init__(self, process: subprocess.Popen[str], answer: Path, log: Path) -> None:
        """Takes a process that waits for statements."""
        self._process, self._answer, self._log = process, answer, log

    def execute(self, statement: str) -> dict[str, int]:
        """Runs a statement to its end. Returns what it says.

        Raises:
            RuntimeError: the statement failed. The message ends with what Flink said.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(f"{statement.strip()}\n\n")
            self._process.stdin.flush()
            said = self._process.stdout.readline()
        except BrokenPipeError:
            said = ""
        if not said:
            self._process.wait()
            raise RuntimeError(f"Flink failed at\n{statement}\n{self._log.read_text()[-6000:]}")
        return {name: int(value) for name, _, value in (word.partition("=") for word in said.split()) if value}

    def insert(self, statement: str) -> Run:
        """The time of a job."""
        taken = self.execute(statement)
        return Run(taken["job"] / 1000, taken["processor"] / 1000)

    def select(self, statement: str) -> list[list[str]]:
        """The rows of a query, as texts."""
        self.execute(statement)
        with self._answer.open() as lines:
            return [line.rstrip("\n").split("\t") for line in lines]


@contextmanager
def started(folder: Path) -> Iterator[Flink]:
    """Starts Flink with its own folder, and ends it."""
    folder.mkdir()
    settings = {
        "execution.target": "local",
        "parallelism.default": SLOTS,
        "taskmanager.numberOfTaskSlots": SLOTS,
        "taskmanager.memory.managed.size": "1g",
        "taskmanager.memory.network.min": "128m",
        "taskmanager.memory.network.max": "128m",
        "io.tmp.dirs": folder / "tmp",
        "rest.address": "127.0.0.1",
        "rest.bind-address": "127.0.0.1",
        "rest.bind-port": "0",
        "state.backend.type": "rocksdb",
        "state.backend.rocksdb.localdir": folder / "rocksdb",
        "execution.checkpointing.dir": (folder / "checkpoints").as_uri(),
        "execution.checkpointing.interval": CHECKPOINT,
        "execution.checkpointing.mode": "EXACTLY_ONCE",
        "execution.checkpointing.incremental": "true",
        # These are also the settings of Nexmark for Flink.
        "execution.checkpointing.checkpoints-after-tasks-finish.enabled": "false",
        "pipeline.object-reuse": "true",
        "table.exec.mini-batch.enabled": "true",
        "table.exec.mini-batch.allow-latency": "2 s",
        "table.exec.mini-batch.size": "50000",
        "table.local-time-zone": "UTC",
    }
    (folder / "settings").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    opened = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in OPENED]
    command = [java(), f"-Xmx{MEMORY}", "-Duser.timezone=UTC", *opened, "-cp", class_path(built(PROJECT))]
    log, answer = folder / "log", folder / "answer"
    with log.open("w") as errors:
        process = subprocess.Popen(
            [*command, "Statements", str(folder / "settings"), str(answer)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=folder,
        )
    try:
        yield Flink(process, answer, log)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()
