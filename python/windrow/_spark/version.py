"""Which PySpark windrow works with. Of PySpark only the version is read, so that any has it."""

from __future__ import annotations

import re

OLDEST = (4, 1)
"""The oldest PySpark, as (major, minor)."""


def check_pyspark(argument: str, what: str) -> None:
    """Raises `ImportError`, as of this argument, unless the PySpark that is imported is one that windrow works with."""
    import pyspark

    found = re.match(r"(\d+)\.(\d+)", pyspark.__version__)
    # A version that is no number, as a vendor may have it, is taken to be a new one.
    if found is not None and tuple(map(int, found.groups())) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise ImportError(
            f"{argument}: got {what} of PySpark {pyspark.__version__}; allowed: PySpark {oldest} or later "
            f"(pip install 'pyspark>={oldest}', on a cluster a Spark of {oldest} or later)",
            name="pyspark",
        )
