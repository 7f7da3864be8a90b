"""The rules of the house that no linter knows: run by `make check`, exit 1 with one line for each breach.

* rooms name only rooms to their right:
  py -> arrow -> {session, sliding} -> operator -> store -> aggregate -> {window, sort} -> {time, key} -> error
* rooms of the Python package: tools/python_rooms.py
* Arrow crates are named only in rust/arrow and rust/py, pyo3 only in rust/py
* no source file is longer than 400 lines
* no path of one machine and no bare host of a registry is in the tree
* citations of rules and pages lead somewhere: tools/citations.py
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import citations
import python_rooms

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 400
LEAST_FILES = {"tree": 30, "rust": 12, "sources": 20}
ORDER = (
    {"error"},
    {"time", "key"},
    {"window", "sort"},
    {"aggregate"},
    {"store"},
    {"operator"},
    {"session", "sliding"},
    {"arrow"},
    {"py"},
)
RANK = {room: rank for rank, rooms in enumerate(ORDER) for room in rooms}

ARROW = re.compile(r"\b(arrow_(array|buffer|cast|data|ipc|row|schema|select|ord|arith)|pyo3_arrow)\b")
PYO3 = re.compile(r"\bpyo3(_arrow)?\b")
ROOM = re.compile(r"\bcrate::(?:\{([^}]*)\}|(\w+))")
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
UNSEEN = {"tools/guard.py", "tools/citations.py", "Cargo.lock"}  # two spell out what they look for, one is cargo's own


def tracked() -> list[str]:
    """The files of the tree as git sees them, new ones included."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in sorted(set(names.split("\0"))) if name and (ROOT / name).is_file()]


def room_of(name: str) -> str:
    """`rust/session/batch.rs` is in room `session`, `rust/time.rs` in `time`."""
    return Path(name).parts[1].removesuffix(".rs")


def rooms_named(line: str) -> list[str]:
    """The rooms that a line reaches through `crate::`."""
    found = []
    for group, single in ROOM.findall(line):
        found += [part.strip().split("::")[0] for part in group.split(",")] if group else [single]
    return [name for name in found if name in RANK]


def rust_breaches(name: str, text: str) -> list[str]:
    """What a file of the crate names that its room may not."""
    room, found = room_of(name), []
    if room == "lib":
        return found
    if room not in RANK:
        return [f"{name}: room {room!r} has no place in the order of rooms (tools/guard.py)"]
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{name}:{number}"
        if room not in ("arrow", "py") and ARROW.search(line):
            found.append(f"{where}: an Arrow crate is named outside rust/arrow and rust/py")
        if room != "py" and PYO3.search(line):
            found.append(f"{where}: pyo3 is named outside rust/py")
        upward = [other for other in rooms_named(line) if other != room and RANK[other] >= RANK[room]]
        found += [f"{where}: room {room!r} may not name room {other!r}" for other in upward]
    return found


def tree_breaches(name: str, text: str) -> list[str]:
    """Machine paths and registry hosts."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if MACHINE.search(line):
            found.append(f"{name}:{number}: a path of one machine")
        if HOST.search(line):
            found.append(f"{name}:{number}: a bare host of a registry")
    return found


def main() -> int:
    """Reads every text file of the tree once."""
    breaches: list[str] = []
    package: dict[str, str] = {}
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
            if lines > LONGEST:
                breaches.append(f"{name}: {lines} lines, at most {LONGEST}: is it still one noun?")
        if name.startswith("rust/") and name.endswith(".rs"):
            seen["rust"] += 1
            breaches += rust_breaches(name, text)
        if name.startswith(python_rooms.PACKAGE):
            package[name] = text
    breaches += python_rooms.breaches(package) + citations.breaches(texts, set(tracked()))
    for kind, least in LEAST_FILES.items():
        if seen[kind] < least:
            breaches.append(
                f"the guard saw {seen[kind]} files of kind {kind!r}, fewer than {least}: it looks in the wrong place"
            )
    print("\n".join(breaches) or f"guard: {seen['tree']} files, {seen['rust']} of them of the crate, no breach")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
