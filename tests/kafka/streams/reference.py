"""Kafka Streams on a topic of a broker, in its own process, to the end of the topic."""

from __future__ import annotations

import subprocess
import tempfile
import uuid
from pathlib import Path
from typing import NamedTuple

from ..maven import built, class_path, java

PROJECT = Path(__file__).resolve().parent
PATIENCE = 600


class Run(NamedTuple):
    """What a run reports: its records, what it dropped, and the time from its first record to its last."""

    records: int
    dropped: int
    milliseconds: int


def run(address: str, topic: str, records: int, *, threads: int = 1, **options: str | int) -> Run:
    """Runs the topology of Windows.java over this many records, which are all that the topic has.

    With more threads than one the broker's `group.initial.rebalance.delay.ms` must let all of them join before the
    first record: stream time starts again where a partition is moved to another thread.
    """
    jars = class_path(built(PROJECT))
    with tempfile.TemporaryDirectory(prefix="windrow-streams-") as state:
        aggregates = {
            "bootstrap": address,
            "application": f"windows-{uuid.uuid4()}",
            "state": state,
            "input": topic,
            "records": records,
            "threads": threads,
            **options,
        }
        arguments = [f"{name}={value}" for name, value in aggregates.items()]
        command = [java(), "-Xmx1g", "-XX:+UseSerialGC", "-cp", jars, "Windows", *arguments]
        try:
            done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=PATIENCE)
        except subprocess.TimeoutExpired as error:
            said = error.stderr
            raise RuntimeError(f"Kafka Streams has not done {records} records in {PATIENCE} s: {said!r}") from None
    if done.returncode:
        raise RuntimeError(f"Kafka Streams has failed:\n{done.stdout}{done.stderr}")
    figures = dict(word.split("=") for word in done.stdout.split() if "=" in word)
    return Run(int(figures["records"]), int(figures["dropped"]), int(figures["milliseconds"]))
