"""Checks wheels before release: `python tools/wheel.py FILE...`. Exits with 1 and prints a line for each breach.

* on Linux the tag is manylinux_2_28 or older, and the module needs no newer glibc
* no file contains a path of the build machine
* the command is among its entry points
"""

from __future__ import annotations

import re
import sys
import zipfile
from pathlib import Path

NEWEST = (2, 28)
GLIBC = re.compile(rb"GLIBC_(\d+)\.(\d+)")
TAG = re.compile(r"manylinux_(\d+)_(\d+)_")
REGISTRY = rb"[/\\][\w.~-]+[/\\]\.cargo[/\\]registry[ -~]{0,60}"
CHECKOUT = rb"\bfile:///[ -!#-~]{1,60}"
PATHS = re.compile(REGISTRY + b"|" + CHECKOUT + b"|" + re.escape(bytes(Path(__file__).resolve().parents[1])))
MODULE = re.compile(r"windrow/_native[.\w-]*\.(so|pyd)")


def breaches(wheel: Path) -> list[str]:
    """The breaches of a wheel."""
    with zipfile.ZipFile(wheel) as files:
        modules = [name for name in files.namelist() if MODULE.fullmatch(name)]
        if len(modules) != 1:
            return [f"{wheel.name}: {len(modules)} modules windrow/_native, not one"]
        module = files.read(modules[0])
        paths = [
            f"{name}: {path.decode()}"
            for name in files.namelist()
            for path in sorted(set(PATHS.findall(files.read(name))))
        ]
        points = [name for name in files.namelist() if name.endswith(".dist-info/entry_points.txt")]
        commands = b"".join(files.read(name) for name in points).decode()
    found = []
    if "windrow=windrow._command.main:main" not in commands.replace(" ", ""):
        found.append(f"{wheel.name}: the command windrow is not among its entry points")
    found += [f"{wheel.name}: a path of the machine that built it: {path}" for path in paths[:1]]
    if "linux" in wheel.name:
        found += _glibc(wheel.name, module)
    return found


def _glibc(name: str, module: bytes) -> list[str]:
    tags = [(int(major), int(minor)) for major, minor in TAG.findall(name)]
    needed = max(((int(major), int(minor)) for major, minor in GLIBC.findall(module)), default=(0, 0))
    found = (
        [] if tags and min(tags) <= NEWEST else [f"{name}: its tag is not manylinux_{NEWEST[0]}_{NEWEST[1]} or older"]
    )
    if needed > NEWEST:
        found.append(f"{name}: the module asks for glibc {needed[0]}.{needed[1]}, newer than {NEWEST[0]}.{NEWEST[1]}")
    return found


def main(wheels: list[str]) -> int:
    """Checks each wheel."""
    if not wheels:
        print("wheel: name the files", file=sys.stderr)
        return 1
    found = [line for name in wheels for line in breaches(Path(name))]
    print("\n".join(found) or f"wheel: no breach in {', '.join(Path(name).name for name in wheels)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
