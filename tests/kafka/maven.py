"""Released jars by name, through Maven: fetched once for each state of a pom, and kept in `target/kafka`."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "target" / "kafka"
ATTEMPTS = 3
PAUSE = 5.0
"""Seconds before the next attempt."""


class MavenError(Exception):
    """Maven is missing, or could not give what a pom names."""


def built(folder: Path) -> Path:
    """What Maven makes of the project in a folder: its jars in `jars`, its classes, if it has any, in `classes`.

    Raises:
        MavenError: Maven is missing, or fails in all attempts; the message ends with what it said.
    """
    sources = sorted(path for path in folder.rglob("*") if path.suffix in (".xml", ".java"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    place = KEPT / f"{folder.name}-{digest}"
    if not place.is_dir():
        _build(folder / "pom.xml", place)
    return place


def _build(pom: Path, place: Path) -> None:
    command = shutil.which("mvn")
    if command is None:
        raise MavenError(
            f"Maven is missing: it fetches the jars that {pom.relative_to(ROOT)} names. Debian and Ubuntu: "
            "apt install maven; macOS: brew install maven"
        )
    KEPT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=KEPT) as making:
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(PAUSE)
            # -U: what could not be fetched before is asked for again, also on the same day.
            arguments = [command, "-B", "-q", "-U", "-f", str(pom), f"-Dplace={making}", "package"]
            done = subprocess.run(arguments, check=False, capture_output=True, text=True)
            if done.returncode == 0:
                break
        else:
            said = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
            raise MavenError(
                f"Maven could not make {pom.relative_to(ROOT)} in {ATTEMPTS} attempts. The first time it needs a "
                f"network; a mirror or proxy is set in its settings.xml. It said:\n{said}"
            )
        try:
            os.rename(making, place)
        except OSError:  # another process was first
            if not place.is_dir():
                raise
        Path(making).mkdir(exist_ok=True)  # to be removed at the end of the block


def class_path(place: Path) -> str:
    """The class path of what was built."""
    return os.pathsep.join([str(place / "classes"), str(place / "jars" / "*")])


def java() -> str:
    """The command of the Java that runs it: that of JAVA_HOME, or of the path."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if found is None:
        raise MavenError("Java 17 or newer is missing; tools/toolchain.sh tells how to get it")
    return found
