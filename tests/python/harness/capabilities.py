"""What the installed Spark and the libraries next to it have. A test that needs it has the mark `needs`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def _grouped() -> Any:
    from pyspark.sql import GroupedData

    return GroupedData


def _grouped_on_connect() -> Any:
    from pyspark.sql.connect.group import GroupedData

    return GroupedData


def _frame_on_connect() -> Any:
    from pyspark.sql.connect.dataframe import DataFrame

    return DataFrame


def _session() -> Any:
    from pyspark.sql import SparkSession

    return SparkSession


def _types() -> Any:
    from pyspark.sql import types

    return types


def _functions() -> Any:
    from pyspark.sql import functions

    return functions


def _release() -> tuple[int, int]:
    import pyspark

    major, minor = pyspark.__version__.split(".")[:2]
    return int(major), int(minor)


def _server() -> bool:
    import pyspark

    return any(Path(pyspark.__file__).with_name("jars").glob("spark-connect_*.jar"))


def _comet() -> bool:
    import pyspark

    return any(Path(pyspark.__file__).with_name("jars").glob("comet-spark-*.jar"))


FOUND: dict[str, Callable[[], bool]] = {
    "streams": lambda: any(hasattr(_grouped(), f"transformWithState{form}") for form in ("", "InPandas")),
    "streams on Connect": lambda: hasattr(_grouped_on_connect(), "transformWithState"),
    "Connect": _server,
    "Comet": _comet,
    "counters on Connect": lambda: hasattr(_frame_on_connect(), "toArrow"),
    "a mode that chooses among equals": lambda: "deterministic" in inspect.signature(_functions().mode).parameters,
    "calendar intervals in schemas": lambda: hasattr(_types(), "CalendarIntervalType"),
    "Delta and Iceberg": lambda: all(map(find_spec, ("deltalake", "pyiceberg"))),
    "pictures": lambda: find_spec("matplotlib") is not None,
    "repartitioned state": lambda: hasattr(_session(), "_streamingCheckpointManager"),
    "variants": lambda: hasattr(_types(), "VariantType"),
    "PySpark 4.0": lambda: _release() == (4, 0),
    **{f"PySpark 4.{minor} or later": lambda minor=minor: _release() >= (4, minor) for minor in range(4)},
}


def has(capability: str) -> bool:
    """Whether the installed Spark has it."""
    return FOUND[capability]()
