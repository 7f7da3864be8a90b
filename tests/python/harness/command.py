"""The command `windrow`, called in this process."""

from __future__ import annotations

import pytest

from windrow.__main__ import main


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line that says what is wrong."""
    assert main([*arguments]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    return printed.err.removeprefix("windrow: ").removesuffix("\n")
