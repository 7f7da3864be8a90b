"""The Python environment with the Spark that table formats are for, made once for each state of its constraints."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from ...test_docs import ROOT

CONSTRAINTS = Path(__file__).resolve().parent / "constraints.txt"
KEPT = ROOT / "target" / "lake"


def python() -> Path:
    """The Python of the environment; windrow itself is on its path, from this repository.

    Raises:
        subprocess.CalledProcessError: it cannot be made; the first time it takes a network.
    """
    digest = hashlib.sha256(CONSTRAINTS.read_bytes() + sys.version.encode()).hexdigest()[:12]
    made = KEPT / f"venv-{digest}" / "bin" / "python"
    if not made.is_file():
        KEPT.mkdir(parents=True, exist_ok=True)
        # Renamed when it is whole: what is killed on the way leaves nothing that looks so. Its Python minds no name.
        with tempfile.TemporaryDirectory(dir=KEPT) as making:
            place = Path(making) / "venv"
            subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
            pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, "-r", str(CONSTRAINTS)], check=True)
            os.rename(place, made.parents[1])
    return made
