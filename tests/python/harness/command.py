"""The command `windrow`, called in this process, in a folder of its own."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest

from windrow.__main__ import main


class Printed(NamedTuple):
    """What a run printed."""

    out: str
    err: str


class Command:
    """Runs command lines in the working folder. The last arguments may be without the quotes of a shell."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, line: str, *more: str) -> Printed:
        """A run that succeeds."""
        code = main([*shlex.split(line), *more])
        printed = Printed(*self._capsys.readouterr())
        assert code == 0, printed.err
        return printed

    def refused(self, line: str, *more: str) -> str:
        """The one line that says what is wrong."""
        try:
            code: object = main([*shlex.split(line), *more])
        except SystemExit as left:
            code = left.code
        printed = Printed(*self._capsys.readouterr())
        assert (code, printed.out, printed.err.count("\n")) == (2, "", 1), printed.err
        assert printed.err.startswith("windrow: ")
        return printed.err.removeprefix("windrow: ").removesuffix("\n")

    def rows(self, line: str, *more: str) -> list[dict[str, Any]]:
        """The rows that a run writes to a file of Parquet."""
        self(line, *more, "--out", "out.parquet", "--quiet")
        found: list[dict[str, Any]] = pq.read_table("out.parquet").to_pylist()
        return found


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return Command(capsys)


def json_rows(text: str) -> list[Any]:
    """The rows of JSON Lines."""
    return [json.loads(line) for line in text.splitlines()]
