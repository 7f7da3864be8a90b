"""The command's `--timeline KEY`, and the page of the command."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from windrow.__main__ import main

from .test_command import CLICKS, ROOT, SESSIONS


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with `clicks.csv`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clicks.csv").write_text(CLICKS)
    return tmp_path


def test_a_picture_of_some_keys(folder: Path) -> None:
    arguments = ["sessions", "clicks.csv", *SESSIONS, "--timeline", "ann", "--timeline", "bob", "--out", "out.csv"]
    assert main(arguments) == 0
    picture = (folder / "timeline.svg").read_text()
    assert "user 'ann'" in picture
    assert "user 'bob'" in picture
    assert "SessionWindows.with_gap('5 minutes')" in picture
    assert main([*arguments[:8], "--timeline", "ann", "--timeline-out", "ann.png", "--out", "out.csv"]) == 0
    assert (folder / "ann.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_of_several_key_columns(folder: Path) -> None:
    (folder / "shops.csv").write_text("user,shop,ts\nann,1,2026-05-04 09:00\nann,2,2026-05-04 09:00\n")
    arguments = ["sliding", "shops.csv", "--key", "user", "--key", "shop", "--time", "ts", "--difference", "5m"]
    assert main([*arguments, "--timeline", "ann,2", "--out", "out.csv"]) == 0
    assert "shop '2'" in (folder / "timeline.svg").read_text()


def test_keys_with_commas(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "shops.csv").write_text('user,shop,ts\n"Smith, John",1,2026-05-04 09:00\n"a ""b""",2,2026-05-04 09:00\n')
    arguments = ["sessions", "shops.csv", "--time", "ts", "--gap", "5m", "--out", "out.csv", "--key", "user"]
    assert main([*arguments, "--timeline", "Smith, John", "--timeline", 'a "b"']) == 0
    picture = (folder / "timeline.svg").read_text()
    assert "user 'Smith, John'" in picture
    assert "user 'a &quot;b&quot;'" in picture or "user 'a \"b\"'" in picture
    assert main([*arguments, "--key", "shop", "--timeline", '"Smith, John",1']) == 0
    assert "user 'Smith, John', shop '1'" in (folder / "timeline.svg").read_text()
    capsys.readouterr()
    assert main([*arguments, "--key", "shop", "--timeline", "Smith, John"]) == 2
    assert "--timeline: got 'Smith, John'; allowed: keys that have records in the files" in capsys.readouterr().err
    assert main([*arguments, "--key", "shop", "--timeline", "Smith, John,1"]) == 2
    printed = capsys.readouterr().err
    assert (
        "a value of each key column, separated by commas: user,shop; a value with a comma in double quotes" in printed
    )


PICTURES = {
    "a key without events": (
        ["--timeline", "eve"],
        "--timeline: got 'eve'; allowed: keys that have records in the files",
    ),
    "a picture of no format": (["--timeline", "ann", "--timeline-out", "ann.gif"], "--timeline-out: got 'ann.gif'"),
    "a picture in no folder": (["--timeline", "ann", "--timeline-out", "no/ann.svg"], "a folder that exists"),
    "too many keys": (["--timeline", "ann"] * 13, "at most 12"),
    "a key of two columns": (["--key", "amount", "--timeline", "ann"], "user,amount"),
    "a key of another type": (
        ["--key", "amount", "--type", "amount=double", "--timeline", "ann,much"],
        "'amount', which holds double",
    ),
}


@pytest.mark.parametrize("kind", PICTURES)
def test_pictures_that_cannot_be(kind: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, message = PICTURES[kind]
    assert main(["sessions", "clicks.csv", *SESSIONS, *arguments, "--out", "out.csv"]) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["clicks.csv"]


def test_a_picture_without_matplotlib(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["sessions", "clicks.csv", *SESSIONS, "--timeline", "ann"]) == 2
    assert capsys.readouterr().err == "windrow: windrow.plot needs matplotlib: pip install matplotlib\n"


def test_the_page_has_the_options_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("sessions", "sliding"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help"}
    page = (ROOT / "docs" / "reference" / "command.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(--[a-z-]+)", page, re.MULTILINE)) == options
    assert len(options) >= 20
