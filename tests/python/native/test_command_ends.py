"""`--end`: records that last, in text and in Parquet."""

from __future__ import annotations

from pathlib import Path

import pytest

from windrow.__main__ import main

from .test_command_options import BASE, folder, ran

__all__ = ["folder"]

ENDS = ["sessions", "--key", "user", "--time", "ts", "--end", "until", "--gap", "5 minutes", "--sort"]
LASTING = """user,ts,until
ann,2026-05-04T09:00:00,2026-05-04T09:20:00.123456789
ann,2026-05-04T09:24:00,2026-05-04T09:25:00
ann,2026-05-04T09:40:00,
ann,2026-05-04T09:50:00,2026-05-04T09:49:00
"""


def test_ends_of_the_records(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "calls.csv").write_text(LASTING)
    run = ran(folder, capsys, "calls.csv", *ENDS, "--timeline", "ann")
    assert run.rows == [(0, 25, "2")]
    assert "windrow: left out: 2 with an end that is null or before the time (bad_ends)" in run.err
    assert "how long an event lasts" in (folder / "timeline.svg").read_text()
    first = ran(folder, capsys, "calls.csv", *ENDS, "--gap", "1 second")
    assert "09:20:00.123456789" in first.out, "the finer of the two units"
    assert main([ENDS[0], "calls.csv", *ENDS[1:], "--invalid-end", "error"]) == 2
    assert "the end of key ann at 2026-05-04T09:40:00" in capsys.readouterr().err
    epochs = "".join(f"ann,{1_777_885_200 + start},{1_777_885_200 + end}\n" for start, end in ((0, 1200), (1440, 1500)))
    (folder / "epochs.csv").write_text(f"user,ts,until\n{epochs}")
    assert ran(folder, capsys, "epochs.csv", *ENDS, "--time-unit", "s").rows == [(0, 25, "2")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--end", "stop"], "--end: got 'stop'; allowed: a column"),
        (["--invalid-end", "error"], "--invalid-end: got 'error'; allowed: none without --end"),
        (["--end", "user"], "--end: column 'user'"),
    ],
)
def test_wrong_ends(arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "rows.csv", *BASE["sessions"], *arguments]) == 2
    assert capsys.readouterr().err.startswith(f"windrow: {message}")


def test_ends_and_times_have_a_zone_or_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "calls.csv").write_text(LASTING.replace("00,2026-05-04T09:20:00.123456789", "00,2026-05-04T09:20:00Z"))
    assert main([ENDS[0], "calls.csv", *ENDS[1:]]) == 2
    assert "--end: column 'until' has type timestamp[us, tz=UTC]; allowed: timestamp[us], as --time" in (
        capsys.readouterr().err
    )
