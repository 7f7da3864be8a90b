"""Processes are found by their whole command, however long it is: that of an executor begins with its class path."""

from __future__ import annotations

import os
import subprocess
import sys

from .processes import executors


def test_an_executor_is_found_by_the_end_of_a_long_command() -> None:
    script = "import sys; print('here', flush=True); sys.stdin.read()"
    words = [sys.executable, "-c", script, "x" * 9000, "org.apache.spark.executor.CoarseGrainedExecutorBackend"]
    before = executors(os.getpid())
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "here\n"
            found = executors(os.getpid())
            assert before == []
            assert [each.pid for each in found] == [process.pid]
            assert found[0].kill()
            assert process.wait(30) == -9
        finally:
            process.kill()
    assert executors(os.getpid()) == []
