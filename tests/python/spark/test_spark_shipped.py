"""A Spark job whose workers lack windrow says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

import windrow

QUERY = """
import sys, pyspark
import windrow as wr
spark = pyspark.sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
wr.configure(spark)
frame = spark.sql("select 1 as k, timestamp'2026-01-01' as ts")
try:
    wr.group_by(frame, "k", time="ts").windowed_by(wr.SessionWindows.with_gap("1 day")).count().collect()
except Exception as error:
    print(error)
"""


@pytest.mark.soak  # native/test_api_shipped.py has the sentence, and the worker that says it
def test_a_spark_job_whose_workers_lack_windrow_fails_with_that_sentence(tmp_path: Path) -> None:
    bare = _python_without_windrow(tmp_path)
    environment = {**os.environ, "PYSPARK_PYTHON": str(bare), "PYSPARK_DRIVER_PYTHON": sys.executable}
    environment["SPARK_LOCAL_IP"] = "127.0.0.1"
    environment.pop("PYTHONPATH", None)
    path = f"import sys; sys.path[:0] = [{str(Path(windrow.__file__).parents[1])!r}]\n"
    ran = subprocess.run(
        [sys.executable, "-c", path + QUERY], capture_output=True, text=True, check=False, env=environment, cwd=tmp_path
    )
    assert f"{bare} on host " in ran.stdout, ran.stdout + ran.stderr
    assert (
        f"cannot import windrow {windrow.__version__} (No module named 'windrow'): install the wheel of" in ran.stdout
    )


def _python_without_windrow(tmp_path: Path) -> Path:
    packages = tmp_path / "packages"
    packages.mkdir()
    for entry in Path(pyspark.__file__).parents[1].iterdir():
        if "windrow" not in entry.name:
            (packages / entry.name).symlink_to(entry)
    home = tmp_path / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    (next(home.glob("lib/python*/site-packages")) / "packages.pth").write_text(str(packages))
    return home / "bin" / "python"
