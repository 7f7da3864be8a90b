"""Recorded Kafka Streams runs, record for record, through the command that a user runs."""

from __future__ import annotations

import json
from collections.abc import Callable
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
        ("--batch", "64"),
        pytest.param(("--restart", "1"), marks=pytest.mark.soak),  # `make test-rust` restarts after every record
        ("--batch", "random", "--restart", "random"),
        pytest.param(("--batch", "random", "--restart", "random", "--seed", "1"), marks=pytest.mark.soak),
    ],
    ids=" ".join,
)
def test_recorded_runs_are_answered_record_for_record(
    recorded: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    files = sorted(str(file) for file in recorded.glob("*.jsonl"))
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


def test_what_kafka_lost_is_passed_over(tmp_path: Path) -> None:
    run = json.loads(json.dumps(RUN))
    run["steps"][1]["kafka"] = {"out": [], "dropped": 1}
    assert replayed(tmp_path / "run.jsonl", run) == 0


@pytest.mark.parametrize("options", [(), ("--batch", "2", "--restart", "2")], ids=["records", "restarted batches"])
def test_both_inputs_of_a_cogroup_are_reduced_into_one(tmp_path: Path, options: tuple[str, ...]) -> None:
    """The first value is taken as it is, whichever input it is of; sessions hand a null on, sliding windows drop it."""
    times = {"session-cogroup": ({"gap": 5}, 10, 10), "sliding-cogroup": ({"diff": 5}, 5, 10)}
    for kind, (length, start, end) in times.items():
        spec = {"name": kind, "kind": kind, "grace": 2, "agg": "reduce", **length}
        first = {"in": ["a", "1", 10, "in2"], "out": [["a", start, end, "1", 10]], "dropped": 0}
        again = {"in": ["a", "2", 10, "in"], "out": [["a", start, end, "1+2", 10]], "dropped": 0}
        null = {"in": ["a", None, 10, "in2"], "out": [["a", start, end, "1+2+null", 10]], "dropped": 0}
        if "diff" in length:
            null |= {"out": [], "dropped": 1}
        assert replayed(tmp_path / "run.jsonl", {"spec": spec, "steps": [first, again, null]}, *options) == 0


def changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    """The line of a run that passes, but for one change."""
    run = json.loads(json.dumps(RUN))
    change(run)
    return json.dumps(run).encode()


MALFORMED: dict[str, tuple[bytes, str]] = {
    "no JSON": (b"{", "the line cannot be read: Expecting property name"),
    "too deep": (b"[" * 100_000, "the line cannot be read: "),  # the words of each Python
    "a list": (b"[1]", "the line: got [1]; allowed: a JSON object with spec and steps"),
    "no UTF-8": (b'{"spec": "\xff"}', "the line is not UTF-8, from byte 10 on"),
    "no spec": (changed(lambda run: run.pop("spec")), "spec: got nothing; allowed: an object"),
    "no name": (changed(lambda run: run["spec"].pop("name")), "spec.name: got nothing; allowed: a string"),
    "name": (changed(lambda run: run["spec"].update(name="\ud800")), r"spec.name: got '\ud800'; allowed: a string of"),
    "no gap": (changed(lambda run: run["spec"].pop("gap")), "spec.gap: got nothing; allowed: a whole number from 1"),
    "long gap": (changed(lambda run: run["spec"].update(gap=2**63)), "spec.gap: got 9223372036854775808; allowed"),
    "float gap": (changed(lambda run: run["spec"].update(gap=5.0)), "spec.gap: got 5.0; allowed: a whole number"),
    "no grace": (changed(lambda run: run["spec"].pop("grace")), "spec.grace: got nothing; allowed: a whole number"),
    "kind": (changed(lambda run: run["spec"].update(kind="hopping")), "spec.kind: got 'hopping'; allowed: 'session'"),
    "emit": (changed(lambda run: run["spec"].update(emit="final")), "spec.emit: got 'final'; allowed: 'update' or"),
    "agg": (changed(lambda run: run["spec"].update(agg="sum")), "spec.agg: got 'sum'; allowed: 'count' or 'reduce'"),
    "retention": (changed(lambda run: run["spec"].update(retention=-1)), "spec.retention: got -1; allowed"),
    "other field": (changed(lambda run: run["spec"].update(diff=5)), "spec: got 'diff'; allowed: the fields of a sess"),
    "no steps": (changed(lambda run: run.pop("steps")), "steps: got nothing; allowed: a list of one step or more"),
    "empty steps": (changed(lambda run: run["steps"].clear()), "steps: got []; allowed: a list of one step or more"),
    "no step": (changed(lambda run: run["steps"].append(3)), "steps[3]: got 3; allowed: an object with in, out and"),
    "no in": (changed(lambda run: run["steps"][1].pop("in")), "steps[1].in: got nothing; allowed: a list of key, val"),
    "short in": (changed(lambda run: run["steps"][1]["in"].pop()), "steps[1].in: got ['a', '2']; allowed: a list of"),
    "key": (changed(lambda run: run["steps"][0].update({"in": [3, "1", 0]})), "steps[0].in: key: got 3; allowed: a s"),
    "odd key": (
        changed(lambda run: run["steps"][0].update({"in": ["\udfff", "1", 0]})),
        r"steps[0].in: key: got '\udfff'; allowed: a string of Unicode or null",
    ),
    "value": (changed(lambda run: run["steps"][0].update({"in": ["a", 1, 0]})), "steps[0].in: value: got 1; allowed"),
    "time": (changed(lambda run: run["steps"][0].update({"in": ["a", "1", True]})), "steps[0].in: time: got True; all"),
    "time beyond": (changed(lambda run: run["steps"][0].update({"in": ["a", "1", 2**63]})), "steps[0].in: time: got "),
    "in3": (changed(lambda run: run["steps"][1]["in"].append("in3")), "steps[1].in: input: got 'in3'; allowed: 'in'"),
    "in2": (changed(lambda run: run["steps"][1]["in"].append("in2")), "steps[1].in: input: got 'in2'; allowed: 'in'"),
    "no out": (
        changed(lambda run: run["steps"][2].pop("out")),
        "steps[2].out: got nothing; allowed: a list of update",
    ),
    "short out": (changed(lambda run: run["steps"][0]["out"][0].pop()), "steps[0].out[0]: got ['a', 0, 0, '0+1']; all"),
    "out value": (changed(lambda run: run["steps"][0]["out"][0].__setitem__(3, 1)), "steps[0].out[0]: value: got 1; a"),
    "out time": (changed(lambda run: run["steps"][0]["out"][0].__setitem__(4, "0")), "steps[0].out[0]: time: got '0'"),
    "steps twice": (
        json.dumps(RUN).encode()[:-1] + b', "steps": []}',
        "the line cannot be read: it has an object with the name 'steps' twice",
    ),
    "dropped twice": (
        json.dumps(RUN).encode().replace(b'"dropped": 0', b'"dropped": 5, "dropped": 0', 1),
        "the line cannot be read: it has an object with the name 'dropped' twice",
    ),
    "no dropped": (changed(lambda run: run["steps"][2].pop("dropped")), "steps[2].dropped: got nothing; allowed: a w"),
}


@pytest.mark.parametrize(("line", "message"), MALFORMED.values(), ids=MALFORMED)
def test_a_line_that_is_not_a_run_is_reported_in_one_line_and_the_others_are_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: bytes, message: str
) -> None:
    path, right = tmp_path / "runs.jsonl", json.dumps(RUN).encode()
    path.write_bytes(b"\n".join([right, b"", line, right]))
    assert replay.main([str(path)]) == 1
    error, last = capsys.readouterr().out.splitlines()
    assert error.startswith(f"{path}:3: {message}"), error
    assert last == "2 passed, 1 failed"


def test_a_file_that_cannot_be_read_or_has_no_run_fails_and_the_others_are_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in (("empty", "\n \n"), ("right", json.dumps(RUN))):
        (tmp_path / name).write_text(text)
    names = ["none", ".", "empty", "right"]
    assert replay.main([str(tmp_path / name) for name in names]) == 1
    *errors, last = capsys.readouterr().out.splitlines()
    reasons = ["No such file", "Is a directory", "no run in the file"]
    assert all(reason in error and str(tmp_path) in error for reason, error in zip(reasons, errors, strict=True))
    assert last == "1 passed, 3 failed"


def test_lengths_of_64_bits_are_played_as_they_are(tmp_path: Path) -> None:
    run = json.loads(json.dumps(RUN))
    run["spec"].update(gap=2**63 - 1, grace=2**63 - 1, retention=2**63 - 1)
    assert replayed(tmp_path / "run.jsonl", run) == 0
    sliding = {"name": "wide", "kind": "sliding", "diff": 2**63 - 1, "grace": 0}
    out = [["a", 1, 2**63, "0+2", 3], ["a", 0, 2**63 - 1, "0+1+2", 3]]
    steps = [{"in": ["a", "1", 0], "out": [["a", 0, 2**63 - 1, "0+1", 0]], "dropped": 0}]
    steps.append({"in": ["a", "2", 3], "out": out, "dropped": 0})
    assert replayed(tmp_path / "run.jsonl", {"spec": sliding, "steps": steps}) == 0


@pytest.mark.parametrize("length", ["0", "-1", "many"])
def test_a_wrong_length_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str], length: str) -> None:
    with pytest.raises(SystemExit):
        replayed(tmp_path / "run.jsonl", RUN, f"--batch={length}")
    assert "allowed: a number of records" in capsys.readouterr().err
