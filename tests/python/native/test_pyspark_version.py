"""A PySpark that is too old is named where it is met first, in `group_by` and `configure`; what the extra allows."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import warnings
from importlib import metadata
from pathlib import Path

import pandas
import pyspark
import pytest
from packaging.requirements import Requirement
from pyspark.sql.pandas.utils import require_minimum_pandas_version

import windrow as wr
from windrow._spark.environment import OLDEST

ROOT = Path(__file__).resolve().parents[3]

# As little of an old PySpark as `group_by` and `configure` touch.
TYPES = (
    "class DataType: simpleString = lambda self: 'int'\n"
    "ArrayType = BinaryType = BooleanType = ByteType = DateType = DayTimeIntervalType = DecimalType = DataType\n"
    "DoubleType = FloatType = IntegerType = LongType = MapType = NullType = ShortType = StringType = DataType\n"
    "TimestampNTZType = TimestampType = UserDefinedType = CharType = VarcharType = DataType\n"
    "class StructField:\n"
    "    def __init__(self, name='ts', kind=None, nullable=True): self.name, self.dataType = name, kind or DataType()\n"
    "class StructType:\n"
    "    names, fields = ['ts', 'user'], [StructField()] * 2\n"
)
OLD = {
    "__init__.py": "__version__ = '3.4.4'",
    "cloudpickle.py": "",
    "sql/__init__.py": (
        "from pyspark.sql.types import StructType\n"
        "class DataFrame: isStreaming, schema = False, StructType\n"
        "class SparkSession: conf = createDataFrame = None\n"
    ),
    "sql/functions.py": "",
    "sql/types.py": TYPES,
}
CALLS = {
    "group_by": (
        "from pyspark.sql import DataFrame; windrow.group_by(DataFrame(), 'user', time='ts')",
        "data: got a DataFrame",
    ),
    "configure": ("from pyspark.sql import SparkSession; windrow.configure(SparkSession())", "spark: got a session"),
}


@pytest.mark.parametrize(("call", "message"), CALLS.values(), ids=CALLS)
def test_an_old_pyspark_is_named_with_those_that_work(tmp_path: Path, call: str, message: str) -> None:
    for name, text in OLD.items():
        (tmp_path / "pyspark" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "pyspark" / name).write_text(text)
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import windrow; {call}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = ran.stderr.strip().splitlines()[-1]
    assert last.startswith(f"ImportError: {message} of PySpark 3.4.4; allowed: PySpark 3.5 or later"), ran.stderr


@pytest.mark.parametrize(
    ("version", "works"),
    [("3.4.9", False), ("2.10.0", False), ("3.5.0.dev4", True), ("3.5.0", True), ("3.10.0", True), ("10.0", True)],
)
def test_versions_are_numbers(monkeypatch: pytest.MonkeyPatch, version: str, works: bool) -> None:
    frame = type("GroupedData", (), {"__module__": "pyspark.sql.group"})()
    monkeypatch.setattr(pyspark, "__version__", version)
    with pytest.raises(
        TypeError if works else ImportError, match="data: got <.*a GroupedData; allowed" if works else version
    ):
        wr.group_by(frame, "user", time="ts")


def extra() -> dict[str, Requirement]:
    """What `pywindrow[spark]` asks for, by package."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    return {Requirement(line).name: Requirement(line) for line in extras["spark"]}


def test_the_extra_allows_what_works_and_what_is_pinned_here() -> None:
    assert str(extra()["pyspark"].specifier) == f">={OLDEST[0]}.{OLDEST[1]}"
    assert "2.0.3" in extra()["pandas"].specifier  # that of the oldest PySpark
    assert "1.5.3" not in extra()["pandas"].specifier
    for name, requirement in extra().items():
        assert metadata.version(name) in requirement.specifier


@pytest.mark.parametrize("version", ["2.2.0", "2.3.3", "3.0.0", "3.1.1"])
def test_the_extra_allows_the_pandas_that_pyspark_takes_without_a_word(
    monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr(pandas, "__version__", version)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            require_minimum_pandas_version()
            taken = True
        except (ImportError, FutureWarning):
            taken = False
    assert (version in extra()["pandas"].specifier) is taken
