"""Recorded Kafka Streams runs, record for record, through the command that a user runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from windrow.testing import replay

RUN: dict[str, Any] = {
    "spec": {"name": "two", "kind": "session", "gap": 5, "grace": 10},
    "steps": [
        {"in": ["a", "1", 0], "out": [["a", 0, 0, "0+1", 0]], "dropped": 0},
        {"in": ["a", "2", 3], "out": [["a", 0, 0, None, 0], ["a", 0, 3, "(0|0+1)+2", 3]], "dropped": 0},
        {"in": [None, "3", 9], "out": [], "dropped": 1},
    ],
}


def replayed(path: Path, run: dict[str, Any], *options: str) -> int:
    path.write_text(json.dumps(run) + "\n")
    return replay.main([str(path), *options])


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--batch", "random"),
        ("--batch", "64"),
        ("--restart", "1"),
        ("--batch", "random", "--restart", "random"),
        ("--batch", "random", "--restart", "random", "--seed", "1"),
    ],
    ids=" ".join,
)
def test_recorded_runs_are_answered_record_for_record(
    shared: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    files = sorted(str(file) for file in (shared / "golden").glob("*.jsonl"))
    status = replay.main([*files, *options])
    *differences, last = capsys.readouterr().out.splitlines()
    passed = int(last.split()[0])
    assert (status, last, differences) == (0, f"{passed} passed, 0 failed", [])
    assert passed >= 509


@pytest.mark.parametrize("options", [(), ("--batch", "2")], ids=["records", "batches"])
def test_a_differing_update_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    wrong = json.loads(json.dumps(RUN))
    wrong["steps"][1]["out"][1][3] = "0+1+2"
    assert replayed(tmp_path / "run.jsonl", wrong, *options) == 1
    out = capsys.readouterr().out
    assert "two" in out
    assert "expected 'a' [0, 3] = 0+1+2 at 3, got 'a' [0, 3] = (0|0+1)+2 at 3" in out
    assert out.endswith("0 passed, 1 failed\n")


def test_a_differing_count_of_dropped_records_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = json.loads(json.dumps(RUN))
    wrong["steps"][2]["dropped"] = 0
    assert replayed(tmp_path / "run.jsonl", wrong) == 1
    assert "step 2: expected 0 dropped, got 1" in capsys.readouterr().out


def test_a_right_run_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replayed(tmp_path / "run.jsonl", RUN, "--restart", "1") == 0
    assert capsys.readouterr().out == "1 passed, 0 failed\n"


@pytest.mark.parametrize("length", ["0", "-1", "many"])
def test_a_wrong_length_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], length: str) -> None:
    with pytest.raises(SystemExit):
        replayed(tmp_path / "run.jsonl", RUN, f"--batch={length}")
    assert "allowed: a number of records" in capsys.readouterr().err
