"""Checks rules of the code that no linter covers. `make check` runs it. Exits with 1 and prints a line for each breach.

* rooms of the crate, and which of them may name Arrow and pyo3: tools/rust_rooms.py
* rooms of the Python package: tools/python_rooms.py
* no source file is longer than 400 lines. In the Python package it may be, with at most 300 lines beside docstrings
* the tree has no path of a specific machine and no bare registry host
* every cited rule or page exists, each rule has a case in tests/cases, and no stranger's address or package is given as
  ours: tools/citations.py
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import citations
import python_rooms
import rust_rooms

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 400
LONGEST_BESIDE_DOCSTRINGS = 300
LEAST_FILES = {"tree": 30, "rust": 12, "sources": 20}
MACHINE = re.compile(r"(?<![\w./])/(work|root|home|farm|tmp|Users)/\w")
HOSTS = (
    "pypi.org",
    "pythonhosted.org",
    "static.crates.io",
    "index.crates.io",
    "repo1.maven.org",
    "repo.maven.apache.org",
)
HOST = re.compile("|".join(map(re.escape, HOSTS)))
UNSEEN = {"tools/guard.py", "tools/citations.py", "Cargo.lock"}  # two contain their own patterns, cargo writes one


def tracked() -> list[str]:
    """The files of the tree according to git, including new ones."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in sorted(set(names.split("\0"))) if name and (ROOT / name).is_file()]


def tree_breaches(name: str, text: str) -> list[str]:
    """Machine paths and registry hosts."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if MACHINE.search(line):
            found.append(f"{name}:{number}: a path of one machine")
        if HOST.search(line):
            found.append(f"{name}:{number}: a bare host of a registry")
    return found


def beside_docstrings(text: str) -> int:
    """The lines of Python that are in no docstring."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, documented)]
    docstrings = [node.body[0] for node in nodes if ast.get_docstring(node, clean=False) is not None]
    return text.count("\n") - sum((each.end_lineno or 0) - each.lineno + 1 for each in docstrings)


def main() -> int:
    """Reads every text file of the tree once."""
    breaches: list[str] = []
    package: dict[str, str] = {}
    crate: dict[str, str] = {}
    texts: dict[str, str] = {}
    seen = dict.fromkeys(LEAST_FILES, 0)
    for name in tracked():
        try:
            text = (ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        seen["tree"] += 1
        if name not in UNSEEN:
            breaches += tree_breaches(name, text)
            texts[name] = text
        if name.endswith((".rs", ".py", ".pyi")):
            seen["sources"] += 1
            lines = text.count("\n")
            is_documented = name.startswith(python_rooms.PACKAGE) and name.endswith(".py")
            if lines > LONGEST and not (is_documented and beside_docstrings(text) <= LONGEST_BESIDE_DOCSTRINGS):
                breaches.append(f"{name}: {lines} lines, at most {LONGEST}: is it still one noun?")
        if name.startswith("rust/") and name.endswith(".rs"):
            seen["rust"] += 1
            crate[name] = text
        if name.startswith(python_rooms.PACKAGE):
            package[name] = text
    breaches += rust_rooms.breaches(crate) + python_rooms.breaches(package) + citations.breaches(texts, set(tracked()))
    for kind, least in LEAST_FILES.items():
        if seen[kind] < least:
            breaches.append(
                f"the guard saw {seen[kind]} files of kind {kind!r}, fewer than {least}: it looks in the wrong place"
            )
    print("\n".join(breaches) or f"guard: {seen['tree']} files, {seen['rust']} of them of the crate, no breach")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
