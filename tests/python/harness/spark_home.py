"""A home of Spark in which Python workers start fast."""

from __future__ import annotations

from pathlib import Path

import pyspark


def spark_home(folder: Path) -> Path:
    """Gives an empty folder what a `SPARK_HOME` has: the commands and jars of the installed PySpark.

    It has no `python`, so that workers import the installed package. In the package's own home they import
    `pyspark.zip` with the same files, and compile them at each start: Python keeps nothing that it compiles of a zip.
    """
    for name in ("bin", "jars"):
        (folder / name).symlink_to(Path(pyspark.__file__).parent / name)
    return folder
