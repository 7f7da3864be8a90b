"""Mutants of the core: cargo-mutants lists them, and each is tried in a copy of the tree, `target/mutants/tree`."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from argument import stop

ROOT = Path(__file__).resolve().parent.parent
TREE = ROOT / "target" / "mutants" / "tree"
VERSION = "27.1.0"
"""The version of cargo-mutants. Another one may list other mutants."""
MOST_MEMORY = 8 << 30
# A target folder of the copy; no seeds of examples that other mutants failed, and no smaller examples than the first
# that fails; symbols cost the linker time.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "CARGO_TARGET_DIR"} | {
    "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1",
    "PROPTEST_MAX_SHRINK_ITERS": "0",
    "CARGO_PROFILE_DEV_DEBUG": "0",
}


@dataclass(frozen=True, order=True)
class Mutant:
    """One change of one place.

    Attributes:
        name: the name that cargo-mutants gives it, such as `rust/core/time.rs:12:5: replace + with -`.
        span: the first line and column of the place, and the line and column after it.
        replacement: what stands there instead.
    """

    name: str
    span: tuple[int, int, int, int] = (1, 1, 1, 1)
    replacement: str = ""

    @property
    def facts(self) -> dict[str, str]:
        """Its file, the text of its line, and the change. They stay the same when the line moves."""
        place, _, change = self.name.partition(": ")
        file, line, _ = place.rsplit(":", 2)
        return {"file": file, "code": (ROOT / file).read_text().splitlines()[int(line) - 1].strip(), "change": change}

    def of(self, source: str) -> str:
        """The text of its file with the change."""
        lines = source.splitlines(keepends=True)
        first, column, last, end = self.span
        before, after = (
            [*lines[: first - 1], lines[first - 1][: column - 1]],
            [lines[last - 1][end - 1 :], *lines[last:]],
        )
        return "".join([*before, self.replacement, *after])


def check_installed() -> None:
    """Ends the run without cargo-mutants."""
    found = shutil.which("cargo-mutants")
    told = "absent" if found is None else subprocess.check_output([found, "mutants", "--version"], text=True)
    version = told.removeprefix("cargo-mutants").strip()
    if version != VERSION:
        get = f"cargo install cargo-mutants --locked --version {VERSION}"
        raise stop(f"cargo-mutants is {version}, and {VERSION} is needed: {get}")


def copy_tree() -> None:
    """Brings the copy up to date. It writes only what differs, so cargo compiles only that."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.check_output(listed, cwd=ROOT, text=True).split("\0")
    names = [name for name in names if name and (ROOT / name).is_file()]
    for name in names:
        source, copy = ROOT / name, TREE / name
        if not copy.is_file() or copy.read_bytes() != source.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(source.read_bytes())
    for copy in (TREE / "rust").rglob("*.rs"):
        if copy.relative_to(TREE).as_posix() not in names:
            copy.unlink()


def mutants_of(patterns: list[str]) -> list[Mutant]:
    """All mutants of some files."""
    command = ["cargo", "mutants", "--list", "--json", *(f"--file={pattern}" for pattern in patterns)]
    mutants = []
    for each in json.loads(subprocess.check_output(command, cwd=TREE)):
        start, end = each["span"]["start"], each["span"]["end"]
        span = (start["line"], start["column"], end["line"], end["column"])
        mutants.append(Mutant(each["name"], span, each["replacement"]))
    return mutants


def built() -> Path | None:
    """The program with the tests of the copy; None if it does not compile."""
    command = ["cargo", "test", "--locked", "--lib", "--no-run", "--message-format=json"]
    done = subprocess.run(command, cwd=TREE, env=ENVIRONMENT, check=False, capture_output=True, text=True)
    found = [json.loads(line).get("executable") for line in done.stdout.splitlines() if line.startswith("{")]
    return None if done.returncode else next(Path(each) for each in found if each)


def tests_of(program: Path, filters: list[str]) -> list[str]:
    """The names of tests."""
    listed = subprocess.check_output([program, *filters, "--list"], cwd=TREE, text=True)
    return [line.removesuffix(": test") for line in listed.splitlines() if line.endswith(": test")]


def passes(program: Path, filters: list[str], timeout: float | None = None) -> bool:
    """Whether tests pass. A mutant that takes memory without end fails, and leaves the machine alone."""

    def limit_memory() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))

    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "preexec_fn": limit_memory}
    done = subprocess.run([program, *filters], cwd=TREE, env=ENVIRONMENT, check=False, timeout=timeout, **quiet)
    return not done.returncode


def fate(mutant: Mutant, filters: list[str], timeout: float) -> str:
    """What becomes of a mutant. Its file is then what it was."""
    path = TREE / mutant.facts["file"]
    source = path.read_text()
    path.write_text(mutant.of(source))
    try:
        program = built()
        if program is None:
            return "unviable"
        return "missed" if passes(program, filters, timeout) else "caught"
    except subprocess.TimeoutExpired:
        return "timeout"
    finally:
        path.write_text(source)
