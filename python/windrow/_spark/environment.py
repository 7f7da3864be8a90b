"""The PySpark versions that windrow supports, and the Python of Spark's workers.

Imports no PySpark before a call.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any
from weakref import WeakSet

from windrow._arguments.errors import bad_type, calls_to_user

OLDEST = (3, 5)
"""The oldest supported PySpark, as (major, minor)."""


def check_pyspark(argument: str, what: str) -> None:
    """Raises `ImportError` for this argument if windrow does not support the installed PySpark."""
    import pyspark

    match = re.match(r"(\d+)\.(\d+)", pyspark.__version__)
    # A vendor's version without numbers counts as new.
    if match is not None and tuple(map(int, match.groups())) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise ImportError(
            f"{argument}: got {what} of PySpark {pyspark.__version__}; allowed: PySpark {oldest} or later "
            f"(pip install 'pyspark>={oldest}', on a cluster a Spark of {oldest} or later)",
            name="pyspark",
        )


def check_session(spark: object) -> None:
    """Raises `TypeError` for anything but a session of Spark, classic or Connect; `ImportError` for an old PySpark."""
    if isinstance(spark, type) or not (hasattr(spark, "conf") and hasattr(spark, "createDataFrame")):
        raise bad_type("spark", spark, "a SparkSession, classic or Connect")
    check_pyspark("spark", "a session")


_NEEDED = "google.protobuf.descriptor, pandas, pyarrow"
"""The modules that Spark's worker for a stateful step imports."""

_LONGEST = 60  # seconds
_looked_at: WeakSet[Any] = WeakSet()


def warn_of_interpreter(spark: Any) -> None:
    """Warns the user, once per session, if a stream will fail because the driver has no suitable Python.

    A streaming query starts a worker on the driver before its first micro-batch. If that worker lacks a module, Spark
    reports a crash without the reason. On Spark Connect the driver is on another machine, so there is no check.
    """
    if spark in _looked_at:
        return
    _looked_at.add(spark)
    python = getattr(getattr(spark, "sparkContext", None), "pythonExec", None)
    problem = _problem(python) if isinstance(python, str) else None
    if problem is not None:
        warnings.warn(
            f"{problem}. A stream starts a worker on the driver too, and Spark would only report that it crashed. Set "
            f"PYSPARK_PYTHON (now {python!r}; python3 if it is not set) to the Python of the job, such as "
            f"{sys.executable}, before the session starts",
            stacklevel=calls_to_user(),
        )


def _problem(python: str) -> str | None:
    """Why this Python (name or path) cannot run workers; None if no problem is known."""
    executable = shutil.which(python)
    if executable is None:
        return f"this machine has no {python!r} to run Spark's workers"
    if Path(executable).absolute().parent == Path(sys.executable).absolute().parent:
        return None
    try:
        done = subprocess.run(
            [executable, "-c", f"import {_NEEDED}"], capture_output=True, text=True, check=False, timeout=_LONGEST
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
    return f"{executable} cannot run Spark's workers ({said[-1]})" if done.returncode else None
