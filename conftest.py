"""What all tests and the examples of docstrings share: real data and recorded runs, one Spark session, set-ups."""

from __future__ import annotations

import doctest
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parent

# The same examples at each run, or more and random ones: `make soak`. What fails there prints a line that replays it.
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "windrow", max_examples=60, deadline=None, suppress_health_check=SLOW, derandomize=True, print_blob=True
)
settings.register_profile(
    "soak", settings.get_profile("windrow"), derandomize=False, max_examples=int(os.environ.get("SOAK_EXAMPLES", "100"))
)
settings.load_profile("windrow")


SPARK = ("python/windrow", "tests/kafka", "tests/python/spark", "tests/python/test_docs.py")
"""The only folders and files whose tests may start a Spark: `make test-spark` and `make test-kafka` run these."""
LONGEST = (
    "tests/python/test_docs.py",
    "tests/python/spark/test_pipelines.py",
    "tests/python/spark/test_stream_faults.py",
    "tests/python/spark/test_stream_recorded.py",
)
"""These files run first, so that no process runs a long one at the end while the others wait."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rule", metavar="NUMBER", help="only the cases of a rule of docs/rules.md, such as 2.6")


def rules_written() -> set[str]:
    """The numbers of docs/rules.md, as the guard reads them."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import citations
    finally:
        sys.path.pop(0)
    return citations.rules_written((ROOT / citations.RULES).read_text(encoding="utf-8"))


def played(case: Any) -> list[Any]:
    """The cases of a test: one, or those that Spark plays together."""
    return [one for one in (case if isinstance(case, list) else [case]) if hasattr(one, "cannot")]


def check_cases(items: list[pytest.Item], config: pytest.Config) -> None:
    """Stops if a case is wrong, with a sentence. With `--rule` only the cases of that rule stay."""
    cases = {item: item.callspec.params.get("case") for item in items if hasattr(item, "callspec")}
    book = list({id(one): one for case in cases.values() for one in played(case)}.values())
    rule, rules = config.getoption("--rule"), rules_written()
    wrong = sys.modules[type(book[0]).__module__].fault(book, rules) if book else None
    if rule is not None and rule not in rules:
        wrong = f"--rule: got {rule!r}; allowed: a number of docs/rules.md, such as 2.6"
    if wrong is not None:
        raise pytest.UsageError(wrong)
    if rule is not None:
        of = [item for item in items if any(rule in one.rules for one in played(cases.get(item)))]
        config.hook.pytest_deselected(items=[item for item in items if item not in of])
        items[:] = of


@pytest.fixture
def soaked(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Takes what a long test did, to be told at the end of the run, whichever process ran it."""
    return lambda figure: record_property("soak", figure)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for report in (one for reports in terminalreporter.stats.values() for one in reports):
        for name, figure in getattr(report, "user_properties", ()):
            if name == "soak" and report.when == "call":
                terminalreporter.write_line(f"soak: {figure}")


@pytest.fixture(scope="session")
def recorded() -> Path:
    """The folder of recorded Kafka Streams runs."""
    return ROOT / "tests" / "recorded"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder beside the repository with the big files of real data, in `data/`; WINDROW_SHARED names another."""
    folder = Path(os.environ.get("WINDROW_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"{folder} is absent: set WINDROW_SHARED to the folder with data/")
    return folder


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One Spark for all tests: two cores, UTC, few partitions, quiet. Workers run this very Python.

    Its JVM compiles for a quick start: most plans run once. A stream renames the files of its checkpoint in the way of
    file systems without a `FileContext`. With a `FileContext`, Spark starts the process `readlink` for each file, some
    hundreds in a test. The streams of `tests/python/faults`, on Spark Connect and of `tests/kafka` rename as in
    production.
    """
    import pyspark.sql

    package = "checkpointing." if pyspark.__version__ >= "4.1" else ""
    manager = f"org.apache.spark.sql.execution.streaming.{package}FileSystemBasedCheckpointFileManager"
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    session = (
        pyspark.sql.SparkSession.builder.master("local[2]")
        .appName("windrow tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "2g")
        .config(
            "spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
        )
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.default.parallelism", "2")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .config("spark.sql.streaming.checkpointFileManagerClass", manager)
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    yield session
    session.stop()


def shows_spark(item: pytest.Item) -> bool:
    """Whether an example of a docstring takes Spark, or those of its module do, which come before it."""
    if not isinstance(item, pytest.DoctestItem):
        return False
    before = doctest.DocTestParser().get_examples(sys.modules[item.dtest.globs["__name__"]].__doc__ or "")
    return any("SparkSession" in example.source for example in [*before, *item.dtest.examples])


def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    check_cases(items, config)
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()) or shows_spark(item):
            item.add_marker(pytest.mark.spark)
        if item.get_closest_marker("spark") and not item.nodeid.startswith(SPARK):
            raise pytest.UsageError(f"{item.nodeid} starts a Spark; allowed: in {', '.join(SPARK)}")
        if isinstance(item, pytest.Function) and "given" in item.function.__code__.co_names:
            item.add_marker(pytest.mark.hypothesis)  # its property is inside, so the plugin does not see it


@pytest.fixture(autouse=True)
def set_up_of_the_module(request: pytest.FixtureRequest) -> None:
    """The examples of a module's own docstring come before those of each of its functions."""
    if not isinstance(request.node, pytest.DoctestItem):
        return
    test = request.node.dtest
    if shows_spark(request.node):
        request.getfixturevalue("spark")  # the example's `getOrCreate` gives this one
    if test.name != test.globs["__name__"]:
        for example in doctest.DocTestParser().get_examples(sys.modules[test.globs["__name__"]].__doc__ or ""):
            exec(example.source, test.globs)
