"""Runs the tests of Spark on each version that `tests/versions` pins, and prints a table of what passed.

    versions.py [--smoke] [VERSION ...]    such as 3.5, or sail and comet; without a version, all of them

Comet is a plugin of Spark, so the tests of Spark run with it. Sail is no Spark and has tests of its own.

An environment is in `target/versions/VERSION`. It is made again when its pins or the Python change. `PYTHON` names a
Python other than the first that `toolchain.sh` finds. Exits with 1 if a test failed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PINS = ROOT / "tests" / "versions"
ENVIRONMENTS = ROOT / "target" / "versions"
TESTS = ["tests/python/spark"]
SAIL = ["tests/sail"]
SMOKE = [
    f"tests/python/spark/test_{name}.py"
    for name in (
        "spark_comet",
        "spark_sessions",
        "spark_with_columns",
        "spark_functions",
        "stream_edges",
        "stream_state",
    )
]
SHOWN = ("pyarrow", "pandas", "numpy")
JARS = {
    "3.5": "org.apache.spark:spark-connect_2.12:3.5.7",
    "comet": "org.apache.datafusion:comet-spark-spark4.1_2.13:1.2.0",
}
"""What packages of Maven a version needs: the server of Spark Connect, where Spark has none, and Comet."""
COMET = {
    "spark.plugins": "org.apache.spark.CometPlugin",
    "spark.shuffle.manager": "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager",
    "spark.comet.exec.pyarrowUDF.enabled": "true",
    "spark.memory.offHeap.enabled": "true",
    "spark.memory.offHeap.size": "1g",
}
"""The settings of `docs/install.md` for Comet."""
STORED = "--config-settings=--build-option=--compression=stored"
"""PySpark is published as source. pip packs its jars into a wheel, and unpacks it at once: compression takes long."""
OUTCOMES = ("passed", "lacking", "failed")


@dataclass
class Outcome:
    """What the tests of one version did, by kind."""

    version: str
    python: str
    packages: dict[str, str]
    seconds: float = 0.0
    counts: dict[str, Counter[str]] = field(default_factory=lambda: {"batch": Counter(), "streams": Counter()})

    @property
    def failed(self) -> bool:
        """Whether a test failed, or none passed."""
        total = sum(self.counts.values(), Counter[str]())
        return bool(total["failed"]) or not total["passed"]


def known() -> dict[str, Path]:
    """The file of pins of each version: `spark-3.5.txt` of 3.5, `sail-0.7.txt` of sail."""
    names = {path: path.stem.split("-") for path in sorted(PINS.glob("*-*.txt"))}
    return {number if engine == "spark" else engine: path for path, (engine, number) in names.items()}


def pins_of(version: str) -> dict[str, str]:
    """The pinned packages of a version."""
    lines = known()[version].read_text().splitlines()
    return dict(line.split("==") for line in lines if "==" in line)


def engine(version: str) -> str:
    """What runs the queries, with its version."""
    packages = pins_of(version)
    if version == "sail":
        return f"Sail {packages['pysail']}"
    comet = f", Comet {JARS[version].rpartition(':')[2]}" if version == "comet" else ""
    return f"{packages['pyspark']}{comet}"


def environment(version: str) -> Path:
    """The Python of a version's environment, which is made if need be."""
    python = subprocess.run([ROOT / "tools" / "toolchain.sh", "python"], check=True, capture_output=True, text=True)
    folder, pins = ENVIRONMENTS / version, known()[version]
    stamp = f"{python.stdout}{(PINS / 'tools.txt').read_text()}{pins.read_text()}{JARS.get(version)}"
    stamped, found = folder / "stamp", folder / "bin" / "python"
    if not stamped.is_file() or stamped.read_text() != stamp:
        print(f"windrow: making {folder.relative_to(ROOT)} (some minutes)", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([python.stdout.strip(), "-m", "venv", folder], check=True)
        pip = [found, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
        subprocess.run([*pip, STORED, "-r", pins], check=True)
        (packages,) = folder.glob("lib/python*/site-packages")
        (packages / "windrow.pth").write_text(f"{ROOT / 'python'}\n")
        if version in JARS:
            copy = ["mvn", "--quiet", "--batch-mode", "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"]
            jars = packages / "pyspark" / "jars"
            subprocess.run([*copy, f"-Dartifact={JARS[version]}", f"-DoutputDirectory={jars}"], check=True)
        if version == "comet":
            conf = packages / "pyspark" / "conf"
            conf.mkdir(exist_ok=True)
            (conf / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in COMET.items()))
        stamped.write_text(stamp)
    return found


def tried(version: str, smoke: bool) -> Outcome:
    """Runs the tests on one version."""
    python = environment(version)
    shown = subprocess.run(
        [python, "-c", "import platform; print(platform.python_version())"], capture_output=True, text=True, check=True
    )
    outcome = Outcome(version, shown.stdout.strip(), pins_of(version))
    results = ENVIRONMENTS / version / "tests.xml"
    results.unlink(missing_ok=True)
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={results}"]
    if version == "sail":
        command += SAIL  # in this process: in one of xdist, the client of Connect takes itself for a doctest of Spark
    else:
        command += ["-n", "2", "--dist", "loadfile", "--no-loadscope-reorder"]
        command += [
            "-m",
            "spark and not soak and not slow" if smoke else "spark and not soak",
            *(SMOKE if smoke else TESTS),
        ]
    if not smoke:
        command.append("--ignore=tests/python/spark/test_recipes.py")  # they have a soak of their own
    own = {"PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": str(python)}
    print(f"windrow: the tests on {engine(version)}", flush=True)
    start = time.monotonic()
    subprocess.run(command, cwd=ROOT, env=os.environ | own, check=False)
    outcome.seconds = time.monotonic() - start
    if results.is_file():
        for case in ET.parse(results).iter("testcase"):
            kind = "streams" if ".test_stream" in case.get("classname", "") else "batch"
            ended = {part.tag for part in case}
            found = "failed" if ended & {"failure", "error"} else "lacking" if "skipped" in ended else "passed"
            outcome.counts[kind][found] += 1
    return outcome


def table(outcomes: list[Outcome]) -> str:
    """A row for each version: its packages, and how many tests passed, lack what they need, or failed."""
    head = [
        "Spark",
        "Python",
        *SHOWN,
        *(f"{kind}: {' / '.join(OUTCOMES)}" for kind in ("batch", "streams")),
        "minutes",
    ]
    rows = [head]
    for outcome in outcomes:
        counts = [" / ".join(str(kind[each]) for each in OUTCOMES) for kind in outcome.counts.values()]
        packages = [outcome.packages[name] for name in SHOWN]
        rows.append([engine(outcome.version), outcome.python, *packages, *counts, f"{outcome.seconds / 60:.1f}"])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def main() -> int:
    """Runs all versions, also after one that failed."""
    versions = list(known())
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("versions", nargs="*", help=f"of {', '.join(versions)}")
    parser.add_argument("--smoke", action="store_true", help="some files of tests, in a few minutes")
    options = parser.parse_args()
    unknown = set(options.versions) - set(versions)
    if unknown:
        parser.error(f"versions: got {sorted(unknown)}; allowed: {versions}")
    outcomes = [tried(version, options.smoke) for version in options.versions or versions]
    print(table(outcomes))
    return int(any(outcome.failed for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
