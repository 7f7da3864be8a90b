"""The command's `--timeline KEY`, and the page of the command."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from windrow.__main__ import main

from ..harness.command import Command, command
from .test_command import ROOT, SESSIONS, clicks

__all__ = ["clicks", "command"]


def test_a_picture_of_some_keys(clicks: Command) -> None:
    clicks(f"{SESSIONS} --timeline ann --timeline bob --out out.csv")
    picture = Path("timeline.svg").read_text()
    assert "user 'ann'" in picture
    assert "user 'bob'" in picture
    assert "SessionWindows.with_gap('5 minutes')" in picture
    clicks(f"{SESSIONS} --timeline ann --timeline-out ann.png --out out.csv")
    assert Path("ann.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_of_several_key_columns(command: Command) -> None:
    Path("shops.csv").write_text("user,shop,ts\nann,1,2026-05-04 09:00\nann,2,2026-05-04 09:00\n")
    command("sliding shops.csv --key user --key shop --time ts --difference 5m --timeline ann,2")
    assert "shop '2'" in Path("timeline.svg").read_text()


def test_keys_with_commas(command: Command) -> None:
    Path("shops.csv").write_text('user,shop,ts\n"Smith, John",1,2026-05-04 09:00\n"a ""b""",2,2026-05-04 09:00\n')
    line = "sessions shops.csv --time ts --gap 5m --key user"
    command(line, "--timeline", "Smith, John", "--timeline", 'a "b"')
    picture = Path("timeline.svg").read_text()
    assert "user 'Smith, John'" in picture
    assert "user 'a &quot;b&quot;'" in picture or "user 'a \"b\"'" in picture
    line = f"{line} --key shop --timeline"
    command(line, '"Smith, John",1')
    assert "user 'Smith, John', shop '1'" in Path("timeline.svg").read_text()
    message = command.refused(line, "Smith, John")
    assert message.startswith("--timeline: got 'Smith, John'; allowed: keys that have records in the files")
    words = "a value of each key column, separated by commas: user,shop; a value with a comma in double quotes"
    assert words in command.refused(line, "Smith, John,1")


PICTURES = {
    "--timeline eve": "--timeline: got 'eve'; allowed: keys that have records in the files",
    "--timeline ann --timeline-out ann.gif": "--timeline-out: got 'ann.gif'",
    "--timeline ann --timeline-out no/ann.svg": "a folder that exists",
    "--timeline ann " * 13: "at most 12",
    "--key amount --timeline ann": "user,amount",
    "--key amount --type amount=double --timeline ann,much": "'amount', which holds double",
}


@pytest.mark.parametrize("arguments", PICTURES)
def test_pictures_that_cannot_be(arguments: str, clicks: Command) -> None:
    assert PICTURES[arguments] in clicks.refused(f"{SESSIONS} {arguments} --out out.csv")
    assert [path.name for path in Path().iterdir()] == ["clicks.csv"]


def test_a_picture_without_matplotlib(clicks: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert clicks.refused(f"{SESSIONS} --timeline ann") == "windrow.plot needs matplotlib: pip install matplotlib"


def test_the_page_has_the_options_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    for kind in ("sessions", "sliding"):
        with pytest.raises(SystemExit):
            main([kind, "--help"])
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help"}
    page = (ROOT / "docs" / "reference" / "command.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(--[a-z-]+)", page, re.MULTILINE)) == options
    assert len(options) >= 20
