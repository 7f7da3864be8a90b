"""A fault as a small change of one file of the package, and how its test runs over a copy of the package with it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "python" / "windrow"
PASSED, FAILED = 0, 1
"""What pytest says at its end. Other numbers mean that no test ran."""


@dataclass(frozen=True)
class Patch:
    """A fault.

    Attributes:
        file: the file, below the package.
        old: a text that the file has once.
        new: what stands there instead.
        test: the test that must fail, below `tests/python`.
    """

    file: str
    old: str
    new: str
    test: str

    @property
    def fault(self) -> str | None:
        """What is wrong with the patch itself; None if it can be applied."""
        found = (PACKAGE / self.file).read_text(encoding="utf-8").count(self.old)
        if found == 1:
            return None
        return f"{self.file}: has {self.old!r} {found} times; allowed: once (the code has changed, so change the patch)"

    def apply(self, package: Path) -> None:
        """Writes the changed file into a copy of the package."""
        text = (PACKAGE / self.file).read_text(encoding="utf-8")
        (package / self.file).write_text(text.replace(self.old, self.new), encoding="utf-8")


def copied(folder: Path) -> Path:
    """A copy of the package in a folder. The extension module is linked, as it is large."""
    package = folder / "windrow"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__", "_native*.so"))
    for module in PACKAGE.glob("_native*.so"):
        (package / module.name).symlink_to(module)
    return package


def run(tests: Sequence[str], package: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Runs tests with a copy of the package, and stops at the first that fails."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *options]
    own = {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [*command, *(f"tests/python/{test}" for test in tests)],
        cwd=ROOT,
        env=os.environ | own,
        check=False,
        capture_output=True,
        text=True,
    )
